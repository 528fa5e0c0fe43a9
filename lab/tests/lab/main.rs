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
    io::{self, Write},
    path::Path,
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    thread,
    time::{Duration, Instant},
};

use drivebench::{analyse::Estimate, findings::Findings};
use drivebench_lab::{Machine, Options, Scenario};

/// The time limit of commands.
const LIMIT: Duration = Duration::from_secs(900);

/// A machine whose times are compared with its ledger is alone, for hosts with two cores. Others run beside each other.
static TURN: RwLock<()> = RwLock::new(());

fn turn() -> Turn<RwLockWriteGuard<'static, ()>> {
    Turn { _turn: TURN.write().unwrap_or_else(PoisonError::into_inner), since: Instant::now() }
}

/// The turn of a machine whose times don't count.
fn beside() -> Turn<RwLockReadGuard<'static, ()>> {
    Turn { _turn: TURN.read().unwrap_or_else(PoisonError::into_inner), since: Instant::now() }
}

/// At its end it says how long it took: most of what ./test takes is taken here.
struct Turn<G> {
    _turn: G,
    since: Instant,
}

impl<G> Drop for Turn<G> {
    fn drop(&mut self) {
        let test = thread::current().name().unwrap_or_default().to_owned();
        // Said at once, also of tests that pass.
        let _ = writeln!(io::stderr(), "{test}: {} s", self.since.elapsed().as_secs());
    }
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
