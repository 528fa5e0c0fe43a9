//! pull on a modelled pool that is in use: what is planned, refused and found by reading alone.

use super::{PULL, Pull, PullResult, PulledPool, RejoinResult};
use crate::{
    Request, Values,
    findings::Findings,
    inventory::Mount,
    plan::{Changes, Plan},
    record::Event,
    report::{Format, Style, render},
    target::{Kind, Target},
    test_files::FilesFound,
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
    let full = render(&found(|_| ()), Format::Text, Style::PLAIN, true);
    assert!(full.contains("'changed': files that other programs changed or removed"), "{full}");
}

#[test]
fn what_is_warned_of_is_shown_before_the_run_begins() {
    let brief = plan("raid6", 4).brief();
    assert!(brief.contains("the pool survives the failure of 1 other drive only: have a backup"), "{brief}");
    assert!(brief.contains("Files are only read, at most 268 MB"), "{brief}");
}

#[test]
fn a_verdict_says_no_more_than_reading_shows() {
    let good = verdict(|_| ());
    assert!(
        good.starts_with("raid5 of 3 drives in use survived a pull of one drive, reading only: 40 files"),
        "{good}"
    );
    assert!(good.contains("and 39 after it came back"), "{good}");
    assert!(good.contains("changed or removed 1 other file, of which nothing is said"), "{good}");
    let (said, next) = good.split_once(" What to type: ").unwrap_or_else(|| panic!("{good}"));
    assert!(said.ends_with("says nothing about writes, and copies and parity were not compared."), "{said}");
    assert!(next.contains("`sudo mdadm /dev/md127 --add /dev/NEW`"), "{next}");
    let unread = verdict(|pulled| (pulled.moments, pulled.away.reads) = (Vec::new(), 0));
    assert!(unread.contains("No read ended while it was away.") && !unread.contains("went on"), "{unread}");
    let changed = verdict(|pulled| (pulled.files.whole, pulled.files.changed) = (0, 40));
    assert!(changed.contains("nothing is known, because other programs changed all files"), "{changed}");
    let unnoticed = verdict(|pulled| pulled.missing = 0);
    assert!(unnoticed.contains("nothing is known, because the array did not notice"), "{unnoticed}");
    let gone = verdict(|pulled| pulled.back = None);
    assert!(gone.contains("It has not come back into the pool.") && !gone.contains("What to type"), "{gone}");
    let stopped = verdict(|pulled| {
        back(pulled, |back| {
            back.healed = None;
            back.refused.push("interrupted".to_owned());
            back.files = FilesFound::default();
        });
    });
    assert!(stopped.contains("The pool was not complete when the run ended: interrupted."), "{stopped}");
    assert!(stopped.contains("while Ultra 4C530001 in bay 1.2 was away. Reads"), "{stopped}");
    let added = verdict(|pulled| {
        back(pulled, |back| back.commands.push("mdadm /dev/md127 --add /dev/sdz1".to_owned()));
    });
    assert!(added.contains("added it as a new one, and it was filled in 3 s"), "{added}");
    let itself = verdict(|pulled| back(pulled, |back| (back.by_itself, back.commands) = (true, Vec::new())));
    assert!(itself.contains("took the drive back by itself"), "{itself}");
}

#[test]
fn a_broken_promise_is_the_headline() {
    type Fault = (&'static dyn Fn(&mut PullResult), &'static str);
    let faults: [Fault; 5] = [
        (&|pulled| pulled.files.wrong = 2, "2 files silently wrong while it was away"),
        (&|pulled| pulled.files.failed = 1, "1 file not readable while it was away"),
        (&|pulled| pulled.away.failed_reads = 3, "3 operations failed"),
        (&|pulled| pulled.away.hanging = 1, "1 operation did not end within two minutes"),
        (&|pulled| back(pulled, |back| back.files.wrong = 1), "1 file silently wrong after it came back"),
    ];
    for (fault, words) in faults {
        let verdict = verdict(fault);
        assert!(verdict.starts_with("raid5 of 3 drives in use broke its promise"), "{verdict}");
        assert!(verdict.contains(words) && verdict.contains("says nothing about writes"), "{verdict}");
    }
}

#[test]
fn a_second_drive_that_is_lost_breaks_no_promise_but_hides_no_wrong_data() {
    type Fault = &'static dyn Fn(&mut PullResult);
    let lost: [Fault; 3] = [
        &|pulled| (pulled.missing, pulled.files.failed) = (2, 30),
        &|pulled| (pulled.lost, pulled.away.failed_reads) = (true, 3),
        &|pulled| back(pulled, |back| (back.lost, back.healed, back.files.failed) = (true, None, 6)),
    ];
    for fault in lost {
        let said = verdict(fault);
        assert!(
            said.contains("nothing is known of a pull of one drive, because another drive was lost"),
            "{said}"
        );
        let wrong = verdict(|pulled: &mut PullResult| {
            fault(&mut *pulled);
            pulled.files.wrong = 2;
        });
        assert!(wrong.contains("broke its promise") && wrong.contains("2 files silently wrong"), "{wrong}");
    }
}

#[test]
fn what_can_not_be_pulled_is_refused() {
    let refused = |target: Target, serial: &str| {
        PULL.plan(&asked(target, &[("pull", serial)])).expect_err("refused").to_string()
    };
    let with = |change: &dyn Fn(&mut Pool)| {
        let mut target = directory("raid5", 3);
        change(target.pool.as_mut().expect("a pool"));
        refused(target, "4C530001")
    };
    let serials =
        "no drive of raid5 of 3 drives has the serial 4C53; its drives: 4C530000, 4C530001 and 4C530002";
    assert!(refused(directory("raid5", 3), "4C53").contains(serials));
    assert!(
        refused(directory("raid0", 3), "4C530001")
            .contains("it is on raid0: --pull takes a directory on an md array")
    );
    assert!(refused(in_bay(1), "4C530001").contains("it is no directory"));
    assert!(refused(testing::directory("a"), "4C530001").contains("it is on no pool"));
    assert!(with(&|pool| pool.kind = "btrfs".to_owned()).contains("it is on btrfs raid5"));
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
