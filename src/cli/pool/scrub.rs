//! `drivebench pool scrub`: compares the copies or the parity of a pool.

use std::{path::Path, process::ExitCode};

use super::{
    bay, open,
    status::{idle, progress},
};
use crate::{
    cli::{errors::Usage, output::Output},
    run::{self, Commands},
    sysroot::Sysroot,
    tools::System,
    units::size,
};

pub(super) fn scrub(name: &str, store: &Path, output: &Output) -> anyhow::Result<ExitCode> {
    let (mut log, built) = open(store, name)?;
    let layout = built.build.layout;
    if !layout.is_redundant() {
        return Err(Usage(format!("{name} is {layout}: it has no copies and no parity to compare")).into());
    }
    let inventory = bay::here(output);
    let before = built.build.health(&Sysroot::live(), &inventory);
    idle(name, &before).map_err(Usage)?;
    if before.missing > 0 {
        return Err(Usage(format!(
            "{name} lacks members, so there is nothing to compare: drivebench pool status {name}"
        ))
        .into());
    }
    let says = &mut |command: &str| output.marked("  ", command);
    let mut commands = Commands { runner: &System::default(), says, exists: &run::exists };
    match run::scrub(&built, &inventory, &mut log, &mut commands, &mut progress(output))? {
        0 => {
            output.result(&format!("{name}: all copies and parity agree.\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        sectors => {
            // md counts pieces of up to 64 KiB.
            let differ = size(sectors * 512);
            output.result(&format!("{name}: at most {differ} differ between its drives. Which is right is not known: compare with a backup.\n"))?;
            Ok(ExitCode::FAILURE)
        }
    }
}
