//! From a filesystem or block device down to the drives that carry it.

use super::{Content, Drive, Inventory, Layer, Mount, Partition, drive::node};

/// A block device of the inventory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Block<'a> {
    /// A whole drive.
    Drive(&'a Drive),
    /// A part of a drive.
    Partition(&'a Drive, &'a Partition),
    /// Made of others.
    Layer(&'a Layer),
}

/// What carries a filesystem or block device, from the top down, each once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Under<'a> {
    /// The drives.
    pub drives: Vec<&'a Drive>,
    /// What lies between.
    pub layers: Vec<&'a Layer>,
}

impl Inventory {
    /// All block devices.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        let drives = self.drives.iter().flat_map(|drive| {
            let parts = drive.partitions.iter().map(move |part| Block::Partition(drive, part));
            std::iter::once(Block::Drive(drive)).chain(parts)
        });
        drives.chain(self.layers.iter().map(Block::Layer))
    }

    /// The block device with this number (major, minor).
    pub fn block(&self, device: (u32, u32)) -> Option<Block<'_>> {
        self.blocks().find(|block| device != (0, 0) && block.device() == device)
    }

    /// The drives that carry the block device with this number, through all layers.
    pub fn drives_under(&self, device: (u32, u32)) -> Vec<&Drive> {
        self.under(self.block(device)).drives
    }

    /// The drives that carry a mounted filesystem; none where it has none, such as tmpfs or a network filesystem.
    pub fn drives_of(&self, mount: &Mount) -> Vec<&Drive> {
        self.under_mount(mount).drives
    }

    /// The drives that carry a mounted filesystem, and the layers between.
    pub fn under_mount(&self, mount: &Mount) -> Under<'_> {
        self.under(self.blocks_of(mount))
    }

    /// The block devices a mounted filesystem stands on: one, but for btrfs and bcachefs over several.
    pub fn blocks_of(&self, mount: &Mount) -> Vec<Block<'_>> {
        self.blocks_of_at(mount, 0)
    }

    fn blocks_of_at(&self, mount: &Mount, depth: u32) -> Vec<Block<'_>> {
        if let Some(block) = self.block(mount.device) {
            return vec![block];
        }
        // btrfs and overlays have device numbers of their own; their source or upper directory tells more.
        let upper = mount.options.iter().find_map(|option| option.strip_prefix("upperdir="));
        if let Some(upper) = upper.filter(|_| depth < 4) {
            let below = self.mount_of(upper).filter(|below| below.path != mount.path);
            return below.map(|below| self.blocks_of_at(below, depth + 1)).unwrap_or_default();
        }
        let sources: Vec<Block<'_>> =
            mount.source.split(':').filter_map(|path| self.block_at_path(path)).collect();
        let spanning = self.layers.iter().find(|layer| {
            layer.kind == "btrfs"
                && sources.iter().any(|source| layer.members.iter().any(|member| member == source.name()))
        });
        spanning.map_or(sources, |layer| vec![Block::Layer(layer)])
    }

    /// What carries these block devices.
    pub fn under<'a>(&'a self, blocks: impl IntoIterator<Item = Block<'a>>) -> Under<'a> {
        let mut under = Under::default();
        let mut waiting: Vec<Block<'a>> = blocks.into_iter().collect();
        waiting.reverse();
        while let Some(block) = waiting.pop() {
            match block {
                Block::Drive(drive) | Block::Partition(drive, _) => {
                    if !under.drives.iter().any(|seen| seen.name == drive.name) {
                        under.drives.push(drive);
                    }
                }
                Block::Layer(layer) if under.layers.iter().any(|seen| seen.name == layer.name) => {}
                Block::Layer(layer) => {
                    under.layers.push(layer);
                    let members = layer.members.iter().rev();
                    waiting
                        .extend(members.filter_map(|name| self.blocks().find(|block| block.name() == name)));
                }
            }
        }
        under
    }

    /// The mount that a path (absolute, without links) lies on: the deepest, and of those the last.
    pub fn mount_of(&self, path: &str) -> Option<&Mount> {
        let path = std::path::Path::new(path);
        let over = self.mounts.iter().filter(|mount| path.starts_with(&mount.path));
        over.max_by_key(|mount| std::path::Path::new(&mount.path).components().count())
    }

    /// The mount that a path lies on whose files have this device number. A path alone can mislead where one mount
    /// hides another; a number alone where btrfs gives each subvolume its own.
    pub fn mount_at(&self, path: &str, device: (u32, u32)) -> Option<&Mount> {
        let over = |mount: &&Mount| std::path::Path::new(path).starts_with(&mount.path);
        let same = self.mounts.iter().filter(|mount| mount.device == device);
        let deepest = same.filter(over).max_by_key(|mount| mount.path.len());
        deepest.or_else(|| self.mount_of(path))
    }

    /// The block device a path in /dev names, by the kernel's name or the device mapper's.
    pub fn block_at_path(&self, path: &str) -> Option<Block<'_>> {
        let name = path.strip_prefix("/dev/")?;
        // /dev/vg-a/home is the mapper's vg--a-home.
        let volume = name
            .split_once('/')
            .map(|(group, volume)| format!("{}-{}", group.replace('-', "--"), volume.replace('-', "--")));
        let alias = name.strip_prefix("mapper/").map(str::to_owned).or(volume);
        self.blocks().find(|block| match block {
            Block::Layer(layer) if alias.is_some() && layer.alias == alias => true,
            _ => block.name() == name.replace('/', "!"),
        })
    }

    /// The drives that are swapped to, through files and layers.
    pub fn swap_drives(&self) -> Vec<&Drive> {
        let mut drives: Vec<&Drive> = Vec::new();
        for swap in &self.swaps {
            let under = match self.block_at_path(swap) {
                Some(block) => self.under([block]),
                None if swap.starts_with("/dev/") => continue,
                None => self.mount_of(swap).map(|mount| self.under_mount(mount)).unwrap_or_default(),
            };
            for drive in under.drives {
                if !drives.iter().any(|seen| seen.name == drive.name) {
                    drives.push(drive);
                }
            }
        }
        drives
    }
}

impl<'a> Block<'a> {
    /// The kernel's name of today.
    pub fn name(&self) -> &'a str {
        match self {
            Self::Drive(drive) => &drive.name,
            Self::Partition(_, part) => &part.name,
            Self::Layer(layer) => &layer.name,
        }
    }

    /// Device number (major, minor).
    pub fn device(&self) -> (u32, u32) {
        match self {
            Self::Drive(drive) => drive.device,
            Self::Partition(_, part) => part.device,
            Self::Layer(layer) => layer.device,
        }
    }

    /// What stands on it.
    pub fn content(&self) -> &'a Content {
        match self {
            Self::Drive(drive) => &drive.content,
            Self::Partition(_, part) => &part.content,
            Self::Layer(layer) => &layer.content,
        }
    }

    /// Smallest unit that can be addressed, bytes.
    pub fn logical_block(&self) -> u32 {
        match self {
            Self::Drive(drive) | Self::Partition(drive, _) => drive.logical_block,
            Self::Layer(layer) => layer.logical_block,
        }
    }

    /// Size, bytes.
    pub fn bytes(&self) -> u64 {
        let sectors = match self {
            Self::Drive(drive) => drive.sectors,
            Self::Partition(_, part) => part.sectors,
            Self::Layer(layer) => layer.sectors,
        };
        sectors.saturating_mul(512)
    }

    /// Its device node.
    pub fn path(&self) -> String {
        node(self.name())
    }
}
