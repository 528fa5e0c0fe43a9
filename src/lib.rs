//! drivebench: a workbench for the drives of a small server. It is a program: the rooms are visible to its own tests,
//! benchmarks and lab, and are no API for others.
//!
//! One way: inventory -> plan -> run -> record -> analyse -> report. Each layer is a crate in `crates`;
//! `docs/design/architecture.md` shows them.

pub mod cli;

pub use drivebench_advise::{advise, compare};
pub use drivebench_analyse as analyse;
pub use drivebench_core::{danger, plan, record, run, watch};
pub use drivebench_engine as engine;
pub use drivebench_experiments as experiments;
pub use drivebench_findings as findings;
pub use drivebench_host::{conditions, inventory, sysroot, target, tools};
pub use drivebench_import as import;
pub use drivebench_pools as pool;
pub use drivebench_report as report;
pub use drivebench_units as units;
