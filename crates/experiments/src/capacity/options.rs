//! Options of capacity.

use super::super::{Declared, Opt, options::parsed, shared_options::ERASE};

pub const REPLUG: Opt<bool> = Opt::switch("replug", "Have drives unplugged before stamps are read");

/// Consent to a test of the free space that a drive has.
pub const FILL: Opt<String> =
    Opt::new("fill", "SERIAL", parsed, "Drive whose free space to fill; repeat for each")
        .many()
        .also_resumed();

pub const OPTIONS: &[&dyn Declared] = &[&ERASE, &REPLUG, &FILL];
