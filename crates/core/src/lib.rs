//! Plans, records, claims and the executor.

use drivebench_analyse as analyse;
use drivebench_engine as engine;
use drivebench_findings as findings;
use drivebench_host::{conditions, inventory, sysroot, target, tools};
use drivebench_pools as pool;
#[cfg(test)]
use drivebench_report as report;
use drivebench_units as units;

pub mod danger;
pub mod plan;
pub mod record;
pub mod run;
pub mod tagged;
pub mod watch;
