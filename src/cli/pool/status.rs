//! `drivebench pool status`: whether a pool is complete, degraded, being filled, half built or gone.

use std::{path::Path, process::ExitCode};

use super::{replacement, settled};
use crate::{
    cli::{errors::Usage, output::Output},
    danger::consent,
    inventory::Inventory,
    pool::{
        Member,
        health::{Action, Health, MemberState, State},
    },
    run::{self, Built, Replacement, pools, to_remove},
    sysroot::Sysroot,
    tools::{System, mdadm},
    units::{clean, count, decimal_bytes, listed, shell_word, size},
};

pub(super) fn status(name: Option<&str>, store: &Path, output: &Output) -> anyhow::Result<ExitCode> {
    // udev may be about to assemble a pool: no command for that is to be shown.
    let inventory = settled(output);
    let (mut pools, damaged) = pools(store);
    pools.retain(|pool| name.is_none_or(|name| pool.build.name == name));
    for (path, why) in &damaged {
        output.warn(&format!("{} can't be read: {why}", path.display()));
    }
    match (pools.is_empty(), name) {
        // A log may be one of those.
        (true, _) if !damaged.is_empty() => return Ok(ExitCode::FAILURE),
        (true, Some(name)) => return Err(Usage(format!("there is no pool {name}")).into()),
        (true, None) => output.result("No pools were built by drivebench.\n")?,
        _ => {}
    }
    let root = Sysroot::live();
    let lines: String = pools.iter().map(|pool| describe(pool, &inventory, &root)).collect();
    output.result(&lines)?;
    Ok(if damaged.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A line for the pool and one for each of its drives.
fn describe(pool: &Built, inventory: &Inventory, root: &Sysroot) -> String {
    let build = &pool.build;
    let health = build.health(root, inventory);
    let holds = decimal_bytes(build.capacity.saturating_mul(512));
    let mut text =
        format!("{}: {}, {holds}, {}\n", build.name, build.layout, state(pool, &health, inventory));
    let members: Vec<(usize, &Member)> = build.members.iter().enumerate().collect();
    let drives = pool.find(&members, inventory);
    for (((at, member), state), drive) in members.into_iter().zip(&health.members).zip(&drives) {
        // Where the drive is now, not where it was.
        let label = drive.map_or_else(|| member.label.clone(), |drive| drive.label());
        let what = match drive {
            Some(drive) => {
                // While a pool is built or removed, its part may not be there.
                let part = build.member_path(at, &drive.node());
                let is_there = inventory.blocks().any(|block| block.path() == part);
                let state = if *state == MemberState::Absent { MemberState::Unused } else { *state };
                format!("{}, {}", if is_there { part } else { drive.node() }, state.words())
            }
            None => "not plugged in, or holds nothing of this pool".to_owned(),
        };
        text += &format!("  {}: {what}\n", clean(&label));
    }
    // The new drive of a replacement is not of the pool yet.
    for name in health.others.iter().filter(|_| pool.replacing.is_none()) {
        text += &format!(
            "  /dev/{name}: in use; its serial is of no drive that the pool was built with (a USB case can report its own)\n"
        );
    }
    if let Some(new) = &pool.replacing {
        let old = clean(&build.members[new.at].label);
        let how = match pool.busy {
            true => "in progress".to_owned(),
            false => format!("not completed; to go on: {}", going_on(pool, new, &health, inventory)),
        };
        text += &format!("  {}: replaces {old}, {how}\n", clean(&new.member.label));
    }
    text
}

/// The command that completes a replacement; with another drive if this one failed or is not plugged in.
fn going_on(pool: &Built, new: &Replacement, health: &Health, inventory: &Inventory) -> String {
    let both = [(new.at, &pool.build.members[new.at]), (new.at, &new.member)];
    let [old, drive] = pool.find(&both, inventory)[..] else { return String::new() };
    let old = old.map_or_else(|| pool.build.name_of(new.at).to_owned(), consent);
    let state = new.state(pool, drive, health.device.as_ref(), &Sysroot::live());
    let new = drive.filter(|_| state != MemberState::Failed).map(consent);
    replacement(&old, new.as_deref().unwrap_or("NEW"), new.as_deref())
}

/// What to do about the member with this number, which an active pool lacks.
fn to_complete(pool: &Built, at: usize, health: &Health, inventory: &Inventory) -> String {
    let drive = pool.build.drives(inventory)[at].filter(|_| health.members[at] == MemberState::Unused);
    match drive.map(consent) {
        Some(back) => format!("to take it back: {}", replacement(&back, &back, None)),
        None => format!("to fill another drive: {}", replacement(pool.build.name_of(at), "NEW", None)),
    }
}

/// What to do about a raid5 or raid6 that md doesn't start by itself.
fn unclean(pool: &Built, health: &Health, inventory: &Inventory) -> Option<String> {
    let build = &pool.build;
    let drives = build.drives(inventory).into_iter().enumerate();
    let parts: Vec<String> =
        drives.filter_map(|(at, drive)| Some(build.member_path(at, &drive?.node()))).collect();
    if build.members.len() - parts.len() > build.layout.survives(build.members.len()) {
        return None;
    }
    let newest = run::unclean(build, &parts, &System::default())?;
    if newest.is_empty() {
        let why = "not active: too many drives are missing, or missed what was written without them. Plug in the others; \
                   with the outdated ones, its files would be damaged";
        return Some(why.to_owned());
    }
    let stop = health.device.iter().map(|device| format!("{} && ", mdadm::stop(&device.path())));
    Some(format!(
        "not active: its writing was cut off, or drives missed what was written without them. Plug in what is missing, if you have it. \
         Any file may be damaged, so check before you write; to start it: {}{}",
        stop.collect::<String>(),
        mdadm::assemble_unclean(&build.path(), &newest)
    ))
}

/// In words, with what to do.
fn state(pool: &Built, health: &Health, inventory: &Inventory) -> String {
    let build = &pool.build;
    let (begun, all) = (pool.begun.len(), build.steps().len());
    match pool.busy {
        true if pool.removing => return "being removed".to_owned(),
        true if !pool.finished => return format!("being built, step {begun} of {all}"),
        _ => {}
    }
    if pool.removing {
        return format!("removed in part; to remove it: {}", to_remove(pool, inventory));
    }
    if !pool.finished {
        return format!(
            "built in part, up to step {begun} of {all}; to remove it: {}",
            to_remove(pool, inventory)
        );
    }
    let unclean = match health.state {
        State::Inactive | State::Stopped => unclean(pool, health, inventory),
        _ => None,
    };
    // Only a stopped pool has none.
    let device = health.device.as_ref().map(|device| device.path()).unwrap_or_default();
    let mut states = vec![match health.state {
        _ if unclean.is_some() => unclean.unwrap_or_default(),
        State::Active if health.degraded > 0 => "degraded".to_owned(),
        State::Active => "active".to_owned(),
        State::ReadOnly => format!("read only; to let it be written: {}", mdadm::read_write(&device)),
        State::Suspended => "suspended".to_owned(),
        State::TakesNoWrites => {
            format!(
                "accepts no writes, because a write to its journal or to the last copy of some data failed: back it up, unmount it, and run mdadm --stop {device}; then \
                 the command that starts it is shown here"
            )
        }
        State::Broken if build.drives(inventory).iter().all(Option::is_some) => {
            // To the kernel, drives that came back are new ones. What starts it depends on what they hold.
            let mounts = health.device.iter().flat_map(|device| device.mounts(inventory));
            let unmount: String =
                mounts.map(|mount| format!("umount {}; ", shell_word(mount.path.as_str()))).collect();
            let (stop, name) = (build.stop(&device), &build.name);
            return format!(
                "broken, though all of its drives are plugged in; in this order: {unmount}{stop}; drivebench pool status {name}"
            );
        }
        State::Broken => "broken: too many drives are missing".to_owned(),
        State::Inactive | State::Stopped => {
            let state = if health.device.is_some() { "assembled in part" } else { "not active" };
            let stop = health.device.iter().map(|_| format!("{} && ", build.stop(&device)));
            let drives = build.drives(inventory).into_iter();
            let paths: Vec<Option<String>> = drives.map(|drive| Some(drive?.node())).collect();
            match build.start(&paths) {
                Some(start) => format!("{state}; to start it: {}{start}", stop.collect::<String>()),
                None => format!("{state}: too many drives are missing"),
            }
        }
    }];
    if health.missing > 0 && health.device.is_some() {
        states.push(format!("{} missing", count(health.missing, "drive")));
    }
    let is_out = |state: &MemberState| {
        matches!(state, MemberState::Absent | MemberState::Failed | MemberState::Unused)
    };
    // Which member a drive with another serial is, isn't known.
    let is_known = health.others.is_empty();
    if health.state == State::Active && health.missing > 0 && is_known && !pool.is_of_run() {
        let out = health.members.iter().position(is_out);
        states.extend(out.map(|at| to_complete(pool, at, health, inventory)));
    }
    states.extend(health.work.as_ref().map(|now| match now.action {
        Action::Frozen => format!("{}; to let it go on: {}", now.describe(), mdadm::unfreeze(&device)),
        Action::Pending => format!("{}; to begin it: {}", now.describe(), mdadm::read_write(&device)),
        _ => now.describe(),
    }));
    states.extend(health.mismatches.map(|n| format!("at most {} differed at the last check", size(n * 512))));
    if pool.is_of_run() {
        let remove = to_remove(pool, inventory);
        states.push(format!("built for a run; if that has ended, this removes it: {remove}"));
    }
    if let Some(device) = &health.device {
        let mounts = device.mounts(inventory);
        let mounts: Vec<_> = mounts.iter().map(|mount| clean(&mount.path)).collect();
        let works = matches!(health.state, State::Active | State::ReadOnly);
        states.extend(match &pool.mount {
            _ if !mounts.is_empty() => Some(format!("mounted on {}", listed(&mounts))),
            Some(dir) if works => {
                let (path, dir) = (device.path(), shell_word(dir));
                Some(format!("not mounted; to mount it: mount {path} {dir}"))
            }
            _ => None,
        });
    }
    states.join(", ")
}
