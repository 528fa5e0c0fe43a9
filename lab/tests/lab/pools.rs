//! `drivebench pool` on modelled sticks, with the kernel's md and device mapper. `lab/vm soak pools` does the same with all
//! layouts, and with kills and power cuts at random moments.

use drivebench_lab::{
    Machine,
    pools::{self, USED, agree, clean, named, serial},
};

use super::{LIMIT, ok, out, scenario, start_unhurried};

pub(super) fn machine() -> Machine {
    let machine = start_unhurried(&scenario("pools"));
    ok(pools::prepare(&machine));
    machine
}

/// The path of a drive.
fn path(machine: &Machine, i: usize) -> String {
    ok(pools::path(machine, i))
}

/// The exit code of `drivebench pool`, and all that it printed.
fn pool(machine: &Machine, args: &str) -> (i32, String) {
    ok(pools::pool(machine, args))
}

fn done(machine: &Machine, args: &str) -> String {
    ok(pools::done(machine, args))
}

#[test]
fn pools_are_built_used_repaired_and_removed_without_a_trace() {
    let mut machine = machine();
    ok(pools::round_trip(&machine, "linear", &[0, 1, 2]));
    a_kill_after_any_command_leaves_what_destroy_removes(&machine);
    a_missing_drive_and_a_working_one_are_replaced_under_a_mounted_filesystem(&mut machine);
    layouts_are_predicted_built_measured_and_removed(&machine);
    a_drive_that_a_killed_run_took_away_is_brought_back(&machine);
    ok(pools::unclean(&mut machine, "raid5", &[0, 1, 2]));
}

#[test]
fn a_pool_whose_drives_are_all_back_is_started_by_the_commands_that_are_shown() {
    let mut machine = machine();
    for layout in ["linear", "raid5"] {
        two_drives_leave_and_return(&mut machine, layout);
    }
}

/// What `pool status` shows is run until the pool works.
fn two_drives_leave_and_return(machine: &mut Machine, layout: &str) {
    let (bays, erase) = named(machine, &[0, 1, 2, 3]);
    done(machine, &format!("create --layout {layout} --mount /mnt/pool {bays} {erase}"));
    out(
        machine,
        "set -e; cd /mnt/pool; for i in $(seq 60); do fallocate -l 2900000 space$i; head -c 100000 /dev/urandom >$i; done; \
         sha256sum [0-9]* >/work/sums; sync; mdadm --wait /dev/md/pool 2>/dev/null || true",
    );
    for i in [1, 2] {
        ok(machine.pull(i));
        out(machine, "echo 3 >/proc/sys/vm/drop_caches; cat /mnt/pool/* >/dev/null 2>&1; true");
        if layout == "linear" {
            plug(machine, i);
        }
    }
    if layout == "raid5" {
        plug(machine, 1);
        plug(machine, 2);
    }
    out(machine, "udevadm settle");
    let listed = out(machine, "drivebench list");
    assert!(listed.contains("What to do once all are"), "{listed}");
    let mut shown = Vec::new();
    loop {
        let status = ok(pools::status(machine));
        let first = status.lines().next().expect("a pool");
        if first.contains(", mounted on /mnt/pool") && !first.contains("broken") {
            break;
        }
        let commands = ["in this order: ", "start it: ", "mount it: "]
            .iter()
            .find_map(|mark| first.split_once(mark))
            .and_then(|(_, commands)| commands.split(", ").next())
            .unwrap_or_else(|| panic!("{layout}: {status}"));
        shown.push(commands.to_owned());
        println!("{layout}: {status}");
        assert!(shown.len() < 5, "{shown:#?}\n{status}");
        out(machine, &format!("set -e; {commands}"));
    }
    out(machine, "cd /mnt/pool; sha256sum -c /work/sums >/dev/null");
    done(machine, &format!("destroy pool {erase}"));
    ok(clean(machine, &[0, 1, 2, 3], "with drives that were away"));
}

fn plug(machine: &mut Machine, i: usize) {
    let bay = machine.scenario().drives[i].bay.clone();
    ok(machine.plug(i, &bay));
    path(machine, i);
}

/// Killed while the drive is away: the next cleanup brings it back, `pool status` shows how to remove the pool, and the run goes on.
fn a_drive_that_a_killed_run_took_away_is_brought_back(machine: &Machine) {
    let (bays, erase) = named(machine, &[0, 1]);
    let first = path(machine, 0);
    let killed = format!(
        "drivebench run pull --layouts raid1 --members 1 --size 96MiB --runtime 5s {bays} {erase} >/work/said 2>&1 & \
         while [ -e {first} ]; do sleep 0.05; done; kill -9 $!; wait $!; true"
    );
    out(machine, &killed);
    let cleaned = out(machine, "drivebench cleanup");
    assert!(cleaned.contains("Brought back the drive at /sys/"), "{cleaned}");
    assert!(
        cleaned
            .contains("of an interrupted run was not removed; to remove it: drivebench pool destroy pull-")
    );
    path(machine, 0);
    out(machine, "udevadm settle");
    let text = ok(pools::status(machine));
    let remove = "this removes it: drivebench pool destroy pull-";
    assert!(text.starts_with("pull-") && text.contains(remove), "{text}");
    // The same run goes on: it removes what is left, and builds it again.
    let run = out(machine, "drivebench results list | awk '/ pull .*cut off/ { print $1 }'");
    let resumed = format!("drivebench run pull --resume {} {erase} --format json 2>/dev/null", run.trim());
    let findings: serde_json::Value = serde_json::from_str(&out(machine, &resumed)).expect("findings");
    let verdict = findings["verdicts"][0].as_str().expect("a verdict");
    assert!(verdict.starts_with("raid1 survived 1 pull of one drive"), "{verdict}");
    ok(clean(machine, &[0, 1], "a run that was killed and resumed"));
}

fn layouts_are_predicted_built_measured_and_removed(machine: &Machine) {
    let (bays, erase) = named(machine, &[0, 1]);
    let run = format!(
        "drivebench run layouts --layouts raid1 --size 96MiB --runtime 1s --runs 1 {bays} {erase} --format json 2>/dev/null"
    );
    let findings: serde_json::Value = serde_json::from_str(&out(machine, &run)).expect("findings");
    let speed = |scope: &str| {
        let all = findings["estimates"].as_array().expect("estimates").iter();
        let of = all.filter(|m| m["target"] == "raid1" && m["scope"] == scope && m["load"].is_object());
        of.map(|m| m["estimate"]["value"].as_f64().expect("a speed")).collect::<Vec<_>>()
    };
    let (measured, predicted) = (speed("whole"), speed("predicted"));
    // Those of the suite are not predicted.
    assert!(measured.len() == 9 && predicted.len() == 6, "{findings}");
    assert!(measured.iter().chain(&predicted).all(|speed| *speed > 0.0), "{findings}");
    let is_rebuild = |m: &&serde_json::Value| m["target"] == "raid1" && m["quantity"] == "rebuild_time";
    let rebuilds: Vec<f64> = findings["estimates"]
        .as_array()
        .expect("estimates")
        .iter()
        .filter(is_rebuild)
        .filter_map(|m| m["estimate"]["value"].as_f64())
        .collect();
    assert!(rebuilds.len() == 1 && rebuilds.iter().all(|seconds| *seconds > 0.0), "{findings}");
    let tables = || findings["tables"].as_array().expect("tables").iter();
    let files: Vec<_> =
        tables().filter(|table| table["columns"][0]["name"] == "1,000 files of 16 KiB").collect();
    assert!(files.len() == 1 && !files[0]["rows"].to_string().contains("\"-\""), "{files:?}");
    ok(clean(machine, &[0, 1], "layouts"));
    assert_eq!(out(machine, "ls /run/drivebench 2>/dev/null || true"), "");
}

/// What the first MiB of all drives holds.
fn contents(machine: &Machine) -> Vec<Vec<u8>> {
    out(machine, "sync");
    (0..machine.scenario().drives.len()).map(|i| ok(machine.content(i, 1 << 20))).collect()
}

/// The label of a physical volume of LVM, with its checksum.
const PHYSICAL_VOLUME: &str = r"{ printf 'LABELONE\001\0\0\0\0\0\0\0\346\342\236\335\040\0\0\0LVM2 001'; \
    printf '0123456789abcdefghijklmnopqrstuv\0\0\065\014'; head -c 444 /dev/zero; } | dd bs=512 seek=1 conv=notrunc";

/// The sticks, two more with one serial, and one that is too small.
fn refused_machine() -> Machine {
    let mut scenario = scenario("pools");
    for (bay, serial, sectors) in [("5", "TWIN", 400_000), ("6", "TWIN", 400_000), ("7", "SMALL", 20_000)] {
        let mut drive = scenario.drives[0].clone();
        (drive.bay, drive.serial, drive.sectors) = (bay.to_owned(), serial.to_owned(), sectors);
        scenario.drives.push(drive);
    }
    let machine = start_unhurried(&scenario);
    ok(pools::prepare(&machine));
    machine
}

/// With exit code 2 and the reason. What is on the drives stays as it was.
pub(super) fn refused(machine: &Machine, args: &str, why: &str) {
    let before = contents(machine);
    let (code, text) = pool(machine, args);
    assert_eq!(code, 2, "{args}: {text}");
    assert!(text.contains(why), "{args}: {text}");
    assert!(contents(machine) == before, "{args}: a drive was changed");
}

#[test]
fn refused_pools_touch_nothing() {
    let mut machine = refused_machine();
    refused_for_their_use(&machine);
    refused_for_what_they_are(&mut machine);
}

fn refused_for_their_use(machine: &Machine) {
    let first = path(machine, 0);
    out(machine, &format!("d={first}; {USED}; mkdir /mnt/old; mount {first}1 /mnt/old; sync"));
    let refused = |args: &str, why: &str| refused(machine, args, why);
    let (bays, erase) = named(machine, &[0, 1]);
    refused(&format!("create --layout raid1 {bays} --plan"), "it is mounted: umount /mnt/old");
    out(machine, "umount /mnt/old");
    let (_, other) = named(machine, &[1, 2]);
    refused(&format!("create --layout raid1 {bays} {other}"), "add --erase 4C530001010222107401");
    refused(&format!("create --layout raid5 {bays} {erase}"), "raid5 needs at least 3 drives, 2 given");
    refused(&format!("create --layout raid0 bay:1 {first} {erase}"), "are one piece of hardware");
    let second = serial(machine, 1);
    refused(
        &format!("create --layout raid0 bay:2 /dev/vda --erase {second}"),
        "the drive is write-protected",
    );

    // A program that is not installed here.
    let before = contents(machine);
    let (code, text) = pool(machine, &format!("create --layout raid1 --fs xfs {bays} {erase}"));
    assert!(code == 2 && text.contains("mkfs.xfs is not installed: apt install xfsprogs"), "{text}");
    assert!(contents(machine) == before);

    // A drive of a linear pool shows nothing of it, so the log is asked, also when the pool is not active.
    done(machine, &format!("create --layout linear {bays} {erase}"));
    let (more, consent) = named(machine, &[1, 2]);
    let of_another = "is a drive of the pool pool: choose another drive, or remove the pool: drivebench pool destroy pool --erase";
    refused(&format!("create --layout raid1 --name b {more} {consent}"), of_another);
    out(machine, "dmsetup remove pool");
    let status = done(machine, "status");
    assert!(status.contains("not active; to start it: dmsetup create"), "{status}");
    refused(&format!("create --layout raid1 --name b {more} {consent}"), of_another);
    refused("destroy pool", "nothing was changed: add --erase 4C530001010222107401");
    refused("destroy other", "there is no pool other");
    done(machine, &format!("destroy pool {erase}"));
    // Used as swap, and part of an array that drivebench did not build.
    out(machine, &format!("mkswap {first} && swapon {first}"));
    refused(&format!("create --layout raid1 {bays} {erase}"), "it is used as swap");
    out(machine, &format!("swapoff {first} && wipefs --all {first}"));
    // What stands on a drive that nobody named, written by other programs.
    let (_, other) = named(machine, &[1]);
    let luks = r"printf 'LUKS\272\276\0\001' | dd conv=notrunc";
    let bcachefs = r"printf '\306\205\163\366\116\032\105\312\202\145\365\177\110\272\155\201' | dd bs=8 seek=515 conv=notrunc";
    // udev of Debian 12 doesn't know bcachefs.
    for (written, why) in [
        (PHYSICAL_VOLUME, ": LVM2_member on sda"),
        (luks, ": crypto_LUKS on sda"),
        (bcachefs, "add --erase 4C530001010222107401"),
    ] {
        // udev notices by itself what was written, but settling doesn't wait for that.
        let read = format!("udevadm trigger --settle {first}");
        out(machine, &format!("{written} of={first} status=none && {read}"));
        refused(&format!("create --layout raid1 {bays} {other}"), why);
        out(machine, &format!("dd if=/dev/zero of={first} bs=8192 count=1 status=none && {read}"));
    }
    for (uuid, name, why) in [
        ("own", "joined", "it is part of the mapping joined (dmsetup remove joined)"),
        (
            "LVM-1234",
            "vg-home",
            "it is part of the logical volume vg-home (lvchange -an /dev/mapper/vg-home)",
        ),
        ("CRYPT-LUKS2-1234-vault", "vault", "it is part of the encrypted vault (cryptsetup close vault)"),
    ] {
        out(machine, &format!("dmsetup create {name} --uuid {uuid} --table '0 4096 linear {first} 0'"));
        refused(&format!("create --layout raid1 {bays} {erase}"), why);
        out(machine, &format!("udevadm settle; dmsetup remove {name}"));
    }
    out(machine, &format!("sleep 900 <{first} >/dev/null 2>&1 & echo $! >/work/reader"));
    refused(&format!("create --layout raid1 {bays} {erase}"), "sleep (process ");
    refused(&format!("create --layout raid1 {bays} --plan"), "sleep (process ");
    out(machine, "kill $(cat /work/reader)");
    // The kernel may keep the name of one that was exported: the other is plugged in again below.
    refused_for_holders(machine, &path(machine, 1), &format!("create --layout raid1 {bays} {erase}"));
    let (a, b) = (path(machine, 2), path(machine, 3));
    out(
        machine,
        &format!("mdadm --create /dev/md/own --run --metadata=1.2 --level=0 --raid-devices=2 {a} {b}"),
    );
    let (more, consent) = named(machine, &[1, 2]);
    refused(&format!("create --layout raid0 {more} {consent}"), "it is part of the raid0 array");
    out(machine, "mdadm --stop /dev/md/own; udevadm settle");
    refused(&format!("create --layout raid0 {more} --erase 4C530001010222107402"), ": linux_raid_member");
    out(machine, &format!("wipefs --quiet --all {a} {b}; udevadm settle"));
}

/// What holds the drive `$d` with a filesystem, from a mount namespace of its own: a script, and the reason that is given.
const HOLDERS: [(&str, &str); 12] = [
    (
        "mount --bind /dev /work/dev; losetup /dev/loop0 /work/dev/${d#/dev/}; mount -o ro /dev/loop0 /mnt/held",
        "/dev/loop0 has it open",
    ),
    ("losetup /dev/loop0 /work/node; mount -o ro /dev/loop0 /mnt/held", "/dev/loop0 has it open"),
    ("mount --bind /dev /work/dev; exec 9<>/work/dev/${d#/dev/}", "sleep (process "),
    ("exec 9</work/node", "sleep (process "),
    ("mount -o ro $d /mnt/held", "another program uses it exclusively"),
    (
        "mount $d /mnt/held; head -c 65536 /dev/zero >/mnt/held/file; losetup -r /dev/loop0 /mnt/held/file; mount -o remount,ro /mnt/held",
        "another program uses it exclusively",
    ),
    ("busybox modprobe zram; echo $d >/sys/block/zram0/backing_dev", "another program uses it exclusively"),
    ("dmsetup create held --table \"0 4096 linear $d 0\"", "it is part of the mapping held"),
    (
        "busybox modprobe bcache; wipefs -qa $d; make-bcache -B $d; echo $d >/sys/fs/bcache/register",
        "it is part of the cache bcache0",
    ),
    (
        "busybox modprobe drbd; wipefs -qa $d; drbdmeta --force 0 v08 $d internal create-md; drbdsetup new-resource held; \
         drbdsetup new-minor held 0 0; drbdsetup attach 0 $d $d internal",
        "drbd",
    ),
    (
        "busybox modprobe target_core_iblock; mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config; \
         mkdir -p $export; echo udev_path=$d >$export/control; echo 1 >$export/enable",
        "another program uses it exclusively",
    ),
    (
        "busybox modprobe nbd; nbd-server -C /dev/null 127.0.0.1@10809 $d -d & \
         n=0; until nbd-client 127.0.0.1 10809 /dev/nbd0; do n=$((n + 1)); [ $n -lt 50 ]; usleep 100000; done",
        "nbd-server (process",
    ),
];

fn refused_for_holders(machine: &Machine, drive: &str, create: &str) {
    out(
        machine,
        &format!(
            "busybox modprobe loop; mkdir -p /work/dev /mnt/held; mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 {drive}; udevadm settle; \
             mknod /work/node b $(sed 's/:/ /' /sys/block/{}/dev)",
            drive.trim_start_matches("/dev/")
        ),
    );
    for (holds, why) in HOLDERS {
        let hold = format!(
            "d={drive} export=/sys/kernel/config/target/core/iblock_0/held unshare -m sh -e -c '{holds}; echo ready >/work/ready; exec sleep 900' >/work/holds 2>&1 & \
             echo $! >/work/holder; until [ -e /work/ready ]; do kill -0 $! || {{ cat /work/holds >&2; exit 1; }}; usleep 20000; done"
        );
        out(machine, &hold);
        refused(machine, create, why);
        out(
            machine,
            "kill $(cat /work/holder); rm /work/ready; \
             until ! grep -qs . /sys/block/loop0/loop/backing_file; do losetup -d /dev/loop0; usleep 100000; done; \
             ! [ -e /sys/block/zram0 ] || echo 1 >/sys/block/zram0/reset; ! [ -e /dev/mapper/held ] || dmsetup remove held; \
             ! [ -e /sys/block/bcache0 ] || echo 1 >/sys/block/bcache0/bcache/stop; \
             ! [ -e /sys/block/drbd0 ] || drbdsetup down held; \
             ! [ -e /sys/kernel/config/target/core/iblock_0/held ] || rmdir /sys/kernel/config/target/core/iblock_0/held; \
             ! [ -e /sys/block/nbd0/pid ] || { nbd-client -d /dev/nbd0; while busybox pkill nbd-server; do usleep 100000; done; }",
        );
    }
    out(machine, &format!("wipefs --quiet --all {drive}; udevadm settle"));
}

fn refused_for_what_they_are(machine: &mut Machine) {
    let (bays, erase) = named(machine, &[0, 1]);
    refused(
        machine,
        &format!("create --layout raid1 bay:1 bay:7 {erase} --erase SMALL"),
        "is too small: 10.2 MB",
    );
    // A serial with a mistyped digit.
    let mistyped = erase.replace("107401", "107411");
    refused(machine, &format!("create --layout raid1 {bays} {mistyped}"), "add --erase 4C530001010222107401");
    // A serial that two drives have names none of them.
    let twins = "create --layout raid1 bay:5 bay:6 --erase TWIN";
    refused(machine, twins, "add --erase TWIN+400000@");
    refused(machine, "create --layout raid1 TWIN bay:1", "TWIN");
    // Another drive is plugged in under the name that was planned.
    let planned = format!("create --layout raid1 {} {} {erase}", path(machine, 0), path(machine, 1));
    assert_eq!(pool(machine, &format!("{planned} --plan")).0, 0);
    let name = path(machine, 0);
    let sysfs = [&name, &path(machine, 3)].map(|path| path.replace("/dev/", "/sys/block/"));
    for i in [0, 3] {
        machine.pull(i).unwrap_or_else(|e| panic!("{e}"));
    }
    out(
        machine,
        &format!("while [ -e {} ] || [ -e {} ]; do usleep 20000; done; udevadm settle", sysfs[0], sysfs[1]),
    );
    machine.plug(3, "4").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(path(machine, 3), name, "it has the name of the other");
    refused(machine, &planned, "add --erase 4C530001010222107404");
    refused(
        machine,
        &format!("create --layout raid1 4C530001010222107401 bay:2 {erase}"),
        "4C530001010222107401",
    );
}

/// Programs that pass on their arguments, and kill their parent after the call whose number is in a file.
const KILLER: &str = r#"
mkdir -p /work/kill
for name in wipefs sgdisk mdadm mkfs.ext4 mount blockdev umount; do
    real=$(command -v $name)
    cat >/work/kill/$name <<END
#!/bin/sh
n=\$(cat /work/left)
echo \$((n - 1)) >/work/left
$real "\$@"
code=\$?
[ \$n = 0 ] && kill -9 \$PPID
exit \$code
END
    chmod +x /work/kill/$name
done
"#;

fn a_kill_after_any_command_leaves_what_destroy_removes(machine: &Machine) {
    out(machine, KILLER);
    let (bays, erase) = named(machine, &[0, 1]);
    let bystanders = [2, 3].map(|i| path(machine, i));
    out(machine, &format!("for d in {}; do mkfs.ext4 -q -F $d; done; udevadm settle", bystanders.join(" ")));
    let others = || {
        out(machine, "sync");
        [2, 3].map(|i| ok(machine.content(i, u64::MAX)))
    };
    let before = others();
    // After the first wipe, and after mdadm.
    for kill in [0, 6] {
        out(machine, &format!("d={}; {USED}; echo {kill} >/work/left", path(machine, 0)));
        let killed = format!(
            "PATH=/work/kill:$PATH drivebench pool create --layout raid1 --mount /mnt/pool {bays} {erase}"
        );
        let output = machine.run(&["sh", "-c", &killed], LIMIT).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(output.code, 128 + 9, "{kill}: {}", String::from_utf8_lossy(&output.stderr));
        let status = done(machine, "status");
        assert!(status.contains(&format!("built in part, up to step {} of 8", kill + 1)), "{kill}: {status}");
        assert!(status.contains("to remove it: drivebench pool destroy pool"), "{kill}: {status}");
        done(machine, &format!("destroy pool {erase}"));
        assert!(done(machine, "status").contains("No pools"), "{kill}");
        // The second drive held nothing before, so whatever step was reached, neither holds a trace of the pool.
        let left = out(
            machine,
            &format!(
                "udevadm settle; for d in {} {}; do wipefs --noheadings $d; done; ls /dev/md 2>/dev/null; true",
                path(machine, 0),
                path(machine, 1)
            ),
        );
        assert_eq!(left, "", "{kill}");
        assert!(others() == before, "{kill}: a bystander changed");
    }
    // Destroying it is killed, too, and goes on.
    done(machine, &format!("create --layout raid1 --mount /mnt/pool {bays} {erase}"));
    out(machine, "echo 4 >/work/left");
    let killed = format!("PATH=/work/kill:$PATH drivebench pool destroy pool {erase}");
    let output = machine.run(&["sh", "-c", &killed], LIMIT).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(output.code, 128 + 9);
    assert!(done(machine, "status").contains("removed in part"));
    done(machine, &format!("destroy pool {erase}"));
    assert!(others() == before, "a bystander changed");
}

fn a_missing_drive_and_a_working_one_are_replaced_under_a_mounted_filesystem(machine: &mut Machine) {
    let (bays, erase) = named(machine, &[0, 1, 2]);
    for i in 0..4 {
        out(machine, &format!("d={}; {USED}", path(machine, i)));
    }
    done(machine, &format!("create --layout raid5 --name data --chunk 64k --mount /mnt/pool {bays} {erase}"));
    out(machine, "head -c 30000000 /dev/urandom >/mnt/pool/file && sync && cp /mnt/pool/file /work/file");
    out(machine, "mdadm --wait /dev/md/data || true");
    let same = |machine: &Machine| {
        out(machine, "sync; echo 3 >/proc/sys/vm/drop_caches; cmp /mnt/pool/file /work/file");
    };
    let scrubbed = done(machine, "scrub data");
    assert!(scrubbed.contains("check") && scrubbed.contains("all copies and parity agree"), "{scrubbed}");

    // One is pulled, and another one takes its place.
    let [pulled, other] = [1, 3].map(|i| serial(machine, i).to_owned());
    machine.pull(1).unwrap_or_else(|e| panic!("{e}"));
    out(machine, "echo more >/mnt/pool/more; sync");
    ok(agree(machine, "data"));
    let status = done(machine, "status data");
    assert!(status.contains("degraded, 1 drive missing") && status.contains("not plugged in"), "{status}");
    assert!(status.contains(&format!("drivebench pool replace {pulled} NEW")), "{status}");
    let (code, text) = pool(machine, "scrub data");
    assert!(code == 2 && text.contains("lacks members"), "{text}");
    let (code, text) = pool(machine, &format!("replace bay:1 bay:4 --erase {other}"));
    assert!(code == 2 && text.contains(&pulled) && text.contains("first"), "{text}");
    // Killed once the array has the new drive: the array goes on, and the same command completes it.
    out(machine, &format!("{KILLER} echo 3 >/work/left"));
    let replace = format!("drivebench pool replace {pulled} bay:4 --erase {other}");
    let output = machine.run(&["sh", "-c", &format!("PATH=/work/kill:$PATH {replace}")], LIMIT);
    assert_eq!(output.unwrap_or_else(|e| panic!("{e}")).code, 128 + 9);
    assert!(done(machine, "status data").contains("not completed"));
    done(machine, &format!("replace {pulled} bay:4"));
    let status = done(machine, "status data");
    assert!(status.contains(" active") && status.matches("in use").count() == 3, "{status}");
    assert!(status.contains(&other) && !status.contains(&pulled), "{status}");
    ok(agree(machine, "data"));
    same(machine);

    // It returns, is no member any more, and takes the place of one that works; that one keeps its part.
    machine.plug(1, "2").unwrap_or_else(|e| panic!("{e}"));
    let first = serial(machine, 0).to_owned();
    path(machine, 1);
    // Just assembled: without a write, the kernel would not begin to fill it. If udev came to the old superblock of the returned
    // drive only now, it would begin an array of that name with it.
    out(machine, "udevadm settle && umount /mnt/pool && mdadm --stop /dev/md/data");
    let (_, start) = pools::commands(&ok(pools::status(machine))).remove(0);
    out(machine, &start);
    let replaced = done(machine, &format!("replace {first} {pulled} --erase {pulled}"));
    assert!(replaced.contains("keeps its part of it: wipefs --all its partition"), "{replaced}");
    // If it has another name, what udev and mdadm know of it says why.
    let mount = "udevadm settle && mount /dev/md/data /mnt/pool || { ls -l /dev/md; cat /run/mdadm/map /proc/mdstat; \
                 for d in /dev/md1*; do mdadm --detail --export $d; udevadm info $d; done; false; }";
    out(machine, mount);
    let status = done(machine, "status data");
    assert!(status.contains(" active") && status.matches("in use").count() == 3, "{status}");
    out(machine, &format!("d={}; wipefs --all ${{d}}1 $d", path(machine, 0)));
    assert!(done(machine, "scrub data").contains("all copies and parity agree"));
    ok(agree(machine, "data"));
    same(machine);

    let (code, text) = pool(machine, &format!("destroy data {erase}"));
    assert!(code == 2 && text.contains(&format!("add --erase {other}")), "{text}");
    // The first one is in no pool any more.
    let (_, erase) = named(machine, &[1, 2, 3]);
    done(machine, &format!("destroy data {erase}"));
    ok(clean(machine, &[0, 1, 2, 3], "replaced"));
}
