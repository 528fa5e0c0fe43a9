//! What all experiments do with a record: add up its loads, and say what was measured on what.

mod load_summary;
mod loaded_run;
mod loads;

pub(super) use load_summary::{Series, Summary};
pub(super) use loaded_run::{findings, on, read};
pub(super) use loads::{Group, group, labels, load_key, longest};

/// ImportOptions of a value of one run.
pub(super) const ONE_RUN: &str = " (one run, so no interval)";
