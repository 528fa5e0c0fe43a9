//! Reads block devices: drives, their partitions and contents, and the layers built on them.

use std::collections::BTreeMap;

use super::{
    Drive, Layer, Mount, Partition, Queue, Signature, card, device_path,
    drive::{Udev, infer_medium},
    hubs_and_buses::Topology,
    identity,
    mounts::{decode, parse_device},
    usb,
};
use crate::sysroot::Sysroot;

/// Whether a block device is not a drive: memory, files, optical and floppy drives, further areas of eMMC.
fn is_no_drive(name: &str) -> bool {
    let prefixes = ["loop", "ram", "zram", "zd", "md", "dm-", "sr", "fd", "mtdblock"];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
        || name.starts_with("mmcblk") && (["boot", "rpmb", "gp"].iter().any(|area| name.contains(area)))
}

pub(super) fn read(root: &Sysroot, topology: &mut Topology<'_>) -> (Vec<Drive>, Vec<Layer>) {
    let (mut drives, mut layers) = (Vec::new(), Vec::new());
    for name in root.list("/sys/block") {
        // Resolved once: in a captured tree every link costs a walk from the root.
        let Some(dir) = root.real(&format!("/sys/block/{name}")) else { continue };
        let members = root.list(&format!("{dir}/slaves"));
        let Some(sectors) = root.number(&format!("{dir}/size")) else { continue };
        // A container of Intel RST or DDF is not an array; the arrays in it name it with a slash.
        let metadata = root.word(&format!("{dir}/md/metadata_version")).unwrap_or_default();
        if metadata.strip_prefix("external:").is_some_and(|array| !array.starts_with(['/', '-'])) {
            continue;
        }
        // An array that is not started has no size.
        if !members.is_empty() && (sectors > 0 || !root.list(&format!("{dir}/md")).is_empty()) {
            layers.extend(read_layer(root, &dir, name, members, sectors));
        } else if sectors > 0 && !is_no_drive(&name) && root.number::<u8>(&format!("{dir}/hidden")) != Some(1)
        {
            drives.push(read_drive(root, topology, &dir, name, sectors));
        }
    }
    layers.extend(read_btrfs(root));
    layers.extend(read_bcachefs(root));
    (drives, layers)
}

fn read_drive(root: &Sysroot, topology: &mut Topology<'_>, dir: &str, name: String, sectors: u64) -> Drive {
    let (device, udev) = read_udev(root, dir);
    let flag = |file: &str| root.number::<u8>(&format!("{dir}/{file}")) == Some(1);
    let mut holders = root.list(&format!("{dir}/holders"));
    let partitions = read_partitions(root, dir, &name, &mut holders);
    let mut drive = Drive {
        device,
        sectors,
        logical_block: block_size(root, dir, "logical"),
        physical_block: block_size(root, dir, "physical"),
        rotational: flag("queue/rotational"),
        removable: flag("removable"),
        read_only: flag("ro"),
        content: content(&udev),
        partitions,
        holders,
        queue: read_queue(root, dir),
        name,
        ..Drive::default()
    };
    let physical = device_path::physical(root, dir);
    drive.upstream = topology.above(&physical);
    let usb = device_path::read(root, &physical, &mut drive);
    drive.usb = usb.as_deref().map(|usb| usb::read(root, usb));
    if drive.bus.as_deref() == Some("mmc") {
        let card = format!("{dir}/device");
        (drive.card, drive.health) = (Some(card::read(root, &card)), card::health(root, &card));
    }
    identity::read(root, dir, usb.as_deref(), &udev, &mut drive);
    drive.medium = infer_medium(root, dir, &udev, &drive);
    drive
}

fn block_size(root: &Sysroot, dir: &str, kind: &str) -> u32 {
    let size: u32 = root.number(&format!("{dir}/queue/{kind}_block_size")).unwrap_or(512);
    if size.is_power_of_two() && (512..=1 << 20).contains(&size) { size } else { 512 }
}

fn read_queue(root: &Sysroot, dir: &str) -> Queue {
    let number = |file: &str| root.number::<u64>(&format!("{dir}/queue/{file}"));
    Queue {
        max_request: number("max_sectors_kb").and_then(|kib| kib.checked_mul(1024)),
        requests: root.number(&format!("{dir}/queue/nr_requests")),
        writes: root.number(&format!("{dir}/queue/iosched/async_depth")),
        depth: root.number(&format!("{dir}/device/queue_depth")),
        write_cache: root.word(&format!("{dir}/queue/write_cache")),
        throttle_us: number("wbt_lat_usec"),
    }
}

/// Partitions in the order of their start; their holders are added to `holders`.
fn read_partitions(root: &Sysroot, dir: &str, name: &str, holders: &mut Vec<String>) -> Vec<Partition> {
    let mut partitions = Vec::new();
    for part in root.list(dir).into_iter().filter(|part| part.starts_with(name)) {
        let dir = format!("{dir}/{part}");
        let Some(start) = root.number(&format!("{dir}/start")) else { continue };
        let (device, udev) = read_udev(root, &dir);
        let sectors = root.number(&format!("{dir}/size")).unwrap_or(0);
        holders.extend(root.list(&format!("{dir}/holders")));
        partitions.push(Partition { name: part, device, start, sectors, content: content(&udev) });
    }
    partitions.sort_by_key(|partition| partition.start);
    partitions
}

/// A layer and its partitions.
pub(super) fn read_layer(
    root: &Sysroot,
    dir: &str,
    name: String,
    members: Vec<String>,
    sectors: u64,
) -> Vec<Layer> {
    let (device, udev) = read_udev(root, dir);
    let logical_block = block_size(root, dir, "logical");
    let partition = |part: Partition| Layer {
        name: part.name,
        device: part.device,
        kind: "partition".to_owned(),
        members: vec![name.clone()],
        sectors: part.sectors,
        logical_block,
        content: part.content,
        ..Layer::default()
    };
    let parts = read_partitions(root, dir, &name, &mut Vec::new()).into_iter();
    let mut layers: Vec<Layer> = parts.map(partition).collect();
    layers.push(Layer {
        alias: root.word(&format!("{dir}/dm/name")),
        device,
        kind: layer_kind(root, dir, &name),
        members,
        sectors,
        logical_block,
        content: content(&udev),
        name,
        ..Layer::default()
    });
    layers
}

fn layer_kind(root: &Sysroot, dir: &str, name: &str) -> String {
    let level = root.word(&format!("{dir}/md/level")).filter(|level| !level.is_empty());
    if let Some(level) = level.filter(|level| level != "none") {
        // Without the driver of the level, the kernel reports the level's number.
        return match level.parse::<i32>() {
            Ok(number @ 0..) => format!("raid{number}"),
            Ok(-1) => "linear".to_owned(),
            Ok(_) => "md".to_owned(),
            Err(_) => level,
        };
    }
    let uuid = root.word(&format!("{dir}/dm/uuid")).unwrap_or_default();
    match uuid.split('-').next() {
        Some("CRYPT") => "crypt",
        Some("LVM") => "lvm",
        Some("mpath") => "multipath",
        _ if name.starts_with("bcache") => "bcache",
        _ if name.starts_with("md") => "md",
        _ if name.starts_with("loop") => "loop",
        _ => "dm",
    }
    .to_owned()
}

/// A btrfs on several drives has one of them as its mount's source; the kernel lists the others here.
fn read_btrfs(root: &Sysroot) -> Vec<Layer> {
    let filesystem = |uuid: String| {
        let dir = format!("/sys/fs/btrfs/{uuid}");
        let label = root.word(&format!("{dir}/label"));
        let missing = btrfs_missing(root, &uuid) > 0;
        spanning("btrfs", uuid, label, root.list(&format!("{dir}/devices")), missing)
    };
    root.list("/sys/fs/btrfs").into_iter().filter_map(filesystem).collect()
}

/// Number of devices that the mounted btrfs lacks.
pub(super) fn btrfs_missing(root: &Sysroot, uuid: &str) -> u64 {
    let dir = format!("/sys/fs/btrfs/{uuid}/devinfo");
    let is_missing = |id: &String| root.number::<u8>(&format!("{dir}/{id}/missing")) == Some(1);
    root.list(&dir).iter().filter(|id| is_missing(id)).count() as u64
}

/// Reads the mounted bcachefs filesystems that are on several drives.
fn read_bcachefs(root: &Sysroot) -> Vec<Layer> {
    let filesystem = |uuid: String| {
        let dir = format!("/sys/fs/bcachefs/{uuid}");
        let devices = root.list(&dir).into_iter().filter(|entry| entry.starts_with("dev-"));
        let members = devices.filter_map(|device| root.link_name(&format!("{dir}/{device}/block")));
        spanning("bcachefs", uuid, None, members.collect(), false)
    };
    root.list("/sys/fs/bcachefs").into_iter().filter_map(filesystem).collect()
}

/// The imported pools of ZFS: those with a state in the kernel, or with a mounted filesystem. Drives are found by their labels.
pub(super) fn read_zfs(root: &Sysroot, drives: &[Drive], mounts: &[Mount]) -> Vec<Layer> {
    let imported =
        root.list("/proc/spl/kstat/zfs").into_iter().filter(|pool| zfs_state(root, pool).is_some());
    let mounted = mounts.iter().filter(|mount| mount.filesystem == "zfs");
    let names = imported.chain(mounted.map(|mount| zfs_pool(&mount.source).to_owned()));
    let pool = |name: String| {
        let layer = Layer {
            name: name.clone(),
            alias: Some(name.clone()),
            kind: "zfs".to_owned(),
            logical_block: 4096,
            content: Signature {
                filesystem: Some("zfs".to_owned()),
                label: Some(name.clone()),
                ..Signature::default()
            },
            ..Layer::default()
        };
        (name, layer)
    };
    let mut pools: BTreeMap<String, Layer> = names.map(pool).collect();
    for drive in drives {
        let parts = drive.partitions.iter().map(|part| (&part.name, &part.content));
        for (name, content) in parts.chain([(&drive.name, &drive.content)]) {
            let label =
                content.label.as_deref().filter(|_| content.filesystem.as_deref() == Some("zfs_member"));
            let Some(pool) = label.and_then(|label| pools.get_mut(label)) else { continue };
            pool.members.push(name.clone());
            if let Some(uuid) = &content.uuid {
                pool.name.clone_from(uuid);
            }
        }
    }
    pools.into_values().collect()
}

/// The pool of a dataset.
pub(super) fn zfs_pool(dataset: &str) -> &str {
    dataset.split('/').next().unwrap_or_default()
}

/// The state of an imported pool as the kernel reports it: `ONLINE`, `DEGRADED`, `FAULTED`, `SUSPENDED` and others.
pub(super) fn zfs_state(root: &Sysroot, pool: &str) -> Option<String> {
    root.word(&format!("/proc/spl/kstat/zfs/{pool}/state"))
}

/// A filesystem that is on several block devices, some of which may be missing.
fn spanning(
    kind: &str,
    uuid: String,
    label: Option<String>,
    members: Vec<String>,
    missing: bool,
) -> Option<Layer> {
    let kind = kind.to_owned();
    let content = Signature { filesystem: Some(kind.clone()), label, uuid: Some(uuid.clone()) };
    let layer = Layer { name: uuid, kind, members, logical_block: 4096, content, ..Layer::default() };
    let several = layer.members.len() > 1 || missing && !layer.members.is_empty();
    several.then_some(layer)
}

/// A block device's number and its properties in udev's database, which is readable without root.
pub(super) fn read_udev(root: &Sysroot, dir: &str) -> ((u32, u32), Udev) {
    let device = root.word(&format!("{dir}/dev")).and_then(|text| parse_device(&text));
    let Some((major, minor)) = device else { return ((0, 0), Udev::new()) };
    let text = root.long_text(&format!("/run/udev/data/b{major}:{minor}")).unwrap_or_default();
    let properties = text.lines().filter_map(|line| line.strip_prefix("E:")?.split_once('='));
    ((major, minor), properties.map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

fn content(udev: &Udev) -> Signature {
    let get = |key: &str| udev.get(key).filter(|text| !text.is_empty()).cloned();
    Signature {
        filesystem: get("ID_FS_TYPE"),
        label: get("ID_FS_LABEL_ENC").map(|text| decode_hex(&text)).or_else(|| get("ID_FS_LABEL")),
        uuid: get("ID_FS_UUID"),
    }
}

/// udev escapes special characters as `\x20`.
fn decode_hex(text: &str) -> String {
    decode(text, br"\x", 2, 16)
}

/// Takes the filesystem type from a mount, or from the filesystem on several drives, where udev has none.
pub(super) fn fill_from_mounts(drives: &mut [Drive], layers: &mut [Layer], mounts: &[Mount]) {
    let spanning = layers.iter().filter(|layer| layer.device == (0, 0));
    let on_several: Vec<(String, Vec<String>)> =
        spanning.map(|layer| (layer.kind.clone(), layer.members.clone())).collect();
    for (device, name, content) in contents_mut(drives, layers) {
        if content.filesystem.is_some() || device == (0, 0) {
            continue;
        }
        let is_on =
            |mount: &&Mount| mount.device == device || mount.source.strip_prefix("/dev/") == Some(name);
        let member = || on_several.iter().find(|(_, members)| members.iter().any(|member| member == name));
        let mounted = mounts.iter().find(is_on).map(|mount| mount.filesystem.clone());
        content.filesystem = mounted.or_else(|| Some(member()?.0.clone()));
    }
}

/// Number, name and content of all partitions, drives and layers.
pub(super) fn contents_mut<'a>(
    drives: &'a mut [Drive],
    layers: &'a mut [Layer],
) -> impl Iterator<Item = ((u32, u32), &'a str, &'a mut Signature)> {
    let parts = drives.iter_mut().flat_map(|drive| {
        let parts = drive.partitions.iter_mut().map(|part| (part.device, &*part.name, &mut part.content));
        parts.chain([(drive.device, &*drive.name, &mut drive.content)])
    });
    parts.chain(layers.iter_mut().map(|layer| (layer.device, &*layer.name, &mut layer.content)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures::Tree;

    #[test]
    fn loop_ram_optical_and_empty_devices_are_no_drives() {
        let mut tree = Tree::empty();
        for name in ["loop0", "ram1", "zram0", "sr0", "mmcblk0boot0", "mtdblock0", "zd16"] {
            tree.disk("virtual/x", name, "7:0", 4096);
        }
        tree.disk("virtual/nbd", "nbd0", "43:0", 0).disk("virtual/nbd", "nbd1", "43:32", 2048);
        tree.disk("pci/usb/reader", "sdc", "8:32", 0);
        tree.disk("pci/nvme/nvme0", "nvme0c0n1", "259:1", 4096).file("sys/block/nvme0c0n1/hidden", "1\n");
        let names: Vec<String> = tree.inventory().drives.into_iter().map(|drive| drive.name).collect();
        assert_eq!(names, ["nbd1"]);
    }

    #[test]
    fn all_drives_of_a_bcachefs_are_in_use() {
        let mut tree = Tree::empty();
        for (name, number) in [("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")] {
            tree.disk(&format!("pci/{name}"), name, number, 4096);
        }
        let line = |number: &str, source: &str| format!("30 1 {number} / /data rw - bcachefs {source} rw\n");
        for (number, source) in
            [("0:40", "/dev/sda:/dev/sdb"), ("8:0", "/dev/sda:/dev/sdb"), ("0:40", "/dev/sdb")]
        {
            let layers = |tree: &Tree| tree.inventory().layers;
            tree.file("proc/self/mountinfo", &line(number, source));
            if layers(&tree).is_empty() {
                let member =
                    |n: u32| format!("sys/fs/bcachefs/5b1c2f6e-2d8a-4a4e-9f0e-1d2c3b4a5968/dev-{n}/block");
                tree.link(&member(0), "../../../../block/sda").link(&member(1), "../../../../block/sdb");
                tree.file("sys/fs/bcachefs/5b1c2f6e-2d8a-4a4e-9f0e-1d2c3b4a5968/dev-2/label", "away\n");
            }
            let inventory = tree.inventory();
            let on: Vec<&str> = inventory.drives_of(&inventory.mounts[0]).iter().map(|d| &*d.name).collect();
            assert_eq!(on, ["sda", "sdb"], "{number} {source}");
            assert_eq!(
                (layers(&tree)[0].kind.as_str(), &layers(&tree)[0].members[..]),
                ("bcachefs", &["sda", "sdb"].map(str::to_owned)[..])
            );
            let holds = |name: &str| {
                let drive = inventory.drives.iter().find(|d| d.name == name).expect("a drive");
                drive.content.filesystem.as_deref()
            };
            assert_eq!(["sda", "sdb", "sdc"].map(holds), [Some("bcachefs"), Some("bcachefs"), None]);
        }
    }

    #[test]
    fn decodes_what_udev_escapes() {
        assert_eq!(decode_hex(r"my\x20photos"), "my photos");
        assert_eq!(decode_hex(r"\x1b[31m\xc3\xa4\x"), "[31mä\\x");
        assert_eq!(decode_hex(r"a\xzz\"), r"a\xzz\");
    }

    #[test]
    fn impossible_block_sizes_are_replaced() {
        let mut tree = Tree::empty();
        tree.disk("pci/x", "sda", "8:0", 4096).file("sys/block/sda/queue/logical_block_size", "0\n");
        tree.file("sys/block/sda/queue/physical_block_size", "4096\n");
        let drive = &tree.inventory().drives[0];
        assert_eq!((drive.logical_block, drive.physical_block), (512, 4096));
    }
}
