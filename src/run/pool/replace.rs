//! Replaces a member of a pool, and compares copies and parity.

use std::{thread, time::Duration};

use super::{BuildError, Built, Commands, PoolLog, Replacement, found, perform};
use crate::{
    danger::Claimed,
    inventory::Inventory,
    pool::{
        Build, Step,
        health::{Action, Device, Health, MemberState, State, in_array},
    },
    sysroot::Sysroot,
    tools::{mdadm, udevadm},
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
        let old = inventory.drives.iter().find(|drive| drive.identity() == built.build.members[at].identity);
        let old = old.map(|drive| built.build.member_path(at, &drive.node()));
        Ok(Self { device, new: after.member_path(at, drive), old, after })
    }

    fn state(&self, path: &str) -> MemberState {
        in_array(&self.device.name, path.trim_start_matches("/dev/"), &Sysroot::live())
    }
}

/// Prepares the drive at `drive` and adds it to the array.
pub fn replace(
    built: &Built,
    replacement: &Replacement,
    drive: &str,
    claims: &impl Claimed,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
) -> Result<(), BuildError> {
    let places = Places::of(built, replacement, drive, log)?;
    let (after, array) = (&places.after, places.device.path());
    log.replacing(replacement)?;
    let mut drives = vec![String::new(); after.members.len()];
    drive.clone_into(&mut drives[replacement.at]);
    for step in after.preparation(replacement.at) {
        perform(after, step, &drives, claims, log, commands)?;
        if matches!(step, Step::Wipe(_)) {
            commands.settle(claims)?;
        }
    }
    commands.erase(&mdadm::add(&array, &places.new), claims)
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
                return Err(BuildError::Array(format!("{new} failed while it was filled")));
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

/// Compares the copies or the parity of a pool, and returns its health afterwards.
pub fn scrub(
    built: &Built,
    inventory: &Inventory,
    log: &mut PoolLog,
    commands: &mut Commands<'_>,
    progress: &mut dyn FnMut(&Health),
) -> Result<Health, BuildError> {
    let root = Sysroot::live();
    let device: Device = found(built, inventory, log).ok_or_else(|| stopped(&built.build.name))?;
    commands.alter(&mdadm::check(&device.path()), log)?;
    loop {
        let health = built.build.health(&root, &Inventory::read(&root));
        match health.work {
            Some(work) if work.action == Action::Check => progress(&health),
            _ => return Ok(health),
        }
        thread::sleep(PROGRESS);
    }
}
