//! Tests with machines of the lab. `./test --lab` runs the smoke set, `./test --all` runs all of them.
//! They start in the order of their names: `buses` and `memory`, which mostly wait, so run beside others.
#![allow(clippy::disallowed_methods)]

mod accept;
mod bays;
mod buses;
mod capacity;
mod checks;
mod cliff;
mod costs;
mod machines;
mod memory;
mod pools;
mod pulls;
mod reboots;
mod shares;
mod smoke;
mod spinup;
mod turns;

use std::{path::Path, time::Duration};

use drivebench::{analyse::Estimate, findings::Findings};
use drivebench_lab::{Machine, MachineError, Options, Scenario};

/// The time limit of commands: longer than any takes, however busy the host is.
const LIMIT: Duration = Duration::from_secs(3600);

fn scenario(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scenarios/{name}.toml"));
    Scenario::read(&path).expect("a scenario")
}

/// The value of a step in a machine, which must succeed.
fn ok<T>(result: Result<T, MachineError>) -> T {
    result.unwrap_or_else(|e| panic!("{e}"))
}

fn start(scenario: &Scenario) -> Machine {
    turns::take();
    ok(Machine::start(scenario, &Options::default()))
}

/// A machine whose processor takes the same time whatever else the host does.
fn start_unhurried(scenario: &Scenario) -> Machine {
    start(&Scenario { icount: Some(1), ..scenario.clone() })
}

/// The output of a shell command, which must succeed.
fn out(machine: &Machine, command: &str) -> String {
    let output = ok(machine.run(&["sh", "-c", command], LIMIT));
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
