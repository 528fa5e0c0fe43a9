//! pull on a modelled pool that is in use: what is planned, refused and found by reading alone.

use super::{PULL, Pull, PullResult, PulledPool, RejoinResult, TakenBack};
use crate::{
    Request, Values,
    findings::Findings,
    inventory::Mount,
    plan::{Changes, Plan},
    record::Event,
    report::{Format, Style, render},
    target::{Kind, Target},
    testing::{self, carry_out, in_bay},
    units::Pool,
};

/// A directory on an array of sticks.
fn directory(layout: &str, drives: usize) -> Target {
    let pool = Pool {
        name: Some("data".to_owned()),
        kind: layout.to_owned(),
        layout: Some(layout.to_owned()),
        members: drives as u64,
        drives: drives as u64,
        bitmap: Some(true),
        ..Pool::default()
    };
    let mount = Mount { path: "/srv/data".to_owned(), filesystem: "ext4".to_owned(), ..Mount::default() };
    Target {
        given: "/srv/data".to_owned(),
        kind: Kind::Directory,
        path: "/srv/data".into(),
        drives: (0..drives).flat_map(|at| in_bay(at).drives).collect(),
        layers: vec!["md127".to_owned()],
        pool: Some(pool),
        mount: Some(mount),
        direct_alignment: 512,
        ..Target::default()
    }
}

fn asked(target: Target, values: &[(&str, &str)]) -> Request {
    let mut all = Values::default();
    values.iter().for_each(|(name, value)| all.set(name, value));
    Request::new(&PULL, vec![target], all).expect("no suite")
}

fn plan(layout: &str, drives: usize) -> Plan {
    PULL.plan(&asked(directory(layout, drives), &[("pull", "4C530001")])).expect("plans")
}

/// Findings of a raid5, after a change of what was found.
fn found(change: impl Fn(&mut PullResult)) -> Findings {
    let mut events = carry_out(&plan("raid5", 3));
    for event in &mut events {
        if let Event::Act { result, .. } = event {
            result.change(&change);
        }
    }
    PULL.findings(&mut events.into_iter())
}

fn verdict(change: impl Fn(&mut PullResult)) -> String {
    found(change).verdicts.join(" ")
}

fn back(pulled: &mut PullResult, change: impl Fn(&mut RejoinResult)) {
    pulled.back.iter_mut().for_each(change);
}

#[test]
fn a_drive_of_a_pool_in_use_is_pulled_and_nothing_is_written() {
    let plan = plan("raid5", 3);
    let [step] = &plan.steps[..] else { panic!("{:?}", plan.steps) };
    let act: &Pull = step.act.get().expect("a pull");
    let PulledPool::InUse(pool) = &act.pool else { panic!("{act:?}") };
    assert_eq!((pool.serial.as_str(), pool.survives, plan.cost(0).written), ("4C530001", 0, 0));
    assert!(matches!(step.act.changes(), Changes::DriveState(_)));
    let text = render(&found(|_| ()), Format::Text, Style::PLAIN, false);
    insta::assert_snapshot!(format!("{}\n{text}", plan.describe()));
}

#[test]
fn what_is_warned_of_is_shown_before_the_run_begins() {
    let brief = plan("raid6", 4).brief();
    assert!(brief.contains("the pool survives the failure of 1 other drive only: have a backup"), "{brief}");
    assert!(brief.contains("Files are only read, at most 268 MB"), "{brief}");
}

#[test]
fn a_verdict_says_no_more_than_reading_shows() {
    type Change = (&'static dyn Fn(&mut PullResult), &'static str);
    let lost = "no result for 1 of 1 pull, because another drive was lost meanwhile";
    let changes: [Change; 12] = [
        (
            &|_| (),
            "raid5 of 3 drives in use survived 1 pull of one drive: 40 files were whole, as far as they were read",
        ),
        (&|_| (), "below /srv/data). A returned drive does not rejoin by itself: after `mdadm"),
        (
            &|pulled| (pulled.files.whole, pulled.files.changed) = (0, 40),
            "because other programs changed all files",
        ),
        (&|pulled| pulled.missing = 0, "because the array did not notice"),
        (&|pulled| (pulled.missing, pulled.files.failed) = (2, 30), lost),
        (&|pulled| (pulled.lost, pulled.away.failed_reads) = (true, 3), lost),
        (&|pulled| back(pulled, |back| (back.lost, back.files.failed) = (true, 6)), lost),
        (&|pulled| pulled.back = None, "0 of 1 drive rejoined the pool."),
        (
            &|pulled| {
                back(pulled, |back| (back.healed, back.refused) = (None, vec!["interrupted".to_owned()]))
            },
            "0 of 1 drive rejoined the pool. Ultra 4C530001 in bay 1.2: interrupted.",
        ),
        (
            &|pulled| {
                back(pulled, |back| (back.taken_back, back.commands) = (TakenBack::ByItself, Vec::new()))
            },
            "A returned drive rejoins by itself, within 3 s",
        ),
        (&|pulled| back(pulled, |back| back.files.wrong = 1), "1 file silently wrong after it came back"),
        // A second drive that is lost hides no wrong data.
        (
            &|pulled| (pulled.lost, pulled.files.wrong) = (true, 2),
            "broke its promise in 1 of 1 pull. Ultra 4C530001 in bay 1.2: 2 files silently wrong",
        ),
    ];
    for (change, words) in changes {
        let verdict = verdict(change);
        assert!(verdict.contains(words), "{words}: {verdict}");
    }
}

#[test]
fn what_can_not_be_pulled_is_refused() {
    let refused = |target: Target, serial: &str| {
        PULL.plan(&asked(target, &[("pull", serial)])).expect_err("refused").to_string()
    };
    let serials =
        "no drive of raid5 of 3 drives has the serial 4C53; its drives: 4C530000, 4C530001 and 4C530002";
    assert!(refused(directory("raid5", 3), "4C53").contains(serials));
    let mut btrfs = directory("raid5", 3);
    btrfs.pool.as_mut().expect("a pool").kind = "btrfs".to_owned();
    for other in [directory("raid0", 3), in_bay(1), testing::directory("a"), btrfs] {
        assert!(refused(other, "4C530001").contains("--pull takes a directory on an md array"));
    }
    let nameless = PULL.plan(&asked(directory("raid1", 2), &[])).expect_err("refused").to_string();
    assert!(
        nameless.contains("drivebench run pull --pull SERIAL /srv/data; its drives: 4C530000 and 4C530001"),
        "{nameless}"
    );
    let two = Request {
        targets: vec![directory("raid1", 2), directory("raid5", 3)],
        ..asked(directory("raid1", 2), &[("pull", "4C530001")])
    };
    assert_eq!(PULL.plan(&two).expect_err("refused").to_string(), "pull with --pull takes 1 target");
}
