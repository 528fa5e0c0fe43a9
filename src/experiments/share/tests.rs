//! Findings of share from records.

use super::SHARE;
use crate::{
    experiments::{Request, Values},
    findings::{Findings, Scope},
    plan::{Changes, Errand, Plan, StepId, Via},
    record::{ActResult, End, Event, How, Negotiated, ShareLoad, Shared},
    report::{Format, Style, render},
    target::Target,
};

fn planned() -> Plan {
    let mut values = Values::default();
    values.set("rate", "100Mb");
    let target = Target {
        given: "/srv/data".to_owned(),
        path: "/srv/data".into(),
        capacity: Some(1 << 40),
        free: Some(1 << 39),
        direct_alignment: 512,
        ..Target::default()
    };
    SHARE.plan(&Request::new(&SHARE, vec![target], values).expect("no suite")).expect("plans")
}

/// Speeds in MB/s of putting and getting a large file, as `Via::ALL` has them; small files at a tenth of that.
fn found(speeds: [[f64; 5]; 2]) -> Findings {
    let mut loads = Vec::new();
    for run in 1..=3 {
        for errand in Errand::ALL {
            for (via, speed) in Via::ALL.into_iter().zip(speeds[usize::from(!errand.puts())]) {
                let speed = speed * 1e6 * if errand.is_small() { 0.1 } else { 1.0 };
                let bytes = 64 << 20;
                let seconds = bytes as f64 / speed * (1.0 + 0.002 * f64::from(run));
                loads.push(ShareLoad { errand, via, run, bytes, seconds });
            }
        }
    }
    let negotiated = Negotiated {
        dialect: "SMB3_11".to_owned(),
        signing: "AES-128-GMAC".to_owned(),
        ..Negotiated::default()
    };
    let shared = Shared { server: "Samba 4.17.12".to_owned(), negotiated: Some(negotiated), loads };
    let result = Box::new(ActResult { shared: Some(Box::new(shared)), ..ActResult::default() });
    let act = Event::Act { step: StepId(0), target: Some(0), at: String::new(), result };
    let end = Event::End(End { how: How::Finished, at: String::new() });
    SHARE.findings(&mut [Event::Plan { plan: planned() }, act, end].into_iter())
}

#[test]
fn a_raid0_behind_ethernet() {
    let found = found([[10.1, 11.4, 10.4, 380.0, 10.5], [11.6, 11.6, 27.0, 600.0, 27.9]]);
    assert_eq!(found.estimates.iter().filter(|m| m.scope == Scope::Client).count(), 4);
    insta::assert_snapshot!(render(&found, Format::Text, Style::PLAIN, false));
}

#[test]
fn what_can_not_be_told_is_not_said() {
    let found = found([[300.0, 301.0, 300.0, 302.0, 900.0], [11.8, 11.9, 11.9, 600.0, 12.1]]);
    insta::assert_snapshot!(found.verdicts.join("\n"));
}

#[test]
fn own_files_are_all_that_it_changes() {
    let plan = planned();
    assert!(plan.steps.iter().all(|step| step.act.changes() == Changes::OwnFiles));
    insta::assert_snapshot!(plan.describe());
}
