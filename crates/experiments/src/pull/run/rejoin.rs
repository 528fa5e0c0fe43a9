//! Gives a drive back to its pool, waits until it has its data again, and checks all files.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    PoolUnderTest, PulledDrive, Session,
    array::{Array, MemberDevice, Standing},
    detach::DetachedDrive,
    second::pull_second,
};
use crate::{
    conditions::bytes_written,
    danger::Claims,
    engine::Cancel,
    inventory::{Inventory, in_array},
    pull::RejoinResult,
    run::{BuildError, Commands, Watcher, exists},
    sysroot::Sysroot,
    test_files::{HANG, Load, POLL, SAMPLE, sample, sum},
    tools::{Runner, mdadm, wipefs},
    units::{Action, KIB, MemberState, duration, listed},
};

/// How long a pool may take to take a drive back without a command.
const BY_ITSELF: Duration = Duration::from_secs(3);
/// The time between two looks at an array that is filled.
pub const PROGRESS: Duration = Duration::from_millis(100);
/// How long an array may do nothing before it fills a drive.
const IDLE: Duration = Duration::from_secs(30);
/// The time between two reports of how far a drive is filled.
const REPORT: Duration = Duration::from_secs(60);

/// Brings the drive back. After that the pool has all its data on all drives again, or the result says why not. For a pool in use, a person
/// who wants the end of the run is heeded only while the drive is filled.
pub fn bring_back(
    session: &Session<'_>,
    pool: &dyn PoolUnderTest,
    pulled: &PulledDrive,
    detached: &mut DetachedDrive,
    watcher: &mut dyn Watcher,
) -> Result<RejoinResult, BuildError> {
    let (root, zero, never) = (Sysroot::live(), Instant::now(), Cancel::default());
    // A pool in use is not left without its drive.
    let cancel = if pool.is_in_use() { &never } else { session.cancel };
    let drive = detached
        .returns(session.runner, cancel, &mut |text| watcher.asks(text))
        .map_err(|e| pulled.lacks(e, pool))?;
    let appeared = zero.elapsed().as_secs_f64();
    let mut back = RejoinResult { name: drive.name, appeared, ..RejoinResult::default() };
    let healed = match pulled.filling_array() {
        Some(array) => fill_again(session, pool, (pulled, array), &mut back, watcher),
        None => {
            let begun = Instant::now();
            pool.restart(&mut back.commands).map(|()| begun.elapsed().as_secs_f64())
        }
    };
    match healed {
        Ok(seconds) => back.healed = Some(seconds),
        Err(e) => back.refused.push(e.to_string()),
    }
    let watched = pulled.filling_array().filter(|_| pool.is_in_use());
    watched.into_iter().for_each(|array| note_lost(array, &mut back, &root));
    // On Ctrl-C, a pool in use is not read once more.
    if !pool.is_in_use() || back.was_given() && !back.lost && !session.cancel.is_set() {
        pool.drop_caches();
        (back.files, back.ledger) = pool.verify();
        // That may have taken hours.
        watched.into_iter().for_each(|array| note_lost(array, &mut back, &root));
    }
    back.state = pool.state().0;
    if back.healed.is_some() && pulled.is_redundant {
        match pool.compare(session.cancel) {
            Ok(differ) => back.mismatches = differ,
            Err(e) => back.refused.push(e.to_string()),
        }
    }
    Ok(back)
}

/// Gives the drive to its array, and waits until it is filled while files are used. Returns how long that took, s.
fn fill_again(
    session: &Session<'_>,
    pool: &dyn PoolUnderTest,
    (pulled, array): (&PulledDrive, &Array),
    back: &mut RejoinResult,
    watcher: &mut dyn Watcher,
) -> Result<f64, BuildError> {
    let (root, cancel, here) = (Sysroot::live(), session.cancel, Instant::now());
    let device = array.member_device(&Inventory::read(&root)).map_err(|e| pulled.lacks(e, pool))?;
    while !back.by_itself && here.elapsed() < BY_ITSELF {
        back.by_itself = array.standing(&device.name, &root) != Standing::Away;
        thread::sleep(PROGRESS);
    }
    // Of one that was taken back by itself, the begin was not seen.
    let written = || bytes_written(&root, &device.drive.name);
    let written_before = written().filter(|_| !back.by_itself);
    let from = Instant::now();
    let begun = if back.by_itself { here } else { from };
    let load = pool.start_load().ok();
    if !back.by_itself {
        if pool.is_in_use() {
            may_be_given(array, &device, session.runner, &root)?;
        }
        join(session, array, pulled, &device, &mut back.commands, &mut back.refused)?;
    }
    let filled = match (pool.second()?, load) {
        (Some(second), Some(load)) => {
            pull_second(session, pool, (array, &device), &second, (load, from), back, watcher)
        }
        (_, load) => {
            let mut complete = None;
            // Reading a pool in use goes on for as long as before; after that, what is filled gets all of the drives.
            while pool.is_in_use() && from.elapsed() < session.time && !cancel.is_set() {
                let is_complete = || array.is_complete(&device.name, 0, &root);
                complete = complete.or_else(|| is_complete().then(Instant::now));
                thread::sleep(POLL);
            }
            let mut end_load = |load: Option<Load>| {
                let to = Instant::now();
                let Some((ops, hanging)) = load.map(|load| load.end(HANG)) else { return };
                back.during = sum(&ops, &hanging, from, to);
                back.sample = sample(&ops, from, SAMPLE);
            };
            let load = if pool.is_in_use() {
                end_load(load);
                None
            } else {
                load
            };
            let filled = wait_until_complete(array, &device, 0, cancel, &mut |text| watcher.waits(text));
            let filled = filled.map(|()| complete.unwrap_or_else(Instant::now));
            end_load(load);
            filled
        }
    };
    let size = root.number::<u64>(&array.file("component_size"));
    let written = written().zip(written_before).map(|(now, before)| now.saturating_sub(before));
    back.copied = written.zip(size).map(|(bytes, size)| bytes as f64 / (size.max(1) * KIB) as f64);
    Ok(filled?.saturating_duration_since(begun).as_secs_f64())
}

impl PulledDrive {
    /// An error after which a pool in use lacks the drive.
    fn lacks(&self, e: BuildError, pool: &dyn PoolUnderTest) -> BuildError {
        match &self.array {
            Some(array) if pool.is_in_use() => {
                let Array { shown, drive, status, .. } = array;
                BuildError::Array(format!("{e}. {shown} lacks {drive} now: plug it in, and see `{status}`"))
            }
            _ => e,
        }
    }
}

/// An array that lost another drive, or this one again, is not complete, whatever it was before.
fn note_lost(array: &Array, back: &mut RejoinResult, root: &Sysroot) {
    let Array { shown, drive, status, .. } = array;
    let lost = array.lost(root);
    back.lost = !lost.is_empty();
    // Why it was not given the drive is said already.
    if !back.was_given() {
        return;
    }
    let device = array.member_device(&Inventory::read(root));
    let why = match &lost[..] {
        [] if array.is_broken(root) => array.restart(),
        [] if back.healed.is_some()
            && !device.as_ref().is_ok_and(|device| array.is_complete(&device.name, 0, root)) =>
        {
            format!("{shown} is not complete any more since {drive} was back: `{status}` shows its state")
        }
        [] => return,
        lost => {
            let standing = device.map_or(Standing::Away, |device| array.standing(&device.name, root));
            format!("meanwhile {shown} lost {}. {}", listed(lost), array.advice(standing, root))
        }
    };
    back.healed = None;
    back.refused.push(why);
}

/// Refuses to give a drive to an array in use that needs something else first, or that would lose data.
fn may_be_given(
    array: &Array,
    device: &MemberDevice,
    runner: &dyn Runner,
    root: &Sysroot,
) -> Result<(), BuildError> {
    lacks_only_this(array, root)?;
    forgot_old_name(array, device, root)?;
    took_no_other(array, device, root)?;
    is_former_member(array, device, runner)
}

/// Gives the member to its array: as it is, or as a new one where it was wiped or mdadm refuses that.
pub(super) fn join(
    session: &Session<'_>,
    array: &Array,
    pulled: &PulledDrive,
    device: &MemberDevice,
    said: &mut Vec<String>,
    refused: &mut Vec<String>,
) -> Result<(), BuildError> {
    let (root, path, node) = (Sysroot::live(), array.path(), &device.node);
    let has = || array.standing(&device.name, &root) != Standing::Away;
    let lacks = |e: BuildError, how: &str| match lacks_only_this(array, &root) {
        Ok(()) => {
            let Array { shown, drive, .. } = array;
            BuildError::Array(format!("{e}. {shown} lacks {drive} now: mdadm {path} {how} {node}"))
        }
        Err(lost) => lost,
    };
    let claims = Claims::lock(&[&device.drive]).and_then(|lock| Claims::take(lock, &pulled.consent));
    let claims = match claims {
        Ok(claims) => claims,
        // udev may have given it back meanwhile.
        Err(_) if has() => return Ok(()),
        Err(e) => return Err(lacks(e.into(), "--re-add")),
    };
    lacks_only_this(array, &root)?;
    let mut says = |command: &str| said.push(command.to_owned());
    let mut commands = Commands { runner: session.runner, says: &mut says, exists: &exists };
    if pulled.as_new {
        // Without its superblock nothing says what it has already.
        commands.erase(&wipefs::wipe(node), &claims)?;
    } else {
        match commands.erase(&mdadm::re_add(&path, node), &claims) {
            Ok(()) => return Ok(()),
            Err(_) if has() => return Ok(()),
            // mdadm refuses what lacks a bitmap, or was away for too long: it is filled as a new one.
            Err(e @ BuildError::Failed { .. }) => refused.push(e.to_string()),
            Err(e) => return Err(lacks(e, "--re-add")),
        }
    }
    lacks_only_this(array, &root)?;
    // Its superblock is that of a new one from now on.
    commands.erase(&mdadm::add(&path, node, array.flags), &claims).map_err(|e| lacks(e, "--add"))
}

/// Refuses to give a drive to an array that lost another one meanwhile: what is on both may be needed to put it together. Nor to one of
/// which that is not known.
fn lacks_only_this(array: &Array, root: &Sysroot) -> Result<(), BuildError> {
    let Array { name, shown, drive, uuid, .. } = array;
    let lost = array.lost(root);
    let lost = match (array.degraded(root), &lost[..]) {
        (Some(2..), []) => "another drive".to_owned(),
        (Some(_), []) => return Ok(()),
        (Some(_), lost) => listed(lost),
        (None, _) => {
            return Err(BuildError::Drives(format!(
                "{drive} is not given to {shown}, whose state can't be read: it may have been stopped. To start it: mdadm --assemble /dev/{name} \
                 --uuid={uuid}. If it lacks the drive then: mdadm /dev/{name} --re-add, with the member on it"
            )));
        }
    };
    let advice = array.advice(Standing::Away, root);
    Err(BuildError::Drives(format!(
        "{drive} is not given to {shown}, because meanwhile it lost {lost}. {advice}"
    )))
}

/// Refuses an array that still lists the drive under the name that it had: mdadm would take it for another one, and make it a spare.
fn forgot_old_name(array: &Array, device: &MemberDevice, root: &Sysroot) -> Result<(), BuildError> {
    let (Array { name, shown, drive, member, .. }, node) = (array, &device.node);
    if *member == device.name || in_array(name, member, root) == MemberState::Unused {
        return Ok(());
    }
    Err(BuildError::Array(format!(
        "{shown} still lists {member}, which is gone, and {drive} is {node} now: mdadm /dev/{name} --fail detached --remove detached; mdadm /dev/{name} \
         --re-add {node}"
    )))
}

/// Refuses an array to which another drive was added meanwhile.
fn took_no_other(array: &Array, device: &MemberDevice, root: &Sysroot) -> Result<(), BuildError> {
    let Array { shown, drive, .. } = array;
    let refused =
        |why: String| Err(BuildError::Drives(format!("{drive} is not given back to {shown}: {why}")));
    match (array.degraded(root), &array.added(&device.name, root)[..]) {
        (Some(0), _) => refused("it is complete without it, because another drive took its place".to_owned()),
        (_, []) => Ok(()),
        (_, added) => {
            let added = listed(added);
            refused(format!(
                "{added} was added to it meanwhile, and is to take its place. Until that is filled, as `drivebench list` shows, keep {drive} as it is"
            ))
        }
    }
}

/// Refuses what is no former member of the array, and one that was used without it: that has newer data.
fn is_former_member(array: &Array, device: &MemberDevice, runner: &dyn Runner) -> Result<(), BuildError> {
    let (Array { name, shown, uuid, .. }, path) = (array, &device.node);
    let refused = |why: &str| BuildError::Drives(format!("{path} is not given to {shown}: {why}"));
    let superblock = mdadm::superblock(&runner.ask(&mdadm::examine(path))?).map_err(|why| refused(&why))?;
    let superblock = superblock.ok_or_else(|| refused("it has no superblock of it any more"))?;
    if superblock.uuid != *uuid {
        return Err(refused("it has the superblock of another array"));
    }
    let detail = runner.ask(&mdadm::detail(&format!("/dev/{name}")))?;
    if mdadm::uuid(&detail) != Some(uuid) {
        return Err(refused(&format!("/dev/{name} is another array now, or mdadm does not say which")));
    }
    // One that only left says that all drives were there. What one that was started elsewhere wrote since, no bitmap marks.
    let used = |has: &str| {
        Err(refused(&format!(
            "{has}. What was written to it then is only on it, and in no backup of the pool: look at that first. To give that up and fill it as a new \
             one: wipefs --all {path}; mdadm /dev/{name} --add {path}"
        )))
    };
    if !superblock.complete {
        return used(
            "its superblock says that other drives were missing, so it may have been used without them",
        );
    }
    match mdadm::events(&detail) {
        Some(events) if superblock.events > events => {
            used("it was used without the others, and has newer data")
        }
        Some(_) => Ok(()),
        None => Err(refused("mdadm does not say how many events the pool has had")),
    }
}

/// Waits until a member has all its data, and the array lacks so many others.
pub fn wait_until_complete(
    array: &Array,
    device: &MemberDevice,
    lacks: u64,
    cancel: &Cancel,
    says: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    let Array { shown, drive, status, .. } = array;
    let root = Sysroot::live();
    let failed = |why: String| Err(BuildError::Array(why));
    let (mut reported, mut idle) = (None::<Instant>, Instant::now());
    while !array.is_complete(&device.name, lacks, &root) {
        let work = array.work(&root);
        if work.as_ref().is_some_and(|work| matches!(work.action, Action::Recover | Action::Resync)) {
            idle = Instant::now();
        }
        // What it does about others that are lost is said afterwards.
        if array.is_broken(&root) && array.lost(&root).is_empty() {
            return failed(array.restart());
        }
        match in_array(&array.name, &device.name, &root) {
            MemberState::Failed | MemberState::Unused | MemberState::Absent => {
                return failed(format!(
                    "{drive} was lost while {shown} was filled: `{status}` shows its state"
                ));
            }
            // Another one failed meanwhile, or this one waits as a spare.
            _ if idle.elapsed() >= IDLE => {
                let frozen = match work.map(|work| work.action) {
                    Some(Action::Frozen) => format!(". It is frozen: {}", mdadm::go_on(&array.path())),
                    _ => String::new(),
                };
                return failed(format!(
                    "{shown} is not complete, and no drive is being filled: `{status}` shows its state{frozen}"
                ));
            }
            _ => {}
        }
        let progress = work.map_or("filling a drive begins".to_owned(), |work| {
            let left = work.left.map(|left| format!(", {} left", duration(left.round())));
            work.progress() + &left.unwrap_or_default()
        });
        if cancel.is_set() {
            return failed(format!(
                "{drive} is back in {shown}, which is not complete yet ({progress}): the kernel goes on, and `{status}` shows how far it is"
            ));
        }
        if reported.is_none_or(|at| at.elapsed() >= REPORT) {
            says(&format!("{shown}: {progress}"));
            reported = Some(Instant::now());
        }
        thread::sleep(PROGRESS);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::array::OtherMember, *};
    use crate::{inventory::fixtures::Tree, tools::mdadm::MemberFlags};

    #[test]
    fn an_array_that_lost_another_drive_or_was_stopped_is_given_none() {
        let array = Array {
            name: "md127".to_owned(),
            shown: "nas (md127)".to_owned(),
            status: "drivebench list".to_owned(),
            identity: "4C53".to_owned(),
            drive: "the one that was away".to_owned(),
            member: "sdb1".to_owned(),
            uuid: "6d1a35b2:8c1a4d8e:01f3bb2c:9ce6a51f".to_owned(),
            start: Some(2048),
            slot: Some(1),
            flags: MemberFlags::default(),
            others: [("sda1", 0), ("sdc1", 2)]
                .map(|(name, slot)| OtherMember {
                    name: name.to_owned(),
                    label: format!("the stick of {name}"),
                    slot: Some(slot),
                })
                .to_vec(),
        };
        // What md says of the array and of another member, and whether that is there.
        let said = |degraded: Option<&str>, state: &str, is_there: bool| {
            let mut tree = Tree::empty();
            if let Some(degraded) = degraded {
                tree.file("sys/block/md127/md/degraded", degraded);
            }
            tree.file("sys/block/md127/md/level", "raid5\n");
            tree.file("sys/block/md127/md/dev-sda1/state", "in_sync\n");
            tree.file("sys/class/block/sda1/size", "1000\n");
            tree.file("sys/block/md127/md/dev-sdc1/state", state);
            if is_there {
                tree.file("sys/class/block/sdc1/size", "1000\n");
            }
            let refused = lacks_only_this(&array, &tree.sysroot());
            refused.err().map(|e| e.to_string()).unwrap_or_default()
        };
        assert_eq!(said(Some("1\n"), "in_sync\n", true), "");
        // Before anything is copied.
        let first = |text: &str| text.split("once all is copied").next().unwrap_or_default().to_owned();
        // The last copy stays in use, though it is gone.
        let put_together = "Take the 2 with the most Events, without the member on the one that was away, which lacks what was written meanwhile, and none that is a spare or has a Recovery Offset. Then: mdadm --stop /dev/md127; mdadm \
                            --assemble --force --run --readonly /dev/md127 DRIVES. ";
        for (degraded, state, is_there, other) in [
            ("2\n", "in_sync\n", true, "another drive"),
            ("2\n", "faulty\n", true, "the stick of sdc1"),
            ("1\n", "in_sync\n", false, "the stick of sdc1"),
            ("1\n", "faulty\n", true, "the stick of sdc1"),
        ] {
            let lost = said(Some(degraded), state, is_there);
            assert!(
                lost.contains(&format!("meanwhile it lost {other}. ")) && lost.contains(put_together),
                "{lost}"
            );
            // Names of devices may be those of other drives later.
            assert!(
                !first(&lost).contains(" --add ") && !lost.contains("wipefs") && !lost.contains("/dev/sd"),
                "{lost}"
            );
        }
        // A raid1 of three has what it needs on one of them.
        let mut tree = Tree::empty();
        tree.file("sys/block/md127/md/level", "raid1\n");
        tree.file("sys/block/md127/md/degraded", "1\n");
        tree.file("sys/block/md127/md/dev-sda1/state", "in_sync\n");
        tree.file("sys/class/block/sda1/size", "1000\n");
        tree.file("sys/block/md127/md/dev-sdc1/state", "faulty\n");
        let advice = |standing| array.advice(standing, &tree.sysroot());
        assert!(advice(Standing::Away).starts_with(
            "nas (md127) works without the stick of sdc1 and the one that was away: leave it running"
        ));
        assert!(
            advice(Standing::Whole)
                .starts_with("nas (md127) works without the stick of sdc1: leave it running")
        );
        assert!(!advice(Standing::Whole).contains("--assemble --force --run"));
        assert!(advice(Standing::Filling).contains("The one that was away is being filled: leave it."));
        tree.file("sys/block/md127/md/array_state", "broken\n");
        let broken = array.advice(Standing::Whole, &tree.sysroot());
        assert!(
            broken.starts_with("Back up what can be read")
                && broken.contains("Take the 1 with the most Events, and none"),
            "{broken}"
        );
        tree.file("sys/block/md127/md/array_state", "clean\n");
        tree.file("sys/block/md127/md/level", "raid10\n");
        let advice = |tree: &Tree| array.advice(Standing::Away, &tree.sysroot());
        let unknown = advice(&tree);
        assert!(
            unknown.starts_with("Whether nas (md127) still has all its data is not known: back up"),
            "{unknown}"
        );
        assert!(
            unknown.contains("Take all, without the member on the one that was away, which"),
            "{unknown}"
        );
        assert!(!first(&unknown).contains(" --add "), "{unknown}");
        // Of three, any two are the only ones with something.
        tree.file("sys/block/md127/md/layout", "258\n");
        tree.file("sys/block/md127/md/degraded", "2\n");
        assert!(advice(&tree).starts_with("Back up what can be read"));
        tree.file("sys/block/md127/md/degraded", "3\n");
        assert!(advice(&tree).starts_with("Whether nas (md127)"), "another one is lost");
        let four = Array {
            slot: Some(0),
            others: vec![
                OtherMember { slot: Some(1), ..array.others[0].clone() },
                OtherMember { slot: Some(3), ..array.others[1].clone() },
                OtherMember { name: "sdd1".to_owned(), label: String::new(), slot: Some(2) },
            ],
            ..array.clone()
        };
        tree.file("sys/block/md127/md/degraded", "2\n");
        tree.file("sys/block/md127/md/dev-sdd1/state", "in_sync\n");
        tree.file("sys/class/block/sdd1/size", "1000\n");
        let works = four.advice(Standing::Away, &tree.sysroot());
        assert!(works.starts_with("nas (md127) works without the stick of sdc1 and the one"), "{works}");
        let pair = Array {
            slot: Some(2),
            others: vec![
                OtherMember { slot: Some(0), ..four.others[0].clone() },
                four.others[1].clone(),
                OtherMember { slot: Some(1), ..four.others[2].clone() },
            ],
            ..four.clone()
        };
        let lost = pair.advice(Standing::Away, &tree.sysroot());
        assert!(lost.starts_with("Back up what can be read"), "{lost}");
        // In use, as md says, and gone.
        tree.file("sys/block/md127/md/dev-sdb1/state", "in_sync\n");
        assert_eq!(array.standing("sdb1", &tree.sysroot()), Standing::Away);
        let stopped = said(None, "in_sync\n", true);
        assert!(stopped.contains("whose state can't be read") && !stopped.contains(" --add "), "{stopped}");
    }
}
