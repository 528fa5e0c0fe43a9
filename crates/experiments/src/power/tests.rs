//! power on a modelled drive: what was acknowledged is there, and what is not so is said first.

use super::{POWER, PowerCutResult};
use crate::{
    PlanError, Request, Values,
    findings::Findings,
    plan::{Changes, Plan},
    record::Event,
    report::{Format, Style, render},
    target::Target,
    testing::{carry_out, directory, in_bay},
};

fn planned(targets: Vec<Target>) -> Result<Plan, PlanError> {
    POWER.plan(&Request::new(&POWER, targets, Values::default()).expect("no suite"))
}

fn plan() -> Plan {
    planned(vec![directory("stick")]).expect("plans")
}

/// What is said if this was found after the power cut.
fn found(change: impl Fn(&mut PowerCutResult)) -> Findings {
    let mut events = carry_out(&plan());
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
    let kept = found(|cut| {
        (cut.ledger.acknowledged, cut.ledger.kept_bytes, cut.seconds) = (100, 100 * 16_384, 12.0);
    });
    let text = render(&kept, Format::Text, Style::PLAIN, false);
    insta::assert_snapshot!(format!("{}\n{text}", plan.describe()));
}

#[test]
fn what_is_lost_is_said_first() {
    type Loss = (&'static dyn Fn(&mut PowerCutResult), &'static str);
    let losses: [Loss; 4] = [
        (&|cut| cut.ledger.lost_bytes = 16384, "16.4 kB of acknowledged writes lost"),
        (&|cut| cut.files.wrong = 2, "2 files silently wrong"),
        (&|cut| cut.files.failed = 1, "1 file not readable"),
        (&|cut| cut.files.unread = 1, "1 file not readable"),
    ];
    for (loss, words) in losses {
        let verdict = found(loss).verdicts.remove(0);
        assert!(verdict.starts_with("NOT KEPT: ") && verdict.contains(words), "{verdict}");
    }
}

#[test]
fn only_one_directory_can_be_tested() {
    let refused = planned(vec![directory("a"), directory("b")]).expect_err("two");
    assert_eq!(refused.to_string(), "power takes 1 target");
    planned(vec![in_bay(0)]).expect_err("a device has no files");
}
