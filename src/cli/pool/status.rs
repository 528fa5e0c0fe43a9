//! `drivebench pool status`: whether a pool is complete, degraded, being filled, half built or gone.

use std::{path::Path, process::ExitCode};

use super::{bay, removal};
use crate::{
    cli::{errors::Usage, output::Output},
    danger::consent,
    inventory::{Drive, Inventory},
    pool::{
        Member,
        health::{Action, Health, MemberState, State, Work},
    },
    run::{Built, Replacement, pools},
    sysroot::Sysroot,
    tools::{Runner, System, mdadm, udevadm},
    units::{count, decimal_bytes, duration, listed, rate, shell_word, size},
};

pub(super) fn status(name: Option<&str>, store: &Path, output: &Output) -> anyhow::Result<ExitCode> {
    let mut inventory = bay::here(output);
    let (mut pools, damaged) = pools(store);
    pools.retain(|pool| name.is_none_or(|name| pool.build.name == name));
    for (path, why) in &damaged {
        output.warn(&format!("{} can't be read: {why}", path.display()));
    }
    match (pools.is_empty(), name) {
        (true, Some(name)) => return Err(Usage(format!("there is no pool {name}")).into()),
        (true, None) => output.result("No pools were built by drivebench.\n")?,
        _ => {}
    }
    let root = Sysroot::live();
    let is_apart = |pool: &Built| {
        let state = pool.build.health(&root, &inventory).state;
        pool.finished && !pool.removing && matches!(state, State::Inactive | State::Stopped)
    };
    // udev may be about to assemble it: no command for that is to be shown.
    if pools.iter().any(is_apart) && System::default().ask(&udevadm::settle()).is_ok() {
        inventory = bay::here(output);
    }
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
    for (((at, member), state), drive) in members.into_iter().zip(&health.members).zip(drives) {
        // Where the drive is now, not where it was.
        let label = drive.map_or_else(|| member.label.clone(), |drive| drive.label());
        let path =
            drive.map(|drive| format!("{}, ", build.member_path(at, &drive.node()))).unwrap_or_default();
        text += &format!("  {label}: {path}{}\n", state.words());
    }
    if let Some(new) = &pool.replacing {
        let old = &build.members[new.at].label;
        let how = match pool.busy {
            true => "in progress".to_owned(),
            false => format!("not completed; {}", going_on(pool, new, &health, inventory)),
        };
        text += &format!("  {}: replaces {old}, {how}\n", new.member.label);
    }
    text
}

/// The command that completes a replacement, or names another drive if this one failed or is not plugged in.
fn going_on(pool: &Built, new: &Replacement, health: &Health, inventory: &Inventory) -> String {
    let both = [(new.at, &pool.build.members[new.at]), (new.at, &new.member)];
    let [old, drive] = pool.find(&both, inventory)[..] else { return String::new() };
    let old = old.map_or_else(|| serial(&both[0].1.identity).to_owned(), consent);
    let old = shell_word(&old);
    let state = new.state(pool, drive, health.device.as_ref(), &Sysroot::live());
    match drive {
        Some(drive) if state != MemberState::Failed => {
            let new = shell_word(&consent(drive));
            format!("to go on: drivebench pool replace {old} {new} --erase {new}")
        }
        _ => format!(
            "it {}; to use another drive: drivebench pool replace {old} NEW",
            match drive {
                Some(_) => "failed",
                None => "is not plugged in",
            }
        ),
    }
}

/// The serial in an identity.
fn serial(identity: &str) -> &str {
    identity.split('+').next().unwrap_or(identity)
}

/// The command that removes what was built, with the drives that were reached and are plugged in.
fn to_remove(pool: &Built, inventory: &Inventory) -> String {
    let drives: Vec<&Drive> = pool.find(&pool.touched(), inventory).into_iter().flatten().collect();
    format!("to remove it: {}", removal(&pool.build.name, &drives))
}

/// The commands that give its array the members that are plugged in, but that it doesn't have.
fn to_add(pool: &Built, health: &Health, inventory: &Inventory) -> String {
    let drives = pool.build.drives(inventory);
    let unused = drives.iter().zip(&health.members).enumerate();
    let unused = unused.filter(|(_, (_, state))| **state == MemberState::Unused);
    let add = |(at, (drive, _)): (usize, (&Option<&Drive>, &MemberState))| {
        let path = pool.build.member_path(at, &drive.as_ref()?.node());
        Some(mdadm::incremental(&path).to_string())
    };
    unused.filter_map(add).collect::<Vec<_>>().join(" && ")
}

/// In words, with what to do.
fn state(pool: &Built, health: &Health, inventory: &Inventory) -> String {
    let build = &pool.build;
    let (done, all) = (pool.done.len(), build.steps().len());
    match pool.busy {
        true if pool.removing => return "being removed".to_owned(),
        true if !pool.finished => return format!("being built, {done} of {all} steps"),
        _ => {}
    }
    if pool.removing {
        return format!("removed in part; {}", to_remove(pool, inventory));
    }
    if !pool.finished {
        return format!("built in part, {done} of {all} steps; {}", to_remove(pool, inventory));
    }
    let mut states = vec![match health.state {
        State::Active if health.degraded > 0 => "degraded".to_owned(),
        State::Active => "active".to_owned(),
        State::ReadOnly => "read only".to_owned(),
        State::Suspended => "suspended".to_owned(),
        State::Inactive if health.members.contains(&MemberState::Unused) => {
            format!("assembled in part; to add the others: {}", to_add(pool, health, inventory))
        }
        State::Inactive if health.missing > build.layout.survives(build.members.len()) as u64 => {
            "assembled in part: too many drives are missing".to_owned()
        }
        State::Inactive => match &health.device {
            Some(device) => {
                format!("assembled in part; to start it without the others: {}", mdadm::run(&device.path()))
            }
            None => "assembled in part".to_owned(),
        },
        State::Broken => "broken: too many drives are missing".to_owned(),
        State::Stopped => {
            let drives = build.drives(inventory).into_iter();
            let paths: Vec<Option<String>> = drives.map(|drive| Some(drive?.node())).collect();
            match build.start(&paths) {
                Some(command) => format!("not active; to start it: {command}"),
                None => "not active: too many drives are missing".to_owned(),
            }
        }
    }];
    if health.missing > 0 && health.device.is_some() {
        states.push(format!("{} missing", count(health.missing, "drive")));
    }
    let is_not = |(_, state): &(&Member, &MemberState)| {
        matches!(state, MemberState::Absent | MemberState::Failed | MemberState::Unused)
    };
    if health.state == State::Active && health.missing > 0 {
        let out = build.members.iter().zip(&health.members).find(is_not);
        states.extend(out.map(|(member, state)| {
            let old = shell_word(serial(&member.identity));
            match state {
                MemberState::Unused => format!("to take it back: drivebench pool replace {old} {old}"),
                _ => format!("to fill another drive: drivebench pool replace {old} NEW"),
            }
        }));
    }
    states.extend(health.work.as_ref().map(|now| match (now.action, &health.device) {
        (Action::Frozen, Some(device)) => {
            format!("{}; to let it go on: {}", work(now), mdadm::go_on(&device.path()))
        }
        _ => work(now),
    }));
    states.extend(health.mismatches.map(|n| format!("at most {} differed at the last check", size(n * 512))));
    if let Some(device) = &health.device {
        let mounts = device.mounts(inventory);
        let mounts: Vec<&str> = mounts.iter().map(|mount| mount.path.as_str()).collect();
        let works = matches!(health.state, State::Active | State::ReadOnly);
        states.extend(match &pool.mount {
            _ if !mounts.is_empty() => Some(format!("mounted on {}", listed(&mounts))),
            Some(dir) if works => {
                // The kernel gives an array another name where a drive of an earlier one has it.
                let is_named = Path::new(&build.path())
                    .canonicalize()
                    .is_ok_and(|path| path == Path::new(&device.path()));
                let path = if is_named { build.path() } else { device.path() };
                let (path, dir) = (shell_word(&path), shell_word(dir));
                Some(format!("not mounted; to mount it: mount {path} {dir}"))
            }
            _ => None,
        });
    }
    states.join(", ")
}

/// What the kernel does with an array, how far it is, its rate and the time left.
fn work(work: &Work) -> String {
    let mut words = vec![work.progress()];
    words.extend(work.rate.map(rate));
    words.extend(work.left.map(|left| format!("{} left", duration(left))));
    words.join(", ")
}

/// Why nothing else can be done with the array now.
pub(super) fn idle(name: &str, health: &Health) -> Result<(), String> {
    let Some(busy) = &health.work else { return Ok(()) };
    let then = match busy.action {
        Action::Frozen => format!("See drivebench pool status {name}"),
        _ => "Wait for its end".to_owned(),
    };
    Err(format!("{name}: {}. {then}", work(busy)))
}

/// A line at the beginning and after each tenth.
pub(super) fn progress(output: &Output) -> impl FnMut(&Health) {
    let mut shown = None;
    move |health| {
        let Some(now) = &health.work else { return };
        let tenth = (now.done.unwrap_or(0.0) * 10.0) as u32;
        if shown.replace(tenth) != Some(tenth) {
            output.marked("  ", &work(now));
        }
    }
}
