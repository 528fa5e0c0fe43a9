//! Gives a drive back to its pool, waits until it has its data again, and checks all files.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    PoolUnderTest, PulledDrive, Session,
    array::{ADVICE, Array},
    detach::DetachedDrive,
};
use crate::{
    danger::Claims,
    engine::Cancel,
    inventory::{Drive, Inventory, in_array},
    pull::RejoinResult,
    run::{BuildError, Commands, Former, Watcher, exists, former},
    sysroot::Sysroot,
    test_files::{Load, sum},
    tools::{Runner, mdadm},
    units::{Action, MemberState},
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
            pool.restart(&mut back.commands).map(|()| begun.elapsed().as_secs_f64())
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

/// Gives the drive to its array, and waits until it is filled, while a pool that the run built is used. Returns how long that took, s.
fn fill_again(
    session: &Session<'_>,
    pool: &dyn PoolUnderTest,
    (pulled, array): (&PulledDrive, &Array),
    back: &mut RejoinResult,
    watcher: &mut dyn Watcher,
) -> Result<f64, BuildError> {
    let (root, here) = (Sysroot::live(), Instant::now());
    let (drive, member) = array.find(&Inventory::read(&root))?;
    while !back.by_itself && here.elapsed() < BY_ITSELF {
        back.by_itself = array.has(&member, &root);
        thread::sleep(PROGRESS);
    }
    let from = Instant::now();
    // What is filled in a pool in use gets all of the drives.
    let load = if pool.is_in_use() { None } else { pool.start_load().ok() };
    if !back.by_itself {
        match join(session, array, pulled, (&drive, &member), back) {
            // udev may have given it back meanwhile.
            Err(_) if array.has(&member, &root) => {}
            joined => joined?,
        }
    }
    let filled = wait_until_complete(array, &member, session.cancel, watcher);
    let to = Instant::now();
    if let Some((ops, hanging)) = load.map(Load::end) {
        back.during = sum(&ops, &hanging, from, to);
    }
    let begun = if back.by_itself { here } else { from };
    filled.map(|()| (to - begun).as_secs_f64())
}

/// Notes that an array that lost another drive, or this one again, is no longer complete.
fn note_lost(array: &Array, back: &mut RejoinResult) {
    let root = Sysroot::live();
    back.lost = !array.lost(&root).is_empty();
    let found = array.find(&Inventory::read(&root));
    let is_complete = found.is_ok_and(|(_, member)| array.is_complete(&member, &root));
    if !is_complete && back.healed.take().is_some() {
        let incomplete = format!("meanwhile {} became incomplete. {ADVICE}", array.shown);
        back.refused.push(array.lacks_no_other(&root).err().map_or(incomplete, |e| e.to_string()));
    }
}

/// Gives the member to its array: as it is, or as a new one where mdadm refuses that.
fn join(
    session: &Session<'_>,
    array: &Array,
    pulled: &PulledDrive,
    (drive, member): (&Drive, &str),
    back: &mut RejoinResult,
) -> Result<(), BuildError> {
    let (root, path, node) = (Sysroot::live(), array.path(), format!("/dev/{member}"));
    let claims = Claims::take(Claims::lock(&[drive])?, &pulled.consent)?;
    may_be_given(array, member, session.runner, &root)?;
    let mut says = |command: &str| back.commands.push(command.to_owned());
    let mut commands = Commands { runner: session.runner, says: &mut says, exists: &exists };
    match commands.erase(&mdadm::re_add(&path, &node), &claims) {
        // mdadm refuses what lacks a bitmap, or was away for too long: it is filled as a new one.
        Err(e @ BuildError::Failed { .. }) if !array.has(member, &root) => back.refused.push(e.to_string()),
        given => return given,
    }
    array.lacks_no_other(&root)?;
    // Its superblock is that of a new one from now on.
    commands.erase(&mdadm::add(&path, &node, array.flags), &claims)
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
    } else if array.degraded(root) == Some(0)
        || array.work(root).is_some_and(|work| work.action == Action::Recover)
    {
        format!(
            "another drive was added meanwhile and takes its place. Until that is rebuilt, as `drivebench list` shows, keep {drive} as it is"
        )
    } else {
        match former(&array.uuid, &node, &array.path(), runner)? {
            Former::Older { whole: true } => return Ok(()),
            // No bitmap marks what was written if it was started elsewhere.
            _ => format!(
                "it may have been used without the others. Look at its files first; to discard them and rebuild it as new: \
                 wipefs --all {node}; mdadm /dev/{name} --add {node}"
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

#[cfg(test)]
mod tests {
    use super::{
        super::array::tests::{array, tree},
        *,
    };

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
