//! Findings of boot from records of one and several media.

use super::{
    BOOT,
    result::{Boot, Boots, RootReads},
};
use crate::{
    PlanError, Request, Values,
    findings::{BootPart, Findings, Quantity, Scope},
    inventory::Drive,
    plan::{Changes, Plan, StepId},
    record::{ActResult, End, Event, How},
    report::{Format, Style, render},
    target::Target,
};

fn target() -> Target {
    let drive = Drive {
        model: Some("SC32G".to_owned()),
        serial: Some("0xa1".to_owned()),
        sectors: 62_333_952,
        ..Drive::default()
    };
    Target { given: "/".to_owned(), path: "/".into(), drives: vec![drive], ..Target::default() }
}

fn ask(targets: Vec<Target>, now: bool) -> Result<Plan, PlanError> {
    let mut values = Values::default();
    if now {
        values.set("now", "true");
    }
    BOOT.plan(&Request::new(&BOOT, targets, values).expect("no suite"))
}

/// A boot from a drive: the start of systemd, the end, and how long all reads took.
fn boot(from: &str, [userspace, finish, reads]: [f64; 3]) -> Boot {
    Boot {
        boot_id: format!("{from} {finish}"),
        root: from.to_owned(),
        label: from.to_owned(),
        systemd: "252".to_owned(),
        userspace,
        finish,
        reads: Some(RootReads { bytes: 212_000_000, seconds: reads, until: finish + 20.0 }),
        ..Boot::default()
    }
}

fn found(boots: Boots) -> Findings {
    let plan = ask(vec![target()], true).expect("plans");
    let result = Box::new(ActResult { observed: Some(boots.into()), ..ActResult::default() });
    let end = Event::End(End { how: How::Finished, at: String::new() });
    let act = Event::Act { step: StepId(0), target: Some(0), at: String::new(), result };
    BOOT.findings(&mut [Event::Plan { plan }, act, end].into_iter())
}

fn text(boots: Boots) -> String {
    render(&found(boots), Format::Text, Style::PLAIN, false)
}

/// Five boots, which differ a little.
fn five(from: &str, [userspace, finish, reads]: [f64; 3]) -> Vec<Boot> {
    let near = [0.0, 0.2, -0.1, 0.1, -0.2];
    near.iter().map(|more| boot(from, [userspace, finish + more, reads + more / 2.0])).collect()
}

#[test]
fn one_boot() {
    let this = Boot {
        link: "mmc".to_owned(),
        firmware: Some(10.231363),
        loader: Some(1.8),
        initrd: Some(2.1),
        ..boot("SC32G 0xa1", [4.2, 17.6, 6.3])
    };
    insta::assert_snapshot!(text(Boots { this, earlier: Vec::new() }));
}

#[test]
fn two_media_are_compared_by_their_medians() {
    let (card, stick) = (five("card", [4.2, 17.6, 6.3]), five("stick", [4.7, 22.2, 10.9]));
    let slower = |boots: &[Boot]| Boots { this: boots[0].clone(), earlier: [&boots[1..], &stick].concat() };
    let both = found(slower(&card));
    let of = |scope| {
        let all = both.estimates.iter().filter(move |m| m.scope == scope);
        all.map(|m| (m.target.as_str(), m.estimate.value)).collect::<Vec<_>>()
    };
    assert_eq!(of(Scope::OverBoots), [("card", 17.6), ("stick", 22.2)]);
    let [("stick", longer)] = of(Scope::BesideThis)[..] else { panic!("{both:?}") };
    assert!((longer - 4.6).abs() < 1e-9);
    let once = Boots { this: card[0].clone(), earlier: vec![stick[0].clone()] };
    let same =
        Boots { this: card[0].clone(), earlier: [&card[1..], &five("twin", [4.2, 17.7, 6.3])].concat() };
    let faster = Boots { this: stick[0].clone(), earlier: [&stick[1..], &card].concat() };
    // A stick in another port counts as another medium.
    let slow = card.iter().map(|boot| Boot { link: "usb 480 Mb/s".to_owned(), ..boot.clone() }).collect();
    let ports = found(Boots { this: card[0].clone(), earlier: slow });
    assert_eq!(ports.tables[1].rows.len(), 2, "{ports:?}");
    let verdicts = |boots| found(boots).verdicts[2..].join("\n");
    insta::assert_snapshot!(
        [verdicts(slower(&card)), verdicts(faster), verdicts(once), verdicts(same)].join("\n")
    );
}

#[test]
fn media_are_compared_by_the_medians_of_their_boots() {
    let media =
        [five("card", [4.2, 17.6, 6.3]), five("stick", [4.7, 22.2, 10.9]), five("disk", [9.8, 42.1, 31.0])];
    let boots = |all: Vec<Boot>| Boots { this: all[0].clone(), earlier: all[1..].to_vec() };
    insta::assert_snapshot!(text(boots(media.concat())));
    // Counters that were read a day later say nothing of the boot.
    let mut late = media.concat();
    late.iter_mut().skip(10).filter_map(|boot| boot.reads.as_mut()).for_each(|reads| reads.until = 86400.0);
    let table = &found(boots(late)).tables[1];
    assert_eq!(table.rows[2].last().map(String::as_str), Some("-"));
}

#[test]
fn reads_that_took_longer_than_the_boot_bound_nothing() {
    let said = found(Boots { this: boot("disk", [11.8, 92.3, 140.0]), earlier: Vec::new() }).verdicts;
    assert!(said[1].starts_with("What a faster drive would save is not known"), "{said:?}");
    let this = Boot { reads: None, ..boot("disk", [11.8, 92.3, 140.0]) };
    let without = found(Boots { this, earlier: Vec::new() });
    assert_eq!(without.verdicts.len(), 1);
    let reads = [Quantity::BootReads, Quantity::BootTime(BootPart::Reads)];
    assert!(without.estimates.iter().all(|m| !reads.contains(&m.quantity)));
}

#[test]
fn only_the_drive_of_the_root_is_planned_and_nothing_is_changed() {
    let plan = ask(vec![target()], true).expect("plans");
    assert!(plan.measures_nothing() && plan.steps.iter().all(|step| step.act.changes() == Changes::Nothing));
    let elsewhere = Target { path: "/mnt/a".into(), ..target() };
    let unknown = Target { drives: Vec::new(), ..target() };
    let refused = [(target(), false), (elsewhere, true), (unknown, true)]
        .map(|(target, now)| ask(vec![target], now).expect_err("refused").to_string());
    insta::assert_snapshot!(format!("{}----\n{}", plan.describe(), refused.join("\n")));
}
