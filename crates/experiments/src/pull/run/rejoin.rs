//! Gives a drive back to its pool, waits until it has its data again, and checks all files.

use std::{
    collections::BTreeMap,
    thread,
    time::{Duration, Instant},
};

use super::{PoolUnderTest, PulledDrive, Session, detach::DetachedDrive};
use crate::{
    danger::Claims,
    engine::Cancel,
    inventory::{Block, Drive, Inventory, Layer, in_array, work},
    pull::{RejoinResult, TakenBack},
    run::{BuildError, Commands, Former, Watcher, exists, former},
    sysroot::Sysroot,
    test_files::{Load, sum},
    tools::{
        Runner,
        mdadm::{self, MemberFlags},
    },
    units::{Action, MemberState, Work, listed},
};

/// Time limit for a pool to take a drive back without a command.
const BY_ITSELF: Duration = Duration::from_secs(3);
/// The time between two looks at an array that is filled.
const PROGRESS: Duration = Duration::from_millis(100);
/// Idle time of an array after which its rebuild counts as stopped.
const IDLE: Duration = Duration::from_secs(30);
/// The time between two reports of how far a drive is filled.
const REPORT: Duration = Duration::from_secs(60);

/// Brings the drive back. After that the pool has all its data on all drives again, or the result says why not. For a pool in use, Ctrl-C
/// ends it only during the rebuild.
pub fn bring_back(
    session: &Session<'_>,
    pool: &dyn PoolUnderTest,
    pulled: &PulledDrive,
    detached: &mut DetachedDrive,
    watcher: &mut dyn Watcher,
) -> Result<RejoinResult, BuildError> {
    let never = Cancel::default();
    // A pool in use is not left without its drive.
    let cancel = if pool.is_in_use() { &never } else { session.cancel };
    detached.bring_back(session.runner, cancel, &mut |text| watcher.asks(text))?;
    let mut back = RejoinResult::default();
    let healed = match &pulled.array {
        Some(array) => fill_again(session, pool, (pulled, array), &mut back, watcher),
        None => {
            let begun = Instant::now();
            pool.restart(&mut back.commands).map(|()| {
                back.taken_back = TakenBack::Restarted;
                begun.elapsed().as_secs_f64()
            })
        }
    };
    match healed {
        Ok(seconds) => back.healed = Some(seconds),
        Err(e) => back.refused.push(e.to_string()),
    }
    let watched = pulled.array.as_ref().filter(|_| pool.is_in_use());
    watched.into_iter().for_each(|array| note_lost(array, &mut back));
    // On Ctrl-C, a pool in use is not read once more.
    if !pool.is_in_use() || back.was_given() && !back.lost && !session.cancel.is_set() {
        pool.drop_caches();
        (back.files, back.ledger) = pool.verify();
        // That may have taken hours.
        watched.into_iter().for_each(|array| note_lost(array, &mut back));
    }
    if back.healed.is_some() && pulled.array.is_some() {
        match pool.compare(session.cancel) {
            Ok(differ) => back.mismatches = differ,
            Err(e) => back.refused.push(e.to_string()),
        }
    }
    Ok(back)
}

/// Gives the drive to its array, and waits until it is filled; meanwhile a pool that the run built is used. Returns how long that took, s.
fn fill_again(
    session: &Session<'_>,
    pool: &dyn PoolUnderTest,
    (pulled, array): (&PulledDrive, &Array),
    back: &mut RejoinResult,
    watcher: &mut dyn Watcher,
) -> Result<f64, BuildError> {
    let (root, here) = (Sysroot::live(), Instant::now());
    let (drive, member) = array.find(&Inventory::read(&root))?;
    let mut by_itself = false;
    while !by_itself && here.elapsed() < BY_ITSELF {
        by_itself = array.has(&member, &root);
        thread::sleep(PROGRESS);
    }
    let from = Instant::now();
    // A pool in use is not read meanwhile, so that the rebuild is not slowed.
    let load = if pool.is_in_use() { None } else { pool.start_load().ok() };
    if by_itself {
        back.taken_back = TakenBack::ByItself;
    } else {
        match join(session, pool, (pulled, array), (&drive, &member), back) {
            // udev may have given it back meanwhile.
            Err(_) if array.has(&member, &root) => back.taken_back = TakenBack::ReAdded,
            joined => back.taken_back = joined?,
        }
    }
    let filled = wait_until_complete(array, &member, session.cancel, watcher);
    let to = Instant::now();
    if let Some((ops, hanging)) = load.map(Load::end) {
        back.during = sum(&ops, &hanging, from, to);
    }
    let begun = if by_itself { here } else { from };
    filled.map(|()| (to - begun).as_secs_f64())
}

/// Notes that an array that lost another drive, or this one again, is no longer complete.
fn note_lost(array: &Array, back: &mut RejoinResult) {
    let root = Sysroot::live();
    back.lost = !array.lost(&root).is_empty();
    let found = array.find(&Inventory::read(&root));
    let is_complete = found.is_ok_and(|(_, member)| array.is_complete(&member, &root));
    if (back.lost || !is_complete) && back.healed.take().is_some() {
        let incomplete = format!("meanwhile {} became incomplete. {ADVICE}", array.shown);
        back.refused.push(array.lacks_no_other(&root).err().map_or(incomplete, |e| e.to_string()));
    }
}

/// Gives the member to its array: as it is, or as a new one where mdadm refuses that. Returns which.
fn join(
    session: &Session<'_>,
    pool: &dyn PoolUnderTest,
    (pulled, array): (&PulledDrive, &Array),
    (drive, member): (&Drive, &str),
    back: &mut RejoinResult,
) -> Result<TakenBack, BuildError> {
    let (root, path, node) = (Sysroot::live(), array.path(), format!("/dev/{member}"));
    let claims = Claims::take(Claims::lock(&[drive])?, &pulled.consent)?;
    // Nobody else uses a pool that the run built.
    match pool.is_in_use() {
        true => may_be_given(array, member, session.runner, &root)?,
        false => array.lacks_no_other(&root)?,
    }
    let mut says = |command: &str| back.commands.push(command.to_owned());
    let mut commands = Commands { runner: session.runner, says: &mut says, exists: &exists };
    match commands.erase(&mdadm::re_add(&path, &node), &claims) {
        // mdadm refuses what lacks a bitmap, or was away for too long: it is filled as a new one.
        Err(e @ BuildError::Failed { .. }) if !array.has(member, &root) => back.refused.push(e.to_string()),
        given => return given.map(|()| TakenBack::ReAdded),
    }
    array.lacks_no_other(&root)?;
    // Its superblock is that of a new one from now on.
    commands.erase(&mdadm::add(&path, &node, array.flags), &claims).map(|()| TakenBack::Added)
}

/// Refuses to give a drive to an array that needs something else first, or that would lose data.
fn may_be_given(array: &Array, member: &str, runner: &dyn Runner, root: &Sysroot) -> Result<(), BuildError> {
    array.lacks_no_other(root)?;
    let (Array { name, shown, member: before, .. }, node) = (array, format!("/dev/{member}"));
    let drive = array.drive.label();
    // mdadm would take one that is listed under the name that it had for another one, and make it a spare.
    let why = if before != member && in_array(name, before, root) != MemberState::Unused {
        format!(
            "it is still listed as {before}: mdadm /dev/{name} --fail detached --remove detached; mdadm /dev/{name} --re-add {node}"
        )
    } else if array.degraded(root) == Some(0) || array.has_added(member, root) {
        format!(
            "another drive was added meanwhile and takes its place. Until that is rebuilt, as `drivebench list` shows, keep {drive} as it is"
        )
    } else {
        match former(&array.uuid, &node, &array.path(), runner)? {
            Former::Older { whole: true } => return Ok(()),
            Former::Nothing => "it has no superblock, or that of another array".to_owned(),
            // No bitmap marks what was written if it was started elsewhere.
            _ => format!(
                "it may have been used without the others. Look at its files first; to discard them and rebuild it as new: \
                 mdadm --zero-superblock {node}; mdadm /dev/{name} --add {node}"
            ),
        }
    };
    Err(BuildError::Drives(format!("{drive} ({node}) is not given to {shown}: {why}")))
}

/// Waits until a member has all its data, and the array lacks no others; says now and then how far it is.
fn wait_until_complete(
    array: &Array,
    member: &str,
    cancel: &Cancel,
    watcher: &mut dyn Watcher,
) -> Result<(), BuildError> {
    let (shown, root) = (&array.shown, Sysroot::live());
    let (mut reported, mut idle) = (None::<Instant>, Instant::now());
    while !array.is_complete(member, &root) {
        array.lacks_no_other(&root)?;
        let work = array.work(&root);
        if matches!(work.as_ref().map(|work| work.action), Some(Action::Recover | Action::Resync)) {
            idle = Instant::now();
        }
        // It waits as a spare, or the array is frozen or takes no writes.
        if idle.elapsed() >= IDLE {
            return Err(BuildError::Array(format!("{shown} is not complete, and no drive is being rebuilt")));
        }
        if cancel.is_set() {
            let drive = array.drive.label();
            return Err(BuildError::Array(format!(
                "{drive} is back in {shown}; the kernel goes on filling it"
            )));
        }
        if reported.is_none_or(|at| at.elapsed() >= REPORT) {
            let progress = work.map_or("the rebuild begins".to_owned(), |work| work.describe());
            watcher.waits(&format!("{shown}: {progress}"));
            reported = Some(Instant::now());
        }
        thread::sleep(PROGRESS);
    }
    Ok(())
}

/// What to do about an array that lost drives. What is on all of them may be needed to put it together.
pub const ADVICE: &str = "Erase none of its drives, and add none as a new one. Plug in again what was lost";

/// An array, and its member on the drive that is taken away.
#[derive(Debug, Clone)]
pub struct Array {
    /// The kernel's name, and that for people.
    pub name: String,
    pub shown: String,
    pub drive: Drive,
    /// The kernel's name of the member before it was taken away.
    pub member: String,
    /// UUID of the array in the superblock of the member.
    pub uuid: String,
    /// Where the member's partition begins; none if it is the whole drive.
    pub start: Option<u64>,
    pub flags: MemberFlags,
    /// The drives of the other members, for people, by the kernel's names of the members.
    pub others: BTreeMap<String, String>,
}

impl Array {
    /// Reads what identifies the array and the member of a drive, so that it returns to that array only.
    pub fn read(
        layer: &Layer,
        (drive, member): (&Drive, &str),
        inventory: &Inventory,
        runner: &dyn Runner,
    ) -> Result<Self, BuildError> {
        let path = format!("/dev/{member}");
        let unknown =
            |why: String| BuildError::Array(format!("the superblock of {path} can't be read: {why}"));
        let superblock = mdadm::superblock(&runner.ask(&mdadm::examine(&path))?).map_err(unknown)?;
        let superblock = superblock.ok_or_else(|| unknown("it has none".to_owned()))?;
        let other = |name: &String| {
            let drives = inventory.drives_of_block(name);
            (name.clone(), drives.first().map_or_else(|| name.clone(), |drive| drive.label()))
        };
        let state = Sysroot::live().word(&format!("/sys/block/{}/md/dev-{member}/state", layer.name));
        let is = |flag: &str| state.iter().flat_map(|state| state.split(',')).any(|word| word == flag);
        Ok(Self {
            name: layer.name.clone(),
            shown: layer.shown(),
            drive: drive.clone(),
            member: member.to_owned(),
            uuid: superblock.uuid,
            start: drive.partitions.iter().find(|part| part.name == member).map(|part| part.start),
            flags: MemberFlags { write_mostly: is("write_mostly"), failfast: is("failfast") },
            others: layer.members.iter().filter(|name| *name != member).map(other).collect(),
        })
    }

    /// The path of its device.
    pub fn path(&self) -> String {
        format!("/dev/{}", self.name)
    }

    /// The drive as it is plugged in now, and the kernel's name of the member on it.
    pub fn find(&self, inventory: &Inventory) -> Result<(Drive, String), BuildError> {
        let gone = |what: &str| BuildError::Drives(what.to_owned());
        let drive = inventory.drive(&self.drive.identity()).ok_or_else(|| gone("the drive is gone again"))?;
        let part = self.start.map(|start| drive.partitions.iter().find(|part| part.start == start));
        let block = match part {
            None => Block::Drive(drive),
            Some(Some(part)) => Block::Partition(drive, part),
            Some(None) => return Err(gone("the partition of the pool is gone from the drive")),
        };
        Ok((drive.clone(), block.name().to_owned()))
    }

    /// The state of a member, by the kernel's name. md does not say that the last copy of some data is lost: that stays in use, though
    /// its drive is gone.
    pub fn state(&self, member: &str, root: &Sysroot) -> MemberState {
        match root.number::<u64>(&format!("/sys/class/block/{member}/size")) {
            None | Some(0) => MemberState::Absent,
            Some(_) => in_array(&self.name, member, root),
        }
    }

    /// Whether it uses a member, or fills it.
    pub fn has(&self, member: &str, root: &Sysroot) -> bool {
        matches!(self.state(member, root), MemberState::InSync | MemberState::Filling)
    }

    /// The drives of other members that have failed or are gone.
    pub fn lost(&self, root: &Sysroot) -> Vec<&str> {
        let lost = self.others.iter().filter(|(name, _)| self.state(name, root) != MemberState::InSync);
        lost.map(|(_, label)| label.as_str()).collect()
    }

    /// Refuses to go on if it lost another drive, or if that is not known: without two drives, files would be lost.
    pub fn lacks_no_other(&self, root: &Sysroot) -> Result<(), BuildError> {
        let lost = self.lost(root);
        let what = match self.degraded(root) {
            _ if !lost.is_empty() => format!("lost {}", listed(&lost)),
            Some(0 | 1) => return Ok(()),
            Some(_) => "lost another drive".to_owned(),
            None => "was stopped".to_owned(),
        };
        Err(BuildError::Array(format!("meanwhile {} {what}. {ADVICE}", self.shown)))
    }

    /// An error after which it may lack the drive.
    pub fn may_lack(&self, e: impl std::fmt::Display) -> BuildError {
        BuildError::Array(format!(
            "{e}. `drivebench list` says whether {} is complete, and what to do",
            self.shown
        ))
    }

    /// Number of missing members, from the kernel.
    pub fn degraded(&self, root: &Sysroot) -> Option<u64> {
        root.number(&self.file("degraded"))
    }

    /// The member has all its data, and the array lacks no others and can be written to: md fails all writes once the last copy of some
    /// data could not be written. What else the kernel does with it is not waited for.
    pub fn is_complete(&self, member: &str, root: &Sysroot) -> bool {
        self.degraded(root) == Some(0)
            && self.state(member, root) == MemberState::InSync
            && root.word(&self.file("array_state")).as_deref() != Some("broken")
    }

    /// Whether it lists a member that it did not have before: somebody added another drive.
    pub fn has_added(&self, member: &str, root: &Sysroot) -> bool {
        let is_known = |name: &str| name == self.member || name == member || self.others.contains_key(name);
        let listed = root.list(&format!("/sys/block/{}/md", self.name));
        listed.iter().filter_map(|file| file.strip_prefix("dev-")).any(|name| !is_known(name))
    }

    /// The kernel's background work on the array.
    pub fn work(&self, root: &Sysroot) -> Option<Work> {
        work(root, &format!("/sys/block/{}/md", self.name))
    }

    fn file(&self, name: &str) -> String {
        format!("/sys/block/{}/md/{name}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures::Tree;

    /// A raid5 of three.
    fn array() -> Array {
        Array {
            name: "md127".to_owned(),
            shown: "nas (md127)".to_owned(),
            drive: Drive::default(),
            member: "sdb1".to_owned(),
            uuid: "6d1a35b2:8c1a4d8e:01f3bb2c:9ce6a51f".to_owned(),
            start: Some(2048),
            flags: MemberFlags::default(),
            others: ["sda1", "sdc1"].map(|name| (name.to_owned(), format!("the stick of {name}"))).into(),
        }
    }

    /// What md says of that array: how many members it lacks, and the state of one other than the one that was away.
    fn tree(degraded: Option<&str>, state: &str) -> Tree {
        let mut tree = Tree::empty();
        if let Some(degraded) = degraded {
            tree.file("sys/block/md127/md/degraded", degraded);
        }
        tree.file("sys/block/md127/md/dev-sda1/state", "in_sync\n");
        tree.file("sys/class/block/sda1/size", "1000\n");
        tree.file("sys/block/md127/md/dev-sdc1/state", state);
        tree
    }

    #[test]
    fn a_member_that_md_counts_as_in_use_is_away_if_it_is_gone() {
        let mut tree = tree(Some("1\n"), "in_sync\n");
        tree.file("sys/block/md127/md/dev-sdb1/state", "in_sync\n");
        assert!(!array().has("sdb1", &tree.sysroot()));
        tree.file("sys/class/block/sdb1/size", "1000\n");
        assert!(array().has("sdb1", &tree.sysroot()));
    }

    #[test]
    fn an_array_that_lost_another_drive_or_was_stopped_is_given_none() {
        // What md says of the array and of another member, and whether that is there.
        let said = |degraded: Option<&str>, state: &str, is_there: bool| {
            let mut tree = tree(degraded, state);
            if is_there {
                tree.file("sys/class/block/sdc1/size", "1000\n");
            }
            let refused = array().lacks_no_other(&tree.sysroot());
            refused.err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert_eq!(said(Some("1\n"), "in_sync\n", true), "");
        // The last copy stays in use, though it is gone.
        for (degraded, state, is_there, other) in [
            ("2\n", "in_sync\n", true, "another drive"),
            ("2\n", "faulty\n", true, "the stick of sdc1"),
            ("1\n", "in_sync\n", false, "the stick of sdc1"),
            ("1\n", "faulty\n", true, "the stick of sdc1"),
        ] {
            let lost = said(Some(degraded), state, is_there);
            assert_eq!(lost, format!("meanwhile nas (md127) lost {other}. {ADVICE}"));
        }
        let stopped = said(None, "in_sync\n", true);
        assert!(stopped.contains("meanwhile nas (md127) was stopped. "), "{stopped}");
    }
}
