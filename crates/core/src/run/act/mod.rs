//! How loads are run and drives are moved. Closing a target undoes what was set up on it.

pub(crate) mod load;
mod move_drives;

pub use move_drives::{Move, Wanted, movable};

pub(super) use move_drives::settle;

use super::{
    RunError,
    execution::{Execution, Troubles},
};
