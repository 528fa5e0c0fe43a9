//! Commands that would settle a question, with targets of this machine.

use crate::{
    inventory::{Drive, Inventory, Mount},
    units::shell_word,
};

/// The directory in which a drive can be measured with writing: of its writable filesystems the one with most room.
pub(super) fn directory<'a>(inventory: &'a Inventory, drive: &Drive) -> Option<&'a str> {
    let on_it = |mount: &&Mount| {
        let drives = inventory.drives_of(mount);
        !mount.read_only() && drives.len() == 1 && drives[0].name == drive.name
    };
    let firmware = |mount: &Mount| mount.path.starts_with("/boot");
    let room = |mount: &Mount| mount.space.map_or(0, |space| space.free);
    let best = inventory.mounts.iter().filter(on_it).filter(|mount| mount.path.starts_with('/'));
    // Of several mounts of one filesystem the first is the usual one.
    let best = best.rev().max_by_key(|mount| (!firmware(mount), mount.root == "/", room(mount)));
    best.filter(|mount| !firmware(mount)).map(|mount| mount.path.as_str())
}

/// Where to measure each of these drives: a directory of each, or, where one has none, the devices, which are only read.
fn targets(inventory: &Inventory, drives: &[&Drive]) -> Vec<String> {
    let directories: Option<Vec<&str>> = drives.iter().map(|d| directory(inventory, d)).collect();
    match directories {
        Some(paths) => paths.into_iter().map(str::to_owned).collect(),
        None => drives.iter().map(|d| d.node()).collect(),
    }
}

fn line(experiment: &str, options: &[&str], targets: &[String]) -> Option<String> {
    let words = options.iter().map(|o| (*o).to_owned()).chain(targets.iter().map(|t| shell_word(t)));
    (!targets.is_empty())
        .then(|| format!("drivebench run {experiment} {}", words.collect::<Vec<_>>().join(" ")))
}

pub(super) fn baseline(inventory: &Inventory, drives: &[&Drive], options: &[&str]) -> Option<String> {
    line("baseline", options, &targets(inventory, drives))
}

/// How fast they are at once; of one drive, how fast it is.
pub(super) fn together(inventory: &Inventory, drives: &[&Drive]) -> Option<String> {
    if drives.len() < 2 {
        return baseline(inventory, drives, &[]);
    }
    line("together", &[], &targets(inventory, drives))
}

/// How bad the worst write of each is: only where a filesystem can be written.
pub(super) fn writes(inventory: &Inventory, drives: &[&Drive], options: &[&str]) -> Option<String> {
    let paths: Vec<String> =
        drives.iter().filter_map(|d| directory(inventory, d)).map(str::to_owned).collect();
    line("baseline", options, &paths)
}
