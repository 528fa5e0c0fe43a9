//! Gives a drive back to its pool, waits until it has its data again, and checks all files.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    PoolUnderTest, PulledDrive, Session,
    array::{ADVICE, Array, MemberDevice, Standing},
    detach::DetachedDrive,
};
use crate::{
    danger::Claims,
    engine::Cancel,
    inventory::{Inventory, in_array},
    pull::RejoinResult,
    run::{BuildError, Commands, Watcher, exists},
    sysroot::Sysroot,
    test_files::{POLL, sum},
    tools::{Runner, mdadm},
    units::{Action, MemberState, duration, listed},
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
    detached
        .bring_back(session.runner, cancel, &mut |text| watcher.asks(text))
        .map_err(|e| pulled.may_lack(e, pool))?;
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

/// Gives the drive to its array, and waits until it is filled while files are used. Returns how long that took, s.
fn fill_again(
    session: &Session<'_>,
    pool: &dyn PoolUnderTest,
    (pulled, array): (&PulledDrive, &Array),
    back: &mut RejoinResult,
    watcher: &mut dyn Watcher,
) -> Result<f64, BuildError> {
    let (root, cancel, here) = (Sysroot::live(), session.cancel, Instant::now());
    let device = array.member_device(&Inventory::read(&root)).map_err(|e| pulled.may_lack(e, pool))?;
    while !back.by_itself && here.elapsed() < BY_ITSELF {
        back.by_itself = array.standing(&device.name, &root) != Standing::Away;
        thread::sleep(PROGRESS);
    }
    let from = Instant::now();
    let begun = if back.by_itself { here } else { from };
    let mut load = pool.start_load().ok();
    if !back.by_itself {
        if pool.is_in_use() {
            may_be_given(array, &device, session.runner, &root)?;
        }
        join(session, array, pulled, &device, back)?;
    }
    // Reading a pool in use goes on for as long as before; after that, what is filled gets all of the drives.
    let is_over = || pool.is_in_use() && (from.elapsed() >= session.time || cancel.is_set());
    let mut end_load = || {
        if let Some(load) = load.take() {
            let to = Instant::now();
            let (ops, hanging) = load.end();
            back.during = sum(&ops, &hanging, from, to);
        }
    };
    let filled = wait_until_complete(array, &device, cancel, &mut |progress| {
        if let Some(text) = progress {
            watcher.waits(text);
        }
        if is_over() {
            end_load();
        }
    });
    let filled = filled.map(|()| begun.elapsed().as_secs_f64());
    while pool.is_in_use() && !is_over() {
        thread::sleep(POLL);
    }
    end_load();
    filled
}

/// Notes that an array that lost another drive, or this one again, is no longer complete.
fn note_lost(array: &Array, back: &mut RejoinResult) {
    let root = Sysroot::live();
    let lost = array.lost(&root);
    back.lost = !lost.is_empty();
    let device = array.member_device(&Inventory::read(&root));
    let is_complete = device.is_ok_and(|device| array.is_complete(&device.name, &root));
    let what = match lost.is_empty() {
        false => format!("lost {}", listed(&lost)),
        true if back.healed.is_some() && !is_complete => "did not stay complete".to_owned(),
        true => return,
    };
    // Why it was not given the drive is said already.
    if back.was_given() {
        back.healed = None;
        back.refused.push(format!("meanwhile {} {what}. {ADVICE}", array.shown));
    }
}

/// Gives the member to its array: as it is, or as a new one where mdadm refuses that.
fn join(
    session: &Session<'_>,
    array: &Array,
    pulled: &PulledDrive,
    device: &MemberDevice,
    back: &mut RejoinResult,
) -> Result<(), BuildError> {
    let (root, path, node) = (Sysroot::live(), array.path(), &device.node);
    let has = || array.standing(&device.name, &root) != Standing::Away;
    let claims = Claims::lock(&[&device.drive]).and_then(|lock| Claims::take(lock, &pulled.consent));
    let claims = match claims {
        Ok(claims) => claims,
        // udev may have given it back meanwhile.
        Err(_) if has() => return Ok(()),
        Err(e) => return Err(array.may_lack(e)),
    };
    lacks_only_this(array, &root)?;
    let mut says = |command: &str| back.commands.push(command.to_owned());
    let mut commands = Commands { runner: session.runner, says: &mut says, exists: &exists };
    match commands.erase(&mdadm::re_add(&path, node), &claims) {
        Ok(()) => return Ok(()),
        Err(_) if has() => return Ok(()),
        // mdadm refuses what lacks a bitmap, or was away for too long: it is filled as a new one.
        Err(e @ BuildError::Failed { .. }) => back.refused.push(e.to_string()),
        Err(e) => return Err(array.may_lack(e)),
    }
    lacks_only_this(array, &root)?;
    // Its superblock is that of a new one from now on.
    commands.erase(&mdadm::add(&path, node, array.flags), &claims).map_err(|e| {
        match lacks_only_this(array, &root) {
            Ok(()) => BuildError::Array(format!(
                "{e}. {} lacks {} now: mdadm {path} --add {node}",
                array.shown, array.drive
            )),
            Err(lost) => lost,
        }
    })
}

/// Refuses to give a drive to an array in use that needs something else first, or that would lose data.
fn may_be_given(
    array: &Array,
    device: &MemberDevice,
    runner: &dyn Runner,
    root: &Sysroot,
) -> Result<(), BuildError> {
    let (Array { name, shown, drive, member, uuid, .. }, node) = (array, &device.node);
    lacks_only_this(array, root)?;
    let refused =
        |why: String| BuildError::Drives(format!("{drive} ({node}) is not given to {shown}: {why}"));
    // mdadm would take one that is listed under the name that it had for another one, and make it a spare.
    if *member != device.name && in_array(name, member, root) != MemberState::Unused {
        return Err(refused(format!(
            "it is still listed as {member}: mdadm /dev/{name} --fail detached --remove detached; mdadm /dev/{name} --re-add {node}"
        )));
    }
    let added = array.added(&device.name, root);
    if array.degraded(root) == Some(0) || !added.is_empty() {
        return Err(refused(format!(
            "another drive was added meanwhile and takes its place ({}). Until that is rebuilt, as `drivebench list` shows, keep {drive} as it is",
            listed(&added)
        )));
    }
    let superblock = mdadm::superblock(&runner.ask(&mdadm::examine(node))?).map_err(refused)?;
    let detail = runner.ask(&mdadm::detail(&format!("/dev/{name}")))?;
    let superblock = superblock
        .filter(|superblock| superblock.uuid == *uuid && mdadm::uuid(&detail) == Some(uuid))
        .ok_or_else(|| {
            refused("its superblock, or what mdadm says of the array, is that of another array".to_owned())
        })?;
    let events = mdadm::events(&detail)
        .ok_or_else(|| refused("mdadm does not say how many events the pool has had".to_owned()))?;
    // The superblock of a drive that only left shows all drives as present. No bitmap marks what was written if it was started elsewhere.
    match superblock.complete && superblock.events <= events {
        true => Ok(()),
        false => Err(refused(format!(
            "it may have been used without the others. Look at its files first; to discard them and rebuild it as new: wipefs --all {node}; \
             mdadm /dev/{name} --add {node}"
        ))),
    }
}

/// Refuses to give a drive to an array that lost another one meanwhile: what is on both may be needed to put it together. Nor to one of
/// which that is not known.
fn lacks_only_this(array: &Array, root: &Sysroot) -> Result<(), BuildError> {
    let Array { shown, drive, .. } = array;
    let lost = array.lost(root);
    let what = match array.degraded(root) {
        _ if !lost.is_empty() => format!("lost {}", listed(&lost)),
        Some(0 | 1) => return Ok(()),
        Some(_) => "lost another drive".to_owned(),
        None => "was stopped".to_owned(),
    };
    Err(BuildError::Drives(format!("{drive} is not given to {shown}, because meanwhile it {what}. {ADVICE}")))
}

/// Waits until a member has all its data, and the array lacks no others. `looks` is called at each look at it, now and then with how
/// far it is.
fn wait_until_complete(
    array: &Array,
    device: &MemberDevice,
    cancel: &Cancel,
    looks: &mut dyn FnMut(Option<&str>),
) -> Result<(), BuildError> {
    let (Array { shown, drive, .. }, root) = (array, Sysroot::live());
    let (mut reported, mut idle) = (None::<Instant>, Instant::now());
    let why = loop {
        if array.is_complete(&device.name, &root) {
            return Ok(());
        }
        let work = array.work(&root);
        let action = work.as_ref().map(|work| work.action);
        if matches!(action, Some(Action::Recover | Action::Resync)) {
            idle = Instant::now();
        }
        // This one or another was lost meanwhile, this one waits as a spare, or the array is frozen or takes no writes.
        if idle.elapsed() >= IDLE {
            break format!(
                "{shown} is not complete, and no drive is being rebuilt: `drivebench list` says why"
            );
        }
        let progress = work.map_or("the rebuild begins".to_owned(), |work| {
            let left = work.left.map(|left| format!(", {} left", duration(left.round())));
            work.progress() + &left.unwrap_or_default()
        });
        if cancel.is_set() {
            break format!(
                "{drive} is back in {shown}, which is not complete yet ({progress}): the kernel goes on"
            );
        }
        let is_due = reported.is_none_or(|at| at.elapsed() >= REPORT);
        looks(is_due.then(|| format!("{shown}: {progress}")).as_deref());
        if is_due {
            reported = Some(Instant::now());
        }
        thread::sleep(PROGRESS);
    };
    Err(BuildError::Array(why))
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
            let refused = lacks_only_this(&array(), &tree.sysroot());
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
            assert!(lost.contains(&format!("meanwhile it lost {other}. {ADVICE}")), "{lost}");
        }
        let stopped = said(None, "in_sync\n", true);
        assert!(stopped.contains("meanwhile it was stopped. "), "{stopped}");
    }
}
