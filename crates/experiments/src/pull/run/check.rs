//! Whether a drive of a pool that is in use may be taken away.

use std::{env, path::Path};

use rustix::process::geteuid;

use super::detach::Unplug;
use crate::{
    danger::{check_unused, opened_by},
    inventory::{Block, Drive, Inventory, Layer, SYSTEM_MOUNTS},
    pull::{PoolInUse, Pull},
    run::BuildError,
    sysroot::Sysroot,
    target::Target,
    tools::{System, mdadm},
    units::{Layout, MemberState, Pool},
};

/// A pool, and the member of it that is to be taken away.
#[derive(Debug)]
pub struct Member<'i> {
    pub layer: &'i Layer,
    pub drive: &'i Drive,
    /// The kernel's name of the member: of the drive, or of its partition.
    pub name: &'i str,
}

/// Refuses to take a drive away whose loss the pool or the machine would not survive, or that could not be given back. Changes nothing.
pub fn can_pull(
    act: &Pull,
    pool: &PoolInUse,
    on: &Target,
    inventory: &Inventory,
    store: &Path,
) -> Result<(), BuildError> {
    let target = on.find_again(inventory).map_err(|e| refused(e.to_string()))?;
    let member = member(act, pool, &target, inventory)?;
    is_elsewhere(&member, inventory, store)?;
    unplug(&member, act, inventory)?;
    if !geteuid().is_root() {
        return Err(refused(
            "taking a drive away and giving it back to its pool needs root: run it with sudo",
        ));
    }
    Ok(System::default().has(&mdadm::re_add("", ""))?)
}

fn refused(why: impl Into<String>) -> BuildError {
    BuildError::Drives(why.into())
}

/// The member that is to be taken away, if the pool is complete without others having to be plugged in, and nothing but the pool
/// is on the drive.
pub fn member<'i>(
    act: &Pull,
    pull: &PoolInUse,
    target: &Target,
    inventory: &'i Inventory,
) -> Result<Member<'i>, BuildError> {
    if let Some(path) = inventory.unread.first() {
        return Err(refused(format!(
            "{path} can't be read completely, so what uses the drive is not known: run it as root, outside of a container"
        )));
    }
    let layers = inventory.layers.iter().filter(|layer| target.layers.contains(&layer.name));
    let pools: Vec<(&Layer, &Pool)> =
        layers.filter_map(|layer| Some((layer, layer.pool.as_ref()?))).collect();
    let is_redundant = |layer: &Layer| Layout::of_name(&layer.kind).is_some_and(Layout::is_redundant);
    let [(layer, pool)] = pools[..] else {
        return Err(refused(format!("{} is not on one array", target.path.display())));
    };
    let shown = layer.shown();
    // With a spare, another drive would be filled at once, and this one would become the spare.
    let are_in_use = layer.states.iter().all(|state| *state == MemberState::InSync);
    if !is_redundant(layer) || !pool.is_quiet() || pool.survives().unwrap_or(0) == 0 || !are_in_use {
        let (words, state) = (pool.layout_in_words(), pool.state_in_words(layer.work.as_ref()));
        return Err(refused(format!(
            "{shown} is {words}, {state}: a drive is taken away only of an array with copies or parity that is complete, idle and \
             without spares"
        )));
    }
    // An edited record may name another one than a person agreed to.
    let mut named = inventory.drives.iter().filter(|drive| drive.identity() == act.drive);
    let (drive, twin) = (named.next(), named.next());
    let drive = drive.filter(|drive| twin.is_none() && drive.unique_serial() == Some(&pull.serial));
    let drive = drive.ok_or_else(|| {
        refused(format!(
            "{} is not plugged in, or is not the only drive with the serial {}",
            pull.label, pull.serial
        ))
    })?;
    let own: Vec<&String> = layer.members.iter().filter(|name| is_on(drive, name)).collect();
    match (&own[..], carried(drive, layer, inventory)) {
        ([name], None) => Ok(Member { layer, drive, name }),
        (_, Some(other)) => Err(refused(format!("{} also carries {other}", drive.label()))),
        _ => Err(refused(format!("{} has none of the members of {shown}, or several", drive.label()))),
    }
}

/// Whether a block device is a drive or a partition of it.
fn is_on(drive: &Drive, name: &str) -> bool {
    name == drive.name || drive.partitions.iter().any(|partition| partition.name == name)
}

/// Other use of a drive, or use of its pool by the system or for swap, which forbids taking it away.
fn carried(drive: &Drive, layer: &Layer, inventory: &Inventory) -> Option<String> {
    let is = |other: &&Drive| other.name == drive.name;
    // Users' files may be on a pool that is in use; programs that are needed to bring the drive back may not.
    let is_system = |path: &str| path != "/home" && SYSTEM_MOUNTS.contains(&path);
    let is_own = |block: &Block<'_>| !matches!(block, Block::Layer(_)) && is_on(drive, block.name());
    let mount = inventory.mounts.iter().find(|mount| {
        is_system(&mount.path) && inventory.drives_of(mount).iter().any(is)
            || inventory.blocks_of(mount).iter().any(is_own)
    });
    let swap = || inventory.swaps.iter().find(|swap| inventory.drives_of_swap(swap).iter().any(is));
    let is_other =
        |other: &&Layer| other.name != layer.name && other.members.iter().any(|name| is_on(drive, name));
    let other = || inventory.layers.iter().find(is_other).map(Layer::shown);
    let holder = || drive.holders.iter().find(|name| **name != layer.name).cloned();
    let mount = mount.map(|mount| mount.path.clone());
    mount.or_else(|| swap().map(|swap| format!("the swap {swap}"))).or_else(other).or_else(holder)
}

/// Refuses a drive of which a program, or a part of the kernel that the inventory doesn't know, uses another part, such as ZFS or a
/// virtual machine. Needs root.
pub fn is_free(member: &Member<'_>, inventory: &Inventory) -> Result<(), BuildError> {
    let label = member.drive.label();
    if let Some(why) = opened_by(inventory, member.drive) {
        return Err(refused(format!("{label}: {why}")));
    }
    for part in member.drive.partitions.iter().filter(|part| part.name != member.name) {
        let node = format!("/dev/{}", part.name);
        if let Err(e) = check_unused(Path::new(&node)) {
            return Err(refused(format!("{node} of {label} is in use, or can't be looked at: {e}")));
        }
    }
    Ok(())
}

/// Refuses a store on the pool: what brings the drive back is noted there.
fn is_elsewhere(member: &Member<'_>, inventory: &Inventory, store: &Path) -> Result<(), BuildError> {
    let is_on = |path: &Path| {
        let path = path.ancestors().find_map(|above| above.canonicalize().ok());
        let on = path.and_then(|path| Target::resolve(inventory, &path.to_string_lossy()).ok());
        on.map(|on| on.layers.contains(&member.layer.name))
    };
    let name = member.layer.shown();
    match env::current_exe() {
        _ if is_on(store) != Some(false) => Err(refused(format!(
            "the store is on {name}, with the journal that brings the drive back: name another one with --store DIR"
        ))),
        // Its own code must be there if the pool hangs.
        Ok(program) if is_on(&program) == Some(true) => {
            Err(refused(format!("drivebench itself is on {name}: copy it elsewhere, and run that")))
        }
        _ => Ok(()),
    }
}

/// How the drive is taken away, if nothing else goes with it.
pub fn unplug(member: &Member<'_>, act: &Pull, inventory: &Inventory) -> Result<Unplug, BuildError> {
    let (shown, name) = (member.layer.shown(), &member.layer.name);
    let word = |file: &str| Sysroot::live().word(&format!("/sys/block/{name}/md/{file}"));
    let why = match (word("metadata_version"), word("array_state").as_deref()) {
        (Some(version), _) if version.starts_with("0.") => {
            format!("{shown} has superblocks of version 0.90, which don't say enough to give a drive back")
        }
        (_, Some("read-auto")) => format!(
            "{shown} waits for its first write, and rebuilds no drive before it: run `mdadm --readwrite /dev/{name}`"
        ),
        _ => return Unplug::find(inventory, member.drive, act.by),
    };
    Err(refused(why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        inventory::{
            Partition,
            fixtures::{Tree, pools::mounted_array},
        },
        pull::{PullBy, PulledPool},
        target::Kind,
        units::{Action, PoolState},
    };

    fn act() -> (Pull, PoolInUse) {
        let pool = PoolInUse {
            serial: "4C530002".to_owned(),
            label: "Cruzer Blade 4C530002 in bay 1.2".to_owned(),
            bytes: 1 << 28,
            seed: 1,
            bitmap: true,
            survives: 0,
        };
        let drive = "4C530002+400000".to_owned();
        (Pull { drive, by: PullBy::Usb, seconds: 10.0, pool: PulledPool::InUse(pool.clone()) }, pool)
    }

    fn tree() -> Tree {
        mounted_array("idle", "raid5", 3, "abc")
    }

    fn target(inventory: &Inventory) -> Target {
        let layer = &inventory.layers[0];
        Target {
            kind: Kind::Directory,
            path: "/srv/data".into(),
            layers: vec![layer.name.clone()],
            pool: layer.pool.clone(),
            drives: inventory.drives_of_block(&layer.name).into_iter().cloned().collect(),
            ..Target::default()
        }
    }

    /// Why the drive is not taken away; empty if it may be.
    fn why(inventory: &Inventory) -> String {
        let found = member(&act().0, &act().1, &target(inventory), inventory);
        found.map(|member| assert_eq!(member.name, "sdb1")).err().map(|e| e.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_drive_of_a_complete_array_that_carries_nothing_else_may_be_pulled() {
        assert_eq!(why(&tree().inventory()), "");
    }

    #[test]
    fn pools_that_are_not_complete_are_left_alone() {
        let with = |change: fn(&mut crate::units::Pool)| {
            let mut inventory = tree().inventory();
            change(inventory.layers[0].pool.as_mut().expect("a pool"));
            why(&inventory)
        };
        assert!(
            with(|pool| (pool.degraded, pool.missing) = (1, 1)).contains("degraded: 1 of 3 drives missing")
        );
        for action in
            [Action::Resync, Action::Pending, Action::Recover, Action::Check, Action::Reshape, Action::Frozen]
        {
            let mut inventory = tree().inventory();
            inventory.layers[0].pool.as_mut().expect("a pool").action = Some(action);
            assert!(why(&inventory).contains("with copies or parity that is complete"), "{action:?}");
        }
        for state in [PoolState::ReadOnly, PoolState::Broken, PoolState::Inactive, PoolState::Suspended] {
            let mut inventory = tree().inventory();
            inventory.layers[0].pool.as_mut().expect("a pool").state = state;
            assert!(why(&inventory).contains("with copies or parity that is complete"), "{state:?}");
        }
        let mut inventory = tree().inventory();
        inventory.layers[0].states[1] = MemberState::Spare;
        assert!(why(&inventory).contains("and without spares"), "{}", why(&inventory));
        let mut inventory = tree().inventory();
        inventory.layers[0].kind = "raid0".to_owned();
        assert!(why(&inventory).contains("only of an array with copies or parity"));
    }

    #[test]
    fn drives_that_can_not_be_told_apart_or_are_of_no_pool_are_left_alone() {
        let mut inventory = tree().inventory();
        inventory.drives.retain(|drive| drive.name != "sdb");
        assert!(why(&inventory).starts_with("Cruzer Blade 4C530002 in bay 1.2 is not plugged in"));
        let mut inventory = tree().inventory();
        let mut twin = inventory.drives.iter().find(|drive| drive.name == "sdb").cloned().expect("a drive");
        twin.name = "sdx".to_owned();
        inventory.drives.push(twin);
        assert!(
            why(&inventory).contains("is not the only drive with the serial 4C530002"),
            "{}",
            why(&inventory)
        );
        let mut inventory = tree().inventory();
        let layer = &mut inventory.layers[0];
        layer.members.retain(|name| name != "sdb1");
        layer.states.truncate(2);
        assert!(why(&inventory).contains("none of the members of md127, or several"), "{}", why(&inventory));
        let mut inventory = tree().inventory();
        inventory.layers[0].members[0] = "sdb".to_owned();
        assert!(why(&inventory).contains("none of the members of md127, or several"), "{}", why(&inventory));
        inventory.unread.push("/proc/self/mountinfo".to_owned());
        assert!(why(&inventory).contains("/proc/self/mountinfo can't be read completely"));
    }

    #[test]
    fn drives_that_carry_something_else_are_left_alone() {
        let with = |file: &str, text: &str, second: bool| {
            let mut tree = tree();
            tree.file(file, text);
            let mut inventory = tree.inventory();
            if second {
                let drive = inventory.drives.iter_mut().find(|drive| drive.name == "sdb").expect("a drive");
                let part = Partition { name: "sdb2".to_owned(), device: (8, 18), ..Partition::default() };
                drive.partitions.push(part);
            }
            inventory
        };
        let mounts = |lines: &str| {
            let own = "47 24 9:127 / /srv/data rw,relatime shared:60 - ext4 /dev/md127 rw\n";
            format!("{own}{lines}")
        };
        let file = "proc/self/mountinfo";
        let system = with(file, &mounts("24 1 9:127 / / rw - ext4 /dev/md127 rw\n"), false);
        assert!(why(&system).ends_with("also carries /"), "{}", why(&system));
        let home = with(file, &mounts("24 1 9:127 / /home rw - ext4 /dev/md127 rw\n"), false);
        assert_eq!(why(&home), "");
        let other = with(file, &mounts("24 1 8:18 / /srv/other rw - ext4 /dev/sdb2 rw\n"), true);
        assert!(why(&other).ends_with("also carries /srv/other"), "{}", why(&other));
        let swap = with("proc/swaps", "Filename Type Size Used Priority\n/dev/sdb2 partition 1 0 -2\n", true);
        assert!(why(&swap).ends_with("also carries the swap /dev/sdb2"), "{}", why(&swap));
        let swap =
            with("proc/swaps", "Filename Type Size Used Priority\n/srv/data/swap file 1 0 -2\n", false);
        assert!(why(&swap).ends_with("also carries the swap /srv/data/swap"), "{}", why(&swap));
        let mut array = with(file, &mounts(""), true);
        array.layers.push(Layer {
            name: "md5".to_owned(),
            members: vec!["sdb2".to_owned()],
            ..Layer::default()
        });
        assert!(why(&array).contains("also carries md5"), "{}", why(&array));
        let mut held = with(file, &mounts(""), false);
        let drive = held.drives.iter_mut().find(|drive| drive.name == "sdb").expect("a drive");
        drive.holders.push("zram9".to_owned());
        assert!(why(&held).contains("also carries zram9"), "{}", why(&held));
    }
}
