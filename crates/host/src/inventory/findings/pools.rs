//! Pools that lack drives, or can't be used.

use super::{Code, Finding};
use crate::{
    inventory::{Block, Inventory, Layer},
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
    let node = format!("/dev/{}", layer.name);
    let missing = format!("{} of {}", pool.missing, count(pool.members, "drive"));
    let members_in = |state: MemberState| -> Vec<String> {
        let members = layer.members.iter().zip(&layer.states);
        members.filter(|(_, actual)| **actual == state).map(|(member, _)| format!("/dev/{member}")).collect()
    };
    let failed = members_in(MemberState::Failed);
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
            (Code::Broken, says, reconnect(pool, &node))
        }
        PoolState::TakesNoWrites => {
            let says = format!("{what} takes no writes: its journal or the last copy of something failed.");
            let uuid = uuid(inventory, layer).unwrap_or("UUID");
            let advice = format!(
                "Back it up. Then unmount its filesystem; sudo mdadm --stop {node}; sudo mdadm --assemble {node} --uuid={uuid}. \
                 Replace a failed journal first: see --add-journal in mdadm(8)."
            );
            (Code::Broken, says, advice)
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
        _ if pool.missing > 0 || is_frozen(pool) && pool.degraded > 0 => {
            let lacks = match pool.missing {
                0 => "a drive is not filled".to_owned(),
                _ => format!("it lacks {missing}"),
            };
            let says = format!("{what} is degraded: {lacks}. {}", survives(pool));
            let back = take_back(inventory, layer, &node);
            let fill = fill(layer, pool, &members_in(MemberState::Spare));
            let killed = (is_md(pool) && back.is_none()).then(|| {
                "If a drivebench run that took a drive away was killed: sudo drivebench cleanup.".to_owned()
            });
            let advice: Vec<String> = back.into_iter().chain(killed).chain([fill]).collect();
            (Code::Degraded, says, advice.join(" "))
        }
        _ if !failed.is_empty() && pool.degraded == 0 => {
            let says =
                format!("{what} has all its drives, but still lists failed ones: {}.", listed(&failed));
            let advice = format!("To remove them: sudo mdadm {node} --remove {}.", failed.join(" "));
            (Code::FailedMember, says, advice)
        }
        _ => return None,
    };
    Some(Finding::of(code, drives, says, advice))
}

fn is_md(pool: &Pool) -> bool {
    !pool.ours && pool.kind.starts_with("raid")
}

fn is_frozen(pool: &Pool) -> bool {
    is_md(pool) && pool.action == Some(Action::Frozen)
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
         one of the drives: {}.",
        reassemble(&format!("/dev/{name}"))
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

/// What to do about a pool that lacks more drives than it survives.
fn reconnect(pool: &Pool, node: &str) -> String {
    if pool.ours {
        return format!("Connect the missing drives. What to do once all are: {}.", status(pool));
    }
    let connect = "Connect the missing drives again; without them its data can't be read.".to_owned();
    let is_redundant = Layout::of_name(&pool.kind).is_some_and(Layout::is_redundant);
    if !is_md(pool) || !is_redundant || pool.container.is_some() {
        return connect;
    }
    let again = reassemble(node);
    format!(
        "{connect} Erase none, and add none as a new one. If it does not work with all of them connected: {again}."
    )
}

/// How to reassemble an array that lacks too many members. No data is written until a person has looked at it. Members that are
/// left out are added as new ones: after a wrong choice, their Events equal those of the others, and mdadm would trust them.
fn reassemble(array: &str) -> String {
    format!(
        "unmount its filesystem (if LVM or LUKS is between them: vgchange --activate n, cryptsetup close). Run `udevadm settle`, and stop each other \
         array of /proc/mdstat that holds one of the members. `sudo mdadm --examine MEMBER` shows the Events of each: keep its output in a \
         file, because --force changes them. Take those with the most Events of all that were ever in it, as many as hold all data, and none that \
         is a spare or has a Recovery Offset. Then: sudo mdadm --stop {array}; sudo mdadm --assemble --force --run --readonly {array} DRIVES. `cat \
         /proc/mdstat` has to show these and (read-only): if it shows others, which udev may have added, --stop the array and assemble it again. \
         Mount it with -o ro,noload (XFS: ro,norecovery), which changes no data, and copy what matters; what was written last may be missing until \
         it is mounted as usual. For that: sudo mdadm --readwrite {array}. Finally, once all is copied, add each of the others as new: sudo mdadm \
         --zero-superblock MEMBER; sudo mdadm {array} --add MEMBER"
    )
}

/// How to take back drives that have the array's superblock, but are not used by it. After a wrong choice of drives with --force,
/// mdadm would trust the changed Events.
fn take_back(inventory: &Inventory, layer: &Layer, array: &str) -> Option<String> {
    if layer.pool.as_ref().is_none_or(|pool| pool.ours) {
        return None;
    }
    let uuid = uuid(inventory, layer)?;
    let is_former = |block: &Block<'_>| {
        is_of_array(block)
            && block.content().uuid.as_deref() == Some(uuid)
            && !layer.members.iter().any(|member| member == block.name())
    };
    let former: Vec<String> = inventory.blocks().filter(is_former).map(|block| block.path()).collect();
    (!former.is_empty()).then(|| {
        format!(
            "Was part of it: {}. Stop each other array of /proc/mdstat that holds one of these. To take a DRIVE back, the one with the most Events first, unless it was used \
             elsewhere, or `mdadm --assemble --force` was used since it left: sudo mdadm {array} --re-add DRIVE. If --force was used, and files \
             lack the last writes, or it had more Events before that: stop the array, and assemble it with what had more. Otherwise, once all \
             that matters is copied, overwrite it as new: sudo mdadm --zero-superblock DRIVE; sudo mdadm {array} --add DRIVE.",
            listed(&former)
        )
    })
}

/// What fills the place of a missing drive, or the command for it.
fn fill(layer: &Layer, pool: &Pool, spares: &[String]) -> String {
    let node = format!("/dev/{}", pool.container.as_ref().unwrap_or(&layer.name));
    let command = match (pool.ours, &pool.absent[..], pool.kind.as_str()) {
        _ if is_frozen(pool) => {
            return format!(
                "Nothing is filled while it is frozen. If no mdadm but a monitor runs: sudo mdadm --action=idle {node}."
            );
        }
        _ if !spares.is_empty() && spares.len() as u64 >= pool.missing => {
            return format!(
                "{} is being filled, or waits for that: see /proc/mdstat and dmesg.",
                listed(spares)
            );
        }
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
        let array = |name: &str, member: &str, state: PoolState, missing: u64| Layer {
            name: name.to_owned(),
            members: vec![member.to_owned()],
            pool: Some(Pool {
                kind: "raid1".to_owned(),
                layout: Some("raid1".to_owned()),
                members: 2,
                missing,
                degraded: missing,
                state,
                ..Pool::default()
            }),
            ..Layer::default()
        };
        let advice = |other: &str, layers: &[Layer]| -> Vec<String> {
            let drives = vec![drive("sda", "a"), drive("sdb", other)];
            let inventory = Inventory { drives, layers: layers.to_vec(), ..Inventory::default() };
            states(&inventory).into_iter().map(|finding| finding.advice).collect()
        };
        let lacks = array("md0", "sda1", PoolState::Active, 1);
        let back = advice("a", std::slice::from_ref(&lacks));
        assert!(back[0].starts_with("Was part of it: /dev/sdb1. Stop each other array"), "{back:?}");
        assert!(back[0].contains(": sudo mdadm /dev/md0 --re-add DRIVE."), "{back:?}");
        let other = advice("b", std::slice::from_ref(&lacks));
        assert!(
            other[0].ends_with(
                "sudo drivebench cleanup. Fill another drive: sudo mdadm /dev/md0 --add /dev/NEW."
            ),
            "another array's: {other:?}"
        );

        let broken = advice("a", &[array("md0", "sda1", PoolState::Broken, 1)]);
        assert!(
            broken[0].contains("sudo mdadm --assemble --force --run --readonly /dev/md0 DRIVES. `cat /proc/mdstat` has to show"),
            "{broken:?}"
        );
        assert!(!broken[0].contains("--re-add"), "{broken:?}");
        let (before, _) = broken[0].split_once("once all is copied").expect("a last step");
        assert!(!before.contains("--add "), "{broken:?}");

        // All are there, but a write failed on the last copy.
        let whole = advice("a", &[array("md0", "sda1", PoolState::TakesNoWrites, 0)]);
        assert!(whole[0].contains("--assemble /dev/md0 --uuid=a."), "{whole:?}");

        // udev has put the drive that was away into an array of its own.
        let apart = array("md126", "sdb1", PoolState::Inactive, 0);
        assert!(advice("a", &[lacks, apart])[0].starts_with("Don't start it: /dev/md0 works"));
    }
}
