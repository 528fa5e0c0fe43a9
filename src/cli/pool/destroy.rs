//! `drivebench pool destroy`: unmounts, stops, and removes what building left on the drives.

use std::{path::Path, process::ExitCode};

use anyhow::anyhow;

use super::{all_named, describe, known, namesake, open, say, settled};
use crate::{
    cli::{errors::Usage, output::Output},
    danger::{Claims, holds},
    inventory::{Drive, Inventory, name_in},
    pool::health::digits,
    run::{self, Built, Commands},
    sysroot::Sysroot,
    tools::System,
    units::{clean, count, decimal_bytes, listed},
};

pub(super) fn destroy(
    name: &str,
    erase: &[String],
    missing: bool,
    store: &Path,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let (mut log, built) = open(store, name)?;
    let inventory = settled(output);
    let (mut drives, mut absent): (Vec<(usize, &Drive)>, Vec<String>) = (Vec::new(), Vec::new());
    let touched = built.touched();
    let found = built.find(&touched, &inventory);
    for ((at, member), drive) in touched.iter().zip(&found) {
        let label = clean(&member.label);
        match (drive, namesake(member, &found, &inventory)) {
            (Some(drive), _) => drives.push((*at, drive)),
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
    let all: Vec<&Drive> = drives.iter().map(|(_, drive)| *drive).collect();
    let replaced = built.replacing.iter().map(|new| &new.member);
    let members = built.build.members.iter().chain(replaced).map(|member| &member.identity);
    // Of drives that are not plugged in, too, or that were not reached.
    let of_pool: Vec<String> =
        members.flat_map(|identity| [identity.clone(), name_in(identity).to_owned()]).collect();
    known(erase, &all, &of_pool)?;
    if !all.is_empty() {
        say(output, &format!("This erases:\n{}{}", describe(&all), content(&built, &inventory)));
    }
    all_named(&all, erase)?;
    let says = &mut |command: &str| output.marked("  ", command);
    let mut commands = Commands { runner: &System::default(), says, exists: &run::exists };
    run::ready_for(&built.build, &[], &System::default())?;
    // Before the array stops: udev would assemble it again.
    let locked = Claims::lock(&all)?;
    let names: Vec<&str> = all.iter().map(|drive| drive.name.as_str()).collect();
    run::stop(&built, &names, &inventory, &mut log, &mut commands)
        .map_err(|e| anyhow!("{e}. {name} could not be stopped; its drives were not changed"))?;
    let claims = Claims::take(locked, erase)
        .map_err(|e| anyhow!("{e}. {name} is stopped; its drives were not changed"))?;
    let paths: Vec<(usize, String)> = drives.iter().map(|(at, drive)| (*at, drive.node())).collect();
    run::remove(&built, &paths, &claims, log, &mut commands)
        .map_err(|e| anyhow!("{e}. {name} is removed in part; to go on: {}", run::removal(name, &all)))?;
    let keep = match absent.is_empty() {
        true => String::new(),
        false => format!(" Not plugged in, so not erased: {}.", listed(&absent)),
    };
    // Drives that were replaced are no members any more, so they were not erased.
    let uuid = digits(&built.build.uuids[0]);
    let inventory = settled(output);
    let left = inventory
        .blocks()
        .filter(|block| block.content().uuid.as_deref().map(digits).as_ref() == Some(&uuid));
    let left: String = left
        .map(|block| {
            format!(
                " {} still has the superblock of a member of {name} on {1}; to remove it: wipefs --all {1}.",
                listed(
                    &inventory.stack_of([block]).drives.iter().map(|drive| drive.label()).collect::<Vec<_>>()
                ),
                block.path()
            )
        })
        .collect();
    output
        .result(&format!("{name} is removed; {} erased.{keep}{left}\n", count(all.len() as u64, "drive")))?;
    Ok(ExitCode::SUCCESS)
}

/// The filesystem of the pool, where it is mounted, and how much is in use.
fn content(built: &Built, inventory: &Inventory) -> String {
    let Built { build, finished, .. } = built;
    if !finished {
        return String::new();
    }
    let root = Sysroot::live();
    let mounts = build.device(&root, inventory).map(|device| device.mounts(inventory)).unwrap_or_default();
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
