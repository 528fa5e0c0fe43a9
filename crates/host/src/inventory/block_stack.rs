//! Finds the drives below a filesystem or block device.

use std::{collections::BTreeSet, path::Path};

use super::{
    Drive, Inventory, Layer, Mount, Partition, Signature, blocks::zfs_pool, drive::node, mounts::deepest,
};

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
