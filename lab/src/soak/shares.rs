//! `drivebench run share` where it is known what limits; and killed at random moments: nothing may be left after the next start.

use std::{thread, time::Duration};

use drivebench::findings::Findings;
use rand::Rng;

use super::{LIMIT, Summary, rounds};
use crate::{
    Link, Machine, MachineError, Options, Scenario,
    pools::{SHARE_MODULES, done, named, prepare, require, sh},
    state::State,
};

/// Where it is known what limits: how `run share` is called, what clients do, and what the verdict says of it, or doesn't.
struct Case {
    name: &'static str,
    args: &'static str,
    errand: &'static str,
    says: &'static [&'static str],
}

/// Of two sticks that read 15 and write 5 MB/s. None is to be named of two that are as slow. What is not judged is short.
const CASES: [Case; 5] = [
    Case {
        name: "the drive",
        args: "--files 2 --clients 1 /mnt/a",
        errand: "put 4.19 MB:",
        says: &["The drive limits"],
    },
    Case {
        name: "a slow link",
        args: "--files 2 --clients 1 --rate 10Mb /mnt/a",
        errand: "get 4.19 MB:",
        says: &["The link limits"],
    },
    Case {
        name: "several clients on a slow link",
        args: "--files 2 --rate 10Mb /mnt/a",
        errand: "get by 4 clients:",
        says: &["The link limits"],
    },
    Case {
        name: "many files",
        args: "--files 100 --clients 1 /mnt/a",
        errand: "get 100 files:",
        says: &["SMB, the programs or the processors limit"],
    },
    Case {
        name: "a drive and a link that are as slow",
        args: "--files 2 --clients 1 --rate 41Mb /mnt/a",
        errand: "put 4.19 MB:",
        says: &["No single part limits", "is not clear"],
    },
];

/// Of drives that are so many times as fast, with flushes that take as long as those of a disk, s: of slower ones, moving the bytes costs as much.
const FASTER: f64 = 8.0;
const FLUSH: f64 = 10e-3;
const OF_FASTER: [Case; 2] = [
    Case {
        name: "encryption on a slow processor",
        args: "--files 2 --clients 1 --rate 1Gb --protection encrypt /mnt/a",
        errand: "get 4.19 MB:",
        says: &["Encryption limits"],
    },
    Case {
        name: "many files by NFS",
        args: "--protocol nfs --files 100 --clients 1 /mnt/a",
        errand: "put 100 files:",
        says: &["The export's sync limits"],
    },
];

/// The same of a raid0 of both, which reads 25 MB/s.
const OVER_RAID0: Case = Case {
    name: "a raid0 behind a slow link",
    args: "--files 2 --clients 1 --rate 40Mb /mnt/pool",
    ..CASES[1]
};

/// A network card on the drive's bus, which carries about as much as each of them alone.
const OVER_USB: Case = Case {
    name: "a network card on the drive's bus",
    args: "--client ssh://10.77.0.2/work/client --files 2 --clients 1 /mnt/a",
    errand: "get 4.19 MB:",
    says: &["No single part limits"],
};
/// Emulated USB moves little more than this, bytes per second.
const BUS: f64 = 1.6e6;
const CLIENT: &str = "busybox modprobe virtio_net; udevadm settle; device=$(ls /sys/class/net | grep ^e); ip link set $device up; \
    ip addr add 10.77.0.2/24 dev $device; mkdir -p /root/.ssh /work/client; chmod 700 /root /root/.ssh; \
    dropbearkey -t ed25519 -f /work/hostkey >/dev/null 2>&1; dropbear -r /work/hostkey -p 22 </dev/null >/work/dropbear 2>&1";
const SERVER: &str = "busybox modprobe cdc_ether; udevadm settle; device=$(ls /sys/class/net | grep ^e); ip link set $device up; \
    ip addr add 10.77.0.1/24 dev $device; mkdir -p /root/.ssh; chmod 700 /root /root/.ssh; ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519; \
    cat /root/.ssh/id_ed25519.pub";

/// A server whose network card is on the drives' bus, and a client on another machine.
fn over_usb(options: &Options, scenario: &Scenario, lines: &mut Vec<String>) -> Result<bool, MachineError> {
    let state = State::new().map_err(|e| MachineError::new("no directory", e))?;
    let socket = state.file("link");
    let linked =
        |listens| Options { link: Some(Link { socket: socket.clone(), listens }), ..options.clone() };
    let far = Scenario { drives: Vec::new(), buses: Vec::new(), ..scenario.clone() };
    let client = Machine::start(&far, &linked(true))?;
    sh(&client, CLIENT)?;
    let mut near = Scenario { network: Some("1.3".to_owned()), ..scenario.clone() };
    let drive = near.drives[0].model.read[0].rate;
    near.speed *= BUS / drive;
    near.buses.iter_mut().for_each(|bus| bus.rate = drive);
    let machine = Machine::start(&near, &linked(false))?;
    ready(&machine)?;
    let key = sh(&machine, SERVER)?;
    sh(&client, &format!("echo '{}' >/root/.ssh/authorized_keys", key.trim()))?;
    sh(&machine, "ssh -o StrictHostKeyChecking=accept-new 10.77.0.2 true")?;
    let is_said = says(&machine, &OVER_USB, lines)?;
    Ok(is_said && lines.last().is_some_and(|line| line.contains("are on the USB2 bus")))
}

fn ready(machine: &Machine) -> Result<(), MachineError> {
    sh(machine, &format!("{SHARE_MODULES}; mkdir -p /mnt/pool")).map(drop)
}

/// Each case, `times` times.
pub fn shares(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let mut lines = Vec::new();
    let summary = rounds(times, seed, |_, _| {
        let (mut right, before) = (0, lines.len());
        {
            let mut faster = scenario.clone().faster(FASTER);
            for drive in &mut faster.drives {
                // A machine that is faster makes all of its drives' times shorter.
                drive.model.flush_seconds = FLUSH * FASTER;
            }
            let machine = Machine::start(&faster, options)?;
            ready(&machine)?;
            for case in &OF_FASTER {
                right += u32::from(says(&machine, case, &mut lines)?);
            }
        }
        let machine = Machine::start(scenario, options)?;
        ready(&machine)?;
        for case in &CASES {
            right += u32::from(says(&machine, case, &mut lines)?);
        }
        sh(&machine, "umount /mnt/a /mnt/b")?;
        prepare(&machine)?;
        let (bays, erase) = named(&machine, &[0, 1]);
        done(&machine, &format!("create --layout raid0 --mount /mnt/pool {bays} {erase}"))?;
        right += u32::from(says(&machine, &OVER_RAID0, &mut lines)?);
        right += u32::from(over_usb(options, scenario, &mut lines)?);
        let all = (OF_FASTER.len() + CASES.len() + 2) as u32;
        let untold = lines[before..].iter().filter(|line| line.contains("is not clear")).count();
        require(&machine, untold <= 1, "what limits", format!("{untold} not clear: {}", lines.join("\n")))?;
        require(
            &machine,
            right == all,
            "what limits",
            format!("{right} of {all} as expected: {}", lines.join("\n")),
        )?;
        Ok(Some(f64::from(right)))
    });
    Summary { lines, ..summary }
}

/// What a run finds.
pub(super) fn found(machine: &Machine, args: &str) -> Result<Findings, MachineError> {
    let command = format!(
        "drivebench run share {args} --format json 2>/work/said || {{ tail -n 5 /work/said >&2; false; }}"
    );
    let output = machine.run(&["sh", "-c", &command], Duration::from_secs(1800))?;
    require(machine, output.code == 0, &command, String::from_utf8_lossy(&output.stderr))?;
    serde_json::from_str(&output.text()).map_err(|e| machine.wrong("findings", e))
}

/// Whether the verdict is as expected.
fn says(machine: &Machine, case: &Case, lines: &mut Vec<String>) -> Result<bool, MachineError> {
    let found = found(machine, &format!("--size 4MiB --runs 5 {}", case.args))?;
    let verdict = found.verdicts.iter().find(|verdict| verdict.starts_with(case.errand));
    let verdict = verdict.ok_or_else(|| machine.wrong("findings", format!("nothing of {}", case.errand)))?;
    lines.push(format!("{}: {verdict}", case.name));
    Ok(case.says.iter().any(|words| verdict.contains(words)))
}

/// Kills come at most so long after the start, s: a run takes longer.
const MOST: f64 = 30.0;
/// Servers and clients that run.
const RUNNING: &str = "pidof smbd smbclient sshd sftp rpc.mountd; grep -lxE nfsd /proc/[0-9]*/comm";
/// What the kernel logged, if it has crashed.
pub const CRASHED: &str = "dmesg | grep -E 'BUG:|Oops|Busy inodes|general protection'";

/// SMB, NFS and SFTP in turn.
pub fn share_kills(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    kills((options, scenario), &["", "--protocol nfs", "--protocol sftp"], times, seed)
}

/// One machine for all kills, and another one after each that failed.
fn kills(machine: (&Options, &Scenario), ways: &[&str], times: u32, seed: u64) -> Summary {
    let mut served = vec![0; ways.len()];
    let mut running = None;
    let mut summary = rounds(times, seed, |round, random| {
        let after = random.random_range(0.0..MOST);
        let way = round as usize % ways.len();
        let guest = match running.take() {
            Some(guest) => guest,
            None => Machine::start(machine.1, machine.0).and_then(|guest| ready(&guest).map(|()| guest))?,
        };
        served[way] += u32::from(killed(&guest, ways[way], after)?);
        running = Some(guest);
        Ok(Some(after))
    });
    for (way, served) in ways.iter().zip(served) {
        summary.lines.push(format!("share {way}: a server ran at {served} kills"));
        if served == 0 {
            summary.failures.push((0, format!("share {way}: no server ran when it was killed")));
        }
    }
    summary
}

/// Whether a server ran when drivebench was killed.
fn killed(machine: &Machine, way: &str, after: f64) -> Result<bool, MachineError> {
    let run = format!(
        "exec drivebench run share {way} --wait --rate 10Mb --size 4MiB --files 50 --runs 5 /mnt/a >/work/said 2>&1"
    );
    let run = machine.begin(&["sh", "-c", &run])?;
    thread::sleep(Duration::from_secs_f64(after));
    let served = !sh(machine, &format!("{RUNNING}; true"))?.is_empty();
    let _ = run.signal(9);
    let ended = run.wait(LIMIT).map_err(|e| machine.wrong("the run that was killed", e))?;
    let printed = sh(machine, "cat /work/said")?;
    require(machine, ended.code == 128 + 9, "the run that was killed", printed)?;
    // The kernel ends what ran, but not before the program that was killed is gone: a busy machine takes a moment.
    let left = format!(
        "drivebench cleanup >/work/cleaned 2>&1; for i in $(seq 100); do \
         left=$({RUNNING}; find /mnt -name '.drivebench*'; ip -o link | grep veth; grep drivebench /proc/mounts; {CRASHED}); \
         [ -z \"$left\" ] && break; usleep 200000; done; echo \"$left\""
    );
    match sh(machine, &format!("{{ {left}; }} 2>/dev/null"))?.trim() {
        // Nothing keeps the drives in use.
        "" => sh(machine, "umount /mnt/a /mnt/b && mount LABEL=a /mnt/a && mount LABEL=b /mnt/b")
            .map(|_| served),
        left => {
            Err(machine.wrong("what was killed", format!("{way}, after {after:.1} s, this is left: {left}")))
        }
    }
}
