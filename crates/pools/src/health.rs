//! The health of a pool, read from sysfs.

pub use crate::{
    inventory::in_array,
    units::{Action, MemberState, PoolState as State, Work},
};

use super::Build;
use crate::{
    inventory::{Drive, Inventory, Layer, Mount, work},
    sysroot::Sysroot,
    units::Pool,
};

/// The device of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The kernel's name: `md127`, `dm-0`.
    pub name: String,
    /// Major and minor number.
    pub number: (u32, u32),
}

impl Device {
    pub fn path(&self) -> String {
        format!("/dev/{}", self.name)
    }

    /// The mounts of the filesystem on it. btrfs has device numbers of its own, but names its source.
    pub fn mounts<'a>(&self, inventory: &'a Inventory) -> Vec<&'a Mount> {
        let named =
            |mount: &Mount| inventory.block_at_path(&mount.source).is_some_and(|b| b.name() == self.name);
        inventory.mounts.iter().filter(|mount| mount.device == self.number || named(mount)).collect()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Health {
    pub device: Option<Device>,
    pub state: State,
    /// Number of members without their data: missing, or not filled yet.
    pub degraded: u64,
    /// Number of missing members; one that is being filled doesn't count.
    pub missing: u64,
    pub work: Option<Work>,
    /// Number of sectors that differed at the last check.
    pub mismatches: Option<u64>,
    /// The state of each member, in their order.
    pub members: Vec<MemberState>,
    /// Block devices that the array uses, on drives whose serials match no member: a USB case may replace the serial.
    pub others: Vec<String>,
}

impl Build {
    /// The device of the pool, found by the UUID in its superblocks or mapping.
    pub fn device(&self, root: &Sysroot, inventory: &Inventory) -> Option<Device> {
        let ours = |name: &String| {
            let uuid = match self.layout {
                layout if layout.is_mapped() => root.word(&format!("/sys/block/{name}/dm/uuid")),
                _ if !root.list(&format!("/sys/block/{name}/md")).is_empty() => {
                    // Older kernels don't have the file, and in arrays that are not started it is zero.
                    let of_members =
                        || self.is_of_members(name, root, inventory).then(|| self.uuids[0].clone());
                    let known = |uuid: &String| uuid.chars().any(|c| c.is_ascii_hexdigit() && c != '0');
                    root.word(&format!("/sys/block/{name}/md/uuid")).filter(known).or_else(of_members)
                }
                _ => None,
            };
            let own = if self.layout.is_mapped() { self.mapping_uuid() } else { self.uuids[0].clone() };
            uuid.is_some_and(|uuid| digits(&uuid) == digits(&own))
        };
        let name = root.list("/sys/block").into_iter().find(ours)?;
        let number = root.word(&format!("/sys/block/{name}/dev"))?;
        let (major, minor) = number.split_once(':')?;
        Some(Device { number: (major.parse().ok()?, minor.parse().ok()?), name })
    }

    /// Whether the array has members, all of them on drives of the pool.
    fn is_of_members(&self, array: &str, root: &Sysroot, inventory: &Inventory) -> bool {
        let names = root.list(&format!("/sys/block/{array}/md"));
        let mut members = names.iter().filter_map(|name| name.strip_prefix("dev-")).peekable();
        let ours = |name: &str| {
            let block = inventory.blocks().find(|block| block.name() == name);
            let drives = inventory.stack_of(block).drives;
            !drives.is_empty()
                && drives.iter().all(|drive| self.members.iter().any(|member| member.resembles(drive)))
        };
        members.peek().is_some() && members.all(ours)
    }

    pub fn health(&self, root: &Sysroot, inventory: &Inventory) -> Health {
        let device = self.device(root, inventory);
        let md = device.as_ref().map(|device| format!("/sys/block/{}/md", device.name));
        let number = |file: &str| root.number::<u64>(&format!("{}/{file}", md.as_deref()?));
        let word = |file: &str| root.word(&format!("{}/{file}", md.as_deref()?));
        let drives = self.drives(inventory);
        let known: Vec<String> = drives
            .iter()
            .enumerate()
            .filter_map(|(at, drive)| Some(self.member_path(at, &drive.as_ref()?.name)))
            .collect();
        let members = drives.into_iter().enumerate();
        let members = members.map(|(at, drive)| self.member(at, drive, device.as_ref(), root));
        let array_state = word("array_state");
        let inactive = matches!(array_state.as_deref(), Some("clear" | "inactive"));
        // Before an array starts, all of its members look like spares.
        let members: Vec<MemberState> = members
            .map(|state| if inactive && state == MemberState::Spare { MemberState::Waiting } else { state })
            .collect();
        let others: Vec<String> = device
            .iter()
            .flat_map(|device| used_by(device, root, inventory))
            .filter(|name| !known.contains(name))
            .collect();
        let in_sync = members.iter().filter(|state| **state == MemberState::InSync).count() + others.len();
        let degraded = match self.layout.is_redundant() {
            _ if inactive => members.iter().filter(|state| **state != MemberState::Waiting).count() as u64,
            true => number("degraded").unwrap_or(0),
            false => members.len().saturating_sub(in_sync) as u64,
        };
        let filling = members.iter().filter(|state| **state == MemberState::Filling).count() as u64;
        let state = match (&device, array_state.as_deref()) {
            (None, _) => State::Stopped,
            _ if inactive => State::Inactive,
            (_, Some("broken")) => State::Broken,
            _ if !self.layout.is_redundant() && degraded > 0 => State::Broken,
            _ if in_sync == 0 => State::Broken,
            // Whether a raid10 without two members is broken depends on which; its array_state tells.
            _ if self.layout.has_parity() && degraded > self.layout.survives(members.len()) as u64 => {
                State::Broken
            }
            (_, Some("suspended")) => State::Suspended,
            (Some(Device { name, .. }), None)
                if root.number::<u8>(&format!("/sys/block/{name}/dm/suspended")) == Some(1) =>
            {
                State::Suspended
            }
            (_, Some("readonly")) => State::ReadOnly,
            _ => State::Active,
        };
        let work = md.as_ref().and_then(|md| work(root, md));
        // The kernel counts mismatches in other actions, too.
        let compared = work.is_none() && word("last_sync_action").is_some_and(|action| action == "check");
        let mismatches = number("mismatch_cnt").filter(|n| compared && *n > 0);
        Health {
            state,
            degraded,
            missing: degraded.saturating_sub(filling),
            work,
            mismatches,
            members,
            others,
            device,
        }
    }

    fn member(
        &self,
        at: usize,
        drive: Option<&Drive>,
        device: Option<&Device>,
        root: &Sysroot,
    ) -> MemberState {
        let Some(drive) = drive else { return MemberState::Absent };
        let Some(device) = device else { return MemberState::Unused };
        let path = self.member_path(at, &drive.name);
        match self.layout {
            layout if layout.is_mapped() => {
                let has = root.list(&format!("/sys/block/{}/slaves", device.name)).contains(&path);
                if has { MemberState::InSync } else { MemberState::Unused }
            }
            _ => in_array(&device.name, &path, root),
        }
    }

    /// Marks the pool among the layers of the inventory: the kernel knows neither that drivebench built it, nor which drives are missing. One without a device is added, if any of its drives is here.
    pub fn mark(&self, root: &Sysroot, inventory: &mut Inventory) {
        let health = self.health(root, inventory);
        let is_away = |state: &MemberState| match health.state {
            State::Stopped => *state == MemberState::Absent,
            _ => matches!(state, MemberState::Absent | MemberState::Failed | MemberState::Unused),
        };
        // It is unknown which member a drive with another serial is.
        let is_known = health.others.is_empty();
        let away = health.members.iter().enumerate().filter(|(_, state)| is_known && is_away(state));
        let absent = away.map(|(at, _)| self.name_of(at).to_owned()).collect();
        let own = |pool: Pool| Pool {
            name: Some(self.name.clone()),
            layout: Some(self.layout.name().to_owned()),
            members: self.members.len() as u64,
            ours: true,
            absent,
            ..pool
        };
        if let Some(device) = &health.device {
            let layer = inventory.layers.iter_mut().find(|layer| layer.name == device.name);
            if let Some(layer) = layer {
                layer.pool = layer.pool.take().map(own);
            }
            return;
        }
        let path = |(at, drive): (usize, Option<&Drive>)| Some(self.member_path(at, &drive?.name));
        let here: Vec<String> = self.drives(inventory).into_iter().enumerate().filter_map(path).collect();
        if here.is_empty() {
            return;
        }
        let stopped = Pool {
            kind: self.layout.name().to_owned(),
            state: State::Stopped,
            drives: self.members.len() as u64,
            degraded: (self.members.len() - here.len()) as u64,
            missing: (self.members.len() - here.len()) as u64,
            chunk: self.layout.is_striped().then_some(self.chunk),
            ..Pool::default()
        };
        inventory.layers.push(Layer {
            name: self.name.clone(),
            kind: self.layout.name().to_owned(),
            states: vec![MemberState::Unused; here.len()],
            members: here,
            pool: Some(own(stopped)),
            sectors: self.capacity,
            logical_block: 512,
            ..Layer::default()
        });
    }

    /// The UUID of a linear pool's mapping.
    pub fn mapping_uuid(&self) -> String {
        format!("drivebench-{}", self.uuids[0])
    }
}

/// The present block devices with data of the array.
fn used_by(device: &Device, root: &Sysroot, inventory: &Inventory) -> Vec<String> {
    let files = root.list(&format!("/sys/block/{}/md", device.name));
    let names = files.iter().filter_map(|file| file.strip_prefix("dev-"));
    let is_used = |name: &&str| {
        in_array(&device.name, name, root) == MemberState::InSync
            && inventory.blocks().any(|block| block.name() == *name)
    };
    names.filter(is_used).map(str::to_owned).collect()
}

/// The digits of a UUID: programs separate them differently.
pub fn digits(uuid: &str) -> String {
    uuid.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Request,
        inventory::{Partition, Signature},
        sysroot::Archive,
        testing::request,
        units::Layout,
    };

    fn drive(letter: char) -> Drive {
        let name = format!("sd{letter}");
        let content = Signature { uuid: Some(UUID.to_owned()), ..Signature::default() };
        let part = Partition { name: format!("{name}1"), content, ..Partition::default() };
        Drive {
            serial: Some(format!("serial-{letter}")),
            sectors: 400_000,
            logical_block: 512,
            partitions: vec![part],
            name,
            ..Drive::default()
        }
    }

    /// A pool over these drives, by the last letter of their names.
    fn build(layout: Layout, uuid: &str, drives: &str) -> Build {
        let drives: Vec<Drive> = drives.chars().map(drive).collect();
        let [_, filesystem] = request(layout).uuids;
        let request = Request { uuids: [uuid.to_owned(), filesystem], ..request(layout) };
        request.plan(&Inventory::default(), &drives.iter().collect::<Vec<_>>()).expect("fits")
    }

    /// A machine with these drives, and the array of a section of the captured file.
    fn machine(section: &str, drives: &str) -> (Sysroot, Inventory) {
        let text = include_str!("fixtures/md127.txt");
        let lines = text.lines().skip_while(|line| *line != format!("== {section}")).skip(1);
        let mut archive = Archive::default();
        for line in lines.take_while(|line| !line.starts_with("==")) {
            let (file, value) = line.split_once(": ").expect("a file and its text");
            archive.add_file(&format!("/sys/block/md127/{file}"), format!("{value}\n"));
        }
        let inventory = Inventory { drives: drives.chars().map(drive).collect(), ..Inventory::default() };
        (Sysroot::archive(archive), inventory)
    }

    const UUID: &str = "053f7e0e-069f-b954-415c-8744bbe3e33b";

    #[test]
    fn a_pending_resync_is_shown() {
        // As a guest with Linux 6.1 had them: a raid1 that was stopped during its first resync, and assembled again; then the
        // same after that.
        let files = |resync_start: &str| {
            let mut archive = Archive::default();
            let start = ("resync_start", resync_start);
            for (file, text) in
                [("sync_action", "idle"), ("sync_completed", "none"), ("array_state", "read-auto"), start]
            {
                archive.add_file(&format!("/sys/block/md127/md/{file}"), format!("{text}\n"));
            }
            work(&Sysroot::archive(archive), "/sys/block/md127/md").map(|work| work.progress())
        };
        assert_eq!(files("8960").as_deref(), Some("resync pending"));
        assert_eq!(files("none"), None);
    }

    #[test]
    fn captured_arrays_are_shown_as_they_are() {
        let cases = [
            // The members of the pool, and the drives that are plugged in.
            ("resync", "abc", "abcd"),
            ("idle", "abc", "abcd"),
            ("check", "abc", "abcd"),
            ("replace", "abc", "abcd"),
            ("replaced", "abc", "abcd"),
            ("removed", "dbc", "abcd"),
            ("degraded", "dbc", "acd"),
            ("rebuild", "dac", "acd"),
            ("broken", "dac", "ad"),
            ("inactive", "dac", "ad"),
        ];
        let lines = cases.map(|(section, members, plugged)| {
            let (root, inventory) = machine(section, plugged);
            let health = build(Layout::Raid5, UUID, members).health(&root, &inventory);
            let Health { device, state, degraded, missing, work, mismatches, members, others } = health;
            assert_eq!(device.is_some(), state != State::Stopped);
            assert_eq!(mismatches, None);
            // The drive that took the place of another one, for a pool that does not know of it.
            let expected: &[&str] = if section == "replaced" { &["sdd1"] } else { &[] };
            assert_eq!(others, expected, "{section}");
            format!("{section}: {state:?}, degraded {degraded}, {missing} missing, {members:?}\n    {work:?}")
        });
        insta::assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn a_btrfs_of_the_pool_is_mounted_by_its_source() {
        let mount = |path: &str, source: &str, device| {
            let [path, source] = [path, source].map(str::to_owned);
            Mount { path, source, device, ..Mount::default() }
        };
        let md =
            |name: &str, number| Layer { name: name.to_owned(), device: (9, number), ..Layer::default() };
        let inventory = Inventory {
            layers: vec![md("md126", 126), md("md127", 127)],
            mounts: vec![
                mount("/ext4", "/dev/md127", (9, 127)),
                mount("/btrfs", "/dev/md127", (0, 40)),
                mount("/other", "/dev/md126", (0, 41)),
                mount("/overlay", "overlay", (0, 42)),
            ],
            ..Inventory::default()
        };
        let device = Device { name: "md127".to_owned(), number: (9, 127) };
        let paths: Vec<&str> = device.mounts(&inventory).iter().map(|mount| mount.path.as_str()).collect();
        assert_eq!(paths, ["/ext4", "/btrfs"]);
    }

    /// A USB case has a serial of its own, which the drive in it gets.
    #[test]
    fn an_array_whose_drives_were_put_into_other_cases_is_as_healthy_as_before() {
        let (root, mut inventory) = machine("idle", "abc");
        let pool = build(Layout::Raid5, UUID, "abc");
        for (drive, moved) in inventory.drives.iter_mut().zip(1..) {
            drive.serial = Some(format!("case-{moved}"));
            let health =
                pool.health(&root, &Inventory { drives: vec![drive.clone()], ..Inventory::default() });
            assert_eq!(health.others, [drive.partitions[0].name.as_str()]);
        }
        let health = pool.health(&root, &inventory);
        assert_eq!((health.state, health.degraded, health.others.len()), (State::Active, 0, 3));
        assert_eq!(health.members, [MemberState::Absent; 3]);
        inventory.drives.clear();
        assert_eq!(pool.health(&root, &inventory).state, State::Broken, "all are gone");
    }

    #[test]
    fn a_raid0_that_lost_a_drive_is_broken() {
        let uuid = "0ed45a47-bc56-1a3f-f976-6cbe0da102d6";
        let (root, mut inventory) = machine("raid0gone", "a");
        inventory.drives[0].partitions[0].content.uuid = Some(uuid.to_owned());
        let health = build(Layout::Raid0, uuid, "ad").health(&root, &inventory);
        assert_eq!((health.state, health.missing), (State::Broken, 1));
        assert_eq!(health.members, [MemberState::InSync, MemberState::Absent]);
    }

    #[test]
    fn arrays_of_others_are_not_taken_for_the_pool() {
        let other = "153f7e0e-069f-b954-415c-8744bbe3e33b";
        let (root, inventory) = machine("idle", "abcd");
        assert_eq!(build(Layout::Raid5, other, "abc").device(&root, &inventory), None);
        // Without a UUID it is known by its members, all of which must be of the pool.
        let (root, inventory) = machine("inactive", "abcd");
        assert_eq!(build(Layout::Raid5, other, "abc").device(&root, &inventory), None);
        assert!(build(Layout::Raid5, other, "abd").device(&root, &inventory).is_some());
        // What it is made of is not here.
        let (root, inventory) = machine("inactive", "abc");
        assert_eq!(build(Layout::Raid5, other, "abd").device(&root, &inventory), None);
    }

    #[test]
    fn a_linear_pool_is_found_by_the_uuid_of_its_mapping() {
        let linear = build(Layout::Linear, UUID, "abc");
        let inventory = Inventory { drives: "abc".chars().map(drive).collect(), ..Inventory::default() };
        let with = |uuid: &str, below: &str| {
            let mut archive = Archive::default();
            archive.add_file("/sys/block/dm-0/dev", "254:0\n");
            archive.add_file("/sys/block/dm-0/dm/uuid", format!("{uuid}\n"));
            archive.add_file("/sys/block/dm-0/dm/suspended", "0\n");
            below.chars().for_each(|c| archive.add_file(&format!("/sys/block/dm-0/slaves/sd{c}"), ""));
            linear.health(&Sysroot::archive(archive), &inventory)
        };
        let ours = with(&format!("drivebench-{UUID}"), "abc");
        assert_eq!((ours.state, ours.missing), (State::Active, 0));
        assert_eq!(ours.device.map(|device| device.number), Some((254, 0)));
        assert_eq!(with(&format!("drivebench-{UUID}"), "ac").state, State::Broken);
        assert_eq!(with("CRYPT-LUKS2-053f7e0e", "abc").state, State::Stopped);
    }
}

#[cfg(test)]
mod mark_tests {
    use super::*;
    use crate::{
        Request,
        inventory::fixtures::{Tree, pools::mounted_array},
        units::{KIB, Layout},
    };

    fn build(inventory: &Inventory, names: [&str; 3]) -> Build {
        let drive = |name: &str| Drive {
            name: name.to_owned(),
            serial: Some(format!("4C53000{}", name.as_bytes()[2] - b'a' + 1)),
            sectors: 400_000,
            logical_block: 512,
            ..Drive::default()
        };
        let drives = names.map(drive);
        let request = Request {
            name: "archive".to_owned(),
            chunk: 64 * KIB,
            ..super::super::testing::request(Layout::Raid5)
        };
        let blank = Inventory { drives: inventory.drives.clone(), ..Inventory::default() };
        request.plan(&blank, &drives.each_ref()).expect("fits")
    }

    /// The sticks hold parts of the array.
    fn inventory_of(tree: &Tree) -> Inventory {
        let mut inventory = tree.inventory();
        for part in inventory.drives.iter_mut().flat_map(|drive| &mut drive.partitions) {
            part.content.uuid = Some(super::super::testing::request(Layout::Raid5).uuids[0].clone());
        }
        inventory
    }

    #[test]
    fn a_pool_of_drivebench_is_marked_with_the_drives_that_it_lacks() {
        // The second stick is unplugged.
        let tree = mounted_array("degraded", "raid5", 3, "acd");
        let mut inventory = inventory_of(&tree);
        let layers = inventory.layers.len();
        build(&inventory, ["sdd", "sdb", "sdc"]).mark(&tree.sysroot(), &mut inventory);
        assert_eq!(inventory.layers.len(), layers);
        let pool = inventory.layers[0].pool.as_ref().expect("a pool");
        assert_eq!((pool.ours, pool.name.as_deref(), pool.missing), (true, Some("archive"), 1));
        assert_eq!(pool.absent, ["4C530002"]);
        let found = inventory.findings();
        assert!(found[0].advice.contains("drivebench pool replace 4C530002 NEW"), "{}", found[0].advice);
    }

    #[test]
    fn a_pool_without_a_device_is_shown_while_a_drive_of_it_is_here() {
        let mut tree = mounted_array("degraded", "raid5", 3, "acd");
        tree.file("sys/devices/virtual/block/md127/md/uuid", "153f7e0e-069f-b954-415c-8744bbe3e33b\n");
        let mut inventory = inventory_of(&tree);
        let layers = inventory.layers.len();
        build(&inventory, ["sda", "sdb", "sdc"]).mark(&tree.sysroot(), &mut inventory);
        let pool = inventory.layers.last().and_then(|layer| layer.pool.as_ref()).expect("a pool");
        assert_eq!((inventory.layers.len(), pool.state), (layers + 1, State::Stopped));
        assert_eq!(
            (&inventory.layers[layers].members[..], &pool.absent[..]),
            (&["sda1", "sdc1"].map(str::to_owned)[..], &["4C530002".to_owned()][..])
        );
        let stopped = inventory.findings().into_iter().find(|f| f.what.contains("archive"));
        assert!(stopped.is_some_and(|f| f.advice.contains("drivebench pool status archive")));
        inventory.drives.clear();
        inventory.layers.clear();
        let gone = build(&tree.inventory(), ["sdx", "sdy", "sdz"]);
        gone.mark(&tree.sysroot(), &mut inventory);
        assert!(inventory.layers.is_empty());
    }
}
