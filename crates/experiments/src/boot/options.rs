//! Options of boot.

use super::super::{
    Declared, Opt,
    options::{parsed, within},
};

pub const NOW: Opt<bool> = Opt::switch("now", "Record the current boot");

pub const TIMES: Opt<u32> =
    Opt::new("times", "N", |text| within(text, 1..=100), "Number of restarts; each boot is recorded")
        .conflicts(&["now", "stop"]);

pub const RESTART: Opt<String> =
    Opt::new("restart", "HOSTNAME", parsed, "Consent to restarts: the name of this machine")
        .requires("times");

pub const STOP: Opt<bool> = Opt::switch("stop", "End the restarts").conflicts(&["now"]);

pub const OPTIONS: &[&dyn Declared] = &[&NOW, &TIMES, &RESTART, &STOP];
