//! `drivebench pool` in a machine: how tests and campaigns call it, and what they check.

mod agreement;

use std::{fmt::Write as _, time::Duration};

pub use agreement::agree;

use crate::{Machine, MachineError, machine::STORE, scenario::SECTOR};

/// All layouts.
pub const LAYOUTS: [&str; 6] = ["linear", "raid0", "raid1", "raid5", "raid6", "raid10"];

/// The time limit of a command.
const LIMIT: Duration = Duration::from_secs(900);

/// Two old partitions on the drive `$d`, one with a filesystem, as on a stick that was in use.
pub const USED: &str = "sgdisk --clear --new=1:4096:200000 --new=2:204800:300000 $d >/dev/null; \
                        mkfs.ext4 -q -F ${d}1; udevadm settle";

type Done<T = ()> = Result<T, MachineError>;

/// An error unless a condition holds.
pub fn require(machine: &Machine, holds: bool, what: &str, why: impl Into<String>) -> Done {
    if holds { Ok(()) } else { Err(machine.wrong(what, why.into())) }
}

/// Loads what shares need: the ciphers are those of SMB.
pub const SHARE_MODULES: &str = "for m in veth sch_tbf nfsd nfs nfsv4 aes_generic cmac ccm gcm ctr ghash_generic sha512_generic; do busybox modprobe $m; done";

/// Loads md and the device mapper. The guest's kmod has no index of modules; busybox does without.
pub fn prepare(machine: &Machine) -> Done {
    let script =
        "for m in raid0 raid1 raid10 raid456 dm_mod; do busybox modprobe $m; done; mkdir -p /mnt/pool";
    sh(machine, script).map(drop)
}

/// The output of a shell command, which must succeed.
pub fn sh(machine: &Machine, command: &str) -> Done<String> {
    let output = machine.run(&["sh", "-c", command], LIMIT)?;
    let printed =
        [&output.stdout[..], &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    require(machine, output.code == 0, command, printed.concat())?;
    Ok(output.text())
}

/// The serial of a drive.
pub fn serial(machine: &Machine, i: usize) -> &str {
    &machine.scenario().drives[i].serial
}

/// The path of a drive.
pub fn path(machine: &Machine, i: usize) -> Done<String> {
    Ok(machine.ask(&["lab-device", serial(machine, i)])?.trim().to_owned())
}

/// Arguments that name drives, and that consent to erase them.
pub fn named(machine: &Machine, drives: &[usize]) -> (String, String) {
    let bays = drives.iter().map(|i| format!("bay:{}", machine.scenario().drives[*i].bay));
    let erase = drives.iter().map(|i| format!("--erase {}", serial(machine, *i)));
    (bays.collect::<Vec<_>>().join(" "), erase.collect::<Vec<_>>().join(" "))
}

/// The exit code of `drivebench pool`, and all that it printed.
pub fn pool(machine: &Machine, args: &str) -> Done<(i32, String)> {
    // An error captures a backtrace then, for which the program has no tables.
    let command = format!("RUST_BACKTRACE=1 drivebench pool {args} 2>&1");
    let output = machine.run(&["sh", "-c", &command], LIMIT)?;
    // Lines are wrapped at 80 columns.
    let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    Ok((output.code, text))
}

/// What `drivebench pool` printed. It must succeed.
pub fn done(machine: &Machine, args: &str) -> Done<String> {
    let (code, text) = pool(machine, args)?;
    require(machine, code == 0, &format!("pool {args}"), text.as_str())?;
    Ok(text)
}

/// The lines of `pool status`.
pub fn status(machine: &Machine) -> Done<String> {
    machine.ask(&["drivebench", "pool", "status"])
}

/// Nothing is left on drives, nor in the kernel.
pub fn clean(machine: &Machine, drives: &[usize], what: &str) -> Done {
    let paths = drives.iter().map(|i| path(machine, *i)).collect::<Done<Vec<_>>>()?;
    let script = format!(
        "udevadm settle; for d in {}; do wipefs --noheadings $d; ls $d?* 2>/dev/null; \
         mdadm --examine $d >/dev/null 2>&1 && echo md on $d; done; \
         dmsetup ls | grep -v 'No devices'; grep ^md /proc/mdstat; \
         drivebench pool status | grep -v '^No pools were built by drivebench.$'; true",
        paths.join(" ")
    );
    let left = sh(machine, &script)?;
    require(machine, left.is_empty(), &format!("{what}: not everything is removed"), left)
}

/// A pool over `drives` is built over what was on them, used, started as at boot, and removed; at each step mdadm and the
/// kernel say the same as `pool status`. Files in `/etc` are as before afterwards.
pub fn round_trip(machine: &Machine, layout: &str, drives: &[usize]) -> Done {
    let (bays, erase) = named(machine, drives);
    // As on a Debian with systemd.
    sh(
        machine,
        "mkdir -p /etc/mdadm /etc/systemd/system /run/systemd/system; echo 'proc /proc proc defaults 0 0' >/etc/fstab",
    )?;
    let etc = || sh(machine, "find /etc -type f | sort | xargs sha256sum");
    let before = etc()?;
    let used = path(machine, drives[0])?;
    sh(machine, &format!("d={used}; {USED}"))?;
    done(machine, &format!("create --layout {layout} --chunk 64k --mount /mnt/pool --keep {bays} {erase}"))?;
    agree(machine, "pool")?;
    // udev has heard of everything afterwards, and has taken no member away. md fills the last drive of a new raid5.
    sh(
        machine,
        "head -c 5000000 /dev/urandom >/mnt/pool/file && sync && cp /mnt/pool/file /work/file; udevadm settle; \
         echo 3 >/proc/sys/vm/drop_caches; cmp /mnt/pool/file /work/file; mdadm --wait /dev/md/pool 2>/dev/null; true",
    )?;
    let status = done(machine, "status pool")?;
    let complete = status.contains(&format!("pool: {layout}, "))
        && status.contains(" active")
        && status.contains("mounted on /mnt/pool")
        && !status.contains("degraded")
        && status.matches("in use").count() == drives.len();
    require(machine, complete, "the pool is not complete", status)?;
    agree(machine, "pool")?;
    // As at boot: the lines bring it back. (The mount of busybox knows no x-systemd options.)
    let (stop, start) = if layout == "linear" {
        let unit = "/etc/systemd/system/drivebench-pool-pool.service";
        ("dmsetup remove pool", format!("sed -n 's/^ExecStart=//p' {unit} | sh -e"))
    } else {
        ("mdadm --stop /dev/md/pool", "mdadm --assemble --scan; udevadm settle".to_owned())
    };
    sh(machine, &format!("umount /mnt/pool && {stop}"))?;
    agree(machine, "pool")?;
    if layout != "linear" {
        in_part(machine, drives[0])?;
        sh(machine, stop)?;
    }
    sh(machine, &start)?;
    sh(machine, "/bin/mount /mnt/pool && cmp /mnt/pool/file /work/file")?;
    agree(machine, "pool")?;
    if layout == "linear" {
        sh(machine, "umount /mnt/pool")?;
        seams(machine, drives)?;
    }
    done(machine, &format!("destroy pool {erase}"))?;
    clean(machine, drives, layout)?;
    require(machine, etc()? == before, layout, "files in /etc differ")
}

/// A stopped array that has one member again has all of them after the command that is shown.
fn in_part(machine: &Machine, first: usize) -> Done {
    sh(
        machine,
        &format!("udevadm settle; mdadm --quiet --incremental {}1; udevadm settle", path(machine, first)?),
    )?;
    let text = status(machine)?;
    let all = commands(&text);
    let [("to start it: ", start)] = &all[..] else {
        return Err(machine.wrong("status of a pool that is assembled in part", text));
    };
    sh(machine, &format!("{start}; udevadm settle"))?;
    whole(machine, "a pool that was assembled in part")
}

/// The pool has all its members, by its status and by mdadm.
pub(crate) fn whole(machine: &Machine, what: &str) -> Done {
    let text = status(machine)?;
    require(machine, text.contains(" active") && !text.contains("degraded"), what, text)?;
    agree(machine, "pool")
}

/// No sector of a linear pool is lost or used twice: 16 sectors before each seam and 16 after it, written through the
/// mapping, are what the drives store there. (Read in the guest, a drive shows what its page cache held before.)
fn seams(machine: &Machine, drives: &[usize]) -> Done {
    const SIDE: u64 = 16;
    let mut seam = 0;
    for pair in drives.windows(2) {
        let sectors = machine.scenario().drives[pair[0]].sectors;
        seam += sectors;
        let write = format!(
            "head -c {} /dev/urandom >/work/in && dd if=/work/in of=/dev/mapper/pool bs=512 seek={} conv=fsync",
            2 * SIDE * SECTOR,
            seam - SIDE
        );
        sh(machine, &write)?;
        let written = machine.run(&["cat", "/work/in"], LIMIT)?.stdout;
        let before = machine.stored(pair[0], (sectors - SIDE) * SECTOR, SIDE * SECTOR)?;
        let after = machine.stored(pair[1], 0, SIDE * SECTOR)?;
        let whole = written.len() as u64 == 2 * SIDE * SECTOR;
        let same = whole && written == [before, after].concat();
        require(machine, same, "a linear pool", format!("the drives differ at the seam at sector {seam}"))?;
    }
    Ok(())
}

/// A linear pool of all drives of the scenario has this table and no other, and its seams are right.
pub fn joined(machine: &Machine) -> Done {
    prepare(machine)?;
    let drives: Vec<usize> = (0..machine.scenario().drives.len()).collect();
    let (bays, erase) = named(machine, &drives);
    done(machine, &format!("create --layout linear --mount /mnt/pool {bays} {erase}"))?;
    let mut table = String::new();
    let mut start = 0;
    for &i in &drives {
        let numbers = sh(machine, &format!("cat /sys/class/block/$(basename {})/dev", path(machine, i)?))?;
        let sectors = machine.scenario().drives[i].sectors;
        let _ = writeln!(table, "{start} {sectors} linear {} 0", numbers.trim());
        start += sectors;
    }
    let mapped = sh(machine, "dmsetup table pool")?;
    require(machine, mapped == table, "dmsetup table", format!("{mapped} is not\n{table}"))?;
    sh(machine, "umount /mnt/pool")?;
    seams(machine, &drives)?;
    done(machine, &format!("destroy pool {erase}"))?;
    clean(machine, &drives, "linear")
}

/// A member fails, is pulled, replaced by a spare drive, and the pool is stopped and started without one; at each step mdadm
/// and the kernel say the same as `pool status`.
pub fn faults(machine: &mut Machine, layout: &str, drives: &[usize], spare: usize) -> Done {
    let (bays, erase) = named(machine, drives);
    let (_, other) = named(machine, &[spare]);
    let [failed, pulled] = [drives[0], drives[1]];
    done(machine, &format!("create --layout {layout} --chunk 64k --mount /mnt/pool {bays} {erase}"))?;
    sh(machine, "head -c 5000000 /dev/urandom >/mnt/pool/file && sync && cp /mnt/pool/file /work/file")?;
    let waited = "mdadm --wait /dev/md/pool 2>/dev/null; true";
    sh(machine, waited)?;
    let same = "sync; echo 3 >/proc/sys/vm/drop_caches; cmp /mnt/pool/file /work/file";
    let device = path(machine, failed)?;
    sh(machine, &format!("mdadm --quiet /dev/md/pool --fail {device}1"))?;
    agree(machine, "pool")?;
    // As a mdadm leaves it that is killed while it adds a drive.
    sh(machine, "echo frozen >/sys/block/$(basename $(readlink -f /dev/md/pool))/md/sync_action")?;
    let text = status(machine)?;
    let shown = commands(&text).into_iter().find(|(purpose, _)| *purpose == "to let it go on: ");
    require(machine, shown.is_some(), "a frozen array is not shown", text)?;
    sh(machine, &shown.unwrap_or_default().1)?;
    // The failed one is still plugged in.
    let replaced = serial(machine, failed);
    done(machine, &format!("replace {replaced} {} {other}", serial(machine, spare)))?;
    agree(machine, "pool")?;
    sh(machine, same)?;
    let bay = machine.scenario().drives[pulled].bay.clone();
    machine.pull(pulled)?;
    sh(machine, "echo more >/mnt/pool/more; sync; udevadm settle")?;
    agree(machine, "pool")?;
    let text = status(machine)?;
    let shown = text.contains("degraded, 1 drive missing") && text.contains("not plugged in");
    require(machine, shown, "a missing drive is not shown", text)?;
    // Stopped, and started with the command that is shown.
    sh(machine, "umount /mnt/pool && mdadm --stop /dev/md/pool")?;
    agree(machine, "pool")?;
    let (_, start) = commands(&status(machine)?).into_iter().next().unwrap_or_default();
    sh(machine, &start)?;
    agree(machine, "pool")?;
    // Not mounted, so nothing writes to it.
    machine.plug(pulled, &bay)?;
    path(machine, pulled)?;
    let returned = serial(machine, pulled);
    done(machine, &format!("replace {returned} {returned} --erase {returned}"))?;
    agree(machine, "pool")?;
    sh(machine, &format!("udevadm settle; mount /dev/md/pool /mnt/pool && {same}"))?;
    let now: Vec<usize> = drives.iter().copied().filter(|i| *i != failed).chain([spare]).collect();
    done(machine, &format!("destroy pool {}", named(machine, &now).1))?;
    sh(machine, &format!("wipefs --quiet --all {device}1 {device}; udevadm settle"))?;
    clean(machine, &[drives, &[spare]].concat(), layout)
}

/// A pool without copies that lost a drive: mdadm and the kernel say the same as `pool status`.
pub fn lost(machine: &mut Machine, layout: &str, drives: &[usize]) -> Done {
    let (bays, erase) = named(machine, drives);
    done(machine, &format!("create --layout {layout} --chunk 64k {bays} {erase}"))?;
    let bay = machine.scenario().drives[drives[1]].bay.clone();
    machine.pull(drives[1])?;
    sh(machine, "udevadm settle")?;
    agree(machine, "pool")?;
    let status = done(machine, "status pool")?;
    require(
        machine,
        status.contains("broken: too many drives are missing"),
        "it is not shown as broken",
        status,
    )?;
    machine.plug(drives[1], &bay)?;
    path(machine, drives[1])?;
    done(machine, &format!("destroy pool {erase}"))?;
    clean(machine, drives, layout)
}

/// The power fails while an array with parity is written that lacks a drive: md doesn't start it by itself, the command that `pool
/// status` shows does, and what was synced is intact.
pub fn unclean(machine: &mut Machine, layout: &str, drives: &[usize]) -> Done {
    let (bays, erase) = named(machine, drives);
    let pulled = drives[0];
    let bay = machine.scenario().drives[pulled].bay.clone();
    done(machine, &format!("create --layout {layout} --chunk 64k --mount /mnt/pool {bays} {erase}"))?;
    sh(machine, "head -c 5000000 /dev/urandom >/mnt/pool/file; sync; mdadm --wait /dev/md/pool; true")?;
    let sum = sh(machine, "sha256sum </mnt/pool/file")?;
    machine.pull(pulled)?;
    // md would note soon after the last write that all has reached the drives.
    let delay = "/sys/block/$(basename $(readlink -f /dev/md/pool))/md/safe_mode_delay";
    sh(machine, &format!("echo 0 >{delay}; head -c 3000000 /dev/urandom >/mnt/pool/more; sync"))?;
    let log = sh(machine, &format!("cat {STORE}/pools/pool.jsonl"))?;
    machine.cut_power()?;
    prepare(machine)?;
    sh(machine, &format!("mkdir -p {STORE}/pools; cat >{STORE}/pools/pool.jsonl <<'END'\n{log}END"))?;
    let start = |machine: &Machine| -> Done<String> {
        let text = status(machine)?;
        let shown = commands(&text).into_iter().find(|(to, _)| *to == "to start it: ");
        let why = text.contains("its writing was cut off");
        require(machine, why && shown.is_some(), "what its status says after the power cut", text)?;
        Ok(shown.unwrap_or_default().1)
    };
    let tried = start(machine)?.replace(" --force", "");
    let refused = machine.run(&["sh", "-c", &tried], LIMIT)?.code != 0;
    require(machine, refused, &tried, "md started it")?;
    // What is left of that is assembled in part. A raid6 is compared after the start.
    sh(machine, &format!("{}; mdadm --wait /dev/md/pool 2>/dev/null; true", start(machine)?))?;
    agree(machine, "pool")?;
    let now = sh(machine, "mount /dev/md/pool /mnt/pool && sha256sum </mnt/pool/file")?;
    require(machine, now == sum, "a file that was synced", now)?;
    machine.plug(pulled, &bay)?;
    path(machine, pulled)?;
    let returned = serial(machine, pulled);
    done(machine, &format!("replace {returned} {returned} --erase {returned}"))?;
    agree(machine, "pool")?;
    done(machine, &format!("destroy pool {erase}"))?;
    clean(machine, drives, layout)
}

/// The commands that `pool status` shows, each with its purpose, as printed. One with a word in capitals is no command yet.
pub fn commands(status: &str) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for purpose in ["to remove it: ", "to start it: ", "to let it go on: ", "to go on: "] {
        for (at, _) in status.match_indices(purpose) {
            let rest = &status[at + purpose.len()..];
            let mut quoted = false;
            let end = rest.char_indices().find(|(i, c)| {
                quoted ^= *c == '\'';
                *c == '\n' || (!quoted && rest[*i..].starts_with(", "))
            });
            found.push((purpose, rest[..end.map_or(rest.len(), |(i, _)| i)].to_owned()));
        }
    }
    found
}
