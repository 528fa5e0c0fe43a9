//! drivebench: a workbench for the drives of a small server. It is a program: the rooms are visible to its own tests,
//! benchmarks and lab, and are no API for others.
//!
//! One way through the house: inventory -> plan -> run -> record -> analyse -> report.
//! `docs/architecture.md` shows the rooms and which room may use which.

pub mod cli;

mod advise;
mod compare;
mod import;
mod open_loop;

#[doc(hidden)]
pub mod analyse;
#[doc(hidden)]
pub mod conditions;
#[doc(hidden)]
pub mod danger;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod experiments;
#[doc(hidden)]
pub mod findings;
#[doc(hidden)]
pub mod inventory;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod record;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod sysroot;
#[doc(hidden)]
pub mod target;
#[doc(hidden)]
pub mod tools;
#[doc(hidden)]
pub mod units;
