//! `drivebench run spinup` in a machine of the lab, compared with what the disk did meanwhile.
#![allow(clippy::disallowed_methods)]

use std::{path::Path, time::Duration};

use drivebench::engine::sim::Cause;
use drivebench_lab::{Machine, Options, Scenario};
use serde_json::Value;

#[test]
fn the_time_to_wake_is_what_the_disk_took() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/sleepy-disk.toml");
    let mut scenario = Scenario::read(&path).expect("a scenario");
    // QEMU's disk takes hdparm -y and stays awake; the model's own timer is what ends.
    scenario.drives[0].model.standby.as_mut().expect("it sleeps").after_seconds = 8.0;
    let machine = Machine::start(&scenario, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let limit = Duration::from_secs(400);
    let command = "drivebench run spinup /dev/sda --runs 3 --pause 2s --max-bytes 16MiB --format json";
    let output = machine.run(&command.split(' ').collect::<Vec<_>>(), limit).expect("runs");
    assert_eq!(output.code, 0, "{}", String::from_utf8_lossy(&output.stderr));
    let findings: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let named = |name: &str| {
        let all = findings["estimates"].as_array().expect("estimates");
        let found =
            all.iter().find(|e| e["name"] == name).unwrap_or_else(|| panic!("no '{name}' in {findings}"));
        ["value", "low", "high"].map(|part| found["estimate"][part].as_f64().expect("a number"))
    };

    let entries = machine.ledger(0).expect("a ledger");
    let wakes = entries.iter().filter(|e| e.cause == Cause::Wake);
    let mut wakes: Vec<f64> = wakes.map(|e| (e.end_ns - e.start_ns) as f64 / 1e9).collect();
    assert!(wakes.len() >= 6, "{} wakings", wakes.len());
    wakes.sort_by(f64::total_cmp);
    let [direct, ..] = named("spin-up time");
    let [copies, low, high] = named("spin-up time by copies");
    eprintln!(
        "{direct:.3} s by the first read, {copies:.3} s ({low:.3} to {high:.3}) by copies; the disk took {wakes:?}"
    );
    assert!((direct - wakes[wakes.len() / 2]).abs() < 0.2, "{direct} s, not {wakes:?}");
    assert!((direct - 3.5).abs() < 0.2 && (copies - 3.5).abs() < 0.5, "{direct} and {copies} s, not 3.5");
    let said = findings["verdicts"].to_string();
    assert!(said.contains("its own timer was waited for") && said.contains("the reads alone tell"), "{said}");

    // A filesystem may be read from memory.
    let mounted = machine.run(&["drivebench", "run", "spinup", "/mnt/a"], limit).expect("runs");
    let error = String::from_utf8_lossy(&mounted.stderr).replace('\n', " ");
    assert!(mounted.code != 0 && error.contains("may be read from memory"), "{error}");
}
