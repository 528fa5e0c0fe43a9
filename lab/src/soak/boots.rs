//! `drivebench run boot --times` in a machine with systemd: it restarts by itself until enough boots are recorded, and removes itself.

use std::time::Duration;

use super::{Summary, rounds};
use crate::{
    Machine, MachineError, Options, Scenario,
    ledger::{self, Kind},
    pools::sh,
    scenario::Guest,
    state::State,
};

/// The boots of a series.
const TIMES: u32 = 3;
/// The same from each medium.
const FROM_EACH: u32 = 5;
/// How long the last boot may take to be recorded.
const LIMIT: Duration = Duration::from_secs(180);
/// What a series leaves between boots.
const LEFT: &str = "ls -d /var/lib/drivebench /run/drivebench* /etc/systemd/system/drivebench* \
    /etc/systemd/system/*.target.wants/drivebench* 2>/dev/null; true";

/// What happens in a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Meanwhile {
    /// It ends by itself.
    Nothing,
    /// A person ends it after the first boot.
    Stop,
    /// The power is cut in the third boot.
    Cut,
}

/// Each round is a series in a machine of its own.
pub fn boots(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let mut lines = Vec::new();
    let all = [Meanwhile::Nothing, Meanwhile::Stop, Meanwhile::Cut];
    let summary = rounds(times, seed, |round, _| {
        boot_series(options, scenario, all[(round as usize - 1) % all.len()], &mut lines).map(|()| None)
    });
    Summary { lines, ..summary }
}

/// Boots from each drive of the scenario in turn, a series of five each, with one store.
pub fn boot_media(options: &Options, scenario: &Scenario, times: u32, seed: u64) -> Summary {
    let mut lines = Vec::new();
    let summary = rounds(times, seed, |_, _| media(options, scenario, &mut lines).map(|()| None));
    Summary { lines, ..summary }
}

fn media(options: &Options, scenario: &Scenario, lines: &mut Vec<String>) -> Result<(), MachineError> {
    let state = State::new().map_err(|e| MachineError::new("no directory", e))?;
    // Apart from its own files: a store has a lock, too.
    let store = state.file("runs");
    for root in 0..scenario.drives.len() {
        let mut scenario = Scenario { guest: Guest::Systemd, root: Some(root), ..scenario.clone() };
        scenario.drives.iter_mut().for_each(|drive| drive.filesystem = None);
        let mut machine = Machine::start(&scenario, options)?;
        sh(&machine, "mkdir -p /root/runs")?;
        for file in store.read_dir().into_iter().flatten().flatten().filter(|file| file.path().is_file()) {
            machine.put(&file.path(), &format!("/root/runs/{}", file.file_name().to_string_lossy()))?;
        }
        let run = format!(
            "exec drivebench --store /root/runs run boot --times {FROM_EACH} --restart $(cat /proc/sys/kernel/hostname)"
        );
        machine.restarts(&["sh", "-c", &run])?;
        for _ in 1..FROM_EACH {
            machine.restarts_itself()?;
        }
        nothing_is_left(&machine)?;
        machine.get("/root/runs", &store)?;
        let ledger = machine.ledger(root)?;
        let (ns, bytes) = ledger::work(ledger.iter().filter(|e| e.kind == Kind::Read));
        lines.push(format!(
            "{}: {} boots; the ledger has {:.0} MB read from it in {:.1} s",
            scenario.drives[root].product,
            FROM_EACH + 1,
            bytes as f64 / 1e6,
            ns as f64 / 1e9
        ));
        let results = sh(&machine, "drivebench --store /root/runs results 2>&1")?;
        let last = results.lines().rfind(|line| line.contains(" boot "));
        let last = last.and_then(|line| line.split_whitespace().next());
        let last = last.ok_or_else(|| machine.wrong("results", results.clone()))?;
        lines.push(results.clone());
        lines.push(sh(&machine, &format!("drivebench --store /root/runs show {last}"))?);
    }
    Ok(())
}

/// Waits until the last boot is recorded, and the series has removed itself.
fn nothing_is_left(machine: &Machine) -> Result<(), MachineError> {
    machine.run(&["sh", "-c", &format!("until test -z \"$({LEFT})\"; do sleep 0.2; done")], LIMIT).map(drop)
}

/// A series of restarts in a machine of its own. `lines` receives what was said and recorded.
pub fn boot_series(
    options: &Options,
    scenario: &Scenario,
    meanwhile: Meanwhile,
    lines: &mut Vec<String>,
) -> Result<(), MachineError> {
    let scenario = Scenario { guest: Guest::Systemd, ..scenario.clone() };
    let mut machine = Machine::start(&scenario, options)?;
    let done = restarted(&mut machine, meanwhile, lines);
    if done.is_err() {
        // What the unit said in all boots.
        lines.extend(sh(&machine, "journalctl -u drivebench-boot.service | tail -n 40"));
    }
    done
}

fn restarted(
    machine: &mut Machine,
    meanwhile: Meanwhile,
    lines: &mut Vec<String>,
) -> Result<(), MachineError> {
    let name = sh(machine, "cat /proc/sys/kernel/hostname")?;
    let name = name.trim();
    let refused =
        sh(machine, &format!("drivebench run boot --times {TIMES} --restart x{name} 2>&1; test $? = 2"))?;
    lines.push(refused.split_whitespace().collect::<Vec<_>>().join(" "));
    let run = format!("exec drivebench --store /root/runs run boot --times {TIMES} --restart {name}");
    machine.restarts(&["sh", "-c", &run])?;
    if meanwhile == Meanwhile::Stop {
        // It says so 30 s before it restarts the machine.
        sh(
            machine,
            "until journalctl -b -u drivebench-boot.service | grep -q 'is restarted in'; do sleep 0.2; done; drivebench run boot --stop",
        )?;
    } else {
        for _ in 1..TIMES {
            machine.restarts_itself()?;
        }
        if meanwhile == Meanwhile::Cut {
            // The state says so until the third one is recorded.
            sh(machine, "grep '\"recorded\":2' /var/lib/drivebench/boot-series.json")?;
            machine.cut_power()?;
        }
    }
    nothing_is_left(machine)?;
    let runs = sh(machine, "drivebench --store /root/runs results | grep ' boot '")?;
    let recorded = runs.lines().count();
    let expected = match meanwhile {
        Meanwhile::Nothing => TIMES..=TIMES,
        Meanwhile::Stop => 1..=1,
        // It may have been recorded just before the cut, and the state not yet say so: then there is one more.
        Meanwhile::Cut => TIMES..=TIMES + 1,
    };
    if !expected.contains(&(recorded as u32)) {
        return Err(machine.wrong("boots that were recorded", format!("{recorded} instead of {expected:?}")));
    }
    let last = runs.lines().last().and_then(|line| line.split_whitespace().next()).unwrap_or_default();
    lines.push(sh(machine, &format!("drivebench --store /root/runs show {last}"))?);
    Ok(())
}
