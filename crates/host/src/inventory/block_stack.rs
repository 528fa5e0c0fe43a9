//! Finds the drives below a filesystem or block device.

use std::{collections::BTreeSet, path::Path};

use super::{
    Drive, Inventory, Layer, Mount, Partition, Signature,
    blocks::{read_layer, zfs_pool},
    drive::node,
    mounts::deepest,
};
use crate::sysroot::Sysroot;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Block<'a> {
    Drive(&'a Drive),
    Partition(&'a Drive, &'a Partition),
    Layer(&'a Layer),
}

/// The layers and drives below a filesystem or block device, from the top down, each once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BlockStack<'a> {
    pub drives: Vec<&'a Drive>,
    pub layers: Vec<&'a Layer>,
}

impl Inventory {
    pub fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        let drives = self.drives.iter().flat_map(|drive| {
            let parts = drive.partitions.iter().map(move |part| Block::Partition(drive, part));
            std::iter::once(Block::Drive(drive)).chain(parts)
        });
        drives.chain(self.layers.iter().map(Block::Layer))
    }

    pub fn block(&self, device: (u32, u32)) -> Option<Block<'_>> {
        self.blocks().find(|block| device != (0, 0) && block.device() == device)
    }

    /// The drives below a mounted filesystem; none for tmpfs and network filesystems.
    pub fn drives_of(&self, mount: &Mount) -> Vec<&Drive> {
        self.stack_of(self.blocks_of(mount)).drives
    }

    /// The block devices directly below a mounted filesystem: one, or several for btrfs and bcachefs.
    pub fn blocks_of(&self, mount: &Mount) -> Vec<Block<'_>> {
        self.blocks_of_at(mount, 0)
    }

    fn blocks_of_at(&self, mount: &Mount, depth: u32) -> Vec<Block<'_>> {
        // btrfs and overlays have their own device numbers: look at their source or upper directory.
        let upper = mount.options.iter().find_map(|option| option.strip_prefix("upperdir="));
        if let Some(upper) = upper.filter(|_| depth < 4) {
            let below = self.mount_of(upper).filter(|below| below.path != mount.path);
            return below.map(|below| self.blocks_of_at(below, depth + 1)).unwrap_or_default();
        }
        // A FUSE filesystem of directories or files of others, such as bindfs, mergerfs and images.
        if mount.filesystem.starts_with("fuse") && depth < 4 {
            let sources = || mount.source.split(':');
            if sources().all(|path| path.starts_with('/') && !path.starts_with("/dev/")) {
                let below =
                    sources().filter_map(|path| self.mount_of(path)).filter(|below| below.path != mount.path);
                return below.flat_map(|below| self.blocks_of_at(below, depth + 1)).collect();
            }
        }
        if mount.filesystem == "zfs" {
            let is_pool = |layer: &&Layer| {
                layer.kind == "zfs" && layer.alias.as_deref() == Some(zfs_pool(&mount.source))
            };
            return self.layers.iter().find(is_pool).map(Block::Layer).into_iter().collect();
        }
        let named = mount.source.split(':').filter_map(|path| self.block_at_path(path));
        let own = self.block(mount.device);
        let sources: Vec<Block<'_>> = own.map_or_else(|| named.collect(), |block| vec![block]);
        let spanning = self.layers.iter().find(|layer| {
            matches!(layer.kind.as_str(), "btrfs" | "bcachefs")
                && sources.iter().any(|source| layer.members.iter().any(|member| member == source.name()))
        });
        spanning.map_or(sources, |layer| vec![Block::Layer(layer)])
    }

    pub fn stack_of<'a>(&'a self, blocks: impl IntoIterator<Item = Block<'a>>) -> BlockStack<'a> {
        let mut stack = BlockStack::default();
        let mut pending: Vec<Block<'a>> = blocks.into_iter().collect();
        pending.reverse();
        while let Some(block) = pending.pop() {
            match block {
                Block::Drive(drive) | Block::Partition(drive, _)
                    if stack.drives.iter().all(|seen| seen.name != drive.name) =>
                {
                    stack.drives.push(drive);
                }
                Block::Layer(layer) if stack.layers.iter().all(|seen| seen.name != layer.name) => {
                    stack.layers.push(layer);
                    let member = |name: &String| self.blocks().find(|block| block.name() == name);
                    pending.extend(layer.members.iter().rev().filter_map(member));
                }
                _ => {}
            }
        }
        stack
    }

    pub fn mount_of(&self, path: &str) -> Option<&Mount> {
        deepest(&self.mounts, Path::new(path))
    }

    /// The mount of a path whose files have this device number. The path alone is ambiguous where one mount hides
    /// another, the number alone where btrfs subvolumes have their own.
    pub fn mount_at(&self, path: &str, device: (u32, u32)) -> Option<&Mount> {
        let over = |mount: &&Mount| Path::new(path).starts_with(&mount.path);
        let same = self.mounts.iter().filter(|mount| mount.device == device);
        let deepest = same.filter(over).max_by_key(|mount| mount.path.len());
        deepest.or_else(|| self.mount_of(path))
    }

    /// The block device of a path in /dev, by kernel name or device-mapper name.
    pub fn block_at_path(&self, path: &str) -> Option<Block<'_>> {
        let name = path.strip_prefix("/dev/")?;
        let alias = match name.split_once('/') {
            Some(("mapper", alias)) => Some(alias.to_owned()),
            // /dev/vg-a/home is the mapper's vg--a-home.
            volume => volume.map(|(group, name)| [group, name].map(|part| part.replace('-', "--")).join("-")),
        };
        self.blocks().find(|block| match block {
            Block::Layer(layer) if alias.is_some() && layer.alias == alias => true,
            _ => block.name() == name.replace('/', "!"),
        })
    }

    pub fn drives_of_swap(&self, swap: &str) -> Vec<&Drive> {
        match self.block_at_path(swap) {
            Some(block) => self.stack_of([block]).drives,
            None if swap.starts_with("/dev/") => Vec::new(),
            None => self.mount_of(swap).map(|mount| self.drives_of(mount)).unwrap_or_default(),
        }
    }

    /// The drives that hold swap, through files and layers.
    pub fn swap_drives(&self) -> Vec<&Drive> {
        let mut seen = BTreeSet::new();
        let drives = self.swaps.iter().flat_map(|swap| self.drives_of_swap(swap));
        drives.filter(|drive| seen.insert(&drive.name)).collect()
    }
}

impl<'a> Block<'a> {
    /// Its name, device number, content, and size in sectors of 512 bytes.
    fn parts(&self) -> (&'a str, (u32, u32), &'a Signature, u64) {
        match self {
            Self::Drive(drive) => (&drive.name, drive.device, &drive.content, drive.sectors),
            Self::Partition(_, part) => (&part.name, part.device, &part.content, part.sectors),
            Self::Layer(layer) => (&layer.name, layer.device, &layer.content, layer.sectors),
        }
    }

    pub fn name(&self) -> &'a str {
        self.parts().0
    }

    /// Device number (major, minor).
    pub fn device(&self) -> (u32, u32) {
        self.parts().1
    }

    pub fn content(&self) -> &'a Signature {
        self.parts().2
    }

    pub fn bytes(&self) -> u64 {
        self.parts().3.saturating_mul(512)
    }

    pub fn logical_block(&self) -> u32 {
        match self {
            Self::Drive(drive) | Self::Partition(drive, _) => drive.logical_block,
            Self::Layer(layer) => layer.logical_block,
        }
    }

    pub fn path(&self) -> String {
        node(self.name())
    }
}

/// The kind of layers that are loop devices: block devices whose content is a file.
const LOOP: &str = "loop";

/// Adds the loop devices that have a file, and their partitions, above the drives that hold the file.
pub(super) fn add_loops(root: &Sysroot, inventory: &mut Inventory) {
    let mut files = Vec::new();
    for name in root.list("/sys/block").into_iter().filter(|name| name.starts_with(LOOP)) {
        let Some(dir) = root.real(&format!("/sys/block/{name}")) else { continue };
        let Some(file) = root.word(&format!("{dir}/loop/backing_file")) else { continue };
        let Some(sectors @ 1..) = root.number(&format!("{dir}/size")) else { continue };
        inventory.layers.extend(read_layer(root, &dir, name.clone(), Vec::new(), sectors));
        files.push((name, file));
    }
    // Files may be on filesystems of other loop devices, so all of them must be known first.
    for (name, file) in files {
        let below = inventory.block_at_path(&file).map(|block| vec![block]);
        let below = below.or_else(|| Some(inventory.blocks_of(inventory.mount_of(&file)?)));
        let members = below.unwrap_or_default().iter().map(|block| block.name().to_owned()).collect();
        if let Some(layer) = inventory.layers.iter_mut().find(|layer| layer.name == name) {
            layer.members = members;
        }
    }
}

impl Inventory {
    /// Whether the mounted filesystem is in a file of another one.
    pub fn is_in_a_file(&self, mount: &Mount) -> bool {
        self.stack_of(self.blocks_of(mount)).layers.iter().any(|layer| layer.is_loop())
    }
}

impl Layer {
    pub fn is_loop(&self) -> bool {
        self.kind == LOOP
    }
}

#[cfg(test)]
mod tests {
    use crate::inventory::fixtures;

    #[test]
    fn a_loop_device_is_above_the_drive_that_holds_its_file() {
        let mut tree = fixtures::pi_zero();
        let mut image = |name: &str, number: &str, file: &str| {
            tree.link(&format!("sys/block/{name}"), &format!("../devices/virtual/block/{name}"));
            tree.block(&format!("sys/devices/virtual/block/{name}"), number, 4096);
            tree.file(&format!("sys/devices/virtual/block/{name}/loop/backing_file"), &format!("{file}\n"));
        };
        // The first is in a file of the second's filesystem.
        image("loop0", "7:0", "/mnt/image/inner");
        image("loop1", "7:1", "/mnt/a/an image");
        image("loop2", "7:2", "/mnt/a/other");
        image("loop3", "7:3", "/dev/sdb");
        image("loop4", "7:4", "/memory/image");
        tree.file(
            "proc/self/mountinfo",
            "24 1 179:2 / / rw - ext4 /dev/mmcblk0p2 rw
47 24 8:1 / /mnt/a rw - ext4 /dev/sda1 rw
48 24 7:1 / /mnt/image rw - ext4 /dev/loop1 rw
49 24 0:50 / /memory rw - tmpfs tmpfs rw
50 24 0:51 / /mnt/bound rw - fuse.bindfs /mnt/a/below rw
51 24 0:52 / /mnt/far rw - fuse.sshfs host:/mnt/a rw
",
        );
        let inventory = tree.inventory();
        let drives = |number| {
            let below = inventory.stack_of(inventory.block((7, number))).drives;
            below.iter().map(|drive| drive.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!([0, 1, 2, 3].map(drives), [["sda"], ["sda"], ["sda"], ["sdb"]]);
        assert!(drives(4).is_empty() && inventory.block((7, 4)).is_some());
        let of = |path| inventory.drives_of(inventory.mount_of(path).expect("mounted")).len();
        assert_eq!([of("/mnt/bound"), of("/mnt/far")], [1, 0], "FUSE");
        let image = inventory.mount_of("/mnt/image").expect("mounted");
        assert!(inventory.is_in_a_file(image));
        assert!(!inventory.is_in_a_file(inventory.mount_of("/mnt/a").expect("mounted")));
    }
}
