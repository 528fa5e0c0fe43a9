//! bays on modelled drives with known speeds, from the plan to the verdicts.

use crate::support::modelled;
use crate::support::modelled::{ask, in_bay};
use drivebench::{
    analyse::Rules,
    engine::Cancel,
    experiments::{BAYS, LoadName, Request},
    findings::Findings,
    inventory::{Drive, Mount, Partition, Signature},
    plan::{Plan, ScratchFile, Step, StepId},
    record::{Done, End, Event, How, Run},
    report::{Format, Style, render},
    target::Target,
};
use drivebench_modelled::{
    Modelled,
    sim::{Board, Model, Noise, SharedBus, Stalls, Zone},
};

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
        content: Signature { uuid, ..Signature::default() },
        ..Partition::default()
    };
    let drive = Drive { sectors: SIZE / 512, partitions: vec![part], ..in_bay(at).drives.remove(0) };
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

fn asked(n: usize, directory: bool) -> Request {
    ask((0..n).map(|at| target(at, directory)).collect(), Rules::quick(), 4096)
}

/// The board of an arrangement: bays may have ceilings, bytes per second.
fn boards(plan: &Plan, drives: &[Model], bays: &[Option<f64>], seed: u64) -> impl Fn(u32) -> Board + 'static {
    let names: Vec<String> = plan.targets.iter().map(|t| t.drives[0].full_bay()).collect();
    let place = |bay: &String| names.iter().position(|b| b == bay).expect("one of the bays");
    let ceiling = |(at, bay): (usize, &String)| Some(SharedBus { rate: bays[place(bay)]?, drives: vec![at] });
    let each: Vec<Vec<SharedBus>> =
        plan.arrangements().map(|(_, a)| a.bays.iter().enumerate().filter_map(ceiling).collect()).collect();
    let drives = drives.to_vec();
    move |number| Board {
        drives: drives.clone(),
        buses: each[number as usize - 1].clone(),
        seed: seed * 1000 + u64::from(number - 1),
    }
}

/// Runs the plan; drives are moved as requested.
fn moved(plan: &Plan, drives: &[Model], bays: &[Option<f64>], seed: u64) -> Vec<Event> {
    let boards = boards(plan, drives, bays, seed);
    let mut world = Modelled::new(plan, &boards(1)).expect("a board");
    world = world.with_people(move |number, _| boards(number));
    let mut events = vec![Event::Plan { plan: plan.clone() }];
    let how = world.run(plan, &Done::default(), &mut events, &Cancel::default()).expect("runs");
    assert_eq!(how, How::Finished);
    events
}

fn found(events: &[Event]) -> Findings {
    BAYS.findings(&mut events.iter().cloned())
}

fn said(findings: &Findings) -> String {
    assert!(findings.modelled, "figures from a model say so");
    let text = render(findings, Format::Text, Style::PLAIN, true);
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    text
}

#[test]
fn the_four_sticks_differ_and_their_bays_do_not() {
    let plan = BAYS.plan(&asked(4, true)).expect("plans");
    let findings = found(&moved(&plan, &sticks(), &[None; 4], 1));
    insta::assert_snapshot!(said(&findings));
    assert!(findings.verdicts[0].starts_with("write: the drive, not the bay (p"), "{:?}", findings.verdicts);
    assert!(findings.verdicts[1].starts_with("read: the drive, not the bay (p"), "{:?}", findings.verdicts);
}

#[test]
fn one_slow_bay_is_found_and_named() {
    let plan = BAYS.plan(&asked(4, false)).expect("plans");
    let alike = vec![sticks()[2].clone(); 4];
    let findings = found(&moved(&plan, &alike, &[None, None, Some(5.5e6), None], 2));
    insta::assert_snapshot!(said(&findings));
    assert!(findings.verdicts[0].starts_with("read: the bay, not the drive (p"), "{:?}", findings.verdicts);
    let slow = findings.estimates.iter().find(|n| n.target == "bay 1.3").expect("the bay's estimate");
    // 5.5 instead of 6.4 MB/s.
    assert!(slow.estimate.low <= 5.5 / 6.4 && 5.5 / 6.4 <= slow.estimate.high, "{slow:?}");
}

#[test]
fn a_slow_bay_is_found_with_two_drives() {
    let plan = BAYS.plan(&asked(2, false)).expect("plans");
    let findings = found(&moved(&plan, &sticks()[..2], &[None, Some(5.5e6)], 3));
    insta::assert_snapshot!(said(&findings));
}

#[test]
fn equal_drives_and_bays_show_no_difference() {
    let plan = BAYS.plan(&asked(3, false)).expect("plans");
    let findings = found(&moved(&plan, &vec![sticks()[2].clone(); 3], &[None; 3], 4));
    insta::assert_snapshot!(said(&findings));
}

#[test]
fn a_stopped_run_resumes_where_it_ended() {
    let plan = BAYS.plan(&asked(4, true)).expect("plans");
    let events = moved(&plan, &sticks(), &[None; 4], 1);
    let whole = found(&events);
    // Cut in the middle of the third arrangement, amid a load.
    let third = plan.arrangements().nth(2).expect("four arrangements").0.id;
    let cut = events
        .iter()
        .position(|e| matches!(e, Event::Window { step, .. } if step.0 > third.0 + 3))
        .expect("a window");
    let stopped = End { how: How::Interrupted, at: String::new() };
    let mut record = [&events[..cut + 10], &[Event::End(stopped)]].concat();
    let text = said(&found(&record));
    assert!(text.contains("2 of 4 arrangements measured") && text.contains("Interrupted"), "{text}");
    assert!(text.contains("`drivebench run bays --resume "), "{text}");

    let done = Done::of(&Run::with_latencies(record.iter().cloned()), &plan);
    let is_done = |step: &Step| done.steps.contains(&step.id);
    assert!(plan.steps.iter().filter(|s| s.id < third).all(is_done), "{done:?}");
    assert!(done.steps.contains(&third) && done.steps.len() < plan.steps.len());
    // A lost file is made again, and filled.
    let begun = plan.steps.iter().filter(|s| s.id > third);
    let mut begun = begun.filter(|s| s.act.is::<ScratchFile>());
    let begun = begun.find(|s| !is_done(s)).expect("the file at work");
    assert!(!done.steps.contains(&StepId(begun.id.0 + 1)), "{done:?}");

    record.push(Event::Resume { at: String::new(), version: String::new() });
    let step_of = |e: &Event| match e {
        Event::Step { step, .. }
        | Event::Window { step, .. }
        | Event::Outcome { step, .. }
        | Event::Act { step, .. } => Some(*step),
        _ => None,
    };
    record.extend(events.iter().filter(|e| step_of(e).is_some_and(|s| !done.steps.contains(&s))).cloned());
    record.push(Event::End(End { how: How::Finished, at: String::new() }));
    let resumed = found(&record);
    assert_eq!(
        (resumed.tables, resumed.verdicts, resumed.flags),
        (whole.tables, whole.verdicts, whole.flags)
    );
}

#[test]
fn a_truncated_record_gives_no_answer() {
    let plan = BAYS.plan(&asked(2, false)).expect("plans");
    let events = moved(&plan, &sticks()[..2], &[None, None], 5);
    for keep in (0..events.len()).step_by(events.len() / 40) {
        let text = render(&found(&events[..keep]), Format::Text, Style::PLAIN, true);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{keep}: {text}");
        assert!(!text.contains("Drives explain"), "{keep}: {text}");
    }
}

#[test]
fn drives_that_cannot_be_moved_or_identified_are_refused() {
    let of = |change: fn(&mut Target)| {
        let mut asked = asked(2, false);
        change(&mut asked.targets[1]);
        BAYS.plan(&asked).expect_err("refused").to_string()
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
        BAYS.plan(&asked(1, false)).expect_err("one").to_string(),
        BAYS.plan(&modelled::only(LoadName::Write, asked(2, false))).expect_err("a device").to_string(),
    ];
    insta::assert_snapshot!(refused.join("\n"));
}
