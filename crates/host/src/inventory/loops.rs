//! Loop devices: block devices whose content is a file.

use super::{Inventory, Layer, Mount, blocks::read_layer};
use crate::sysroot::Sysroot;

/// The kind of their layers.
const KIND: &str = "loop";

/// Adds the loop devices that have a file, and their partitions, above the drives that hold the file.
pub(super) fn add(root: &Sysroot, inventory: &mut Inventory) {
    let mut files = Vec::new();
    for name in root.list("/sys/block").into_iter().filter(|name| name.starts_with(KIND)) {
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
        self.kind == KIND
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
