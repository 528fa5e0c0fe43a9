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

/// Takes a second drive away while the first one is filled and files are used, checks all files, and brings it back once the first one is
/// filled. `load` uses files since the first one was taken back.
pub fn pull_second(
    session: &Session<'_>,
    pool: &dyn PoolUnderTest,
    (array, first): (&Array, &MemberDevice),
    second: &PulledDrive,
    (load, from): (Load, Instant),
    back: &mut RejoinResult,
    watcher: &mut dyn Watcher,
) -> Result<(), BuildError> {
    let (root, cancel) = (Sysroot::live(), session.cancel);
    let filled = being_filled(session, array, first)?;
    let mut detached = DetachedDrive::announce(session.journal, &second.drive, &second.unplug)?;
    let zero = detached.take_away(&second.drives, &|| Ok(()), cancel, &mut |text| watcher.asks(text))?;
    // A hand takes its time.
    let filled = if array.standing(&first.name, &root) == Standing::Whole { 1.0 } else { filled };
    while zero.elapsed() < session.time && !cancel.is_set() {
        thread::sleep(PROGRESS);
    }
    let end = Instant::now();
    let (ops, hanging) = load.end();
    back.during = sum(&ops, &[], from, zero);
    pool.drop_caches();
    let (files, ledger) = pool.verify();
    back.second = Some(SecondPullResult { filled, away: sum(&ops, &hanging, zero, end), files, ledger });
    let first_is_filled = wait_until_complete(array, first, 1, cancel, &mut |_| ());
    // Also after an error: a pool is removed with all its drives.
    detached.bring_back(session.runner, cancel, &mut |text| watcher.asks(text))?;
    first_is_filled?;
    let Some(array) = &second.array else { return Ok(()) };
    let device = array.member_device(&Inventory::read(&root))?;
    join(session, array, second, &device, &mut Vec::new(), &mut back.refused)?;
    wait_until_complete(array, &device, 0, cancel, &mut |text| {
        text.into_iter().for_each(|text| watcher.waits(text))
    })
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
                return Err(BuildError::Array(format!("{} does not rebuild {}", array.shown, array.drive)));
            }
            _ => thread::sleep(PROGRESS),
        }
    }
}
