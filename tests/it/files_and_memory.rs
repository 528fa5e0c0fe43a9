//! smallfiles and pagecache: from records with known costs to the verdicts, and on the disk of the build.

use std::{collections::BTreeMap, fs, path::Path};

use crate::support::cli::{Cli, names, words};
use crate::support::faultfs::FaultFs;
use crate::support::modelled::{ask, carry_out, target};
use drivebench::{
    analyse::Rules,
    experiments::{PAGECACHE, Request, SMALLFILES},
    findings::{Findings, Metric, Quantity},
    inventory::Mount,
    plan::{AnyAct, FileSet, FileWork, Measure, Plan, ScratchFile, StepId},
    record::{ActResult, Event},
    report::{Format, Style, render},
    target::Target,
    units::{Direction, MIB},
};
use drivebench_modelled::sim::{Board, Model, Noise};
use rand::{Rng, SeedableRng};
use rand_distr::StandardNormal;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::process::Signal;

const GB: u64 = 1_000_000_000;

fn said(findings: &Findings) -> String {
    render(findings, Format::Text, Style::PLAIN, true)
}

fn asked() -> Request {
    ask(vec![target("A", 62 * GB, false)], Rules::standard(), 4096)
}

/// A stick: a file costs 8 ms to write and 2 ms to read, bytes move at 4 and 18 MB/s, a sync takes 60 ms.
fn truth(write: bool, set: FileSet) -> f64 {
    let (files, bytes) = (set.files as f64, set.bytes() as f64);
    if write { 0.06 + files * 8e-3 + bytes / 4e6 } else { files * 2e-3 + bytes / 18e6 }
}

/// The record of a run on that stick, each set within 4 % of its truth.
fn recorded(plan: &Plan, seed: u64) -> Vec<Event> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut events = vec![Event::Plan { plan: plan.clone() }];
    for (step, files) in plan.files() {
        let (write, set) = (files.work != FileWork::Read, files.set);
        let seconds = truth(write, set) * (1.0 + 0.04 * random.sample::<f64, _>(StandardNormal));
        let result = ActResult { seconds, bytes: set.bytes(), files: set.files, ..ActResult::default() };
        let at = String::new();
        events.push(Event::Act { step: step.id, target: Some(step.on[0]), at, result: Box::new(result) });
    }
    events
}

fn copying(mix: FileSet) -> Request {
    let mut asked = asked();
    asked.values.set("files", &mix.files.to_string());
    asked.values.set("size", &mix.size.to_string());
    asked
}

/// The acts of a record, changed.
fn changed(events: &[Event], change: impl Fn(StepId, &ActResult) -> ActResult) -> Vec<Event> {
    let one = |event: &Event| match event {
        Event::Act { step, target, at, result } => {
            let result = Box::new(change(*step, result));
            Event::Act { step: *step, target: *target, at: at.clone(), result }
        }
        other => other.clone(),
    };
    events.iter().map(one).collect()
}

#[test]
fn the_files_asked_for_are_measured_within_the_limits_and_less_is_said() {
    let mix = FileSet { files: 1500, size: 200_000 };
    let planned = |ask: &Request| {
        let plan = SMALLFILES.plan(ask).expect("plans");
        let most = plan.files().filter(|(_, f)| f.set.size == mix.size).map(|(_, f)| f.set.files).max();
        let text = words(&said(&SMALLFILES.findings(&mut recorded(&plan, 1).into_iter())));
        (most, text, plan)
    };
    let ask = copying(mix);
    let (files, text, plan) = planned(&ask);
    assert_eq!(files, Some(mix.files));
    assert!(text.contains("Writing 1,500 files of 200 kB, measured:"), "{text}");
    assert!(!text.contains("Fewer files than planned"), "{text}");
    assert!(plan.cost(0).seconds.expect("bounded") <= ask.effort.max_seconds * 1.001, "{:?}", plan.cost(0));

    let mut few = copying(mix);
    few.effort.max_bytes = 100 * 1000 * 1000;
    let (files, text, _) = planned(&few);
    // Each takes 49 clusters of 4 KiB.
    assert_eq!(files, Some(498));
    let cut = "Fewer files than planned were copied";
    assert!(text.contains(cut) && text.contains("200 kB, predicted:"), "{text}");

    let mut full = copying(mix);
    // 1 GiB stays free.
    full.targets[0].free = Some((1024 + 136) * MIB);
    let (files, text, _) = planned(&full);
    assert!(files.is_some_and(|files| files * mix.size <= 136 * MIB && files > 600), "{files:?}");
    assert!(text.contains(cut), "{text}");
}

#[test]
fn files_that_the_time_did_not_suffice_for_are_not_counted() {
    let mix = FileSet { files: 1500, size: 200_000 };
    let plan = SMALLFILES.plan(&copying(mix)).expect("plans");
    let of_mix = |step: StepId| plan.files().any(|(s, f)| s.id == step && f.set == mix);
    let half = changed(&recorded(&plan, 1), |step, result| match of_mix(step) {
        true => {
            let (files, bytes) = (result.files / 2, result.bytes / 2);
            ActResult { files, bytes, seconds: result.seconds / 2.0, ..result.clone() }
        }
        false => result.clone(),
    });
    let findings = SMALLFILES.findings(&mut half.into_iter());
    let text = words(&said(&findings));
    assert_eq!(text.matches("Fewer files than planned were copied").count(), 1, "{text}");
    assert!(text.contains("Writing 1,500 files of 200 kB, predicted:"), "{text}");
    let row = findings.tables[0].rows.iter().find(|row| row[1] == "195 KiB").expect("a row");
    assert_eq!((row[0].as_str(), row[2].as_str()), ("750", "-"), "{row:?}");
}

#[test]
fn a_prediction_from_scattered_copies_is_too_noisy_to_say() {
    let plan = SMALLFILES.plan(&asked()).expect("plans");
    let mut noisy_ones = 0;
    for seed in 0..20 {
        let random = std::cell::RefCell::new(Xoshiro256PlusPlus::seed_from_u64(seed));
        let scattered = changed(&recorded(&plan, seed), |_, result| {
            let factor = random.borrow_mut().sample::<f64, _>(StandardNormal).exp();
            ActResult { seconds: result.seconds * factor, ..result.clone() }
        });
        let text = words(&said(&SMALLFILES.findings(&mut scattered.into_iter())));
        for verb in ["Writing", "Reading"] {
            let noisy = format!("{verb} 20,000 files of 1.00 MB, predicted: too noisy to say");
            noisy_ones += usize::from(text.contains(&noisy));
            assert!(text.contains(&noisy) || text.contains("could not be determined"), "seed {seed}: {text}");
        }
        assert!(
            !text.contains("separate files take") || text.contains("longer (95 %"),
            "seed {seed}: {text}"
        );
    }
    assert!(noisy_ones > 0, "no prediction is too noisy");
}

#[test]
fn a_model_that_misses_what_was_measured_predicts_nothing() {
    let plan = SMALLFILES.plan(&asked()).expect("plans");
    let medium = |step: StepId| plan.files().any(|(s, f)| s.id == step && f.set.size == 65536);
    let other = changed(&recorded(&plan, 1), |step, result| match medium(step) {
        true => ActResult { seconds: result.seconds * 4.0, ..result.clone() },
        false => result.clone(),
    });
    let findings = SMALLFILES.findings(&mut other.into_iter());
    let text = words(&said(&findings));
    assert!(!text.contains("predicted:") && text.contains("could not be determined"), "{text}");
    assert!(findings.estimates.iter().all(|e| !e.label().ends_with("predicted")), "{text}");
    assert!(text.contains("name them, such as --files"), "{text}");
    // Of files of a size that was measured, the time follows from these.
    let mix = FileSet { files: 600, size: 200_000 };
    let mut asked = copying(mix);
    asked.effort.max_bytes = 64 * MIB;
    let plan = SMALLFILES.plan(&asked).expect("plans");
    let medium = |step: StepId| plan.files().any(|(s, f)| s.id == step && f.set.size == 65536);
    let other = changed(&recorded(&plan, 1), |step, result| match medium(step) {
        true => ActResult { seconds: result.seconds * 4.0, ..result.clone() },
        false => result.clone(),
    });
    let findings = SMALLFILES.findings(&mut other.into_iter());
    for (write, verb) in [(true, "write"), (false, "read")] {
        let name = format!("{verb} 600 files of 195 KiB, predicted");
        let predicted = findings.estimates.iter().find(|n| n.label() == name).expect("predicted");
        assert!((predicted.estimate.value / truth(write, mix) - 1.0).abs() < 0.1, "{predicted:?}");
    }
}

#[test]
fn a_mix_that_was_not_measured_is_predicted() {
    let mix = FileSet { files: 600, size: 200_000 };
    let mut asked = copying(mix);
    asked.effort.max_bytes = 64 * MIB;
    let plan = SMALLFILES.plan(&asked).expect("plans");
    let (mut near, mut held) = (0, 0);
    for seed in 0..100 {
        let findings = SMALLFILES.findings(&mut recorded(&plan, seed).into_iter());
        for (write, verb) in [(true, "write"), (false, "read")] {
            let name = format!("{verb} 600 files of 195 KiB, predicted");
            let predicted =
                &findings.estimates.iter().find(|n| n.label() == name).expect("predicted").estimate;
            let truth = truth(write, mix);
            near += usize::from((predicted.value / truth - 1.0).abs() < 0.1);
            held += usize::from(predicted.low <= truth && truth <= predicted.high);
        }
        if seed == 1 {
            insta::assert_snapshot!("mix", said(&findings));
            assert!(findings.figures.len() == 1 && findings.figures[0].curves.len() == 4);
        }
    }
    assert!(near == 200 && held >= 190, "{near} within 10 %, {held} intervals hold the truth, of 200");
}

#[test]
fn incomplete_sets_are_left_out() {
    let plan = SMALLFILES.plan(&asked()).expect("plans");
    let events = recorded(&plan, 1);
    let text = |events: &[Event]| said(&SMALLFILES.findings(&mut events.iter().cloned())).replace('\n', " ");
    let whole = text(&events);
    let findings = SMALLFILES.findings(&mut events.iter().cloned());
    assert!(findings.verdicts[0].contains("as one archive (tar)"), "the question first: {whole}");
    for keep in [0, 1, 2, 5, 9, 20] {
        let text = text(&events[..keep]);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{keep} events: {text}");
    }
    assert!(text(&events[..3]).contains("too little was measured"));
    let cut = changed(&events, |_, result| ActResult { cut_short: true, ..result.clone() });
    assert!(SMALLFILES.findings(&mut cut.into_iter()).tables.is_empty());
}

#[test]
fn smallfiles_is_bounded_and_needs_a_directory() {
    let plan = SMALLFILES.plan(&asked()).expect("plans");
    assert!(plan.cost(0).written < 300 * MIB, "{:?}", plan.cost(0));
    let says = |ask: &Request| SMALLFILES.plan(ask).expect_err("refused").to_string();
    let mut small = asked();
    small.effort.max_bytes = 4096;
    let least = |bytes| {
        let mut ask = asked();
        ask.effort.max_bytes = bytes;
        SMALLFILES.plan(&ask).is_ok()
    };
    assert_eq!([(68 << 10) - 1, 68 << 10].map(least), [false, true], "what is said to be the least");
    let mut full = asked();
    full.targets[0].free = Some(80 * MIB);
    let disk = ask(vec![target("disk", 500 * GB, true)], Rules::standard(), 4096);
    insta::assert_snapshot!([says(&small), says(&full), says(&disk)].join("\n"));
}

fn memory() -> Target {
    let mount = Mount { filesystem: "tmpfs".to_owned(), ..Mount::default() };
    Target {
        given: "/dev/shm".to_owned(),
        drives: Vec::new(),
        mount: Some(mount),
        ..target("shm", GB, false)
    }
}

/// The events with cached loads of the drive nine times as fast.
fn as_plain_dd(plan: &Plan, events: Vec<Event>) -> Vec<Event> {
    let cached = |step: StepId| {
        let of_drive = plan.step(step).is_some_and(|step| step.is_on(0));
        let cached = |m: &Measure| ["write cached", "read warm"].contains(&m.label.as_str());
        of_drive && plan.measure(step).is_some_and(cached)
    };
    let faster = |event| match event {
        Event::Outcome { step, target, zone, mut outcome, again } if cached(step) => {
            outcome.seconds /= 9.0;
            Event::Outcome { step, target, zone, outcome, again }
        }
        other => other,
    };
    events.into_iter().map(faster).collect()
}

#[test]
fn the_figure_of_a_plain_dd() {
    let noise = Noise { variation: 0.03, memory: 0.6, run: 0.01 };
    let stick = Model { noise, flush_seconds: 0.01, ..Model::flat(62 * GB, 22e6) };
    let plan = PAGECACHE.plan(&Request { memory: Some(memory()), ..asked() }).expect("plans");
    let board = Board { drives: vec![stick, Model::flat(GB, 8100e6)], buses: Vec::new(), seed: 3 };
    let events = carry_out(&plan, &board).expect("runs");
    let honest = said(&PAGECACHE.findings(&mut events.clone().into_iter()));
    assert!(honest.contains("no difference found"), "{honest}");
    let events = as_plain_dd(&plan, events);
    let findings = PAGECACHE.findings(&mut events.clone().into_iter());
    insta::assert_snapshot!("plain_dd", said(&findings));
    let multiple =
        findings.estimates.iter().find(|n| n.label() == "write cached as a multiple of the drive's");
    let multiple = &multiple.expect("a multiple").estimate;
    assert!(multiple.low < 9.0 && 9.0 < multiple.high, "{multiple:?}");
    for keep in [0, 1, 2, 3, 60, 200] {
        let text = said(&PAGECACHE.findings(&mut events[..keep].iter().cloned()));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{keep} events: {text}");
    }
}

#[test]
fn each_mode_of_pagecache_is_measured_for_a_second() {
    let board =
        Board { drives: vec![Model::flat(62 * GB, 2e9), Model::flat(GB, 3e9)], buses: Vec::new(), seed: 1 };
    let measured = |max_bytes: u64| {
        let mut ask = Request { memory: Some(memory()), ..asked() };
        ask.effort.max_bytes = max_bytes;
        let plan = PAGECACHE.plan(&ask).expect("plans");
        let events = carry_out(&plan, &board).expect("runs");
        let mut modes: BTreeMap<(u32, String), f64> = BTreeMap::new();
        let mut steps: BTreeMap<StepId, u64> = BTreeMap::new();
        for event in &events {
            if let Event::Outcome { step, target, outcome, .. } = event {
                let label = plan.measure(*step).expect("a load").label.clone();
                *modes.entry((*target, label)).or_default() += outcome.seconds;
                *steps.entry(*step).or_default() += outcome.bytes_read + outcome.bytes_written;
            }
        }
        let most = steps.into_values().max().expect("loads");
        (modes, most, words(&said(&PAGECACHE.findings(&mut events.into_iter()))))
    };
    let (modes, most, text) = measured(3 << 30);
    assert_eq!(modes.len(), 8);
    assert!(modes.values().all(|seconds| *seconds > 0.999), "{modes:?}");
    assert!(most <= 3 << 30, "{most}: {text}");
    let (modes, _, text) = measured(32 * MIB);
    for ((_, label), seconds) in &modes {
        let of_memory = label == "read warm";
        assert!(if of_memory { *seconds > 0.999 } else { *seconds < 0.2 }, "{label}: {seconds} s");
    }
    assert!(text.contains("32 MiB each, repeated"), "{text}");
}

#[test]
fn pagecache_says_the_least_that_it_moves() {
    let refused = |max_bytes| {
        let mut ask = ask(vec![target("A", 62 * GB, false)], Rules::standard(), MIB);
        ask.effort.max_bytes = max_bytes;
        PAGECACHE.plan(&ask).err().map(|e| e.to_string())
    };
    assert_eq!(
        refused(100_000).as_deref(),
        Some("--max-bytes 97.7 KiB is too little: at least 1 MiB is needed")
    );
    assert_eq!(refused(MIB), None);
}

#[test]
fn pagecache_fits_a_small_board() {
    let plan = PAGECACHE.plan(&Request { memory: Some(memory()), ..asked() }).expect("plans");
    let fits = |act: &AnyAct| act.get().is_none_or(|file: &ScratchFile| file.bytes <= 64 * MIB);
    assert!(plan.steps.iter().all(|step| fits(&step.act)) && plan.targets.len() == 2);
    let mut little = memory();
    little.free = Some(100 * MIB);
    let alone = PAGECACHE.plan(&Request { memory: Some(little), ..asked() }).expect("plans");
    assert_eq!(alone.targets.len(), 1, "no ceiling where memory is short");
    let disk = ask(vec![target("disk", 500 * GB, true)], Rules::standard(), 4096);
    assert_eq!(PAGECACHE.plan(&disk).expect("plans").cost(0).written, 0);
}

#[test]
fn both_run_on_a_disk_and_leave_nothing() {
    for (experiment, expected) in [("smallfiles", "read, cold"), ("pagecache", "dd would report")] {
        let (cli, place) = (Cli::new(), Cli::directory());
        let here = place.path().to_str().expect("UTF-8");
        let done = cli.run(["run", experiment, "--wait", "--max-bytes", "2M", here]);
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(
            done.out.replace('\n', " ").contains(expected)
                || done.out.replace('\n', " ").contains("could not be determined"),
            "{}",
            done.out
        );
        let short = done.out.replace(here, "DIR");
        assert!(short.lines().all(|l| l.chars().count() <= 80 || l.starts_with("  ")), "{short}");
        assert_eq!(names(place.path()), [""; 0]);
        let again = cli.run(["show", &cli.run_name()]);
        assert_eq!((again.code, again.out), (0, done.out));
    }
}

#[test]
fn files_of_a_suite_are_rows_of_its_table() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let suite = place.path().join("small.toml");
    let text = "name = 'small'\nabout = 'a'\nsource = 's'\nruns = 1\nfile = '1M'\n\
        [[loads]]\nrw = 'write'\nblock = '64k'\ndepth = 1\n\
        [[files]]\ncount = 40\nsize = '4k'\n";
    std::fs::write(&suite, text).expect("writes");
    let here = place.path().join("here");
    std::fs::create_dir(&here).expect("a directory");
    let ask = ["run", "baseline", "--wait", "--quick", "--max-bytes", "2800k", "--suite"].map(Path::new);
    let done = cli.run(ask.into_iter().chain([suite.as_path(), &here]));
    assert_eq!(done.code, 0, "{}", done.err);
    let row = done.out.lines().find(|line| line.starts_with("4 KiB files ")).expect("a row");
    // Bytes and files per second, read and written.
    assert_eq!(row.matches("/s").count(), 4, "{row}");
    assert_eq!(names(&here), [""; 0]);
    // All of them three times, and the file of the load.
    let shown = cli.run(["show", &cli.run_name(), "--format", "json"]);
    let found: Findings = serde_json::from_str(&shown.out).expect("JSON");
    for direction in [Direction::Read, Direction::Write] {
        let time = Quantity::FilesTime { direction, files: 40, size: 4096 };
        let of: Vec<&Metric> = found.estimates.iter().filter(|m| m.quantity == time).collect();
        assert!(matches!(of[..], [m] if m.estimate.value > 0.0 && m.estimate.is_bounded()), "{of:?}");
    }
    let spent = found.spent.expect("known");
    assert!(spent.written >= 3 * 40 * 4096 + (1 << 16) && spent.read >= 3 * 40 * 4096, "{spent:?}");
    // Files count with all the space that they take, and a set that --max-bytes has no room for is refused.
    let plan = |max: &str, count: u64, size: &str| {
        std::fs::write(
            &suite,
            text.replace("40", &count.to_string()).replace("size = '4k'", &format!("size = '{size}'")),
        )
        .expect("writes");
        let options = ["run", "baseline", "--plan", "--max-bytes", max, "--suite"].map(Path::new);
        cli.run(options.into_iter().chain([suite.as_path(), &here]))
    };
    let tiny = plan("40M", 100_000, "1");
    assert_eq!(tiny.code, 0, "{}", tiny.err);
    // Three times a seventh of it in clusters of 4 KiB, and the load.
    let most = tiny.out.split_once("at most ").and_then(|(_, rest)| rest.split_once(" MB written"));
    let most: f64 = most.and_then(|(number, _)| number.parse().ok()).expect("a number of bytes");
    assert!((20.0..42.0).contains(&most), "{}", tiny.out);
    let large = plan("10M", 1, "100M");
    assert_eq!(large.code, 2, "{}", large.out);
    // A file that is there is only read.
    let done = cli.run(["run", "baseline", "--wait", "--suite", "nas", "Cargo.toml"]);
    assert_eq!(done.code, 2, "{}", done.out);
}

#[test]
fn a_stopped_or_killed_smallfiles_is_cleaned_up() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let args = ["run", "smallfiles", "--wait", "--runs", "1000", place.path().to_str().expect("UTF-8")];
    for (signal, code) in [(Signal::INT, 130), (Signal::QUIT, 131)] {
        let mut running = cli.start(args);
        running.wait_for("act");
        running.signal(signal);
        assert_eq!(running.finish(), Some(code));
        assert_eq!(names(place.path()), [""; 0]);
    }

    let mut running = cli.start(args);
    running.wait_for("act");
    running.signal(Signal::KILL);
    assert_eq!(running.finish(), None);
    assert_eq!(names(place.path()).len(), 1, "what was killed couldn't clear up");
    let next = cli.run(["cleanup"]);
    assert!(next.out.contains(".files"), "{}", next.out);
    assert_eq!(names(place.path()), [""; 0]);
}

#[test]
fn a_directory_that_takes_the_place_of_the_scratch_directory_is_left_alone() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let target = place.path().join("target");
    fs::create_dir(&target).expect("creates");
    let mut running =
        cli.start(["run", "smallfiles", "--wait", "--runs", "1000", target.to_str().expect("UTF-8")]);
    running.wait_for("act");
    let [scratch] = &names(&target)[..] else { panic!("one directory") };
    let foreign = target.join(scratch);
    fs::rename(&target, place.path().join("away")).expect("moves");
    fs::create_dir_all(&foreign).expect("creates");
    (0..50).for_each(|n| fs::write(foreign.join(n.to_string()), "mine").expect("writes"));
    running.wait_for("act");
    running.signal(Signal::INT);
    assert_eq!(running.finish(), Some(130));
    assert_eq!(names(&foreign).len(), 50);
    assert_eq!(names(&place.path().join("away")), [""; 0], "its own files are removed where they are");
    let next = cli.run(["cleanup"]);
    assert_eq!((next.code, next.out.as_str()), (0, "Nothing to clean up.\n"));
    assert_eq!(names(&foreign).len(), 50);
}

#[test]
fn a_write_that_failed_is_not_said_to_have_run_out_of_time() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let target = place.path().to_str().expect("UTF-8");
    let mut running =
        cli.start(["run", "smallfiles", "--wait", "--runs", "1000", "--max-time", "10m", target]);
    running.wait_for("act");
    let [scratch] = &names(place.path())[..] else { panic!("one directory") };
    // Until no file was made in it between listing and removing it: no more can be, then.
    let removed = || match fs::remove_dir_all(place.path().join(scratch)) {
        Err(e) => e.kind() == std::io::ErrorKind::NotFound,
        Ok(()) => true,
    };
    while !removed() {}
    let (code, said) = running.finish_with_errors();
    assert_eq!(code, Some(1), "{said}");
    let record = cli.record();
    assert!(record.contains("can't be") && said.contains("can't be"), "{said}");
    assert!(!record.contains("the time was up"), "{record}");
}

#[test]
fn a_limit_of_file_sizes_ends_a_run_that_clears_up() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let (cli, place) = (Cli::new(), Cli::directory());
    let target = place.path().to_str().expect("UTF-8");
    let mut running = cli.start(["run", "smallfiles", "--wait", "--runs", "1000", target]);
    running.wait_for("act");
    let limit = Rlimit { current: Some(4096), maximum: Some(4096) };
    prlimit(Pid::from_raw(running.pid() as i32), Resource::Fsize, limit).expect("limits it");
    assert_eq!(running.finish(), Some(1));
    assert_eq!(names(place.path()), [""; 0]);
}

#[test]
fn a_filesystem_without_directories_is_refused_and_unchanged() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    let done = cli.run(["run", "smallfiles", "--wait", fs.path().to_str().expect("UTF-8")]);
    assert_eq!(done.code, 1, "{}", done.out);
    assert!(done.err.contains("can't create a directory in"), "{}", done.err);
    assert_eq!((names(fs.path()), names(&cli.store().join("journals"))), (vec![], vec![]));
}
