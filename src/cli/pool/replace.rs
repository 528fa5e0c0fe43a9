//! `drivebench pool replace`: another drive takes the place of a member.

use std::{path::Path, process::ExitCode};

use anyhow::anyhow;

use super::{
    Replace, ask, bay, describe, drive, in_no_pool, open, say,
    status::{idle, progress},
};
use crate::{
    cli::{errors::Usage, output::Output},
    danger::{Claims, consent},
    inventory::{Drive, Inventory},
    pool::{
        Member,
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
    let (mut log, mut built) = open(store, &name)?;
    let says = &mut |command: &str| output.marked("  ", command);
    let mut commands = Commands { runner: &System::default(), says, exists: &run::exists };
    let health = built.build.health(&Sysroot::live(), &inventory);
    if let Some((lost, drive)) = lost(&built, &health, new, &inventory) {
        let drive = drive.map(Drive::node);
        run::give_up(&built, drive.as_deref(), &mut log, &mut commands)?;
        say(output, &format!("{} was to be a drive of {name}: given up, it keeps what is on it", lost.label));
        built.replacing = None;
    }
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
        if !begun && !is_member(&built, at, new, &inventory) {
            in_no_pool(&[new], &inventory, store)?;
        }
        run::ready(&built.build, None, &System::default())?;
        say(output, &format!("This erases:\n{}", describe(&[new])));
        let mut erase = args.erase.clone();
        erase.extend(ask(&[new], &erase, output)?);
        Some(Claims::take(Claims::lock(&[new])?, &erase)?)
    };
    let (new_path, shows) = (new.node(), &mut progress(output));
    let begun = match claims {
        // The claim ends before the drive is filled.
        Some(claims) => run::replace(&built, &replacement, &new_path, &claims, &mut log, &mut commands),
        None => Ok(()),
    };
    begun
        .and_then(|()| run::fill(&built, &replacement, &new_path, &mut log, &mut commands, shows))
        .map_err(|e| anyhow!("{e}. The state, and how to go on: drivebench pool status {name}"))?;
    let old = &built.build.members[at];
    let rest = if is_member(&built, at, new, &inventory) {
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
    let (pools, _) = run::pools(store);
    let at = |pool: &Built| match &here {
        Ok(drive) => {
            let drives = pool.build.drives(inventory);
            drives.iter().position(|found| found.is_some_and(|found| found.name == drive.name))
        }
        // Serial and size.
        Err(_) => pool.build.members.iter().position(|member| {
            member.identity == given
                || member.identity.rsplit_once('+').is_some_and(|(serial, _)| serial == given)
        }),
    };
    let mut found = pools.iter().flat_map(|pool| at(pool).map(|at| (pool.build.name.clone(), at)));
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

/// Whether the drive is the member with this number.
fn is_member(built: &Built, at: usize, drive: &Drive, inventory: &Inventory) -> bool {
    built.build.drives(inventory)[at].is_some_and(|found| found.name == drive.name)
}

/// The replacement that an earlier call began and that can't be completed: its drive failed, or it isn't used yet, or isn't
/// here, and another one is named now.
fn lost<'a>(
    built: &Built,
    health: &Health,
    named: &Drive,
    inventory: &'a Inventory,
) -> Option<(Member, Option<&'a Drive>)> {
    let begun = built.replacing.as_ref()?;
    let drive = built.find(&[(begun.at, &begun.member)], inventory)[0];
    let is_lost = match begun.state(built, drive, health.device.as_ref(), &Sysroot::live()) {
        MemberState::Failed => true,
        MemberState::Absent | MemberState::Unused => drive.is_none_or(|drive| drive.name != named.name),
        _ => false,
    };
    is_lost.then(|| (begun.member.clone(), drive))
}

/// Whether an earlier call has added the new drive already.
fn added(built: &Built, replacement: &Replacement, new: &Drive, health: &Health) -> bool {
    let state = replacement.state(built, Some(new), health.device.as_ref(), &Sysroot::live());
    !matches!(state, MemberState::Unused | MemberState::Failed)
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
    idle(name, health)?;
    if let Some(other) = built.replacing.as_ref().filter(|_| !begun) {
        let (other, of) = (&other.member.label, &build.members[other.at].label);
        return Err(format!("{other} already replaces {of}: complete that first"));
    }
    let works = health.members[at] == MemberState::InSync;
    if works && health.missing > 0 {
        return Err(format!("{name} lacks a drive: replace that one before {}", old.label));
    }
    let is_old = is_member(built, at, new, inventory);
    if is_old && health.members[at] != MemberState::Unused {
        return Err(format!("{label} is in {name} already"));
    }
    let others = build.members.iter().zip(build.drives(inventory)).enumerate();
    for (_, (other, drive)) in others.filter(|(other, _)| *other != at) {
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
    let old = built.build.drives(&inventory)[at];
    let Some(old) = old.filter(|old| erase.contains(&consent(old))) else { return Ok(false) };
    let claims: Claims = Claims::take(Claims::lock(&[old])?, erase)?;
    run::erase(built, at, &old.node(), &claims, commands)?;
    Ok(true)
}
