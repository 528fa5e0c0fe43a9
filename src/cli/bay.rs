//! `drivebench bay`: names of ports, kept in the configuration.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, anyhow};

use super::{
    args::{Bay, BayAction},
    output::Output,
};
use crate::{
    findings::Column,
    inventory::{Bays, Inventory},
    record::{AtomicFile, PRIVATE, home, make_dir, open_regular},
    sysroot::Sysroot,
};

/// The maximum size of the list of names, bytes.
const LONGEST: u64 = 1 << 20;

pub(super) fn bay(args: &Bay, output: &Output) -> anyhow::Result<ExitCode> {
    let path = path().context("bay names can't be stored: neither XDG_CONFIG_HOME nor HOME is set")?;
    let mut bays = load(&path)?;
    let done = match args.action.as_ref().unwrap_or(&BayAction::List) {
        BayAction::List => return list(&bays, output),
        BayAction::Name { bay, name } => {
            let full = bays.name(&Inventory::read(&Sysroot::live()), bay, name)?;
            format!("Bay {full} is named {name}.")
        }
        BayAction::Forget { name } => format!("Bay {} has no name now.", bays.forget(name)?),
    };
    save(&path, &bays)?;
    output.note(&done);
    Ok(ExitCode::SUCCESS)
}

/// The inventory of this machine with its bay names. If the names can't be read, they are left out.
pub(super) fn here(output: &Output) -> Inventory {
    let mut inventory = Inventory::read(&Sysroot::live());
    match path().map(|path| load(&path)) {
        Some(Ok(bays)) => inventory.name_bays(&bays),
        Some(Err(e)) => output.note(&format!("Bay names are not shown: {e:#}")),
        None => {}
    }
    inventory
}

fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = set("XDG_CONFIG_HOME").or_else(|| home().map(|home| home.join(".config")))?;
    Some(config.join("drivebench/bays.toml"))
}

fn load(path: &Path) -> anyhow::Result<Bays> {
    let mut text = String::new();
    let read = match open_regular(path).and_then(|file| file.take(LONGEST).read_to_string(&mut text)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Bays::default()),
        read => read.map(|_| text).map_err(anyhow::Error::from),
    };
    let bays = read.and_then(|text| toml::from_str(&text).map_err(|e| anyhow!("{}", e.message())));
    bays.map_err(|e| anyhow!("{} can't be read: {e}", path.display()))
}

/// Writes atomically: after a power cut the file holds the old names or the new ones.
fn save(path: &Path, bays: &Bays) -> anyhow::Result<()> {
    let text = toml::to_string(bays)?;
    let write = || {
        // Users keep their configuration elsewhere behind links; root follows none.
        let linked = (!rustix::process::geteuid().is_root()).then(|| path.canonicalize().ok()).flatten();
        let path = linked.as_deref().unwrap_or(path);
        path.parent().map_or(Ok(()), make_dir)?;
        AtomicFile::write(path, PRIVATE, text.as_bytes())
    };
    write().map_err(|e| anyhow!("{} can't be written: {e}", path.display()))
}

fn list(bays: &Bays, output: &Output) -> anyhow::Result<ExitCode> {
    let rows: Vec<_> = bays.bays.iter().map(|(bay, name)| vec![name.clone(), bay.clone()]).collect();
    if rows.is_empty() {
        output.note("No bays are named. Name one with `drivebench bay name 1.3 top-left`.");
    } else {
        output.table(Column::all([("name", false), ("bay", false)]), rows)?;
    }
    Ok(ExitCode::SUCCESS)
}
