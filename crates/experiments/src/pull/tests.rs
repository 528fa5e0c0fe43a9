//! pull on modelled pools: what a layout promises is what is found, and what is not so is said first.

use super::{PULL, Pull, PullResult};
use crate::{
    Request, Values,
    findings::Findings,
    plan::Changes,
    record::Event,
    report::{Format, Style, render},
    testing::{carry_out, directory, in_bay},
};

fn asked(drives: usize, values: &[(&str, &str)]) -> Request {
    let mut all = Values::default();
    values.iter().for_each(|(name, value)| all.set(name, value));
    Request::new(&PULL, (0..drives).map(in_bay).collect(), all).expect("no suite")
}

fn findings(events: Vec<Event>) -> Findings {
    PULL.findings(&mut events.into_iter())
}

/// Changes what was found of each pull.
fn with(mut events: Vec<Event>, change: impl Fn(&mut PullResult)) -> Vec<Event> {
    for event in &mut events {
        if let Event::Act { result, .. } = event {
            result.change(&change);
        }
    }
    events
}

#[test]
fn each_drive_of_each_layout_is_pulled_and_the_plan_says_what_is_erased() {
    let plan = PULL.plan(&asked(3, &[("layouts", "raid0,raid5")])).expect("plans");
    let pulls = plan.steps.iter().filter(|step| step.act.is::<Pull>());
    assert_eq!((pulls.count(), plan.targets.len()), (6, 6));
    let erased = plan.steps.iter().filter_map(|step| match step.act.changes() {
        Changes::Erases(drives) => Some(drives.len()),
        _ => None,
    });
    assert_eq!(erased.collect::<Vec<_>>(), [3; 6]);
    let text = render(&findings(carry_out(&plan)), Format::Text, Style::PLAIN, false);
    insta::assert_snapshot!(format!("{}\n{text}", plan.describe()));
}

#[test]
fn a_broken_promise_is_the_headline() {
    let plan = PULL.plan(&asked(3, &[("layouts", "raid0,raid5"), ("members", "2")])).expect("plans");
    let first =
        |change: &dyn Fn(&mut PullResult)| findings(with(carry_out(&plan), change)).verdicts.remove(0);
    let kept = first(&|_| ());
    assert!(kept.starts_with("raid0 has no copies"), "{kept}");
    type Fault = (&'static dyn Fn(&mut PullResult), &'static str);
    let faults: [Fault; 5] = [
        (&|pulled| pulled.files.wrong = 2, "2 files silently wrong while it was away"),
        (&|pulled| pulled.ledger.lost_bytes = 4096, "4.10 kB of acknowledged writes lost while it was away"),
        (&|pulled| pulled.away.failed_writes = 3, "3 operations failed"),
        (&|pulled| pulled.away.hanging = 1, "1 operation did not end within two minutes"),
        (
            &|pulled| {
                if let Some(back) = &mut pulled.back {
                    back.mismatches = Some(128);
                }
            },
            "128 sectors differ afterwards, at most",
        ),
    ];
    for (fault, words) in faults {
        let verdict = first(fault);
        assert!(verdict.starts_with("raid5 broke its promise in 1 of 1 pull"), "{verdict}");
        assert!(verdict.contains(words), "{verdict}");
    }
}

#[test]
fn wrong_data_of_a_layout_without_copies_is_the_headline() {
    let plan = PULL.plan(&asked(3, &[("layouts", "raid5,raid0"), ("members", "1")])).expect("plans");
    let found = findings(with(carry_out(&plan), |pulled| {
        if pulled.files.failed > 0 {
            pulled.files.wrong = 2;
        }
    }));
    let first = &found.verdicts[0];
    assert!(first.starts_with("raid0 returned wrong data: 2 files silently wrong."), "{first}");
}

#[test]
fn what_fails_while_a_drive_is_filled_breaks_the_promise() {
    let plan = PULL.plan(&asked(3, &[("layouts", "raid5"), ("members", "1")])).expect("plans");
    let found = findings(with(carry_out(&plan), |pulled| {
        if let Some(back) = &mut pulled.back {
            back.during.failed_reads = 1;
        }
    }));
    assert!(found.verdicts[0].contains("broke its promise in 1 of 1 pull"), "{}", found.verdicts[0]);
    assert!(found.verdicts[0].contains("1 operation failed"), "{}", found.verdicts[0]);
}

#[test]
fn what_was_found_before_the_drive_came_back_is_kept() {
    let plan = PULL.plan(&asked(3, &[("layouts", "raid5"), ("members", "1")])).expect("plans");
    let all = carry_out(&plan);
    let is_pull =
        |event: &Event| matches!(event, Event::Act { result, .. } if result.get::<PullResult>().is_some());
    let first = all.iter().position(is_pull).expect("saved before it is back");
    assert_eq!(all.iter().filter(|event| is_pull(event)).count(), 2);
    let half = findings(all[..=first].to_vec());
    assert!(half.verdicts[0].contains("0 of 1 drive rejoined"), "{}", half.verdicts[0]);
}

#[test]
fn pulls_that_can_not_be_planned_say_why() {
    let refused = |drives: usize, values: &[(&str, &str)]| {
        PULL.plan(&asked(drives, values)).expect_err("refused").to_string()
    };
    assert_eq!(refused(1, &[]), "pull compares drives: name 2 targets or more");
    assert_eq!(refused(2, &[("members", "1,3")]), "there is no drive 3, only 2");
    let directories = Request { targets: vec![directory("a"); 2], ..asked(2, &[]) };
    let why = PULL.plan(&directories).expect_err("refused").to_string();
    assert!(why.contains("pull erases whole drives: name them"), "{why}");
}
