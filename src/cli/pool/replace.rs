//! `drivebench pool replace`: another drive takes the place of a member.

use std::{path::Path, process::ExitCode};

use anyhow::anyhow;

use super::{
    Replace, all_named, ask, claim, describe, drive, in_no_pool, known, not_claimed, open, say, settled,
    status::{idle, progress},
};
use crate::{
    cli::{errors::Usage, output::Output},
    danger::consent,
    inventory::{Drive, Inventory, name_in},
    pool::{
        Member,
        health::{Action, Device, Health, MemberState, State},
    },
    run::{self, BuildError, Built, Commands, Former, Replacement},
    sysroot::Sysroot,
    tools::{System, mdadm},
    units::{clean, decimal_bytes},
};

pub(super) fn replace(args: &Replace, store: &Path, output: &Output) -> anyhow::Result<ExitCode> {
    let inventory = settled(output);
    let new = drive(&args.new, &inventory)?;
    let named = drive(&args.old, &inventory).ok();
    let (name, at) = member(&args.old, named, &inventory, &run::pools(store).0)?;
    let (mut log, before) = open(store, &name)?;
    let old = &before.build.members[at].identity;
    let of_old = before.build.drives(&inventory)[at].map(consent);
    let of_old: Vec<String> = of_old.into_iter().chain([old.clone(), name_in(old).to_owned()]).collect();
    known(&args.erase, &[new], &of_old)?;
    let says = &mut |command: &str| output.marked("  ", command);
    let mut commands = Commands { runner: &System::default(), says, exists: &run::exists };
    let health = before.build.health(&Sysroot::live(), &inventory);
    let lost = lost(&before, &health, new, &inventory);
    let mut built = before.clone();
    if lost.is_some() {
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
        // A resync that waits for the first write is begun below, and waited for.
        let work = health.work.filter(|work| work.action != Action::Pending);
        let calm = Health { work, ..health.clone() };
        possible(&built, begun, &calm, at, new, &inventory).map_err(Usage)?;
        in_no_pool(&[new], &inventory, store, Some(&name))?;
        run::ready_for(&built.build, &built.build.preparation(at), &System::default())?;
        // What is wiped already has nothing to take back.
        let is_back = is_member(&built, at, new, &inventory) && !(begun && built.reached);
        let back = is_back && can_be_taken_back(&built, at, new, &health)?;
        let erases = match back {
            true => "If the array doesn't take it back as it is, this erases",
            false => "This erases",
        };
        say(output, &format!("{erases}:\n{}", describe(&[new])));
        let old = before.build.drives(&inventory)[at];
        if let Some(old) = old.filter(|old| old.name != new.name && args.erase.contains(&consent(old))) {
            say(output, &format!("Once {name} no longer needs it, this erases, too:\n{}", describe(&[old])));
        }
        let mut erase = args.erase.clone();
        erase.extend(ask(&[new], &erase, output)?);
        all_named(&[new], &erase)?;
        run::resync(&before, &mut log, &mut commands, &mut progress(output))
            .map_err(|e| anyhow!("{e}. The state, and how to go on: drivebench pool status {name}"))?;
        let mut give_up = |lost: &(Member, Option<&Drive>)| {
            let drive = lost.1.map(Drive::node);
            run::give_up(&before, drive.as_deref(), &mut log, &mut commands)?;
            let label = clean(&lost.0.label);
            say(output, &format!("{label} was to be a drive of {name}: given up, it keeps what is on it"));
            Ok::<(), BuildError>(())
        };
        let is_new = |lost: &&(Member, Option<&Drive>)| lost.1.is_some_and(|drive| drive.name == new.name);
        // It failed and is named again. Until the array gives it up, it can't be claimed.
        if let Some(again) = lost.as_ref().filter(is_new) {
            give_up(again)?;
        }
        let claims = match begun {
            true => run::claim_begun(&[new], &erase, store, &name).map_err(not_claimed)?,
            false => claim(&[new], &erase, store, Some(&name))?,
        };
        if let Some(other) = lost.as_ref().filter(|lost| !is_new(lost)) {
            give_up(other)?;
        }
        Some((claims, back))
    };
    let (new_path, shows) = (new.node(), &mut progress(output));
    let begun = match claims {
        // The claim ends before the drive is filled.
        Some((claims, back)) => {
            run::replace(&built, &replacement, &new_path, back, &claims, &mut log, &mut commands)
        }
        None => Ok(()),
    };
    begun
        .and_then(|()| run::fill(&built, &replacement, &new_path, &mut log, &mut commands, shows))
        .map_err(|e| anyhow!("{e}. The state, and how to go on: drivebench pool status {name}"))?;
    let old = clean(&built.build.members[at].label);
    let kept = format!("; {old} is in no pool now, and keeps what was on it");
    let (rest, failed) = match is_member(&built, at, new, &inventory) {
        true => (String::new(), None),
        false => match erase_old(&built, at, &args.erase, store, &mut commands) {
            Ok(true) => (format!("; {old} is erased"), None),
            Ok(false) => (kept, None),
            Err(e) => (kept, Some(e)),
        },
    };
    output.result(&format!("{} is a drive of {name} now{rest}.\n", new.label()))?;
    match failed {
        Some(e) => Err(anyhow!(
            "{old} was not erased: {e}. To do so, wipefs --all its partitions, then the drive itself"
        )),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// The pool and the number of the member that was named, which may not be plugged in.
fn member(
    given: &str,
    here: Option<&Drive>,
    inventory: &Inventory,
    pools: &[Built],
) -> Result<(String, usize), Usage> {
    let all = |is: &dyn Fn(&Built, usize) -> bool| {
        let mut found: Vec<(&Built, usize)> = Vec::new();
        for pool in pools {
            found.extend((0..pool.build.members.len()).filter(|at| is(pool, *at)).map(|at| (pool, at)));
        }
        found
    };
    let identity = |pool: &Built, at: usize| pool.build.members[at].identity.clone();
    let found = match here {
        Some(drive) => {
            let found = all(&|pool, at| is_member(pool, at, drive, inventory));
            // It may have lost what it had of the pool.
            let was = |pool: &Built, at: usize| {
                pool.build.drives(inventory)[at].is_none() && identity(pool, at) == drive.identity()
            };
            if found.is_empty() { all(&was) } else { found }
        }
        None => {
            let found = all(&|pool, at| identity(pool, at) == given);
            if found.is_empty() { all(&|pool, at| name_in(&identity(pool, at)) == given) } else { found }
        }
    };
    match (&found[..], here) {
        ([(pool, at)], _) => Ok((pool.build.name.clone(), *at)),
        ([], Some(drive)) => Err(Usage(format!("{} is in no pool: drivebench pool status", drive.label()))),
        ([], None) => Err(Usage(format!("no pool has a drive {given}: drivebench pool status"))),
        (several, _) => {
            let each =
                several.iter().map(|(pool, at)| format!("{} of {}", identity(pool, *at), pool.build.name));
            let each = each.collect::<Vec<_>>();
            Err(Usage(format!("{given} may be {}: name one of these", each.join(" or "))))
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
    // Of an array that is not active it is not known.
    let begun = built.replacing.as_ref().filter(|_| health.state == State::Active)?;
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

/// Whether a drive that was a member before may be taken back as it is. One with newer data than the pool is refused: that would
/// be lost.
fn can_be_taken_back(built: &Built, at: usize, drive: &Drive, health: &Health) -> anyhow::Result<bool> {
    let Some(array) = health.device.as_ref().map(Device::path) else { return Ok(false) };
    let (build, label) = (&built.build, drive.label());
    let (name, part) = (&build.name, build.member_path(at, &drive.node()));
    match run::former(build, &part, &array, &System::default())? {
        Former::Nothing => Ok(false),
        Former::Older { whole } => Ok(whole),
        Former::Newer { drive, array: now } => Err(Usage(format!(
            "{label} has newer data than {name}: its event count is {drive}, the pool's is {now}. It was used without the \
             pool. Nothing was changed. Compare them before you decide: mdadm --examine {part}. To give up what only \
             {label} has: wipefs --all {part}, then this command again"
        ))
        .into()),
    }
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
    if let (State::ReadOnly, Some(device)) = (health.state, &health.device) {
        return Err(format!(
            "{name} is read only. To let it be written: {}",
            mdadm::read_write(&device.path())
        ));
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
    if is_old && health.members[at] == MemberState::Failed {
        if let Some(device) = &health.device {
            let part = build.member_path(at, &new.node());
            let remove = mdadm::remove(&device.path(), &part);
            return Err(format!(
                "{label} failed, and is still in {name}. To try it again: {remove}, then this command once more"
            ));
        }
    }
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
    store: &Path,
    commands: &mut Commands<'_>,
) -> anyhow::Result<bool> {
    let inventory = Inventory::read(&Sysroot::live());
    let old = built.build.drives(&inventory)[at];
    let Some(old) = old.filter(|old| erase.contains(&consent(old))) else { return Ok(false) };
    let claims = claim(&[old], erase, store, Some(&built.build.name))?;
    run::erase(built, at, &old.node(), &claims, commands)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pool::{health::Work, testing::request},
        units::Layout,
    };

    fn stick(name: &str, bay: &str, serial: &str, shared: bool) -> Drive {
        Drive {
            name: name.to_owned(),
            bay: Some(bay.to_owned()),
            serial: Some(serial.to_owned()),
            shared_serial: shared,
            sectors: 400_000,
            logical_block: 512,
            ..Drive::default()
        }
    }

    fn built(name: &str, drives: [&Drive; 2]) -> Built {
        let request = crate::pool::Request { name: name.to_owned(), ..request(Layout::Raid1) };
        Built {
            build: request.plan(&Inventory::default(), &drives).expect("fits"),
            begun: Vec::new(),
            done: Vec::new(),
            mount: None,
            configured: Vec::new(),
            finished: true,
            replacing: None,
            reached: false,
            removing: false,
            removed: false,
            busy: false,
        }
    }

    #[test]
    fn a_member_that_is_away_is_found_by_a_name_that_is_its_own() {
        let pools = [
            built("one", [&stick("sda", "1", "S", true), &stick("sdb", "2", "S", true)]),
            built("two", [&stick("sdc", "3", "A+B", false), &stick("sdd", "4", "S", true)]),
        ];
        let none = Inventory::default();
        let found = |given: &str| member(given, None, &none, &pools).map_err(|e| e.to_string());
        assert_eq!(found("A+B"), Ok(("two".to_owned(), 0)));
        assert_eq!(found("S+400000@2"), Ok(("one".to_owned(), 1)));
        let which = "S may be S+400000@1 of one or S+400000@2 of one or S+400000@4 of two: name one of these";
        assert_eq!(found("S"), Err(which.to_owned()));
        assert_eq!(found("A"), Err("no pool has a drive A: drivebench pool status".to_owned()));
        // The names that `pool status` shows.
        for (pool, at) in pools.iter().flat_map(|pool| [(pool, 0), (pool, 1)]) {
            assert_eq!(found(pool.build.name_of(at)), Ok((pool.build.name.clone(), at)));
        }
    }

    #[test]
    fn a_member_that_was_wiped_is_found_by_its_serial() {
        let [a, b, c] = [("sda", "1", "A"), ("sdb", "2", "B"), ("sdc", "3", "C")]
            .map(|(name, bay, serial)| stick(name, bay, serial, false));
        let pools = [built("data", [&a, &b])];
        let inventory = Inventory { drives: vec![a.clone(), c.clone()], ..Inventory::default() };
        let found = |drive| member("bay:1", Some(drive), &inventory, &pools).map_err(|e| e.to_string());
        assert_eq!(found(&a), Ok(("data".to_owned(), 0)));
        assert_eq!(found(&c), Err("drive sdc C is in no pool: drivebench pool status".to_owned()));
    }

    #[test]
    fn what_can_t_be_replaced_now_is_refused_and_nothing_is_given_up() {
        let [a, b, new, other] = [("sda", "A"), ("sdb", "B"), ("sdc", "C"), ("sdd", "D")]
            .map(|(name, serial)| stick(name, name, serial, false));
        let mut pool = built("data", [&a, &b]);
        let of = |drive: &Drive| Replacement {
            at: 1,
            member: Member { identity: drive.identity(), ..pool.build.members[1].clone() },
        };
        let begun = of(&other);
        pool.replacing = Some(begun);
        let health = |state, device: Option<Device>, action| Health {
            device,
            state,
            degraded: 1,
            missing: 1,
            work: action,
            mismatches: None,
            members: vec![MemberState::InSync, MemberState::Absent],
            others: Vec::new(),
        };
        let none = Inventory::default();
        // Another one is named, and the one before is not plugged in.
        let is_lost = |state| lost(&pool, &health(state, None, None), &new, &none).is_some();
        assert_eq!([State::Active, State::Inactive, State::Stopped].map(is_lost), [true, false, false]);

        pool.replacing = None;
        let md = || Some(Device { name: "md127".to_owned(), number: (9, 127) });
        let refused = |health: &Health| possible(&pool, false, health, 1, &new, &none);
        assert_eq!(
            refused(&health(State::ReadOnly, md(), None)),
            Err("data is read only. To let it be written: mdadm --readwrite /dev/md127".to_owned())
        );
        let pending = Work { action: Action::Pending, done: None, rate: None, left: None };
        let why = refused(&health(State::Active, md(), Some(pending))).expect_err("pending");
        assert!(why.ends_with("begins with the first write, or with: mdadm --readwrite /dev/md127"), "{why}");
        let resync = Work { action: Action::Resync, done: Some(0.5), rate: None, left: None };
        let why = refused(&health(State::Active, md(), Some(resync))).expect_err("busy");
        assert!(why.ends_with("Wait for its end"), "{why}");
        assert_eq!(refused(&health(State::Active, md(), None)), Ok(()));
    }
}
