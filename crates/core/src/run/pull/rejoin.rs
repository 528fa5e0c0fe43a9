//! Plugs a drive in again, and gives it to its array.

use std::{
    thread,
    time::{Duration, Instant},
};

use super::{
    gone::Gone,
    site::{Away, Site},
    unplug::Unplug,
};
use crate::{
    danger::Claims,
    engine::Cancel,
    inventory::{Drive, Inventory},
    plan::Pull,
    pool::health::Health,
    run::pool::{BuildError, Built, Commands, exists},
    sysroot::Sysroot,
    tools::{
        Runner,
        mdadm::{self, MemberFlags},
        udevadm, wipefs,
    },
};

/// How long a drive may take to appear, and a pool to take it back without a command.
const APPEARS: Duration = Duration::from_secs(120);
/// The same where a person plugs it in.
const FOUND_BY_HAND: Duration = Duration::from_secs(3600);
pub const BY_ITSELF: Duration = Duration::from_secs(3);
/// The time between two looks at an array that is filled.
pub const PROGRESS: Duration = Duration::from_millis(100);

/// Plugs the drive in again, or has a person do so, unless they want the end; the drive as the kernel has it now.
pub fn returns(
    gone: &mut Gone,
    runner: &dyn Runner,
    cancel: &Cancel,
    asks: &mut dyn FnMut(&str),
) -> Result<Drive, BuildError> {
    let by_hand = matches!(gone.unplug, Unplug::Hand);
    if by_hand && !cancel.is_set() {
        // Without a serial of its own it is known by its bay.
        let bay = if gone.drive.unique_serial().is_some() { "any bay" } else { "the same bay" };
        asks(&format!("Plug {} in again, into {bay}.", gone.drive.model_and_serial()));
    }
    restore(gone)?;
    // What the kernel was told to bring back comes, also for a person who wants the end; a hand may not.
    let drive = match by_hand {
        true => appeared(&gone.drive, FOUND_BY_HAND, cancel)?,
        false => appeared(&gone.drive, APPEARS, &Cancel::default())?,
    };
    // Without udev, nothing handles the drive.
    let _ = runner.ask(&udevadm::settle());
    Ok(drive)
}

fn restore(gone: &mut Gone) -> Result<(), BuildError> {
    let label = gone.drive.label();
    gone.restore().map_err(|e| BuildError::Drives(format!("{label} can't be brought back: {e}")))
}

/// Lets the kernel have a drive again that it was told to let go, and waits until it has.
pub fn bring_back(away: &mut Away) -> Result<(), BuildError> {
    restore(&mut away.gone)?;
    match away.gone.unplug {
        Unplug::Software { .. } => appeared(&away.gone.drive, APPEARS, &Cancel::default()).map(drop),
        Unplug::Hand => Ok(()),
    }
}

/// Waits until the kernel has the drive, and its partitions, which it reads later.
fn appeared(was: &Drive, patience: Duration, cancel: &Cancel) -> Result<Drive, BuildError> {
    let (identity, until) = (was.identity(), Instant::now() + patience);
    loop {
        let is_late = Instant::now() > until || cancel.is_set();
        match Inventory::read(&Sysroot::live()).drive(&identity) {
            Some(now) if is_late || now.partitions.len() >= was.partitions.len() => return Ok(now.clone()),
            None if is_late => {
                return Err(BuildError::Drives(format!("{} did not come back", was.label())));
            }
            _ => thread::sleep(PROGRESS),
        }
    }
}

/// Gives a drive to its array again, which may still list it under its former name.
pub(super) fn joins(
    site: &Site<'_>,
    act: &Pull,
    built: &Built,
    array: &str,
    drive: &Drive,
    refused: &mut Vec<String>,
    says: &mut Vec<String>,
) -> Result<(), BuildError> {
    let part = built.build.member_path(act.member as usize, &drive.node());
    let mut say = |command: &str| says.push(command.to_owned());
    let mut commands = Commands { runner: site.runner, says: &mut say, exists: &exists };
    let claims = Claims::take(Claims::lock(&[drive])?, site.erase)?;
    let taken = match act.as_new {
        // Without its superblock nothing says what it has already.
        true => commands.erase(&wipefs::wipe(&part), &claims).map(|()| false)?,
        false => match commands.erase(&mdadm::re_add(array, &part), &claims) {
            Ok(()) => true,
            Err(e) => {
                refused.push(e.to_string());
                false
            }
        },
    };
    if taken { Ok(()) } else { commands.erase(&mdadm::add(array, &part, MemberFlags::default()), &claims) }
}

pub(super) fn health(built: &Built) -> Health {
    let root = Sysroot::live();
    built.build.health(&root, &Inventory::read(&root))
}
