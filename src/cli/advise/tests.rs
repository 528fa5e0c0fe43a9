//! The output at 80 columns, and properties of all answers for any machine and evidence.

use std::sync::OnceLock;

use clap::Parser;
use proptest::prelude::*;

use super::{
    gather::{self, Gathered},
    layout,
};
use crate::{
    advise::{
        Answer, Evidence, Sure, Topic,
        testing::{
            alone, at_once, card_and_flash, drive, fit, four_sticks, load, metric, of, two_sticks,
            two_with_all_loads, within,
        },
    },
    analyse::{Estimate, Rules},
    cli::args::{Args, Command},
    experiments::{
        BASELINE, BAYS, Effort, Experiment, LoadName, PAGECACHE, REGISTER, Request, SIZES, SMALLFILES,
        TOGETHER, Values,
    },
    findings::{
        BootPart, Carrier, CarrierDrive, Findings, LoadKey, Measures, Metric, Origin, Quantity, Reference,
        Scope,
        fitness::{KeptData, Use, Verdict},
    },
    import,
    inventory::{Inventory, fixtures},
    plan::{FileWork, StepId},
    record::{ActResult, End, Event, How, ImportOptions, Log, SCHEMA, Start, Store, Summary},
    report::Style,
    target::{Kind, Target},
    units::{Direction, Ended, EngineInfo, Histogram, Outcome, Window},
};

/// Lines of a small terminal, without the prompt.
const SCREEN: usize = 24;

/// Answers with commands for the usual store.
fn advise(inventory: &Inventory, evidence: &[Evidence]) -> Vec<Answer> {
    let mut answers = crate::advise::advise(inventory, evidence);
    super::with_commands(&mut answers, |line| format!("drivebench {line}"));
    answers
}

fn shown(inventory: &Inventory, evidence: &[Evidence], full: bool) -> String {
    let mut runs: Vec<&str> = evidence.iter().map(|e| e.run.as_str()).collect();
    runs.dedup();
    let gathered = Gathered {
        evidence: evidence.to_vec(),
        runs_kept: runs.len(),
        runs_read: runs.len(),
        ..Gathered::default()
    };
    let (answers, more) = (advise(inventory, evidence), "drivebench advise --full");
    let text = layout::text(inventory, &gathered, &answers, full, more, Style::PLAIN);
    for line in text.lines() {
        assert!(line.chars().count() <= 80 || line.starts_with("  drivebench "), "{line}");
    }
    text
}

#[test]
fn four_sticks_and_no_runs() {
    let text = shown(&fixtures::pi_zero().inventory(), &[], false);
    assert!(text.lines().count() <= SCREEN, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn four_sticks_measured_alone() {
    let (inventory, evidence) = four_sticks();
    insta::assert_snapshot!(shown(&inventory, &evidence, true));
}

#[test]
fn two_sticks_behind_ethernet_of_100_megabits() {
    let (inventory, evidence) = two_sticks();
    let text = shown(&inventory, &evidence, false);
    assert!(text.lines().count() <= SCREEN, "{text}");
    insta::assert_snapshot!(text);
    insta::assert_snapshot!("two_sticks_in_full", shown(&inventory, &evidence, true));
}

#[test]
fn two_sticks_with_all_loads() {
    let (inventory, evidence) = two_with_all_loads();
    let text = shown(&inventory, &evidence, false);
    assert!(text.lines().count() <= SCREEN, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_card_and_usb_flash() {
    let (inventory, evidence) = card_and_flash();
    insta::assert_snapshot!(shown(&inventory, &evidence, true));
}

#[test]
fn no_drives() {
    insta::assert_snapshot!(shown(&Inventory::default(), &[], false));
}

#[test]
fn machines_without_runs() {
    let all = ["pi_5", "pc", "server"].map(|name| {
        let (_, tree) = fixtures::ALL.iter().find(|(known, _)| *known == name).expect("a tree");
        format!("{name}\n{}", shown(&tree().inventory(), &[], false))
    });
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn other_forms() {
    let (inventory, evidence) = two_sticks();
    let answers = advise(&inventory, &evidence);
    let gathered = Gathered { unreadable: vec!["record x can't be read".to_owned()], ..Gathered::default() };
    let json = serde_json::to_string_pretty(&super::document(&gathered, &answers[..2])).expect("JSON");
    insta::assert_snapshot!("json", json);
}

#[test]
fn every_key_of_the_json_is_documented() {
    const DOCS: &str = include_str!("../../../docs/reference/advise.md");
    let (inventory, evidence) = two_sticks();
    let answers = advise(&inventory, &evidence);
    let document = serde_json::to_value(super::document(&Gathered::default(), &answers)).expect("JSON");
    let chapter = DOCS.split("## JSON").nth(1).expect("a chapter");
    let keys =
        |value: &serde_json::Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    for key in keys(&document).into_iter().filter(|key| key != "answers" && key != "unreadable") {
        assert!(chapter.contains(&format!("`{key}`")), "{key}");
    }
    for key in keys(&document["answers"][0]) {
        assert!(
            chapter.contains(&format!("`answers[].{key}`"))
                || chapter.contains(&format!("`answers[].{key}[]`")),
            "{key}"
        );
    }
}

/// All trees, read once.
fn machines() -> &'static [Inventory] {
    static MACHINES: OnceLock<Vec<Inventory>> = OnceLock::new();
    MACHINES.get_or_init(|| {
        let trees = fixtures::ALL.iter().map(|(_, tree)| tree().inventory());
        let seeds = [two_sticks().0, card_and_flash().0, Inventory::default()];
        trees.chain(seeds).collect()
    })
}

/// A measurement on a machine: drives, load and result.
#[derive(Debug, Clone)]
struct Measured {
    drives: (usize, usize),
    kind: u8,
    value: f64,
    half: Option<f64>,
    longest: f64,
    year: u16,
    elsewhere: bool,
    modelled: bool,
}

fn measured() -> impl Strategy<Value = Measured> {
    let value = prop_oneof![Just(0.0), 0.001..20.0, 20.0..3000.0f64];
    let half = prop_oneof![Just(None), (0.0..0.5f64).prop_map(Some)];
    (any::<(usize, usize)>(), 0u8..8, value, half, 0.0001..30.0f64, 2020u16..2027, any::<(bool, bool)>())
        .prop_map(|(drives, kind, value, half, longest, year, (elsewhere, modelled))| Measured {
            drives,
            kind,
            value,
            half,
            longest,
            year,
            elsewhere,
            modelled,
        })
}

fn evidence(inventory: &Inventory, n: usize, m: &Measured) -> Option<Evidence> {
    let names: Vec<&str> = inventory.drives.iter().map(|d| d.name.as_str()).collect();
    let one = names.get(m.drives.0.checked_rem(names.len())?)?;
    let two = names.get(m.drives.1.checked_rem(names.len())?)?;
    let run = format!("r{n}x");
    let value = m.half.map_or_else(
        || Estimate { low: 0.0, high: f64::INFINITY, converged: false, ..within(m.value, 0.0) },
        |half| within(m.value, half),
    );
    let reads = m.kind % 2 == 0;
    let mut evidence = match m.kind {
        0..4 => alone(inventory, &run, one, load(reads, 4096 << (m.kind / 2 * 8), 1), value, Some(m.longest)),
        4..6 => at_once(inventory, &run, &[one, two], load(reads, 1 << 20, 1), value, m.value * 1.2),
        6 => {
            let mut random =
                alone(inventory, &run, one, load(m.longest > 1.0, 4096, 1), value, Some(m.longest));
            random.load.iter_mut().for_each(|l| l.pattern = Some(crate::units::Pattern::Random));
            random
        }
        _ => Evidence { numbers: vec![metric(Quantity::WakeTime, value)], ..of(inventory, &run, &[one]) },
    };
    evidence.at = format!("{}-05-01T10:00:00Z", m.year);
    evidence.modelled = m.modelled;
    if m.elsewhere {
        evidence.board = Some("Raspberry Pi 4 Model B".to_owned());
    }
    Some(evidence)
}

/// Units, and nouns that are counted.
const UNITS: [&str; 23] = [
    "B", "kB", "KiB", "MB", "MiB", "GiB", "GB", "TB", "MB/s", "MiB/s", "Mb/s", "s", "ms", "µs", "ns", "%",
    "times", "drive", "drives", "mA", "V", "A", "IOPS",
];

/// A number without a unit beside it, where there is one.
fn naked(inventory: &Inventory, text: &str) -> Option<String> {
    let mut text = text.to_owned();
    // Names of drives, ports and boards are not figures.
    let mut names: Vec<String> =
        inventory.drives.iter().flat_map(|d| [d.label()].into_iter().chain(d.model.clone())).collect();
    names.extend(inventory.machine.board.clone());
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    for name in names {
        text = text.replace(&name, "NAME");
    }
    for known in ["Raspberry Pi 4", "depth 1", "USB 3", "RAID 1"] {
        text = text.replace(known, "NAME");
    }
    let words: Vec<&str> =
        text.split_whitespace().map(|w| w.trim_matches(['(', ')', ',', '.', ';', ':', '`'])).collect();
    let number =
        |word: &str| word.chars().next().is_some_and(|c| c.is_ascii_digit()) && word.parse::<f64>().is_ok();
    let (mut i, mut bad) = (0, None);
    while i < words.len() {
        let place = i > 0 && ["bay", "bays", "hub", "ports", "depth"].contains(&words[i - 1]);
        if number(words[i]) && !place {
            // `17.5 to 18.0 s`
            let unit = match &words[i + 1..] {
                ["to", other, unit, ..] if number(other) => Some(unit),
                [unit, ..] => Some(unit),
                [] => None,
            };
            if !unit.is_some_and(|unit| UNITS.contains(unit)) {
                bad = Some(words[i.saturating_sub(2)..(i + 3).min(words.len())].join(" "));
            }
        }
        i += 1;
    }
    bad
}

/// Splits a line as a shell does, as far as commands here need it.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words
}

fn check(inventory: &Inventory, evidence: &[Evidence], answer: &Answer) {
    assert!(!answer.rests_on.is_empty() || answer.sure != Sure::Measured, "{answer:?}");
    for run in &answer.rests_on {
        let own: Vec<&Evidence> = evidence.iter().filter(|e| e.run == *run).collect();
        assert!(!own.is_empty(), "{run} is no evidence: {answer:?}");
        assert!(inventory.machine.lab.is_some() || own.iter().all(|e| !e.modelled), "a model: {answer:?}");
    }
    for text in answer.because.iter().chain([&answer.says]) {
        assert_eq!(naked(inventory, text), None, "a number without its unit in {text:?}");
        assert!(text.ends_with(['.', '!']), "no sentence: {text:?}");
        assert!(!text.contains("NaN") && !text.contains("inf "), "{text:?}");
    }
    if let Some(command) = &answer.decide {
        let args = Args::try_parse_from(split(command)).unwrap_or_else(|e| panic!("{command}: {e}"));
        assert!(matches!(args.command, Command::Run(_)), "{command}");
        for target in split(command).iter().filter(|word| word.starts_with('/')) {
            let mounted = inventory.mounts.iter().any(|m| m.path == *target);
            assert!(mounted || inventory.block_at_path(target).is_some(), "{target} is not here: {command}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_hold_for_any_machine_and_evidence(which in any::<usize>(), all in prop::collection::vec(measured(), 0..14), lab in any::<bool>()) {
        let mut inventory = machines()[which % machines().len()].clone();
        inventory.machine.lab = lab.then(|| "pi-zero".to_owned());
        let evidence: Vec<Evidence> = all.iter().enumerate().filter_map(|(n, m)| evidence(&inventory, n, m)).collect();
        let answers = advise(&inventory, &evidence);
        let has_drives = inventory.drives.iter().any(|d| d.sectors > 0 && !d.is_for_tests());
        let topics = if has_drives { 7 } else { 1 };
        prop_assert!(answers.len() >= topics);
        answers.iter().for_each(|answer| check(&inventory, &evidence, answer));
        shown(&inventory, &evidence, false);
        shown(&inventory, &evidence, true);
    }
}

#[test]
fn a_number_without_a_unit_would_be_found() {
    let none = Inventory::default();
    assert_eq!(naked(&none, "It reads 12.5 from here."), Some("It reads 12.5 from here".to_owned()));
    assert_eq!(naked(&none, "It reads 12.5 MB/s in bay 1.2, 3 to 4 s."), None);
    assert_eq!(
        split("drivebench run baseline '/mnt/my photos' /b"),
        ["drivebench", "run", "baseline", "/mnt/my photos", "/b"]
    );
}

/// A run of an experiment on drives that move bytes at these speeds, MB/s, as a record would hold it; writes stop once.
fn keep(
    store: &Store,
    inventory: &Inventory,
    experiment: &Experiment,
    drives: &[(&str, [f64; 2])],
    year: u16,
) -> String {
    keep_loads(store, inventory, experiment, drives, year, None)
}

/// Some other factor near 1 for each step.
fn noise(step: StepId) -> f64 {
    1.0 + f64::from(step.0 * 7 % 5) / 200.0
}

/// The same, with these loads in blocks of 4 KiB instead of its own.
fn keep_loads(
    store: &Store,
    inventory: &Inventory,
    experiment: &Experiment,
    drives: &[(&str, [f64; 2])],
    year: u16,
    loads: Option<Vec<LoadName>>,
) -> String {
    let target = |(name, _): &(&str, [f64; 2])| Target {
        given: format!("/mnt/{name}"),
        kind: Kind::Directory,
        path: format!("/mnt/{name}").into(),
        drives: vec![drive(inventory, name).clone()],
        layers: Vec::new(),
        pool: None,
        mount: None,
        filesystem_id: None,
        device: None,
        free: None,
        capacity: None,
        size: None,
        read_only: None,
        uses: Vec::new(),
        direct_alignment: 512,
    };
    let ask = Request::new(experiment, drives.iter().map(target).collect(), Values::default())
        .expect("no protocol");
    let effort = Effort { rules: Rules::standard(), max_bytes: 256 << 20, max_seconds: 600.0 };
    let block = if loads.is_some() { 4096 } else { 1 << 20 };
    let ask = Request { block, loads, effort, ..ask };
    let plan = experiment.plan(&ask).expect("a plan");
    let start = |run| Start {
        schema: SCHEMA,
        run,
        at: format!("{year}-05-01T10:00:00Z"),
        version: "0.1.0".to_owned(),
        command: vec!["drivebench".to_owned()],
        experiment: experiment.name.to_owned(),
        targets: ask.targets.iter().map(Target::label).collect(),
        host: Default::default(),
        inventory: inventory.clone(),
    };
    let (run, mut writer) = store.create(start).expect("a record");
    let mut events = vec![Event::Plan { plan: plan.clone() }];
    // `sizes` has hundreds of short measurements, and rounds are many.
    let windows = match plan.measures().count() {
        0..40 => 128,
        40..200 => 16,
        _ => 4,
    };
    for (step, m) in plan.measures() {
        let (step, on) = (step.id, step.on.clone());
        let engine = EngineInfo { name: "psync".to_owned(), detail: None, modelled: false };
        events.push(Event::Step { step, engine, at: String::new(), instead: None });
        let arrangement = plan.arrangements().map(|(_, a)| a).find(|a| a.number == m.repetition);
        for target in on {
            let [write, read] = drives[target as usize].1;
            // In the last bay every drive is slower.
            let first = plan.arrangements().next().and_then(|(_, a)| a.bays.last());
            let slow = arrangement.is_some_and(|a| a.bays.get(target as usize) == first);
            let noise = if arrangement.is_some() { noise(step) } else { 1.0 };
            let speed =
                noise * 1e6 * if m.load.writes() { write } else { read } * if slow { 0.5 } else { 1.0 };
            let (mut seconds, mut bytes) = (0.0, 0);
            for n in 0..windows {
                // Real repetitions are never equal.
                let took = ((1 << 20) as f64 / speed * if n % 2 == 0 { 0.99 } else { 1.01 } * 1e9) as u64;
                let stops = if n == windows - 2 && windows > 4 && m.repetition == 1 && m.load.writes() {
                    300_000_000
                } else {
                    0
                };
                let from = (seconds * 1e9) as u64;
                let latency = Histogram::of(&mut [took + stops]);
                let window = Window {
                    from_ns: from,
                    to_ns: from + took + stops,
                    bytes: 1 << 20,
                    ops: 1,
                    latency,
                    ..Window::default()
                };
                seconds += window.seconds();
                bytes += window.bytes;
                events.push(Event::Window { step, target, zone: None, window });
            }
            let (bytes_read, bytes_written) = if m.load.writes() { (0, bytes) } else { (bytes, 0) };
            let outcome = Outcome {
                ended: Ended::Finished,
                bytes_read,
                bytes_written,
                ops: windows,
                seconds,
                fsync_seconds: 0.0,
            };
            events.push(Event::Outcome { step, target, zone: None, outcome, again: None });
        }
    }
    for (step, files) in plan.files() {
        for target in &step.on {
            let speeds = drives[*target as usize].1;
            let (set, write) = (files.set, files.work != FileWork::Read);
            let noise = noise(step.id);
            // A drive that writes 4 MB/s takes 10 ms for a file.
            let each = set.files as f64 * 0.04 / speeds[0];
            let seconds = noise * (0.01 + each + set.bytes() as f64 / (1e6 * speeds[usize::from(!write)]));
            let result = ActResult { seconds, bytes: set.bytes(), files: set.files, ..ActResult::default() };
            let (target, at) = (Some(*target), String::new());
            events.push(Event::Act { step: step.id, target, at, result: Box::new(result) });
        }
    }
    events.push(Event::End(End { how: How::Finished, at: format!("{year}-05-01T10:10:00Z") }));
    events.iter().for_each(|event| writer.append(event).expect("is written"));
    run
}

fn store() -> (tempfile::TempDir, Store) {
    let home = tempfile::tempdir().expect("a directory");
    let store = Store::at(home.path().to_owned());
    (home, store)
}

#[test]
fn records_become_evidence() {
    let inventory = fixtures::pi_zero().inventory();
    let (_home, store) = store();
    let alone = keep(&store, &inventory, &BASELINE, &[("sda", [4.0, 8.0]), ("sdc", [3.0, 7.0])], 2026);
    let both = keep(&store, &inventory, &TOGETHER, &[("sda", [4.0, 8.0]), ("sdc", [3.0, 7.0])], 2026);
    let gathered = gather::gather(&store, &inventory).expect("gathers");
    assert_eq!((gathered.runs_kept, gathered.runs_read, &gathered.unreadable[..]), (2, 2, &[][..]));
    let of = |run: &str| gathered.evidence.iter().filter(|e| e.run == run).collect::<Vec<_>>();
    let told: Vec<String> = of(&alone)
        .iter()
        .filter(|e| e.load.is_some())
        .map(|e| {
            let load = e.load.as_ref().expect("a load").describe();
            let names: Vec<String> = e.numbers.iter().map(Metric::label).collect();
            format!("{} {load}: {}", e.target, names.join(", "))
        })
        .collect();
    insta::assert_snapshot!("evidence", told.join("\n"));
    let sums: Vec<&Evidence> = of(&both).into_iter().filter(|e| e.at_once).collect();
    assert_eq!(sums.len(), 2, "a write and a read");
    for sum in sums {
        assert_eq!(sum.drives.len(), 2);
        assert!(sum.numbers.iter().any(|n| n.scope == Scope::Sum), "{sum:?}");
        assert!(sum.numbers.iter().any(|n| matches!(n.quantity, Quantity::Ceiling(_))), "{sum:?}");
    }
    let answers = advise(&inventory, &gathered.evidence);
    let data = answers.iter().find(|a| a.topic == Topic::Data).expect("an answer");
    assert!(data.says.contains("no large write took longer than 560 ms"), "{data:?}");
    let swap = answers.iter().find(|a| a.topic == Topic::Swap).expect("an answer");
    let unfit = swap.because.iter().filter(|why| why.contains("is not fit for swap: random writes")).count();
    assert_eq!((unfit, &swap.rests_on[..]), (2, &[alone][..]), "{swap:?}");
    answers.iter().for_each(|answer| check(&inventory, &gathered.evidence, answer));
}

/// The answer about data, from all that the store holds.
fn data(store: &Store, inventory: &Inventory) -> Answer {
    let gathered = gather::gather(store, inventory).expect("gathers");
    let answers = advise(inventory, &gathered.evidence);
    answers.iter().for_each(|answer| check(inventory, &gathered.evidence, answer));
    answers.into_iter().find(|a| a.topic == Topic::Data).expect("an answer")
}

#[test]
fn sizes_and_pagecache_answer_where_large_blocks_are_not_measured_otherwise() {
    let inventory = fixtures::pi_zero().inventory();
    for experiment in [&SIZES, &PAGECACHE] {
        let (_home, store) = store();
        assert_eq!(data(&store, &inventory).sure, Sure::Unknown);
        let run = keep(&store, &inventory, experiment, &[("sda", [4.0, 8.0]), ("sdc", [6.0, 7.0])], 2026);
        let answer = data(&store, &inventory);
        assert!(
            answer.says.starts_with("Keep data on Cruzer Blade in bay 1.2: 62.0 GB, writes "),
            "{answer:?}"
        );
        assert_eq!(
            (answer.sure, &answer.loads[..]),
            (Sure::Measured, &["sequential 1 MiB, depth 1".to_owned()][..])
        );
        assert_eq!(answer.rests_on, [run]);
        assert!(
            answer.because.iter().any(|why| why == "Stalls of its writes are not measured."),
            "{answer:?}"
        );
        // A run with latencies comes first, whichever was last.
        let long = keep(&store, &inventory, &BASELINE, &[("sda", [5.0, 8.0]), ("sdc", [3.0, 7.0])], 2020);
        let answer = data(&store, &inventory);
        assert!(answer.says.contains("Keep data on Cruzer Blade in bay 1.1"), "{answer:?}");
        assert_eq!(answer.rests_on, [long]);
    }
}

#[test]
fn smallfiles_and_bays_change_the_answers() {
    let inventory = fixtures::pi_zero().inventory();
    let (_home, store) = store();
    let drives = [("sda", [4.0, 8.0]), ("sdc", [3.0, 7.0]), ("sdd", [3.5, 9.0])];
    keep(&store, &inventory, &BASELINE, &drives, 2026);
    let swapped = [("sda", [1.0, 8.0]), ("sdc", [4.0, 7.0]), ("sdd", [1.0, 7.0])];
    keep(&store, &inventory, &SMALLFILES, &swapped, 2026);
    let answer = data(&store, &inventory);
    let files = "Writing a small file to Cruzer Blade in bay 1.1 takes ";
    assert!(answer.says.contains("Keep data on Cruzer Blade in bay 1.1"), "{answer:?}");
    assert!(answer.because.iter().any(|why| why.starts_with(files)), "{answer:?}");
    let bays = keep(&store, &inventory, &BAYS, &drives, 2026);
    let gathered = gather::gather(&store, &inventory).expect("gathers");
    let answers = advise(&inventory, &gathered.evidence);
    let empty = answers.iter().find(|a| a.topic == Topic::Money && a.rests_on == [bays.clone()]);
    assert!(empty.is_some_and(|a| a.says.starts_with("No cost: leave bay ")), "{answers:?}");
}

#[test]
fn an_import_with_a_serial_changes_the_answer() {
    let inventory = fixtures::pi_zero().inventory();
    let keep = |store: &Store, drive: &str| {
        let said = ImportOptions { drive: Some(drive.to_owned()), ..ImportOptions::default() };
        let log = include_bytes!("../../../tests/fixtures/import/dd-loop.txt");
        let imported = import::read(log, &said).expect("a result");
        let start = |run| Start {
            schema: SCHEMA,
            run,
            at: "2026-05-01T10:00:00Z".to_owned(),
            version: "0.1.0".to_owned(),
            command: Vec::new(),
            experiment: import::EXPERIMENT.to_owned(),
            targets: vec![format!("dd-loop.txt ({drive})")],
            host: Default::default(),
            inventory: Inventory::default(),
        };
        let (run, mut writer) = store.create(start).expect("a record");
        let end = Event::End(End { how: How::Finished, at: String::new() });
        let events = [Event::Imported(Box::new(imported)), end];
        events.iter().for_each(|event| writer.append(event).expect("is written"));
        run
    };
    let (_home, store) = store();
    keep(&store, "another");
    assert_eq!(data(&store, &inventory).sure, Sure::Unknown);
    let serial = drive(&inventory, "sdc").unique_id().expect("a serial");
    let run = keep(&store, serial);
    let answer = data(&store, &inventory);
    assert!(answer.says.starts_with("Keep data on Cruzer Blade in bay 1.2: 62.0 GB, writes "), "{answer:?}");
    assert_eq!((answer.sure, answer.rests_on), (Sure::Inferred, vec![run]));
}

#[test]
fn runs_with_other_blocks_do_not_hide_the_one_that_fits() {
    let inventory = fixtures::pi_zero().inventory();
    let (_home, store) = store();
    let fits = keep(&store, &inventory, &BASELINE, &[("sda", [4.0, 8.0]), ("sdc", [3.0, 7.0])], 2020);
    for year in 2021..2026 {
        let loads = Some(vec![LoadName::Write, LoadName::Read, LoadName::RandWrite]);
        keep_loads(&store, &inventory, &BASELINE, &[("sda", [1.0, 8.0]), ("sdc", [3.0, 7.0])], year, loads);
    }
    let answer = data(&store, &inventory);
    assert!(answer.says.contains("Keep data on Cruzer Blade in bay 1.1"), "{answer:?}");
    assert_eq!(answer.rests_on, [fits]);
}

#[test]
fn unreadable_records_are_named_and_left_out() {
    let inventory = fixtures::pi_zero().inventory();
    let (_home, store) = store();
    let good = keep(&store, &inventory, &BASELINE, &[("sda", [4.0, 8.0])], 2026);
    let cut = keep(&store, &inventory, &BASELINE, &[("sdc", [4.0, 8.0])], 2026);
    let path = store.dir().join(format!("{cut}.jsonl"));
    let text = std::fs::read_to_string(&path).expect("reads");
    std::fs::write(&path, &text[..text.len() / 2]).expect("cuts");
    std::fs::write(store.dir().join("rbad.jsonl"), "no record\n").expect("writes");
    let gathered = gather::gather(&store, &inventory).expect("gathers");
    assert_eq!(gathered.unreadable.len(), 1, "{:?}", gathered.unreadable);
    assert!(gathered.unreadable[0].contains("rbad.jsonl"), "{:?}", gathered.unreadable);
    assert!(gathered.evidence.iter().any(|e| e.run == good), "the whole one counts");
}

#[test]
fn runs_that_ended_early_give_their_whole_loads() {
    let inventory = fixtures::pi_zero().inventory();
    let (_home, store) = store();
    let good = keep(&store, &inventory, &BASELINE, &[("sda", [4.0, 8.0])], 2025);
    for end in [None, Some(How::Interrupted), Some(How::Failed("it was pulled".to_owned()))] {
        let open = keep(&store, &inventory, &BASELINE, &[("sda", [400.0, 800.0])], 2026);
        let path = store.dir().join(format!("{open}.jsonl"));
        let text = std::fs::read_to_string(&path).expect("reads");
        // The last load has no outcome.
        let last = text.rfind("\"outcome\"").expect("an outcome");
        let rest = text[..last].rsplit_once('\n').expect("lines").0;
        let end = end.map(|how| Event::End(End { how, at: String::new() }));
        let end = end.map(|end| serde_json::to_string(&end).expect("JSON") + "\n").unwrap_or_default();
        std::fs::write(&path, format!("{rest}\n{end}")).expect("writes");
    }
    let gathered = gather::gather(&store, &inventory).expect("gathers");
    let head = layout::text(&inventory, &gathered, &[], false, "", Style { width: 120, ..Style::PLAIN });
    assert!(head.contains("4 of 4 saved runs read, 3 not finished"), "{head}");
    assert_eq!((gathered.runs_kept, gathered.runs_read, gathered.runs_unfinished), (4, 4, 3));
    let mut loads: std::collections::BTreeMap<&str, Vec<_>> = Default::default();
    for e in gathered.evidence.iter().filter(|e| e.load.is_some()) {
        loads.entry(&e.run).or_default().push(e.load.as_ref().map(|load| load.name.clone()));
    }
    let (all, last) = (loads.remove(good.as_str()).expect("its loads"), loads.len());
    assert_eq!(last, 3, "{loads:?}");
    for (run, whole) in loads {
        assert!(
            whole.len() + 1 == all.len() && whole.iter().all(|load| all.contains(load)),
            "{run}: {whole:?}"
        );
    }
}

#[test]
fn commands_name_the_store_that_was_read() {
    let inventory = fixtures::pi_zero().inventory();
    let (home, store) = store();
    let mut answers = crate::advise::advise(&inventory, &[]);
    super::with_commands(&mut answers, |line| crate::cli::stored::command(&store, line));
    let dir = home.path().display();
    let decide: Vec<&str> = answers.iter().filter_map(|a| a.decide.as_deref()).collect();
    assert!(
        !decide.is_empty() && decide.iter().all(|d| d.ends_with(&format!(" --store {dir}"))),
        "{decide:?}"
    );
    decide.iter().for_each(|line| assert!(Args::try_parse_from(split(line)).is_ok(), "{line}"));
}

/// What a run of an experiment found on two drives, and the answer in which that shows up. Whoever adds an experiment decides this.
fn decision(experiment: &str) -> (Topic, Findings) {
    let speed = |target: &str, scope: Scope, load: LoadKey| {
        Metric::new(target, Quantity::Throughput, within(20e6, 0.05)).of(&load).at(scope)
    };
    let number = |quantity| Metric::new("sda", quantity, within(3.0, 0.01));
    let (write, read) = (load(false, 1 << 20, 1), load(true, 1 << 20, 1));
    let at_once = || {
        let each = ["sda", "sdb"].map(|drive| speed(drive, Scope::Together, write.clone()));
        let sums = [Scope::Sum, Scope::SumAlone].map(|scope| speed("all", scope, write.clone()));
        [each, sums].concat()
    };
    let mut found = Findings::default();
    let kept = Measures { kept: Some(KeptData { lost_bytes: 4096, wrong_reads: 0 }), ..Measures::default() };
    let topic = match experiment {
        "baseline" | "sizes" | "pagecache" => {
            found.estimates = vec![speed("sda", Scope::Whole, write)];
            Topic::Data
        }
        "cliff" => {
            found.estimates = vec![speed("sda", Scope::AfterCliff(None), write)];
            Topic::Data
        }
        "smallfiles" => {
            found.estimates = vec![number(Quantity::CostPerFile(Direction::Write))];
            Topic::Data
        }
        "power" | "pull" | "capacity" | "accept" => {
            found.judge("sda", kept, &[Use::Safekeeping]);
            Topic::Data
        }
        "together" | "layouts" => {
            found.evidence = at_once();
            Topic::Limits
        }
        "share" => {
            let client = |load: LoadKey| speed("sda", Scope::Client, load);
            found.estimates = vec![client(write), client(read)];
            Topic::Limits
        }
        "bays" => {
            let slow = within(0.5, 0.01);
            let quantity = Quantity::RelativeSpeed(Reference::Other);
            found.evidence = vec![Metric::new("bay 1.3", quantity, slow).of(&read)];
            Topic::Money
        }
        "spinup" => {
            found.estimates = vec![number(Quantity::WakeTime)];
            Topic::Swap
        }
        "swap" => {
            found.estimates = vec![number(Quantity::MemoryUsed)];
            Topic::Swap
        }
        "boot" => {
            let time = |scope| number(Quantity::BootTime(BootPart::Whole)).at(scope);
            found.estimates = vec![time(Scope::OverBoots), time(Scope::BesideThis)];
            Topic::Boot
        }
        other => panic!("in which answer of advise does the result of {other} show up?"),
    };
    (topic, found)
}

#[test]
fn the_decisions_of_each_experiment_reach_advice() {
    let (inventory, _) = two_sticks();
    let system = drive(&inventory, "mmcblk0").identity();
    let fit = fit(&inventory, "r1", "sda", Use::Swap, Verdict::Fit);
    let write = alone(&inventory, "r1", "sda", load(false, 1 << 20, 1), within(9.0, 0.05), None);
    for experiment in REGISTER {
        let (topic, found) = decision(experiment.name);
        let carrier = |name: &str| Carrier {
            target: name.to_owned(),
            drives: vec![CarrierDrive {
                // The machine boots from its card.
                identity: if topic == Topic::Boot {
                    system.clone()
                } else {
                    drive(&inventory, name).identity()
                },
                ..CarrierDrive::default()
            }],
            ..Carrier::default()
        };
        let origin = Origin { carriers: ["sda", "sdb"].map(carrier).to_vec(), ..found.origin.clone() };
        let board = inventory.machine.board.clone();
        let origin = Origin { at: "2026-11-22T10:00:00Z".to_owned(), board, ..origin };
        let (run, name) = ("new".to_owned(), experiment.name.to_owned());
        let own = Evidence::of(&Findings { run, experiment: name, origin, ..found });
        // What it adds to what a baseline of one drive found.
        let known = match experiment.name {
            "baseline" | "sizes" | "pagecache" | "cliff" => vec![fit.clone()],
            _ => vec![fit.clone(), write.clone()],
        };
        let answers = advise(&inventory, &[known, own].concat());
        let rests = answers.iter().filter(|a| a.rests_on.contains(&"new".to_owned()));
        let topics: Vec<Topic> = rests.map(|a| a.topic).collect();
        assert!(topics.contains(&topic), "{}: {topics:?}", experiment.name);
    }
}

#[test]
fn few_of_thousands_of_runs_are_read() {
    let summary = |n: usize| Summary {
        run: format!("r{n}"),
        at: format!("2026-01-01T{n:08}"),
        experiment: ["baseline", "together", "another"][n % 3].to_owned(),
        written: [(format!("D{}", n % 7), 0)].into(),
        ..Summary::default()
    };
    let summaries: Vec<Summary> = (0..10_000).map(summary).collect();
    let here = (0..6).map(|n| format!("D{n}")).collect();
    let chosen = gather::chosen(&summaries, &here);
    assert_eq!(chosen.len(), gather::MOST);
    for drive in 0..6 {
        let own = |n: &usize| n % 7 == drive && n % 3 == 0;
        let run = format!("r{}", (0..10_000).rev().find(own).expect("a run"));
        assert!(chosen.contains(&run.as_str()), "{run} of D{drive}");
    }
    assert!(!chosen.iter().any(|run| run[1..].parse::<usize>().is_ok_and(|n| n % 7 == 6 || n % 3 == 2)));
}
