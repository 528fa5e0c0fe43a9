//! together on modelled drives, whose truth is known: from the plan to the limit that is named.

#[path = "support/modelled.rs"]
mod modelled;

use drivebench::{
    analyse::Rules,
    engine::sim::{Board, Bus as Link, Model, Noise, Zone},
    experiments::{Experiment, LoadName, Together},
    findings::Findings,
    inventory::{Bus, BusKind, Ceiling, Core, Inventory, NetworkPort, Processors, Target},
    record::{Event, SCHEMA, Start},
    report::{Format, Style, render},
};
use modelled::{ask, carry_out, only, target};
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

/// What a machine with modelled drives is.
struct Machine {
    models: Vec<Model>,
    /// The hub that each drive hangs on, from 1.
    hubs: Vec<usize>,
    links: Vec<Link>,
    /// What is known of its one USB bus.
    ceiling: Option<Ceiling>,
    ports: Vec<NetworkPort>,
    /// What the processors do at any time, where it is recorded.
    processors: Option<Processors>,
}

impl Machine {
    fn new(models: Vec<Model>, hubs: &[usize], links: Vec<Link>) -> Self {
        let idle = Core { busy: 0.1, interrupts: 0.02, iowait: 0.5 };
        let processors = Processors {
            seconds: 10.0,
            cores: vec![idle; 4],
            worked: Some(0.5),
            waited: Some(0.01),
            throttled: None,
        };
        let (ceiling, ports) = (None, Vec::new());
        Self { models, hubs: hubs.to_vec(), links, ceiling, ports, processors: Some(processors) }
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
        Inventory { buses, ports: self.ports.clone(), ..Inventory::default() }
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
        let mut asked = ask(self.targets(), Rules::standard(), Together.block());
        if let Some(load) = loads {
            asked = only(load, asked);
        }
        let plan = Together.plan(&asked).expect("plans");
        let board = Board { drives: self.models.clone(), buses: self.links.clone(), seed };
        let mut events = vec![Event::Start(Box::new(Start {
            schema: SCHEMA,
            run: "r1".to_owned(),
            at: String::new(),
            version: "0".to_owned(),
            command: vec!["drivebench".to_owned(), "run".to_owned(), "together".to_owned()],
            experiment: "together".to_owned(),
            targets: Vec::new(),
            inventory: self.inventory(),
        }))];
        for event in carry_out(&plan, &board).expect("runs") {
            let began = if let Event::Step { step, .. } = &event { Some(*step) } else { None };
            events.push(event);
            let did = began.zip(self.processors.clone());
            events.extend(did.map(|(step, did)| Event::Processors { step, did }));
        }
        events
    }

    fn findings(&self, seed: u64) -> Findings {
        Together.findings(&mut self.record(None, seed).into_iter())
    }
}

fn link(rate: f64, drives: &[usize]) -> Link {
    Link { rate, drives: drives.to_vec() }
}

/// What is named as the limit of a load: name, value, confidence.
fn limits(findings: &Findings, load: &str) -> Vec<(String, f64, String)> {
    let name = format!("{load} limit");
    let named = findings.estimates.iter().filter(|n| n.name == name);
    named
        .map(|n| {
            let confidence = n.estimate.how.rsplit(' ').next().unwrap_or_default();
            (n.target.clone(), n.estimate.value, confidence.to_owned())
        })
        .collect()
}

fn said(findings: &Findings) -> String {
    assert!(findings.modelled, "figures from a model say so");
    let text = render(findings, Format::Text, Style::PLAIN);
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    text
}

/// What limits a load of a machine by chance.
#[derive(Debug, Default)]
struct Truth {
    /// Names and rates of the ceilings below what their drives could do.
    limits: Vec<(String, f64)>,
    /// Names of ceilings so near to what their drives can do that either is right.
    near: Vec<String>,
}

/// A machine by chance, and what limits its reads and its writes; `near` ceilings only where they are allowed.
fn by_chance(random: &mut Xoshiro256PlusPlus, near: bool) -> (Machine, [Truth; 2]) {
    loop {
        let n = random.random_range(2..=6);
        let mut model = || {
            let read: f64 = random.random_range(5f64.ln()..40f64.ln()).exp() * 1e6;
            let mut model = stick(read * random.random_range(0.3..0.9), read);
            model.noise.run = random.random_range(0.002..0.02);
            model
        };
        let models: Vec<Model> = (0..n).map(|_| model()).collect();
        let two = n > 2 && random.random_bool(0.5);
        let hubs: Vec<usize> = (0..n).map(|i| if two { 1 + i % 2 } else { 1 }).collect();
        let on = |hub: usize| (0..n).filter(|i| hubs[*i] == hub).collect::<Vec<_>>();
        // The ceiling stands at the hubs, or at the bus that both hang on.
        let groups: Vec<(&str, Vec<usize>)> = match (two, random.random_bool(0.6)) {
            (true, true) => vec![("hub 1", on(1)), ("hub 2", on(2))],
            (true, false) => vec![("the USB2 bus", (0..n).collect())],
            // Which of both it is can't be told, and the nearer one is named.
            (false, _) => vec![("hub 1", (0..n).collect())],
        };
        let mut links = Vec::new();
        let mut truth = [Truth::default(), Truth::default()];
        for (name, drives) in groups.into_iter().filter(|(_, drives)| drives.len() > 1) {
            let sum = |of: fn(&Model) -> f64| drives.iter().map(|&d| of(&models[d])).sum::<f64>();
            let sums = [sum(|m| m.read[0].rate), sum(|m| m.write[0].rate)];
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
    /// Machines of which reads and writes were answered rightly.
    right: u32,
    wrong: Vec<String>,
    wrong_and_sure: Vec<String>,
    /// Answers of high confidence.
    sure: u32,
    /// The most that a ceiling was off, as a share.
    worst: f64,
}

fn judge(machines: u64, seed: u64, near: bool) -> Score {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut score = Score::default();
    for round in 0..machines {
        let (machine, truth) = by_chance(&mut random, near);
        let findings = machine.findings(round);
        let mut right = true;
        for (load, truth) in ["read", "write"].iter().zip(&truth) {
            let named = limits(&findings, load);
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
fn the_limit_of_machines_by_chance() {
    let score = judge(20, 1, false);
    assert!(score.right >= 19 && score.wrong_and_sure.is_empty() && score.worst < 0.05, "{score:#?}");
    assert!(score.sure >= 20, "of 40 answers half are sure: {score:#?}");
    // Ceilings near to what the drives can do: either is right, but a third thing is not.
    let score = judge(60, 2, true);
    assert!(score.right >= 56 && score.wrong_and_sure.is_empty(), "{score:#?}");
}

#[test]
#[ignore = "a study: cargo test --test together -- --ignored --nocapture"]
fn the_limit_of_many_machines_by_chance() {
    for (seed, near) in [(3, false), (4, true)] {
        println!("{:#?}", judge(1000, seed, near));
    }
}
