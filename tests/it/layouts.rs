//! layouts on modelled drives: the pools are models of their own, so that what is measured of them is known.

use crate::support::modelled;
use crate::support::modelled::{ask, carry_out, in_bay};
use drivebench::{
    analyse::Rules,
    conditions::{Core, Processors},
    engine::Cancel,
    experiments::{LAYOUTS, Request},
    findings::{Findings, Limiter, Metric, Quantity, Scope},
    inventory::Mount,
    plan::{Measure, Plan, Step, StepId, Suite},
    record::{Done, Event, Run, SCHEMA, Start},
    report::{Format, Style, render},
    units::Window,
};
use drivebench_modelled::{
    Modelled,
    sim::{Board, Model, Noise, SharedBus, Zone},
};

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
    for (name, value) in [("runtime", "5s"), ("runs", "2")].iter().chain(values) {
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

fn predicts(plan: &Plan) -> &Step {
    plan.steps.iter().find(|step| step.act.label() == "predict").expect("predicts")
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
    let sealed = at(&|event| matches!(event, Event::Act { result, .. } if result.observed.is_some()));
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

/// What the processor did in each load, and that drivebench did not run during those of `suspended`.
fn with_processors(events: Vec<Event>, plan: &Plan, suspended: impl Fn(usize, &str) -> bool) -> Vec<Event> {
    let is_of = |step: StepId| {
        let on = plan.step(step).map_or(0, |step| step.on[0] as usize);
        plan.measure(step).is_some_and(|m| suspended(on, &m.label))
    };
    let change = |event| match event {
        Event::Window { step, target, zone, window } if is_of(step) => {
            let window = Window { suspended_ns: 2_000_000_000, ..window };
            Event::Window { step, target, zone, window }
        }
        Event::Processors { step, .. } => {
            let core = Core { busy: 0.5, ..Core::default() };
            Event::Processors {
                step,
                did: Processors { seconds: 5.0, cores: vec![core], ..Processors::default() },
            }
        }
        other => other,
    };
    events.into_iter().map(change).collect()
}

#[test]
fn what_was_suspended_is_no_speed_to_predict_from() {
    let plan =
        LAYOUTS.plan(&asked(2, &[("layouts", "raid0,raid1,linear"), ("quick", "true")])).expect("plans");
    let stick = stick(5e6, 20e6);
    let is_read = |at: usize, label: &str| at == 1 && label == "randread 4k";
    let all = events(&plan, &[stick.clone(), stick.clone()], &stick, Vec::new());
    let all = with_processors(all, &plan, is_read);
    // A resumed run predicts from what the record has.
    let predict = predicts(&plan);
    let before =
        all.into_iter().take_while(|event| !matches!(event, Event::Act { step, .. } if *step == predict.id));
    let done = Done::of(&Run::with_latencies(before), &plan);
    let is_of = |at: usize| {
        plan.measures().filter(move |(step, m)| step.on == [at as u32] && m.label == "randread 4k")
    };
    assert!(is_of(0).all(|(step, _)| done.speeds.contains_key(&(step.id, 0))), "the first one counts");
    assert!(is_of(1).all(|(step, _)| !done.speeds.contains_key(&(step.id, 1))), "the second does not");
}

#[test]
fn what_a_drive_did_not_do_alone_is_not_predicted_of_layouts_that_need_it() {
    let plan = LAYOUTS.plan(&asked(2, &[("layouts", "raid0,raid1"), ("quick", "true")])).expect("plans");
    let stick = stick(5e6, 20e6);
    let all = events(&plan, &vec![stick.clone(); 2], &stick, Vec::new());
    // As if its random reads had been suspended: they were done, and have no speed.
    let predict = predicts(&plan);
    let before = |event: &Event| !matches!(event, Event::Act { step, .. } if *step == predict.id);
    let known: Vec<Event> = all.into_iter().take_while(before).collect();
    let mut done = Done::of(&Run::with_latencies(known.iter().cloned()), &plan);
    done.steps = plan.steps.iter().map(|step| step.id).take_while(|id| *id != predict.id).collect();
    done.speeds
        .retain(|(step, at), _| *at == 0 || plan.measure(*step).is_none_or(|m| m.label != "randread 4k"));
    let board = Board { drives: vec![stick; plan.targets.len()], buses: Vec::new(), seed: 1 };
    let mut events = known;
    Modelled::new(&plan, &board)
        .expect("models")
        .run(&plan, &done, &mut events, &Cancel::default())
        .expect("runs");
    let findings = findings(events);
    let loads = |layout: &str| -> Vec<&str> {
        let of = findings.estimates.iter().filter(|m| m.scope == Scope::Predicted && m.target == layout);
        of.filter_map(|m| Some(m.load.as_ref()?.name.as_str())).collect()
    };
    let all = ["write 1M", "read 1M", "write 4k", "read 4k", "randwrite 4k", "randread 4k"];
    assert_eq!(loads("raid0"), all[..5]);
    assert_eq!(loads("raid1"), all, "which reads from the first");
}

/// A disk of 8 ms to a random place: a sequential block of 1 MiB takes less time than a random one of 4 KiB.
#[test]
fn what_a_disk_does_at_random_places_is_predicted_from_that() {
    let plan = LAYOUTS.plan(&asked(2, &[("layouts", "raid0,raid1"), ("quick", "true")])).expect("plans");
    let disk = Model { seek_seconds: 8e-3, ..stick(160e6, 167e6) };
    let findings = findings(events(&plan, &[disk.clone(), disk.clone()], &disk, Vec::new()));
    let random = alone(&findings, "randread 4k");
    assert!(random < 1e6, "{random}");
    close(predicted(&findings, "raid1", "randread 4k"), random);
    close(predicted(&findings, "raid0", "randread 4k"), random);
    // No drive alone is faster with larger blocks, so no pool is faster than all of them.
    let sum = 2.0 * alone(&findings, "read 1M");
    for layout in ["raid0", "raid1"] {
        assert!(predicted(&findings, layout, "read 4k") <= sum, "{layout}");
    }
}

#[test]
fn predictions_lie_in_their_intervals() {
    let plan = LAYOUTS.plan(&asked(4, &[("quick", "true"), ("runs", "3")])).expect("plans");
    let noisy = |n: f64| Model {
        noise: Noise { variation: 0.3, ..Noise::default() },
        ..stick(4e6 + n * 1e6, 20e6 - n * 3e6)
    };
    let drives: Vec<Model> = (0..4).map(|n| noisy(f64::from(n))).collect();
    let findings = findings(events(&plan, &drives, &noisy(0.0), Vec::new()));
    let all: Vec<_> = findings.estimates.iter().filter(|m| m.scope == Scope::Predicted).collect();
    assert_eq!(all.len(), 6 * 6);
    for m in all {
        let e = &m.estimate;
        assert!(e.low <= e.value && e.value <= e.high, "{} {:?} {e:?}", m.target, m.load);
    }
}

#[test]
fn one_run_has_no_interval_and_nothing_is_the_fastest() {
    let plan = LAYOUTS
        .plan(&asked(2, &[("runs", "1"), ("layouts", "raid0,raid1"), ("quick", "true")]))
        .expect("plans");
    let drives = [stick(5e6, 20e6), stick(5e6, 20e6)];
    let findings = findings(events(&plan, &drives, &stick(6e6, 22e6), Vec::new()));
    let verdicts = findings.verdicts.join("\n");
    assert!(verdicts.contains("No clear difference between raid0 and raid1; highest"), "{verdicts}");
    assert!(!verdicts.contains("Fastest"), "{verdicts}");
    close(predicted(&findings, "raid1", "write 1M"), alone(&findings, "write 1M"));
    assert!(findings.figures.iter().all(|f| f.n.starts_with("one run")), "{:?}", findings.figures[0].n);
}

#[test]
fn a_far_end_of_an_interval_leaves_room_for_what_was_measured() {
    let plan = LAYOUTS.plan(&asked(2, &[("layouts", "raid0,raid1"), ("quick", "true")])).expect("plans");
    let stick = stick(5e6, 20e6);
    let mut all = events(&plan, &[stick.clone(), stick.clone()], &stick, Vec::new());
    let predict = predicts(&plan).id;
    let is_prediction = |event: &&mut Event| matches!(event, Event::Act { step, .. } if *step == predict);
    for event in all.iter_mut().filter(is_prediction) {
        let mut changed = serde_json::to_value(&*event).expect("JSON");
        for pool in changed["result"]["observed"]["predictions"]["pools"].as_array_mut().expect("predictions")
        {
            let mut loads = pool["loads"].as_array_mut().expect("loads").iter_mut();
            let load = loads.find(|load| load["label"] == "write 1M").expect("is predicted");
            load["high"] = (load["speed"].as_f64().expect("a speed") * 3.5).into();
        }
        *event = serde_json::from_value(changed).expect("an event");
    }
    let findings = findings(all);
    let highs = |at: usize| -> Vec<f64> {
        let points =
            findings.figures[at].curves.iter().filter(|c| c.name == "predicted").flat_map(|c| &c.points);
        points.filter_map(|p| Some(p.interval?.1)).collect()
    };
    assert_eq!(highs(0), [f64::INFINITY; 2]);
    assert!(highs(1).iter().all(|high| high.is_finite()) && !highs(1).is_empty(), "{:?}", highs(1));
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
    // What advice learns of it: the ceiling, with what the drives do alone.
    let both = |scope: Scope| {
        let is = |m: &&Metric| {
            let load = m.load.as_ref().map(|load| load.name.as_str());
            m.scope == scope && m.target == "all" && load == Some("write 1M at once")
        };
        findings.evidence.iter().find(is).expect("is known").estimate.value
    };
    close(both(Scope::Sum), 24e6);
    close(both(Scope::SumAlone), 2.0 * alone(&findings, "write 1M"));
    let is_ceiling = |m: &&Metric| matches!(m.quantity, Quantity::Ceiling(_));
    let limits: Vec<(&Quantity, &str)> =
        findings.evidence.iter().filter(is_ceiling).map(|m| (&m.quantity, m.target.as_str())).collect();
    let said = findings.verdicts.join("\n");
    assert!(said.contains("limited by something shared: the drives write 24.1 MB/s"), "{said}");
    // These machines have no inventory, which would name the bus.
    assert_eq!(limits, [(&Quantity::Ceiling(Limiter::Unknown), "something shared"); 2]);
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
    let last = plan.steps.iter().rfind(|step| step.is_on(3) && step.act.is::<Measure>());
    let last = last.expect("loads").id;
    let cut = all.into_iter().take_while(|event| !matches!(event, Event::Step { step, .. } if *step == last));
    let run = Run::with_latencies(cut);
    let done = Done::of(&run, &plan);
    assert!(steps_of(2).all(|step| done.steps.contains(&step.id)), "the first pool is done");
    assert!(steps_of(3).all(|step| !done.steps.contains(&step.id)), "the second is begun anew");
    assert!(
        steps_of(0).all(|step| done.steps.contains(&step.id)),
        "so are the drives, and what was predicted"
    );
    let predict = predicts(&plan);
    assert!(done.steps.contains(&predict.id));
}

#[test]
fn layouts_that_can_not_be_planned_say_why() {
    let refused = |drives: usize, values: &[(&str, &str)]| {
        LAYOUTS.plan(&asked(drives, values)).expect_err("refused").to_string()
    };
    assert_eq!(refused(1, &[]), "layouts compares drives: name 2 targets or more");
    assert_eq!(refused(3, &[("layouts", "raid6")]), "raid6 needs at least 4 drives, 3 given");
    let survive = |n, layouts| refused(3, &[("survive", n), ("layouts", layouts)]);
    assert_eq!(
        survive("2", "raid0,raid5"),
        "--survive 2: at most 1 of 3 drives may fail with raid0 and raid5"
    );
    assert_eq!(survive("1", "raid0"), "--survive 1: at most 0 of 3 drives may fail with raid0");
    let mut suite = asked(2, &[]);
    suite.suite = Some(Suite::find("dd-256k").expect("is shipped"));
    let why = LAYOUTS.plan(&suite).expect_err("refused").to_string();
    assert_eq!(why, "suite dd-256k can't be used for layouts: write goes through the page cache");
    let (name, text) = ("wide", include_str!("../../suites/nas.toml").replace("1MiB", "16MiB"));
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
    assert!(why.contains("whole drives: name them"), "{why}");
    directories.targets[0].mount = Some(Mount { path: "/mnt/my stick".to_owned(), ..Mount::default() });
    let why = LAYOUTS.plan(&directories).expect_err("refused").to_string();
    assert!(why.contains("is mounted: unmount it with `sudo umount '/mnt/my stick'`"), "{why}");
    let mut small = asked(2, &[("size", "100GiB")]);
    small.targets[1].drives[0].sectors = 62_000_000_000 / 512;
    small.targets[0].drives[0].sectors = 240_000_000_000 / 512;
    let why = LAYOUTS.plan(&small).expect_err("refused").to_string();
    assert!(why.contains("holds 62.0 GB, less than the 100 GiB that are used"), "{why}");
    // With three drives raid6 is left out.
    let three = LAYOUTS.plan(&asked(3, &[])).expect("plans");
    assert_eq!(three.targets.len(), 3 + 5);
}
