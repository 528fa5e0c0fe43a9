//! Pools over drives of known sizes.

use super::{Build, Request};
use crate::{
    inventory::{Drive, Inventory},
    testing::request,
    units::Layout,
};

/// The sticks of the first post.
fn sticks() -> Vec<Drive> {
    let stick = |(at, sectors): (usize, &u64)| Drive {
        name: format!("sd{}", char::from(b'a' + at as u8)),
        model: Some("Cruzer Blade".to_owned()),
        serial: Some(format!("4C530001010{at}")),
        sectors: *sectors,
        logical_block: 512,
        ..Drive::default()
    };
    [121_077_760, 121_077_760, 121_077_761, 483_321_640].iter().enumerate().map(stick).collect()
}

fn plan(request: Request, drives: &[Drive]) -> Result<Build, String> {
    request.plan(&Inventory::default(), &drives.iter().collect::<Vec<_>>())
}

fn commands(build: &Build, drives: &[Drive]) -> String {
    let paths: Vec<String> = drives.iter().map(Drive::node).collect();
    build.steps().into_iter().map(|step| build.change(step, &paths).to_string() + "\n").collect()
}

#[test]
fn the_commands_of_each_layout() {
    let drives = sticks();
    let text = Layout::ALL.map(|layout| {
        let build = plan(request(layout), &drives).expect("can be built");
        format!("{layout}, {} sectors:\n{}", build.capacity, commands(&build, &drives))
    });
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn pools_that_can_t_be_built_are_refused_with_the_reason() {
    let drives = sticks();
    let mut twice = drives.clone();
    twice[1] = twice[0].clone();
    let mut blocks = drives.clone();
    blocks[2].logical_block = 4096;
    let mut tiny = drives.clone();
    tiny[3].sectors = 50_000;
    let refused = |change: fn(&mut Request), drives: &[Drive]| {
        let mut request = request(Layout::Raid5);
        change(&mut request);
        plan(request, drives).expect_err("refused")
    };
    let lines = [
        refused(|r| r.layout = Layout::Raid6, &drives[..3]),
        refused(|_| {}, &twice),
        refused(|r| r.layout = Layout::Linear, &blocks),
        refused(|_| {}, &tiny),
        refused(|r| r.chunk = 5000, &drives),
        refused(|r| r.name = "Data".to_owned(), &drives),
    ];
    insta::assert_snapshot!(lines.join("\n"));
}

/// The content of a disk with two paths would be lost in one of the members.
#[test]
fn two_namespaces_or_two_paths_of_one_disk_are_no_two_drives() {
    let drive = |name: &str, bus: &str, wwid: &str| Drive {
        name: name.to_owned(),
        bus: Some(bus.to_owned()),
        serial: Some("Z1".to_owned()),
        shared_serial: true,
        wwid: Some(wwid.to_owned()),
        sectors: 1 << 21,
        logical_block: 512,
        ..Drive::default()
    };
    let pairs = [
        [drive("nvme0n1", "nvme", "eui.1"), drive("nvme0n2", "nvme", "eui.2")],
        [drive("nvme0n1", "nvme", "eui.1"), drive("nvme1n1", "nvme", "eui.1")],
        [drive("sda", "scsi", "naa.5000c500"), drive("sdb", "scsi", "naa.5000c500")],
    ];
    for layout in [Layout::Linear, Layout::Raid1] {
        for pair in &pairs {
            let why = plan(request(layout), pair).expect_err("refused");
            assert!(why.contains("one piece of hardware"), "{layout} {pair:?}: {why}");
        }
    }
    // Two sticks with one serial are two drives.
    let twins = [drive("sda", "usb", ""), drive("sdb", "usb", "")].map(|drive| Drive { wwid: None, ..drive });
    plan(request(Layout::Raid1), &twins).expect("are two");
}

#[test]
fn the_lines_that_bring_a_pool_back() {
    let drives = sticks();
    let links: Vec<String> = drives
        .iter()
        .map(|drive| format!("/dev/disk/by-id/usb-{}-0:0", drive.node().trim_start_matches("/dev/")))
        .collect();
    let text = [Layout::Linear, Layout::Raid0, Layout::Raid5].map(|layout| {
        let build = plan(request(layout), &drives).expect("can be built");
        let unit = build.systemd_unit(&links);
        let fstab = build.fstab("/srv/a b", unit.is_some());
        let lines = [unit, build.mdadm_conf(), Some(fstab)];
        let lines = lines.into_iter().flatten();
        lines.map(|lines| format!("{}:\n{}\n", lines.file, lines.lines.join("\n"))).collect::<String>()
    });
    insta::assert_snapshot!(text.join("\n"));
}

#[test]
fn a_pool_is_started_without_drives_that_it_can_spare() {
    let drives = sticks();
    let paths: Vec<Option<String>> = drives.iter().map(|drive| Some(drive.node())).collect();
    let mut one_less = paths.clone();
    one_less[2] = None;
    let start = |layout: Layout, paths: &[Option<String>]| {
        plan(request(layout), &drives).expect("can be built").start(paths).unwrap_or_default()
    };
    assert!(start(Layout::Linear, &paths).starts_with("dmsetup create --concise 'data,drivebench-053f7e0e"));
    assert_eq!([Layout::Linear, Layout::Raid0].map(|layout| start(layout, &one_less)), ["", ""]);
    let uuid = "053f7e0e-069f-b954-415c-8744bbe3e33b";
    assert_eq!(start(Layout::Raid5, &paths), format!("mdadm --assemble /dev/md/data --uuid {uuid}"));
    assert_eq!(start(Layout::Raid5, &one_less), format!("mdadm --assemble /dev/md/data --uuid {uuid} --run"));
}
