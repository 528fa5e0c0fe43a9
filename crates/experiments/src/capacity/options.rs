//! Options of capacity.

use super::super::{Declared, shared_options::*};

pub const OPTIONS: &[&dyn Declared] = &[&ERASE, &SEED];
