//! `drivebench pool destroy`: unmounts, stops, and removes what building left on the drives.

use std::process::ExitCode;

use super::{OwnPool, consent_to, find, namesake, say, settled};
use crate::{
    cli::{
        errors::Usage,
        options::Options,
        output::Output,
        run::{Task, carry_out},
    },
    danger::holds,
    experiments::pool_commands::{PoolChange, PoolCommand},
    inventory::{Drive, Inventory, name_in},
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
    let (mut drives, mut absent): (Vec<&Drive>, Vec<String>) = (Vec::new(), Vec::new());
    let touched = built.touched();
    let found = built.find(&touched, &inventory);
    for ((_, member), drive) in touched.iter().zip(&found) {
        let label = clean(&member.label);
        match (drive, namesake(member, &found, &inventory)) {
            (Some(drive), _) => drives.push(drive),
            (None, None) => absent.push(label.into_owned()),
            (None, Some(other)) => {
                let (node, holds) = (other.node(), holds(other));
                absent.push(match holds.is_empty() {
                    true => format!("{label} ({node} holds nothing of {name})"),
                    false => format!("{label} ({node} holds something else: {})", holds.join(", ")),
                });
            }
        }
    }
    if !absent.is_empty() && !missing {
        let why = format!(
            "not plugged in: {}. Plug them in, or add --missing: they keep their part",
            listed(&absent)
        );
        return Err(Usage(why).into());
    }
    // Also drives that are not plugged in, or that were not reached.
    let replaced = built.replacing.iter().map(|new| &new.member);
    let members = built.build.members.iter().chain(replaced).map(|member| &member.identity);
    let members: Vec<String> =
        members.flat_map(|identity| [identity.clone(), name_in(identity).to_owned()]).collect();
    say(output, &content(&built, &inventory));
    let erases = drives.iter().map(|drive| drive.identity()).collect();
    let change = PoolChange::Destroy { erases, absent };
    let plan = PoolCommand { build: built.build.clone(), change }.plan(&drives);
    plan.require(&inventory)?;
    let own = Some(OwnPool { name, members: &members });
    let erase = consent_to(&plan, erase.to_vec(), own, &inventory, store.dir(), output)?;
    carry_out(&Options::default(), Task::new(plan, erase), inventory, store, output)
}

/// The filesystem of the pool, where it is mounted, and how much is in use.
fn content(built: &Built, inventory: &Inventory) -> String {
    let Built { build, finished, .. } = built;
    if !finished {
        return String::new();
    }
    let device = build.device(&Sysroot::live(), inventory);
    let mounts = device.map(|device| device.mounts(inventory)).unwrap_or_default();
    let paths: Vec<_> = mounts.iter().map(|mount| clean(&mount.path)).collect();
    let mounted = match paths.is_empty() {
        true => ", not mounted".to_owned(),
        false => format!(", mounted on {}", listed(&paths)),
    };
    let used = mounts.first().and_then(|mount| mount.space);
    let used =
        used.map(|space| format!(", {} of {} in use", decimal_bytes(space.used), decimal_bytes(space.size)));
    let (filesystem, label) = (build.filesystem.name(), clean(&build.label));
    format!("Lost is {filesystem} '{label}'{mounted}{}\n", used.unwrap_or_default())
}
