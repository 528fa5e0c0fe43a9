//! baseline on modelled drives with known speeds, from the plan to the verdicts.

use crate::support::modelled::{ask, carry_out, counted, only, plan, target};
use drivebench::{
    analyse::Rules,
    experiments::{BASELINE, Effort, LoadName, Request, Values},
    findings::{
        Claim, Findings, Quantity,
        fitness::{Need, Use, Verdict},
    },
    inventory::Drive,
    plan::{Rule, Suite},
    record::Event,
    report::{Format, Style, render},
    target::Target,
    units::{Caching, Ended, MIB, distinct},
};
use drivebench_modelled::sim::{Board, Cache, Model, Noise, Stalls, Zone};

const GB: u64 = 1_000_000_000;

/// A stick that writes and reads at these speeds (bytes per second), with the usual noise.
fn stick(write: f64, read: f64) -> Model {
    Model {
        capacity: 62 * GB,
        write: vec![Zone { from: 0, rate: write }],
        read: vec![Zone { from: 0, rate: read }],
        noise: Noise { variation: 0.03, memory: 0.6, run: 0.003 },
        ..Model::default()
    }
}

/// The first stick of the four: it stalls for 0.44 s every 61 MiB.
fn stalling() -> Model {
    let stalls = Stalls {
        every: 61.0 * MIB as f64,
        every_variation: 0.2,
        seconds: 0.44,
        seconds_variation: 0.02,
        ..Stalls::default()
    };
    Model { stalls: vec![stalls], ..stick(1.96e6, 6.65e6) }
}

/// As [`ask`], until the sustained speed is known.
fn thorough(targets: Vec<Target>, rules: Rules, block: u64) -> Request {
    let mut asked = ask(targets, rules, block);
    asked.values.set("thorough", "true");
    asked
}

fn measured(targets: Vec<Target>, models: Vec<Model>, rules: Rules) -> (Findings, Vec<Event>) {
    let asked = thorough(targets, rules, 4096);
    let board = Board { drives: models, buses: Vec::new(), seed: 7 };
    let events = carry_out(&plan(&asked).expect("plans"), &board).expect("runs");
    (BASELINE.findings(&mut events.clone().into_iter()), events)
}

fn estimate<'a>(findings: &'a Findings, name: &str) -> &'a drivebench::analyse::Estimate {
    let named = findings.estimates.iter().find(|n| n.label() == name);
    &named.unwrap_or_else(|| panic!("no '{name}'")).estimate
}

fn said(findings: &Findings) -> String {
    assert!(findings.modelled, "figures from a model say so");
    render(findings, Format::Text, Style::PLAIN, true)
}

#[test]
fn a_stick_that_stalls() {
    let (findings, events) = measured(vec![target("A", 62 * GB, false)], vec![stalling()], Rules::standard());
    insta::assert_snapshot!(said(&findings));
    // 1 MiB at full speed and its share of a stall.
    let truth = MIB as f64 / (MIB as f64 / 1.96e6 + 0.44 / 61.0);
    let write = estimate(&findings, "write throughput");
    assert!(write.converged && write.low <= truth && truth <= write.high, "{write:?} holds {truth}");
    assert!((estimate(&findings, "read throughput").value / 6.65e6 - 1.0).abs() < 0.05);

    // The longest operation is the stall; the record written and read again gives the same findings.
    let lines: Vec<String> = events.iter().map(|e| serde_json::to_string(e).expect("JSON")).collect();
    let read = lines.iter().map(|l| serde_json::from_str::<Event>(l).expect("an event"));
    assert_eq!(BASELINE.findings(&mut read.collect::<Vec<_>>().into_iter()), findings);
}

/// By the suite that is run if nothing else is asked for.
fn by_default(model: Model) -> (Findings, Vec<Event>) {
    by_suite(model, None)
}

fn by_suite(model: Model, suite: Option<Suite>) -> (Findings, Vec<Event>) {
    let asked = ask(vec![target("A", 62 * GB, false)], Rules::standard(), 4096);
    let asked = Request { values: Values::default(), suite, ..asked };
    let events =
        carry_out(&plan(&asked).expect("plans"), &Board { drives: vec![model], buses: Vec::new(), seed: 7 });
    let events = events.expect("runs");
    (BASELINE.findings(&mut events.clone().into_iter()), events)
}

#[test]
fn a_stick_by_the_default_suite() {
    // Random writes on cheap sticks: some 30 a second.
    let model = Model { seek_seconds: 0.03, ..stalling() };
    let (findings, _) = by_default(model);
    insta::assert_snapshot!(render(&findings, Format::Text, Style::PLAIN, false));
    insta::assert_snapshot!(
        "a_stick_at_fifty_columns",
        render(&findings, Format::Text, Style { width: 50, ..Style::PLAIN }, false)
    );
    let spent = findings.spent.expect("of one run");
    assert!(spent.seconds <= 360.0, "{spent:?}");
    let truth = MIB as f64 / (MIB as f64 / 1.96e6 + 0.44 / 61.0);
    let write = estimate(&findings, "SEQ1M write throughput");
    assert!(write.low <= truth && truth <= write.high, "{write:?} holds {truth}");
    let read = estimate(&findings, "SEQ1M read throughput");
    assert!(read.converged && read.low <= 6.65e6 && 6.65e6 <= read.high, "{read:?}");
}

#[test]
fn a_large_stick_without_a_makers_name_is_to_be_tested() {
    let next = |vendor: &str, model: &str| {
        let mut target = target("A", 62 * GB, false);
        let drive = Drive {
            vendor: Some(vendor.to_owned()),
            model: Some(model.to_owned()),
            ..target.drives[0].clone()
        };
        target.drives = vec![Drive { bus: Some("usb".to_owned()), ..drive }];
        let (findings, _) = measured(vec![target], vec![stick(20e6, 30e6)], Rules::quick());
        findings.next.iter().any(|next| next.command == "run capacity A")
    };
    assert_eq!([next("General", "UDisk"), next("Samsung", "Flash Drive")], [true, false]);
}

#[test]
fn a_fast_drive_takes_less_than_a_minute_and_may_be_fit_for_everything() {
    let (findings, _) = by_default(Model { operation_seconds: 20e-6, ..stick(400e6, 500e6) });
    let spent = findings.spent.expect("of one run");
    assert!(spent.seconds <= 60.0, "{spent:?}");
    let [first, ..] = &findings.verdicts[..] else { panic!("{findings:?}") };
    assert!(first.starts_with("Fit for media, backups, a system and swap. Undecided: databases"), "{first}");
}

#[test]
fn a_second_is_too_short_to_judge_a_drive_by() {
    let asked = ask(vec![target("A", 62 * GB, false)], Rules::standard(), 4096);
    let mut values = Values::default();
    values.set("max-time", "6s");
    let effort = Effort { max_seconds: 6.0, ..asked.effort.clone() };
    let asked = Request { values, effort, ..asked };
    let board = Board {
        drives: vec![Model { operation_seconds: 20e-6, ..stick(400e6, 500e6) }],
        buses: Vec::new(),
        seed: 7,
    };
    let events = carry_out(&plan(&asked).expect("plans"), &board).expect("runs");
    let findings = BASELINE.findings(&mut events.into_iter());
    insta::assert_snapshot!(findings.verdicts.join("\n"));
}

#[test]
fn small_files_have_room_beside_the_file_of_the_loads() {
    let (capacity, free) = (Some(512 * MIB), Some(451 * MIB));
    let small = Target { capacity, free, ..target("A", 512 * MIB, false) };
    let asked = ask(vec![small], Rules::standard(), 4096);
    let asked = Request { values: Values::default(), suite: Suite::find("nas").ok(), ..asked };
    let planned = plan(&asked).expect("a smaller file");
    let set = planned.files().next().expect("files").1.set;
    // About half of a small filesystem stays free.
    let (file, set) = (planned.measures().next().expect("a load").1.reach, set.on_disk());
    assert!(file >= 128 * MIB && file + set < 260 * MIB, "{file} and {set}");

    // Without a size of its own the file takes what is allowed, and the sets come besides.
    let text = "name = 'x'\nabout = 'x'\nsource = 'x'\n[[loads]]\nlabel = 'w'\nrw = 'write'\nblock = '1M'\ndepth = 1\n\
                [[files]]\ncount = 3000\nsize = '64k'\n";
    let full = Request { suite: Suite::parse("x.toml", text).ok(), ..asked };
    assert_eq!(Suite::parse("x.toml", text).err().map(|e| e.to_string()), None);
    let refused = plan(&full).expect_err("no room for both").to_string();
    assert!(refused.contains("473 MB free; this needs"), "{refused}");
}

#[test]
fn how_long_a_synced_write_takes_is_said() {
    let model = Model { operation_seconds: 0.02, noise: Noise::default(), ..stick(400e6, 500e6) };
    let (findings, _) = by_suite(model, Suite::find("db").ok());
    let said = findings.verdicts.join(" ");
    let (block, rest) =
        said.split_once("A synced write of ").and_then(|(_, rest)| rest.split_once(' ')).expect("said");
    assert_eq!((block, said.matches("A synced write of").count()), ("4", 2), "{said}");
    // 20 ms and the time of 4 KiB.
    assert!(rest.starts_with("KiB typically takes 20 ms; the slowest 1 % take 20 ms or more."), "{said}");
}

#[test]
fn a_use_is_named_only_where_the_whole_interval_decides() {
    // 1,500 random reads a second are what class A1 asks for: neither more nor less can be said of them.
    let model = Model { operation_seconds: 1.0 / 1500.0, ..stick(400e6, 500e6) };
    let (findings, _) = by_default(model);
    let reads = estimate(&findings, "RND4K Q1 read throughput");
    let asked = 1500.0 * 4096.0;
    assert!(reads.low < asked && asked < reads.high, "{reads:?}");
    let verdict = |purpose| findings.fitness.iter().find(|f| f.purpose == purpose).expect("judged").verdict;
    assert_eq!([Use::Media, Use::Backups].map(verdict), [Verdict::Fit; 2]);
    assert!(matches!(verdict(Use::Swap), Verdict::Unfit(Need::RandomWrites, _)), "{:?}", findings.fitness);
    let reads = Some([reads.low, reads.high].map(|bytes| bytes / 4096.0));
    assert_eq!(verdict(Use::System), Verdict::Undecided(Need::RandomReads, reads));
    assert_eq!(verdict(Use::Databases), Verdict::Undecided(Need::Commits, None));
}

#[test]
fn the_speed_after_a_fast_cache_counts() {
    let cache = Cache { bytes: 200e6, free: 1.0, rate: 20e6, drain: 0.0 };
    let model = Model { cache: Some(cache), ..stick(4e6, 20e6) };
    let (findings, _) = measured(vec![target("A", 62 * GB, false)], vec![model], Rules::standard());
    let write = estimate(&findings, "write throughput");
    assert!((write.value / 4e6 - 1.0).abs() < 0.05, "{write:?}");
    let text = said(&findings).replace('\n', " ");
    assert!(text.contains("Writes slow down from 20."), "{text}");
}

#[test]
fn a_disk_that_rotates_is_measured_from_end_to_end() {
    let zones = (0..10).map(|i| Zone { from: i * 50 * GB, rate: 180e6 - i as f64 * 10e6 }).collect();
    let model = Model {
        capacity: 500 * GB,
        read: zones,
        write: vec![Zone { from: 0, rate: 1e6 }],
        ..Model::default()
    };
    let (findings, _) = measured(vec![target("disk", 500 * GB, true)], vec![model], Rules::standard());
    let truth = 10.0 / (0..10).map(|i| 1.0 / (180e6 - f64::from(i) * 10e6)).sum::<f64>();
    let read = estimate(&findings, "read throughput");
    assert!(read.low <= truth && truth <= read.high, "{read:?} holds {truth}");
    assert_eq!(findings.estimates[0].claim(), Some(Claim::Sustained));
    let text = said(&findings).replace('\n', " ");
    assert!(text.contains("From 180 MB/s at the beginning of the disk to 90.0 MB/s at its end"), "{text}");
}

#[test]
fn reads_last_until_the_sustained_speed_is_known_and_writes_no_longer_than_their_bytes() {
    let claims = |typed: Option<&str>| {
        let mut asked = thorough(vec![target("A", 62 * GB, false)], Rules::standard(), MIB);
        asked.values.set("max-time", "30m");
        asked.effort.max_seconds = 1800.0;
        typed.into_iter().for_each(|most| asked.values.set("max-bytes", most));
        let board = Board { drives: vec![stick(60e6, 60e6)], buses: Vec::new(), seed: 7 };
        let events = carry_out(&plan(&asked).expect("plans"), &board).expect("runs");
        let findings = BASELINE.findings(&mut events.into_iter());
        assert!(
            findings.spent.as_ref().is_some_and(|spent| spent.written <= 3 << 30),
            "{:?}",
            findings.spent
        );
        let speeds = findings.estimates.into_iter().filter(|m| m.quantity == Quantity::Throughput);
        speeds.map(|m| m.claim()).collect::<Vec<_>>()
    };
    assert_eq!(claims(None), [Some(Claim::Span), Some(Claim::Sustained)]);
    assert_eq!(claims(Some("6GiB")), [Some(Claim::Span); 2]);
}

#[test]
fn what_a_sustained_speed_would_take_is_time_where_the_bytes_suffice() {
    let mut asked = thorough(vec![target("A", 62 * GB, false)], Rules::standard(), MIB);
    asked.effort.max_seconds = 600.0;
    asked.values.set("max-time", "10m");
    let board = Board { drives: vec![stick(60e6, 60e6)], buses: Vec::new(), seed: 7 };
    let events = carry_out(&plan(&asked).expect("plans"), &board).expect("runs");
    let text = said(&BASELINE.findings(&mut events.into_iter()));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let takes: Vec<&str> = text.split("Measuring it takes ").skip(1).map(|rest| &rest[..7]).collect();
    assert!(takes.len() == 2 && takes[0].contains("GB") && takes[1].starts_with("10:"), "{takes:?}: {text}");
}

#[test]
fn the_part_of_a_drive_is_what_was_written_before_where_a_load_reads_only_that() {
    // 30 s at 0.5 MB/s are far less than the file of 1 GiB.
    let (findings, events) = by_default(Model { seek_seconds: 0.03, ..stick(0.5e6, 20e6) });
    let written = |event: &Event| match event {
        Event::Outcome { outcome, .. } => Some(outcome.bytes_written),
        _ => None,
    };
    let first = events.iter().find_map(written).expect("a write") as f64;
    let reads = findings.estimates.iter().filter(|m| m.label().contains("read"));
    let parts: Vec<f64> = reads.filter_map(|m| m.part).map(|part| part * 62e9).collect();
    assert!(first < 100e6 && parts.len() == 3, "{first}, {parts:?}");
    assert!(parts.iter().all(|part| *part <= 1.001 * first), "{first}, {parts:?}");
}

#[test]
fn four_sticks_are_ranked_and_equal_ones_tie() {
    let names = ["A", "B", "C", "D"];
    let targets = names.map(|n| target(n, 62 * GB, false)).to_vec();
    let models =
        vec![stick(1.93e6, 6.6e6), stick(3.86e6, 7.26e6), stick(2.43e6, 6.4e6), stick(2.42e6, 6.39e6)];
    let (findings, _) = measured(targets, models, Rules::quick());
    insta::assert_snapshot!(said(&findings));
}

#[test]
fn a_protocol_repeats_and_averages() {
    let text = include_str!("../../suites/pi-zero.toml").replace("1GiB", "16MiB");
    let mut asked =
        ask(vec![target("A", 62 * GB, false), target("B", 62 * GB, false)], Rules::standard(), 4096);
    asked.suite = Some(Suite::parse("pi-zero", &text).expect("a suite"));
    let board =
        Board { drives: vec![stick(1.93e6, 6.6e6), stick(3.86e6, 7.26e6)], buses: Vec::new(), seed: 7 };
    let events = carry_out(&plan(&asked).expect("plans"), &board).expect("runs");
    insta::assert_snapshot!(said(&BASELINE.findings(&mut events.into_iter())));
}

#[test]
fn a_truncated_record_is_read() {
    let (_, events) = measured(vec![target("A", 62 * GB, false)], vec![stalling()], Rules::standard());
    let first = events.iter().position(|e| matches!(e, Event::Window { .. })).expect("a window");
    for keep in [0, 1, 2, first, first + 1, first + 40, first + 300] {
        let findings = BASELINE.findings(&mut events[..keep].iter().cloned());
        let text = render(&findings, Format::Text, Style::PLAIN, true);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{keep} events: {text}");
        assert_eq!(findings.estimates.is_empty(), keep <= first, "{keep} events");
    }
}

#[test]
fn a_stopped_load_says_what_was_missing() {
    let (_, events) = measured(vec![target("A", 62 * GB, false)], vec![stick(20e6, 20e6)], Rules::standard());
    let windows: Vec<usize> =
        (0..events.len()).filter(|&at| matches!(events[at], Event::Window { .. })).collect();
    let findings = BASELINE.findings(&mut events[..windows[500]].iter().cloned());
    let write = estimate(&findings, "write throughput");
    assert!(write.half_width() < 0.06, "{write:?}");
    let text = said(&findings).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("sustained speed is not known, because the load was stopped early. Measuring it takes"),
        "{text}"
    );
    assert!(
        findings.estimates.iter().all(|n| n.load.as_ref().is_none_or(|load| load.span == Some(true))),
        "a span: {findings:?}"
    );
}

#[test]
fn a_load_whose_fsync_was_cut_off_has_no_speed() {
    let asked = ask(vec![target("A", 62 * GB, false)], Rules::standard(), MIB);
    let asked = only(LoadName::Write, Request { caching: Caching::BufferedFsync, ..asked });
    let plan = plan(&asked).expect("plans");
    assert!(plan.measures().all(|(_, m)| matches!(m.rule, Rule::Fixed { .. })), "no pieces of memory");
    let board = Board { drives: vec![stick(20e6, 20e6)], buses: Vec::new(), seed: 7 };
    let mut events = carry_out(&plan, &board).expect("runs");
    let findings = BASELINE.findings(&mut events.iter().cloned());
    assert!(estimate(&findings, "write throughput").value > 0.0);
    for event in &mut events {
        if let Event::Outcome { outcome, .. } = event {
            outcome.ended = Ended::Cancelled;
        }
    }
    let findings = BASELINE.findings(&mut events.into_iter());
    assert_eq!(findings.estimates, [], "its windows show memory");
}

#[test]
fn directories_on_one_drive_are_not_ranked() {
    let a = target("A", 62 * GB, false);
    let twin = Target { given: "A2".to_owned(), path: "/A2".into(), ..a.clone() };
    let (models, other) =
        (vec![stick(4e6, 8e6), stick(2e6, 4e6), stick(8e6, 9e6)], target("B", 62 * GB, false));
    let (findings, _) = measured(vec![a, twin, other], models, Rules::quick());
    let text = said(&findings).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("A2 is on the same drive as A, so it is not ranked."), "{text}");
    assert!(text.contains("write: B (") && !text.contains("> A2 ("), "{text}");
}

#[test]
fn a_limit_that_ended_a_load_is_named_before_its_drift() {
    let mut asked = thorough(vec![target("A", 62 * GB, false)], Rules::thorough(), MIB);
    asked.effort.max_bytes = 512 * MIB;
    let noise = Noise { variation: 0.3, memory: 0.995, run: 0.005 };
    let model = Model { noise, ..stick(20e6, 20e6) };
    let said = |seed| {
        let board = Board { drives: vec![model.clone()], buses: Vec::new(), seed };
        let events = carry_out(&plan(&asked).expect("plans"), &board).expect("runs");
        let findings = BASELINE.findings(&mut events.into_iter());
        said(&findings).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let all: Vec<String> = (1..=6).map(said).collect();
    assert!(all.iter().all(|text| !text.contains("not known, because the speed drifts")), "{all:#?}");
    let limit = "not known, because a limit ended the load early";
    assert!(all.iter().any(|text| text.contains(limit)), "{all:#?}");
}

#[test]
fn a_stick_that_takes_seconds_for_a_block_is_measured_in_six_minutes() {
    // 20 s for a block of 1 MiB.
    let (findings, _) = by_default(stick(0.05e6, 20e6));
    assert!(findings.spent.as_ref().is_some_and(|spent| spent.seconds <= 361.0), "{:?}", findings.spent);
    assert!(estimate(&findings, "RND4K Q1 read throughput").is_bounded(), "{:?}", findings.estimates);
    insta::assert_snapshot!(findings.verdicts.join("\n"));
}

#[test]
fn what_never_reached_the_drive_is_no_evidence_of_it() {
    let (_, events) = by_default(Model { operation_seconds: 20e-6, ..stick(400e6, 500e6) });
    let findings = BASELINE.findings(&mut counted(&events, 2, 1).into_iter());
    let missed = |read: bool| {
        let of = findings.estimates.iter().filter_map(|m| m.load.as_ref());
        distinct(of.filter(|load| load.name.contains("read") == read).map(|load| load.missed))
    };
    assert_eq!([missed(true), missed(false)], [[Some(50)], [None]]);
    let verdict = |purpose| findings.fitness.iter().find(|f| f.purpose == purpose).expect("judged").verdict;
    assert_eq!(verdict(Use::Media), Verdict::Undecided(Need::Reads, None));
    assert_eq!(verdict(Use::Backups), Verdict::Fit);
    assert!(
        findings.verdicts.iter().any(|says| says.starts_with("Not the drive's speed: at least 50 %")),
        "{findings:?}"
    );
}
