//! The machine: its files, drives, buses and programs.

use drivebench_units as units;

pub mod conditions;
pub mod inventory;
pub mod sysroot;
pub mod target;
pub mod tools;
