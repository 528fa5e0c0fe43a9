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

/// A machine by chance, and what limits it: the names that may be given, for reads and for writes.
fn by_chance(random: &mut Xoshiro256PlusPlus, blurred: bool) -> (Machine, [Vec<(String, f64)>; 2]) {
    loop {
        let n = random.random_range(2..=6);
        let models: Vec<Model> = (0..n)
            .map(|_| {
                let read: f64 = (random.random_range(5f64.ln()..40f64.ln())).exp() * 1e6;
                stick(read * random.random_range(0.3..0.9), read)
            })
            .collect();
        let two = n > 2 && random.random_bool(0.5);
        let hubs: Vec<usize> = (0..n).map(|i| if two { 1 + i % 2 } else { 1 }).collect();
        let on = |hub: usize| (0..n).filter(|i| hubs[*i] == hub).collect::<Vec<_>>();
        // The ceiling stands at the hubs, or at the bus that both hang on.
        let at_hubs = two && random.random_bool(0.6);
        let groups: Vec<(String, Vec<usize>)> = if at_hubs {
            vec![("hub 1".to_owned(), on(1)), ("hub 2".to_owned(), on(2))]
        } else {
            vec![("the USB2 bus".to_owned(), (0..n).collect())]
        };
        let mut links = Vec::new();
        let mut truth = [Vec::new(), Vec::new()];
        let mut clear = true;
        for (name, drives) in groups.into_iter().filter(|(_, drives)| drives.len() > 1) {
            let sum = |of: fn(&Model) -> f64| drives.iter().map(|&d| of(&models[d])).sum::<f64>();
            let sums = [sum(|m| m.read[0].rate), sum(|m| m.write[0].rate)];
            let ratio = if random.random_bool(0.5) {
                random.random_range(0.3..0.9)
            } else {
                random.random_range(1.1..2.0)
            };
            let rate = ratio * sums[0];
            for (load, sum) in truth.iter_mut().zip(sums) {
                clear &= !(0.87..1.2).contains(&(rate / sum));
                if rate < sum {
                    load.push((name.clone(), rate));
                }
            }
            links.push(link(rate, &drives));
        }
        if clear || blurred {
            return (Machine::new(models, &hubs, links), truth);
        }
    }
}

#[derive(Debug, Default)]
struct Score {
    right: u32,
    wrong: Vec<String>,
    wrong_and_sure: Vec<String>,
    high: u32,
    worst: f64,
}

fn judge(scenarios: u64, seed: u64, blurred: bool) -> Score {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut score = Score::default();
    for round in 0..scenarios {
        let (machine, truth) = by_chance(&mut random, blurred);
        let findings = machine.findings(round);
        for (load, truth) in ["read", "write"].iter().zip(&truth) {
            let named = limits(&findings, load);
            // On one hub alone it can't be told whether it is the hub or the bus above.
            let one = machine.hubs.iter().all(|h| *h == 1);
            let same = |name: &str, other: &str| {
                name == other || one && ["hub 1", "the USB2 bus"].contains(&name) && other == "the USB2 bus"
            };
            let ceilings: Vec<&(String, f64, String)> = named.iter().filter(|l| l.0 != "drives").collect();
            let right = ceilings.len() == truth.len()
                && truth.iter().all(|(name, _)| ceilings.iter().any(|l| same(&l.0, name)));
            let sure = named.iter().any(|l| l.2 == "high");
            score.high += u32::from(sure);
            if right {
                score.right += 1;
                for (name, rate) in truth {
                    let found = ceilings.iter().find(|l| same(&l.0, name)).expect("named");
                    score.worst = score.worst.max((found.1 / rate - 1.0).abs());
                }
            } else {
                let links: Vec<f64> = machine.links.iter().map(|l| l.rate).collect();
                let text = format!(
                    "{round} {load}: {truth:?}, but {named:?}; links {links:?}, hubs {:?}",
                    machine.hubs
                );
                if sure { &mut score.wrong_and_sure } else { &mut score.wrong }.push(text);
            }
        }
    }
    score
}

#[test]
fn the_limit_of_twenty_machines_by_chance() {
    let score = judge(20, 1, false);
    println!("{score:#?}");
    assert!(score.right >= 38 && score.wrong_and_sure.is_empty(), "{score:#?}");
    assert!(score.worst < 0.05 && score.high > 10, "{score:#?}");
}

#[test]
#[ignore = "a study: a minute"]
fn the_limit_of_many_machines_by_chance() {
    for (seed, blurred) in [(2, false), (3, true)] {
        println!("{:#?}", judge(200, seed, blurred));
    }
}
