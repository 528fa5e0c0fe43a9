//! Options of boot.

use super::super::{
    Declared, Opt,
    options::{parsed, within},
};

pub const NOW: Opt<bool> = Opt::switch("now", "Record the boot that this machine runs from");

pub const TIMES: Opt<u32> =
    Opt::new("times", "N", |text| within(text, 1..=100), "Number of restarts; each boot is recorded")
        .conflicts(&["now", "stop"]);

pub const RESTART: Opt<String> =
    Opt::new("restart", "HOSTNAME", parsed, "The name of this machine, which may restart").requires("times");

pub const STOP: Opt<bool> = Opt::switch("stop", "End the restarts").conflicts(&["now"]);

pub const OPTIONS: &[&dyn Declared] = &[&NOW, &TIMES, &RESTART, &STOP];
