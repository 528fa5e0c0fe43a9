//! sizes on modelled drives with known speeds, from the plan to the verdicts.

use std::collections::BTreeMap;

use crate::support::modelled::{ask, carry_out, counted, target};
use drivebench::{
    analyse::{Estimate, Rules},
    experiments::{Request, SIZES},
    findings::{At, Findings, LoadKey, Quantity, Scope},
    plan::{Plan, ScratchFile},
    record::Event,
    report::{Format, Style, render},
    units::{MIB, parse_size, size},
};
use drivebench_modelled::sim::{Board, Model, Noise, Stalls, Zone};

const GB: u64 = 1_000_000_000;
/// The fixed cost of a transfer and the speed of its bytes: a knee at 984 B for writes, 7.6 KiB for reads.
const COST: f64 = 0.4e-3;
const WRITE: f64 = 2.461e6;
const READ: f64 = 18.98e6;

/// The first stick of the post: noisy, with occasional stalls of 0.44 s.
fn stick() -> Model {
    let stalls = Stalls {
        every: 34e6,
        every_variation: 0.2,
        seconds: 0.4405,
        seconds_variation: 0.005,
        ..Stalls::default()
    };
    Model {
        capacity: 62 * GB,
        read: vec![Zone { from: 0, rate: READ }],
        write: vec![Zone { from: 0, rate: WRITE }],
        operation_seconds: COST,
        flush_seconds: 0.01,
        noise: Noise { variation: 0.03, memory: 0.5, run: 0.003 },
        stalls: vec![stalls],
        ..Model::default()
    }
}

fn asked() -> Request {
    ask(vec![target("A", 62 * GB, false)], Rules::standard(), 4096)
}

fn planned(ask: &Request) -> Plan {
    SIZES.plan(ask).expect("plans")
}

fn measured(model: Model, seed: u64) -> Vec<Event> {
    carry_out(&planned(&asked()), &Board { drives: vec![model], buses: Vec::new(), seed }).expect("runs")
}

fn found(events: &[Event]) -> Findings {
    SIZES.findings(&mut events.iter().cloned())
}

fn estimate<'a>(findings: &'a Findings, name: &str) -> &'a Estimate {
    let named = findings.estimates.iter().find(|n| n.label() == name);
    &named.unwrap_or_else(|| panic!("no '{name}'")).estimate
}

fn said(findings: &Findings) -> String {
    render(findings, Format::Text, Style::PLAIN, true)
}

#[test]
fn knee_cost_and_rate_are_those_of_the_model() {
    for seed in 1..=5 {
        let findings = found(&measured(stick(), seed));
        let near = |name: &str, truth: f64, within: f64| {
            let value = estimate(&findings, name).value;
            assert!((value / truth - 1.0).abs() < within, "seed {seed}: {name} is {value}, not {truth}");
        };
        for (way, rate) in [("write direct", WRITE), ("read direct", READ)] {
            near(&format!("{way} cost of a transfer"), COST, 0.1);
            near(&format!("{way} rate of bytes"), rate, 0.1);
            let knee = estimate(&findings, &format!("{way} knee"));
            let truth = COST * rate;
            assert!((0.5..2.0).contains(&(knee.value / truth)), "seed {seed}: {way}: {knee:?}, not {truth}");
        }
        if seed == 1 {
            insta::assert_snapshot!(said(&findings));
            let marks: Vec<_> = findings.figures.iter().flat_map(|f| &f.marks).collect();
            assert!(marks.len() >= 2 && marks.iter().all(|m| matches!(m.at, At::X(_))), "{marks:?}");
            assert!(findings.figures.iter().all(|f| f.x.log && !f.text.is_empty() && f.curves.len() == 2));
        }
    }
}

/// By load: each size with its speed.
fn rows(findings: &Findings) -> BTreeMap<String, Vec<(u64, Estimate)>> {
    let mut rows: BTreeMap<String, Vec<(u64, Estimate)>> = BTreeMap::new();
    for metric in findings.estimates.iter().filter(|m| m.quantity == Quantity::Throughput) {
        if let (Scope::Block(size), Some(load)) = (metric.scope, &metric.load) {
            rows.entry(load.name.clone()).or_default().push((size, metric.estimate.clone()));
        }
    }
    rows
}

#[test]
fn a_size_is_recommended_only_if_the_table_has_no_slower_one_above_it() {
    let steady = Model { stalls: Vec::new(), ..stick() };
    let mut recommended = 0;
    for (model, seed) in (1..=5).flat_map(|seed| [(steady.clone(), seed), (stick(), seed)]) {
        let findings = found(&measured(model, seed));
        let first = &findings.verdicts[0];
        assert!(
            first.starts_with("Use transfers of ") || first.starts_with("Too noisy"),
            "the answer first: {first}"
        );
        let advised = findings.verdicts.iter().find_map(|text| text.strip_prefix("Use transfers of "));
        let Some((least, _)) = advised.and_then(|text| text.split_once(" or more")) else {
            assert!(findings.verdicts.iter().any(|text| text.starts_with("Too noisy")), "seed {seed}");
            continue;
        };
        let least = parse_size(least).expect("a size");
        for (load, row) in rows(&findings) {
            let best = row.iter().map(|(_, e)| e.value).fold(0.0, f64::max);
            for (size, e) in row.iter().filter(|(size, _)| *size >= least) {
                assert!(e.low >= 0.9 * best, "seed {seed}, {load}, {size}: {e:?} of {best}");
            }
        }
        recommended += 1;
    }
    assert!(recommended >= 3, "steady drives have an answer: {recommended}");
}

#[test]
fn each_repetition_has_every_size_in_seeded_order() {
    let order = |seed: u64| -> Vec<(String, u64, u32)> {
        let plan = planned(&Request { seed, ..asked() });
        plan.measures().skip(1).map(|(_, m)| (m.label.clone(), m.load.block, m.repetition)).collect()
    };
    let (one, other) = (order(1), order(2));
    assert!(one == order(1) && one != other);
    assert_eq!(one.len(), (15 + 12) * 2 * 6);
    let sorted = |mut order: Vec<_>| {
        order.sort();
        order
    };
    assert_eq!(sorted(one.clone()), sorted(other));
    for (round, repetition) in one.chunks(54).zip(1..) {
        assert!(round.iter().all(|(_, _, n)| *n == repetition), "nothing of the next round comes before it");
        assert!(!round.is_sorted_by_key(|(_, block, _)| *block));
    }
}

#[test]
fn bytes_are_bounded_and_impossible_sizes_are_refused() {
    let plan = planned(&asked());
    let cost = plan.cost(0);
    let seconds: Option<f64> = plan.steps.iter().map(|step| step.act.cost().seconds).sum();
    assert!(cost.written < 1000 * MIB && seconds.expect("bounded") < 900.0, "{cost:?}");
    assert_eq!(cost.seconds, Some(asked().effort.max_seconds), "an fsync takes as long as it takes");
    assert_eq!(plan.steps[0].act.get(), Some(&ScratchFile { bytes: 8 * MIB }));
    let mut large = asked();
    large.values.set("largest", "16M");
    assert_eq!(planned(&large).measures().map(|(_, m)| m.load.block).max(), Some(16 * MIB));
    let mut small = asked();
    small.effort.max_bytes = 100_000;
    let says = |ask: &Request| SIZES.plan(ask).expect_err("refused").to_string();
    let mut huge = asked();
    huge.values.set("largest", "17M");
    insta::assert_snapshot!(
        [says(&small), says(&huge), says(&Request { targets: vec![], ..asked() })].join("\n")
    );
}

#[test]
fn the_limits_hold_for_all_repetitions_with_the_filling() {
    for seconds in [10.0, 45.0, 120.0, 1800.0] {
        let mut asked = asked();
        asked.effort.max_seconds = seconds;
        let most = planned(&asked).cost(0).seconds;
        assert!(most.is_some_and(|most| most <= seconds * 1.001), "{seconds}: {most:?}");
    }
    for bytes in [50_000_000, 100_000_000, 1 << 30] {
        let mut asked = asked();
        asked.effort.max_bytes = bytes;
        let cost = planned(&asked).cost(0);
        assert!(cost.written <= bytes && cost.read <= bytes, "{bytes}: {cost:?}");
        assert!(cost.written > bytes / 4, "{bytes}: {cost:?}");
    }
}

#[test]
fn the_least_bytes_named_are_enough_and_a_byte_less_is_not() {
    for (largest, runs, least) in [("64k", "6", 25 * 64), ("1M", "1", 5 * 1024), ("16M", "2", 9 * 16 * 1024)]
    {
        let mut asked = asked();
        asked.values.set("largest", largest);
        asked.values.set("runs", runs);
        asked.effort.max_bytes = least * 1024;
        let cost = planned(&asked).cost(0);
        assert!(cost.written <= asked.effort.max_bytes && cost.read <= asked.effort.max_bytes, "{cost:?}");
        asked.effort.max_bytes -= 1;
        let refused = SIZES.plan(&asked).expect_err("refused").to_string();
        assert!(refused.contains(&size(least * 1024)), "{refused}");
    }
}

#[test]
fn a_disk_is_only_read_and_a_drive_of_4_kib_blocks_has_no_smaller_direct_transfers() {
    let disk = planned(&ask(vec![target("disk", 500 * GB, true)], Rules::standard(), 4096));
    assert!(disk.measures().all(|(_, m)| !m.load.writes()) && disk.cost(0).written == 0);
    let mut coarse = target("A", 62 * GB, false);
    coarse.direct_alignment = 4096;
    let plan = planned(&ask(vec![coarse], Rules::standard(), 4096));
    let smallest =
        |label: &str| plan.measures().filter(|(_, m)| m.label == label).map(|(_, m)| m.load.block).min();
    assert_eq!((smallest("write direct"), smallest("write")), (Some(4096), Some(64)));
}

#[test]
fn no_size_is_recommended_by_what_never_reached_the_drive() {
    let findings = found(&counted(&measured(stick(), 3), 2, 1));
    let [verdict] = &findings.verdicts[..] else { panic!("{:?}", findings.verdicts) };
    assert!(verdict.starts_with("Not the drive's speed: at least 50 %"), "{verdict}");
    let knees = findings.estimates.iter().filter(|m| m.quantity == Quantity::Knee);
    assert!(knees.filter_map(|m| m.load.as_ref()).all(|load| load.missed.is_none()));
    let loads: Vec<&LoadKey> = findings.estimates.iter().filter_map(|m| m.load.as_ref()).collect();
    assert!(loads.iter().all(|load| load.missed.is_some() == load.name.contains("read")), "{loads:?}");
}

#[test]
fn a_truncated_record_is_read() {
    let events = measured(stick(), 3);
    for keep in [0, 1, 2, 3, 40, 300, 2000] {
        let text = said(&found(&events[..keep.min(events.len())]));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{keep} events: {text}");
    }
    let mut few = asked();
    few.values.set("runs", "2");
    let board = Board { drives: vec![stick()], buses: Vec::new(), seed: 1 };
    let text = said(&found(&carry_out(&planned(&few), &board).expect("runs"))).replace('\n', " ");
    assert!(text.contains("Fewer than 6 repetitions: no interval."), "{text}");
}
