//! What docs/adding-an-experiment.md says of an experiment holds for the one it shows.

use std::{env, fs, io, path::Path};

use super::REVISIT;
use crate::{
    Request, Values,
    engine::{
        Cancel,
        sim::{Board, Model, Noise, Zone},
    },
    findings::{Findings, Quantity},
    inventory::{Drive, Inventory},
    plan::{Pause, Plan},
    record::{Done, End, Event, How, Log, Resume, Run, SCHEMA, Start, Store},
    report::{Format, Style, render},
    run::Modelled,
    target::{Kind, Target},
};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn plan() -> Plan {
    let drive = Drive { serial: Some("A1".to_owned()), sectors: 125_000_000, ..Drive::default() };
    let target = Target {
        given: "/mnt/a".to_owned(),
        path: "/mnt/a".into(),
        kind: Kind::Directory,
        drives: vec![drive],
        size: Some(64_000_000_000),
        direct_alignment: 512,
        ..Target::default()
    };
    let mut values = Values::default();
    values.set("gap", "90s");
    REVISIT.plan(&Request::new(&REVISIT, vec![target], values).expect("asked")).expect("plans")
}

/// A drive with little noise.
fn board() -> Board {
    let at = |rate| vec![Zone { from: 0, rate }];
    let noise = Noise { variation: 0.01, memory: 0.0, run: 0.0 };
    let drive =
        Model { capacity: 64_000_000_000, write: at(20e6), read: at(30e6), noise, ..Model::default() };
    Board { drives: vec![drive], seed: 1, ..Board::default() }
}

/// The record of a run that nothing stopped.
fn whole(plan: &Plan) -> Vec<Event> {
    let mut events = Modelled::events(plan, &board()).expect("runs");
    events.push(Event::End(End { how: How::Finished, at: String::new() }));
    events
}

/// A record in memory that asks to stop once it holds so many events.
struct Stopping {
    events: Vec<Event>,
    at: usize,
    cancel: Cancel,
}

impl Log for Stopping {
    fn append(&mut self, event: &Event) -> io::Result<()> {
        self.events.push(event.clone());
        if self.events.len() == self.at {
            self.cancel.set();
        }
        Ok(())
    }
}

/// The record of a run that was stopped after so many events and then resumed.
fn resumed(plan: &Plan, at: usize) -> Vec<Event> {
    let mut world = Modelled::new(plan, &board()).expect("a board");
    let cancel = Cancel::default();
    let mut log = Stopping { events: vec![Event::Plan { plan: plan.clone() }], at, cancel: cancel.clone() };
    let how = world.run(plan, &Done::default(), &mut log, &cancel).expect("runs");
    let mut events = log.events;
    events.push(Event::End(End { how, at: String::new() }));
    let done = Done::of(&Run::with_latencies(events.iter().cloned()), plan);
    let (at, version, inventory) = (String::new(), String::new(), Inventory::default());
    events.push(Event::Resume(Box::new(Resume { at, version, host: Default::default(), inventory })));
    let how = world.run(plan, &done, &mut events, &Cancel::default()).expect("runs");
    assert_eq!(how, How::Finished);
    events.push(Event::End(End { how, at: String::new() }));
    events
}

fn speeds(findings: &Findings) -> Vec<(String, f64)> {
    findings.estimates.iter().map(|metric| (metric.label(), metric.estimate.value)).collect()
}

#[test]
fn it_plans_with_its_own_option_and_the_default_of_a_shared_one() {
    let plan = plan();
    let pauses: Vec<f64> =
        plan.steps.iter().filter_map(|step| step.act.get().map(|pause: &Pause| pause.seconds)).collect();
    assert_eq!(pauses, [90.0]);
    assert_eq!(plan.cost(0).written, 256 << 20);
}

#[test]
fn it_runs_and_its_record_gives_findings_in_every_format() {
    let plan = plan();
    let events = whole(&plan);
    let dir = tempfile::tempdir().expect("a directory");
    let store = Store::at(dir.path().to_owned());
    let start = Start {
        schema: SCHEMA,
        run: String::new(),
        at: "2026-01-01T00:00:00Z".to_owned(),
        version: "0.1.0".to_owned(),
        command: vec!["drivebench".to_owned()],
        experiment: "revisit".to_owned(),
        targets: vec!["/mnt/a".to_owned()],
        host: Default::default(),
        inventory: Inventory::default(),
    };
    let (run, mut writer) = store.create(|run| Start { run, ..start }).expect("a record");
    events.iter().for_each(|event| writer.append(event).expect("appends"));
    drop(writer);
    let experiment = crate::find("revisit").expect("registered");
    let findings = experiment.findings(&mut store.open(&run).expect("a record"));
    assert_eq!(findings.verdicts, ["/mnt/a: No difference found between the reads."]);
    assert!(findings.estimates.iter().all(|metric| metric.quantity == Quantity::Throughput));
    let labels: Vec<String> = speeds(&findings).into_iter().map(|(label, _)| label).collect();
    assert_eq!(labels, ["read throughput", "read again throughput"]);
    let text = render(&findings, Format::Text, Style::PLAIN, true);
    assert!(text.contains("read again") && text.contains("MB/s ±"), "{text}");
    let json: Findings =
        serde_json::from_str(&render(&findings, Format::Json, Style::PLAIN, true)).expect("JSON");
    assert_eq!(json.verdicts, findings.verdicts);
    for format in [Format::Markdown, Format::Csv] {
        assert!(render(&findings, format, Style::PLAIN, true).contains("read again"));
    }
}

#[test]
fn it_is_resumed_wherever_it_was_stopped() {
    let plan = plan();
    let whole = whole(&plan);
    let expected = speeds(&REVISIT.findings(&mut whole.iter().cloned()));
    assert_eq!(expected.len(), 2);
    for at in (2..whole.len()).step_by(whole.len() / 12) {
        let found = speeds(&REVISIT.findings(&mut resumed(&plan, at).into_iter()));
        assert_eq!(found.len(), expected.len(), "stopped after {at} events");
        for ((label, speed), (same, expected)) in found.iter().zip(&expected) {
            let near = (speed / expected - 1.0).abs() < 0.06;
            assert!(label == same && near, "stopped after {at} events: {label} is {speed}, not {expected}");
        }
    }
}

/// As a snapshot: with `INSTA_UPDATE=always` the code is written into the document.
#[test]
fn the_code_in_the_document_is_the_code_that_is_compiled() {
    let document = root().join("docs/adding-an-experiment.md");
    let was = fs::read_to_string(&document).expect("the document is there");
    let mut shown = Vec::new();
    let mut parts = was.split("\n```rust\n");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, after) = part.split_once("\n```").expect("code ends");
        let paragraph = text.lines().rfind(|line| line.starts_with("`crates/")).expect("a file is named");
        let file = paragraph.split('`').nth(1).expect("its name").to_owned();
        let compiled = fs::read_to_string(root().join(&file)).expect("the file is there");
        let own = file.starts_with("crates/experiments/src/revisit/");
        assert!(own || compiled.contains(code), "{file} holds {code}");
        let code = if own { compiled.trim_end() } else { code };
        text += &format!("\n```rust\n{code}\n```{after}");
        shown.push(file);
    }
    let folder =
        ["mod", "options", "plan", "findings"].map(|f| format!("crates/experiments/src/revisit/{f}.rs"));
    assert!(folder.iter().all(|file| shown.contains(file)), "{shown:?}");
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&document, &text).expect("the document can be written");
    } else {
        assert_eq!(text, was, "INSTA_UPDATE=always writes it");
    }
}

/// Lines of files with this ending below `dir` that hold the experiment's name.
fn named(dir: &Path, ending: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path()) {
        let own = ["crates/experiments/src/revisit", "target"].iter().any(|own| entry.ends_with(own));
        if entry.is_dir() && !own {
            named(&entry, ending, found);
        } else if entry.extension().is_some_and(|e| e == ending) {
            let text = fs::read_to_string(&entry).expect("sources can be read");
            found.extend(text.lines().filter(|l| l.to_lowercase().contains("revisit")).map(str::to_owned));
        }
    }
}

#[test]
fn outside_its_folder_one_line_names_it() {
    let mut found = Vec::new();
    for dir in ["src", "crates", "tests", "bench", "lab"] {
        named(&root().join(dir), "rs", &mut found);
    }
    assert_eq!(found, ["    #[cfg(test)] revisit::REVISIT,"]);
}
