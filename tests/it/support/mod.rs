//! Helpers of the integration tests.

pub mod cli;
pub mod faultfs;
pub mod fuzz;
pub mod modelled;
pub mod terminal;
