//! Which drives can be claimed: on captured machines, and on a loop device where the tests run as root.

use super::{refusal::check, *};
use crate::inventory::{Layer, Mount, Signature as Holds, fixtures};

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
        (fixtures::pi_zero().inventory(), fixtures::pc().inventory(), fixtures::mini_pc().inventory());
    let mut mounted = mini.clone();
    mounted.mounts.push(Mount {
        path: "/mnt/usb".to_owned(),
        source: "/dev/sdb1".to_owned(),
        device: mini.drives.iter().find(|d| d.name == "sdb").expect("sdb").partitions[0].device,
        ..Mount::default()
    });
    let mut swapped = mini.clone();
    swapped.swaps.push("/dev/sdb1".to_owned());
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
        ]
        .join("\n")
    );
}

/// A PC with an unmounted RAID1, and the same PC with other layers on its disks.
#[test]
fn drives_of_arrays_and_mappings_are_refused() {
    let mut pc = fixtures::pc().inventory();
    pc.mounts.retain(|mount| mount.path != "/srv");
    let built = |kind: &str, alias: Option<&str>| {
        let mut pc = pc.clone();
        let layer = pc.layers.iter_mut().find(|layer| layer.name == "md0").expect("an array");
        *layer = Layer { kind: kind.to_owned(), alias: alias.map(str::to_owned), ..layer.clone() };
        claim_result(&pc, "sda", &["WD-WCC7K1234567"])
    };
    let mut unread = pc.clone();
    unread.layers.clear();
    let kinds = [("raid1", None), ("crypt", Some("vault")), ("lvm", Some("vg-home")), ("btrfs", None)];
    let mut lines: Vec<String> = kinds.map(|(kind, alias)| built(kind, alias)).into();
    lines.push(claim_result(&unread, "sda", &["WD-WCC7K1234567"]));
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn what_a_drive_holds_is_lost_only_with_consent_for_that_drive() {
    let mut twins = fixtures::twins().inventory();
    let mini = fixtures::mini_pc().inventory();
    let server = fixtures::server().inventory();
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
fn a_drive_is_found_by_its_identity_alone() {
    let mut inventory = fixtures::server().inventory();
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

    fn device(&self) -> (u32, u32) {
        let data = std::fs::metadata(&self.path).expect("a device");
        super::refusal::device(&data).expect("a block device")
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

#[test]
fn a_claim_opens_the_drive_exclusively_and_checks_signatures() {
    if !geteuid().is_root() {
        // Without root, only the refusal is tested.
        assert!(matches!(hold(Path::new("/dev/loop0"), (7, 0)), Err(Why::NotRoot | Why::System(_))));
        return;
    }
    let drive = Loop::new();
    let path = Path::new(&drive.path);
    let mut held = hold(path, drive.device()).expect("is free");
    assert!(matches!(hold(path, drive.device()), Err(Why::Busy)), "a second one is refused");
    assert!(is_blank(&mut held).expect("reads"));
    drop(held);
    assert!(matches!(hold(path, (7, 999)), Err(Why::Replaced)), "another device is refused");
    let file = drive._dir.path().join("drive");
    assert!(matches!(hold(&file, drive.device()), Err(Why::Replaced)), "a file is refused");
    for at in [65_536 + 64, (4 << 20) - 65_536] {
        use std::os::unix::fs::FileExt;
        let mut held = hold(path, drive.device()).expect("is free again");
        held.write_all_at(b"_BHRfS_M", at).expect("writes");
        assert!(!is_blank(&mut held).expect("reads"), "a signature at {at} is found");
        held.write_all_at(&[0; 8], at).expect("writes");
    }

    let opened = Drive { device: drive.device(), ..Drive::default() };
    // udev opens a device after each close by a writer.
    let free = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        refusal::user(&Sysroot::live(), &opened).is_none()
    });
    assert!(free, "no other process has it open");
    let mut reader = open_in_another_process(&drive.path);
    let user = refusal::user(&Sysroot::live(), &opened).expect("is found");
    assert!(user.starts_with("sleep (process "), "{user}");
    reader.kill().and_then(|()| reader.wait()).expect("ends");
}

#[expect(clippy::disallowed_methods, reason = "tests set up their own devices")]
fn open_in_another_process(path: &str) -> std::process::Child {
    let device = File::open(path).expect("opens");
    std::process::Command::new("sleep").arg("60").stdin(device).spawn().expect("sleep starts")
}
