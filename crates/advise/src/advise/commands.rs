//! Commands that answer an open question, with targets of this machine and without the program's name.

use crate::{
    inventory::{BlockStack, Drive, Inventory, Layer, Mount},
    units::shell_word,
};

/// Of the writable filesystems on such block devices the one with most room, by its mount point.
fn writable<'a>(inventory: &'a Inventory, fits: impl Fn(&BlockStack<'a>) -> bool) -> Option<&'a str> {
    let is_on = |mount: &&'a Mount| {
        let stack = inventory.stack_of(inventory.blocks_of(mount));
        let is_plain = !mount.read_only() && mount.path.starts_with('/');
        is_plain && !stack.layers.iter().any(|layer| layer.is_loop()) && fits(&stack)
    };
    let firmware = |mount: &Mount| mount.path.starts_with("/boot");
    let room = |mount: &Mount| mount.space.map_or(0, |space| space.free);
    // Of several mounts of one filesystem the first is the usual one.
    let best = inventory.mounts.iter().filter(is_on).rev();
    let best = best.max_by_key(|mount| (!firmware(mount), mount.root == "/", room(mount)));
    best.filter(|mount| !firmware(mount)).map(|mount| mount.path.as_str())
}

/// The directory in which a drive can be measured with writing.
pub(super) fn directory<'a>(inventory: &'a Inventory, drive: &Drive) -> Option<&'a str> {
    writable(inventory, |stack| stack.drives.len() == 1 && stack.drives[0].name == drive.name)
}

/// The command that measures a pool, where a filesystem on it can be written.
pub(super) fn on_pool(inventory: &Inventory, layer: &Layer) -> Option<String> {
    line("baseline", &[], &[writable(inventory, |stack| stack.layers.contains(&layer))?])
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
