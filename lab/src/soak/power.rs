//! `drivebench run power`: the power is cut while files are written, and what was acknowledged must be there.

use std::time::Duration;

use rand::Rng;
use serde_json::Value;

use super::{
    LIMIT, Summary,
    pools::{settle, with_store},
    rounds,
};
use crate::{
    Machine, MachineError, Options, Scenario,
    pools::{commands, done, named, sh, status},
};

/// What is tried in turn.
const LAYOUTS: [&str; 4] = ["raid1", "raid5", "raid6", "raid10"];
/// Power cuts of a pool, before it is built again.
const CUTS: u32 = 5;
const MEMBERS: [usize; 4] = [0, 1, 2, 3];
const SLOW: usize = 0;
const UNMOUNTABLE: &str = "mounting /dev/md/pool on /mnt/pool failed: Input/output error";

/// `times` pools of the layouts in turn, from the number `seed` on; of each the power is cut five times.
pub fn lost_power(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let scenario = with_store(scenario.clone());
    let mut lines = Vec::new();
    let summary = rounds(times, seed, |round, random| {
        let layout = LAYOUTS[(seed.max(1) as usize + round as usize - 2) % LAYOUTS.len()];
        let mut machine = Machine::start(&scenario, options)?;
        build(&machine, layout)?;
        for _ in 0..CUTS {
            lines
                .push(format!("{layout}: {}", cut_once(&mut machine, "/mnt/pool", "", mount_again, random)?));
        }
        Ok(None)
    });
    Summary { lines, ..summary }
}

/// Cuts the power while files are written to `dir`, and returns the verdict, an error if anything was lost. `store` are options
/// that name the store; `again` mounts everything after the start.
pub fn cut_once(
    machine: &mut Machine,
    dir: &str,
    store: &str,
    again: impl FnOnce(&Machine) -> Result<(), MachineError>,
    random: &mut impl Rng,
) -> Result<String, MachineError> {
    let verdict =
        said(machine, dir, store, |machine| machine.cut_power().and_then(|()| again(machine)), random)?;
    let left = sh(machine, &format!("ls {dir}; drivebench cleanup {store}"))?;
    match verdict.starts_with("Nothing was lost after a power cut or restart")
        && left.ends_with("Nothing to clean up.\n")
    {
        true => Ok(verdict),
        false => Err(machine.wrong("after the power cut", format!("{verdict} {left}"))),
    }
}

/// What is said of a power cut at a random moment while files are written to `dir`. `cut` cuts it, and mounts everything again.
fn said(
    machine: &mut Machine,
    dir: &str,
    store: &str,
    cut: impl FnOnce(&mut Machine) -> Result<(), MachineError>,
    random: &mut impl Rng,
) -> Result<String, MachineError> {
    let run = format!(
        "drivebench run power {dir} --size 4MiB --max-bytes 16MiB {store} >/work/said 2>&1 & \
         while ! grep -q 'Cut the power NOW' /work/said; do kill -0 $! || {{ cat /work/said >&2; exit 1; }}; usleep 20000; done; \
         echo writing; wait $!"
    );
    let running = machine.begin(&["sh", "-c", &run])?;
    running.await_words(LIMIT).map_err(|e| machine.wrong("run power", e))?;
    // A random moment.
    std::thread::sleep(Duration::from_millis(random.random_range(0..4000)));
    cut(machine)?;
    let check = format!(
        "run=$(drivebench results list {store} | awk '/cut off/ && / power / {{ print $1; exit }}'); \
         drivebench run power --resume $run {store} --format json"
    );
    let text = sh(machine, &check)?;
    let findings: Value = serde_json::from_str(&text).map_err(|e| machine.wrong("findings", e))?;
    Ok(findings["verdicts"][0].as_str().unwrap_or_default().to_owned())
}

/// Builds a pool of four drives, mounted, and waits until they agree.
fn build(machine: &Machine, layout: &str) -> Result<(), MachineError> {
    settle(machine)?;
    let (bays, erase) = named(machine, &MEMBERS);
    done(machine, &format!("create --layout {layout} --chunk 64k --mount /mnt/pool {bays} {erase}"))?;
    sh(machine, "mdadm --wait /dev/md/pool 2>/dev/null; true").map(drop)
}

/// Mounts the pool as `pool status` shows, until it works.
fn mount_again(machine: &Machine) -> Result<(), MachineError> {
    settle(machine)?;
    for _ in 0..3 {
        for (_, command) in commands(&status(machine)?) {
            sh(machine, &format!("{command}; udevadm settle"))?;
        }
    }
    sh(machine, "mountpoint -q /mnt/pool || mount /dev/md/pool /mnt/pool").map(drop)
}

/// `times` power cuts of a raid5 that comes back without one of its drives. One drive is slow, so that writes to the others often
/// arrive before those to it: where data is new and its parity old, what the missing drive had can't be computed, and
/// `run power` must say so. The figures are 1 where something was lost, 0 where nothing was.
pub fn write_hole(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let mut scenario = with_store(scenario.clone());
    scenario.drives[SLOW].model.operation_seconds = 20e-3;
    let mut lines = Vec::new();
    let summary = rounds(times, seed, |_, random| {
        let mut machine = Machine::start(&scenario, options)?;
        build(&machine, "raid5")?;
        let missing = random.random_range(SLOW + 1..MEMBERS.len());
        let cut =
            |machine: &mut Machine| machine.cut_power_without(&[missing]).and_then(|()| mount_again(machine));
        let verdict = match said(&mut machine, "/mnt/pool", "", cut, random) {
            // Its journal has checksums, and can't be trusted either.
            Err(e) if e.to_string().contains(UNMOUNTABLE) => {
                lines.push("The filesystem can't be mounted any more.".to_owned());
                return Ok(Some(1.0));
            }
            verdict => verdict?,
        };
        let is_lost = verdict.starts_with("NOT KEPT: ");
        let is_known = (is_lost || verdict.starts_with("Nothing was lost after "))
            && verdict.contains("came back without 1 of its 4 drives");
        if !is_known {
            return Err(machine.wrong("after the power cut", verdict));
        }
        lines.push(verdict);
        Ok(Some(f64::from(u8::from(is_lost))))
    });
    Summary { lines, ..summary }
}
