//! Which drives can be claimed: on captured machines, and on a loop device where the tests run as root.

use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
};

use rustix::fs::{FileType, mknodat};

use super::{refusal::check, *};
use crate::{
    inventory::{Layer, Mount, Signature as Holds, fixtures},
    tools::{self, Replay, System, ToolError},
};

/// The inventory of a captured machine, as if its lists of uses had been captured, too.
fn complete(tree: &fixtures::Tree) -> Inventory {
    Inventory { unread: Vec::new(), ..tree.inventory() }
}

/// The result of claiming a drive of this machine, with these `--erase` arguments.
fn claim_result(inventory: &Inventory, name: &str, erase: &[&str]) -> String {
    let drive = inventory.drives.iter().find(|drive| drive.name == name).expect("a drive");
    let erase: Vec<String> = erase.iter().map(|serial| (*serial).to_owned()).collect();
    match check(inventory, drive, &erase) {
        Ok(()) => "may be erased".to_owned(),
        Err(why) => Refusal::new(drive, why).to_string(),
    }
}

#[test]
fn drives_in_use_are_refused_with_what_to_do() {
    let (pi, pc, mini) =
        (complete(&fixtures::pi_zero()), complete(&fixtures::pc()), complete(&fixtures::mini_pc()));
    let mut mounted = mini.clone();
    mounted.mounts.push(Mount {
        path: "/mnt/usb".to_owned(),
        source: "/dev/sdb1".to_owned(),
        device: mini.drives.iter().find(|d| d.name == "sdb").expect("sdb").partitions[0].device,
        ..Mount::default()
    });
    let mut swapped = mini.clone();
    swapped.swaps.push("/dev/sdb1".to_owned());
    let mut unread = mini.clone();
    unread.unread.push("/proc/swaps".to_owned());
    let mut file = mounted.clone();
    file.swaps.push("/mnt/usb/swap".to_owned());
    let all = ["S4EVNF0M512345B", "WD-WCC7K1234567", "575846314141"];
    insta::assert_snapshot!(
        [
            claim_result(&pi, "mmcblk0", &["0x1f3a5b22"]),
            claim_result(&pc, "nvme0n1", &all),
            claim_result(&pc, "sda", &all),
            claim_result(&mounted, "sdb", &all),
            claim_result(&swapped, "sdb", &all),
            claim_result(&file, "sdb", &all),
            claim_result(&unread, "sdb", &all),
        ]
        .join("\n")
    );
}

/// A PC with an unmounted RAID1, and the same PC with other layers on its disks.
#[test]
fn drives_of_arrays_and_mappings_are_refused() {
    let mut pc = complete(&fixtures::pc());
    pc.mounts.retain(|mount| mount.path != "/srv");
    let built = |kind: &str, alias: Option<&str>| {
        let mut pc = pc.clone();
        let layer = pc.layers.iter_mut().find(|layer| layer.name == "md0").expect("an array");
        *layer = Layer { kind: kind.to_owned(), alias: alias.map(str::to_owned), ..layer.clone() };
        claim_result(&pc, "sda", &["WD-WCC7K1234567"])
    };
    let mut unread = pc.clone();
    unread.layers.clear();
    let kinds = [("raid1", None), ("crypt", Some("vault")), ("lvm", Some("vg--a-home")), ("btrfs", None)];
    let mut lines: Vec<String> = kinds.map(|(kind, alias)| built(kind, alias)).into();
    lines.push(claim_result(&unread, "sda", &["WD-WCC7K1234567"]));
    insta::assert_snapshot!(lines.join("\n"));
}

/// Signatures of programs that use drives, on a drive that is not in use, and what is built on it while they use it.
#[test]
fn each_signature_and_each_layer_is_a_reason_to_refuse() {
    let mini = complete(&fixtures::mini_pc());
    let mut lines = Vec::new();
    for signature in
        ["LVM2_member", "crypto_LUKS", "bcachefs", "linux_raid_member", "zfs_member", "swap", "btrfs"]
    {
        let mut with = mini.clone();
        let drive = with.drives.iter_mut().find(|drive| drive.name == "sdb").expect("sdb");
        drive.partitions.clear();
        drive.content.filesystem = Some(signature.to_owned());
        lines.push(claim_result(&with, "sdb", &[]));
    }
    for (kind, alias) in
        [("dm", Some("joined")), ("lvm", Some("vg-home")), ("crypt", Some("vault")), ("bcachefs", None)]
    {
        let mut with = mini.clone();
        let layer = Layer {
            kind: kind.to_owned(),
            name: "dm-0".to_owned(),
            alias: alias.map(str::to_owned),
            members: vec!["sdb1".to_owned()],
            ..Layer::default()
        };
        with.layers.push(layer);
        lines.push(claim_result(&with, "sdb", &["575846314141"]));
    }
    insta::assert_snapshot!(lines.join("\n"));
}

/// A SAS disk that is connected twice, without multipath.
#[test]
fn a_disk_that_is_in_use_through_its_other_path_is_refused() {
    let path = |name: &str, minor: u32| Drive {
        name: name.to_owned(),
        device: (8, minor),
        bus: Some("scsi".to_owned()),
        bay: Some(format!("port {minor}")),
        serial: Some("Z1".to_owned()),
        shared_serial: true,
        wwid: Some("naa.5000c500".to_owned()),
        sectors: 1 << 20,
        ..Drive::default()
    };
    let free = Inventory { drives: vec![path("sda", 0), path("sdb", 16)], ..Inventory::default() };
    let consent = free.drives[1].identity();
    let result = |change: &dyn Fn(&mut Inventory)| {
        let mut machine = free.clone();
        change(&mut machine);
        claim_result(&machine, "sdb", &[&consent])
    };
    let mount = |path: &str| Mount {
        path: path.to_owned(),
        source: "/dev/sda".to_owned(),
        device: (8, 0),
        ..Mount::default()
    };
    insta::assert_snapshot!(
        [
            result(&|_| {}),
            result(&|machine| machine.mounts.push(mount("/"))),
            result(&|machine| machine.mounts.push(mount("/srv"))),
            result(&|machine| machine.swaps.push("/dev/sda".to_owned())),
            result(&|machine| machine.drives[0].holders.push("md7".to_owned())),
        ]
        .join("\n")
    );
}

#[test]
fn what_a_drive_holds_is_lost_only_with_consent_for_that_drive() {
    let mut twins = complete(&fixtures::twins());
    let mini = complete(&fixtures::mini_pc());
    let server = complete(&fixtures::server());
    let identity = twins.drives.iter().find(|drive| drive.name == "sda").expect("sda").identity();
    let shared =
        [claim_result(&twins, "sda", &["0123456789ABCDEF"]), claim_result(&twins, "sda", &[&identity])];
    let protected = claim_result(&twins, "sdb", &[]);
    twins.drives.iter_mut().for_each(|drive| drive.content = Holds::default());
    insta::assert_snapshot!(
        [
            claim_result(&mini, "sdb", &[]),
            claim_result(&mini, "sdb", &["575846314142"]),
            claim_result(&mini, "sdb", &["575846314141"]),
            shared[0].clone(),
            shared[1].clone(),
            protected,
            claim_result(&twins, "sda", &[]),
            claim_result(&server, "sda", &[]),
        ]
        .join("\n")
    );
}

#[test]
fn a_placeholder_serial_is_no_consent() {
    let drive = |serial: &str| Drive {
        name: "sda".to_owned(),
        bay: Some("1.2".to_owned()),
        serial: Some(serial.to_owned()),
        sectors: 1 << 20,
        ..Drive::default()
    };
    for placeholder in ["000000000000", "123456789ABCDEF"] {
        let identity = drive(placeholder).identity();
        assert_eq!(consent(&drive(placeholder)), identity);
        let machine = machine(&drive(placeholder));
        assert!(claim_result(&machine, "sda", &[placeholder]).contains(&format!("add --erase {identity}")));
        assert_eq!(claim_result(&machine, "sda", &[&identity]), "may be erased");
    }
    assert_eq!(consent(&drive("4C530001")), "4C530001");
}

#[test]
fn the_option_that_is_shown_can_be_typed() {
    let options = ["4C530001", "a b", "-x", "-a b", "it's"].map(erase_option);
    assert_eq!(
        options,
        ["--erase 4C530001", "--erase 'a b'", "--erase=-x", "--erase='-a b'", r"--erase 'it'\''s'"]
    );
    let why = |holds: &[&str]| {
        let mut drive = Drive { name: "sda".to_owned(), serial: Some("-a b".to_owned()), ..Drive::default() };
        drive.content.filesystem = holds.first().map(|&holds| holds.to_owned());
        claim_result(&machine(&drive), "sda", &[])
    };
    assert!(why(&["ext4"]).ends_with("it holds ext4 on sda: add --erase='-a b' if that may be lost"));
    assert!(why(&[]).ends_with("what it holds is not known: add --erase='-a b' if that may be lost"));
}

#[test]
fn a_label_does_not_begin_a_line() {
    let mut drive = Drive { model: Some("M\u{1b}[2J".to_owned()), ..Drive::default() };
    drive.content.filesystem = Some("vfat".to_owned());
    drive.content.label = Some("A\n  /dev/sdb: no known content\u{202e}".to_owned());
    assert_eq!(holds(&drive), ["vfat 'A?  /dev/sdb: no known content?' on "]);
    assert!(!drive.label().contains(crate::units::hides), "{:?}", drive.label());
}

#[test]
fn a_drive_that_holds_something_else_than_was_shown_is_refused() {
    let shown = complete(&fixtures::mini_pc()).drives.into_iter().find(|d| d.name == "sdb").expect("sdb");
    let mut now = shown.clone();
    now.name = "sdx".to_owned();
    claims::check_unchanged(&shown, &now).expect("it has another name only");
    now.partitions.clear();
    claims::check_unchanged(&shown, &now).expect("it was wiped");
    let blank = claims::check_unchanged(&now, &shown).expect_err("it has a partition now").why.to_string();
    assert!(blank.starts_with("it now holds ext4 on sdb1,"), "{blank}");
    let refused = |change: fn(&mut Drive)| {
        let mut now = shown.clone();
        change(&mut now);
        claims::check_unchanged(&shown, &now).expect_err("refused").why.to_string()
    };
    let again = ", but something else was shown: nothing was changed, try again";
    let other = refused(|now| now.partitions[0].content.filesystem = Some("btrfs".to_owned()));
    assert_eq!(other, format!("it now holds btrfs on sdb1{again}"));
    let formatted_again = refused(|now| now.partitions[0].content.uuid = Some("another".to_owned()));
    assert_eq!(formatted_again, format!("it now holds ext4 on sdb1{again}"));
    refused(|now| now.partitions[0].start += 8);
}

#[test]
fn a_drive_is_found_by_its_identity_alone() {
    let mut inventory = complete(&fixtures::server());
    let drive = inventory.drives[0].clone();
    assert_eq!(refusal::find(&inventory, &drive.identity()).expect("is there").name, drive.name);
    let claim_result = |inventory: &Inventory, identity: &str| {
        refusal::find(inventory, identity).expect_err("refused").to_string()
    };
    inventory.drives.push(Drive { name: "sdz".to_owned(), ..drive.clone() });
    insta::assert_snapshot!(
        [claim_result(&inventory, "sda"), claim_result(&inventory, &drive.identity())].join("\n")
    );
    let gone = Claim::take("no-such-drive+0", &[]).expect_err("refused").to_string();
    assert_eq!(gone, "no-such-drive+0 can't be erased: it is not plugged in");
}

/// A loop device over a file of 4 MiB.
struct Loop {
    path: String,
    _dir: tempfile::TempDir,
}

impl Loop {
    fn new() -> Self {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let file = dir.path().join("drive");
        File::create(&file).expect("a file").set_len(4 << 20).expect("has a length");
        let path = losetup(&["--find", "--show", file.to_str().expect("UTF-8")]);
        Self { path: path.trim().to_owned(), _dir: dir }
    }

    /// The device as a drive.
    fn drive(&self) -> Drive {
        let device = refusal::device(&fs::metadata(&self.path).expect("a device")).expect("a block device");
        let name = self.path.trim_start_matches("/dev/").to_owned();
        Drive { device, name, serial: Some("S1".to_owned()), ..Drive::default() }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        losetup(&["--detach", &self.path]);
    }
}

#[expect(clippy::disallowed_methods, reason = "tests set up their own devices")]
fn losetup(args: &[&str]) -> String {
    let output = std::process::Command::new("losetup").args(args).output().expect("losetup is in util-linux");
    assert!(output.status.success(), "losetup: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[expect(clippy::disallowed_methods, reason = "tests set up their own devices")]
fn open_in_another_process(path: &str) -> std::process::Child {
    let device = File::open(path).expect("opens");
    std::process::Command::new("sleep").arg("60").stdin(device).spawn().expect("sleep starts")
}

fn machine(drive: &Drive) -> Inventory {
    Inventory { drives: vec![drive.clone()], ..Inventory::default() }
}

/// A claim of the drive in `first`, where the second look finds `second`.
fn take(first: &Inventory, second: &Inventory, erase: &[&str]) -> Result<Claim, Why> {
    let erase: Vec<String> = erase.iter().map(|serial| (*serial).to_owned()).collect();
    let mut looks = [first, second].into_iter();
    let look = || looks.next().expect("two looks").clone();
    let drive = &first.drives[0];
    let file = open(drive, OFlags::RDONLY)?;
    lock(&file)?;
    let locked = Locked { identity: drive.identity(), file };
    Claim::after(locked, &erase, look, processes().path()).map_err(|refusal| refusal.why)
}

/// The processes that may be examined: a sandbox can hide its init even from root.
fn processes() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for process in fs::read_dir(PROC).expect("lists").flatten() {
        let is_hidden = fs::read_link(process.path().join("fd/0"))
            .is_err_and(|e| e.kind() == io::ErrorKind::PermissionDenied);
        let name = process.file_name();
        if name.to_str().is_some_and(|name| name.parse::<u32>().is_ok()) && !is_hidden {
            symlink(process.path(), dir.path().join(name)).expect("links");
        }
    }
    dir
}

/// A device of its own. Without root there can be none; then the claim must be refused for that.
fn device() -> Option<Loop> {
    if geteuid().is_root() {
        return Some(Loop::new());
    }
    let drive = machine(&Drive { serial: Some("S1".to_owned()), ..Drive::default() });
    assert!(matches!(take(&drive, &drive, &["S1"]), Err(Why::NotRoot)));
    None
}

#[test]
fn a_claim_is_checked_again_after_the_drive_was_opened() {
    let Some(device) = device() else { return };
    let drive = device.drive();
    let free = machine(&drive);
    let with = |change: &dyn Fn(&mut Drive)| {
        let mut drive = drive.clone();
        change(&mut drive);
        machine(&drive)
    };
    let held = take(&free, &with(&|drive| drive.queue.depth = Some(7)), &["S1"]).expect("is free");
    assert_eq!(held.drive().queue.depth, Some(7), "the last look counts");
    assert!(matches!(take(&free, &free, &["S1"]), Err(Why::Busy)), "a second claim is refused");
    drop(held);
    let unread = Inventory { unread: vec!["/proc/swaps".to_owned()], ..free.clone() };
    let other_name = with(&|drive| drive.name = "loop999".to_owned());
    let other_number = with(&|drive| drive.device.1 += 1);
    for (first, second, erase, why) in [
        (&free, &free, &[][..], "what it holds is not known"),
        (&free, &free, &["S2"], "what it holds is not known"),
        (&free, &with(&|drive| drive.holders.push("md7".to_owned())), &["S1"], "it is part of md7"),
        (&free, &unread, &["S1"], "/proc/swaps can't be read"),
        (&free, &other_number, &["S1"], "its path now belongs to another drive"),
        (&free, &other_name, &["S1"], "its path now belongs to another drive"),
        (&other_number, &free, &["S1"], "its path now belongs to another drive"),
    ] {
        let refused = take(first, second, erase).expect_err(why).to_string();
        assert!(refused.starts_with(why), "{refused}");
    }
    // Another drive has its name and its number now.
    let another = with(&|drive| drive.serial = Some("S2".to_owned()));
    for second in [&Inventory::default(), &another] {
        assert!(matches!(take(&free, second, &["S1", "S2"]), Err(Why::Gone)));
    }
    let twice = Inventory { drives: vec![drive.clone(), drive.clone()], ..free.clone() };
    assert!(matches!(take(&free, &twice, &["S1"]), Err(Why::Ambiguous)));
    let mut reader = open_in_another_process(&device.path);
    let refused = take(&free, &free, &["S1"]).expect_err("is open").to_string();
    assert!(refused.starts_with("sleep (process "), "{refused}");
    reader.kill().and_then(|()| reader.wait()).expect("ends");
    take(&free, &free, &["S1"]).expect("is free again");
    a_user_by_another_node_is_found(&device, &free);
    files_of_threads_count_and_those_that_cannot_be_examined(&device, &free);
}

fn files_of_threads_count_and_those_that_cannot_be_examined(device: &Loop, free: &Inventory) {
    let proc = tempfile::tempdir().expect("a directory");
    let files = proc.path().join("812/task/812/fd");
    let user = || refusal::user(&Sysroot::live(), proc.path(), free, &free.drives[0]);
    fs::create_dir_all(&files).expect("creates");
    assert!(matches!(user(), Ok(None)));
    let of_thread = proc.path().join("812/task/813/fd");
    fs::create_dir_all(&of_thread).expect("creates");
    symlink(&device.path, of_thread.join("3")).expect("links");
    fs::write(proc.path().join("812/comm"), "qemu\n").expect("writes");
    assert!(matches!(user(), Ok(Some(user)) if user == "qemu (process 812)"));
    fs::remove_file(of_thread.join("3")).expect("removes");
    symlink("3", files.join("3")).expect("links to itself");
    assert!(matches!(user(), Err(Why::Unseen(path)) if Path::new(&path) == files));
}

/// A container may see the device by a node of its own.
fn a_user_by_another_node_is_found(device: &Loop, free: &Inventory) {
    let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let node = dir.path().join("node");
    let number = fs::metadata(&device.path).expect("a device").rdev();
    mknodat(CWD, &node, FileType::BlockDevice, Mode::RUSR, number).expect("a node");
    let node = node.to_str().expect("UTF-8");
    let refused = || take(free, free, &["S1"]).expect_err("is open").to_string();
    let mut reader = open_in_another_process(node);
    assert!(refused().starts_with("sleep (process "), "{}", refused());
    reader.kill().and_then(|()| reader.wait()).expect("ends");
    let above = losetup(&["--find", "--show", "--read-only", node]);
    let above = above.trim();
    assert_eq!(refused(), format!("{above} has it open: stop it first"));
    losetup(&["--detach", above]);
    take(free, free, &["S1"]).expect("is free again");
}

#[test]
fn a_claim_lets_programs_change_its_own_drive_only() {
    let Some(device) = device() else { return };
    let drive = device.drive();
    let free = machine(&drive);
    let mut claims = Claims(vec![take(&free, &free, &["S1"]).expect("is free")]);
    let made = tools::swap::make_on(&device.path, 1 << 20).run(&claims, &System::default()).expect("runs");
    assert_eq!(made.code, Some(0), "{}", made.complaint());
    assert!(fs::read(&device.path).expect("reads")[..4096].ends_with(b"SWAPSPACE2"));

    let none = Replay::default();
    let other = self::device().expect("as before");
    let make = tools::swap::make_on(&other.path, 1 << 20);
    let refused = make.run(&claims, &none).expect_err("another drive").to_string();
    let name = other.path.trim_start_matches("/dev/");
    assert_eq!(refused, format!("'{make}' was not run: {name} is not claimed"));
    let mounted = open(&drive, OFlags::EXCL).expect("is free");
    let refused =
        tools::swap::make_on(&device.path, 1 << 20).run(&claims, &none).expect_err("in use").to_string();
    assert!(refused.contains("busy"), "{refused}");
    drop(mounted);
    assert!(matches!(
        tools::swap::make_on(&device.path, 1 << 20).run(&claims, &none),
        Err(ToolError::Unrecorded(_))
    ));
    claims.0[0].sequence = Some("0".to_owned());
    let refused =
        tools::swap::make_on(&device.path, 1 << 20).run(&claims, &none).expect_err("replaced").to_string();
    assert!(refused.contains("its path now belongs to another drive"), "{refused}");
}
