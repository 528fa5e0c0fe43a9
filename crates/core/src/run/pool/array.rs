//! The kernel's work on an array, and the superblocks of its members.

use std::{cmp::Reverse, fs, thread, time::Duration};

use super::{BuildError, Built, Commands, PoolLog};
use crate::{
    engine::Cancel,
    inventory::Inventory,
    pool::{
        Build,
        health::{Action, Health, State, Work, digits},
    },
    sysroot::Sysroot,
    tools::{
        Runner,
        mdadm::{self, Superblock},
    },
};

/// How often the progress of an array is read.
const PROGRESS: Duration = Duration::from_millis(500);

/// A wait for the kernel to fill or compare an array.
pub struct Wait<'a> {
    /// Receives the health of the array at each poll.
    pub shows: &'a mut dyn FnMut(&Health),
    pub cancel: &'a Cancel,
}

impl Wait<'_> {
    /// Waits until the next poll. Cancelling ends the wait, not the kernel's work.
    pub fn until_next(&mut self, health: &Health) -> Result<(), BuildError> {
        (self.shows)(health);
        thread::sleep(PROGRESS);
        match self.cancel.is_set() {
            true => Err(BuildError::Array("interrupted; the kernel goes on".to_owned())),
            false => Ok(()),
        }
    }
}

/// What a former member of an array still has of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Former {
    Nothing,
    /// It has no newer data. `whole`: it never recorded a missing member, so it was not used alone.
    Older {
        whole: bool,
    },
    /// The event count of the drive is higher than the array's: it was used without the others.
    Newer {
        drive: u64,
        array: u64,
    },
}

/// The state of the drive whose part is at `part`, compared with the array at `array`, which has this UUID. An error if it can't be
/// read.
pub fn former(uuid: &str, part: &str, array: &str, runner: &dyn Runner) -> Result<Former, BuildError> {
    let unknown = |why: String| {
        BuildError::Array(format!("whether {part} has newer data than {array} is not known: {why}"))
    };
    let found = mdadm::superblock(&runner.ask(&mdadm::examine(part))?).map_err(unknown)?;
    let Some(found) = found.filter(|found| digits(&found.uuid) == digits(uuid)) else {
        return Ok(Former::Nothing);
    };
    let output = runner.ask(&mdadm::detail(array))?;
    // Another array may have its name by now.
    let there = mdadm::uuid(&output).ok_or_else(|| unknown(output.complaint()))?;
    if digits(there) != digits(uuid) {
        return Err(unknown(format!("{array} is another array")));
    }
    let now = mdadm::events(&output).ok_or_else(|| unknown(output.complaint()))?;
    Ok(match found.events > now {
        true => Former::Newer { drive: found.events, array: now },
        false => Former::Older { whole: found.complete },
    })
}

/// The parts with the newest data, if md refuses to start a raid5 or raid6 from these by itself: it was interrupted while writing and now
/// lacks members, or too few members have the newest data. With `--force` mdadm would take older ones, too. Empty while too few are
/// plugged in; `None` also if superblocks can't be read.
pub fn unclean(build: &Build, parts: &[String], runner: &dyn Runner) -> Option<Vec<String>> {
    let read = |part: &String| mdadm::superblock(&runner.ask(&mdadm::examine(part)).ok()?).ok()?;
    let found: Vec<_> = parts
        .iter()
        .filter_map(|part| Some((part, read(part)?)))
        .filter(|(_, found)| digits(&found.uuid) == digits(&build.uuids[0]))
        .collect();
    let newest = found.iter().map(|(_, found)| found).max_by_key(|found| found.events)?;
    // mdadm accepts a member that missed only the last change. A member that is being filled lacks a part of its data.
    let is_current = |found: &Superblock| found.events + 1 >= newest.events && !found.filling;
    let current: Vec<String> =
        found.iter().filter(|(_, found)| is_current(found)).map(|(part, _)| (*part).clone()).collect();
    let members = build.members.len();
    let needed = members - build.layout.survives(members);
    match build.layout.has_parity() {
        true if current.len() < needed => {
            let mut whole: Vec<_> = found.iter().filter(|(_, found)| !found.filling).collect();
            whole.sort_by_key(|(_, found)| Reverse(found.events));
            let are_enough = found.len() == members && whole.len() >= needed;
            let newest = whole.iter().take(if are_enough { needed } else { 0 });
            Some(newest.map(|(part, _)| (*part).clone()).collect())
        }
        true if current.len() < members && !newest.clean => Some(current),
        _ => None,
    }
}

/// Starts the resync of an array that was just assembled, which otherwise waits for the first write, and waits for its end.
pub fn resync(
    built: &Built,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
    wait: &mut Wait<'_>,
) -> Result<(), BuildError> {
    let root = Sysroot::live();
    let now = || built.build.health(&root, &Inventory::read(&root));
    let mut health = now();
    let is_pending = health.work.as_ref().is_some_and(|work| work.action == Action::Pending);
    if !is_pending || health.state != State::Active {
        return Ok(());
    }
    let device = log.device(built, &Inventory::read(&root))?;
    commands.alter(&mdadm::read_write(&device.path()), log)?;
    let goes_on = |work: &Work| work.action != Action::Frozen;
    while health.state == State::Active && health.work.as_ref().is_some_and(goes_on) {
        wait.until_next(&health)?;
        health = now();
    }
    Ok(())
}

/// Compares the copies or the parity of a pool, and returns the maximum number of sectors that differ. A comparison of less than
/// the whole pool is an error.
pub fn scrub(
    built: &Built,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
    wait: &mut Wait<'_>,
) -> Result<u64, BuildError> {
    let (root, build) = (Sysroot::live(), &built.build);
    let inventory = Inventory::read(&root);
    let device = log.device(built, &inventory)?;
    let md = format!("/sys/block/{}/md", device.name);
    // The kernel would go on where an earlier comparison was interrupted, and count from there.
    for (file, all) in [("sync_min", "0"), ("sync_max", "max")] {
        let path = format!("{md}/{file}");
        if root.word(&path).is_some_and(|now| now != all) {
            (commands.says)(&format!("echo {all} >{path}"));
            fs::write(&path, all).map_err(BuildError::file(&path))?;
        }
    }
    let drives = build.drives(&inventory).into_iter().enumerate();
    let parts: Vec<String> =
        drives.filter_map(|(at, drive)| Some(build.member_path(at, &drive?.name))).collect();
    let before: Vec<u64> = parts.iter().map(|part| sectors_read(&root, part)).collect();
    commands.alter(&mdadm::check(&device.path()), log)?;
    let health = loop {
        let health = build.health(&root, &Inventory::read(&root));
        match health.work {
            Some(work) if work.action == Action::Check => wait.until_next(&health)?,
            _ => break health,
        }
    };
    // The kernel doesn't record an interruption in the first sixteenth, so at least half must have been read: 1 KiB is 2 sectors.
    let half = root.number::<u64>(&format!("{md}/component_size")).unwrap_or(u64::MAX);
    let read = |(part, before): (&String, &u64)| sectors_read(&root, part).saturating_sub(*before) >= half;
    let is_whole = health.device.as_ref() == Some(&device)
        && matches!(health.state, State::Active | State::ReadOnly)
        && health.degraded == 0
        && health.work.is_none()
        && root.word(&format!("{md}/last_sync_action")).is_some_and(|last| last == "check")
        && root.number(&format!("{md}/sync_min")) == Some(0)
        && parts.len() == build.members.len()
        && parts.iter().zip(&before).all(read);
    let differ = root.number(&format!("{md}/mismatch_cnt")).filter(|_| is_whole);
    differ.ok_or_else(|| {
        let name = &build.name;
        BuildError::Array(format!(
            "the comparison of {name} was interrupted, so its result is not known: drivebench pool status {name}"
        ))
    })
}

/// Sectors that were read from a disk or a partition since it appeared.
fn sectors_read(root: &Sysroot, name: &str) -> u64 {
    let stat = root.long_text(&format!("/sys/class/block/{name}/stat")).unwrap_or_default();
    stat.split_whitespace().nth(2).and_then(|sectors| sectors.parse().ok()).unwrap_or(0)
}
