//! The machine on which a plan is executed: its drives, clock and tools.

use std::io;

use super::{RunError, journal::Journal};
use crate::{
    engine::{Cancel, Clock, Engine, EngineError},
    inventory::Inventory,
    plan::{BuildPool, Files, RebuildPool},
    record::ActResult,
    sysroot::Sysroot,
    target::{NotFound, Target},
    tools::{Runner, System},
    units::{Load, Parity},
};

/// A machine on which a plan is executed. Targets are numbered as in the plan.
pub trait World {
    /// The machine and its drives as they are now.
    fn inventory(&self) -> Inventory;

    /// Finds a target's current path. A `degraded` pool may lack drives; see [`Target::find_degraded`].
    fn find(&self, was: &Target, inventory: &Inventory, degraded: bool) -> Result<Target, NotFound>;

    /// The sysroot for reading counters.
    fn sysroot(&self) -> &Sysroot;

    /// The programs of a real machine; `None` for a modelled one.
    fn system(&self) -> Option<&System>;

    fn runner(&self) -> &dyn Runner;

    /// The serials of drives that may be erased.
    fn erasable(&self) -> &[String] {
        &[]
    }

    fn journal(&self) -> &Journal;

    /// The time now, as RFC 3339 in UTC.
    fn date(&self) -> String;

    /// The clock for differences of time and deadlines.
    fn clock(&self) -> Clock;

    /// Seconds since some moment, for differences.
    fn seconds(&self) -> f64 {
        self.clock().now_ns() as f64 / 1e9
    }

    /// Waits, or returns early if cancelled.
    fn wait(&self, seconds: f64, cancel: &Cancel);

    /// Creates a scratch file on a target, replacing the last one.
    fn make_scratch(
        &mut self,
        at: usize,
        target: &Target,
        bytes: u64,
        cancel: &Cancel,
    ) -> Result<(), RunError>;

    /// Opens an existing file or device; returns its length in bytes.
    fn open(&mut self, at: usize, target: &Target, cancel: &Cancel) -> Result<u64, RunError>;

    /// Where an existing file begins on its device, bytes; `None` if unknown.
    fn file_start(&self, at: usize) -> Option<u64>;

    /// Syncs a target's file and drops it from the page cache, so that the next read is cold.
    fn cool(&self, at: usize, cancel: &Cancel) -> io::Result<()>;

    /// An engine over the open files of these targets.
    fn engine(&self, choice: Option<&str>, load: &Load, on: &[usize])
    -> Result<Box<dyn Engine>, EngineError>;

    /// Writes or reads files in a scratch directory on a target; returns the result, and an error if any.
    fn files(
        &mut self,
        at: usize,
        target: &Target,
        files: &Files,
        cancel: &Cancel,
    ) -> Result<(ActResult, Option<String>), RunError>;

    /// Rates at which the kernel computes parity, as far as they are known.
    fn parity(&mut self) -> Parity;

    /// Erases drives and builds a pool, mounted at the path of the target; returns the target as it is then.
    fn build_pool(
        &mut self,
        at: usize,
        target: &Target,
        build: &BuildPool,
        cancel: &Cancel,
    ) -> Result<(Target, ActResult), RunError>;

    /// Takes a member out of the pool that was built for the target, and has the kernel fill it again.
    fn rebuild_pool(&mut self, at: usize, act: &RebuildPool, cancel: &Cancel) -> Result<ActResult, RunError>;

    /// Removes the pool that was built for the target, if any.
    fn remove_pool(&mut self, at: usize) -> Result<ActResult, RunError>;

    /// Closes a target's file and removes what the run created.
    fn close(&mut self, at: usize) -> Result<(), RunError>;
}
