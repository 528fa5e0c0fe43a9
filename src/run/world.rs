//! What a plan is carried out in: a machine with its drives, its clock and its tools.

use std::{io, path::PathBuf};

use super::{RunError, journal::Journal};
use crate::{
    engine::{Cancel, Engine, EngineError},
    inventory::Inventory,
    plan::Files,
    record::ActResult,
    sysroot::Sysroot,
    target::{NotFound, Target},
    tools::Runner,
    units::Load,
};

/// A machine on which a plan is carried out. Targets are known by their position in the plan.
pub trait World {
    /// The machine and its drives as they are now.
    fn inventory(&self) -> Inventory;

    /// A target where it is now.
    ///
    /// # Errors
    /// Where it isn't there.
    fn find(&self, was: &Target, inventory: &Inventory) -> Result<Target, NotFound>;

    /// Where the machine's counters are read.
    fn sysroot(&self) -> &Sysroot;

    /// Runs other programs.
    fn runner(&self) -> &dyn Runner;

    /// What the run must undo.
    fn journal(&self) -> &Journal;

    /// The time now, as RFC 3339 in UTC.
    fn date(&self) -> String;

    /// Seconds since some moment, for differences.
    fn seconds(&self) -> f64;

    /// Lets time go by, less where someone asks to stop.
    fn wait(&self, seconds: f64, cancel: &Cancel);

    /// Makes a scratch file on a target in place of the one before; its name, where it has one.
    ///
    /// # Errors
    /// Where it can't be made.
    fn make_scratch(&mut self, at: usize, target: &Target, bytes: u64) -> Result<Option<PathBuf>, RunError>;

    /// Opens what exists already; its length in bytes.
    ///
    /// # Errors
    /// Where it can't be opened.
    fn open(&mut self, at: usize, target: &Target) -> Result<u64, RunError>;

    /// The share of an existing file that is really on the drive; holes read as instant zeros.
    fn filled_share(&self, target: &Target) -> Option<f64>;

    /// Brings a target's file to the drive and drops it from the page cache, so that the next read is cold.
    ///
    /// # Errors
    /// Where it can't be synced.
    fn cool(&self, at: usize, cancel: &Cancel) -> io::Result<()>;

    /// An engine over the open files of these targets.
    ///
    /// # Errors
    /// Where it can't be had.
    fn engine(&self, choice: Option<&str>, load: &Load, on: &[usize])
    -> Result<Box<dyn Engine>, EngineError>;

    /// Writes or reads files in a directory of our own on a target; what came of it, and what went wrong on the way.
    ///
    /// # Errors
    /// Where there can't be such a directory.
    fn files(
        &mut self,
        at: usize,
        target: &Target,
        files: &Files,
        cancel: &Cancel,
    ) -> Result<(ActResult, Option<String>), RunError>;

    /// Closes a target's file and removes what is ours.
    ///
    /// # Errors
    /// Where something is left.
    fn close(&mut self, at: usize) -> Result<(), RunError>;
}
