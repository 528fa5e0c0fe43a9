//! Has the kernel fill a drive in place of a member.

use super::{
    Site,
    course::{Course, course},
};
use crate::{
    danger::Claims,
    inventory::{Drive, Inventory, in_array},
    pool::{
        Build,
        health::{Action, Device, MemberState, State},
    },
    run::{self, BuildError, Building, Built, PoolLine, PoolLog, Replacement},
    sysroot::Sysroot,
    tools::{
        Runner,
        mdadm::{self, MemberFlags},
        udevadm,
    },
};

/// `shown`: the new drive as it was shown.
pub(super) fn replace(
    site: &mut Site<'_>,
    name: &str,
    replacement: &Replacement,
    shown: &Drive,
) -> Result<(), BuildError> {
    let (mut log, mut built) = PoolLog::open(site.store, name).map_err(BuildError::NoLog)?;
    let (root, inventory, at) = (Sysroot::live(), Inventory::read(&Sysroot::live()), replacement.at);
    let new = inventory.drive(&replacement.member.identity);
    let new = new.ok_or_else(|| BuildError::Drives(format!("{} is not plugged in", shown.label())))?;
    let health = built.build.health(&root, &inventory);
    let course = course(&built, &health, at, new, &inventory, site.tools);
    let course = course.map_err(BuildError::Array)?;
    let mut after = built.build.clone();
    after.members[at] = replacement.member.clone();
    let (device, old) = (log.device(&built, &inventory)?, built.build.drives(&inventory)[at]);
    let exchange = Exchange {
        new: after.member_path(at, &new.node()),
        old: old.map(|drive| built.build.member_path(at, &drive.node())),
        device,
        after,
    };
    if let Course::Prepare { begun, back, gives_up } = course {
        run::resync(&built, &mut log, &mut site.commands, &mut site.wait)?;
        if gives_up {
            give_up(site, &mut log, &mut built, &inventory)?;
        }
        let drive = if begun { new } else { shown };
        let claims = run::claim(&[drive], site.erase, site.store, Some(name), begun)?;
        log.append(&PoolLine::Replacing { replacement: Box::new(replacement.clone()) })?;
        // The claim ends before the drive is filled.
        exchange.prepare(site, replacement, &new.node(), back, &claims, &mut log)?;
    }
    exchange.fill(site, &mut log)
}

/// Gives up a replacement whose drive failed or is gone.
fn give_up(
    site: &mut Site<'_>,
    log: &mut PoolLog,
    built: &mut Built,
    inventory: &Inventory,
) -> Result<(), BuildError> {
    let Some(begun) = &built.replacing else { return Ok(()) };
    let array = log.device(built, inventory)?;
    if let Some(drive) = built.find(&[(begun.at, &begun.member)], inventory)[0] {
        let part = built.build.member_path(begun.at, &drive.node());
        if state(&array, &part) == MemberState::Failed {
            site.commands.alter(&mdadm::remove(&array.path(), &part), log)?;
        }
    }
    built.replacing = None;
    log.append(&PoolLine::GivenUp)
}

/// The state of a device in an array.
fn state(array: &Device, path: &str) -> MemberState {
    in_array(&array.name, path.trim_start_matches("/dev/"), &Sysroot::live())
}

/// An array, and the drives that change places in it.
struct Exchange {
    device: Device,
    /// The pool with the new drive.
    after: Build,
    /// The devices of the array on both drives; on the old one only if that is here.
    new: String,
    old: Option<String>,
}

impl Exchange {
    /// Prepares the new drive and adds it to the array. `back`: the array may take it as it is.
    fn prepare(
        &self,
        site: &mut Site<'_>,
        replacement: &Replacement,
        drive: &str,
        back: bool,
        claims: &Claims,
        log: &mut PoolLog,
    ) -> Result<(), BuildError> {
        let (array, commands, cancel) = (self.device.path(), &mut site.commands, site.wait.cancel);
        if back {
            match commands.erase(&mdadm::re_add(&array, &self.new), claims) {
                // Nothing says what changed since, so all of it is copied.
                Err(BuildError::Failed { .. }) => {}
                taken => return taken,
            }
        }
        let mut drives = vec![String::new(); self.after.members.len()];
        drive.clone_into(&mut drives[replacement.at]);
        let steps = self.after.preparation(replacement.at);
        Building { build: &self.after, drives: &drives, claims, log, commands, cancel }.perform(steps)?;
        commands.erase(&mdadm::add(&array, &self.new, MemberFlags::default()), claims)
    }

    /// Lets the array fill the new drive in place of the member, and waits for it. If this process ends before, the array goes on.
    fn fill(&self, site: &mut Site<'_>, log: &mut PoolLog) -> Result<(), BuildError> {
        let (array, root) = (self.device.path(), Sysroot::live());
        let state = |path: &String| state(&self.device, path);
        let waits = root.word(&format!("/sys/block/{}/md/array_state", self.device.name));
        if waits.as_deref() == Some("read-auto") {
            site.commands.alter(&mdadm::read_write(&array), log)?;
        }
        // An array that lacks a member begins by itself.
        let mut copied = self.old.as_ref().filter(|old| state(old) == MemberState::InSync);
        loop {
            let now = state(&self.new);
            match (now, self.old.as_ref().map(state)) {
                // Until the copy is complete, both are in it.
                (MemberState::InSync, None | Some(MemberState::Failed | MemberState::Unused)) => break,
                (MemberState::InSync, _) if self.old.as_ref() == Some(&self.new) => break,
                (MemberState::Failed | MemberState::Unused, _) => {
                    let why = format!("{} failed while it was rebuilt: name another drive", self.new);
                    return Err(BuildError::Array(why));
                }
                _ => {}
            }
            let health = self.after.health(&root, &Inventory::read(&root));
            if !matches!(health.state, State::Active) {
                return Err(BuildError::Array(format!("{} is not active", self.after.name)));
            }
            match (health.work.as_ref().map(|work| work.action), copied) {
                _ if now != MemberState::Spare => {}
                // A mdadm that was killed while it added the drive left it like this.
                (Some(Action::Frozen), _) => site.commands.alter(&mdadm::unfreeze(&array), log)?,
                // The kernel takes no replacement while it does something else with the array.
                (None | Some(Action::Pending), Some(old)) => {
                    site.commands.alter(&mdadm::replace(&array, old, &self.new), log)?;
                    copied = None;
                }
                _ => {}
            }
            site.wait.until_next(&health)?;
        }
        if let Some(old) = self.old.as_ref().filter(|old| state(old) == MemberState::Failed) {
            site.commands.alter(&mdadm::remove(&array, old), log)?;
        }
        // /dev/md/NAME may be gone while udev handles these changes. Without udev, nothing does.
        let _ = site.tools.ask(&udevadm::settle());
        log.append(&PoolLine::Replaced)
    }
}
