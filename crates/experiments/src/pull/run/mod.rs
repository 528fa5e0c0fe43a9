//! Takes a drive of a pool away while files are used, finds out what is left, brings the drive back, and checks all files again.

mod built;
mod check;
mod detach;
mod in_use;
mod known;
mod rejoin;

use std::{
    fs, io, thread,
    time::{Duration, Instant},
};

pub use check::can_pull;
pub use detach::{DetachedDrive, Unplug};

use self::{built::PoolOfRun, detach::interrupted, in_use::UsedPool, rejoin::Array};
use super::{Pull, PullResult, PulledPool};
use crate::{
    engine::Cancel,
    inventory::Drive,
    run::{BuildError, Execution, Journal, RunError, Watcher},
    sysroot::Sysroot,
    test_files::{FilesFound, HANG, LedgerFound, Load, POLL, sum, within},
    tools::{Runner, System},
};

/// A pool whose drive is taken away. One that the run built and one in use differ in what may be written to them, and so in what can be
/// verified.
trait PoolUnderTest {
    /// Other programs use it: it must be complete again at the end.
    fn is_in_use(&self) -> bool {
        false
    }

    /// Starts to use its files.
    fn start_load(&self) -> io::Result<Load>;

    /// The most that may be written while the drive is away, bytes.
    fn most_written(&self) -> u64 {
        0
    }

    /// Refuses to take the drive away after what was read so far.
    fn check_before(&self, _load: &Load, _pulled: &PulledDrive) -> Result<(), BuildError> {
        Ok(())
    }

    /// Empties the page cache, so that what is read next comes from drives.
    fn drop_caches(&self) {
        let _ = within(HANG, empty_cache);
    }

    /// Reads all files, and the places of acknowledged writes.
    fn verify(&self) -> (FilesFound, LedgerFound);

    /// Starts a pool without copies with all its drives, since it takes none back. Notes the commands.
    fn restart(&self, _commands: &mut Vec<String>) -> Result<(), BuildError> {
        Ok(())
    }

    /// Compares copies or parity: sectors that differ, at most; none where that is left to others.
    fn compare(&self, _cancel: &Cancel) -> Result<Option<u64>, BuildError> {
        Ok(None)
    }
}

/// The drive that is taken away, and its array.
#[derive(Debug)]
struct PulledDrive {
    drive: Drive,
    unplug: Unplug,
    /// The drives of a pool that the run built.
    drives: Vec<Drive>,
    /// The array of md that fills the drive when it comes back; none of a pool without copies or parity.
    array: Option<Array>,
    /// The drives whose superblocks may be written: their serials.
    consent: Vec<String>,
}

/// Context of a pull.
struct Session<'a> {
    journal: &'a Journal,
    runner: &'a dyn Runner,
    cancel: &'a Cancel,
    /// How long files are used before the pull, and again while the drive is away.
    time: Duration,
}

/// Receives what is found so far.
type Save<'s> = dyn FnMut(&mut Execution<'_, '_>, PullResult) -> io::Result<()> + 's;

/// Carries the act out on a target. What is found while the drive is away is saved before it is brought back, which is done even if that
/// can't be saved.
pub fn pull(
    act: &Pull,
    run: &mut Execution<'_, '_>,
    target: usize,
    save: &mut Save<'_>,
) -> Result<(), RunError> {
    let (journal, tools, cancel) = (run.ctx.world.journal().clone(), System::default(), run.cancel.clone());
    let time = Duration::from_secs_f64(act.seconds);
    let session = Session { journal: &journal, runner: &tools, cancel: &cancel, time };
    let mut result = PullResult::default();
    let on = &run.plan.targets[target];
    let (pool, pulled): (Box<dyn PoolUnderTest>, PulledDrive) = match &act.pool {
        PulledPool::Built(pool) => {
            let (erase, store) = (run.ctx.world.erasable(), run.ctx.store);
            let (pool, pulled) = PoolOfRun::open(act, pool, run.planned.build(target), (on, erase, store))?;
            (Box::new(pool), pulled)
        }
        PulledPool::InUse(pool) => {
            let (pool, pulled, read) = UsedPool::open(act, pool, on, &session)?;
            result.read = Some(read);
            (Box::new(pool), pulled)
        }
    };
    let mut detached = take_away(&session, &*pool, &pulled, &mut result, run.ctx.watcher)?;
    let saved = save(run, result.clone());
    let back = rejoin::bring_back(&session, &*pool, &pulled, &mut detached, run.ctx.watcher)
        .map_err(|e| pulled.may_lack(e, &*pool))?;
    let lacks = back.refused.last().cloned().filter(|_| pool.is_in_use() && back.healed.is_none());
    let saved = saved.and_then(|()| save(run, PullResult { back: Some(back), ..result }));
    // A pool that lacks a drive matters more than a record that can't be written.
    match lacks {
        Some(why) => Err(pulled.may_lack(BuildError::Array(why), &*pool).into()),
        None => Ok(saved?),
    }
}

/// Uses files, takes the drive away, uses them again, and checks what is left. Once the drive is away it has to be brought back, whatever is
/// found.
fn take_away(
    session: &Session<'_>,
    pool: &dyn PoolUnderTest,
    pulled: &PulledDrive,
    result: &mut PullResult,
    watcher: &mut dyn Watcher,
) -> Result<DetachedDrive, BuildError> {
    let Session { journal, cancel, time, .. } = *session;
    let (root, array) = (Sysroot::live(), pulled.array.as_ref());
    let begun = Instant::now();
    let load = pool.start_load().map_err(|e| BuildError::Array(format!("files can't be used: {e}")))?;
    while begun.elapsed() < time && !cancel.is_set() {
        thread::sleep(POLL);
    }
    if cancel.is_set() {
        return Err(interrupted());
    }
    pool.check_before(&load, pulled)?;
    let detached = DetachedDrive::announce(journal, &pulled.drive, &pulled.unplug)?;
    load.allow(pool.most_written());
    let others_work = || match array {
        Some(array) => array.lacks_no_other(&root),
        None => pulled.others_are_here(),
    };
    let lost = || array.is_some_and(|array| !array.lost(&root).is_empty());
    let zero = detached
        .take_away(&others_work, cancel, &mut |text| watcher.asks(text))
        .map_err(|e| pulled.may_lack(e, pool))?;
    while zero.elapsed() < time && !cancel.is_set() && !lost() {
        thread::sleep(POLL);
    }
    let end = Instant::now();
    let (ops, hanging) = load.end();
    (result.before, result.away) = (sum(&ops, &[], begun, zero), sum(&ops, &hanging, zero, end));
    result.lost = lost();
    // The drive of a pool in use comes back first.
    if !pool.is_in_use() || !cancel.is_set() && !result.lost {
        pool.drop_caches();
        (result.files, result.ledger) = pool.verify();
    } else if cancel.is_set() {
        watcher.waits("The run ends once the drive is back");
    }
    result.missing = array.and_then(|array| array.degraded(&root)).unwrap_or(0);
    Ok(detached)
}

impl PulledDrive {
    /// Refuses to wait on if a person pulled another drive of the pool.
    fn others_are_here(&self) -> Result<(), BuildError> {
        let is_gone = |other: &&Drive| other.name != self.drive.name && !detach::is_plugged_in(other);
        self.drives.iter().find(is_gone).map_or(Ok(()), |other| {
            Err(BuildError::Drives(format!(
                "{} is gone, and {} was to be pulled: plug it in again, and start again",
                other.label(),
                self.drive.label()
            )))
        })
    }

    /// An error after which a pool in use may lack the drive.
    fn may_lack(&self, e: BuildError, pool: &dyn PoolUnderTest) -> BuildError {
        match &self.array {
            Some(array) if pool.is_in_use() => array.may_lack(e),
            _ => e,
        }
    }
}

/// Empties the page cache of what is on the drives already.
fn empty_cache() -> io::Result<()> {
    fs::write("/proc/sys/vm/drop_caches", "3")
}
