//! Takes a second drive away while the first one is filled.

use std::{thread, time::Instant};

use super::{
    PoolUnderTest, PulledDrive, Session,
    array::{Array, MemberDevice, Standing},
    detach::{DetachedDrive, interrupted},
    rejoin::{PROGRESS, join, wait_until_complete},
};
use crate::{
    inventory::Inventory,
    pull::{RejoinResult, SecondPullResult},
    run::{BuildError, Watcher},
    sysroot::Sysroot,
    test_files::{HANG, Load, sum},
};

/// Takes a second drive away while the first one is filled and files are used, checks all files, lets the first one be filled from what is
/// left, and brings the second one back. `load` uses files since the first one was taken back. Returns when the first one was filled.
pub fn pull_second(
    session: &Session<'_>,
    pool: &dyn PoolUnderTest,
    (array, first): (&Array, &MemberDevice),
    second: &PulledDrive,
    (load, from): (Load, Instant),
    back: &mut RejoinResult,
    watcher: &mut dyn Watcher,
) -> Result<Instant, BuildError> {
    let (root, cancel) = (Sysroot::live(), session.cancel);
    let so_far = being_filled(session, array, first)?;
    let mut detached = DetachedDrive::announce(session.journal, &second.drive, &second.unplug)?;
    let zero = detached.leave(&second.drives, &|| Ok(()), cancel, &mut |text| watcher.asks(text))?;
    let is_filled = || array.standing(&first.name, &root) == Standing::Whole;
    // A hand takes its time.
    let so_far = if is_filled() { 1.0 } else { so_far };
    let mut seen = None;
    while zero.elapsed() < session.time && !cancel.is_set() {
        seen = seen.or_else(|| is_filled().then(Instant::now));
        thread::sleep(PROGRESS);
    }
    let end = Instant::now();
    let (ops, hanging) = load.end(HANG);
    back.during = sum(&ops, &[], from, zero);
    // The kernel goes on to fill the first one while files are checked.
    let (filled, (files, ledger)) = thread::scope(|scope| {
        let wait = || wait_until_complete(array, first, 1, cancel, &mut |_| ());
        let wait = scope.spawn(move || wait().map(|()| seen.unwrap_or_else(Instant::now)));
        pool.drop_caches();
        let found = pool.verify();
        let failed = |_| Err(BuildError::Array("waiting for the array failed".to_owned()));
        (wait.join().unwrap_or_else(failed), found)
    });
    let away = sum(&ops, &hanging, zero, end);
    let found = SecondPullResult { filled: so_far, away, files, ledger, ..SecondPullResult::default() };
    let found = back.second.insert(found);
    // Also after an error: a pool is removed with all its drives.
    detached.returns(session.runner, cancel, &mut |text| watcher.asks(text))?;
    let filled = filled?;
    let Some(array) = &second.array else { return Ok(filled) };
    let begun = Instant::now();
    let device = array.member_device(&Inventory::read(&root))?;
    join(session, array, second, &device, &mut found.commands, &mut back.refused)?;
    wait_until_complete(array, &device, 0, cancel, &mut |text| {
        text.into_iter().for_each(|text| watcher.waits(text))
    })?;
    found.healed = Some(begun.elapsed().as_secs_f64());
    Ok(filled)
}

/// Waits until a member is being filled: the share of it that is.
fn being_filled(session: &Session<'_>, array: &Array, member: &MemberDevice) -> Result<f64, BuildError> {
    let (root, since) = (Sysroot::live(), Instant::now());
    loop {
        let done = array.work(&root).and_then(|work| work.done);
        match (array.standing(&member.name, &root), done) {
            (Standing::Filling, Some(done)) if done > 0.0 => return Ok(done),
            (Standing::Whole, _) => return Ok(1.0),
            _ if session.cancel.is_set() => return Err(interrupted()),
            _ if since.elapsed() > HANG => {
                return Err(BuildError::Array(format!("{} does not fill {}", array.shown, array.drive)));
            }
            _ => thread::sleep(PROGRESS),
        }
    }
}
