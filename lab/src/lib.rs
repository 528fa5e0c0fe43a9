//! The lab: real Linux in virtual machines, on modelled drives whose truth is known.
//!
//! A [`Scenario`] says which machine with which drives. The drives are `sim`'s models, served in real time by an nbdkit
//! plugin that keeps a [`ledger`] of what they did. A [`Machine`] is one that runs: commands are run in it, drives
//! pulled and plugged in, its power cut.

pub mod agent;
pub mod ledger;
pub mod machine;
pub mod oracle;
pub mod process;
mod qemu;
pub mod qmp;
pub mod scenario;
pub mod serve;
pub mod soak;
mod state;

pub use machine::{Machine, MachineError, Options};
pub use scenario::Scenario;
