//! `drivebench pool destroy`: unmounts, stops, and removes what building left on the drives.

use std::{path::Path, process::ExitCode};

use anyhow::anyhow;

use super::{bay, describe, open, removal, say};
use crate::{
    cli::{errors::Usage, output::Output},
    danger::{Claims, consent, holds},
    inventory::Drive,
    run::{self, Commands},
    tools::System,
    units::{count, listed, shell_word},
};

pub(super) fn destroy(
    name: &str,
    erase: &[String],
    missing: bool,
    store: &Path,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let (mut log, built) = open(store, name)?;
    let inventory = bay::here(output);
    let (mut drives, mut absent): (Vec<(usize, &Drive)>, Vec<String>) = (Vec::new(), Vec::new());
    let touched = built.touched();
    for ((at, member), drive) in touched.iter().zip(built.find(&touched, &inventory)) {
        match (drive, inventory.drives.iter().find(|drive| member.resembles(drive))) {
            (Some(drive), _) => drives.push((*at, drive)),
            (None, None) => absent.push(member.label.clone()),
            (None, Some(other)) => {
                let holds = holds(other).join(", ");
                absent.push(format!("{} ({} holds something else: {holds})", member.label, other.node()));
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
    if !all.is_empty() {
        say(output, &format!("This erases:\n{}", describe(&all)));
    }
    let unnamed = all.iter().map(|drive| consent(drive)).filter(|serial| !erase.contains(serial));
    let unnamed: Vec<String> = unnamed.map(|serial| format!("--erase {}", shell_word(&serial))).collect();
    if !unnamed.is_empty() {
        return Err(Usage(format!("nothing was changed: add {}", unnamed.join(" "))).into());
    }
    let says = &mut |command: &str| output.marked("  ", command);
    let mut commands = Commands { runner: &System::default(), says, exists: &run::exists };
    run::ready(&built.build, None, &System::default())?;
    // Before the array stops: udev would assemble it again.
    let locked = Claims::lock(&all)?;
    let names: Vec<&str> = all.iter().map(|drive| drive.name.as_str()).collect();
    run::stop(&built, &names, &inventory, &mut log, &mut commands)
        .map_err(|e| anyhow!("{e}. {name} could not be stopped; its drives were not changed"))?;
    let claims = Claims::take(locked, erase)
        .map_err(|e| anyhow!("{e}. {name} is stopped; its drives were not changed"))?;
    let paths: Vec<(usize, String)> = drives.iter().map(|(at, drive)| (*at, drive.node())).collect();
    run::remove(&built, &paths, &claims, log, &mut commands)
        .map_err(|e| anyhow!("{e}. {name} is removed in part; to go on: {}", removal(name, &all)))?;
    let keep = match absent.is_empty() {
        true => String::new(),
        false => format!(" Not plugged in, so not erased: {}.", listed(&absent)),
    };
    output.result(&format!("{name} is removed; {} erased.{keep}\n", count(all.len() as u64, "drive")))?;
    Ok(ExitCode::SUCCESS)
}
