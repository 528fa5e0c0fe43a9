//! Kills `drivebench run swap` at random moments: nothing may be left after the next start, and nothing else may be killed.

use std::{thread, time::Duration};

use rand::Rng;

use super::{LIMIT, Summary, rounds};
use crate::{Machine, MachineError, Options, Scenario, pools::sh};

/// Kills come at most so long after the start, s: a run takes about as long.
const MOST: f64 = 30.0;

/// One machine for all kills.
pub fn swap_kills(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let machine = Machine::start(scenario, options).and_then(|machine| {
        let mount = "mkdir -p /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && echo +memory >/sys/fs/cgroup/cgroup.subtree_control";
        sh(&machine, mount)?;
        // What the kernel might end instead.
        let bystander = machine.begin(&["sleep", "1000000"])?;
        Ok((machine, bystander))
    });
    match machine {
        Ok((machine, _bystander)) => {
            rounds(times, seed, |_, random| one(&machine, random.random_range(0.0..MOST)).map(Some))
        }
        Err(e) => Summary { failures: vec![(0, e.to_string())], ..Summary::default() },
    }
}

/// How long the run had been going on when it was killed, s.
fn one(machine: &Machine, after: f64) -> Result<f64, MachineError> {
    let run = "exec drivebench run swap --wait /mnt/c zram --memory 16MiB --runs 1 --runtime 500ms >/work/said 2>&1";
    let run = machine.begin(&["sh", "-c", run])?;
    thread::sleep(Duration::from_secs_f64(after));
    // It may have ended.
    let _ = run.signal(9);
    run.wait(LIMIT).map_err(|e| machine.wrong("the run that was killed", e))?;
    let left = "drivebench cleanup >/work/cleaned 2>&1; tail -n +2 /proc/swaps; ls -d /sys/fs/cgroup/drivebench* /sys/block/zram*; \
                ls -A /mnt/c | grep drivebench; busybox pidof sleep >/dev/null || echo the bystander is gone; \
                dmesg | grep -i 'out of memory'; true";
    match sh(machine, &format!("{{ {left}; }} 2>/dev/null"))? {
        left if left.is_empty() => Ok(after),
        left => Err(machine.wrong("what was killed", format!("after {after:.1} s this is left: {left}"))),
    }
}
