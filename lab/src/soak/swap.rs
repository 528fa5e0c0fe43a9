//! Compares media with `drivebench run swap`; and kills it at random moments: nothing may be left after the next start, and nothing else may be
//! killed.

use std::{thread, time::Duration};

use drivebench::{
    analyse::Estimate,
    findings::{Findings, Quantity},
};
use rand::Rng;

use super::{LIMIT, Summary, rounds};
use crate::{
    Machine, MachineError, Options, Scenario, ledger,
    pools::{require, sh},
};

/// Mounts control groups: a guest without systemd has none.
pub const CONTROL_GROUPS: &str = "mkdir -p /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && echo +memory >/sys/fs/cgroup/cgroup.subtree_control";

/// Kills come at most so long after the start, s: a run takes about as long.
const MOST: f64 = 30.0;

/// Compares all drives and zram, each in a machine of its own, with five repeats and with the usual three: the ranking is that of the ledgers, and both
/// find the same.
pub fn swap_media(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let mut lines = Vec::new();
    let summary = rounds(times, seed, |round, _| {
        media(options, scenario, seed.wrapping_add(round.into()), &mut lines).map(Some)
    });
    Summary { lines, ..summary }
}

/// By how much the usual repeats may differ from five.
const DIFFER: f64 = 0.1;
/// Hours are not needed: five media have five loads, whose memory is filled each time.
const MEDIA_LIMIT: Duration = Duration::from_secs(3 * 3600);

/// What was found of a medium in a machine of its own.
struct Found {
    target: String,
    five: Estimate,
    usual: Estimate,
    /// Of a drive: its time for each byte, ns.
    cost: f64,
    verdicts: Vec<String>,
}

/// The largest difference of the usual repeats from five, as a share.
fn media(
    options: &Options,
    scenario: &Scenario,
    seed: u64,
    lines: &mut Vec<String>,
) -> Result<f64, MachineError> {
    let letters = ["a", "b", "c", "d"];
    let mut targets: Vec<String> =
        letters.iter().take(scenario.drives.len()).map(|l| format!("/mnt/{l}")).collect();
    targets.push("zram".to_owned());
    // Most of the time a machine waits for its drive.
    let all = thread::scope(|scope| {
        let each = targets.into_iter().enumerate();
        let begun: Vec<_> = each
            .map(|(at, target)| scope.spawn(move || medium(options, scenario, (at, target), seed)))
            .collect();
        let panicked = |_| Err(MachineError::new("a thread", "it ended unexpectedly"));
        begun.into_iter().map(|one| one.join().unwrap_or_else(panicked)).collect::<Result<Vec<Found>, _>>()
    })?;
    let wrong = |what: &str, why: String| Err(MachineError::new(what, why));
    let (mut worst, mut compared) = (0.0_f64, 0);
    for Found { target, five: a, usual: b, cost, verdicts } in &all {
        lines.push(format!(
            "{target}: memory used {:.2} ({:.2} to {:.2}) times, with three runs {:.2}; the ledger has {cost:.0} ns a byte",
            a.value, a.low, a.high, b.value
        ));
        lines.extend(verdicts.iter().cloned());
        if a.is_bounded() && b.is_bounded() {
            worst = worst.max((b.value / a.value - 1.0).abs());
            compared += 1;
        }
    }
    // Faster drives allow more.
    for a in &all {
        for b in &all {
            let is_apart = a.five.is_bounded() && a.five.high < b.five.low;
            if is_apart && a.cost <= b.cost {
                return wrong("the ranking", format!("{} before {}", a.target, b.target));
            }
        }
    }
    // Lower bounds say nothing of how well three runs do.
    match () {
        () if compared == 0 => wrong("three runs and five", "only lower bounds, or one of them".to_owned()),
        () if worst > DIFFER => wrong("three runs and five", format!("differ by {:.1} %", worst * 100.0)),
        () => Ok(worst),
    }
}

fn medium(
    options: &Options,
    scenario: &Scenario,
    (at, target): (usize, String),
    seed: u64,
) -> Result<Found, MachineError> {
    let machine = Machine::start(scenario, options)?;
    sh(&machine, CONTROL_GROUPS)?;
    let run = |runs: u32| {
        let command = format!(
            "drivebench run swap {target} --memory 16MiB --runs {runs} --max-bytes 64GiB --seed {seed} --format json 2>/work/said || \
             {{ tail -n 5 /work/said >&2; false; }}"
        );
        let output = machine.run(&["sh", "-c", &command], MEDIA_LIMIT)?;
        require(&machine, output.code == 0, &command, String::from_utf8_lossy(&output.stderr))?;
        serde_json::from_str::<Findings>(&output.text()).map_err(|e| machine.wrong("findings", e))
    };
    let of = |found: &Findings| {
        let used = found.estimates.iter().find(|m| m.quantity == Quantity::MemoryUsed);
        used.map(|m| m.estimate.clone())
            .ok_or_else(|| machine.wrong("findings", format!("nothing of {target}")))
    };
    let five = run(5)?;
    let cost = match scenario.drives.get(at) {
        Some(_) => {
            let (ns, bytes) = ledger::work(&machine.ledger(at)?);
            ns as f64 / bytes.max(1) as f64
        }
        None => 0.0,
    };
    let usual = of(&run(3)?)?;
    Ok(Found { five: of(&five)?, usual, cost, verdicts: five.verdicts, target })
}

/// One machine for all kills.
pub fn swap_kills(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let machine = Machine::start(scenario, options).and_then(|machine| {
        sh(&machine, CONTROL_GROUPS)?;
        // What the kernel might end instead.
        let bystander = machine.begin(&["sleep", "1000000"])?;
        Ok((machine, bystander))
    });
    match machine {
        Ok((machine, _bystander)) => {
            let mut swapped = 0;
            let summary = rounds(times, seed, |_, random| {
                let after = random.random_range(0.0..MOST);
                swapped += u32::from(one(&machine, after)?);
                Ok(Some(after))
            });
            let lines = vec![format!("an area was in use at {swapped} of {times} kills")];
            Summary { lines, ..summary }
        }
        Err(e) => Summary { failures: vec![(0, e.to_string())], ..Summary::default() },
    }
}

/// Whether the kernel swapped to an area of the run when that was killed.
fn one(machine: &Machine, after: f64) -> Result<bool, MachineError> {
    let run =
        "exec drivebench run swap --wait /mnt/c zram --memory 16MiB --runs 1 --runtime 1s >/work/said 2>&1";
    let run = machine.begin(&["sh", "-c", run])?;
    thread::sleep(Duration::from_secs_f64(after));
    let in_use = !sh(machine, "tail -n +2 /proc/swaps")?.is_empty();
    // It may have ended.
    let _ = run.signal(9);
    let ended = run.wait(LIMIT).map_err(|e| machine.wrong("the run that was killed", e))?;
    let said = sh(machine, "cat /work/said")?;
    require(machine, [0, 128 + 9].contains(&ended.code), "the run that was killed", said)?;
    let left = "drivebench cleanup >/work/cleaned 2>&1; tail -n +2 /proc/swaps; ls -d /sys/fs/cgroup/drivebench* /sys/block/zram*; \
                ls -A /mnt/c | grep drivebench; busybox pidof sleep >/dev/null || echo the bystander is gone; \
                dmesg | grep -i 'out of memory'; true";
    match sh(machine, &format!("{{ {left}; }} 2>/dev/null"))? {
        left if left.is_empty() => Ok(in_use),
        left => Err(machine.wrong("what was killed", format!("after {after:.1} s this is left: {left}"))),
    }
}
