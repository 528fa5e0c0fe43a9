//! Pools that lack drives, or can't be used.

use super::{Code, Finding};
use crate::{
    inventory::{Block, Inventory, Layer},
    units::{Pool, PoolState, capital, count, shell_word},
};

/// Each pool that is not whole, the broken ones first.
pub(super) fn states(inventory: &Inventory) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        inventory.pools().filter_map(|(layer, pool)| state(inventory, layer, pool)).collect();
    found.sort_by_key(|finding| finding.code == Code::Degraded);
    found
}

fn state(inventory: &Inventory, layer: &Layer, pool: &Pool) -> Option<Finding> {
    let name = layer.shown();
    let drives = inventory.stack_of([Block::Layer(layer)]).drives;
    let what = format!("The {} {name}", pool.layout_in_words());
    let missing = format!("{} of {}", pool.missing, count(pool.members, "drive"));
    let (code, says, advice) = match pool.state {
        PoolState::Broken if pool.missing > 0 => (
            Code::Broken,
            format!("{what} is broken: it lacks {missing}, and its data can't be read."),
            back(pool),
        ),
        PoolState::Broken => (Code::Broken, format!("{what} is broken: its data can't be read."), back(pool)),
        PoolState::Inactive => {
            let says = format!("{what} is inactive: it is assembled in part, and its data can't be read.");
            let run =
                format!("To start it without the missing drives: sudo mdadm --run /dev/{}.", layer.name);
            (Code::Inactive, says, format!("Connect its other drives. {run}"))
        }
        PoolState::Stopped => {
            let status = status(pool);
            let says = format!("{what} is not active, and its data can't be read.");
            (Code::Inactive, says, format!("For the command that starts it: {status}."))
        }
        _ if pool.missing > 0 => {
            let says = format!("{what} is degraded: it lacks {missing}. {}", survives(pool));
            (Code::Degraded, says, replace(layer, pool))
        }
        _ => return None,
    };
    Some(Finding::of(code, drives, says, advice))
}

/// What it survives now.
fn survives(pool: &Pool) -> String {
    match pool.survives() {
        Some(0) => "It survives no further failure.".to_owned(),
        Some(n) => format!("It survives the failure of {} more.", count(n, "drive")),
        None => "How many more may fail is not known.".to_owned(),
    }
}

fn status(pool: &Pool) -> String {
    let name = pool.name.as_deref().map(|name| format!(" {}", shell_word(name))).unwrap_or_default();
    format!("drivebench pool status{name}")
}

fn back(pool: &Pool) -> String {
    let which = if pool.ours { format!(" Which these are: {}.", status(pool)) } else { String::new() };
    format!("Connect the missing drives again; without them its data is lost.{which}")
}

/// The command that fills another drive.
fn replace(layer: &Layer, pool: &Pool) -> String {
    let node = format!("/dev/{}", layer.name);
    let command = match (pool.ours, &pool.absent[..], pool.kind.as_str()) {
        (true, [old, ..], _) => format!("drivebench pool replace {} NEW", shell_word(old)),
        (true, [], _) => {
            return capital(&format!("for the command that fills another drive: {}.", status(pool)));
        }
        (false, _, "btrfs") => "sudo btrfs replace start DEVID /dev/NEW MOUNTPOINT".to_owned(),
        (false, _, kind) if kind.starts_with("raid") => format!("sudo mdadm {node} --add /dev/NEW"),
        _ => return "Replace the missing drive with the program that built it.".to_owned(),
    };
    format!("Fill another drive: {command}.")
}
