//! How each kind of act is done and undone: one file per kind. Closing a target undoes what was set up on it.

mod files;
mod load;
mod move_drives;
mod pause;
mod scratch_file;
mod standby;

pub use move_drives::{Move, Wanted, movable};

pub(super) use {load::wake, move_drives::settle};

use super::{
    RunError,
    execution::{Execution, Troubles},
};
use crate::plan::{Act, Step};

pub(super) fn perform(run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
    match &step.act {
        Act::ScratchFile(act) => scratch_file::perform(run, step, act),
        Act::Load(act) => load::perform(run, step, act),
        Act::Files(act) => files::perform(run, step, act),
        Act::Pause(act) => pause::perform(run, step, act),
        Act::Standby(act) => standby::perform(run, step, act),
        // `steps` has already waited until the drives are in their bays.
        Act::MoveDrives(_) => Ok(Troubles::new()),
    }
}
