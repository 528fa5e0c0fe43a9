//! Options of boot.

use super::super::{Declared, Opt};

pub const NOW: Opt<bool> = Opt::switch("now", "Record the boot that this machine runs from");

pub const OPTIONS: &[&dyn Declared] = &[&NOW];
