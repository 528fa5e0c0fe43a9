//! `--max-time` holds for the whole run: of every experiment in virtual time, and of a drive that hangs.

use std::time::Instant;

use crate::support::cli::{Cli, words};
use crate::support::faultfs::{FaultFs, Faults};
use crate::support::modelled;
use crate::support::modelled::{ask, target};
use drivebench::{
    analyse::Rules,
    engine::Cancel,
    experiments::{
        BASELINE, BAYS, CLIFF, Experiment, PAGECACHE, REGISTER, Request, SIZES, SMALLFILES, SPINUP, TOGETHER,
        Values,
    },
    plan::Plan,
    record::{Done, End, Event, How},
    run::World,
    target::Target,
    units::MIB,
};
use drivebench_modelled::{
    Modelled,
    sim::{Board, Model, Stalls, Standby, Zone},
};

const GB: u64 = 1_000_000_000;

/// A drive that takes long for each block.
fn slow(capacity: u64) -> Model {
    let zone = |rate| vec![Zone { from: 0, rate }];
    Model { capacity, write: zone(0.3e6), read: zone(0.5e6), operation_seconds: 0.05, ..Model::default() }
}

/// A disk that goes to standby, as its device.
fn disk() -> Target {
    let mut disk = target("WX61", 1000 * GB, true);
    disk.drives[0].name = "sda".to_owned();
    disk.path = "/dev/sda".into();
    disk
}

fn targets(experiment: &Experiment) -> Vec<Target> {
    match experiment.name {
        "spinup" => vec![disk()],
        "bays" => (0..2).map(modelled::in_bay).collect(),
        _ => ["A", "B"].map(|name| target(name, 62 * GB, false)).into(),
    }
}

/// Runs a plan on slow drives and returns how it ended, how long it took, s, and the events.
fn carried_out(plan: &Plan, model: &Model) -> (How, f64, Vec<Event>) {
    let standby = Some(Standby { after_seconds: 12.0, wake_seconds: 3.5 });
    let drives = plan.targets.iter().map(|t| Model {
        standby: standby.filter(|_| t.rotates()),
        capacity: t.size.unwrap_or(model.capacity),
        ..model.clone()
    });
    let board = Board { drives: drives.collect(), seed: 1, ..Board::default() };
    let again = board.clone();
    let mut world = Modelled::new(plan, &board).expect("a board").with_people(move |_, _| again.clone());
    let mut events = vec![Event::Plan { plan: plan.clone() }];
    let how = world.run(plan, &Done::default(), &mut events, &Cancel::default()).expect("runs");
    events.push(Event::End(End { how: how.clone(), at: String::new() }));
    (how, world.seconds(), events)
}

#[test]
fn every_experiment_ends_within_its_time_and_its_plan_says_it() {
    // How long a pool is filled depends on its drives, so layouts has no limit. The programs of share and swap take no modelled time.
    let limited = |one: &&&Experiment| {
        one.options.iter().any(|option| option.spec().name == "max-time")
            && !["share", "swap"].contains(&one.name)
    };
    for experiment in REGISTER.iter().filter(limited) {
        for seconds in [2.0, 10.0, 60.0] {
            let mut asked =
                Request { values: Values::default(), ..ask(targets(experiment), Rules::quick(), 4096) };
            asked.values.set("max-time", &format!("{seconds}s"));
            asked.effort.max_seconds = seconds;
            let plan = experiment.plan(&asked).expect("plans");
            let case = format!("{} --max-time {seconds}s", experiment.name);
            let each: Vec<f64> =
                (0..plan.targets.len()).map(|at| plan.cost(at).seconds.expect("limited")).collect();
            assert!(each.iter().all(|most| *most <= seconds), "{case}: {each:?}");
            let most = plan.seconds().expect("limited");
            let all = if experiment.name == "together" { seconds } else { seconds * each.len() as f64 };
            assert!(most <= all, "{case}: {most}");
            let (how, took, events) = carried_out(&plan, &slow(62 * GB));
            // People move drives in a time of their own.
            let moves = events.iter().filter_map(|event| match event {
                Event::Act { target: None, result, .. } => Some(result.seconds),
                _ => None,
            });
            let took = took - moves.sum::<f64>();
            assert!(took <= most * (1.0 + 1e-9), "{case}: {took} s, not at most {most}");
            // What was not measured is said, with the end.
            let findings = experiment.findings(&mut events.into_iter());
            let said = findings.flags.iter().any(|flag| flag.contains("the time was up"));
            assert_eq!(said, how == How::TimeUp, "{case}: {how:?}, {:?}", findings.flags);
        }
    }
    let known = [&BASELINE, &TOGETHER, &BAYS, &SIZES, &PAGECACHE, &CLIFF, &SPINUP, &SMALLFILES];
    assert!(known.iter().all(|one| REGISTER.iter().filter(limited).any(|other| other.name == one.name)));
}

#[test]
fn hundreds_of_repetitions_end_in_time() {
    for experiment in [&SIZES, &PAGECACHE, &SMALLFILES, &TOGETHER] {
        let mut asked = ask(targets(experiment), Rules::quick(), 4096);
        // A record can't hold the plan of more runs of all sizes.
        asked.values.set("runs", if experiment.name == SIZES.name { "300" } else { "1000" });
        asked.effort.max_seconds = 2.0;
        asked.effort.max_bytes = 1 << 40;
        for target in &mut asked.targets {
            target.free = Some(1 << 50);
        }
        let plan = experiment.plan(&asked).expect("plans");
        let (how, took, _) = carried_out(&plan, &slow(62 * GB));
        assert!(took <= plan.seconds().expect("limited"), "{}: {took}", experiment.name);
        assert_eq!(how, How::TimeUp, "{}", experiment.name);
    }
}

/// A plan is a line of the record, and readers bound lines.
#[test]
fn plans_that_no_reader_takes_are_refused() {
    let mut asked = ask(targets(&SIZES), Rules::quick(), 4096);
    asked.values.set("runs", "1000");
    asked.effort.max_bytes = 1 << 50;
    asked.targets = [&asked.targets[..]; 8].concat();
    let refused = SIZES.plan(&asked).expect_err("refused").to_string();
    assert!(refused.contains("steps") && refused.contains("choose fewer runs"), "{refused}");
}

#[test]
fn a_fast_drive_is_measured_as_if_there_were_no_limit() {
    let fast = Model::flat(62 * GB, 200e6);
    for experiment in [&SIZES, &PAGECACHE, &SMALLFILES, &TOGETHER, &CLIFF] {
        let asked = ask(targets(experiment), Rules::quick(), MIB);
        let mut plan = experiment.plan(&asked).expect("plans");
        let (how, _, limited) = carried_out(&plan, &fast);
        plan.limit = None;
        let (_, _, free) = carried_out(&plan, &fast);
        assert_eq!((how, &limited[1..]), (How::Finished, &free[1..]), "{}", experiment.name);
    }
}

#[test]
fn a_drive_that_hangs_past_the_limit_is_named() {
    let stalls = Stalls { seconds: 1000.0, every: 1.0, ..Stalls::default() };
    let hangs = Model { stalls: vec![stalls], ..Model::flat(62 * GB, 20e6) };
    let plan = CLIFF.plan(&ask(vec![target("A", 62 * GB, false)], Rules::quick(), MIB)).expect("plans");
    let plan = Plan {
        limit: plan.limit.map(|limit| drivebench::plan::TimeLimit { seconds: 30.0, ..limit }),
        ..plan
    };
    let (how, took, events) = carried_out(&plan, &hangs);
    assert_eq!((how, took <= 30.0), (How::TimeUp, true));
    let notes: Vec<&String> = events
        .iter()
        .filter_map(|event| if let Event::Note { text, .. } = event { Some(text) } else { None })
        .collect();
    assert!(notes.iter().any(|text| text.contains("completed nothing in the last")), "{notes:?}");
}

#[test]
fn a_run_without_any_result_fails() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    let place = fs.path().to_str().expect("UTF-8");
    fs.set(|faults| faults.hold = true);
    let mut running = cli.start(["run", "baseline", "--rw", "write", "--max-time", "2s", place]);
    running.wait_for("outcome");
    fs.release();
    let (code, said) = running.finish_with_errors();
    assert_eq!(code, Some(1), "{said}");
    let said = words(&said);
    assert!(
        said.contains("error: no result: the time was up before there was one; `drivebench run"),
        "{said}"
    );
    assert!(said.contains(&format!("run baseline --resume {}", cli.run_name())), "{said}");
    assert!(said.contains("` continues it") && said.matches("--resume").count() == 1, "{said}");
    assert!(cli.record().contains(r#""how":"time_up""#), "{}", cli.record());
}

#[test]
fn a_drive_that_hangs_while_its_file_is_made_is_named_and_ctrl_c_ends_it() {
    let faults: [fn(&mut Faults); 2] = [|f| f.hold_reserving = true, |f| f.hold_creating = true];
    for (fault, stopped) in faults.iter().flat_map(|fault| [(fault, false), (fault, true)]) {
        let (cli, fs) = (Cli::new(), FaultFs::mount());
        let place = fs.path().to_str().expect("UTF-8");
        fs.set(fault);
        let mut running = cli.start(["run", "baseline", "--max-time", "2s", place]);
        fs.wait_until_held(1);
        if stopped {
            running.signal(rustix::process::Signal::INT);
        }
        running.wait_for("findings");
        assert!(fs.held() > 0, "it ended while the operation hung");
        // The kernel keeps the process until the drive responds.
        fs.release();
        let (code, said) = running.finish_with_errors();
        assert_eq!(code, Some(if stopped { 130 } else { 1 }), "{said}");
        let named = said.contains("did not respond in time") && said.contains(place);
        assert_eq!(named, !stopped, "{said}");
    }
}

#[test]
fn a_short_limit_that_ends_while_a_file_is_made_is_no_fault_of_the_drive() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    let place = fs.path().to_str().expect("UTF-8");
    fs.set(|f| f.hold_reserving = true);
    let mut running = cli.start(["run", "baseline", "--max-time", "1s", place]);
    fs.wait_until_held(1);
    let found = words(&running.wait_for("findings").to_string());
    fs.release();
    let (code, said) = running.finish_with_errors();
    assert_eq!(code, Some(1), "{said}");
    assert!(
        found.contains("the time was up") && !(found + &said).contains("did not respond in time"),
        "{said}"
    );
}

#[test]
fn a_drive_that_hangs_when_it_is_looked_at_again_does_not_hold_up_ctrl_c() {
    let (cli, first, second) = (Cli::new(), FaultFs::mount(), FaultFs::mount());
    first.set(|f| f.hold = true);
    let [a, b] = [&first, &second].map(|fs| fs.path().to_str().expect("UTF-8"));
    let mut running = cli.start(["run", "baseline", "--rw", "write", "--max-bytes", "1M", a, b]);
    first.wait_until_held(1);
    second.set(|f| f.hold_looking = true);
    first.release();
    second.wait_until_held(1);
    running.signal(rustix::process::Signal::INT);
    running.wait_for("findings");
    assert!(second.held() > 0, "it ended while the operation hung");
    second.release();
    let (code, said) = running.finish_with_errors();
    assert_eq!(code, Some(130), "{said}");
}

#[test]
fn a_real_drive_that_hangs_does_not_hold_up_the_end() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    let place = fs.path().to_str().expect("UTF-8");
    let limit = 4.0;
    let since = Instant::now();
    let mut running = cli.start(["run", "baseline", "--max-time", "4s", place]);
    running.wait_for("progress");
    fs.set(|f| f.hold = true);
    fs.wait_until_held(1);
    let findings = running.wait_for("findings");
    assert!(fs.held() > 0, "it ended while the operation hung");
    // Until the drive answers, twice the time would be a hang; removing the file has a limit of its own.
    assert!(since.elapsed().as_secs_f64() < 5.0 * limit);
    fs.release();
    // The file can't be removed while the drive hangs, which is an error of its own.
    assert!(running.finish().is_some());
    let text = words(&findings.to_string());
    assert!(text.contains("completed nothing in the last") && text.contains("the time was up"), "{text}");
}
