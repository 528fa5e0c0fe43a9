//! power on a modelled drive: what was acknowledged is there, and what is not so is said first.

use crate::support::modelled::{ask, carry_out, in_bay, target};
use drivebench::{
    analyse::Rules,
    engine::sim::{Board, Model, Zone},
    experiments::POWER,
    findings::Findings,
    plan::{Changes, Plan},
    record::{Cut, Event},
    report::{Format, Style, render},
};

const SIZE: u64 = 62_000_000_000;

fn plan() -> Plan {
    POWER.plan(&ask(vec![target("stick", SIZE, false)], Rules::standard(), 4096)).expect("plans")
}

/// What is said if this was found after the power cut.
fn found(change: impl Fn(&mut Cut)) -> Findings {
    let speed = || vec![Zone { from: 0, rate: 20e6 }];
    let model = Model { capacity: SIZE, read: speed(), write: speed(), ..Model::default() };
    let board = Board { drives: vec![model], buses: Vec::new(), seed: 1 };
    let mut events = carry_out(&plan(), &board).expect("runs");
    for event in &mut events {
        if let Event::Act { result, .. } = event {
            result.change(&change);
        }
    }
    POWER.findings(&mut events.into_iter())
}

#[test]
fn a_drive_that_keeps_its_word() {
    let plan = plan();
    assert!(plan.steps.iter().all(|step| step.act.changes() == Changes::OwnFiles));
    let text = render(&found(|_| ()), Format::Text, Style::PLAIN, false);
    insta::assert_snapshot!(format!("{}\n{text}", plan.describe()));
}

#[test]
fn what_is_lost_is_said_first() {
    type Loss = (&'static dyn Fn(&mut Cut), &'static str);
    let losses: [Loss; 4] = [
        (&|cut| cut.ledger.lost_bytes = 16384, "16.4 kB of 1.65 MB of acknowledged writes lost"),
        (&|cut| cut.files.wrong = 2, "2 files silently wrong"),
        (&|cut| cut.files.failed = 1, "1 file not readable"),
        (&|cut| cut.files.unread = 1, "1 file not readable"),
    ];
    for (loss, words) in losses {
        let verdict = found(loss).verdicts.remove(0);
        assert!(verdict.starts_with("NOT KEPT: ") && verdict.contains(words), "{verdict}");
    }
    let torn = found(|cut| cut.ledger.torn_bytes = 16384).verdicts.remove(0);
    assert!(torn.starts_with("Nothing was lost."), "which of two writes is there, nothing promises: {torn}");
}

#[test]
fn only_one_directory_can_be_tested() {
    let two = vec![target("a", SIZE, false), target("b", SIZE, false)];
    let refused = POWER.plan(&ask(two, Rules::standard(), 4096)).expect_err("two");
    assert_eq!(refused.to_string(), "power takes 1 target");
    POWER.plan(&ask(vec![in_bay(0)], Rules::standard(), 4096)).expect_err("a device has no files");
}
