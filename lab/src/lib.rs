//! The lab: real Linux in virtual machines, with modelled drives of known speed.
//!
//! A [`Scenario`] describes a machine and its drives. The drives are `sim`'s models, served in real time by an nbdkit
//! plugin that keeps a [`ledger`] of their operations. A [`Machine`] is a running one: it runs commands, drives can be
//! pulled and plugged in, and its power can be cut.

pub mod agent;
pub mod card;
mod disk;
pub mod ledger;
pub mod machine;
pub mod medium;
pub mod oracle;
pub mod pools;
pub mod process;
mod qemu;
pub mod qmp;
pub mod scenario;
pub mod serve;
pub mod soak;
mod state;

pub use machine::{Machine, MachineError, Options};
pub use qemu::Link;
pub use scenario::{Guest, Scenario};
