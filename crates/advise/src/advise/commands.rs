//! Commands that answer an open question, with targets of this machine and without the program's name.

use crate::{
    inventory::{Drive, Inventory, Layer, Mount},
    units::shell_word,
};

/// The directory in which a drive can be measured with writing: of its writable filesystems the one with most room.
pub(super) fn directory<'a>(inventory: &'a Inventory, drive: &Drive) -> Option<&'a str> {
    let on_it = |mount: &&Mount| {
        let drives = inventory.drives_of(mount);
        !mount.read_only()
            && !inventory.is_in_a_file(mount)
            && drives.len() == 1
            && drives[0].name == drive.name
    };
    let firmware = |mount: &Mount| mount.path.starts_with("/boot");
    let room = |mount: &Mount| mount.space.map_or(0, |space| space.free);
    let best = inventory.mounts.iter().filter(on_it).filter(|mount| mount.path.starts_with('/'));
    // Of several mounts of one filesystem the first is the usual one.
    let best = best.rev().max_by_key(|mount| (!firmware(mount), mount.root == "/", room(mount)));
    best.filter(|mount| !firmware(mount)).map(|mount| mount.path.as_str())
}

/// The command that measures a pool, where a filesystem on it can be written.
pub(super) fn on_pool(inventory: &Inventory, layer: &Layer) -> Option<String> {
    let is_on = |mount: &&Mount| {
        let stack = inventory.stack_of(inventory.blocks_of(mount));
        !mount.read_only() && !stack.layers.iter().any(|l| l.is_loop()) && stack.layers.contains(&layer)
    };
    // Of several mounts of one filesystem the first is the usual one.
    let best = inventory.mounts.iter().filter(is_on).rev().max_by_key(|mount| mount.root == "/")?;
    line("baseline", &[], &[&best.path])
}

fn line<T: AsRef<str>>(experiment: &str, options: &[&str], targets: &[T]) -> Option<String> {
    let targets: Vec<String> = targets.iter().map(|t| shell_word(t.as_ref())).collect();
    let words = [&["run", experiment][..], options].concat().join(" ");
    (!targets.is_empty()).then(|| format!("{words} {}", targets.join(" ")))
}

/// Measures a directory of each drive, or, where one has none, the devices, which are only read.
fn on(experiment: &str, inventory: &Inventory, drives: &[&Drive], options: &[&str]) -> Option<String> {
    let directories: Option<Vec<&str>> = drives.iter().map(|d| directory(inventory, d)).collect();
    match directories {
        Some(paths) => line(experiment, options, &paths),
        None => line(experiment, options, &drives.iter().map(|d| d.node()).collect::<Vec<_>>()),
    }
}

pub(super) fn baseline(inventory: &Inventory, drives: &[&Drive]) -> Option<String> {
    on("baseline", inventory, drives, &[])
}

/// How fast they are at once with large blocks; of one drive, how fast it is.
pub(super) fn together(inventory: &Inventory, drives: &[&Drive]) -> Option<String> {
    if drives.len() < 2 {
        return baseline(inventory, drives);
    }
    on("together", inventory, drives, &["--bs", "1M"])
}

/// How bad the worst write of each is: only where a filesystem can be written.
pub(super) fn writes(inventory: &Inventory, drives: &[&Drive]) -> Option<String> {
    let paths: Vec<&str> = drives.iter().filter_map(|d| directory(inventory, d)).collect();
    line("baseline", &[], &paths)
}
