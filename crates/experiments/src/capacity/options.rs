//! Options of capacity.

use super::super::{Declared, shared_options::ERASE};

pub const OPTIONS: &[&dyn Declared] = &[&ERASE];
