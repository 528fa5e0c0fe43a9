//! `drivebench pool replace`: another drive takes the place of a member.

use std::{path::Path, process::ExitCode};

use anyhow::anyhow;

use super::{Replace, ask, bay, describe, drive, in_no_pool, open, say, status::progress, status::work};
use crate::{
    cli::{errors::Usage, output::Output},
    danger::{Claims, consent},
    inventory::{Drive, Inventory},
    pool::{
        Build, Member,
        health::{Health, MemberState, State},
    },
    run::{self, Built, Commands, Replacement},
    sysroot::Sysroot,
    tools::System,
    units::decimal_bytes,
};

pub(super) fn replace(args: &Replace, store: &Path, output: &Output) -> anyhow::Result<ExitCode> {
    let inventory = bay::here(output);
    let new = drive(&args.new, &inventory)?;
    let (name, at) = member(&args.old, &inventory, store)?;
    let (mut log, built) = open(store, &name)?;
    let health = built.build.health(&Sysroot::live(), &inventory);
    let replacement = Replacement {
        at,
        member: Member {
            identity: new.identity(),
            label: new.label(),
            sectors: new.sectors,
            ..built.build.members[at].clone()
        },
    };
    let begun = built
        .replacing
        .as_ref()
        .is_some_and(|begun| (begun.at, &begun.member.identity) == (at, &new.identity()));
    let is_added = begun && added(&built, &replacement, new, &health);
    let claims = if is_added {
        None
    } else {
        possible(&built, begun, &health, at, new, &inventory).map_err(Usage)?;
        if !begun && built.build.members[at].identity != new.identity() {
            in_no_pool(&[new], store)?;
        }
        run::ready(&built.build, None, &System::default())?;
        say(output, &format!("This erases:\n{}", describe(&[new])));
        let mut erase = args.erase.clone();
        erase.extend(ask(&[new], &erase, output)?);
        Some(Claims::take(Claims::lock(&[new])?, &erase)?)
    };
    let says = &mut |command: &str| output.marked("  ", command);
    let mut commands = Commands { runner: &System::default(), says, exists: &run::exists };
    let (new_path, shows) = (new.node(), &mut progress(output));
    let begun = match claims {
        // The claim ends before the drive is filled.
        Some(claims) => run::replace(&built, &replacement, &new_path, &claims, &mut log, &mut commands),
        None => Ok(()),
    };
    begun.and_then(|()| run::fill(&built, &replacement, &new_path, &mut log, &mut commands, shows)).map_err(
        |e| anyhow!("{e}. To go on, run the same command again; state: drivebench pool status {name}"),
    )?;
    let old = &built.build.members[at];
    let rest = if old.identity == new.identity() {
        String::new()
    } else if erase_old(&built, at, &args.erase, &mut commands)? {
        format!("; {} is erased", old.label)
    } else {
        format!("; {} is in no pool now, and keeps what was on it", old.label)
    };
    output.result(&format!("{} is a drive of {name} now{rest}.\n", new.label()))?;
    Ok(ExitCode::SUCCESS)
}

/// The pool and the number of the member that was named, which may not be plugged in.
fn member(given: &str, inventory: &Inventory, store: &Path) -> anyhow::Result<(String, usize)> {
    let here = drive(given, inventory);
    let identity = here.as_ref().ok().map(|drive| drive.identity());
    let is = |member: &Member| match &identity {
        Some(identity) => member.identity == *identity,
        // Serial and size.
        None => {
            member.identity == given
                || member.identity.rsplit_once('+').is_some_and(|(serial, _)| serial == given)
        }
    };
    let (pools, _) = run::pools(store);
    let mut found = pools.iter().flat_map(|pool| {
        let at = pool.build.members.iter().position(is);
        at.map(|at| (pool.build.name.clone(), at))
    });
    match (found.next(), found.next(), here) {
        (Some(one), None, _) => Ok(one),
        (Some(_), Some(_), _) => Err(Usage(format!("{given} is in several pools: name its serial")).into()),
        (None, _, Ok(drive)) => {
            Err(Usage(format!("{} is in no pool: drivebench pool status", drive.label())).into())
        }
        (None, _, Err(_)) => {
            Err(Usage(format!("no pool has a drive {given}: drivebench pool status")).into())
        }
    }
}

/// Whether an earlier call has added the new drive already.
fn added(built: &Built, replacement: &Replacement, new: &Drive, health: &Health) -> bool {
    let mut after: Build = built.build.clone();
    after.members[replacement.at] = replacement.member.clone();
    let part = after.member_path(replacement.at, &new.name);
    let device = health.device.as_ref();
    let state = device.map(|device| crate::pool::health::in_array(&device.name, &part, &Sysroot::live()));
    state.is_some_and(|state| !matches!(state, MemberState::Unused | MemberState::Failed))
}

/// Why the drive can't take the place of the member.
fn possible(
    built: &Built,
    begun: bool,
    health: &Health,
    at: usize,
    new: &Drive,
    inventory: &Inventory,
) -> Result<(), String> {
    let (build, label) = (&built.build, new.label());
    let (name, old) = (&build.name, &build.members[at]);
    if !build.layout.is_redundant() {
        let layout = build.layout;
        return Err(format!("{name} is {layout}: without copies or parity no drive of it can be replaced"));
    }
    if !built.finished || built.removing || !matches!(health.state, State::Active | State::ReadOnly) {
        return Err(format!("{name} is not active: drivebench pool status {name}"));
    }
    if let Some(busy) = &health.work {
        return Err(format!("{name}: {}. Wait for its end", work(busy)));
    }
    if let Some(other) = built.replacing.as_ref().filter(|_| !begun) {
        let (other, of) = (&other.member.label, &build.members[other.at].label);
        return Err(format!("{other} already replaces {of}: complete that first"));
    }
    let works = health.members[at] == MemberState::InSync;
    if works && health.missing > 0 {
        return Err(format!("{name} lacks a drive: replace that one before {}", old.label));
    }
    if new.identity() == old.identity && health.members[at] != MemberState::Unused {
        return Err(format!("{label} is in {name} already"));
    }
    let others = build.members.iter().enumerate().filter(|(other, _)| *other != at);
    for (_, other) in others {
        let drive = inventory.drives.iter().find(|drive| drive.identity() == other.identity);
        if drive.is_some_and(|drive| drive.name == new.name || inventory.are_one(drive, new)) {
            return Err(format!(
                "{label} and {} are one piece of hardware: it would fail as a whole",
                other.label
            ));
        }
    }
    if new.logical_block != old.logical_block {
        let (new, old) = (new.logical_block, old.logical_block);
        return Err(format!("{label} has blocks of {new} bytes, {name} needs {old}"));
    }
    // After the partition is the second copy of the table.
    let needed = old.part.map_or(old.sectors, |part| part.start + part.sectors + 2048);
    if new.sectors < needed {
        let (has, needed) = (decimal_bytes(new.bytes()), decimal_bytes(needed * 512));
        return Err(format!("{label} is too small: {has}, and {name} needs {needed}"));
    }
    Ok(())
}

/// Erases the drive that was replaced if its serial was given, too.
fn erase_old(
    built: &Built,
    at: usize,
    erase: &[String],
    commands: &mut Commands<'_>,
) -> anyhow::Result<bool> {
    let inventory = Inventory::read(&Sysroot::live());
    let old = inventory.drives.iter().find(|drive| drive.identity() == built.build.members[at].identity);
    let Some(old) = old.filter(|old| erase.contains(&consent(old))) else { return Ok(false) };
    let claims: Claims = Claims::take(Claims::lock(&[old])?, erase)?;
    run::erase(built, at, &old.node(), &claims, commands)?;
    Ok(true)
}
