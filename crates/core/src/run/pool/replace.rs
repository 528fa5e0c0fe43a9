//! Replaces a member of a pool, and compares copies and parity.

use std::{cmp::Reverse, fs, thread, time::Duration};

use super::{BuildError, Built, Commands, PoolLog, Replacement, found, perform};
use crate::{
    danger::Claimed,
    inventory::Inventory,
    pool::{
        Build, Step,
        health::{Action, Device, Health, MemberState, State, Work, digits, in_array},
    },
    sysroot::Sysroot,
    tools::{
        Runner,
        mdadm::{self, MemberFlags, Superblock},
        udevadm,
    },
};

/// The time between two looks at the progress of an array.
const PROGRESS: Duration = Duration::from_millis(500);

/// A member, and the drive that takes its place.
struct Places {
    device: Device,
    /// The pool with the new drive.
    after: Build,
    new: String,
    /// If it is plugged in.
    old: Option<String>,
}

impl Places {
    fn of(
        built: &Built,
        replacement: &Replacement,
        drive: &str,
        log: &mut PoolLog,
    ) -> Result<Self, BuildError> {
        let inventory = Inventory::read(&Sysroot::live());
        let device = found(built, &inventory, log).ok_or_else(|| stopped(&built.build.name))?;
        let at = replacement.at;
        let mut after = built.build.clone();
        after.members[at] = replacement.member.clone();
        let old = built.build.drives(&inventory)[at];
        let old = old.map(|drive| built.build.member_path(at, &drive.node()));
        Ok(Self { device, new: after.member_path(at, drive), old, after })
    }

    fn state(&self, path: &str) -> MemberState {
        in_array(&self.device.name, path.trim_start_matches("/dev/"), &Sysroot::live())
    }
}

/// What a drive that was a member of an array has of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Former {
    Nothing,
    /// It has no newer data. `whole`: as far as it knows no other member was ever missing, so that it was not used alone.
    Older {
        whole: bool,
    },
    /// The event count of the drive is higher than the array's: it was used without the others.
    Newer {
        drive: u64,
        array: u64,
    },
}

/// What the drive whose part is at `part` has of the pool, whose array is at `array`. The error if that can't be read.
pub fn former(build: &Build, part: &str, array: &str, runner: &dyn Runner) -> Result<Former, BuildError> {
    let unknown = |why: String| {
        let name = &build.name;
        BuildError::Array(format!("whether {part} has newer data than {name} is not known: {why}"))
    };
    let found = mdadm::superblock(&runner.ask(&mdadm::examine(part))?).map_err(unknown)?;
    let Some(found) = found.filter(|found| digits(&found.uuid) == digits(&build.uuids[0])) else {
        return Ok(Former::Nothing);
    };
    let output = runner.ask(&mdadm::detail(array))?;
    let now = mdadm::events(&output).ok_or_else(|| unknown(output.complaint()))?;
    Ok(match found.events > now {
        true => Former::Newer { drive: found.events, array: now },
        false => Former::Older { whole: found.complete },
    })
}

/// What keeps md from starting a raid5 or raid6 by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unclean {
    /// Its writing was cut off, and it has now less than all of its members: what shares a stripe with what was being written can't be
    /// computed from wrong parity. `complete`: none was missing then. `current`: the parts with the newest data; with `--force` mdadm would take
    /// older ones, too.
    Short { complete: bool, current: Vec<String> },
    /// Too few of those that are plugged in have the newest data: with the others, files that were written since may be damaged. `newest`:
    /// the parts with the newest data, as many as it needs; empty while one is not plugged in.
    Stale { newest: Vec<String> },
}

/// Whether md refuses to start the array, of whose members these parts are plugged in. None also where superblocks can't be read.
pub fn unclean(build: &Build, parts: &[String], runner: &dyn Runner) -> Option<Unclean> {
    let read = |part: &String| mdadm::superblock(&runner.ask(&mdadm::examine(part)).ok()?).ok()?;
    let found: Vec<_> = parts
        .iter()
        .filter_map(|part| Some((part, read(part)?)))
        .filter(|(_, found)| digits(&found.uuid) == digits(&build.uuids[0]))
        .collect();
    let newest = found.iter().map(|(_, found)| found).max_by_key(|found| found.events)?;
    // mdadm takes one that missed the last change for up to date. One that is being filled has not all of its data.
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
            Some(Unclean::Stale { newest: newest.map(|(part, _)| (*part).clone()).collect() })
        }
        true if current.len() < members && !newest.clean => {
            Some(Unclean::Short { complete: newest.complete, current })
        }
        _ => None,
    }
}

/// Lets an array that was just assembled begin the resync that it waits with until the first write, and waits for its end. Nothing else
/// can be done with it before.
pub fn resync(
    built: &Built,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
    progress: &mut dyn FnMut(&Health),
) -> Result<(), BuildError> {
    let root = Sysroot::live();
    let now = || built.build.health(&root, &Inventory::read(&root));
    let mut health = now();
    let is_pending = health.work.as_ref().is_some_and(|work| work.action == Action::Pending);
    if !is_pending || health.state != State::Active {
        return Ok(());
    }
    let device: Device =
        found(built, &Inventory::read(&root), log).ok_or_else(|| stopped(&built.build.name))?;
    commands.alter(&mdadm::read_write(&device.path()), log)?;
    let goes_on = |work: &Work| work.action != Action::Frozen;
    while health.state == State::Active && health.work.as_ref().is_some_and(goes_on) {
        progress(&health);
        thread::sleep(PROGRESS);
        health = now();
    }
    Ok(())
}

/// Prepares the drive at `drive` and adds it to the array. `back`: it was a member before and has no newer data, so the array may
/// take it as it is.
pub fn replace(
    built: &Built,
    replacement: &Replacement,
    drive: &str,
    back: bool,
    claims: &impl Claimed,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
) -> Result<(), BuildError> {
    let places = Places::of(built, replacement, drive, log)?;
    let (after, array) = (&places.after, places.device.path());
    log.replacing(replacement)?;
    if back {
        match commands.erase(&mdadm::re_add(&array, &places.new), claims) {
            // Nothing says what changed since, so all of it is copied.
            Err(BuildError::Failed { .. }) => {}
            taken => return taken,
        }
    }
    let mut drives = vec![String::new(); after.members.len()];
    drive.clone_into(&mut drives[replacement.at]);
    for step in after.preparation(replacement.at) {
        perform(after, step, &drives, claims, log, commands)?;
        if matches!(step, Step::Wipe(_)) {
            commands.settle(claims)?;
        }
    }
    let flags = MemberFlags { write_mostly: replacement.member.write_mostly, failfast: false };
    commands.erase(&mdadm::add(&array, &places.new, flags), claims)
}

/// Gives up a replacement whose drive failed or is gone, so that another drive can be named.
pub fn give_up(
    built: &Built,
    drive: Option<&str>,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
) -> Result<(), BuildError> {
    let Some(replacement) = &built.replacing else { return Ok(()) };
    if let Some(drive) = drive {
        let places = Places::of(built, replacement, drive, log)?;
        if places.state(&places.new) == MemberState::Failed {
            commands.alter(&mdadm::remove(&places.device.path(), &places.new), log)?;
        }
    }
    Ok(log.given_up()?)
}

/// Lets the array fill the new drive in place of the member, and waits for it. If this process ends before, the array goes on.
pub fn fill(
    built: &Built,
    replacement: &Replacement,
    drive: &str,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
    progress: &mut dyn FnMut(&Health),
) -> Result<(), BuildError> {
    let places = Places::of(built, replacement, drive, log)?;
    let (new, old) = (&places.new, &places.old);
    let array = places.device.path();
    let state = Sysroot::live().word(&format!("/sys/block/{}/md/array_state", places.device.name));
    match state.as_deref() {
        Some("read-auto") => commands.alter(&mdadm::read_write(&array), log)?,
        Some("readonly") => {
            let write = mdadm::read_write(&array);
            return Err(BuildError::Array(format!("{} is read only: {write}", built.build.name)));
        }
        _ => {}
    }
    // An array that lacks a member begins by itself.
    let mut copied = old.as_ref().filter(|old| places.state(old) == MemberState::InSync);
    loop {
        let now = places.state(new);
        match (now, old.as_deref().map(|old| places.state(old))) {
            // Until the copy is complete, both are in it.
            (MemberState::InSync, None | Some(MemberState::Failed | MemberState::Unused)) => break,
            (MemberState::InSync, _) if *old == Some(new.clone()) => break,
            (MemberState::Failed | MemberState::Unused, _) => {
                return Err(BuildError::Array(format!(
                    "{new} failed while it was filled: name another drive"
                )));
            }
            _ => {}
        }
        let root = Sysroot::live();
        let health = places.after.health(&root, &Inventory::read(&root));
        if matches!(health.state, State::Broken | State::Stopped | State::Inactive) {
            return Err(stopped(&built.build.name));
        }
        let is_spare = now == MemberState::Spare;
        match (health.work.as_ref().map(|work| work.action), copied) {
            // A mdadm that was killed while it added the drive left it like this.
            (Some(Action::Frozen), _) if is_spare => commands.alter(&mdadm::go_on(&array), log)?,
            // The kernel takes no replacement while it does something else with the array.
            (None | Some(Action::Pending), Some(old)) if is_spare => {
                commands.alter(&mdadm::replace(&array, old, new), log)?;
                copied = None;
            }
            _ => {}
        }
        progress(&health);
        thread::sleep(PROGRESS);
    }
    if let Some(old) = old.as_ref().filter(|old| places.state(old) == MemberState::Failed) {
        commands.alter(&mdadm::remove(&array, old), log)?;
    }
    // /dev/md/NAME may be gone while udev handles these changes. Without udev, nothing does.
    let _ = commands.runner.ask(&udevadm::settle());
    Ok(log.replaced()?)
}

fn stopped(name: &str) -> BuildError {
    BuildError::Array(format!("{name} is not active: drivebench pool status {name}"))
}

/// Compares the copies or the parity of a pool, and returns the sectors that differ, at most. The error if the comparison was
/// not of the whole pool: it says nothing.
pub fn scrub(
    built: &Built,
    inventory: &Inventory,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
    progress: &mut dyn FnMut(&Health),
) -> Result<u64, BuildError> {
    let (root, build) = (Sysroot::live(), &built.build);
    let device: Device = found(built, inventory, log).ok_or_else(|| stopped(&build.name))?;
    let md = format!("/sys/block/{}/md", device.name);
    // The kernel would go on where an earlier comparison was interrupted, and count from there.
    for (file, all) in [("sync_min", "0"), ("sync_max", "max")] {
        let path = format!("{md}/{file}");
        if root.word(&path).is_some_and(|now| now != all) {
            (commands.says)(&format!("echo {all} >{path}"));
            fs::write(&path, all).map_err(BuildError::file(&path))?;
        }
    }
    let drives = build.drives(inventory).into_iter().enumerate();
    let parts: Vec<String> =
        drives.filter_map(|(at, drive)| Some(build.member_path(at, &drive?.name))).collect();
    let before: Vec<u64> = parts.iter().map(|part| sectors_read(&root, part)).collect();
    commands.alter(&mdadm::check(&device.path()), log)?;
    let health = loop {
        let health = build.health(&root, &Inventory::read(&root));
        match health.work {
            Some(work) if work.action == Action::Check => progress(&health),
            _ => break health,
        }
        thread::sleep(PROGRESS);
    };
    // Where one was interrupted is known only after its first sixteenth: before, too little was read. In KiB.
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
            "the comparison of {name} was interrupted, so it says nothing: drivebench pool status {name}"
        ))
    })
}

/// Sectors that were read from a disk or a partition since it appeared.
fn sectors_read(root: &Sysroot, name: &str) -> u64 {
    let stat = root.long_text(&format!("/sys/class/block/{name}/stat")).unwrap_or_default();
    stat.split_whitespace().nth(2).and_then(|sectors| sectors.parse().ok()).unwrap_or(0)
}
