//! Options of pull.

use super::super::{
    Declared, Opt,
    options::{choice, parsed},
    shared_options::{ERASE, SEED, seconds},
    whole_drives,
};
use crate::pull::PullBy;

pub use super::super::whole_drives::{CHUNK, LAYOUTS};

pub const MEMBERS: Opt<Vec<usize>> =
    Opt::new("members", "LIST", members, "Drives, such as 1,3 [default: each in turn]");

pub const SIZE: Opt<u64> =
    whole_drives::SIZE.help("Used of each drive, or read from files").default("256MiB");

pub const TIME: Opt<f64> =
    Opt::new("runtime", "TIME", seconds, "Load time before and after a pull").default("10s");

const WAYS: [(&str, PullBy); 2] = [("usb", PullBy::Usb), ("hand", PullBy::Hand)];

pub const BY: Opt<PullBy> = Opt::new("by", "WAY", |text| choice(text, &WAYS), "usb, or hand: you pull it")
    .choices(&["usb", "hand"])
    .default("usb");

pub const REPEAT: Opt<u32> = Opt::new("runs", "N", parsed, "Pulls of each drive").default("1");

/// Names the drive, and is the consent to take it away.
pub const PULL_DRIVE: Opt<String> =
    Opt::new("pull", "SERIAL", parsed, "Drive to pull from a pool in use; only reads files")
        .conflicts(&["layouts", "members", "erase", "chunk", "runs"])
        .also_resumed();

pub const OPTIONS: &[&dyn Declared] =
    &[&LAYOUTS, &MEMBERS, &ERASE, &SIZE, &CHUNK, &TIME, &BY, &REPEAT, &PULL_DRIVE, &SEED];

fn members(text: &str) -> Result<Vec<usize>, String> {
    let number = |word: &str| match word.trim().parse::<usize>() {
        Ok(number) if number > 0 => Ok(number - 1),
        _ => Err(format!("'{word}' is not the number of a drive, counted from 1")),
    };
    text.split(',').map(number).collect()
}
