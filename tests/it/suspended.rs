//! A process that was stopped, like one whose machine slept, measured nothing meanwhile.

use std::{fs, thread, time::Duration};

use crate::support::cli::{Cli, words};
use crate::support::faultfs::FaultFs;
use drivebench::{
    analyse::Rules,
    experiments::{BASELINE, LoadName, SIZES},
    record::Event,
    units::MIB,
};
use drivebench_modelled::sim::{Board, Model};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::modelled::{ask, carry_out, only, plan, plan_of, target};

/// How long the process is stopped: far longer than a turn of other programs, and than an operation in memory.
const STOPPED: Duration = Duration::from_secs(2);

/// Whether all of a process is stopped.
fn is_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("runs");
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
    })
}

#[test]
fn a_stopped_process_is_no_stall_of_the_drive() {
    for engine in ["psync", "uring"] {
        let (cli, fs) = (Cli::new(), FaultFs::mount());
        let place = fs.path().to_str().expect("UTF-8");
        let args = [
            "run",
            "baseline",
            "--rw",
            "write",
            "--engine",
            engine,
            "--max-bytes",
            "1GiB",
            "--bs",
            "64k",
            place,
        ];
        let mut running = cli.start(args);
        running.wait_for("progress");
        running.signal(Signal::STOP);
        while !is_stopped(running.pid()) {
            thread::yield_now();
        }
        thread::sleep(STOPPED);
        running.signal(Signal::CONT);
        let findings = running.wait_for("findings");
        assert_eq!(running.finish(), Some(0));

        let windows: Vec<Value> = cli
            .record()
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON lines"))
            .filter(|event| event["event"] == "window")
            .map(|event| event["window"].clone())
            .collect();
        let long = STOPPED.as_nanos() as u64;
        let lasted = |w: &Value| w["to_ns"].as_u64().expect("ns") - w["from_ns"].as_u64().expect("ns");
        let marked = |w: &Value| w["suspended_ns"].as_u64().unwrap_or(0);
        let across: Vec<&Value> = windows.iter().filter(|w| lasted(w) >= long).collect();
        assert_eq!(across.len(), 1, "one window was open");
        assert!(across.iter().all(|w| marked(w) >= long), "{across:?}");
        assert!(windows.iter().filter(|w| marked(w) == 0).count() > windows.len() / 2);
        let text = words(&findings.to_string());
        assert!(text.contains("drivebench did not run for"), "{text}");
        // A busy machine has stalls of its own, but none as long.
        let longest: Vec<f64> = findings["findings"]["evidence"]
            .as_array()
            .expect("evidence")
            .iter()
            .filter(|e| e["quantity"] == "longest_operation")
            .map(|e| e["estimate"]["value"].as_f64().expect("s"))
            .collect();
        assert!(!longest.is_empty() && longest.iter().all(|s| *s < STOPPED.as_secs_f64()), "{longest:?}");
    }
}

/// Marks a window of every load, or of every third, as suspended and a hundred times as long as it was.
fn with_gap(mut events: Vec<Event>, each: usize, every: u32) -> Vec<Event> {
    let mut shift = 0;
    let mut number = 0;
    for event in &mut events {
        match event {
            Event::Step { step, .. } => {
                (shift, number) = (0, if step.0 % every == 0 { 0 } else { each + 1 });
            }
            Event::Window { window, .. } => {
                let gap = if number == each { 100 * (window.to_ns - window.from_ns) } else { 0 };
                window.from_ns += shift;
                shift += gap;
                window.to_ns += shift;
                window.suspended_ns = gap;
                number += 1;
            }
            Event::Outcome { outcome, .. } => outcome.seconds += shift as f64 / 1e9,
            _ => {}
        }
    }
    events
}

#[test]
fn what_was_suspended_is_left_out_and_said() {
    let board = Board { drives: vec![Model::flat(62_000_000_000, 20e6)], seed: 1, ..Board::default() };
    let asked = ask(vec![target("A", 62_000_000_000, false)], Rules::quick(), MIB);
    let planned = plan(&only(LoadName::Write, asked.clone())).expect("plans");
    let events = carry_out(&planned, &board).expect("runs");
    let clean = BASELINE.findings(&mut events.clone().into_iter());
    let gap = BASELINE.findings(&mut with_gap(events, 20, 3).into_iter());
    let speed = |findings: &drivebench::findings::Findings| findings.estimates[0].estimate.clone();
    let (was, now) = (speed(&clean), speed(&gap));
    assert!((now.value / was.value - 1.0).abs() < 0.02, "{was:?}, {now:?}");
    assert!(gap.flags.iter().any(|flag| flag.contains("did not run for")), "{:?}", gap.flags);
    assert!(clean.flags.iter().all(|flag| !flag.contains("did not run for")), "{:?}", clean.flags);

    // A fixed amount through the page cache is one measurement: its windows show memory, so none may be left out.
    let mut few = asked;
    few.values.set("runs", "2");
    let planned = plan_of(&SIZES, &few).expect("plans");
    let events = carry_out(&planned, &board).expect("runs");
    let gap = SIZES.findings(&mut with_gap(events, 0, 1).into_iter());
    assert!(gap.estimates.is_empty(), "nothing of loads that were all suspended: {:?}", gap.estimates);
}
