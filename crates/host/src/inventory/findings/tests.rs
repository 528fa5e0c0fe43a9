//! Findings of whole machines.

use super::{Code, Finding};
use crate::{
    inventory::{Drive, Inventory, fixtures},
    units::{Health, Warning},
};

/// A code as programs read it.
fn name(code: Code) -> String {
    serde_json::to_value(code).expect("JSON").as_str().expect("text").to_owned()
}

fn codes(inventory: &Inventory) -> Vec<(String, String)> {
    inventory.findings().iter().map(|finding| (name(finding.code), finding.drives.join(" "))).collect()
}

fn is(code: &str, drives: &str) -> (String, String) {
    (code.to_owned(), drives.to_owned())
}

fn find(inventory: &Inventory, code: &str) -> Option<Finding> {
    inventory.findings().into_iter().find(|finding| name(finding.code) == code)
}

#[test]
fn findings_of_each_machine() {
    let of = |tree: fixtures::Tree| codes(&tree.inventory());
    assert_eq!(of(fixtures::virtual_machine()), []);
    assert_eq!(of(fixtures::pi_zero()), [is("undervoltage", ""), is("shared-bus", "sda sdc sdd sdb")]);
    assert_eq!(
        of(fixtures::pi_3()),
        [
            is("shared-bus", "sda sdb"),
            is("misaligned-partition", "sda"),
            is("autosuspend", "sdb"),
            is("made-up-serial", "sdb")
        ],
        "no USB 3 port, no UAS"
    );
    assert_eq!(of(fixtures::pi_3_plus()), [is("shared-bus", "sda")], "with Ethernet");
    assert_eq!(
        of(fixtures::pi_4()),
        [is("usb-power", "sdb sda"), is("shared-bus", "sdb sda"), is("usb3-on-usb2", "sdb")]
    );
    assert_eq!(
        of(fixtures::pi_5()),
        [is("usb-power", "sda sdb"), is("slow-link", "nvme0n1")],
        "nothing is shared"
    );
    assert_eq!(of(fixtures::pc()), []);
    assert_eq!(
        of(fixtures::mini_pc()),
        [
            is("shared-bus", "sdb sdc"),
            is("uas-unused", "sdb"),
            is("misaligned-partition", "sdb"),
            is("uas-unused", "sdc"),
            is("misaligned-partition", "sdc")
        ]
    );
    assert_eq!(
        of(fixtures::server()),
        [is("shared-bus", "nvme0n1 nvme1n1"), is("shared-bus", "sda sdb sdc sdd")]
    );
    assert_eq!(
        of(fixtures::twins()),
        [is("shared-bus", "sda sdb"), is("no-serial", "sdc"), is("shared-serial", "sda sdb")]
    );
}

#[test]
fn uas_findings_know_bridges_without_uas() {
    let mut inventory = fixtures::mini_pc().inventory();
    inventory.drives.truncate(2);
    let usb = |inventory: &mut Inventory, id: &str, driver: &str| {
        let drive = &mut inventory.drives[1];
        drive.driver = Some(driver.to_owned());
        drive.usb.as_mut().expect("a USB drive").id = id.to_owned();
    };
    usb(&mut inventory, "1058:25a3", "usb-storage");
    assert!(find(&inventory, "uas-unused").expect("a finding").advice.contains("a quirk for 1058:25a3"));
    for id in ["2537:1068", "174c:55aa"] {
        usb(&mut inventory, id, "usb-storage");
        assert_eq!(find(&inventory, "uas-unused"), None, "{id}");
    }
}

#[test]
fn drives_on_a_powered_hub_do_not_count() {
    let mut inventory = fixtures::pi_4().inventory();
    assert!(find(&inventory, "usb-power").is_some(), "a hub on the board doesn't count");
    let mut outside =
        inventory.buses.iter().find(|bus| bus.id.ends_with("usbv2-1")).expect("the hub").clone();
    outside.parent = Some(outside.id.clone());
    outside.id += ".3";
    for drive in inventory.drives.iter_mut().filter(|drive| drive.name == "sdb") {
        drive.upstream = Some(outside.id.clone());
    }
    inventory.buses.push(outside);
    assert_eq!(find(&inventory, "usb-power"), None);
}

/// Codes and sentences of the findings on a drive with this health.
fn said(health: Health) -> Vec<(String, String)> {
    let drive = Drive { name: "nvme0n1".to_owned(), health: Some(health), ..Drive::default() };
    let inventory = Inventory { drives: vec![drive], ..Inventory::default() };
    inventory.findings().into_iter().map(|finding| (name(finding.code), finding.what)).collect()
}

#[test]
fn warnings_of_nvme_are_named_and_heat_alone_is_no_failure() {
    let warns = |warnings: &[Warning]| {
        said(Health { passed: Some(false), warnings: warnings.to_vec(), ..Health::default() })
    };
    let label = "drive nvme0n1 (no serial)";
    let backup = format!("{label} reports that it is failing (backup of its volatile memory failed).");
    assert_eq!(warns(&[Warning::Backup]), [is("failing", &backup)]);
    let hot = format!("{label} reports a temperature outside its limits.");
    assert_eq!(warns(&[Warning::Temperature]), [is("drive-temperature", &hot)]);
    let both = warns(&[Warning::Temperature, Warning::ReadOnly]);
    assert_eq!(both.len(), 1);
    assert_eq!(both[0].0, "failing");
}

#[test]
fn failed_self_tests_are_found_and_logged_errors_are_not() {
    let failed = said(Health { self_test: Some("Completed: read failure".to_owned()), ..Health::default() });
    let what = "drive nvme0n1 (no serial) failed its last self-test (Completed: read failure).";
    assert_eq!(failed, [is("self-test", what)]);
    assert_eq!(said(Health { logged_errors: Some(12), ..Health::default() }), []);
}

#[test]
fn partitions_that_hold_nothing_are_never_misaligned() {
    let mut tree = fixtures::Tree::empty();
    tree.disk("pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0", "sda", "8:0", 1 << 30);
    tree.partition("sda", "sda1", "8:1", 2048, 1 << 20).partition("sda", "sda2", "8:2", (1 << 20) + 4095, 2);
    tree.partition("sda", "sda5", "8:5", (1 << 20) + 6144, 1 << 20);
    assert_eq!(codes(&tree.inventory()), []);
    tree.file("run/udev/data/b8:2", "E:ID_FS_TYPE=ext4\n");
    assert_eq!(codes(&tree.inventory()), [is("misaligned-partition", "sda")], "a filesystem");
}

#[test]
fn parts_of_one_drive_share_nothing_and_have_one_serial() {
    let mut inventory = fixtures::server().inventory();
    let mut second = inventory.drives.iter().find(|d| d.name == "nvme0n1").expect("a drive").clone();
    second.name = "nvme0n2".to_owned();
    inventory.drives.retain(|d| d.name == "nvme0n1");
    inventory.drives.push(second);
    for drive in &mut inventory.drives {
        drive.shared_serial = true;
    }
    assert_eq!(codes(&inventory), []);
    inventory.drives[1].name = "nvme1n1".to_owned();
    inventory.drives[1].wwid = Some("eui.0025388b71b0a2c3".to_owned());
    assert_eq!(
        codes(&inventory).iter().map(|(code, _)| code.as_str()).collect::<Vec<_>>(),
        ["shared-bus", "shared-serial"]
    );
}
