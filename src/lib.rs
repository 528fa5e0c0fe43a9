//! drivebench: a workbench for the drives of a small server. It is a program: the rooms are visible to its own tests,
//! benchmarks and lab, and are no API for others.
//!
//! One way through the house: inventory -> plan -> run -> record -> analyse -> report.
//! `docs/architecture.md` shows the rooms and which room may use which.

#![allow(missing_docs, reason = "docs are written where they say more than a name")]

pub mod cli;

mod advise;
mod compare;
mod open_loop;
mod watch;

pub mod analyse;
pub mod conditions;
pub mod danger;
pub mod engine;
pub mod experiments;
pub mod findings;
pub mod import;
pub mod inventory;
pub mod plan;
pub mod pool;
pub mod record;
pub mod report;
pub mod run;
pub mod sysroot;
pub mod target;
pub mod tools;
pub mod units;
