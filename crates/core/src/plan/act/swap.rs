//! Use more memory than there is, with swap on one medium.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Act, Changes, Cost, Needs, Step, Uncounted};
use crate::{
    inventory::Inventory,
    run::{Execution, RunError, Troubles, act, swap},
    sysroot::Sysroot,
    target::Target,
    units::{count, decimal_bytes, duration},
};

/// Makes a swap area, has a program of ours use more memory than it may have, and removes the area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SwapTest {
    pub medium: SwapMedium,
    /// Bytes of the swap area.
    pub area: u64,
    /// Bytes of memory that the program gets.
    pub memory: u64,
    /// How much of each page can't be compressed, percent.
    pub random: u8,
    pub works: Vec<SwapWork>,
    /// Repetitions of all of them.
    pub runs: u32,
    /// Of each, s.
    pub seconds: f64,
    /// The most that is written to the medium besides making the area, bytes.
    pub most: u64,
    pub seed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwapMedium {
    /// A file on the target.
    File,
    /// The same with zswap before it.
    Zswap,
    /// The target itself, a whole drive or a partition, which is erased; the identity of the drive.
    Device { drive: String },
    /// Compressed memory; `None` for the kernel's algorithm.
    Zram { algorithm: Option<String> },
}

impl SwapMedium {
    /// It is in memory, and writes to no drive.
    pub fn is_zram(&self) -> bool {
        matches!(self, Self::Zram { .. })
    }

    /// It is in a file on a filesystem.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File | Self::Zswap)
    }
}

/// A load on memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapWork {
    pub what: SwapWhat,
    /// How much memory it uses, in percent of what it may have.
    pub percent: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwapWhat {
    /// All pages in order, again and again.
    Sweep,
    /// One page anywhere at a time.
    Touch,
    /// Requests: some pages anywhere, and some work of the processor.
    Requests,
}

impl SwapWhat {
    pub fn words(self) -> &'static str {
        match self {
            Self::Sweep => "sweep",
            Self::Touch => "touch",
            Self::Requests => "requests",
        }
    }
}

impl SwapTest {
    /// The most that loads of a kind use, in percent of what the program may have.
    pub fn most_used(&self, what: SwapWhat) -> u32 {
        self.works.iter().filter(|work| work.what == what).map(|work| work.percent).max().unwrap_or(0)
    }
}

#[typetag::serde(name = "swap")]
impl Act for SwapTest {
    fn label(&self) -> String {
        "swap".to_owned()
    }

    fn cost(&self) -> Cost {
        // Filling memory takes as long as the medium needs.
        let made = if self.medium.is_file() { self.area } else { 0 };
        let written = if self.medium.is_zram() { 0 } else { made.saturating_add(self.most) };
        Cost { written, seconds: None, ..Cost::default() }
    }

    fn changes(&self) -> Changes {
        match &self.medium {
            SwapMedium::Device { drive } => Changes::Erases(vec![drive.clone()]),
            _ => Changes::DriveState("the kernel swaps to an area of ours, which is removed afterwards"),
        }
    }

    fn describe(&self) -> Option<String> {
        let Self { memory, area, random, runs, .. } = self;
        let on = match &self.medium {
            SwapMedium::File => "in a file",
            SwapMedium::Zswap => "in a file behind zswap",
            SwapMedium::Device { .. } => "on the device itself, which is erased",
            SwapMedium::Zram { .. } => "in compressed memory",
        };
        let most = self.works.iter().map(|work| work.percent).max().unwrap_or(100);
        Some(format!(
            "an area of {} {on}; a program that may have {} of memory uses up to {} of it, {random} % incompressible: {} of {}, {}; before each its memory is \
             filled, which takes a slow medium longer than the load",
            decimal_bytes(*area),
            decimal_bytes(*memory),
            decimal_bytes(*memory * u64::from(most) / 100),
            count(self.works.len() as u64, "load"),
            duration(self.seconds),
            count(u64::from(*runs), "time")
        ))
    }

    fn check(&self) -> Result<(), String> {
        /// Of memory that a program may have, in bytes.
        const MEMORY: RangeInclusive<u64> = 1 << 20..=1 << 40;
        /// Of a load, s.
        const SECONDS: RangeInclusive<f64> = 0.0..=1e6;
        let largest = self.works.iter().map(|work| work.percent).max().unwrap_or(100);
        let fits = MEMORY.contains(&self.memory)
            && MEMORY.contains(&self.area)
            && (1..=1000).contains(&largest)
            && self.works.iter().all(|work| work.percent > 0)
            && SECONDS.contains(&self.seconds);
        if fits { Ok(()) } else { Err("swaps with sizes or times that make no sense".to_owned()) }
    }

    fn space(&self) -> u64 {
        if self.medium.is_file() { self.area } else { 0 }
    }

    fn is_work(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs { uncounted: Uncounted::All, is_for_memory: true, ..Needs::default() }
    }

    fn require(&self, _: &Target, _: &Inventory) -> Result<(), String> {
        swap::possible(&Sysroot::live(), self)
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        act::swap::perform(run, step, self)
    }
}
