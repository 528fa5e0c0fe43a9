//! Pools: what is built of drives, as a value, with the commands that build and remove it.

use drivebench_host::{inventory, sysroot, tools};
use drivebench_units as units;

mod build;
pub mod config;
pub mod health;
mod members;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use build::{Build, Member, Part, Request, Step, is_name};
pub use members::Holds;
