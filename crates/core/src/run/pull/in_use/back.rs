//! Gives a drive back to its pool, waits until it has its data again, and checks all files.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    array::{Array, Standing},
    away::Away,
    reader::Reader,
};
use crate::{
    conditions::bytes_written,
    danger::{Claims, consent},
    engine::Cancel,
    inventory::{Block, Drive, Inventory, in_array, work},
    record::Back,
    run::{
        Watcher,
        pool::{BuildError, Commands, exists},
        pull::{
            HANG, POLL,
            files::empty_cache,
            load::sum,
            rejoin::{BY_ITSELF, PROGRESS, returns},
            site::within,
        },
    },
    sysroot::Sysroot,
    tools::{Runner, mdadm},
    units::{Action, KIB, MemberState, duration, listed},
};

/// For how long an array may do nothing before it fills a drive.
const IDLE: Duration = Duration::from_secs(30);
/// How often a person is told how far a drive is filled.
const TOLD: Duration = Duration::from_secs(60);

/// Brings the drive back, also if a person wants the run to end; that is heeded while the drive is filled.
pub fn put_back(
    away: &mut Away,
    runner: &dyn Runner,
    cancel: &Cancel,
    watcher: &mut dyn Watcher,
) -> Result<Back, BuildError> {
    let zero = Instant::now();
    let shown = away.array.shown.clone();
    let lacks = |e: BuildError, away: &Away| {
        let (drive, status) = (&away.act.label, &away.act.status);
        BuildError::Array(format!("{e}. {shown} lacks {drive} now: plug it in, and see `{status}`"))
    };
    // Also for a person who wants the end: a pool in use is not left without its drive.
    let returned = returns(&mut away.gone, runner, &Cancel::default(), &mut |text| watcher.asks(text));
    let drive = returned.map_err(|e| lacks(e, away))?;
    let mut back =
        Back { name: drive.name.clone(), appeared: zero.elapsed().as_secs_f64(), ..Back::default() };
    let here = Instant::now();
    let root = Sysroot::live();
    let member = place(away, &Inventory::read(&root)).map_err(|e| lacks(e, away))?;
    let until = Instant::now() + BY_ITSELF;
    while !back.by_itself && Instant::now() < until {
        back.by_itself = has(away, &member, &root);
        thread::sleep(PROGRESS);
    }
    // Of one that was taken back by itself, the begin was not seen.
    let written_before = bytes_written(&root, &drive.name).filter(|_| !back.by_itself);
    let from = Instant::now();
    let begun = if back.by_itself { here } else { from };
    if !back.by_itself {
        lacks_only_this(&away.array, &away.act.label, &root)?;
        let_go(away, &member, &root)?;
        takes_none(&away.array, &away.act.label, &member.name, &root)?;
        join(away, &member, runner, &mut back, &root)?;
    }
    // Reading goes on for as long as before; after that, what is filled gets all of the drives.
    if let Ok(reader) = Reader::start(&away.files, away.act.seed ^ 1) {
        let seconds = Duration::from_secs_f64(away.act.seconds);
        while from.elapsed() < seconds && !cancel.is_set() {
            if back.healed.is_none() && is_complete(away, &member, &root) {
                back.healed = Some(begun.elapsed().as_secs_f64());
            }
            thread::sleep(POLL);
        }
        let to = Instant::now();
        let (ops, hanging) = reader.end(HANG);
        back.during = sum(&ops, &hanging, from, to);
    }
    match filled(away, &member, &root, cancel, watcher) {
        Ok(()) => back.healed = back.healed.or(Some(begun.elapsed().as_secs_f64())),
        Err(e) => {
            back.healed = None;
            back.refused.push(e.to_string());
        }
    }
    note_lost(away, &member, &mut back, &root);
    let size = root.number::<u64>(&format!("/sys/block/{}/md/component_size", away.array.name));
    let written =
        bytes_written(&root, &drive.name).zip(written_before).map(|(now, was)| now.saturating_sub(was));
    back.copied = written.zip(size).map(|(bytes, size)| bytes as f64 / (size.max(1) * KIB) as f64);
    // Who wants the end doesn't wait for files to be read once more.
    if !cancel.is_set() && !back.lost {
        let _ = within(HANG, empty_cache);
        back.files = away.look();
        // That may have taken hours.
        note_lost(away, &member, &mut back, &root);
    }
    let inventory = Inventory::read(&root);
    if let Some((_, pool)) = inventory.pools().find(|(layer, _)| layer.name == away.array.name) {
        back.state = pool.state;
    }
    Ok(back)
}

/// An array that lost another drive, or this one again, is not complete, whatever it was before.
fn note_lost(away: &Away, member: &Place, back: &mut Back, root: &Sysroot) {
    let shown = &away.array.shown;
    let lost = away.array.lost(root);
    let why = match &lost[..] {
        [] if away.array.is_broken(root) => away.array.restart(),
        [] if back.healed.is_some() && !is_complete(away, member, root) => {
            let (drive, status) = (&away.act.label, &away.act.status);
            format!("{shown} is not complete any more since {drive} was back: `{status}` shows its state")
        }
        [] => return,
        lost => {
            let standing = away.array.standing(&member.name, root);
            let advice = away.array.advice(&away.act.label, standing, root);
            format!("meanwhile {shown} lost {}. {advice}", listed(lost))
        }
    };
    (back.lost, back.healed) = (!lost.is_empty(), None);
    back.refused.push(why);
}

/// The member on the drive as it is plugged in now.
#[derive(Debug)]
struct Place {
    name: String,
    node: String,
    drive: Drive,
}

fn place(away: &Away, inventory: &Inventory) -> Result<Place, BuildError> {
    let gone = || BuildError::Drives("the drive is gone again".to_owned());
    let drive = inventory.drive(&away.act.drive).ok_or_else(gone)?;
    let part = away.array.start.map(|start| drive.partitions.iter().find(|part| part.start == start));
    let block = match part {
        None => Block::Drive(drive),
        Some(Some(part)) => Block::Partition(drive, part),
        Some(None) => {
            return Err(BuildError::Drives("the partition of the pool is gone from the drive".to_owned()));
        }
    };
    Ok(Place { name: block.name().to_owned(), node: block.path(), drive: drive.clone() })
}

fn has(away: &Away, member: &Place, root: &Sysroot) -> bool {
    away.array.standing(&member.name, root) != Standing::Away
}

/// The member has all its data, no other one is missing, and it can be written to. What else the kernel does with the array is not waited for.
fn is_complete(away: &Away, member: &Place, root: &Sysroot) -> bool {
    let Away { array, .. } = away;
    array.degraded(root) == Some(0)
        && array.standing(&member.name, root) == Standing::Whole
        && !array.is_broken(root)
}

/// Refuses an array that still lists the drive under the name that it had: mdadm would take it for another one, and make it a spare.
fn let_go(away: &Away, member: &Place, root: &Sysroot) -> Result<(), BuildError> {
    let (array, was) = (&away.array, &away.array.member);
    if *was == member.name || !array.lists(was, root) {
        return Ok(());
    }
    let (Array { name, shown, .. }, node) = (array, &member.node);
    Err(BuildError::Array(format!(
        "{shown} still lists {was}, which is gone, and {} is {node} now: mdadm /dev/{name} --fail detached --remove detached; mdadm /dev/{name} \
         --re-add {node}",
        away.act.label
    )))
}

/// Gives the member to its array: as it is, or if mdadm refuses that as a new one, which is filled.
fn join(
    away: &Away,
    member: &Place,
    runner: &dyn Runner,
    back: &mut Back,
    root: &Sysroot,
) -> Result<(), BuildError> {
    let (array, node) = (format!("/dev/{}", away.array.name), &member.node);
    let lacks = |e: &BuildError, how: &str| {
        let (shown, drive) = (&away.array.shown, &away.act.label);
        match lacks_only_this(&away.array, drive, root) {
            Ok(()) => {
                BuildError::Array(format!("{e}. {shown} lacks {drive} now: mdadm {array} {how} {node}"))
            }
            Err(lost) => lost,
        }
    };
    // What was used elsewhere is not given back as it is: that says itself what to do.
    is_former(away, member, runner)?;
    // The drive that a person agreed to take away is the only one whose superblock may be written.
    let claims =
        Claims::lock(&[&member.drive]).and_then(|lock| Claims::take(lock, &[consent(&member.drive)]));
    let claims = match claims {
        Ok(claims) => claims,
        // udev may have given it back meanwhile.
        Err(_) if has(away, member, root) => return Ok(()),
        Err(e) => return Err(lacks(&e.into(), "--re-add")),
    };
    let mut says = |command: &str| back.commands.push(command.to_owned());
    let mut commands = Commands { runner, says: &mut says, exists: &exists };
    lacks_only_this(&away.array, &away.act.label, root)?;
    match commands.erase(&mdadm::re_add(&array, node), &claims) {
        Ok(()) => Ok(()),
        Err(_) if has(away, member, root) => Ok(()),
        // mdadm refuses what lacks a bitmap, or was away for too long: it is filled as a new one.
        Err(e @ BuildError::Failed { .. }) => {
            back.refused.push(e.to_string());
            lacks_only_this(&away.array, &away.act.label, root)?;
            // Its superblock is that of a new one from now on.
            let added = commands.erase(&mdadm::add(&array, node, away.array.flags), &claims);
            added.map_err(|e| lacks(&e, "--add"))
        }
        Err(e) => Err(lacks(&e, "--re-add")),
    }
}

/// Refuses to give a drive to an array that lost another one meanwhile: what is on both may be needed to put it together. Nor to one of
/// which that is not known.
fn lacks_only_this(array: &Array, drive: &str, root: &Sysroot) -> Result<(), BuildError> {
    let Array { name, shown, uuid, .. } = array;
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
    let advice = array.advice(drive, Standing::Away, root);
    Err(BuildError::Drives(format!(
        "{drive} is not given to {shown}, because meanwhile it lost {lost}. {advice}"
    )))
}

/// Refuses an array to which another drive was added meanwhile.
fn takes_none(array: &Array, drive: &str, member: &str, root: &Sysroot) -> Result<(), BuildError> {
    let refused = |why: String| {
        let shown = &array.shown;
        Err(BuildError::Drives(format!("{drive} is not given back to {shown}: {why}")))
    };
    match (array.degraded(root), &array.added(member, root)[..]) {
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
fn is_former(away: &Away, member: &Place, runner: &dyn Runner) -> Result<(), BuildError> {
    let Array { name, shown, uuid, .. } = &away.array;
    let path = &member.node;
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

/// Waits until the array is complete.
fn filled(
    away: &Away,
    member: &Place,
    root: &Sysroot,
    cancel: &Cancel,
    watcher: &mut dyn Watcher,
) -> Result<(), BuildError> {
    let (shown, status) = (&away.array.shown, &away.act.status);
    let md = format!("/sys/block/{}/md", away.array.name);
    let mut told: Option<Instant> = None;
    let mut idle = Instant::now();
    loop {
        if is_complete(away, member, root) {
            return Ok(());
        }
        let work = work(root, &md);
        if work.as_ref().is_some_and(|work| matches!(work.action, Action::Recover | Action::Resync)) {
            idle = Instant::now();
        }
        // What it does about others that are lost is said afterwards.
        if away.array.is_broken(root) && away.array.lost(root).is_empty() {
            return Err(BuildError::Array(away.array.restart()));
        }
        match in_array(&away.array.name, &member.name, root) {
            MemberState::Failed | MemberState::Unused | MemberState::Absent => {
                return Err(BuildError::Array(format!(
                    "{} was lost while {shown} was filled: `{status}` shows its state",
                    away.act.label
                )));
            }
            // Another one failed meanwhile, or this one waits as a spare.
            _ if idle.elapsed() >= IDLE => {
                let frozen = match work.map(|work| work.action) {
                    Some(Action::Frozen) => {
                        format!(". It is frozen: {}", mdadm::go_on(&format!("/dev/{}", away.array.name)))
                    }
                    _ => String::new(),
                };
                return Err(BuildError::Array(format!(
                    "{shown} is not complete, and no drive is being filled: `{status}` shows its state{frozen}"
                )));
            }
            _ => {}
        }
        let progress = work.map_or("filling a drive begins".to_owned(), |work| {
            let left = work.left.map(|left| format!(", {} left", duration(left.round())));
            work.progress() + &left.unwrap_or_default()
        });
        if cancel.is_set() {
            return Err(BuildError::Array(format!(
                "{} is back in {shown}, which is not complete yet ({progress}): the kernel goes on, and `{status}` shows how far it is",
                away.act.label
            )));
        }
        if told.is_none_or(|at| at.elapsed() >= TOLD) {
            watcher.waits(&format!("{shown}: {progress}"));
            told = Some(Instant::now());
        }
        thread::sleep(PROGRESS);
    }
}

#[cfg(test)]
mod tests {
    use super::{super::array::Other, *};
    use crate::{inventory::fixtures::Tree, tools::mdadm::MemberFlags};

    #[test]
    fn an_array_that_lost_another_drive_or_was_stopped_is_given_none() {
        let array = Array {
            name: "md127".to_owned(),
            shown: "nas (md127)".to_owned(),
            member: "sdb1".to_owned(),
            uuid: "6d1a35b2:8c1a4d8e:01f3bb2c:9ce6a51f".to_owned(),
            start: Some(2048),
            slot: Some(1),
            flags: MemberFlags::default(),
            others: [("sda1", 0), ("sdc1", 2)]
                .map(|(name, slot)| Other {
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
            let refused = lacks_only_this(&array, "the one that was away", &tree.sysroot());
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
        let advice = |standing| array.advice("the one that was away", standing, &tree.sysroot());
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
        let broken = array.advice("the one that was away", Standing::Whole, &tree.sysroot());
        assert!(
            broken.starts_with("Back up what can be read")
                && broken.contains("Take the 1 with the most Events, and none"),
            "{broken}"
        );
        tree.file("sys/block/md127/md/array_state", "clean\n");
        tree.file("sys/block/md127/md/level", "raid10\n");
        let advice = |tree: &Tree| array.advice("the one that was away", Standing::Away, &tree.sysroot());
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
                Other { slot: Some(1), ..array.others[0].clone() },
                Other { slot: Some(3), ..array.others[1].clone() },
                Other { name: "sdd1".to_owned(), label: String::new(), slot: Some(2) },
            ],
            ..array.clone()
        };
        tree.file("sys/block/md127/md/degraded", "2\n");
        tree.file("sys/block/md127/md/dev-sdd1/state", "in_sync\n");
        tree.file("sys/class/block/sdd1/size", "1000\n");
        let works = four.advice("the one that was away", Standing::Away, &tree.sysroot());
        assert!(works.starts_with("nas (md127) works without the stick of sdc1 and the one"), "{works}");
        let pair = Array {
            slot: Some(2),
            others: vec![
                Other { slot: Some(0), ..four.others[0].clone() },
                four.others[1].clone(),
                Other { slot: Some(1), ..four.others[2].clone() },
            ],
            ..four.clone()
        };
        let lost = pair.advice("the one that was away", Standing::Away, &tree.sysroot());
        assert!(lost.starts_with("Back up what can be read"), "{lost}");
        // In use, as md says, and gone.
        tree.file("sys/block/md127/md/dev-sdb1/state", "in_sync\n");
        assert_eq!(array.standing("sdb1", &tree.sysroot()), Standing::Away);
        let stopped = said(None, "in_sync\n", true);
        assert!(stopped.contains("whose state can't be read") && !stopped.contains(" --add "), "{stopped}");
    }
}
