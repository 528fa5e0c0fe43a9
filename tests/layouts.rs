//! layouts on modelled drives: the pools are models of their own, so that what is measured of them is known.

#[path = "support/modelled.rs"]
mod modelled;

use drivebench::{
    analyse::Rules,
    engine::sim::{Board, Model, SharedBus, Zone},
    experiments::{LAYOUTS, Request},
    findings::{Findings, Quantity, Scope},
    plan::{Act, Plan, Suite},
    record::{Done, Event, Run, SCHEMA, Start},
    report::{Format, Style, render},
};
use modelled::{ask, carry_out, in_bay};

/// A stick without noise: what it does is known exactly.
fn stick(write: f64, read: f64) -> Model {
    Model {
        capacity: 62_000_000_000,
        write: vec![Zone { from: 0, rate: write }],
        read: vec![Zone { from: 0, rate: read }],
        operation_seconds: 0.2e-3,
        ..Model::default()
    }
}

fn asked(drives: usize, values: &[(&str, &str)]) -> Request {
    let mut ask = ask((0..drives).map(in_bay).collect(), Rules::standard(), 4096);
    for (name, value) in [("size", "1GiB"), ("runs", "2")].iter().chain(values) {
        ask.values.set(name, value);
    }
    ask
}

/// The events of a run on these drives, and of what a plan calls a pool on a model of its own.
fn events(plan: &Plan, drives: &[Model], pool: &Model, buses: Vec<SharedBus>) -> Vec<Event> {
    let pools = plan.targets.len() - drives.len();
    let models = drives.iter().cloned().chain(vec![pool.clone(); pools]).collect();
    let board = Board { drives: models, buses, seed: 1 };
    let start = Start {
        schema: SCHEMA,
        run: "r1".to_owned(),
        at: "2026-11-23T00:00:00Z".to_owned(),
        version: "0".to_owned(),
        command: vec!["drivebench".to_owned(), "run".to_owned(), "layouts".to_owned()],
        experiment: "layouts".to_owned(),
        targets: Vec::new(),
        host: Default::default(),
        inventory: Default::default(),
    };
    let mut all = vec![Event::Start(Box::new(start))];
    all.extend(carry_out(plan, &board).expect("runs"));
    all
}

fn findings(events: Vec<Event>) -> Findings {
    LAYOUTS.findings(&mut events.into_iter())
}

fn predicted(findings: &Findings, layout: &str, load: &str) -> f64 {
    let is = |m: &&drivebench::findings::Metric| {
        m.scope == Scope::Predicted
            && m.target == layout
            && m.quantity == Quantity::Throughput
            && m.load.as_ref().is_some_and(|key| key.name == load)
    };
    findings.estimates.iter().find(is).unwrap_or_else(|| panic!("{layout} {load}")).estimate.value
}

fn alone(findings: &Findings, load: &str) -> f64 {
    let is = |m: &&drivebench::findings::Metric| {
        m.scope == Scope::Alone && m.load.as_ref().is_some_and(|key| key.name == load)
    };
    findings.estimates.iter().find(is).unwrap_or_else(|| panic!("{load}")).estimate.value
}

fn close(a: f64, b: f64) {
    assert!((a / b - 1.0).abs() < 0.01, "{a} is not {b}");
}

#[test]
fn predictions_follow_from_the_drives_and_are_recorded_before_anything_is_built_of_them() {
    let plan = LAYOUTS.plan(&asked(4, &[])).expect("plans");
    let stick = stick(5e6, 20e6);
    let events = events(&plan, &vec![stick.clone(); 4], &stick, Vec::new());
    let is_pool = |step: &drivebench::plan::StepId| plan.step(*step).is_some_and(|step| step.on[0] >= 4);
    let at = |found: &dyn Fn(&Event) -> bool| events.iter().position(found).expect("is there");
    let sealed = at(&|event| matches!(event, Event::Act { result, .. } if !result.predictions.is_empty()));
    let built = at(&|event| matches!(event, Event::Act { step, .. } if is_pool(step)));
    assert!(sealed < built);

    let findings = findings(events);
    // One operation after the other: a block of 1 MiB is on two of four members.
    let [write, read] = ["write 1M", "read 1M"].map(|load| alone(&findings, load));
    let half = |load: &str, rate: f64| {
        let whole = (1 << 20) as f64;
        // Of a block, half the bytes; what an operation costs beside them stays.
        let seconds = whole / alone(&findings, load) - whole / 2.0 / rate;
        whole / seconds
    };
    close(predicted(&findings, "raid0", "write 1M"), half("write 1M", 5e6));
    close(predicted(&findings, "raid0", "read 1M"), half("read 1M", 20e6));
    close(predicted(&findings, "raid1", "write 1M"), write);
    close(predicted(&findings, "raid1", "read 1M"), read);
    close(predicted(&findings, "linear", "read 4k"), alone(&findings, "read 4k"));
    // What is rewritten is read before.
    let once = 1.0 / (1.0 / alone(&findings, "randread 4k") + 1.0 / alone(&findings, "randwrite 4k"));
    close(predicted(&findings, "raid5", "randwrite 4k"), once);
}

#[test]
fn a_bus_that_limits_the_drives_limits_the_pool() {
    let plan = LAYOUTS.plan(&asked(2, &[("layouts", "raid0,raid1")])).expect("plans");
    let stick = stick(20e6, 20e6);
    let bus = vec![SharedBus { rate: 24e6, drives: vec![0, 1] }];
    let findings = findings(events(&plan, &[stick.clone(), stick.clone()], &stick, bus));
    close(predicted(&findings, "raid1", "write 1M"), 12e6);
    close(predicted(&findings, "raid0", "write 1M"), 24e6);
    close(predicted(&findings, "raid1", "read 1M"), alone(&findings, "read 1M"));
}

#[test]
fn what_a_person_sees() {
    let plan = LAYOUTS.plan(&asked(3, &[("layouts", "raid0,raid1,raid5"), ("survive", "1")])).expect("plans");
    let drives = [stick(5e6, 20e6), stick(5e6, 20e6), stick(4e6, 18e6)];
    let findings = findings(events(&plan, &drives, &stick(6e6, 22e6), Vec::new()));
    assert!(findings.modelled);
    let text = render(&findings, Format::Text, Style::PLAIN, false);
    insta::assert_snapshot!(format!("{}\n{text}", plan.describe()));
}

#[test]
fn a_pool_that_was_not_measured_to_the_end_is_built_again() {
    let plan = LAYOUTS.plan(&asked(2, &[("layouts", "raid0,raid1")])).expect("plans");
    let stick = stick(5e6, 20e6);
    let all = events(&plan, &[stick.clone(), stick.clone()], &stick, Vec::new());
    let steps_of = |target: usize| plan.steps.iter().filter(move |step| step.is_on(target));
    let last = plan.steps.iter().rfind(|step| step.is_on(3) && matches!(step.act, Act::Load(_)));
    let last = last.expect("loads").id;
    let cut = all.into_iter().take_while(|event| !matches!(event, Event::Step { step, .. } if *step == last));
    let run = Run::of(cut);
    let done = Done::of(&run, &plan);
    assert!(steps_of(2).all(|step| done.steps.contains(&step.id)), "the first pool is done");
    assert!(steps_of(3).all(|step| !done.steps.contains(&step.id)), "the second is begun anew");
    assert!(
        steps_of(0).all(|step| done.steps.contains(&step.id)),
        "so are the drives, and what was predicted"
    );
    let (predict, _) = plan.predict().expect("predicts");
    assert!(done.steps.contains(&predict.id));
}

#[test]
fn layouts_that_can_not_be_planned_say_why() {
    let refused = |drives: usize, values: &[(&str, &str)]| {
        LAYOUTS.plan(&asked(drives, values)).expect_err("refused").to_string()
    };
    assert_eq!(refused(1, &[]), "layouts compares drives: name 2 targets or more");
    assert!(refused(3, &[("layouts", "raid6")]).contains("4"), "{}", refused(3, &[("layouts", "raid6")]));
    let mut suite = asked(2, &[]);
    suite.suite = Some(Suite::find("dd-256k").expect("is shipped"));
    let why = LAYOUTS.plan(&suite).expect_err("refused").to_string();
    assert_eq!(why, "suite dd-256k can't be used for layouts: write goes through the page cache");
    let (name, text) = ("wide", include_str!("../suites/nas.toml").replace("1MiB", "16MiB"));
    suite.suite = Some(Suite::parse(name, &text).expect("a suite"));
    suite.values.set("size", "96MiB");
    let why = LAYOUTS.plan(&suite).expect_err("refused").to_string();
    assert!(why.contains("needs more than a quarter of --size"), "{why}");
    suite.values.set("quick", "true");
    let quick = LAYOUTS.plan(&suite).expect("plans");
    assert!(quick.measures().all(|(_, m)| m.load.depth == 1) && quick.files().next().is_none());
    let mut directories = asked(2, &[]);
    directories.targets = vec![modelled::target("a", 1 << 30, false), modelled::target("b", 1 << 30, false)];
    let why = LAYOUTS.plan(&directories).expect_err("refused").to_string();
    assert!(why.contains("name whole drives"), "{why}");
    let mut small = asked(2, &[("size", "100GiB")]);
    small.targets[1].drives[0].sectors = 62_000_000_000 / 512;
    small.targets[0].drives[0].sectors = 240_000_000_000 / 512;
    let why = LAYOUTS.plan(&small).expect_err("refused").to_string();
    assert!(why.contains("holds 62.0 GB, less than --size 100 GiB"), "{why}");
    // With three drives raid6 is left out.
    let three = LAYOUTS.plan(&asked(3, &[])).expect("plans");
    assert_eq!(three.targets.len(), 3 + 5);
}
