//! Has the kernel fill a drive in place of a member: how, and whether it can.

use super::Site;
use crate::{
    danger::Claims,
    inventory::{Drive, Inventory, in_array},
    pool::{
        Build,
        health::{Action, Device, Health, MemberState, State},
    },
    run::{self, BuildError, Building, Built, Former, PoolLine, PoolLog, Replacement},
    sysroot::Sysroot,
    tools::{
        Runner,
        mdadm::{self, MemberFlags},
        udevadm,
    },
    units::decimal_bytes,
};

/// How a drive takes the place of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Course {
    /// An earlier call added it to the array: it is only waited for.
    Wait,
    Prepare {
        /// An earlier call began to prepare it.
        begun: bool,
        /// It was a member, has no newer data, and is given back as it is, if the array takes it so.
        back: bool,
        /// The replacement that an earlier call began is given up: its drive failed, or isn't used yet or isn't here, and another one is
        /// named.
        gives_up: bool,
    },
}

/// How this drive takes the place of the member with the number `at`, or why it can't.
pub fn course(
    built: &Built,
    health: &Health,
    at: usize,
    new: &Drive,
    inventory: &Inventory,
    runner: &dyn Runner,
) -> Result<Course, String> {
    let (build, name, label) = (&built.build, built.build.name.clone(), new.label());
    let old = &build.members[at];
    let gives_up = given_up(built, health, new, inventory);
    let replacing = built.replacing.as_ref().filter(|_| !gives_up);
    let is_same = |begun: &&Replacement| (begun.at, &begun.member.identity) == (at, &new.identity());
    let begun = replacing.filter(is_same);
    if let Some(begun) = begun {
        let state = begun.state(built, Some(new), health.device.as_ref(), &Sysroot::live());
        if !matches!(state, MemberState::Unused | MemberState::Failed) {
            return Ok(Course::Wait);
        }
    }
    if !build.layout.is_redundant() {
        return Err(format!(
            "{name} is {}: without copies or parity no drive of it can be replaced",
            build.layout
        ));
    }
    // A resync that waits for the first write is begun, and waited for.
    let is_idle = health.work.as_ref().is_none_or(|work| work.action == Action::Pending);
    let array = health.device.as_ref().map(Device::path).unwrap_or_default();
    if !built.finished || built.removing || health.state != State::Active || !is_idle {
        return Err(format!("{name} must be active and idle; what to do: drivebench pool status {name}"));
    }
    // Another replacement was begun, or another member is missing.
    let other = replacing.filter(|other| !is_same(other)).map(|other| other.at);
    let is_missing = |state: &MemberState| *state != MemberState::InSync;
    let works = health.members[at] == MemberState::InSync && health.missing > 0;
    let missing = health.members.iter().position(is_missing).filter(|_| works);
    if let Some(first) = other.or(missing) {
        return Err(format!("{name}: replace {} first", build.members[first].label));
    }
    let is_member = build.drives(inventory)[at].is_some_and(|found| found.name == new.name);
    let part = build.member_path(at, &new.node());
    if is_member && health.members[at] != MemberState::Unused {
        let remove = mdadm::remove(&array, &part);
        return Err(format!(
            "{label} is already in {name}. To retry a drive that failed: {remove}, then this command again"
        ));
    }
    for (number, drive) in build.drives(inventory).into_iter().enumerate().filter(|(other, _)| *other != at) {
        if drive.is_some_and(|drive| drive.name == new.name || inventory.are_one(drive, new)) {
            let other = &build.members[number].label;
            return Err(format!("{label} and {other} are one piece of hardware, and would fail together"));
        }
    }
    // After the partition is the second copy of the table.
    let needed = old.part.map_or(old.sectors, |part| part.start + part.sectors + 2048);
    let (block, old_block) = (new.logical_block, old.logical_block);
    if block != old_block || new.sectors < needed {
        let (bytes, needed) = (decimal_bytes(new.bytes()), decimal_bytes(needed * 512));
        return Err(format!(
            "{label} doesn't fit {name}: it has {bytes} in blocks of {block} bytes, and the pool needs {needed} in blocks of {old_block}"
        ));
    }
    // A wiped drive can't be re-added.
    let may_be_back = is_member && !(begun.is_some() && built.reached);
    let former = may_be_back.then(|| run::former(&build.uuids[0], &part, &array, runner));
    let former = former.transpose().map_err(|e| e.to_string())?;
    if let Some(Former::Newer { drive, array }) = former {
        return Err(format!(
            "{label} has newer data than {name}: its event count is {drive}, the pool's is {array}. It was used without the \
             pool. Nothing was changed. Compare them before you decide: mdadm --examine {part}. To discard what only \
             {label} has: wipefs --all {part}, then this command again"
        ));
    }
    let back = former == Some(Former::Older { whole: true });
    Ok(Course::Prepare { begun: begun.is_some(), back, gives_up })
}

/// Whether a replacement was begun that can't be completed.
fn given_up(built: &Built, health: &Health, named: &Drive, inventory: &Inventory) -> bool {
    // It is known only for an active array.
    let begun = built.replacing.as_ref().filter(|_| health.state == State::Active);
    let Some(begun) = begun else { return false };
    let drive = built.find(&[(begun.at, &begun.member)], inventory)[0];
    match begun.state(built, drive, health.device.as_ref(), &Sysroot::live()) {
        MemberState::Failed => true,
        MemberState::Absent | MemberState::Unused => drive.is_none_or(|drive| drive.name != named.name),
        _ => false,
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pool::{
            Member,
            testing::{request, stick},
        },
        tools::Replay,
        units::{Layout, Work},
    };

    fn built(name: &str, drives: [&Drive; 2]) -> Built {
        let request = crate::pool::Request { name: name.to_owned(), ..request(Layout::Raid1) };
        Built {
            build: request.plan(&Inventory::default(), &drives).expect("fits"),
            begun: Vec::new(),
            mount: None,
            configured: Vec::new(),
            finished: true,
            replacing: None,
            reached: false,
            removing: false,
            busy: false,
        }
    }

    #[test]
    fn what_can_t_be_replaced_now_is_refused_and_nothing_is_given_up() {
        let [a, b, new, other] = [("sda", "A"), ("sdb", "B"), ("sdc", "C"), ("sdd", "D")]
            .map(|(name, serial)| stick(name, name, serial, false));
        let mut pool = built("data", [&a, &b]);
        let member = Member { identity: other.identity(), ..pool.build.members[1].clone() };
        pool.replacing = Some(Replacement { at: 1, member });
        let health = |state, device: Option<Device>, work: Option<Action>| Health {
            device,
            state,
            degraded: 1,
            missing: 1,
            work: work.map(|action| Work { action, done: None, rate: None, left: None }),
            mismatches: None,
            members: vec![MemberState::InSync, MemberState::Absent],
            others: Vec::new(),
        };
        let (none, tools) = (Inventory::default(), Replay::default());
        let md = || Some(Device { name: "md127".to_owned(), number: (9, 127) });
        let course = |pool: &Built, health: &Health| super::course(pool, health, 1, &new, &none, &tools);
        let prepare = |gives_up| Ok(Course::Prepare { begun: false, back: false, gives_up });
        // Another one is named, and the one before is not plugged in.
        assert_eq!(course(&pool, &health(State::Active, md(), None)), prepare(true));
        let not_ready =
            Err("data must be active and idle; what to do: drivebench pool status data".to_owned());
        for state in [State::Inactive, State::Stopped, State::ReadOnly] {
            assert_eq!(course(&pool, &health(state, md(), None)), not_ready);
        }
        pool.replacing = None;
        assert_eq!(course(&pool, &health(State::Active, md(), None)), prepare(false));
        // It is begun and waited for.
        assert_eq!(course(&pool, &health(State::Active, md(), Some(Action::Pending))), prepare(false));
        assert_eq!(course(&pool, &health(State::Active, md(), Some(Action::Resync))), not_ready);
    }
}
