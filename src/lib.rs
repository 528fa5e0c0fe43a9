//! drivebench: a workbench for the drives of a small server.
//!
//! One way through the house: inventory -> plan -> run -> record -> analyse -> report.
//! `docs/architecture.md` shows the rooms and which room may use which.

pub mod advise;
pub mod analyse;
pub mod cli;
pub mod compare;
pub mod conditions;
pub mod danger;
pub mod engine;
pub mod experiments;
pub mod findings;
pub mod import;
pub mod inventory;
pub mod open_loop;
pub mod plan;
pub mod record;
pub mod report;
pub mod run;
pub mod sysroot;
pub mod target;
pub mod tools;
pub mod units;
