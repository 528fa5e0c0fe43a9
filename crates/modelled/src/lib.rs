//! Modelled drives, and a machine of them on which plans are executed in virtual time. For tests, benchmarks and the lab: never shipped.

use drivebench_core::{plan, record, run};
use drivebench_engine as engine;
use drivebench_host::{inventory, sysroot, target, tools};
use drivebench_units as units;

pub mod sim;
mod world;

pub use world::Modelled;
