//! cliff on modelled drives with known speeds, from the plan to the verdicts.

use crate::support::modelled::{ask, carry_out, counted, plan_of, target};
use drivebench::{
    analyse::{Estimate, Rules},
    experiments::{CLIFF, Request},
    findings::Findings,
    plan::{Rule, ScratchFile},
    record::Event,
    report::{Format, Style, render},
    units::MIB,
};
use drivebench_modelled::sim::{Board, Cache, Drift, Model, Noise, Stalls, Zone};

const GB: u64 = 1_000_000_000;
const CACHE: f64 = 402_653_184.0;

/// A stick that writes at `rate`, bytes per second, with the usual noise.
fn stick(rate: f64) -> Model {
    Model {
        capacity: 62 * GB,
        write: vec![Zone { from: 0, rate }],
        read: vec![Zone { from: 0, rate: 28e6 }],
        noise: Noise { variation: 0.05, memory: 0.5, run: 0.005 },
        ..Model::default()
    }
}

/// A stick with a cache of 384 MiB, which empties at 5 MB/s.
fn cached() -> Model {
    Model { cache: Some(Cache { bytes: CACHE, free: 1.0, rate: 25e6, drain: 5e6 }), ..stick(5e6) }
}

/// Adds stalls of 0.44 s every 61 MiB and of 2.6 s every 200 MiB.
fn stalling(model: Model) -> Model {
    let stalls = |every: f64, seconds| Stalls {
        every: every * MIB as f64,
        every_variation: 0.2,
        seconds,
        seconds_variation: 0.02,
        ..Stalls::default()
    };
    Model { stalls: vec![stalls(61.0, 0.44), stalls(200.0, 2.6)], ..model }
}

fn asked(pause: f64) -> Request {
    let mut asked = ask(vec![target("A", 62 * GB, false)], Rules::standard(), MIB);
    asked.effort.max_bytes = 4 << 30;
    asked.values.set("pause", &pause.to_string());
    asked
}

fn events(asked: &Request, model: Model, seed: u64) -> Vec<Event> {
    let board = Board { drives: vec![model], buses: Vec::new(), seed };
    carry_out(&plan_of(&CLIFF, asked).expect("plans"), &board).expect("runs")
}

fn measured(asked: &Request, model: &Model, seed: u64) -> Findings {
    CLIFF.findings(&mut events(asked, model.clone(), seed).into_iter())
}

fn estimate<'a>(findings: &'a Findings, name: &str) -> Option<&'a Estimate> {
    findings.estimates.iter().find(|named| named.label() == name).map(|named| &named.estimate)
}

fn said(findings: &Findings) -> String {
    render(findings, Format::Text, Style::PLAIN, true)
}

/// Medians of five drives: fast region, speed before, speed after.
fn medians(model: &Model) -> [f64; 3] {
    let runs: Vec<Findings> = (1..=5).map(|seed| measured(&asked(60.0), model, seed)).collect();
    ["fast region", "write throughput before", "write throughput after"].map(|name| {
        let mut values: Vec<f64> = runs
            .iter()
            .map(|run| estimate(run, name).unwrap_or_else(|| panic!("{}", said(run))).value)
            .collect();
        values.sort_by(f64::total_cmp);
        values[2]
    })
}

fn close(what: &str, value: f64, truth: f64, share: f64) {
    assert!((value / truth - 1.0).abs() < share, "{what}: {value}, not {truth}");
}

#[test]
fn the_size_of_a_cache_and_both_speeds() {
    let [size, before, after] = medians(&cached());
    close("size", size, CACHE, 0.02);
    close("before", before, 25e6, 0.05);
    close("after", after, 5e6, 0.05);
}

#[test]
fn what_was_cut_and_why_the_writing_ended_are_said() {
    let ended = |free: Option<u64>| {
        let mut asked = asked(60.0);
        (asked.targets[0].capacity, asked.targets[0].free) = (Some(62 * GB), free);
        said(&measured(&asked, &stick(20e6), 1)).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let cut = ended(Some(4 * GB));
    assert!(cut.contains("the file was full; free some space or raise --max-bytes"), "{cut}");
    assert!(cut.contains("the file was cut from 4.29 GB to 900 MB: 4.00 GB are free"), "{cut}");
    let whole = ended(None);
    assert!(whole.contains("the file was full") && !whole.contains("cut from"), "{whole}");
}

#[test]
fn a_deadline_is_kept_and_the_pause_left_out_where_it_would_take_most_of_it() {
    for seconds in [10.0, 40.0, 59.0, 61.0, 119.0, 120.0, 1800.0] {
        let mut asked = asked(60.0);
        asked.effort.max_seconds = seconds;
        let plan = plan_of(&CLIFF, &asked).expect("plans");
        assert!(plan.cost(0).seconds.is_some_and(|most| most <= seconds * 1.001), "{seconds}");
        let writes = plan.measures().filter_map(|(_, m)| match m.rule {
            Rule::Adaptive { seconds, .. } | Rule::Again { seconds, .. } => Some(seconds),
            _ => None,
        });
        assert!(writes.sum::<f64>() >= seconds / 2.0, "{seconds}");
        let pause = plan.steps.iter().any(|step| step.act.label() == "pause");
        assert_eq!(pause, seconds >= 120.0);
    }
}

#[test]
fn a_writing_that_time_ended_says_so_and_not_that_space_is_short() {
    let mut asked = asked(60.0);
    // The file is cut, too, but time ends the writing before its end.
    (asked.targets[0].capacity, asked.targets[0].free) = (Some(62 * GB), Some(4 * GB));
    asked.effort.max_seconds = 40.0;
    let said = said(&measured(&asked, &stick(20e6), 1)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("raise --max-time and --max-bytes") && !said.contains("free some"), "{said}");
    assert!(said.contains("Recovery after a pause is not measured"), "{said}");
}

#[test]
fn stalls_are_not_a_cliff() {
    let [size, before, after] = medians(&stalling(cached()));
    let with = |rate: f64| MIB as f64 / (MIB as f64 / rate + 0.44 / 61.0 + 2.6 / 200.0);
    close("size", size, CACHE, 0.10);
    // Two long stalls and six short ones are all that fits into the fast part.
    close("before", before, with(25e6), 0.15);
    close("after", after, with(5e6), 0.05);
    for seed in 1..=10 {
        let findings = measured(&asked(60.0), &stalling(stick(18e6)), seed);
        assert!(estimate(&findings, "fast region").is_none(), "seed {seed}: {}", said(&findings));
    }
}

#[test]
fn verdicts_and_recovery_after_a_pause() {
    // 60 s at 5 MB/s are three quarters of it.
    let findings = measured(&asked(60.0), &cached(), 1);
    insta::assert_snapshot!(said(&findings));
    let again = estimate(&findings, "fast region after the pause").expect("seen");
    close("restored", again.value, 300e6, 0.02);
    assert!(again.low <= 300e6 && 300e6 <= again.high, "{again:?}");
    let figure = &findings.figures[0];
    assert_eq!((figure.curves.len(), figure.marks.len(), figure.bands.len()), (4, 1, 1));
    assert!(figure.curves.iter().all(|curve| curve.points.len() >= 20), "{}", figure.n);

    let whole = said(&measured(&asked(600.0), &cached(), 1)).replace('\n', " ");
    assert!(whole.contains(" % of the first run"), "{whole}");
    let none = said(&measured(&asked(1.0), &cached(), 1)).replace('\n', " ");
    assert!(none.contains("were fast again. Try a longer --pause"), "{none}");
}

#[test]
fn without_a_cliff_the_searched_size_is_given() {
    let events = events(&asked(60.0), stick(18e6), 1);
    assert!(
        !events.iter().any(|event| matches!(event, Event::Act { result, .. } if result.seconds > 0.0)),
        "nothing to restore, no pause"
    );
    insta::assert_snapshot!(said(&CLIFF.findings(&mut events.into_iter())));
}

#[test]
fn warming_up_is_not_a_cliff() {
    let model = Model { drift: Some(Drift { to: 0.6, over: 2e9 }), ..stick(18e6) };
    let text = said(&measured(&asked(60.0), &model, 1)).replace('\n', " ");
    assert!(!text.contains("Writes slow down after"), "{text}");
}

#[test]
fn a_file_without_room_gives_a_lower_bound() {
    // The look that follows 384 MiB and 55 s at 5 MB/s: 128 MiB and eight times a quarter more.
    let ends = 762;
    // Too few bytes after the pause say nothing.
    for (rest, is_said) in [(200, true), (20, false)] {
        let mut asked = asked(600.0);
        asked.effort.max_bytes = (ends + rest) * MIB;
        let said = said(&measured(&asked, &cached(), 1)).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.contains("After a pause of 10:00, at least "), is_said, "{rest} MiB left: {said}");
        assert!(is_said || !said.contains("fast again"), "{rest} MiB left: {said}");
    }
}

/// Ten minutes at 60 MB/s are more than what may be written.
#[test]
fn what_recovers_is_measured_where_the_sustained_speed_is_out_of_reach() {
    let cache = Cache { bytes: 10e9, free: 1.0, rate: 400e6, drain: 60e6 };
    let mut asked = asked(60.0);
    asked.effort.max_bytes = 32 << 30;
    let findings = measured(&asked, &Model { cache: Some(cache), ..stick(60e6) }, 1);
    let text = said(&findings).split_whitespace().collect::<Vec<_>>().join(" ");
    close("size", estimate(&findings, "fast region").expect("a cliff").value, 10e9, 0.02);
    let again = estimate(&findings, "fast region after the pause").expect(&text);
    assert!((3e9..10e9).contains(&again.value), "{text}");
    assert!(text.contains("a limit of time or bytes ended it"), "{text}");
    assert!(!text.contains("The target was full"), "{text}");
    assert!(findings.spent.is_some_and(|spent| spent.written < 32 << 30), "{text}");
}

#[test]
fn a_truncated_record_is_read() {
    let events = events(&asked(60.0), cached(), 1);
    for keep in [0, 1, 2, 3, 40, 200, 520, events.len() - 30, events.len()] {
        let text = said(&CLIFF.findings(&mut events[..keep].iter().cloned()));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{keep} events: {text}");
    }
    let plan = plan_of(&CLIFF, &asked(60.0)).expect("plans");
    let cost = plan.cost(0);
    assert_eq!((cost.written, cost.read), (4 << 30, 0));
    assert!(plan.steps[0].act.get() == Some(&ScratchFile { bytes: 4 << 30 }));
}

#[test]
fn writes_through_the_page_cache_give_no_result() {
    let mut events = events(&asked(60.0), cached(), 1);
    let plan = plan_of(&CLIFF, &asked(60.0)).expect("plans");
    let (_, write) = plan.measures().next().expect("a write");
    let begins = |event: &&mut Event| matches!(event, Event::Step { .. });
    if let Some(Event::Step { instead, .. }) = events.iter_mut().find(begins) {
        *instead = Some(Box::new(write.through_cache()));
    }
    let findings = CLIFF.findings(&mut events.into_iter());
    assert!(findings.estimates.is_empty() && findings.verdicts[0].starts_with("Direct I/O was refused"));
    assert!(findings.figures[0].bands.is_empty(), "no sustained speed was said");
}

#[test]
fn writes_that_never_reached_the_drive_give_no_result() {
    let events = counted(&events(&asked(60.0), cached(), 1), 1, 4);
    let findings = CLIFF.findings(&mut events.into_iter());
    assert!(findings.estimates.is_empty() && findings.figures[0].bands.is_empty());
    assert!(findings.verdicts[0].starts_with("Not the drive's speed: at least 75 %"), "{findings:?}");
}

#[test]
fn unsuitable_targets_are_refused() {
    let refused = |change: &dyn Fn(&mut Request)| {
        let mut asked = asked(60.0);
        change(&mut asked);
        CLIFF.plan(&asked).expect_err("refused").to_string()
    };
    let kind = |kind| refused(&|asked| asked.targets[0].kind = kind);
    insta::assert_snapshot!(
        [kind(drivebench::target::Kind::File), kind(drivebench::target::Kind::BlockDevice)].join("\n")
    );
}

#[test]
fn a_speed_that_was_not_settled_is_not_called_sustained() {
    for most in [430, 460, 500] {
        let mut asked = asked(60.0);
        asked.effort.max_bytes = most * MIB;
        let findings = measured(&asked, &cached(), 1);
        assert!(findings.verdicts[1].contains("the file was full"), "{most} MiB: {:?}", findings.verdicts);
        assert!(findings.figures[0].bands.is_empty(), "{most} MiB: {}", said(&findings));
    }
}

#[test]
fn too_few_bytes_name_more_than_were_written_and_shade_nothing() {
    let mut asked = asked(60.0);
    asked.effort.max_bytes = 256 * MIB;
    let findings = measured(&asked, &stick(2e9), 1);
    let text = said(&findings).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("268 MB are too few to find a slow-down at this speed: about "), "{text}");
    assert!(!text.contains("about 134 MB"), "{text}");
    let figure = &findings.figures[0];
    assert!(figure.bands.is_empty() && figure.text.contains("too few"), "{figure:?}");
}

#[test]
fn a_speed_that_varies_has_no_clean_verdict_and_no_column_after_a_fall_that_was_not_seen() {
    let noise = Noise { variation: 0.3, memory: 0.995, run: 0.005 };
    let mut varied = 0;
    for seed in 1..=8 {
        let mut asked = asked(1.0);
        asked.effort.max_bytes = 256 * MIB;
        let findings = measured(&asked, &Model { noise, ..stick(50e6) }, seed);
        let Some(speed) = estimate(&findings, "write throughput") else { continue };
        let heads: Vec<&str> = findings.tables[0].columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(heads, ["", "fast part", "before", "after", "written", "time"]);
        if !speed.is_bounded() || speed.half_width() > 0.15 {
            varied += 1;
            let text = &findings.verdicts[0];
            assert!(text.contains("No cliff was found within "), "{text}");
            assert!(speed.low == 0.0 || !text.contains("too short for an interval"), "{text}");
        }
    }
    assert!(varied > 2);
    // Steady, and so said plainly.
    let steady = measured(&asked(1.0), &stick(50e6), 1);
    assert!(steady.verdicts[0].starts_with("No cliff was found within "), "{:?}", steady.verdicts);
}
