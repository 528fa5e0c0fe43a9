//! Pulls a second drive while the first one is filled.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    HANG,
    away::unplug_of,
    gone::{Gone, interrupted},
    load::{Load, SAMPLE, sample, sum},
    rejoin::{PROGRESS, health, joins, returns},
    site::{Away, Site, cool, its_drive, look},
};
use crate::{
    engine::Cancel,
    inventory::Inventory,
    plan::{Pull, SecondPull},
    pool::health::MemberState,
    record::{Back, Second},
    run::pool::{BuildError, Built, filled},
    sysroot::Sysroot,
};

/// Takes a second drive away while the first one is filled and files are used, checks all files, lets the first one be filled from
/// what is left, and brings the second one back. `load` uses files since the first one was taken back.
pub fn pull_second(
    site: &Site<'_>,
    (first, second): (&Away, &SecondPull),
    built: &Built,
    (load, from): (Load, Instant),
    back: &mut Back,
    cancel: &Cancel,
    asks: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    let inventory = Inventory::read(&Sysroot::live());
    let drive = its_drive(built, &inventory, (second.member, &second.drive))?;
    let act = Pull {
        member: second.member,
        drive: second.drive.clone(),
        as_new: false,
        second: None,
        ..first.act.clone()
    };
    let unplug = unplug_of(&inventory, drive, &act)?;
    let so_far = being_filled(built, first.act.member as usize, cancel)?;
    let gone = Gone::will(site.journal, drive, unplug)?;
    let mut away = Away { act, gone, ledger: Arc::clone(&first.ledger), on_drive: None };
    let answer = away.gone.leave(&built.build.drives(&inventory), &|| Ok(()), cancel, asks)?;
    let zero = Instant::now();
    // A hand takes its time.
    let is_filled = health(built).members[first.act.member as usize] == MemberState::InSync;
    let so_far = if is_filled { 1.0 } else { so_far };
    let until = zero + Duration::from_secs_f64(away.act.seconds);
    let mut seen = None;
    while Instant::now() < until && !cancel.is_set() {
        let is_filled = || health(built).members[first.act.member as usize] == MemberState::InSync;
        seen = seen.or_else(|| is_filled().then(|| from.elapsed()));
        thread::sleep(PROGRESS);
    }
    let end = Instant::now();
    let (ops, hanging) = load.end(HANG);
    let left = away.gone.has_left(answer);
    back.during = sum(&ops, &[], from, zero);
    back.sample = sample(&ops, from, SAMPLE);
    let during = sum(&ops, &hanging, zero, end);
    // The kernel goes on to fill the first one while files are checked.
    let (first_filled, (files, ledger)) = thread::scope(|scope| {
        let fill = || {
            filled(&built.build, Some(second.member as usize), cancel)
                .map(|()| seen.unwrap_or_else(|| from.elapsed()))
        };
        let fill = scope.spawn(fill);
        cool(site.dir);
        let found = look(site.dir, &away);
        let failed = |_| Err(BuildError::Array("waiting for the array failed".to_owned()));
        (fill.join().unwrap_or_else(failed), found)
    });
    let first_filled = left.and(first_filled);
    let found = Second { filled: so_far, away: during, files, ledger, ..Second::default() };
    let found = back.second.insert(found);
    // Also after an error: a pool is removed with all its drives.
    let drive = returns(&mut away.gone, site.runner, cancel, asks)?;
    back.healed = Some(first_filled?.as_secs_f64());
    let device = built.build.device(&Sysroot::live(), &Inventory::read(&Sysroot::live()));
    let device = device.ok_or_else(|| BuildError::Array(format!("{} is not active", built.build.name)))?;
    let begun = Instant::now();
    joins(site, &away.act, built, &device.path(), &drive, &mut back.refused, &mut found.commands)?;
    filled(&built.build, None, cancel)?;
    found.healed = Some(begun.elapsed().as_secs_f64());
    Ok(())
}

/// Waits until a member is being filled: the share of it that is.
fn being_filled(built: &Built, member: usize, cancel: &Cancel) -> Result<f64, BuildError> {
    let until = Instant::now() + HANG;
    loop {
        let health = health(built);
        match (health.members[member], health.work.and_then(|work| work.done)) {
            (MemberState::Filling, Some(done)) if done > 0.0 => return Ok(done),
            (MemberState::InSync, _) => return Ok(1.0),
            _ if cancel.is_set() => return Err(interrupted()),
            _ if Instant::now() > until => {
                let label = &built.build.members[member].label;
                return Err(BuildError::Array(format!("the array does not fill {label}")));
            }
            _ => thread::sleep(PROGRESS),
        }
    }
}
