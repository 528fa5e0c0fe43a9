//! Answers from results: comparisons and advice.

use drivebench_analyse as analyse;
use drivebench_findings as findings;
use drivebench_host::{inventory, tools};
use drivebench_units as units;

pub mod advise;
pub mod compare;
