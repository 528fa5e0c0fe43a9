//! bays on modelled drives, whose truth is known: from the plan to the sentences.

#[path = "support/modelled.rs"]
mod modelled;

use drivebench::{
    analyse::Rules,
    engine::sim::{Board, Bus, Model, Noise, Stalls, Zone},
    experiments::{Ask, Bays, Experiment, LoadName},
    findings::Findings,
    inventory::{Content, Drive, Mount, Partition},
    plan::{Plan, Step},
    record::{Done, End, Event, How},
    report::{Format, Style, render},
    target::Target,
};
use modelled::{ask, carry_out};

const SIZE: u64 = 61_991_813_120;

/// The four sticks: write and read speed, and how often and how long writing stalls.
fn sticks() -> Vec<Model> {
    let stick = |write: f64, read: f64, every: f64, seconds: f64| Model {
        capacity: SIZE,
        write: vec![Zone { from: 0, rate: write }],
        read: vec![Zone { from: 0, rate: read }],
        noise: Noise { variation: 0.03, memory: 0.5, run: 0.003 },
        stalls: vec![Stalls {
            every,
            every_variation: 0.2,
            seconds,
            seconds_variation: 0.005,
            ..Stalls::default()
        }],
        ..Model::default()
    };
    vec![
        stick(1.98e6, 6.6e6, 34e6, 0.44),
        stick(5.5e6, 7.26e6, 34e6, 2.6),
        stick(2.44e6, 6.40e6, 34e6, 0.07),
        stick(2.42e6, 6.39e6, 34e6, 0.07),
    ]
}

/// A drive in its bay: read as a device, or through a directory on it.
fn target(at: usize, directory: bool) -> Target {
    let letter = char::from(b'a' + at as u8);
    let uuid = Some(format!("uuid-{letter}"));
    let part = Partition {
        device: (8, at as u32 * 16 + 1),
        content: Content { uuid, ..Content::default() },
        ..Partition::default()
    };
    let drive = Drive {
        name: format!("sd{letter}"),
        model: Some("Ultra".to_owned()),
        serial: Some(format!("4C53000{at}")),
        bus: Some("usb".to_owned()),
        controller: Some("3f980000.usb-usbv2".to_owned()),
        bay: Some(format!("1.{}", at + 1)),
        sectors: SIZE / 512,
        logical_block: 512,
        partitions: vec![part],
        ..Drive::default()
    };
    let mount = Mount { path: format!("/mnt/{letter}"), device: (8, at as u32 * 16 + 1), ..Mount::default() };
    let path = if directory { mount.path.clone() } else { format!("/dev/sd{letter}") };
    Target {
        given: path.clone(),
        kind: if directory {
            drivebench::target::Kind::Directory
        } else {
            drivebench::target::Kind::BlockDevice
        },
        path: path.into(),
        mount: directory.then_some(mount),
        size: Some(SIZE),
        ..modelled::target("", SIZE, false)
    }
    .with(drive)
}

trait With {
    fn with(self, drive: Drive) -> Self;
}

impl With for Target {
    fn with(self, drive: Drive) -> Self {
        Self { drives: vec![drive], ..self }
    }
}

fn asked(n: usize, directory: bool) -> Ask {
    ask((0..n).map(|at| target(at, directory)).collect(), Rules::quick(), 4096)
}

/// Carries the plan out: in each arrangement the drives are on a board whose bays may have ceilings, bytes per second.
fn moved(plan: &Plan, drives: &[Model], bays: &[Option<f64>], seed: u64) -> Vec<Event> {
    let mut events = vec![Event::Plan { plan: plan.clone() }];
    let names: Vec<String> = plan.targets.iter().map(|t| t.drives[0].full_bay()).collect();
    let begins: Vec<usize> = plan.arrangements().map(|(at, _)| at).collect();
    for (i, (step, arrange)) in plan.arrangements().enumerate() {
        let place = |at: usize| names.iter().position(|b| *b == arrange.bays[at]).expect("one of the bays");
        let in_bay = |at: usize| Drive {
            bay: Some(format!("1.{}", place(at) + 1)),
            ..plan.targets[at].drives[0].clone()
        };
        let there = (0..drives.len()).map(in_bay).collect();
        events.push(Event::Arranged { step, at: String::new(), drives: there, seconds: 60.0 });
        let ceiling = |at: usize| bays[place(at)].map(|rate| Bus { rate, drives: vec![at] });
        let buses = (0..drives.len()).filter_map(ceiling).collect();
        let board = Board { drives: drives.to_vec(), buses, seed: seed * 1000 + i as u64 };
        // The other arrangements' steps keep their places but do nothing.
        let end = begins.get(i + 1).copied().unwrap_or(plan.steps.len());
        let now = |(at, s): (usize, &Step)| {
            if (step..end).contains(&at) { s.clone() } else { plan.steps[begins[0]].clone() }
        };
        let now = Plan { steps: plan.steps.iter().enumerate().map(now).collect(), ..plan.clone() };
        events.extend(carry_out(&now, &board).expect("runs").into_iter().skip(1));
    }
    events
}

fn found(events: &[Event]) -> Findings {
    Bays.findings(&mut events.iter().cloned())
}

fn said(findings: &Findings) -> String {
    assert!(findings.modelled, "figures from a model say so");
    let text = render(findings, Format::Text, Style::PLAIN);
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    text
}

#[test]
fn the_four_sticks_differ_and_their_bays_do_not() {
    let plan = Bays.plan(&asked(4, true)).expect("plans");
    let findings = found(&moved(&plan, &sticks(), &[None; 4], 1));
    insta::assert_snapshot!(said(&findings));
    assert!(findings.verdicts[0].starts_with("write: the drive, not the bay."), "{:?}", findings.verdicts);
    assert!(findings.verdicts[1].starts_with("read: the drive, not the bay."), "{:?}", findings.verdicts);
}

#[test]
fn one_slow_bay_is_found_and_named() {
    let plan = Bays.plan(&asked(4, false)).expect("plans");
    let alike = vec![sticks()[2].clone(); 4];
    let findings = found(&moved(&plan, &alike, &[None, None, Some(5.5e6), None], 2));
    insta::assert_snapshot!(said(&findings));
    assert!(findings.verdicts[0].starts_with("read: the bay, not the drive."), "{:?}", findings.verdicts);
    let slow = findings.estimates.iter().find(|n| n.target == "bay 1.3").expect("the bay's estimate");
    // 5.5 instead of 6.4 MB/s.
    assert!(slow.estimate.low <= 5.5 / 6.4 && 5.5 / 6.4 <= slow.estimate.high, "{slow:?}");
}

#[test]
fn a_slow_bay_is_told_from_slow_drives_with_two_drives() {
    let plan = Bays.plan(&asked(2, false)).expect("plans");
    let findings = found(&moved(&plan, &sticks()[..2], &[None, Some(5.5e6)], 3));
    insta::assert_snapshot!(said(&findings));
}

#[test]
fn where_nothing_differs_nothing_is_blamed() {
    let plan = Bays.plan(&asked(3, false)).expect("plans");
    let findings = found(&moved(&plan, &vec![sticks()[2].clone(); 3], &[None; 3], 4));
    insta::assert_snapshot!(said(&findings));
}

#[test]
fn a_run_that_was_stopped_goes_on_where_it_ended() {
    let plan = Bays.plan(&asked(4, true)).expect("plans");
    let events = moved(&plan, &sticks(), &[None; 4], 1);
    let whole = found(&events);
    // Cut in the middle of the third arrangement, amid a load.
    let third = plan.arrangements().nth(2).expect("four arrangements").0;
    let cut = events
        .iter()
        .position(|e| matches!(e, Event::Window { step, .. } if *step > third + 3))
        .expect("a window");
    let stopped = End { how: How::Interrupted, at: String::new() };
    let mut record = [&events[..cut + 10], &[Event::End(stopped)]].concat();
    let text = said(&found(&record));
    assert!(text.contains("2 of 4 arrangements measured") && text.contains("Stopped by hand"), "{text}");

    let mut done = Done::default();
    record.iter().for_each(|e| done.take(e));
    let done = done.steps(&plan);
    assert!((0..third).all(|step| done.contains(&step)), "{done:?}");
    assert!(done.contains(&third) && done.len() < plan.steps.len());
    // A file that went with the process is made and written anew, even where writing it was over.
    let begun = plan
        .steps
        .iter()
        .enumerate()
        .skip(third)
        .find(|(at, s)| matches!(s, Step::Scratch { .. }) && !done.contains(at));
    let begun = begun.expect("the file at work").0;
    assert!(!done.contains(&(begun + 1)) && !done.contains(&(begun + 2)), "{done:?}");

    let resume = drivebench::record::Resume {
        at: String::new(),
        version: String::new(),
        host: Default::default(),
        inventory: Default::default(),
    };
    record.push(Event::Resume(Box::new(resume)));
    let step_of = |e: &Event| match e {
        Event::Step { step, .. }
        | Event::Window { step, .. }
        | Event::Outcome { step, .. }
        | Event::Arranged { step, .. } => Some(*step),
        _ => None,
    };
    record.extend(events.iter().filter(|e| step_of(e).is_some_and(|s| !done.contains(&s))).cloned());
    record.push(Event::End(End { how: How::Finished, at: String::new() }));
    let resumed = found(&record);
    assert_eq!(
        (resumed.tables, resumed.verdicts, resumed.flags),
        (whole.tables, whole.verdicts, whole.flags)
    );
}

#[test]
fn a_record_that_ends_anywhere_is_read_without_an_answer() {
    let plan = Bays.plan(&asked(2, false)).expect("plans");
    let events = moved(&plan, &sticks()[..2], &[None, None], 5);
    for keep in (0..events.len()).step_by(events.len() / 40) {
        let text = render(&found(&events[..keep]), Format::Text, Style::PLAIN);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{keep}: {text}");
        assert!(!text.contains("Drives explain"), "{keep}: {text}");
    }
}

#[test]
fn what_cannot_be_moved_or_known_again_is_refused() {
    let of = |change: fn(&mut Target)| {
        let mut asked = asked(2, false);
        change(&mut asked.targets[1]);
        Bays.plan(&asked).expect_err("refused").to_string()
    };
    let refused = [
        of(|t| t.drives[0].serial = None),
        of(|t| t.drives[0].serial = Some("0123456789ABCDEF".to_owned())),
        of(|t| t.drives[0].shared_serial = true),
        of(|t| t.drives[0].bus = Some("mmc".to_owned())),
        of(|t| t.drives[0].controller = Some("3f980000.usb-usbv3".to_owned())),
        of(|t| t.kind = drivebench::target::Kind::File),
        of(|t| t.layers = vec!["md0".to_owned()]),
        of(|t| *t = target(0, false)),
        Bays.plan(&asked(1, false)).expect_err("one").to_string(),
        Bays.plan(&modelled::only(LoadName::Write, asked(2, false))).expect_err("a device").to_string(),
    ];
    insta::assert_snapshot!(refused.join("\n"));
}
