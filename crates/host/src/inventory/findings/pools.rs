//! Pools that lack drives, or can't be used.

use super::{Code, Finding};
use crate::{
    inventory::{Block, Inventory, Layer},
    tools::mdadm_advice::{re_add, reassemble, restart},
    units::{Action, Layout, MemberState, Pool, PoolState, capital, count, listed, shell_word},
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
    let members_in = |state: MemberState| -> Vec<String> {
        let members = layer.members.iter().zip(&layer.states);
        members.filter(|(_, actual)| **actual == state).map(|(member, _)| format!("/dev/{member}")).collect()
    };
    let (spares, failed) = (members_in(MemberState::Spare), members_in(MemberState::Failed));
    let journal = members_in(MemberState::FailedJournal);
    let complete = pool.members.saturating_sub(pool.degraded);
    let (code, says, advice) = match pool.state {
        _ if pool.kind == "zfs" => {
            let (code, condition) = match pool.state {
                PoolState::Active if pool.degraded == 0 => return None,
                PoolState::Active => (Code::Degraded, "degraded"),
                _ => (Code::Broken, "faulted or suspended: its data can't be used"),
            };
            let status = format!("What is wrong, and what to do: sudo zpool status {}.", shell_word(&name));
            (code, format!("{what} is {condition}."), status)
        }
        PoolState::Broken => {
            let lacks = match pool.missing {
                0 => String::new(),
                _ => format!(" it lacks {missing}, and"),
            };
            // The drives of a linear pool follow each other, so files on the other drives can be read.
            let lost = match pool.layout.as_deref() {
                Some("linear") if pool.missing > 0 => "what is on them",
                _ => "its data",
            };
            let says = format!("{what} is broken:{lacks} {lost} can't be read.");
            (Code::Broken, says, reconnect(inventory, layer, pool))
        }
        PoolState::TakesNoWrites if !journal.is_empty() => {
            let (array, journal) = (format!("/dev/{}", layer.name), listed(&journal));
            let says = format!("{what} takes no writes: its journal {journal} has failed.");
            let advice = format!(
                "Unmount it and give it another: sudo mdadm --readonly {array}; sudo mdadm {array} --remove {journal}; \
                 sudo mdadm {array} --add-journal /dev/NEW; sudo mdadm --readwrite {array}."
            );
            (Code::Broken, says, advice)
        }
        PoolState::TakesNoWrites => {
            let says = format!("{what} takes no writes: the last copy of something could not be written.");
            let uuid = uuid(inventory, layer).unwrap_or("UUID");
            let start = restart(&format!("/dev/{}", layer.name), uuid, "sudo ");
            (Code::Broken, says, capital(&start) + ".")
        }
        PoolState::Inactive => {
            let says = format!("{what} is inactive: it is assembled in part, and its data can't be read.");
            (Code::Inactive, says, start(inventory, layer))
        }
        PoolState::Stopped => (
            Code::Inactive,
            format!("{what} is not active, and its data can't be read."),
            format!("For the command that starts it: {}.", status(pool)),
        ),
        PoolState::ReadOnly if pool.missing > 0 && is_md(pool) => {
            let says = format!("{what} was started read-only, and lacks {missing}. {}", survives(pool));
            let advice = "Look at its files before you add a drive. A missing drive is newer if it has more Events (sudo mdadm --examine DRIVE), or had \
                          more before --force was used: then stop this array, and assemble it with that drive."
                .to_owned();
            (Code::Degraded, says, advice)
        }
        PoolState::Active if pool.kind == "raid1" && complete > 1 && pool.missing > complete => {
            let says = format!("{what} has {complete} of {} copies. {}", pool.members, survives(pool));
            let advice =
                "Nothing is wrong if it was made so, such as for the system of a NAS over all of its bays.";
            (Code::Degraded, says, advice.to_owned())
        }
        _ if pool.missing > 0 || is_frozen && pool.degraded > 0 => {
            let lacks = match pool.missing {
                0 => "a drive is not filled".to_owned(),
                _ => format!("it lacks {missing}"),
            };
            let says = format!("{what} is degraded: {lacks}. {}", survives(pool));
            let node = &layer.name;
            let frozen = is_frozen.then(|| {
                format!("Nothing is filled while it is frozen. If no mdadm but a monitor runs: sudo mdadm --action=idle /dev/{node}.")
            });
            let re_add = take_back(inventory, layer, pool, &former(inventory, layer));
            let n = spares.len() as u64;
            let filled = (n >= pool.missing && !is_frozen).then(|| match pool.action {
                Some(_) => format!("The kernel rebuilds onto its {}.", count(n, "spare")),
                None => {
                    format!("Nothing is filled, though {} waits as a spare: dmesg says why.", listed(&spares))
                }
            });
            let other = (filled.is_none() && !is_frozen).then(|| replace(layer, pool));
            let killed = (is_md(pool) && re_add.is_none() && other.is_some()).then(|| {
                "If a drivebench run that took a drive away was killed: sudo drivebench cleanup.".to_owned()
            });
            let advice = frozen.into_iter().chain(re_add).chain(filled).chain(killed).chain(other);
            (Code::Degraded, says, advice.collect::<Vec<_>>().join(" "))
        }
        _ if !failed.is_empty() && pool.degraded == 0 => {
            let says =
                format!("{what} has all its drives, but still lists failed ones: {}.", listed(&failed));
            let array = format!("/dev/{}", layer.name);
            let advice = format!("To remove them: sudo mdadm {array} --remove {}.", failed.join(" "));
            (Code::FailedMember, says, advice)
        }
        _ => return None,
    };
    Some(Finding::of(code, drives, says, advice))
}

fn is_md(pool: &Pool) -> bool {
    !pool.ours && pool.kind.starts_with("raid")
}

/// A sentence with the number of drives that may still fail.
fn survives(pool: &Pool) -> String {
    match pool.survives() {
        Some(0) => "It survives no further failure.".to_owned(),
        Some(n) => format!("It survives the failure of {}.", count(n, "more drive")),
        None => "How many more may fail is not known.".to_owned(),
    }
}

fn status(pool: &Pool) -> String {
    let name = pool.name.as_deref().map(|name| format!(" {}", shell_word(name))).unwrap_or_default();
    format!("drivebench pool status{name}")
}

/// How an array that is assembled in part is started.
fn start(inventory: &Inventory, layer: &Layer) -> String {
    let name = &layer.name;
    if let Some(other) = working_array(inventory, layer) {
        return format!(
            "Don't start it: /dev/{other} works without these drives, whose data is older. Follow the advice for /dev/{other}."
        );
    }
    // The kernel does not say how many it lacks.
    format!(
        "Connect its other drives, if it lacks any. To start it as it is: sudo mdadm --run /dev/{name}. If that fails, as after a crash without \
         one of the drives: sudo mdadm --stop /dev/{name}; sudo mdadm --assemble --force --run --readonly /dev/{name} DRIVES, with those that \
         have the most Events (sudo mdadm --examine DRIVE), none that is a spare or has a Recovery Offset; look at its files, then sudo mdadm \
         --readwrite /dev/{name}."
    )
}

/// The working array with the same UUID as this inactive one, by its kernel name.
fn working_array<'i>(inventory: &'i Inventory, layer: &Layer) -> Option<&'i str> {
    let own = uuid(inventory, layer)?;
    let works = |pool: &Pool| is_md(pool) && pool.is_usable();
    let mut others = inventory.pools().filter(|(other, pool)| works(pool) && other.name != layer.name);
    others.find(|(other, _)| uuid(inventory, other) == Some(own)).map(|(other, _)| other.name.as_str())
}

/// The UUID of an array, which is in the superblock of each member.
fn uuid<'i>(inventory: &'i Inventory, layer: &Layer) -> Option<&'i str> {
    let member = |name: &String| inventory.blocks().find(|block| block.name() == name).filter(is_of_array);
    layer.members.iter().find_map(member)?.content().uuid.as_deref()
}

fn is_of_array(block: &Block<'_>) -> bool {
    block.content().filesystem.as_deref() == Some("linux_raid_member")
}

/// The number of members that hold all data; `None` if it depends on which they are.
fn needed(pool: &Pool) -> Option<usize> {
    let layout = Layout::of_name(&pool.kind).filter(|layout| *layout != Layout::Raid10)?;
    let members = usize::try_from(pool.members).ok()?;
    Some(members.saturating_sub(layout.survives(members))).filter(|needed| *needed > 0)
}

/// What to do about a pool that lacks more drives than it survives.
fn reconnect(inventory: &Inventory, layer: &Layer, pool: &Pool) -> String {
    if pool.ours {
        return format!("Connect the missing drives. What to do once all are: {}.", status(pool));
    }
    let connect = "Connect the missing drives again; without them its data can't be read.".to_owned();
    let is_redundant = Layout::of_name(&pool.kind).is_some_and(Layout::is_redundant);
    if !is_md(pool) || !is_redundant || pool.container.is_some() {
        return connect;
    }
    let former = former(inventory, layer);
    let were = were_part(&former).map_or_else(String::new, |were| format!(" {were}, and may be old."));
    let stop: Vec<String> = former.iter().filter_map(|block| stop_own_array(inventory, block)).collect();
    let first = if stop.is_empty() { String::new() } else { format!(" First: {}.", stop.join("; ")) };
    let members = match needed(pool) {
        Some(needed) => format!("the {needed} with the most Events"),
        None => "all but the one with the fewest Events".to_owned(),
    };
    let reassemble = reassemble(
        &format!("/dev/{}", layer.name),
        &format!("{members}, of all that were ever in it"),
        "sudo ",
    );
    format!(
        "{connect}{were} Erase none, and add none as a new one.{first} If it does not work with all of them connected: {reassemble}."
    )
}

/// The command that stops the array of its own that a drive is in, if any.
fn stop_own_array(inventory: &Inventory, block: &Block<'_>) -> Option<String> {
    let holds = |other: &&Layer| other.members.iter().any(|member| member == block.name());
    let other = inventory.pools().map(|(other, _)| other).find(holds)?;
    Some(format!("sudo mdadm --stop /dev/{}", other.name))
}

/// Block devices that have the array's superblock but are not used by the array.
fn former<'i>(inventory: &'i Inventory, layer: &Layer) -> Vec<Block<'i>> {
    if layer.pool.as_ref().is_none_or(|pool| pool.ours) {
        return Vec::new();
    }
    let Some(uuid) = uuid(inventory, layer) else { return Vec::new() };
    let is_former = |block: &Block<'_>| {
        is_of_array(block)
            && block.content().uuid.as_deref() == Some(uuid)
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

/// The commands that take drives back.
fn take_back(inventory: &Inventory, layer: &Layer, pool: &Pool, former: &[Block<'_>]) -> Option<String> {
    let were = were_part(former)?;
    let array = format!("/dev/{}", layer.name);
    // An array of its own holds a drive, so it is stopped first.
    let stop: Vec<String> = former.iter().filter_map(|block| stop_own_array(inventory, block)).collect();
    if former.len() as u64 > pool.missing {
        let missing = count(pool.missing, "drive");
        let re_add = re_add(&array, &["DRIVE".to_owned()], &stop, "sudo ");
        return Some(format!(
            "{were}, and it lacks {missing}: take what has the most Events, as `sudo mdadm --examine DRIVE` shows them, or showed them before --force was used, {re_add}."
        ));
    }
    let pronoun = if former.len() == 1 { "that" } else { "them" };
    let members: Vec<String> = former.iter().map(Block::path).collect();
    Some(format!("{were}. To take {pronoun} back, {}.", re_add(&array, &members, &stop, "sudo ")))
}

/// The command that fills another drive.
fn replace(layer: &Layer, pool: &Pool) -> String {
    let node = format!("/dev/{}", pool.container.as_ref().unwrap_or(&layer.name));
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
    fn a_failed_member_is_named_once_nothing_is_missing() {
        let code = |degraded| {
            let kind = "raid1".to_owned();
            let pool = Pool { kind, members: 2, degraded, ..Pool::default() };
            let layer = Layer {
                name: "md0".to_owned(),
                members: ["sda", "sdb", "sdc"].map(str::to_owned).to_vec(),
                states: vec![MemberState::Failed, MemberState::InSync, MemberState::Filling],
                pool: Some(pool.clone()),
                ..Layer::default()
            };
            state(&Inventory::default(), &layer, &pool).map(|finding| finding.code)
        };
        assert_eq!(
            (code(0), code(1)),
            (Some(Code::FailedMember), None),
            "while it is filled, its progress is shown"
        );
    }

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
            take_back(&inventory, layer, &pool, &former(&inventory, layer))
        };
        let back = "/dev/sdb1 was part of it. To take that back, unless it was used elsewhere, or `mdadm --assemble --force` was used since it left: sudo mdadm \
                    /dev/md0 --re-add /dev/sdb1. If --force was used, and files lack the last writes, or it had more Events before that: stop the array, and assemble \
                    it with what had more. Otherwise, once all that matters is copied, overwrite it as new: sudo mdadm --zero-superblock \
                    /dev/sdb1; sudo mdadm /dev/md0 --add /dev/sdb1.";
        assert_eq!(said("a").as_deref(), Some(back));
        assert_eq!(said("b"), None, "another array's");
        let three = Inventory {
            drives: ["sda", "sdb", "sdc"].map(|name| drive(name, "a")).to_vec(),
            ..Inventory::default()
        };
        let back =
            |missing| take_back(&three, &layer, &Pool { missing, ..pool.clone() }, &former(&three, &layer));
        let one = back(1).expect("both were part of it");
        assert!(
            one.starts_with(
                "/dev/sdb1 and /dev/sdc1 were part of it, and it lacks 1 drive: take what has the most Events"
            ),
            "{one}"
        );
        assert!(one.contains("--re-add DRIVE. If --force was used"), "{one}");
        assert!(
            one.ends_with("sudo mdadm --zero-superblock DRIVE; sudo mdadm /dev/md0 --add DRIVE."),
            "{one}"
        );
        let two = back(2).expect("both were part of it");
        assert!(
            two.contains(
                "sudo mdadm /dev/md0 --re-add /dev/sdb1; sudo mdadm /dev/md0 --re-add /dev/sdc1. If"
            ),
            "{two}"
        );
        assert!(
            two.ends_with("sudo mdadm --zero-superblock /dev/sdc1; sudo mdadm /dev/md0 --add /dev/sdc1."),
            "{two}"
        );
        let mut broken = layer.clone();
        broken.pool.as_mut().expect("a pool").state = PoolState::Broken;
        let drives = vec![drive("sda", "a"), drive("sdb", "a")];
        let inventory = Inventory { drives, layers: vec![broken], ..Inventory::default() };
        let advice = states(&inventory)[0].advice.clone();
        assert!(
            advice.contains("sudo mdadm --assemble --force --run --readonly /dev/md0 DRIVES. `cat /proc/mdstat` has to show"),
            "{advice}"
        );
        assert!(!advice.contains("--re-add"), "{advice}");
        let (before, _) = advice.split_once("once all is copied").expect("a last step");
        assert!(!before.contains("--add "), "{advice}");
        assert!(advice.contains("Take the 1 with the most"), "{advice}");

        // All are there, but a write failed on the last copy.
        let pool = |state, missing| Some(Pool { state, missing, ..pool.clone() });
        let drives = vec![drive("sda", "a"), drive("sdb", "a")];
        let whole = Layer { pool: pool(PoolState::TakesNoWrites, 0), ..layer.clone() };
        let inventory = Inventory { drives: drives.clone(), layers: vec![whole], ..Inventory::default() };
        let found = &states(&inventory)[0];
        assert!(found.what.contains("takes no writes") && found.advice.ends_with("--uuid=a."), "{found:?}");

        // udev has put the drive that was away into an array of its own.
        let apart = Layer {
            name: "md126".to_owned(),
            members: vec!["sdb1".to_owned()],
            pool: pool(PoolState::Inactive, 0),
            ..Layer::default()
        };
        let lacks = Layer { pool: pool(PoolState::Active, 1), ..layer };
        let inventory = Inventory { drives, layers: vec![lacks, apart], ..Inventory::default() };
        let advice: Vec<String> = states(&inventory).into_iter().map(|finding| finding.advice).collect();
        assert!(advice[0].starts_with("Don't start it: /dev/md0 works"), "{advice:#?}");
        assert!(
            advice[1].contains(": sudo mdadm --stop /dev/md126; sudo mdadm /dev/md0 --re-add /dev/sdb1."),
            "{advice:#?}"
        );
    }
}
