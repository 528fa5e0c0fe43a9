//! `drivebench pool replace`, `scrub` and `destroy`: changes of a pool that is there.

use std::process::ExitCode;

use super::{bay, consent_to, drive, find, settled};
use crate::{
    cli::{
        errors::Usage,
        options::Options,
        output::Output,
        pool::args::Replace,
        run::{Task, carry_out},
    },
    danger::erasable,
    experiments::pool_commands::{Course, PoolChange, PoolCommand, course},
    inventory::{Drive, Inventory, name_in},
    pool::Member,
    record::Store,
    run::{self, Built, Replacement},
    sysroot::Sysroot,
    tools::System,
    units::{clean, decimal_bytes, listed},
};

/// Another drive takes the place of a member.
pub(super) fn replace(args: &Replace, store: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    let inventory = settled(output);
    let new = drive(&args.new, &inventory)?;
    let named = drive(&args.old, &inventory).ok();
    let (name, at) = member(&args.old, named, &inventory, &run::pools(store.dir()).0)?;
    let built = find(store, &name)?;
    let health = built.build.health(&Sysroot::live(), &inventory);
    let course = course(&built, &health, at, new, &inventory, &System::default());
    let course = course.map_err(Usage)?;
    let mut erases = Vec::new();
    if let Course::Prepare { back, gives_up, .. } = course {
        // The array still has one that failed and is named again.
        if !gives_up {
            erasable(&inventory, new)?;
        }
        erases.push(new.identity());
        if back {
            output.lines(&format!("{} keeps what it holds if {name} takes it back as it is.", new.label()));
        }
    }
    let member = Member {
        identity: new.identity(),
        label: new.label(),
        sectors: new.sectors,
        ..built.build.members[at].clone()
    };
    let change = PoolChange::Replace { replacement: Replacement { at, member }, erases };
    perform(&built, change, &[new], (&args.erase, &inventory), store, output)
}

/// Compares the copies or the parity of a pool.
pub(super) fn scrub(name: &str, store: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    let built = find(store, name)?;
    let inventory = bay::here(output);
    let drives: Vec<&Drive> = built.build.drives(&inventory).into_iter().flatten().collect();
    perform(&built, PoolChange::Scrub, &drives, (&[], &inventory), store, output)
}

/// Unmounts and stops a pool, and removes what building left on its drives.
pub(super) fn destroy(
    name: &str,
    erase: &[String],
    missing: bool,
    store: &Store,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let built = find(store, name)?;
    let inventory = settled(output);
    let touched = built.touched();
    let (mut drives, mut absent) = (Vec::new(), Vec::new());
    for ((_, member), drive) in touched.iter().zip(built.find(&touched, &inventory)) {
        match drive {
            Some(drive) => drives.push(drive),
            None => absent.push(clean(&member.label).into_owned()),
        }
    }
    if !absent.is_empty() && !missing {
        let why = format!(
            "not plugged in, or without what they had of {name}: {}. Plug them in, or add --missing: they keep what they hold",
            listed(&absent)
        );
        return Err(Usage(why).into());
    }
    output.lines(&content(&built, &inventory));
    let erases = drives.iter().map(|drive| drive.identity()).collect();
    let change = PoolChange::Destroy { erases, absent };
    perform(&built, change, &drives, (erase, &inventory), store, output)
}

/// Takes the consent to what a change erases, and makes it.
fn perform(
    built: &Built,
    change: PoolChange,
    drives: &[&Drive],
    (erase, inventory): (&[String], &Inventory),
    store: &Store,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let (build, name) = (built.build.clone(), &built.build.name);
    let plan = PoolCommand { build, change }.plan(drives);
    plan.require(inventory, store.dir())?;
    let erase = consent_to(&plan, erase.to_vec(), Some(name), inventory, store.dir(), output)?;
    carry_out(&Options::default(), Task::new(plan, erase), inventory.clone(), store, output)
}

/// The pool and the number of the member that was named, which may not be plugged in.
fn member(
    given: &str,
    here: Option<&Drive>,
    inventory: &Inventory,
    pools: &[Built],
) -> Result<(String, usize), Usage> {
    let is = |pool: &Built, at: usize| {
        let identity = &pool.build.members[at].identity;
        match (here, pool.build.drives(inventory)[at]) {
            (Some(named), Some(member)) => named.name == member.name,
            // It may have lost what it had of the pool.
            (Some(named), None) => named.identity() == *identity,
            (None, _) => identity == given || name_in(identity) == given,
        }
    };
    let mut found: Vec<(&Built, usize)> = Vec::new();
    for pool in pools {
        found.extend((0..pool.build.members.len()).filter(|at| is(pool, *at)).map(|at| (pool, at)));
    }
    match found[..] {
        [(pool, at)] => Ok((pool.build.name.clone(), at)),
        [] => Err(Usage(format!("{given} is in no pool: drivebench pool status"))),
        _ => {
            let each = found.iter().map(|(pool, at)| pool.build.name_of(*at)).collect::<Vec<_>>();
            Err(Usage(format!("{given} may be several drives: name one of {}", listed(&each))))
        }
    }
}

/// The filesystem of the pool, where it is mounted, and how much is in use.
fn content(built: &Built, inventory: &Inventory) -> String {
    let build = &built.build;
    if !built.finished {
        return String::new();
    }
    let device = build.device(&Sysroot::live(), inventory);
    let mounts = device.map(|device| device.mounts(inventory)).unwrap_or_default();
    let mounted = mounts.first().map_or("not mounted".to_owned(), |mount| {
        let used = mount
            .space
            .map(|space| format!(", {} of {} in use", decimal_bytes(space.used), decimal_bytes(space.size)));
        format!("mounted on {}{}", clean(&mount.path), used.unwrap_or_default())
    });
    format!("Lost is {} of {}, {mounted}\n", build.filesystem.name(), build.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        pool::testing::{request, stick},
        units::Layout,
    };

    fn built(name: &str, drives: [&Drive; 2]) -> Built {
        let request = crate::pool::Request { name: name.to_owned(), ..request(Layout::Raid1) };
        Built {
            build: request.plan(&Inventory::default(), &drives).expect("fits"),
            begun: Vec::new(),
            mount: None,
            configured: Vec::new(),
            finished: true,
            replacing: None,
            reached: false,
            removing: false,
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
        let which = "S may be several drives: name one of S+400000@1, S+400000@2 and S+400000@4";
        assert_eq!(found("S"), Err(which.to_owned()));
        assert_eq!(found("A"), Err("A is in no pool: drivebench pool status".to_owned()));
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
        assert_eq!(found(&c), Err("bay:1 is in no pool: drivebench pool status".to_owned()));
    }
}
