//! Gives a drive back to its pool, waits until it has its data again, and checks all files.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{away::Away, reader::Reader};
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
    units::{Action, KIB, MemberState, duration},
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
    let is_left_out = |e: BuildError, away: &Away| {
        let (array, drive, node) = (&away.array.name, &away.act.label, &member.node);
        BuildError::Array(format!("{e}. {shown} lacks {drive} now: mdadm /dev/{array} --re-add {node}"))
    };
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
        noticed(away, &member, &root)?;
        lacks_only_this(away, &member, &root)?;
        join(away, &member, runner, &mut back, &root).map_err(|e| is_left_out(e, away))?;
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
    let size = root.number::<u64>(&format!("/sys/block/{}/md/component_size", away.array.name));
    let written =
        bytes_written(&root, &drive.name).zip(written_before).map(|(now, was)| now.saturating_sub(was));
    back.copied = written.zip(size).map(|(bytes, size)| bytes as f64 / (size.max(1) * KIB) as f64);
    // Who wants the end doesn't wait for files to be read once more.
    if !cancel.is_set() {
        let _ = within(HANG, empty_cache);
        back.files = away.look();
    }
    let inventory = Inventory::read(&root);
    if let Some((_, pool)) = inventory.pools().find(|(layer, _)| layer.name == away.array.name) {
        back.state = pool.state;
    }
    Ok(back)
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
    matches!(in_array(&away.array.name, &member.name, root), MemberState::InSync | MemberState::Filling)
}

/// The member has all its data, and no other one is missing. What else the kernel does with the array is not waited for.
fn is_complete(away: &Away, member: &Place, root: &Sysroot) -> bool {
    let degraded = root.number::<u64>(&format!("/sys/block/{}/md/degraded", away.array.name));
    degraded == Some(0) && in_array(&away.array.name, &member.name, root) == MemberState::InSync
}

/// Refuses an array that has not noticed that the drive was away: it would take the drive for another one, as a spare.
fn noticed(away: &Away, member: &Place, root: &Sysroot) -> Result<(), BuildError> {
    let (array, was) = (&away.array, &away.array.member);
    match in_array(&array.name, was, root) {
        MemberState::InSync if *was != member.name => {
            let (name, shown, node) = (&array.name, &array.shown, &member.node);
            Err(BuildError::Array(format!(
                "{shown} has not noticed that {was} is gone, and {} is {node} now: mdadm /dev/{name} --fail detached --remove detached; mdadm \
                 /dev/{name} --re-add {node}",
                away.act.label
            )))
        }
        _ => Ok(()),
    }
}

/// Gives the member to its array: as it is, or if mdadm refuses that as a new one, which is filled.
fn join(
    away: &Away,
    member: &Place,
    runner: &dyn Runner,
    back: &mut Back,
    root: &Sysroot,
) -> Result<(), BuildError> {
    is_former(away, member, runner)?;
    // The drive that a person agreed to take away is the only one whose superblock may be written.
    let claims = Claims::take(Claims::lock(&[&member.drive])?, &[consent(&member.drive)])?;
    let (array, mut refused) = (format!("/dev/{}", away.array.name), Vec::new());
    let mut says = |command: &str| back.commands.push(command.to_owned());
    let mut commands = Commands { runner, says: &mut says, exists: &exists };
    let joined = commands.erase(&mdadm::re_add(&array, &member.node), &claims).or_else(|e| {
        // udev may have given it back meanwhile.
        if has(away, member, root) {
            return Ok(());
        }
        refused.push(e.to_string());
        commands.erase(&mdadm::add(&array, &member.node, away.array.flags), &claims)
    });
    back.refused.extend(refused);
    joined
}

/// Refuses to give a drive to an array that lost another one meanwhile: what is on both may be needed to put it together.
fn lacks_only_this(away: &Away, member: &Place, root: &Sysroot) -> Result<(), BuildError> {
    let array = &away.array.name;
    match root.number::<u64>(&format!("/sys/block/{array}/md/degraded")) {
        Some(missing @ 2..) => Err(BuildError::Drives(format!(
            "{} is not given to {}: {missing} of its drives are missing now, and what is on this one may be needed. Erase none of them, and add \
             none as a new one. Plug all of them in; if files can't be read any more, unmount it, then: mdadm --stop /dev/{array}; mdadm --assemble \
             --force /dev/{array} --uuid={}",
            member.node, away.array.shown, away.array.uuid
        ))),
        _ => Ok(()),
    }
}

/// Refuses what is no former member of the array, and one that was used without it: that has newer data.
fn is_former(away: &Away, member: &Place, runner: &dyn Runner) -> Result<(), BuildError> {
    let path = &member.node;
    let refused =
        |why: String| BuildError::Drives(format!("{path} is not given to {}: {why}", away.array.shown));
    let superblock = mdadm::superblock(&runner.ask(&mdadm::examine(path))?).map_err(refused)?;
    let superblock = superblock.ok_or_else(|| refused("it has no superblock of it any more".to_owned()))?;
    if superblock.uuid != away.array.uuid {
        return Err(refused("it has the superblock of another array".to_owned()));
    }
    // One that only left says that all drives were there. What one that was started elsewhere wrote since, no bitmap marks.
    let used = |has: &str| {
        Err(refused(format!(
            "it was used without the others{has}. To fill it as a new one: wipefs --all {path}; mdadm /dev/{} --add {path}",
            away.array.name
        )))
    };
    if !superblock.complete {
        return used("");
    }
    match mdadm::events(&runner.ask(&mdadm::detail(&format!("/dev/{}", away.array.name)))?) {
        Some(events) if superblock.events > events => used(", and has newer data"),
        Some(_) => Ok(()),
        None => Err(refused("mdadm does not say how many events the pool has had".to_owned())),
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
        match in_array(&away.array.name, &member.name, root) {
            MemberState::Failed | MemberState::Unused | MemberState::Absent => {
                return Err(BuildError::Array(format!(
                    "{} was lost while {shown} was filled: `{status}` shows its state",
                    away.act.label
                )));
            }
            // Another one failed meanwhile, or this one waits as a spare.
            _ if idle.elapsed() >= IDLE => {
                return Err(BuildError::Array(format!(
                    "{shown} is not complete, and no drive is being filled: `{status}` shows its state"
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
