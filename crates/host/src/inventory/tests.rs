//! Whole machines, read from trees.

use std::time::Instant;

use super::{Block, Drive, Inventory, fixtures};

fn drive<'a>(inventory: &'a Inventory, name: &str) -> &'a Drive {
    inventory.drives.iter().find(|drive| drive.name == name).expect("the drive")
}

fn names<'a>(drives: &[&'a Drive]) -> Vec<&'a str> {
    drives.iter().map(|drive| drive.name.as_str()).collect()
}

fn under(inventory: &Inventory, path: &str) -> (Vec<String>, Vec<String>) {
    let mount = inventory.mount_of(path).expect("a mount");
    let stack = inventory.stack_of(inventory.blocks_of(mount));
    let layers = stack.layers.iter().map(|layer| layer.name.clone()).collect();
    (stack.drives.iter().map(|drive| drive.name.clone()).collect(), layers)
}

#[test]
fn a_virtual_machine_with_a_filesystem_on_the_whole_drive() {
    let inventory = fixtures::virtual_machine().inventory();
    assert_eq!(inventory.drives.len(), 1);
    let vda = drive(&inventory, "vda");
    assert_eq!(vda.label(), "virtio drive vda (no serial)");
    assert_eq!(vda.identity(), "unnamed+536870912@0000:00:02.0");
    assert_eq!(vda.content.filesystem.as_deref(), Some("ext4"));
    assert_eq!((vda.driver.as_deref(), vda.vendor.as_deref()), (Some("virtio_blk"), None));
    assert_eq!(names(&inventory.stack_of(inventory.block((254, 0))).drives), ["vda"]);
    assert_eq!(under(&inventory, "/home/me").0, ["vda"]);
    assert_eq!(under(&inventory, "/var/lib/docker/overlay2/m/merged/etc").0, ["vda"], "through the overlay");
    assert!(under(&inventory, "/dev/shm").0.is_empty());
    assert_eq!(inventory.machine.memory, Some(24_682_416 * 1024));
    assert_eq!(inventory.machine.cpus, Some(2));
}

#[test]
fn a_pi_zero_with_four_sticks() {
    let inventory = fixtures::pi_zero().inventory();
    let bays: Vec<_> = inventory.drives.iter().map(|drive| drive.bay.as_deref().unwrap_or("?")).collect();
    assert_eq!(bays, ["SD slot", "1.1", "1.2", "1.3", "1.4"]);
    let sda = drive(&inventory, "sda");
    assert_eq!(sda.label(), "Cruzer Blade 4C530001 in bay 1.1");
    assert_eq!(sda.identity(), "4C530001+121077760");
    assert_eq!(sda.controller.as_deref(), Some("3f980000.usb-usbv2"));
    assert_eq!((sda.link_mbps, sda.bus_mbps), (Some(480.0), Some(480.0)));
    assert_eq!((sda.driver.as_deref(), sda.vendor.as_deref()), (Some("usb-storage"), Some("SanDisk")));
    assert_eq!(sda.partitions[0].content.label.as_deref(), Some("media 1"));
    assert_eq!(drive(&inventory, "mmcblk0").label(), "SC32G 0x1f3a5b22 in the SD slot");
    assert_eq!(drive(&inventory, "mmcblk0").driver.as_deref(), Some("mmcblk"));
    assert_eq!(names(&inventory.swap_drives()), ["mmcblk0"], "swap in a file");
    assert_eq!(inventory.machine.throttled, Some(0x50005));
    assert_eq!(inventory.machine.system.as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
}

#[test]
fn a_pi_4_with_btrfs_on_a_usb_ssd() {
    let inventory = fixtures::pi_4().inventory();
    let sda = drive(&inventory, "sda");
    assert_eq!((sda.driver.as_deref(), sda.bay.as_deref()), (Some("uas"), Some("1")));
    assert_eq!((sda.link_mbps, sda.physical_block), (Some(5000.0), 4096));
    assert_eq!(sda.controller.as_deref(), Some("0000:01:00.0-usbv3"));
    assert_eq!(under(&inventory, "/srv/data/x").0, ["sda"], "btrfs has its own device number");
    assert!(under(&inventory, "/mnt/nas").0.is_empty());
    assert_eq!(inventory.machine.temperature, Some(81.303));
}

#[test]
fn a_pc_with_raid_encryption_and_volumes() {
    let inventory = fixtures::pc().inventory();
    let nvme = drive(&inventory, "nvme0n1");
    assert_eq!(nvme.label(), "Samsung SSD 970 EVO Plus 500GB S4EVNF0M512345B");
    assert_eq!((nvme.bay.as_deref(), nvme.driver.as_deref()), (Some("0000:03:00.0"), Some("nvme")));
    assert_eq!((nvme.link_mbps, nvme.holders.as_slice()), (Some(31508.0), &["dm-0".to_owned()][..]));
    assert_eq!(nvme.wwid.as_deref(), Some("eui.0025385a91b0c7e1"));
    let sdb = drive(&inventory, "sdb");
    assert_eq!(
        (sdb.bus.as_deref(), sdb.bay.as_deref(), sdb.link_mbps),
        (Some("ata"), Some("ata-2"), Some(6000.0))
    );
    assert_eq!((sdb.serial.as_deref(), sdb.vendor.as_deref()), (Some("WD-WCC7K7654321"), None));
    assert_eq!(sdb.driver.as_deref(), Some("ahci"));
    assert_eq!(
        under(&inventory, "/"),
        (vec!["nvme0n1".to_owned()], vec!["dm-1".to_owned(), "dm-0".to_owned()])
    );
    assert_eq!(
        under(&inventory, "/srv/x"),
        (vec!["sda".to_owned(), "sdb".to_owned()], vec!["md0".to_owned()])
    );
    let kinds: Vec<_> = inventory.layers.iter().map(|layer| layer.kind.as_str()).collect();
    assert_eq!(kinds, ["crypt", "lvm", "lvm", "raid1"]);
    assert_eq!(names(&inventory.swap_drives()), ["nvme0n1"], "swap through lvm and encryption");
    for path in ["/dev/mapper/pc--vg-root", "/dev/pc-vg/root", "/dev/dm-1"] {
        assert!(
            matches!(inventory.block_at_path(path), Some(Block::Layer(layer)) if layer.name == "dm-1"),
            "{path}"
        );
    }
    assert_eq!(inventory.machine.board.as_deref(), Some("ASUS PRIME B450M-A"));
}

#[test]
fn drives_with_the_same_serial_are_identified_by_bay() {
    let inventory = fixtures::twins().inventory();
    let [a, b, c] = [drive(&inventory, "sda"), drive(&inventory, "sdb"), drive(&inventory, "sdc")];
    assert!(a.shared_serial && b.shared_serial && !c.shared_serial);
    assert_eq!(a.identity(), "0123456789ABCDEF+15728640@0000:00:14.0-usbv2-3");
    assert_eq!(c.identity(), "unnamed+31457280@0000:00:14.0-usbv3-3");
    assert_eq!((a.bay.as_deref(), c.bay.as_deref()), (Some("3"), Some("3")));
    assert_eq!(
        names(&inventory.drives.iter().collect::<Vec<_>>()),
        ["sda", "sdb", "sdc"],
        "bay 3 before bay 10"
    );
    assert!(b.read_only);
}

#[test]
fn a_btrfs_on_two_drives_has_both() {
    let mut tree = fixtures::twins();
    for name in ["sda", "sdc"] {
        tree.file(&format!("sys/fs/btrfs/0a1b-2c/devices/{name}/size"), "1\n");
    }
    tree.file("sys/fs/btrfs/0a1b-2c/label", "pool\n").file("sys/fs/btrfs/features/raid1c34", "0\n");
    tree.file("proc/self/mountinfo", "47 24 0:49 / /pool rw - btrfs /dev/sdc rw,subvol=/\n");
    assert_eq!(under(&tree.inventory(), "/pool").0, ["sda", "sdc"]);
}

#[test]
fn a_cycle_of_layers_ends() {
    let mut tree = fixtures::pc();
    tree.file("sys/block/dm-0/slaves/dm-1/size", "1\n");
    let inventory = tree.inventory();
    assert_eq!(names(&inventory.stack_of(inventory.block((253, 1))).drives), ["nvme0n1"]);
}

#[test]
fn an_inventory_round_trips_through_json() {
    for (_, tree) in fixtures::ALL {
        let inventory = Inventory { unread: Vec::new(), ..tree().inventory() };
        let text = serde_json::to_string(&inventory).expect("JSON");
        assert_eq!(serde_json::from_str::<Inventory>(&text).expect("an inventory"), inventory);
    }
}

/// Prints the time to read 24 drives; run by hand with `--nocapture`.
#[test]
fn twenty_four_drives() {
    let mut tree = fixtures::twins();
    for n in 0..21 {
        let port = format!("pci0000:00/0000:00:14.0/usb1/1-1/1-1.{n}/1-1.{n}:1.0/host0/target0:0:0/0:0:0:0");
        let name = format!("sd{}", char::from(b'd' + n));
        tree.disk(&port, &name, &format!("8:{}", 48 + 16 * u32::from(n)), 31_457_280);
    }
    let started = Instant::now();
    let inventory = tree.inventory();
    println!("24 drives read in {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    assert_eq!(inventory.drives.len(), 24);
}
