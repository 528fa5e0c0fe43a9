//! `drivebench run share` beside what a person would time with the usual programs.

use std::{collections::BTreeMap, time::Duration};

use drivebench::{
    analyse::repeat,
    findings::{Findings, Scope},
};

use super::{Summary, rounds, shares::found};
use crate::{
    Machine, MachineError, Options, Scenario,
    pools::{SHARE_MODULES, require, sh},
};

/// Shell functions that serve files as a person would.
const BY_HAND: &str = include_str!("by_hand.sh");
/// How `run share` is called, and what is timed by hand.
const WAYS: [(&str, &str); 3] = [("", "smb"), ("--protocol nfs", "nfs"), ("--protocol sftp", "sftp")];
const RATE: u64 = 8_000_000;
const MIB: u64 = 2;
/// `run share` goes so many times, of so many repetitions each; by hand as many are timed before, between and after: a host that
/// gets slower meanwhile makes both slower.
const TIMES: u32 = 2;
const RUNS: u32 = 2;
/// By how much both may differ.
const DIFFER: f64 = 0.05;
const LIMIT: Duration = Duration::from_secs(1800);

/// Each way, `times` times; the figures are speeds of `run share` as multiples of those by hand.
pub fn shares_by_hand(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let (mut lines, mut figures) = (Vec::new(), Vec::new());
    let summary = rounds(times, seed, |_, _| {
        let machine = Machine::start(scenario, options)?;
        sh(&machine, SHARE_MODULES)?;
        let big = format!(
            "mkdir -p /mnt/a/hand /work/client; dd if=/dev/urandom of=/work/client/big bs=1M count={MIB} 2>/dev/null"
        );
        sh(&machine, &big)?;
        hand(&machine, &format!("begin {RATE}"))?;
        let mut far = Vec::new();
        for (args, name) in WAYS {
            for (errand, ratio) in compared(&machine, args, name)? {
                lines.push(format!("{name}, {errand}: {ratio:.3} times as fast as by hand"));
                figures.push(ratio);
                if (ratio - 1.0).abs() > DIFFER {
                    far.push(format!("{name}, {errand}: {ratio:.3}"));
                }
            }
        }
        require(&machine, far.is_empty(), "run share and by hand differ", far.join("; "))?;
        Ok(None)
    });
    Summary { lines, figures, ..summary }
}

/// What `run share` finds as a multiple of what is found by hand, for each errand.
fn compared(machine: &Machine, args: &str, name: &str) -> Result<Vec<(String, f64)>, MachineError> {
    let args = format!("{args} --rate {RATE} --size {MIB}MiB --files 1 --clients 1 --runs {RUNS} /mnt/a");
    let mut runs: Vec<Findings> = Vec::new();
    let mut seconds: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut by_hand = || {
        for line in hand(machine, &format!("time_{name} /mnt/a/hand"))?.lines() {
            let (errand, took) = line.split_once(' ').unwrap_or_default();
            let took = took.parse().ok().filter(|took: &f64| *took > 0.0);
            let took = took.ok_or_else(|| machine.wrong("by hand", line))?;
            seconds.entry(errand.to_owned()).or_default().push(took);
        }
        Ok(())
    };
    // The first time is not counted by `run share`, either.
    hand(machine, &format!("time_{name} /mnt/a/hand"))?;
    for _ in 0..TIMES {
        (0..RUNS).try_for_each(|_| by_hand())?;
        runs.push(found(machine, &args)?);
        // The kernel still removes the networks of the run.
        hand(machine, &format!("time_{name} /mnt/a/hand"))?;
    }
    (0..RUNS).try_for_each(|_| by_hand())?;
    let compared = seconds.into_iter().map(|(errand, seconds)| {
        let of = |m: &&drivebench::findings::Metric| {
            m.scope == Scope::Client && m.load.as_ref().is_some_and(|load| load.name.starts_with(&errand))
        };
        // Of several files there is but one.
        let speeds: Vec<f64> =
            runs.iter().filter_map(|found| Some(found.estimates.iter().find(of)?.estimate.value)).collect();
        let (speed, seconds) = repeat::typical(&speeds)
            .zip(repeat::typical(&seconds))
            .ok_or_else(|| machine.wrong("findings", format!("no speed of {name}, {errand}")))?;
        Ok((errand, speed.value * seconds.value / (MIB << 20) as f64))
    });
    compared.collect()
}

/// Runs a function of the script.
fn hand(machine: &Machine, call: &str) -> Result<String, MachineError> {
    let command = format!("set -e; {BY_HAND}\n{call}");
    let output = machine.run(&["sh", "-c", &command], LIMIT)?;
    require(machine, output.code == 0, call, String::from_utf8_lossy(&output.stderr))?;
    Ok(output.text())
}
