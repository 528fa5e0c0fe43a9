//! The lab: real Linux in virtual machines, on modelled drives whose truth is known.
//!
//! A [`Scenario`] says which machine with which drives. The drives are `sim`'s models, served in real time by an nbdkit
//! plugin that keeps a [`ledger`] of what they did.

pub mod ledger;
pub mod scenario;
pub mod serve;

pub use scenario::Scenario;
