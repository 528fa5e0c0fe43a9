//! `--resume` continues stopped runs: every experiment on modelled drives, stopped after each of its steps
//! and in the middle of loads.

use std::{
    collections::BTreeSet,
    fs, io,
    io::{BufRead, BufReader},
    iter,
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::support::cli::{Cli, Done as Ended, names, words};
use crate::support::faultfs::FaultFs;
use crate::support::modelled;
use rustix::process::Signal;
use serde_json::Value;

use crate::support::modelled::{ask, target};
use drivebench::{
    analyse::Rules,
    engine::Cancel,
    experiments::{
        ACCEPT, BASELINE, BAYS, BOOT, CAPACITY, CLIFF, Experiment, LAYOUTS, LoadName, PAGECACHE, POWER, PULL,
        REGISTER, Request, SIZES, SMALLFILES, SPINUP, SWAP, TOGETHER, Values,
    },
    inventory::Mount,
    plan::{Plan, ScratchFile, StepId},
    record::{Done, End, Event, How, Log, Run},
    run::World,
    target::Target,
    units::MIB,
};
use drivebench_modelled::{
    Modelled,
    sim::{Board, Cache, Model, Noise, Standby, Zone},
};

const GB: u64 = 1_000_000_000;

/// A record in memory that cancels the run at a number of events.
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

/// An experiment and the drives it is run on.
struct Case {
    experiment: &'static Experiment,
    ask: Request,
    board: Board,
}

impl Case {
    fn plan(&self) -> Plan {
        self.experiment.plan(&self.ask).expect("plans")
    }

    fn world(&self, plan: &Plan) -> Modelled {
        let board = self.board.clone();
        Modelled::new(plan, &self.board).expect("a board").with_people(move |_, _| board.clone())
    }

    /// The record of a run that was stopped after `at` events and resumed to its end, and what was done when it
    /// was stopped.
    fn stopped(&self, at: usize) -> (Vec<Event>, Done) {
        let plan = self.plan();
        let mut world = self.world(&plan);
        let cancel = Cancel::default();
        let events = vec![Event::Plan { plan: plan.clone() }];
        let mut log = Stopping { events, at, cancel: cancel.clone() };
        let how = world.run(&plan, &Done::default(), &mut log, &cancel).expect("runs");
        let mut events = log.events;
        events.push(Event::End(End { how, at: String::new() }));
        let done = Done::of(&Run::with_latencies(events.iter().cloned()), &plan);
        events.push(Event::Resume { at: String::new(), version: String::new() });
        world.wait(3600.0, &Cancel::default());
        let how = world.run(&plan, &done, &mut events, &Cancel::default()).expect("runs");
        assert_eq!(how, How::Finished);
        events.push(Event::End(End { how, at: String::new() }));
        (events, done)
    }

    fn whole(&self) -> Vec<Event> {
        let plan = self.plan();
        let mut events = vec![Event::Plan { plan: plan.clone() }];
        let how = self.world(&plan).run(&plan, &Done::default(), &mut events, &Cancel::default());
        assert_eq!(how.expect("runs"), How::Finished);
        events.push(Event::End(End { how: How::Finished, at: String::new() }));
        events
    }

    /// Estimates by target and name.
    fn estimates(&self, events: &[Event]) -> Vec<(String, f64)> {
        let findings = self.experiment.findings(&mut events.iter().cloned());
        assert_eq!(findings.flags.iter().filter(|flag| flag.starts_with("Interrupted")).count(), 0);
        findings
            .estimates
            .into_iter()
            .map(|n| (format!("{} {}", n.target, n.label()), n.estimate.value))
            .collect()
    }

    /// Stops the run after every step and in the middle of `amid` loads, and compares the findings with those of an uninterrupted run.
    fn check(&self, amid: usize) {
        let whole = self.whole();
        let expected = self.estimates(&whole);
        assert!(!expected.is_empty(), "{}", self.experiment.name);
        let ends = |event: &Event| {
            matches!(event, Event::Act { .. } | Event::Processors { .. } | Event::Skipped { .. })
        };
        let after: Vec<usize> = (0..whole.len()).filter(|&i| ends(&whole[i])).map(|i| i + 1).collect();
        let within = (1..=amid).map(|i| whole.len() * i / (amid + 1));
        for at in after.into_iter().chain(within) {
            let (events, done) = self.stopped(at);
            let found = self.estimates(&events);
            let case = format!("{} stopped after {at} events", self.experiment.name);
            let names = |all: &[(String, f64)]| all.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            assert_eq!(names(&found), names(&expected), "{case}");
            for ((name, value), (_, expected)) in found.iter().zip(&expected) {
                let near = (value / expected - 1.0).abs() < 0.06 || *expected == 0.0 && value.abs() < 1e-3;
                assert!(near, "{case}: {name} is {value}, not {expected}");
            }
            self.repeats_nothing(&events, &done, &case);
        }
    }

    /// Checks that every step is done exactly once.
    fn repeats_nothing(&self, events: &[Event], done: &Done, case: &str) {
        let resumed = events.iter().position(|e| matches!(e, Event::Resume { .. })).expect("it goes on");
        let step = |event: &Event| match event {
            Event::Step { step, .. } | Event::Act { step, .. } | Event::Skipped { step } => Some(*step),
            _ => None,
        };
        let begun: BTreeSet<StepId> = events[resumed..].iter().filter_map(step).collect();
        assert!(begun.is_disjoint(&done.steps), "{case}");
        let (plan, left) = (self.plan(), done.left(&self.plan()));
        let described = Event::Plan { plan: plan.clone() };
        let again = Run::of(iter::once(described).chain(events[resumed..].iter().cloned()));
        for (at, written) in again.written {
            let most = left.cost(at).written;
            assert!(
                written <= most,
                "{case}: wrote {written} bytes, not at most {most}: {}",
                left.describe()
            );
        }
        let all: BTreeSet<StepId> = events.iter().filter_map(step).collect();
        assert_eq!(all.len(), self.plan().steps.len(), "{case}");
    }
}

/// A drive with almost no noise, so that few measurements are enough.
fn drive(write: f64, read: f64) -> Model {
    Model {
        capacity: 62 * GB,
        write: vec![Zone { from: 0, rate: write }],
        read: vec![Zone { from: 0, rate: read }],
        noise: Noise { variation: 0.01, memory: 0.0, run: 0.0 },
        operation_seconds: 0.2e-3,
        ..Model::default()
    }
}

fn board(drives: Vec<Model>) -> Board {
    Board { drives, seed: 1, ..Board::default() }
}

fn rules() -> Rules {
    Rules { precision: 0.1, first: 16, w_min: Some(32), budget: 64, ..Rules::quick() }
}

fn directories(n: usize) -> Vec<Target> {
    ["A", "B", "C"].iter().take(n).map(|name| target(name, 62 * GB, false)).collect()
}

#[test]
fn baseline() {
    let mut asked = ask(directories(2), rules(), MIB);
    asked.loads = Some(vec![LoadName::Write, LoadName::Read, LoadName::RandRead, LoadName::RandWrite]);
    let board = board(vec![drive(20e6, 30e6), drive(10e6, 30e6)]);
    Case { experiment: &BASELINE, ask: asked.clone(), board: board.clone() }.check(12);
    asked.loads = Some(vec![LoadName::RandRead, LoadName::Read]);
    Case { experiment: &BASELINE, ask: asked, board }.check(6);
}

#[test]
fn the_default_suite() {
    let asked = Request { values: Values::default(), ..ask(directories(1), rules(), 4096) };
    Case { experiment: &BASELINE, ask: asked, board: board(vec![drive(20e6, 30e6)]) }.check(6);
}

#[test]
fn a_disk_that_rotates() {
    let zones = (0..4).map(|i| Zone { from: i * 100 * GB, rate: 100e6 - 10e6 * i as f64 }).collect();
    let disk = Model { capacity: 400 * GB, read: zones, seek_seconds: 0.01, ..drive(1e6, 1e6) };
    let asked = ask(vec![target("disk", 400 * GB, true), target("B", 62 * GB, false)], rules(), MIB);
    let board = board(vec![disk, drive(20e6, 30e6)]);
    Case { experiment: &BASELINE, ask: asked, board }.check(12);
}

#[test]
fn cliff() {
    let cache = Cache { bytes: 100.0 * MIB as f64, free: 1.0, rate: 40e6, drain: 10e6 };
    let falls = Model { cache: Some(cache), ..drive(5e6, 30e6) };
    let mut asked = ask(directories(2), Rules::standard(), MIB);
    asked.effort.max_bytes = 512 * MIB;
    asked.values.set("pause", "20");
    // The second never slows down, so its pause and second write are skipped.
    Case { experiment: &CLIFF, ask: asked, board: board(vec![falls, drive(20e6, 30e6)]) }.check(6);
}

#[test]
fn together() {
    let mut asked = ask(directories(2), rules(), MIB);
    asked.effort.max_seconds = 40.0;
    let board = board(vec![drive(20e6, 30e6), drive(10e6, 30e6)]);
    Case { experiment: &TOGETHER, ask: asked, board }.check(6);
}

#[test]
fn sizes() {
    let mut asked = ask(directories(1), rules(), 4096);
    asked.values.set("runs", "2");
    asked.values.set("largest", "64k");
    Case { experiment: &SIZES, ask: asked, board: board(vec![drive(20e6, 30e6)]) }.check(4);
}

#[test]
fn pagecache() {
    let mut asked = ask(directories(1), rules(), 4096);
    asked.values.set("runs", "2");
    Case { experiment: &PAGECACHE, ask: asked, board: board(vec![drive(20e6, 30e6)]) }.check(6);
}

#[test]
fn smallfiles() {
    let asked = ask(directories(2), Rules::standard(), 4096);
    let board = board(vec![drive(20e6, 30e6), drive(10e6, 30e6)]);
    Case { experiment: &SMALLFILES, ask: asked, board }.check(4);
}

#[test]
fn spinup() {
    let standby = Some(Standby { after_seconds: 12.0, wake_seconds: 3.5 });
    let disk = Model { capacity: 1000 * GB, standby, ..drive(60e6, 60e6) };
    let mut target = target("WX61", 1000 * GB, true);
    target.drives[0].name = "sda".to_owned();
    target.path = "/dev/sda".into();
    let mut asked = ask(vec![target], Rules::standard(), 4096);
    asked.values.set("runs", "3");
    asked.values.set("pause", "15");
    Case { experiment: &SPINUP, ask: asked, board: board(vec![disk]) }.check(6);
}

#[test]
fn bays() {
    let mut asked = ask((0..3).map(modelled::in_bay).collect(), Rules::quick(), 4096);
    asked.effort.max_bytes = 64 * MIB;
    let board = board(vec![drive(20e6, 30e6), drive(10e6, 20e6), drive(10e6, 25e6)]);
    Case { experiment: &BAYS, ask: asked, board }.check(6);
}

#[test]
fn layouts() {
    let mut asked = ask((0..2).map(modelled::in_bay).collect(), Rules::quick(), 4096);
    for (name, value) in [("layouts", "raid0,raid1"), ("size", "256MiB"), ("runtime", "1s"), ("runs", "2")] {
        asked.values.set(name, value);
    }
    // The last two stand for the pools.
    let board = board(vec![drive(20e6, 30e6), drive(10e6, 20e6), drive(25e6, 40e6), drive(10e6, 25e6)]);
    Case { experiment: &LAYOUTS, ask: asked, board }.check(6);
}

#[test]
fn pull() {
    let mut asked = ask((0..2).map(modelled::in_bay).collect(), Rules::quick(), 4096);
    asked.values.set("layouts", "raid0,raid1");
    // The targets are pools: two layouts, each without one of two drives.
    Case { experiment: &PULL, ask: asked, board: board(vec![drive(20e6, 30e6); 4]) }.check(6);
}

#[test]
fn capacity() {
    let asked = ask((0..2).map(modelled::in_bay).collect(), rules(), MIB);
    Case { experiment: &CAPACITY, ask: asked, board: board(vec![drive(20e6, 30e6); 2]) }.check(2);
}

#[test]
fn accept() {
    let mut targets: Vec<Target> = (0..3).map(modelled::in_bay).collect();
    targets.iter_mut().for_each(|target| target.drives[0].sectors = 600_000);
    let asked = ask(targets, rules(), MIB);
    Case { experiment: &ACCEPT, ask: asked, board: board(vec![drive(20e6, 30e6); 3]) }.check(6);
}

#[test]
fn power() {
    let asked = ask(directories(1), rules(), MIB);
    Case { experiment: &POWER, ask: asked, board: board(vec![drive(20e6, 30e6)]) }.check(6);
}

#[test]
fn boot() {
    let mut root = target("card", 62 * GB, false);
    root.path = "/".into();
    let mut asked = ask(vec![root], rules(), MIB);
    asked.values.set("now", "true");
    Case { experiment: &BOOT, ask: asked, board: board(vec![drive(20e6, 30e6)]) }.check(2);
}

#[test]
fn swap() {
    let mut targets = directories(2);
    for target in &mut targets {
        target.mount = Some(Mount { filesystem: "ext4".to_owned(), ..Mount::default() });
    }
    let asked = ask(targets, rules(), MIB);
    let board = board(vec![drive(20e6, 30e6), drive(10e6, 30e6)]);
    Case { experiment: &SWAP, ask: asked, board }.check(6);
}

/// Experiments that have a test of their own above, as they need drives of their own kind.
const ABOVE: [&str; 16] = [
    "baseline",
    "together",
    "bays",
    "sizes",
    "pagecache",
    "cliff",
    "spinup",
    "smallfiles",
    "capacity",
    "accept",
    "layouts",
    "pull",
    "power",
    "boot",
    "swap",
    // It has no model.
    "share",
];

#[test]
fn every_experiment_is_resumed_here() {
    let others = REGISTER.iter().filter(|experiment| !ABOVE.contains(&experiment.name));
    for experiment in others.clone() {
        let board = board(vec![drive(20e6, 30e6), drive(10e6, 30e6)]);
        Case { experiment, ask: ask(directories(2), rules(), MIB), board }.check(6);
    }
    assert_eq!(REGISTER.len(), ABOVE.len() + others.count(), "each of those above is in the register");
}

#[test]
fn a_finished_run_has_no_steps_left() {
    let asked = ask(directories(1), rules(), MIB);
    let case = Case { experiment: &BASELINE, ask: asked, board: board(vec![drive(20e6, 30e6)]) };
    let (plan, events) = (case.plan(), case.whole());
    let done = Done::of(&Run::with_latencies(events.into_iter()), &plan);
    assert_eq!(done.steps.len(), plan.steps.len());
    let made = plan.steps.iter().filter(|step| step.act.is::<ScratchFile>()).count();
    assert_eq!(made, 1);
}

#[test]
fn a_missing_drive_fails_and_the_others_continue() {
    let asked = ask(directories(2), rules(), MIB);
    let case =
        Case { experiment: &BASELINE, ask: asked, board: board(vec![drive(20e6, 30e6), drive(10e6, 30e6)]) };
    let plan = case.plan();
    let last = plan.measures().last().expect("a load").0.id;
    let done = Done { steps: BTreeSet::from([last]), ..Done::default() };
    let mut there = plan.clone();
    there.targets[1].drives.clear();
    let mut events = Vec::new();
    let how = case.world(&there).run(&plan, &done, &mut events, &Cancel::default()).expect("runs");
    let How::Failed(why) = how else { panic!("{how:?}") };
    assert!(why.ends_with("is not connected"), "{why}");
    let on = |event: &Event| if let Event::Outcome { target, .. } = event { Some(*target) } else { None };
    let done: Vec<u32> = events.iter().filter_map(on).collect();
    assert!(done.len() > 2 && done.iter().all(|target| *target == 0), "{done:?}");
}

/// A run of the command line that was killed before its first load.
struct Killed {
    cli: Cli,
    name: String,
    path: PathBuf,
}

impl Killed {
    fn on(place: &Path) -> Self {
        let cli = Cli::new();
        let mut running = cli.start([
            "run",
            "baseline",
            "--wait",
            "--suite",
            "posts",
            "--max-bytes",
            "8M",
            &place.to_string_lossy(),
        ]);
        running.wait_for("plan");
        running.signal(Signal::KILL);
        assert_eq!(running.finish(), None);
        let name = cli.run_name();
        let path = cli.store().join(format!("{name}.jsonl"));
        let killed = Self { cli, name, path };
        // It may have recorded more before it was killed.
        let text = killed.text();
        killed.write(&text.split_inclusive('\n').take(2).collect::<String>());
        killed
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).expect("a record")
    }

    fn write(&self, text: &str) {
        fs::write(&self.path, text).expect("writes");
    }

    fn edit_plan(&self, edit: impl FnOnce(&mut Value)) {
        let text = self.text();
        let (start, plan) = text.trim_end().split_once('\n').expect("two lines");
        let mut plan: Value = serde_json::from_str(plan).expect("a plan");
        edit(&mut plan["plan"]);
        self.write(&format!("{start}\n{plan}\n"));
    }

    fn resume(&self) -> Ended {
        self.cli.run(["run", "baseline", "--wait", "--resume", &self.name])
    }

    /// Resumes it, which must change neither the record nor anything in `place`; returns the error.
    fn refused(&self, place: &Path, code: i32) -> String {
        let (before, there) = (self.text(), names(place));
        let done = self.resume();
        assert_eq!((done.code, done.out.as_str()), (code, ""), "{}", done.err);
        assert_eq!((self.text(), names(place)), (before, there), "{}", done.err);
        words(&done.err)
    }
}

#[test]
fn another_filesystem_is_not_measured_instead() {
    let mut fs = FaultFs::mount();
    let killed = Killed::on(fs.path());
    let path = fs.path().to_owned();
    fs.unmount();
    let error = killed.refused(&path, 1);
    assert!(error.contains("can't be continued in") && error.contains("of faultfs on"), "{error}");

    // Nor does a path lead elsewhere that was edited.
    let (place, elsewhere) = (FaultFs::mount(), Cli::directory());
    let killed = Killed::on(place.path());
    killed.edit_plan(|plan| plan["targets"][0]["path"] = elsewhere.path().to_str().expect("UTF-8").into());
    let error = killed.refused(elsewhere.path(), 1);
    assert!(error.contains("can't be continued in"), "{error}");
}

#[test]
fn a_filesystem_that_is_mounted_elsewhere_now_is_measured_there() {
    let place = Cli::directory();
    let killed = Killed::on(place.path());
    let mut known = false;
    // As if it had been mounted there before.
    killed.edit_plan(|plan| {
        let target = &mut plan["targets"][0];
        known = target["drives"].as_array().is_some_and(|drives| !drives.is_empty());
        let mount = target["mount"]["path"].as_str().expect("a mount point").to_owned();
        let below = place.path().strip_prefix(mount).expect("below it");
        target["path"] = Path::new("/gone").join(below).to_str().expect("UTF-8").into();
        target["mount"]["path"] = "/gone".into();
    });
    // Without a known drive a filesystem is found by its path only.
    if !known {
        let error = killed.refused(place.path(), 1);
        assert!(error.contains("can't be continued in /gone"), "{error}");
        return;
    }
    let done = killed.resume();
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(words(&done.err).contains("0 of "), "{}", done.err);
}

#[test]
fn what_is_left_is_shown_first_and_must_fit() {
    let place = Cli::directory();
    let killed = Killed::on(place.path());
    killed.edit_plan(|plan| plan["steps"][0]["act"]["scratch_file"]["bytes"] = (1u64 << 55).into());
    let error = killed.refused(place.path(), 1);
    assert!(error.contains(" free; this needs "), "{error}");

    let killed = Killed::on(place.path());
    let done = killed.resume();
    assert_eq!(done.code, 0, "{}", done.err);
    for part in ["0 of ", "at most 4.19 MB written", "changes: own files", &*place.path().to_string_lossy()] {
        assert!(done.err.contains(part), "{part} in {}", done.err);
    }
    let again = killed.resume();
    assert!(again.code == 2 && again.err.contains("is complete"), "{}", again.err);
}

#[test]
fn a_record_is_continued_where_reading_ends() {
    let place = Cli::directory();
    let killed = Killed::on(place.path());
    let whole = killed.text();
    killed.write(&format!("{whole}{{\"event\":\n{}", whole.lines().next().expect("a line")));
    let error = killed.refused(place.path(), 1);
    assert!(error.contains("is damaged at line 3") && error.contains("start a new run"), "{error}");

    // The last line is complete but for its newline.
    killed.write(whole.trim_end());
    let done = killed.resume();
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(killed.cli.record().starts_with(&whole), "the plan is kept");
}

#[test]
fn a_plan_that_cannot_be_executed_is_damage() {
    let place = Cli::directory();
    let killed = Killed::on(place.path());
    let whole = killed.text();
    let edits: [fn(&mut Value); 5] = [
        |plan| plan["steps"][1]["on"] = serde_json::json!([7]),
        |plan| plan["steps"][1]["act"]["load"]["load"]["block"] = 0.into(),
        |plan| plan["steps"][1]["act"]["load"]["reach"] = u64::MAX.into(),
        |plan| plan["steps"][1]["id"] = 0.into(),
        |plan| plan["steps"][1]["act"] = serde_json::json!({ "pause": { "seconds": 1e300 } }),
    ];
    for edit in edits {
        killed.write(&whole);
        killed.edit_plan(edit);
        let error = killed.refused(place.path(), 1);
        assert!(error.contains("is damaged at line 2: step 1 "), "{error}");
    }
}

/// Arguments of a run that lasts until it is stopped.
fn long(target: &str) -> [&str; 8] {
    ["run", "baseline", "--wait", "--suite", "posts", "--max-bytes", "4G", target]
}

#[test]
fn a_run_that_waited_reads_its_record_again() {
    let place = Cli::directory();
    let killed = Killed::on(place.path());
    let before = (killed.text(), names(place.path()));
    let left = killed.cli.run(["run", "baseline", "--plan", "--format", "json", "--resume", &killed.name]);
    let left: Value = serde_json::from_str(&left.out).expect("a plan of what is left");
    assert!(left["steps"].as_array().is_some_and(|steps| !steps.is_empty()));
    assert_eq!((killed.text(), names(place.path())), before);
    let other = Cli::new();
    let mut running = other.start(long(&place.path().to_string_lossy()));
    running.wait_for("plan");
    let mut command = killed.cli.command(["run", "baseline", "--wait", "--resume", &killed.name]);
    let mut waiting = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
    let mut said = BufReader::new(waiting.stderr.take().expect("a pipe")).lines().map(|l| l.expect("reads"));
    assert!(said.any(|line| line.contains("waiting")));
    // Meanwhile the run is continued elsewhere, to its end.
    let end = Event::End(End { how: How::Finished, at: String::new() });
    killed.write(&(killed.text() + &serde_json::to_string(&end).expect("JSON") + "\n"));
    running.signal(Signal::KILL);
    running.finish();
    let said: Vec<String> = said.collect();
    assert!(said.join(" ").contains("is complete"), "{said:?}");
    assert_eq!(waiting.wait().expect("ends").code(), Some(2));
}

#[test]
fn a_run_that_is_being_written_is_neither_continued_nor_removed() {
    let place = Cli::directory();
    let cli = Cli::new();
    let mut running = cli.start(long(&place.path().to_string_lossy()));
    running.wait_for("plan");
    let name = cli.run_name();
    let removed = cli.run(["results", "rm", &name]);
    assert!(removed.code == 1 && removed.err.contains("is in use"), "{}", removed.err);
    running.signal(Signal::KILL);
    running.finish();
    fs::write(cli.store().join("rbad.jsonl"), "garbage").expect("writes");
    let removed = cli.run(["results", "rm", &name, "rbad", &name]);
    assert_eq!(removed.code, 0, "{}", removed.err);
    assert_eq!(cli.run(["results", "rm", &name]).code, 2);
}
