//! Checks of modelled drives, from the plan to the decision.

use drivebench_modelled::{
    Modelled,
    sim::{Board, Model, Noise, Zone},
};

use super::*;
use crate::{
    experiments::check::{Alarm, Counter},
    record::{How, Store},
    tools::{Output as Said, Replay},
    units::Health,
};

const SIZE: u64 = 1_000_000_000_000;

fn disk(serial: &str, pending: u64) -> Target {
    let health = Some(Health { pending: Some(pending), ..Health::default() });
    let drive = Drive {
        name: "sda".to_owned(),
        model: Some("WD10".to_owned()),
        serial: Some(serial.to_owned()),
        sectors: SIZE / 512,
        health,
        ..Drive::default()
    };
    Target {
        given: format!("/dev/{serial}"),
        path: format!("/dev/{serial}").into(),
        kind: Kind::BlockDevice,
        drives: vec![drive],
        size: Some(SIZE),
        direct_alignment: 512,
        ..Target::default()
    }
}

/// A disk whose inner half is slower than its outer one, and whose runs differ by 1 %.
fn model(speed: f64) -> Model {
    Model {
        capacity: SIZE,
        read: vec![Zone { from: 0, rate: 200e6 * speed }, Zone { from: SIZE / 2, rate: 120e6 * speed }],
        write: vec![Zone { from: 0, rate: 100e6 }],
        operation_seconds: 0.1e-3,
        seek_seconds: 8e-3,
        noise: Noise { variation: 0.02, memory: 0.5, run: 0.01 },
        ..Model::default()
    }
}

/// Checks these disks, each with its speed and pending sectors, and gives what is to look at on each, and whether that is new.
fn checked(store: &Store, number: u64, disks: &[(&str, f64, u64)]) -> Vec<(Vec<Alarm>, bool)> {
    let targets = disks.iter().map(|(serial, _, pending)| disk(serial, *pending)).collect();
    let drives = disks.iter().map(|(_, speed, _)| model(*speed)).collect();
    let ask = Request::new(&CHECK, targets, Values::default()).expect("no suite");
    let plan = CHECK.plan(&ask).expect("plans");
    let events = Modelled::events(&plan, &Board { drives, buses: Vec::new(), seed: number }).expect("runs");
    let at = format!("2026-11-{number:02}T03:00:00Z");
    let end = Event::End(End { how: How::Finished, at: at.clone() });
    let start = |run| Start { at: at.clone(), ..super::start(run, CHECK.name, Inventory::default()) };
    let run = store.keep(start, &[events, vec![end]].concat()).expect("a record");
    let mut known = SavedChecks::read(store).expect("reads");
    let all = decided(Some(&run), Vec::new(), store, &mut known).expect("decides");
    known.save(store).expect("saves");
    let of = |one: Checked| (one.decisions.iter().filter_map(Decision::alarm).collect(), one.changed);
    all.into_iter().map(of).collect()
}

#[test]
fn a_drive_that_becomes_slower_is_found_and_accepted() {
    let home = tempfile::tempdir().expect("a directory");
    let store = Store::at(home.path().to_owned());
    let check = |number, speed| checked(&store, number, &[("S1", speed, 0)]).remove(0);
    for number in 1..=5 {
        assert_eq!(check(number, 1.0), (vec![], false), "check {number}");
    }
    assert_eq!([check(6, 0.8), check(7, 0.8)], [(vec![], false), (vec![], false)], "not confirmed");
    let slower = || vec![Alarm::Slower { load: "SEQ1M".to_owned() }];
    assert_eq!(check(8, 0.8), (slower(), true));
    assert_eq!(check(9, 0.8), (slower(), false), "said once");
    accept(&disk("S1", 0).drives, &store, &Output::new(true)).expect("accepts");
    for number in 10..=13 {
        assert_eq!(check(number, 0.8), (vec![], false), "check {number}");
    }
    // Without what was kept, the oldest check is the reference again.
    std::fs::remove_file(home.path().join("check.json")).expect("removes");
    assert_eq!(check(14, 0.8), (slower(), true));
}

#[test]
fn new_errors_are_found_at_once_and_slower_peers_too() {
    let home = tempfile::tempdir().expect("a directory");
    let store = Store::at(home.path().to_owned());
    let all =
        |number, pending| checked(&store, number, &[("S1", 1.0, 1), ("S2", 0.6, 0), ("S3", 1.01, pending)]);
    let peers = || vec![Alarm::SlowerThanPeers { load: "SEQ1M".to_owned() }];
    assert_eq!(all(1, 0), [(vec![], false), (peers(), true), (vec![], false)]);
    let errors = vec![Alarm::NewErrors { counter: Counter::Pending, to: 8 }];
    assert_eq!(all(2, 8), [(vec![], false), (peers(), false), (errors, true)]);
    accept(&[disk("S2", 0).drives, disk("S3", 0).drives].concat(), &store, &Output::new(true))
        .expect("accepts");
    assert_eq!(all(3, 8), [(vec![], false), (vec![], false), (vec![], false)]);
}

fn sda() -> Drive {
    Drive {
        name: "sda".to_owned(),
        medium: Medium::Rotating,
        bus: Some("ata".to_owned()),
        ..Drive::default()
    }
}

fn says(state: &str) -> Replay {
    let stdout = format!("\n/dev/sda:\n drive state is:  {state}\n");
    Replay::default().answer("hdparm -C /dev/sda", Said { code: Some(0), stdout, ..Said::default() })
}

#[test]
fn a_sleeping_disk_is_left_alone() {
    assert_eq!(asleep(&sda(), false, &says("standby")), Some(Skipped::Asleep));
    assert_eq!(asleep(&sda(), false, &says("active/idle")), None);
    assert_eq!(asleep(&sda(), true, &Replay::default()), None, "nobody is asked");
    let stick = Drive { medium: Medium::Unknown, rotational: true, removable: true, ..sda() };
    assert_eq!(asleep(&stick, false, &Replay::default()), None);
    assert!(matches!(asleep(&sda(), false, &says("unknown")), Some(Skipped::MaybeAsleep { .. })));
    let denied = Said { code: Some(13), stderr: "/dev/sda: Permission denied".to_owned(), ..Said::default() };
    let denied = Replay::default().answer("hdparm", denied);
    assert!(matches!(asleep(&sda(), false, &denied), Some(Skipped::MaybeAsleep { .. })));
}

#[test]
fn the_form_of_the_json() {
    let errors = Decision::NewErrors { counter: Counter::Pending, from: 0, to: 8 };
    let checked = Checked { drive: sda(), decisions: vec![errors], changed: true };
    let mut document = document(Some("r2k4"), &[checked]);
    document["at"] = json!("2026-11-22T10:00:00Z");
    insta::assert_snapshot!(serde_json::to_string_pretty(&document).expect("JSON"));
}

#[test]
fn a_command_is_told_what_was_found() {
    let home = tempfile::tempdir().expect("a directory");
    let file = home.path().join("told");
    let document = json!({ "drives": [{ "label": "$(touch hostile) `x`" }] });
    run_on_change(&format!("cat > {}", file.display()), &document, &System::default()).expect("is told");
    let told: Value = serde_json::from_slice(&std::fs::read(file).expect("a file")).expect("JSON");
    assert_eq!(told, document);
    run_on_change("exit 3", &document, &System::default()).expect_err("it failed");
}
