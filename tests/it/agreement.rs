//! baseline and advise never contradict each other, on 200 modelled drives.

use crate::support::modelled::{ask, carry_out, plan, target};
use drivebench::{
    advise::{Answer, Evidence, Topic, advise},
    analyse::Rules,
    experiments::{BASELINE, Request, Values},
    findings::{
        Findings,
        fitness::{Use, Verdict},
    },
    inventory::{Drive, Inventory, Mount},
    plan::Suite,
    record::{End, Event, How, SCHEMA, Start},
};
use drivebench_modelled::sim::{Board, Model, Noise, Stalls, Zone};

const DRIVES: u64 = 200;
const CAPACITY: u64 = 62_000_000_000;
/// Each is evenly spread over 0 to 1 for drives one after the other (additive recurrences; Roberts 2018).
const SPREAD: [f64; 4] = [0.8567, 0.7339, 0.6287, 0.5386];

/// Sticks and SSDs: 8 to 130 MB/s written, 400 to 4,000 operations per second, many near a threshold; a third of them stall, for 0.1 to 2 s.
fn model(n: u64) -> Model {
    let [speed, operation, stall, often] = SPREAD.map(|step| (n as f64 * step).fract());
    let speed = 4e6 * 16f64.powf(speed);
    let stalls = Stalls {
        every: 2e6 * 20f64.powf(often),
        every_variation: 0.3,
        seconds: 0.1 * 20f64.powf(stall),
        seconds_variation: 0.1,
        reads: n % 2 == 0,
        ..Stalls::default()
    };
    Model {
        capacity: CAPACITY,
        write: vec![Zone { from: 0, rate: speed * 2.0 }],
        read: vec![Zone { from: 0, rate: speed * 4.0 }],
        operation_seconds: 1.0 / (400.0 * 10f64.powf(operation)),
        noise: Noise { variation: 0.1, memory: 0.6, run: 0.02 },
        stalls: if n % 3 == 0 { vec![stalls] } else { Vec::new() },
        ..Model::default()
    }
}

/// A machine of the lab that runs from this drive.
fn machine(drive: &Drive) -> Inventory {
    let mut inventory = Inventory::default();
    inventory.machine.lab = Some("model".to_owned());
    inventory.drives = vec![Drive { name: "sda".to_owned(), device: (8, 0), ..drive.clone() }];
    inventory.mounts = vec![Mount {
        path: "/".to_owned(),
        root: "/".to_owned(),
        source: "/dev/sda".to_owned(),
        filesystem: "ext4".to_owned(),
        options: vec!["rw".to_owned()],
        device: (8, 0),
        space: None,
    }];
    inventory
}

/// What a short run of the default suite finds, and what is advised after it.
fn run_and_advice(n: u64) -> (Findings, Vec<Answer>) {
    let target = target("A", CAPACITY, false);
    let inventory = machine(&target.drives[0]);
    let mut values = Values::default();
    values.set("rounds", "4");
    let mut suite = Suite::mark();
    // Only these judge a drive.
    suite.loads.retain(|load| load.load.depth == 1);
    let asked = Request { values, seed: n, suite: Some(suite), ..ask(vec![target], Rules::quick(), 4096) };
    let board = Board { drives: vec![model(n)], buses: Vec::new(), seed: n };
    let start = Start {
        schema: SCHEMA,
        run: "r1".to_owned(),
        at: "2026-11-23T00:00:00Z".to_owned(),
        version: "0".to_owned(),
        command: Vec::new(),
        experiment: "baseline".to_owned(),
        targets: Vec::new(),
        host: Default::default(),
        inventory: inventory.clone(),
    };
    let end = End { how: How::Finished, at: String::new() };
    let mut events = vec![Event::Start(Box::new(start))];
    events.extend(carry_out(&plan(&asked).expect("plans"), &board).expect("runs"));
    events.push(Event::End(end));
    let findings = BASELINE.findings(&mut events.into_iter());
    let answers = advise(&inventory, &Evidence::of(&findings));
    (findings, answers)
}

#[test]
fn baseline_and_advice_agree() {
    // How often a drive was fit, unfit, and neither.
    let mut seen = [[0; 3]; 2];
    for n in 0..DRIVES {
        let (findings, answers) = run_and_advice(n);
        for (at, (topic, purpose)) in
            [(Topic::Swap, Use::Swap), (Topic::Boot, Use::System)].into_iter().enumerate()
        {
            let found = findings.fitness.iter().find(|f| f.purpose == purpose).expect("a verdict").verdict;
            let answer = answers.iter().find(|a| a.topic == topic).expect("an answer");
            let is_unfit = matches!(found, Verdict::Unfit(..));
            assert_eq!(
                answer.because.iter().any(|why| why.contains("is not fit for")),
                is_unfit,
                "{answer:?}"
            );
            match topic {
                Topic::Swap => {
                    assert_eq!(answer.says.starts_with("On Model"), found == Verdict::Fit, "{answer:?}");
                }
                _ => assert_eq!(answer.says.starts_with("Stay"), !is_unfit, "{answer:?}"),
            }
            seen[at][match found {
                Verdict::Fit => 0,
                Verdict::Unfit(..) => 1,
                Verdict::Undecided(..) => 2,
            }] += 1;
        }
    }
    assert!(seen.iter().flatten().all(|times| *times >= 10), "all verdicts were seen: {seen:?}");
}
