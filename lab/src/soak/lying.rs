//! `drivebench run power` on drives that keep what they acknowledge, and on drives that don't.

use std::time::Duration;

use drivebench_modelled::sim::Faults;
use rand::Rng;
use serde_json::Value;

use super::{
    LIMIT, Summary,
    pools::{settle, with_store},
    rounds,
};
use crate::{
    Machine, MachineError, Options, Scenario,
    pools::{path, sh},
};

/// Of the drives: two are healthy, one loses the last of its writes with the power, one changes data without a power cut.
const HEALTHY: [usize; 2] = [0, 1];
const VOLATILE: usize = 2;
const WRONG: usize = 3;

/// `times` power cuts of three drives, from the number `seed` on; a fourth drive forgets writes in odd rounds, and flips bits in
/// even ones.
pub fn lying(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let mut lines = Vec::new();
    let summary = rounds(times, seed, |round, random| {
        let forgets = (seed.max(1) + u64::from(round)) % 2 == 0;
        let (drops, flips) = if forgets { (0.02, 0.0) } else { (0.0, 0.005) };
        let mut scenario = with_store(scenario.clone());
        scenario.drives[VOLATILE].model.faults = Faults { volatile: Some(256 << 10), ..Faults::default() };
        scenario.drives[WRONG].model.faults = Faults { drops, flips, ..Faults::default() };
        // As slow as sticks are: faster ones would have written all they may before the power is cut.
        scenario.drives.iter_mut().for_each(|drive| drive.model.operation_seconds = 2e-3);
        let mut machine = Machine::start(&scenario, options)?;
        settle(&machine)?;
        lines.push(format!(
            "{}: {}",
            if forgets { "forgets writes" } else { "flips bits" },
            wrong(&machine)?
        ));
        for verdict in cut(&mut machine, random)? {
            lines.push(verdict);
        }
        Ok(None)
    });
    Summary { lines, ..summary }
}

/// What is said of the drive that changes data, without any power cut.
fn wrong(machine: &Machine) -> Result<String, MachineError> {
    let drive = path(machine, WRONG)?;
    // It may also forget what makes a filesystem.
    let run = format!(
        "mkdir -p /mnt/wrong; for i in 1 2 3 4 5 6 7 8; do mkfs.ext4 -q -F {drive} && mount {drive} /mnt/wrong && break; done; \
         mountpoint -q /mnt/wrong && drivebench run power /mnt/wrong --size 4MiB --max-bytes 16MiB --format json; \
         umount -l /mnt/wrong"
    );
    let verdict = verdict(machine, &run)?;
    match verdict.starts_with("WRONG DATA: ") {
        true => Ok(verdict),
        false => Err(machine.wrong("a drive that changes data", verdict)),
    }
}

/// Cuts the power while three drives are written to; what is said of each.
fn cut(machine: &mut Machine, random: &mut impl Rng) -> Result<Vec<String>, MachineError> {
    let drives = [HEALTHY[0], HEALTHY[1], VOLATILE];
    let mount = |machine: &Machine, make: &str| -> Result<(), MachineError> {
        for i in drives {
            let drive = path(machine, i)?;
            let make = if make.is_empty() { String::new() } else { format!("{make} {drive} && ") };
            sh(machine, &format!("mkdir -p /mnt/d{i}; {make}mount {drive} /mnt/d{i}"))?;
        }
        Ok(())
    };
    mount(machine, "mkfs.ext4 -q -F")?;
    let runs = drives.map(|i| {
        format!(
            "drivebench run power /mnt/d{i} --store /mnt/store/s{i} --size 4MiB --max-bytes 32MiB >/work/said{i} 2>&1 & \
             while ! grep -q 'Cut the power NOW' /work/said{i}; do kill -0 $! || {{ cat /work/said{i} >&2; exit 1; }}; \
             usleep 20000; done; "
        )
    });
    let running = machine.begin(&["sh", "-c", &format!("{}echo writing; wait", runs.concat())])?;
    running.await_words(LIMIT).map_err(|e| machine.wrong("run power", e))?;
    // A random moment.
    std::thread::sleep(Duration::from_millis(random.random_range(500..4000)));
    machine.cut_power()?;
    settle(machine)?;
    mount(machine, "")?;
    drives
        .iter()
        .map(|i| {
            let store = format!("--store /mnt/store/s{i}");
            let check = format!(
                "run=$(drivebench results list {store} | awk '/cut off/ && / power / {{ print $1; exit }}'); \
                 drivebench run power --resume $run {store} --format json"
            );
            let verdict = verdict(machine, &check)?;
            let (kind, expected) = match *i {
                VOLATILE => ("loses its last writes", "NOT KEPT: "),
                _ => ("healthy", "Nothing was lost after a power cut or restart"),
            };
            match verdict.starts_with(expected) {
                true => Ok(format!("{kind}: {verdict}")),
                false => Err(machine.wrong(kind, verdict)),
            }
        })
        .collect()
}

fn verdict(machine: &Machine, command: &str) -> Result<String, MachineError> {
    let text = sh(machine, command)?;
    let findings: Value = serde_json::from_str(&text).map_err(|e| machine.wrong("findings", e))?;
    Ok(findings["verdicts"][0].as_str().unwrap_or_default().to_owned())
}
