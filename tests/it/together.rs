//! together on modelled drives with known limits, from the plan to the reported limit.

use crate::support::modelled::{ask, carry_out, only, target};
use drivebench::{
    analyse::{Estimate, Rules, compare},
    conditions::{Core, Processors},
    experiments::{LoadName, TOGETHER},
    findings::{Findings, Metric, Scope},
    inventory::{Bus, BusKind, Ceiling, Inventory},
    record::{Event, SCHEMA, Start},
    report::{Format, Style, render},
    target::Target,
};
use drivebench_modelled::sim::{Board, Cache, Model, Noise, SharedBus, Stalls, Zone};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const GB: u64 = 1_000_000_000;

/// A stick that writes and reads at these speeds (bytes per second), with the usual noise.
fn stick(write: f64, read: f64) -> Model {
    Model {
        capacity: 62 * GB,
        write: vec![Zone { from: 0, rate: write }],
        read: vec![Zone { from: 0, rate: read }],
        operation_seconds: 0.2e-3,
        noise: Noise { variation: 0.03, memory: 0.5, run: 0.005 },
        ..Model::default()
    }
}

/// A machine with modelled drives.
struct Machine {
    models: Vec<Model>,
    /// The hub of each drive, from 1.
    hubs: Vec<usize>,
    links: Vec<SharedBus>,
    /// What is known of its one USB bus.
    ceiling: Option<Ceiling>,
    /// What the processors do at any time, where it is recorded.
    processors: Option<Processors>,
}

impl Machine {
    fn new(models: Vec<Model>, hubs: &[usize], links: Vec<SharedBus>) -> Self {
        let idle = Core { busy: 0.1, interrupts: 0.02 };
        let processors = Processors {
            seconds: 10.0,
            cores: vec![idle; 4],
            worked: Some(0.5),
            waited: Some(0.01),
            throttled: None,
        };
        Self { models, hubs: hubs.to_vec(), links, ceiling: None, processors: Some(processors) }
    }

    fn inventory(&self) -> Inventory {
        let root = Bus {
            id: "x-usbv2".to_owned(),
            kind: BusKind::Usb,
            mbps: Some(480.0),
            ceiling: self.ceiling.clone(),
            ..Bus::default()
        };
        let hub = |n: usize| Bus {
            id: format!("x-usbv2-{n}"),
            kind: BusKind::UsbHub,
            parent: Some(root.id.clone()),
            ..Bus::default()
        };
        let hubs = (1..=self.hubs.iter().copied().max().unwrap_or(0)).map(hub);
        let buses = [root.clone()].into_iter().chain(hubs).collect();
        Inventory { buses, ..Inventory::default() }
    }

    fn targets(&self) -> Vec<Target> {
        let one = |(at, hub): (usize, &usize)| {
            let mut target = target(&format!("/mnt/{}", (b'a' + at as u8) as char), 62 * GB, false);
            target.drives[0].name = format!("sd{}", (b'a' + at as u8) as char);
            target.drives[0].upstream = Some(format!("x-usbv2-{hub}"));
            target
        };
        self.hubs.iter().enumerate().map(one).collect()
    }

    /// The record of a run.
    fn record(&self, loads: Option<LoadName>, seed: u64) -> Vec<Event> {
        let mut asked = ask(self.targets(), Rules::standard(), 1 << 20);
        if let Some(load) = loads {
            asked = only(load, asked);
        }
        let plan = TOGETHER.plan(&asked).expect("plans");
        let board = Board { drives: self.models.clone(), buses: self.links.clone(), seed };
        let mut events = vec![Event::Start(Box::new(Start {
            schema: SCHEMA,
            run: "r1".to_owned(),
            at: String::new(),
            version: "0".to_owned(),
            command: vec!["drivebench".to_owned(), "run".to_owned(), "together".to_owned()],
            experiment: "together".to_owned(),
            targets: Vec::new(),
            host: Default::default(),
            inventory: self.inventory(),
        }))];
        for mut event in carry_out(&plan, &board).expect("runs") {
            if let (Event::Processors { did, .. }, Some(known)) = (&mut event, &self.processors) {
                *did = known.clone();
            }
            events.push(event);
        }
        events
    }

    fn findings(&self, seed: u64) -> Findings {
        TOGETHER.findings(&mut self.record(None, seed).into_iter())
    }
}

fn link(rate: f64, drives: &[usize]) -> SharedBus {
    SharedBus { rate, drives: drives.to_vec() }
}

/// The reported limits of a load: name, value, confidence.
fn limits(findings: &Findings, load: &str) -> Vec<(String, f64, String)> {
    let name = format!("{load} limit");
    let named = findings.estimates.iter().filter(|n| n.label() == name);
    named
        .map(|n| {
            let confidence = n.estimate.how.rsplit(' ').next().unwrap_or_default();
            (n.target.clone(), n.estimate.value, confidence.to_owned())
        })
        .collect()
}

fn said(findings: &Findings) -> String {
    assert!(findings.modelled, "figures from a model say so");
    let text = render(findings, Format::Text, Style::PLAIN, true);
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    text
}

/// The true limits of a load on a random machine.
#[derive(Debug, Default)]
struct Truth {
    /// Names and rates of the ceilings below what their drives could do.
    limits: Vec<(String, f64)>,
    /// Names of ceilings so near to the sum of their drives that either answer is right.
    near: Vec<String>,
}

/// What else drives do.
type Trouble = fn(&mut Model, &mut Xoshiro256PlusPlus);

/// A write cache that empties while its drive rests.
fn caches(model: &mut Model, random: &mut Xoshiro256PlusPlus) {
    let rate = model.write[0].rate;
    let bytes = rate * random.random_range(1.0..10.0);
    let cache = Cache { bytes, free: 1.0, rate: rate * random.random_range(1.5..4.0), drain: 0.3 * rate };
    model.cache = Some(cache);
}

fn stalls(model: &mut Model, random: &mut Xoshiro256PlusPlus) {
    let every = model.write[0].rate * random.random_range(1.0..4.0);
    let seconds = random.random_range(0.05..0.2);
    model.stalls =
        vec![Stalls { every, every_variation: 0.5, seconds, seconds_variation: 0.1, ..Stalls::default() }];
    // What it does in the long run is the same.
    model.write[0].rate /= 1.0 - seconds * model.write[0].rate / every;
}

/// What a drive writes in the long run, stalls included, bytes per second.
fn writes(model: &Model) -> f64 {
    1.0 / (1.0 / model.write[0].rate + model.stalls.iter().map(|s| s.seconds / s.every).sum::<f64>())
}

/// A random machine, and the limits of its reads and writes; `near` ceilings only where allowed.
fn by_chance(random: &mut Xoshiro256PlusPlus, near: bool, trouble: Trouble) -> (Machine, [Truth; 2]) {
    loop {
        let n = random.random_range(2..=6);
        let mut model = || {
            let read: f64 = random.random_range(5f64.ln()..40f64.ln()).exp() * 1e6;
            let mut model = stick(read * random.random_range(0.3..0.9), read);
            model.noise.run = random.random_range(0.002..0.02);
            trouble(&mut model, random);
            model
        };
        let models: Vec<Model> = (0..n).map(|_| model()).collect();
        let two = n > 2 && random.random_bool(0.5);
        let hubs: Vec<usize> = (0..n).map(|i| if two { 1 + i % 2 } else { 1 }).collect();
        let on = |hub: usize| (0..n).filter(|i| hubs[*i] == hub).collect::<Vec<_>>();
        // The ceiling is at the hubs, or at the bus above both.
        let groups: Vec<(&str, Vec<usize>)> = match (two, random.random_bool(0.6)) {
            (true, true) => vec![("hub 1", on(1)), ("hub 2", on(2))],
            (true, false) => vec![("the USB2 bus", (0..n).collect())],
            // Both can't be separated, and the nearer one is reported.
            (false, _) => vec![("hub 1", (0..n).collect())],
        };
        let mut links = Vec::new();
        let mut truth = [Truth::default(), Truth::default()];
        for (name, drives) in groups.into_iter().filter(|(_, drives)| drives.len() > 1) {
            let sum = |of: fn(&Model) -> f64| drives.iter().map(|&d| of(&models[d])).sum::<f64>();
            let sums = [sum(|m| m.read[0].rate), sum(writes)];
            let below = random.random_bool(0.5);
            let rate =
                sums[0] * if below { random.random_range(0.3..0.9) } else { random.random_range(1.1..2.0) };
            for (load, sum) in truth.iter_mut().zip(sums) {
                if (0.87..1.2).contains(&(rate / sum)) {
                    load.near.push(name.to_owned());
                } else if rate < sum {
                    load.limits.push((name.to_owned(), rate));
                }
            }
            links.push(link(rate, &drives));
        }
        if near || truth.iter().all(|t| t.near.is_empty()) {
            return (Machine::new(models, &hubs, links), truth);
        }
    }
}

#[derive(Debug, Default)]
struct Score {
    /// Machines with correct answers for reads and writes.
    right: u32,
    wrong: Vec<String>,
    wrong_and_sure: Vec<String>,
    /// Answers of high confidence.
    sure: u32,
    /// Loads without a verdict.
    open: u32,
    /// The largest error of a ceiling, as a share.
    worst: f64,
}

fn judge(machines: u64, seed: u64, near: bool, trouble: Trouble) -> Score {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut score = Score::default();
    for round in 0..machines {
        let (machine, truth) = by_chance(&mut random, near, trouble);
        let findings = machine.findings(round);
        let mut right = true;
        for (load, truth) in ["read", "write"].iter().zip(&truth) {
            let named = limits(&findings, load);
            if named.is_empty() {
                score.open += 1;
                continue;
            }
            let is_near = |name: &String| truth.near.contains(name);
            let true_one = |name: &String| truth.limits.iter().find(|t| t.0 == *name);
            let ceilings: Vec<_> = named.iter().filter(|l| l.0 != "drives" && !is_near(&l.0)).collect();
            let missed: Vec<_> =
                truth.limits.iter().filter(|t| !ceilings.iter().any(|l| l.0 == t.0)).collect();
            let invented: Vec<_> = ceilings.iter().filter(|l| true_one(&l.0).is_none()).collect();
            for ceiling in &ceilings {
                let off = true_one(&ceiling.0).map_or(0.0, |t| (ceiling.1 / t.1 - 1.0).abs());
                score.worst = score.worst.max(off);
            }
            score.sure += u32::from(named.iter().any(|l| l.2 == "high"));
            let drives_sure = named.iter().any(|l| l.0 == "drives" && l.2 == "high");
            let sure = invented.iter().any(|l| l.2 == "high") || !missed.is_empty() && drives_sure;
            if !missed.is_empty() || !invented.is_empty() {
                right = false;
                let text = format!("{round} {load}: {truth:?}, but {named:?}; {:?}", machine.links);
                if sure { &mut score.wrong_and_sure } else { &mut score.wrong }.push(text);
            }
        }
        score.right += u32::from(right);
    }
    score
}

#[test]
fn the_limits_of_random_machines() {
    let score = judge(20, 1, false, |_, _| ());
    assert!(score.right >= 19 && score.wrong_and_sure.is_empty() && score.worst < 0.05, "{score:#?}");
    assert!(score.sure >= 20, "of 40 answers half are sure: {score:#?}");
    let score = judge(200, 3, false, |_, _| ());
    assert!(score.right >= 197 && score.wrong_and_sure.is_empty(), "{score:#?}");
    assert!(score.open <= 4, "of 400 loads few are without a verdict: {score:#?}");
    // Ceilings near to the sum of the drives: either answer is right, but no third one.
    let score = judge(60, 2, true, |_, _| ());
    assert!(score.right >= 56 && score.wrong_and_sure.is_empty(), "{score:#?}");
}

#[test]
fn caches_and_stalls_are_no_limits() {
    let both: Trouble = |model, random| {
        caches(model, random);
        stalls(model, random);
    };
    for (what, trouble) in [("caches", caches as Trouble), ("stalls", stalls), ("both", both)] {
        let score = judge(100, 4, false, trouble);
        assert!(score.right >= 95, "{what}: {score:#?}");
        assert!(score.open <= 40, "{what}: of 200 loads few are without a verdict: {score:#?}");
    }
}

/// Two hubs: 8 + 8 MB/s of reads share 9, 10 + 10 share 12; of writes only 8 + 8 do.
fn two_hubs() -> Machine {
    let models = vec![stick(3e6, 8e6), stick(3e6, 8e6), stick(8e6, 10e6), stick(8e6, 10e6)];
    Machine::new(models, &[1, 1, 2, 2], vec![link(9e6, &[0, 1]), link(12e6, &[2, 3])])
}

/// Two sticks of a post, on a bus that carries both.
fn two_sticks() -> Machine {
    let models = vec![stick(5.275e6, 15.35e6), stick(5.295e6, 14.37e6)];
    let ceiling =
        Ceiling { theory: 60.0, practical: Some(32.0), source: "measured by others on a board".to_owned() };
    let machine = Machine::new(models, &[1, 1], Vec::new());
    Machine { ceiling: Some(ceiling), ..machine }
}

#[test]
fn hubs_that_limit_are_named() {
    let findings = two_hubs().findings(1);
    insta::assert_snapshot!(said(&findings));
    let reads = limits(&findings, "read");
    let truth = [("hub 1", 9e6), ("hub 2", 12e6)];
    for ((name, rate, confidence), (truth, ceiling)) in reads.iter().zip(truth) {
        assert_eq!((name.as_str(), confidence.as_str()), (truth, "high"));
        assert!((rate / ceiling - 1.0).abs() < 0.05, "{rate}");
    }
    assert_eq!(
        limits(&findings, "write").iter().map(|l| l.0.as_str()).collect::<Vec<_>>(),
        ["hub 2", "drives"]
    );
}

#[test]
fn limiting_drives_are_named() {
    let findings = two_sticks().findings(1);
    insta::assert_snapshot!(said(&findings));
    for load in ["read", "write"] {
        let [(name, _, confidence)] = &limits(&findings, load)[..] else { panic!("one limit") };
        assert_eq!((name.as_str(), confidence.as_str()), ("drives", "high"));
    }
}

#[test]
fn a_processor_that_limits_is_named() {
    let mut machine = two_sticks();
    machine.links = vec![link(17e6, &[0, 1])];
    let core = Core { busy: 1.0, interrupts: 0.2 };
    let did = Processors {
        seconds: 10.0,
        cores: vec![core],
        worked: Some(4.0),
        waited: Some(9.0),
        throttled: Some(0.0),
    };
    machine.processors = Some(did.clone());
    let findings = machine.findings(1);
    insta::assert_snapshot!(said(&findings));
    assert_eq!(limits(&findings, "read")[0].0, "processor");

    // A processor quota of a service manager.
    machine.processors = Some(Processors { waited: Some(0.1), throttled: Some(6.0), ..did.clone() });
    let text = said(&machine.findings(1)).replace('\n', " ");
    assert!(text.contains("a processor quota throttled drivebench for 60 % of the time"), "{text}");

    // Busy, but drivebench hardly waited: kernel threads may have waited, so confidence is low.
    machine.processors = Some(Processors { waited: Some(0.1), ..did });
    let named = limits(&machine.findings(1), "read");
    assert_eq!((named[0].0.as_str(), named[0].2.as_str()), ("the USB2 bus", "low"));
    // Without recorded processor load confidence is low.
    machine.processors = None;
    assert_eq!(limits(&machine.findings(1), "read")[0].2, "moderate");
}

#[test]
fn a_limit_shared_by_different_buses_is_unknown() {
    let mut machine = two_hubs();
    machine.links = vec![link(20e6, &[0, 1, 2, 3])];
    // No bus is above both hubs.
    let mut record = machine.record(Some(LoadName::Read), 1);
    let Event::Start(start) = &mut record[0] else { panic!("a start") };
    start.inventory.buses.retain(|bus| bus.kind == BusKind::UsbHub);
    let findings = TOGETHER.findings(&mut record.into_iter());
    insta::assert_snapshot!(said(&findings));
    let [(name, rate, confidence)] = &limits(&findings, "read")[..] else { panic!("one limit") };
    assert_eq!((name.as_str(), confidence.as_str()), ("something shared", "moderate"));
    assert!((rate / 20e6 - 1.0).abs() < 0.05, "{rate}");
}

#[test]
fn two_directories_on_one_drive_share_it() {
    let machine = Machine::new(vec![stick(4e6, 8e6), stick(4e6, 8e6)], &[1, 1], vec![link(8e6, &[0, 1])]);
    let mut record = machine.record(Some(LoadName::Read), 1);
    for event in &mut record {
        if let Event::Plan { plan } = event {
            plan.targets[1].drives[0].name = "sda".to_owned();
        }
    }
    let findings = TOGETHER.findings(&mut record.into_iter());
    let text = said(&findings).replace('\n', " ");
    assert!(text.contains("the drive sda limits /mnt/a and /mnt/b"), "{text}");
    assert!(!text.contains("USB2"), "no bus is named: {text}");
    assert_eq!(text.matches("share its speed").count(), 1, "{text}");
    // The same number has the same interval in the table and in the verdict.
    let sum = &findings.tables[0].rows.last().expect("a sum")[2];
    assert!(findings.verdicts[0].contains(&format!("to {sum};")), "{sum}: {}", findings.verdicts[0]);
}

#[test]
fn a_truncated_record_is_read() {
    let record = two_hubs().record(None, 1);
    for keep in [0, 1, 2, 3, 40, 300, 900, record.len() / 2, record.len() - 1] {
        let findings = TOGETHER.findings(&mut record[..keep].iter().cloned());
        let text = render(&findings, Format::Text, Style::PLAIN, true);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{keep} events: {text}");
    }
    // The record written and read again gives the same findings.
    let lines: Vec<String> = record.iter().map(|e| serde_json::to_string(e).expect("JSON")).collect();
    let read: Vec<Event> = lines.iter().map(|l| serde_json::from_str(l).expect("an event")).collect();
    assert_eq!(TOGETHER.findings(&mut read.into_iter()), TOGETHER.findings(&mut record.into_iter()));
}

#[test]
fn one_run_has_no_interval_and_no_verdict() {
    let machine = two_hubs();
    let mut asked = ask(machine.targets(), Rules::standard(), 1 << 20);
    asked.values.set("runs", "1");
    asked.effort.max_seconds = 60.0;
    let plan = TOGETHER.plan(&asked).expect("plans");
    let all = plan.seconds();
    assert!(all.is_some_and(|s| s <= 60.0 + 1e-9), "{all:?}");
    assert!(plan.describe().contains("all targets: at most 1:00"), "{}", plan.describe());
    let board = Board { drives: machine.models, buses: machine.links, seed: 1 };
    let findings = TOGETHER.findings(&mut carry_out(&plan, &board).expect("runs").into_iter());
    assert!(
        findings
            .estimates
            .iter()
            .filter(|n| n.label() != "read limit")
            .all(|n| n.estimate.high.is_infinite())
    );
    for load in ["read", "write"] {
        assert_eq!(limits(&findings, load), []);
    }
    assert!(said(&findings).contains("one run has no interval"), "{}", said(&findings));
}

/// The sum at once of a load as a share of the sum alone.
fn share(findings: &Findings, load: &str) -> Estimate {
    let sum = |scope| {
        let of = |m: &&Metric| m.scope == scope && m.load.as_ref().is_some_and(|l| l.name == load);
        &findings.estimates.iter().find(of).expect("a sum").estimate
    };
    compare::ratio(sum(Scope::Sum), sum(Scope::SumAlone)).expect("positive").estimate
}

#[test]
fn there_is_no_verdict_where_the_interval_holds_both_answers() {
    let mut machine = two_sticks();
    machine.models.iter_mut().for_each(|model| model.noise.run = 0.1);
    let mut open = 0;
    for seed in 1..=20 {
        let findings = machine.findings(seed);
        for load in ["read", "write"] {
            let share = share(&findings, load);
            let table = findings.tables.iter().find(|table| table.columns[0].name == load).expect("a table");
            let sum = table.rows.last().expect("a sum");
            if share.low < 0.9 && share.high >= 0.95 {
                open += 1;
                assert_eq!(limits(&findings, load), [], "{share:?}");
                assert!(said(&findings).contains("is not known"), "{}", said(&findings));
            } else {
                assert!(!limits(&findings, load).is_empty(), "{share:?}");
                assert_ne!(sum[3], "not known", "{share:?}");
            }
        }
    }
    assert!(open > 0);
}

#[test]
fn only_the_time_in_which_all_loads_ran_counts() {
    // The fast one ends long before the slow one.
    let mut machine =
        Machine::new(vec![stick(4e6, 5e6), stick(30e6, 40e6)], &[1, 1], vec![link(30e6, &[0, 1])]);
    machine.models.iter_mut().for_each(|m| m.noise.run = 0.002);
    let mut asked = only(LoadName::Read, ask(machine.targets(), Rules::standard(), 1 << 20));
    asked.effort.max_bytes = 80_000_000;
    let plan = TOGETHER.plan(&asked).expect("plans");
    assert!(
        plan.measures().all(
            |(_, m)| matches!(m.rule, drivebench::plan::Rule::Fixed { bytes, .. } if bytes <= 80_000_000)
        )
    );
    let board = Board { drives: machine.models, buses: machine.links, seed: 1 };
    let findings = TOGETHER.findings(&mut carry_out(&plan, &board).expect("runs").into_iter());
    let sum = findings.estimates.iter().find(|n| n.label() == "read sum").expect("a sum");
    assert!((sum.estimate.value / 30e6 - 1.0).abs() < 0.03, "{sum:?}");
}
