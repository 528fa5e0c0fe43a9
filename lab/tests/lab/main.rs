//! Tests with real machines of the lab. `lab/vm build raspi3b systemd` builds what they boot; ./test runs it first.
#![allow(clippy::disallowed_methods)]

mod bays;
mod cliff;
mod costs;
mod machines;
mod pools;
mod pulls;
mod reboots;
mod shares;
mod spinup;
mod swap;
mod together;

use std::{
    path::Path,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::Duration,
};

use drivebench::{analyse::Estimate, findings::Findings};
use drivebench_lab::{Machine, Options, Scenario};

/// The time limit of commands.
const LIMIT: Duration = Duration::from_secs(900);

/// A machine whose times are compared with its ledger is alone, for hosts with two cores. Others run beside each other.
static TURN: RwLock<()> = RwLock::new(());

fn turn() -> RwLockWriteGuard<'static, ()> {
    TURN.write().unwrap_or_else(PoisonError::into_inner)
}

/// The turn of a machine whose times don't count.
fn beside() -> RwLockReadGuard<'static, ()> {
    TURN.read().unwrap_or_else(PoisonError::into_inner)
}

fn scenario(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scenarios/{name}.toml"));
    Scenario::read(&path).expect("a scenario")
}

fn start(scenario: &Scenario) -> Machine {
    Machine::start(scenario, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// The output of a shell command, which must succeed.
fn out(machine: &Machine, command: &str) -> String {
    let output = machine.run(&["sh", "-c", command], LIMIT).unwrap_or_else(|e| panic!("{e}"));
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(output.code, 0, "{command}: {}{}", said(&output.stdout), said(&output.stderr));
    said(&output.stdout)
}

/// The findings of an experiment in the machine; `command` follows `drivebench run`.
fn findings(machine: &Machine, command: &str) -> Findings {
    let text = out(machine, &format!("drivebench run {command} --format json"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// An estimate of the findings by its name, of the first target that has it.
fn estimate<'a>(findings: &'a Findings, name: &str) -> &'a Estimate {
    let found = findings.estimates.iter().find(|e| e.label() == name);
    &found.unwrap_or_else(|| panic!("no '{name}' in {findings:#?}")).estimate
}
