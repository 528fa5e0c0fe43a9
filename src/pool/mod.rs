//! Pools: what is built of drives, as a value, with the commands that build and remove it.

mod build;
pub mod config;
mod geometry;
pub mod health;
mod known;
mod members;
#[cfg(test)]
pub(crate) mod tests;

pub use build::{Build, Member, PoolError, Request, Step, is_name};
pub use geometry::Part;
pub use members::Holds;
