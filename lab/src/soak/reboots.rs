//! Pools that are kept over reboots of a machine with systemd: with all their drives, and with one of them missing.

use std::{
    fmt,
    time::{Duration, Instant},
};

use drivebench::units::Layout;

use super::{Summary, rounds};
use crate::{Machine, MachineError, Options, Scenario, scenario::Guest};

/// The time limit for what the system does by itself: longer than it waits for a device at boot, 90 s.
const LIMIT: Duration = Duration::from_secs(150);

/// A pool of some drives of a scenario.
#[derive(Debug, Clone, Copy)]
pub struct Pool {
    /// Its name; it is mounted on `/srv/NAME`.
    pub name: &'static str,
    /// Its layout.
    pub layout: Layout,
    /// Its filesystem.
    pub filesystem: &'static str,
    /// Its drives, numbered as in the scenario.
    pub drives: &'static [usize],
}

const fn pool(layout: Layout, filesystem: &'static str, drives: &'static [usize]) -> Pool {
    Pool { name: "pool", layout, filesystem, drives }
}

/// What is tried in turn.
const POOLS: [Pool; 8] = [
    pool(Layout::Linear, "ext4", &[0, 1, 2, 3]),
    pool(Layout::Raid0, "ext4", &[0, 1]),
    pool(Layout::Raid1, "ext4", &[0, 1]),
    pool(Layout::Raid5, "ext4", &[0, 1, 2]),
    pool(Layout::Raid6, "ext4", &[0, 1, 2, 3]),
    pool(Layout::Raid10, "ext4", &[0, 1, 2, 3]),
    pool(Layout::Raid5, "xfs", &[0, 1, 2, 3]),
    pool(Layout::Raid1, "btrfs", &[0, 1]),
];

/// Tries the layouts and filesystems in turn, from the number `seed` on, each in a machine of its own, on the drives of `scenario`: a reboot with all
/// drives, and one without the last drive of the pool.
pub fn reboots(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let mut lines = Vec::new();
    let summary = rounds(times, seed, |round, _| {
        let pool = POOLS[(seed as usize + round as usize - 2) % POOLS.len()];
        let last = &pool.drives[pool.drives.len() - 1..];
        reboot(options, scenario, &[pool], &[&[], last], &mut lines).map(|()| None)
    });
    Summary { lines, ..summary }
}

/// Builds pools with `--keep`, and reboots, each time without some drives of the scenario. Then does what `pool status` says
/// once they are back, and destroys the pools in the end. `lines` receives what took how long, and what `pool status` said.
pub fn reboot(
    options: &Options,
    scenario: &Scenario,
    pools: &[Pool],
    reboots: &[&[usize]],
    lines: &mut Vec<String>,
) -> Result<(), MachineError> {
    let scenario = Scenario { guest: Guest::Systemd, ..scenario.clone() };
    let mut machine = Machine::start(&scenario, options)?;
    let before = sh(&machine, ETC)?;
    for pool in pools {
        lines.push(format!("{pool}: built in {:.0} s", build(&machine, pool)?));
    }
    for absent in reboots {
        machine.reboot(absent)?;
        for pool in pools {
            lines.push(format!("{pool}: {}", came_back(&machine, pool)?));
        }
        for &i in *absent {
            let drive = &scenario.drives[i];
            machine.plug(i, &drive.bay)?;
            sh(&machine, &format!("lab-device {} && udevadm settle", drive.serial))?;
            for pool in pools.iter().filter(|pool| pool.drives.contains(&i)) {
                lines.push(format!("{pool}: mended by {}", mend(&machine, pool, &drive.serial)?));
                intact(&machine, pool)?;
            }
        }
    }
    for pool in pools {
        let destroy = format!("drivebench pool destroy {}{}", pool.name, erase(pool, &scenario));
        sh(&machine, &destroy)?;
    }
    let left =
        "udevadm settle; for d in /dev/sd*; do wipefs --noheadings $d; done; ls /dev/md 2>/dev/null; true";
    let (left, after) = (sh(&machine, left)?, sh(&machine, ETC)?);
    match (left.as_str(), after == before) {
        ("", true) => Ok(()),
        ("", false) => Err(machine.wrong("files in /etc changed", format!("{before}\n{after}"))),
        _ => Err(machine.wrong("something was left", left)),
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.layout, self.filesystem)
    }
}

/// Builds a pool and writes files on it; returns how long building took, seconds.
fn build(machine: &Machine, pool: &Pool) -> Result<f64, MachineError> {
    let Pool { name, layout, filesystem, .. } = pool;
    let scenario = machine.scenario();
    let bays: Vec<&str> = pool.drives.iter().map(|&i| scenario.drives[i].bay.as_str()).collect();
    let options = format!("--layout {layout} --fs {filesystem} --chunk 64k --mount /srv/{name} --keep");
    let create = format!(
        "mkdir /srv/{name}; drivebench pool create --name {name} {options} bay:{}{}",
        bays.join(" bay:"),
        erase(pool, scenario)
    );
    let start = Instant::now();
    sh(machine, &create)?;
    let seconds = start.elapsed().as_secs_f64();
    sh(machine, &format!("pool=/srv/{name}; sums=/work/{name}; {TREE}"))?;
    // md fills the last drive of a new raid5.
    sh(machine, &format!("mdadm --wait /dev/md/{name} 2>/dev/null; true"))?;
    Ok(seconds)
}

/// What the system made of a pool at boot, and how long that took.
fn came_back(machine: &Machine, pool: &Pool) -> Result<String, MachineError> {
    let missing = pool.drives.iter().find(|i| machine.bay(**i).is_none());
    let missing = missing.map(|&i| &machine.scenario().drives[i]);
    let absent = missing.map(|drive| format!("{} in bay {}: not plugged in", drive.serial, drive.bay));
    let (seconds, status) = match absent {
        None => {
            let seconds = mounted(machine, pool)?;
            intact(machine, pool)?;
            (seconds, expect(machine, pool, &[&format!(", active, mounted on /srv/{}", pool.name)])?)
        }
        Some(absent) if pool.layout.is_redundant() => {
            let seconds = mounted(machine, pool)?;
            intact(machine, pool)?;
            (seconds, expect(machine, pool, &["degraded, 1 drive missing, ", &absent])?)
        }
        Some(absent) => {
            let up = "until systemctl is-active --quiet multi-user.target; do sleep 0.2; done";
            let seconds = after(machine, up)?;
            (seconds, expect(machine, pool, &["too many drives are missing", &absent])?)
        }
    };
    Ok(format!("{seconds} s after the kernel's start: {status}"))
}

/// The checksums of all files in `/etc`.
const ETC: &str = "find /etc -type f | sort | xargs sha256sum";

/// Files of many sizes in directories, and a list of their checksums.
const TREE: &str = "mkdir -p $pool/a/b $pool/c; for n in 1 2 3 4 5 6 7 8 9; do \
    for d in a a/b c; do head -c $((n * n * n * 1000 + n)) /dev/urandom >$pool/$d/$n; done; done; \
    cd $pool && find . -type f | sort | xargs sha256sum >$sums; sync";

fn erase(pool: &Pool, scenario: &Scenario) -> String {
    pool.drives.iter().map(|&i| format!(" --erase {}", scenario.drives[i].serial)).collect()
}

/// Waits until the system has mounted the pool; returns when that was.
fn mounted(machine: &Machine, pool: &Pool) -> Result<String, MachineError> {
    after(machine, &format!("until mountpoint -q /srv/{}; do sleep 0.2; done", pool.name))
}

/// When a command has ended, seconds after the kernel's start.
fn after(machine: &Machine, command: &str) -> Result<String, MachineError> {
    Ok(sh(machine, &format!("{command}; cut -d' ' -f1 /proc/uptime"))?.trim().to_owned())
}

/// The pool is mounted, and its files are as they were.
fn intact(machine: &Machine, pool: &Pool) -> Result<(), MachineError> {
    let name = pool.name;
    let check = format!("mountpoint -q /srv/{name} && cd /srv/{name} && sha256sum --quiet -c /work/{name}");
    sh(machine, &check).map(drop)
}

/// What `pool status` says, in one line; it says all of these words.
fn expect(machine: &Machine, pool: &Pool, words: &[&str]) -> Result<String, MachineError> {
    let status = sh(machine, &format!("drivebench pool status {}", pool.name))?;
    let status = status.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.iter().find(|word| !status.contains(**word)) {
        None => Ok(status),
        Some(word) => Err(machine.wrong("pool status", format!("it lacks {word:?}: {status}"))),
    }
}

/// Runs the commands that `pool status` shows until it shows none; returns them.
fn mend(machine: &Machine, pool: &Pool, serial: &str) -> Result<String, MachineError> {
    let mut run = Vec::new();
    // To start it and to mount it, or to fill the drive.
    for _ in 0..2 {
        let status = expect(machine, pool, &[])?;
        // The line of the first drive follows.
        let state = status.split(" Cruzer Blade ").next().unwrap_or_default();
        let Some((_, command)) = ["to start it: ", "to mount it: ", "to take it back: "]
            .iter()
            .find_map(|words| state.split_once(words))
        else {
            break;
        };
        let mut command = command.split(", ").next().unwrap_or_default().to_owned();
        if command.contains("replace") {
            command += &format!(" --erase {serial}");
        }
        sh(machine, &format!("{command} && udevadm settle"))?;
        run.push(command);
    }
    expect(machine, pool, &[&format!(", active, mounted on /srv/{}", pool.name)])?;
    Ok(run.join("; "))
}

/// The output of a shell command, which must succeed.
fn sh(machine: &Machine, command: &str) -> Result<String, MachineError> {
    let output = machine.run(&["bash", "-c", command], LIMIT)?;
    match output.code {
        0 => Ok(output.text()),
        code => {
            let stderr = String::from_utf8_lossy(&output.stderr);
            Err(machine.wrong(command, format!("exit code {code}: {}{stderr}", output.text())))
        }
    }
}
