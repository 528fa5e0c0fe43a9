//! Pools that lack drives, or can't be used.

use super::{Code, Finding};
use crate::{
    inventory::{Block, Inventory, Layer},
    units::{Action, Pool, PoolState, capital, count, listed, shell_word},
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
    let is_frozen = is_md(pool) && pool.action == Some(Action::Frozen);
    let (code, says, advice) = match pool.state {
        PoolState::Broken if pool.missing > 0 => (
            Code::Broken,
            format!("{what} is broken: it lacks {missing}, and its data can't be read."),
            back(inventory, layer, pool),
        ),
        PoolState::Broken => {
            (Code::Broken, format!("{what} is broken: its data can't be read."), back(inventory, layer, pool))
        }
        PoolState::Inactive => {
            let says = format!("{what} is inactive: it is assembled in part, and its data can't be read.");
            // The kernel does not say how many it lacks.
            let run = format!("To start it as it is: sudo mdadm --run /dev/{}.", layer.name);
            (Code::Inactive, says, format!("Connect its other drives, if it lacks any. {run}"))
        }
        PoolState::Stopped => {
            let status = status(pool);
            let says = format!("{what} is not active, and its data can't be read.");
            (Code::Inactive, says, format!("For the command that starts it: {status}."))
        }
        _ if pool.missing > 0 || is_frozen && pool.degraded > 0 => {
            let lacks = match pool.missing {
                0 => "a drive is not filled".to_owned(),
                _ => format!("it lacks {missing}"),
            };
            let says = format!("{what} is degraded: {lacks}. {}", survives(pool));
            let node = &layer.name;
            let frozen = is_frozen.then(|| {
                format!("Nothing is filled while it is frozen. If no other mdadm than a monitor runs: sudo mdadm --action=idle /dev/{node}.")
            });
            let back = take_back(layer, pool, &former(inventory, layer));
            let killed = (is_md(pool) && back.is_none() && !is_frozen).then(|| {
                "If a run of drivebench that took a drive away was killed: sudo drivebench cleanup."
                    .to_owned()
            });
            let other = (!is_frozen).then(|| replace(layer, pool));
            let advice = frozen.into_iter().chain(back).chain(killed).chain(other);
            (Code::Degraded, says, advice.collect::<Vec<_>>().join(" "))
        }
        _ => return None,
    };
    Some(Finding::of(code, drives, says, advice))
}

fn is_md(pool: &Pool) -> bool {
    !pool.ours && pool.kind.starts_with("raid")
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

fn back(inventory: &Inventory, layer: &Layer, pool: &Pool) -> String {
    let which = if pool.ours { format!(" Which these are: {}.", status(pool)) } else { String::new() };
    let again = were_part(&former(inventory, layer)).map_or_else(String::new, |were| {
        let name = &layer.name;
        format!(
            " {were}, and may be old. `sudo mdadm --examine DRIVE` shows each drive's Events. Take as many as the array needs, those \
             with the most Events first, and none that is a spare or has a Recovery Offset. Unmount the array's filesystem, then: sudo mdadm --stop \
             /dev/{name}; sudo mdadm --assemble --force --run /dev/{name} DRIVES. Erase none, and add none as a new one."
        )
    });
    format!("Connect the missing drives again; without them its data is lost.{which}{again}")
}

/// What has the array's superblock and is plugged in, but not used by it.
fn former<'i>(inventory: &'i Inventory, layer: &Layer) -> Vec<Block<'i>> {
    if layer.pool.as_ref().is_none_or(|pool| pool.ours) {
        return Vec::new();
    }
    let is_of_array = |block: &Block<'_>| block.content().filesystem.as_deref() == Some("linux_raid_member");
    let member = |name: &String| inventory.blocks().find(|block| block.name() == name).filter(is_of_array);
    let Some(uuid) = layer.members.iter().find_map(member).and_then(|block| block.content().uuid.clone())
    else {
        return Vec::new();
    };
    let is_former = |block: &Block<'_>| {
        is_of_array(block)
            && block.content().uuid.as_ref() == Some(&uuid)
            && !layer.members.iter().any(|member| member == block.name())
    };
    inventory.blocks().filter(is_former).collect()
}

/// `/dev/sdb1 and /dev/sdc1 were part of it`.
fn were_part(former: &[Block<'_>]) -> Option<String> {
    let nodes: Vec<String> = former.iter().map(Block::path).collect();
    let were = if nodes.len() == 1 { "was" } else { "were" };
    (!nodes.is_empty()).then(|| format!("{} {were} part of it", listed(&nodes)))
}

/// The commands that take drives back, one after the other: mdadm ends with the first that it refuses.
fn take_back(layer: &Layer, pool: &Pool, former: &[Block<'_>]) -> Option<String> {
    let were = were_part(former)?;
    let re_add = |node: String| format!("sudo mdadm /dev/{} --re-add {node}", layer.name);
    if former.len() as u64 > pool.missing {
        let which = count(pool.missing, "drive");
        let command = re_add("DRIVE".to_owned());
        return Some(format!(
            "{were}, and it lacks {which}: take what has the most Events, as `sudo mdadm --examine DRIVE` shows them, unless it was used elsewhere: \
             {command}."
        ));
    }
    let (that, used) = if former.len() == 1 { ("that", "it was") } else { ("them", "they were") };
    let commands: Vec<String> = former.iter().map(|block| re_add(block.path())).collect();
    Some(format!("{were}. To take {that} back, unless {used} used elsewhere: {}.", commands.join("; ")))
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
        _ if is_md(pool) => format!("sudo mdadm {node} --add /dev/NEW"),
        _ => return "Replace the missing drive with the program that built it.".to_owned(),
    };
    format!("Fill another drive: {command}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{Drive, Partition, Signature};

    #[test]
    fn a_drive_that_left_its_array_is_named_with_the_command_that_takes_it_back() {
        let drive = |name: &str, uuid: &str| {
            let (filesystem, uuid) = (Some("linux_raid_member".to_owned()), Some(uuid.to_owned()));
            let content = Signature { filesystem, uuid, ..Signature::default() };
            let part = Partition { name: format!("{name}1"), content, ..Partition::default() };
            Drive { name: name.to_owned(), partitions: vec![part], ..Drive::default() }
        };
        let kind = "raid1".to_owned();
        let pool = Pool {
            kind: kind.clone(),
            layout: Some(kind),
            members: 2,
            missing: 1,
            degraded: 1,
            ..Pool::default()
        };
        let layer = Layer {
            name: "md0".to_owned(),
            members: vec!["sda1".to_owned()],
            pool: Some(pool.clone()),
            ..Layer::default()
        };
        let said = |other: &str| {
            let drives = vec![drive("sda", "a"), drive("sdb", other)];
            let inventory = Inventory { drives, layers: vec![layer.clone()], ..Inventory::default() };
            let layer = &inventory.layers[0];
            take_back(layer, &pool, &former(&inventory, layer))
        };
        let back = "/dev/sdb1 was part of it. To take that back, unless it was used elsewhere: sudo mdadm /dev/md0 --re-add /dev/sdb1.";
        assert_eq!(said("a").as_deref(), Some(back));
        assert_eq!(said("b"), None, "another array's");
        let three = Inventory {
            drives: ["sda", "sdb", "sdc"].map(|name| drive(name, "a")).to_vec(),
            ..Inventory::default()
        };
        let back = |missing| take_back(&layer, &Pool { missing, ..pool.clone() }, &former(&three, &layer));
        let one = back(1).expect("both were part of it");
        assert!(
            one.starts_with(
                "/dev/sdb1 and /dev/sdc1 were part of it, and it lacks 1 drive: take what has the most Events"
            ),
            "{one}"
        );
        assert!(one.ends_with("--re-add DRIVE."), "{one}");
        let two = back(2).expect("both were part of it");
        assert!(
            two.ends_with("sudo mdadm /dev/md0 --re-add /dev/sdb1; sudo mdadm /dev/md0 --re-add /dev/sdc1."),
            "{two}"
        );
        let mut broken = layer.clone();
        broken.pool.as_mut().expect("a pool").state = PoolState::Broken;
        let drives = vec![drive("sda", "a"), drive("sdb", "a")];
        let inventory = Inventory { drives, layers: vec![broken], ..Inventory::default() };
        let advice = states(&inventory)[0].advice.clone();
        assert!(
            advice.contains("sudo mdadm --assemble --force --run /dev/md0 DRIVES. Erase none"),
            "{advice}"
        );
        assert!(!advice.contains("--re-add"), "{advice}");
    }
}
