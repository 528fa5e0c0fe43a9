//! `drivebench pool destroy`: unmounts, stops, and removes what building left on the drives.

use std::process::ExitCode;

use super::{consent_to, find, say, settled};
use crate::{
    cli::{
        errors::Usage,
        options::Options,
        output::Output,
        run::{Task, carry_out},
    },
    experiments::pool_commands::{PoolChange, PoolCommand},
    inventory::Inventory,
    record::Store,
    run::Built,
    sysroot::Sysroot,
    units::{clean, decimal_bytes, listed},
};

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
    say(output, &content(&built, &inventory));
    let erases = drives.iter().map(|drive| drive.identity()).collect();
    let change = PoolChange::Destroy { erases, absent };
    let plan = PoolCommand { build: built.build.clone(), change }.plan(&drives);
    plan.require(&inventory, store.dir())?;
    let erase = consent_to(&plan, erase.to_vec(), Some(name), &inventory, store.dir(), output)?;
    carry_out(&Options::default(), Task::new(plan, erase), inventory, store, output)
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
