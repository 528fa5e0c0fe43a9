//! `drivebench pool`: builds, shows, repairs and removes layouts of drives.

pub(super) mod args;
mod change;
mod consent;
mod create;
mod status;

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;

use args::{Pool, PoolAction};
pub(super) use consent::consent_to;

use super::{bay, errors::Usage, output::Output, stored};
use crate::{
    danger::erase_option,
    inventory::{Drive, Inventory},
    record::Store,
    run::{Built, PoolLog, pools},
    sysroot::Sysroot,
    target::{Kind, Target},
    tools::{Runner, System, udevadm},
    units::{clean, shell_word},
};

pub(super) fn pool(args: &Pool, store: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let store = stored::store(store)?;
    match &args.action {
        PoolAction::Create(create) => create::create(create, &store, output),
        PoolAction::Status { name } => status::status(name.as_deref(), store.dir(), output),
        PoolAction::Destroy { name, erase, missing } => {
            change::destroy(name, erase, *missing, &store, output)
        }
        PoolAction::Replace(replace) => change::replace(replace, &store, output),
        PoolAction::Scrub { name } => change::scrub(name, &store, output),
    }
}

/// The inventory of this machine, with the names of bays, and pools that drivebench built marked as such.
pub(super) fn here(store: Option<&Path>, output: &Output) -> Inventory {
    let mut inventory = bay::here(output);
    let pools = store.map(|dir| pools(dir).0).unwrap_or_default();
    for pool in pools.iter().filter(|pool| pool.finished && !pool.removing) {
        pool.build.mark(&Sysroot::live(), &mut inventory);
    }
    inventory
}

/// The inventory for a command that erases, once udev knows what is on drives that were just plugged in.
fn settled(output: &Output) -> Inventory {
    // Without udev, nothing has to be waited for.
    let _ = System::default().ask(&udevadm::settle());
    bay::here(output)
}

/// A pool of the store that no process changes now.
fn find(store: &Store, name: &str) -> anyhow::Result<Built> {
    let opened = PoolLog::open(store.dir(), name);
    match opened.as_ref().err().map(io::Error::kind) {
        Some(io::ErrorKind::NotFound) => {
            Err(Usage(format!("there is no pool {name}: drivebench pool status")).into())
        }
        Some(io::ErrorKind::WouldBlock) => {
            Err(Usage(format!("another drivebench changes {name}: wait until it has ended")).into())
        }
        _ => Ok(opened.with_context(|| format!("the log of {name} can't be read"))?.1),
    }
}

/// The whole drive that was named.
fn drive<'a>(given: &str, inventory: &'a Inventory) -> anyhow::Result<&'a Drive> {
    let target = Target::resolve(inventory, given)?;
    let [named] = &target.drives[..] else {
        return Err(Usage(format!("{given} is not one drive: name drives by bay, serial or path")).into());
    };
    let find = |drive: &&Drive| drive.name == named.name;
    let drive = inventory.drives.iter().find(find).ok_or_else(|| Usage(format!("{given} is not here")))?;
    // A bay or serial leads to where the drive is mounted; that is refused with what to do.
    if Path::new(given).is_dir() {
        return Err(Usage(format!("{given} is a directory on {}: name the drive", drive.label())).into());
    }
    if target.kind == Kind::BlockDevice && target.path.to_string_lossy() != drive.node() {
        let (part, whole) = (target.path.display(), drive.node());
        return Err(Usage(format!("{part} is a part of {whole}: a pool takes whole drives")).into());
    }
    Ok(drive)
}

/// The command that replaces a drive of a pool by another one, which is erased if `erase` is given.
fn replacement(old: &str, new: &str, erase: Option<&str>) -> String {
    let erase = erase.map(|consent| format!(" {}", erase_option(consent))).unwrap_or_default();
    format!("drivebench pool replace {} {}{erase}", shell_word(old), shell_word(new))
}

/// A line for each drive: bay, model, serial, size, and what is on it.
fn describe(drives: &[&Drive]) -> String {
    let line = |drive: &&Drive| {
        let holds = crate::danger::holds(drive);
        let holds = if holds.is_empty() { "no known content".to_owned() } else { holds.join(", ") };
        let size = crate::units::decimal_bytes(drive.bytes());
        format!("  {}, {}, {size}: {holds}\n", drive.label(), clean(&drive.node()))
    };
    drives.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_replacement_can_be_typed() {
        let command = |old, new| replacement(old, new, Some(new));
        assert_eq!(command("A", "B"), "drivebench pool replace A B --erase B");
        assert_eq!(command("A", "b c"), "drivebench pool replace A 'b c' --erase 'b c'");
        assert_eq!(replacement("A", "NEW", None), "drivebench pool replace A NEW");
    }

    #[test]
    fn the_label_of_a_filesystem_is_on_the_line_of_its_drive() {
        let mut drive = Drive { name: "sda".to_owned(), ..Drive::default() };
        drive.content.filesystem = Some("vfat".to_owned());
        drive.content.label = Some("A\n  Cruzer Blade 4C53, /dev/sdb, 1 GB: no known content".to_owned());
        drive.model = Some("B\nC".to_owned());
        let shown = describe(&[&drive, &drive]);
        assert_eq!(shown.lines().count(), 2, "{shown}");
    }
}
