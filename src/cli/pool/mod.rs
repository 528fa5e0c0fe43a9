//! `drivebench pool`: builds, shows, repairs and removes layouts of drives.

pub(super) mod args;
mod consent;
mod create;
mod destroy;
mod forecast;
mod predictions;
mod replace;
mod scrub;
mod sharing;
mod status;

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;

use args::{Create, Pool, PoolAction, Replace};
use consent::ask;
pub(super) use consent::consent_to;

use super::{bay, errors::Usage, indented, output::Output, stored};
use crate::{
    danger,
    inventory::{Drive, Inventory},
    run::{Built, PoolLog, pools},
    sysroot::Sysroot,
    target::{Kind, Target},
    units::shell_word,
};

pub(super) fn pool(args: &Pool, store: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let store = stored::store(store)?;
    match &args.action {
        PoolAction::Create(create) => create::create(create, &store, output),
        PoolAction::Status { name } => status::status(name.as_deref(), store.dir(), output),
        PoolAction::Destroy { name, erase, missing } => {
            destroy::destroy(name, erase, *missing, store.dir(), output)
        }
        PoolAction::Replace(replace) => replace::replace(replace, store.dir(), output),
        PoolAction::Predictions => predictions::predictions(&store, output),
        PoolAction::Scrub { name } => scrub::scrub(name, store.dir(), output),
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

/// Opens the log of a pool.
fn open(store: &Path, name: &str) -> anyhow::Result<(PoolLog, Built)> {
    match PoolLog::open(store, name) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            Err(Usage(format!("there is no pool {name}: drivebench pool status")).into())
        }
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
            Err(Usage(format!("another drivebench changes {name}: wait until it has ended")).into())
        }
        opened => opened.with_context(|| format!("the log of {name} can't be read")),
    }
}

/// Refuses a drive of another pool: without its table, nothing on the drive shows that it is one.
fn in_no_pool(drives: &[&Drive], inventory: &Inventory, store: &Path) -> Result<(), Usage> {
    let (pools, damaged) = pools(store);
    if let Some((path, why)) = damaged.first() {
        let path = path.display();
        return Err(Usage(format!(
            "{path} can't be read: {why}. So it is not known which drives are of this pool"
        )));
    }
    let of = |drive: &&Drive| {
        let pool = pools.iter().find(|pool| pool.has(drive, inventory))?;
        let (label, name) = (drive.label(), &pool.build.name);
        Some(format!("{label} is a drive of the pool {name}: drivebench pool destroy {name}"))
    };
    drives.iter().find_map(of).map_or(Ok(()), |why| Err(Usage(why)))
}

/// The whole drive that was named.
fn drive<'a>(given: &str, inventory: &'a Inventory) -> anyhow::Result<&'a Drive> {
    let target = Target::resolve(inventory, given)?;
    let [named] = &target.drives[..] else {
        return Err(Usage(format!("{given} is not one drive: name drives by bay, serial or path")).into());
    };
    let find = |drive: &&Drive| drive.name == named.name;
    let drive = inventory.drives.iter().find(find).ok_or_else(|| Usage(format!("{given} is not here")))?;
    // A directory on a drive names the drive; it will be refused as mounted, with what to do.
    if target.kind == Kind::BlockDevice && target.path.to_string_lossy() != drive.node() {
        let (part, whole) = (target.path.display(), drive.node());
        return Err(Usage(format!("{part} is a part of {whole}: a pool takes whole drives")).into());
    }
    Ok(drive)
}

/// The command that removes a pool; the content of these drives is lost.
fn removal(name: &str, drives: &[&Drive]) -> String {
    let erase = drives.iter().map(|drive| format!(" --erase {}", shell_word(&danger::consent(drive))));
    format!("drivebench pool destroy {}{}", shell_word(name), erase.collect::<String>())
}

/// Lines to standard error, each wrapped below its own indentation.
fn say(output: &Output, text: &str) {
    text.lines().map(indented).for_each(|(indent, line)| output.marked(indent, line));
}

/// A line for each drive: bay, model, serial, size, and what is on it.
fn describe(drives: &[&Drive]) -> String {
    let line = |drive: &&Drive| {
        let holds = crate::danger::holds(drive);
        let holds = if holds.is_empty() { "no known content".to_owned() } else { holds.join(", ") };
        let size = crate::units::decimal_bytes(drive.bytes());
        format!("  {}, {}, {size}: {holds}\n", drive.label(), drive.node())
    };
    drives.iter().map(line).collect()
}
