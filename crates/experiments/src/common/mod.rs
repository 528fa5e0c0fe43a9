//! Common to all experiments: summaries of the loads of a record, and the description of what was measured.

mod file_sets;
mod load_summary;
mod loaded_run;
mod loads;
pub(super) mod pieces;

pub(super) use file_sets::{FileSets, MeasuredFiles, all_file_sets, file_metrics, file_sets};
pub(super) use load_summary::{Series, Summary};
pub(super) use loaded_run::{findings, on, read};
pub(super) use loads::{Group, Reached, group, labels, load_key, longest, not_of_the_drive};

use crate::target::Target;

/// Follows a value of a single run.
pub(super) const ONE_RUN: &str = " (one run, so no interval)";

/// A verdict on one target, which it names where there are several.
pub(super) fn named(several: bool, target: &Target, text: String) -> String {
    if several { format!("{}: {text}", target.given) } else { text }
}
