//! Which layouts are proposed, and what is said of arrays.

use super::{
    testing::{alone, drive, holds, load, mount, of, said, two_sticks, within},
    *,
};
use crate::{
    inventory::{Drive, Inventory, Layer},
    units::{MIB, Pool},
};

#[test]
fn layouts_use_the_smallest_size_and_leave_out_others() {
    let layout = |sectors: &[u64]| {
        let (mut inventory, _) = two_sticks();
        let stick = drive(&inventory, "sda").clone();
        inventory.drives.retain(|d| d.name == "mmcblk0");
        for (i, sectors) in sectors.iter().enumerate() {
            let name = format!("sd{}", (b'a' + i as u8) as char);
            let (serial, device) = (Some(format!("4C53000{i}")), (8, i as u32 * 16));
            inventory.drives.push(Drive { name, serial, device, sectors: *sectors, ..stick.clone() });
        }
        said(&advise(&inventory, &[]), Topic::Layout)
    };
    let gb = |n: u64| n * 1_000_000_000 / 512;
    holds(&layout(&[gb(62), gb(62) + 1]), &["raid1", "62.0 GB of 124 GB usable, one may fail"]);
    holds(&layout(&[gb(62), gb(124)]), &["raid1", "62.0 GB of 186 GB", "62.0 GB would be unused"]);
    holds(&layout(&[gb(62), gb(62), gb(62)]), &["raid5", "124 GB of 186 GB", "parity"]);
    holds(&layout(&[gb(62), gb(62), gb(62), gb(62)]), &["raid10", "124 GB of 248 GB"]);
    holds(
        &layout(&[gb(62); 5]),
        &["raid6 of the 5 drives of 62.0 GB", "186 GB of 310 GB usable, any two may fail"],
    );
    holds(
        &layout(&[gb(62), gb(62), gb(8)]),
        &["raid1", "62.0 GB of 124 GB", "Left out because of another size: Cruzer Blade"],
    );
    holds(&layout(&[gb(62)]), &["alone: a layout needs two drives or more"]);
    holds(&layout(&[]), &["No drives to build from"]);
}

#[test]
fn a_run_that_measured_layouts_of_these_drives_is_named() {
    let (inventory, _) = two_sticks();
    let layout = |run: &str, drives: &[&str]| {
        let single = alone(&inventory, run, "sda", load(true, MIB, 1), within(15.0, 0.02), None);
        let about = of(&inventory, run, drives);
        let evidence =
            Evidence { target: "raid1".to_owned(), load: single.load, numbers: single.numbers, ..about };
        said(&advise(&inventory, &[evidence]), Topic::Layout)
    };
    holds(&layout("r2", &["sda", "sdb"]), &["Layouts of these drives were measured: drivebench show r2."]);
    holds(&layout("r2", &["sda"]), &["Predicted, not measured."]);
}

/// Two drives like this one, each with a change.
fn pair(template: &Drive, change: [&dyn Fn(&mut Drive); 2]) -> Inventory {
    let mut inventory = two_sticks().0;
    inventory.drives.retain(|d| d.name == "mmcblk0");
    for (i, change) in change.into_iter().enumerate() {
        let mut drive = Drive {
            name: format!("sd{}", ["a", "b"][i]),
            device: (8, i as u32 * 16),
            serial: Some(format!("S{i}")),
            model: Some(format!("Model {i}")),
            sectors: 1 << 30,
            ..template.clone()
        };
        change(&mut drive);
        inventory.drives.push(drive);
    }
    inventory
}

#[test]
fn no_layout_is_proposed_over_one_drive_or_drives_without_hardware() {
    let layout = |inventory: &Inventory| said(&advise(inventory, &[]), Topic::Layout);
    let of = |bus: &str| Drive { bus: Some(bus.to_owned()), ..Drive::default() };
    let same: &dyn Fn(&mut Drive) = &|_| {};
    holds(&layout(&pair(&of("ata"), [same, same])), &["raid1 of Model 0 and Model 1"]);
    let namespaces =
        pair(&of("nvme"), [&|d| d.name = "nvme0n1".to_owned(), &|d| d.name = "nvme0n2".to_owned()]);
    holds(&layout(&namespaces), &["alone: a layout needs two drives or more"]);
    holds(&said(&advise(&namespaces, &[]), Topic::Data), &["Keep a copy elsewhere."]);
    let path: &dyn Fn(&mut Drive) = &|d| d.wwid = Some("naa.5000c500a1b2c3d4".to_owned());
    holds(&layout(&pair(&of("scsi"), [path, path])), &["alone: a layout needs two drives or more"]);
    let none = "No drives to build from";
    holds(&layout(&pair(&of("virtio"), [same, same])), &[none]);
    holds(
        &layout(&pair(&Drive::default(), [&|d| d.name = "nbd0".to_owned(), &|d| d.name = "rbd0".to_owned()])),
        &[none],
    );
    let model = |name: &'static str| move |d: &mut Drive| d.model = Some(name.to_owned());
    holds(&layout(&pair(&of("ata"), [&model("QEMU HARDDISK"), &model("VBOX HARDDISK")])), &[none]);
    let tests = pair(&of("scsi"), [&model("scsi_debug"), &|d| d.name = "nullb0".to_owned()]);
    holds(&layout(&tests), &["No drives to build from"]);
    let mut lab = pair(&of("virtio"), [same, same]);
    lab.machine.lab = Some("twins".to_owned());
    holds(&layout(&lab), &["raid1"]);
}

#[test]
fn another_namespace_of_the_boot_drive_is_no_other_boot_drive() {
    let template = Drive { bus: Some("nvme".to_owned()), ..Drive::default() };
    let boot = |second: &'static str| {
        let name = |name: &'static str| move |d: &mut Drive| d.name = name.to_owned();
        let mut inventory = pair(&template, [&name("nvme0n1"), &name(second)]);
        inventory.drives.retain(|d| d.name != "mmcblk0");
        (inventory.machine, inventory.mounts) = Default::default();
        mount(&mut inventory, "nvme0n1", "/");
        advise(&inventory, &[]).into_iter().find(|a| a.topic == Topic::Boot).expect("an answer").decide
    };
    assert_eq!(boot("nvme1n1").as_deref(), Some("run baseline /dev/nvme0n1 /dev/nvme1n1"));
    assert_eq!(boot("nvme0n2"), None);
}

#[test]
fn a_layout_that_wastes_most_of_its_drives_is_not_proposed() {
    let gb = |n: u64| n * 1_000_000_000 / 512;
    let sizes = |a: u64, b: u64| {
        let template = Drive { bus: Some("ata".to_owned()), ..Drive::default() };
        let inventory = pair(&template, [&|d| d.sectors = gb(a), &|d| d.sectors = gb(b)]);
        advise(&inventory, &[]).into_iter().find(|a| a.topic == Topic::Layout).expect("an answer").says
    };
    holds(&sizes(4000, 8000), &["raid1", "one may fail; 4.00 TB would be unused."]);
    holds(&sizes(32, 4000), &["No layout", "differ too much, 3.97 TB of 4.03 TB would be unused."]);
    assert!(!sizes(4000, 4001).contains("unused"));
}

#[test]
fn an_array_survives_only_what_its_drives_allow() {
    let members = |kind: &str, names: &[&str]| {
        let template = Drive { bus: Some("nvme".to_owned()), ..Drive::default() };
        let same: &dyn Fn(&mut Drive) = &|_| {};
        let mut inventory = pair(&template, [same, same]);
        let one = inventory.drives.pop().expect("a drive");
        inventory.drives.retain(|d| d.name == "mmcblk0");
        for (i, name) in names.iter().enumerate() {
            let (name, device) = ((*name).to_owned(), (259, i as u32));
            inventory.drives.push(Drive { name, device, serial: Some(format!("S{i}")), ..one.clone() });
        }
        inventory.layers.push(Layer {
            name: "md0".to_owned(),
            kind: kind.to_owned(),
            pool: Some(Pool {
                kind: kind.to_owned(),
                layout: Some(kind.to_owned()),
                members: names.len() as u64,
                drives: names.len() as u64,
                ..Pool::default()
            }),
            members: names.iter().map(|name| (*name).to_owned()).collect(),
            device: (9, 0),
            ..Default::default()
        });
        said(&advise(&inventory, &[]), Topic::Data)
    };
    holds(&members("raid1", &["nvme0n1", "nvme1n1"]), &["survives the loss of 1 drive"]);
    holds(&members("raid1", &["nvme0n1", "nvme0n2"]), &["are on one drive"]);
    holds(&members("raid5", &["nvme0n1", "nvme0n2", "nvme1n1"]), &["are on one drive"]);
    holds(
        &members("raid6", &["nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"]),
        &["survives the loss of 2 drives"],
    );
}
