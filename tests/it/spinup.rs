//! spinup on modelled disks with a known spin-up time, from the plan to the verdicts.

use crate::support::modelled::{ask, carry_out, plan_of, target};
use drivebench::{
    analyse::{Estimate, Rules},
    experiments::{Request, SPINUP},
    findings::Findings,
    inventory::Medium,
    plan::Plan,
    record::Event,
    report::{Format, Style, render},
    target::{Kind, Target},
};
use drivebench_modelled::sim::{Board, Model, Noise, Standby, Zone};

const GB: u64 = 1_000_000_000;

/// A disk that enters standby after 12 s and takes 3.5 s to spin up.
fn disk() -> Model {
    Model {
        capacity: 1000 * GB,
        read: vec![Zone { from: 0, rate: 60e6 }, Zone { from: 500 * GB, rate: 40e6 }],
        write: vec![Zone { from: 0, rate: 58e6 }],
        operation_seconds: 0.1e-3,
        seek_seconds: 12e-3,
        standby: Some(Standby { after_seconds: 12.0, wake_seconds: 3.5 }),
        noise: Noise { variation: 0.02, memory: 0.5, run: 0.02 },
        ..Model::default()
    }
}

fn whole_disk() -> Target {
    let mut disk = target("WX61A54C7801", 1000 * GB, true);
    disk.drives[0].name = "sda".to_owned();
    (disk.path, disk.given) = ("/dev/sda".into(), "/dev/sda".to_owned());
    disk
}

fn asked(pause: f64) -> Request {
    let mut asked = ask(vec![whole_disk()], Rules::standard(), 4096);
    asked.effort.max_seconds = 1800.0;
    asked.values.set("pause", &pause.to_string());
    asked
}

fn events(asked: &Request, model: Model, seed: u64) -> Vec<Event> {
    let board = Board { drives: vec![model], buses: Vec::new(), seed };
    carry_out(&plan_of(&SPINUP, asked).expect("plans"), &board).expect("runs")
}

fn measured(asked: &Request, model: Model, seed: u64) -> Findings {
    SPINUP.findings(&mut events(asked, model, seed).into_iter())
}

fn estimate<'a>(findings: &'a Findings, name: &str) -> &'a Estimate {
    let named = findings.estimates.iter().find(|named| named.label() == name);
    &named.unwrap_or_else(|| panic!("no '{name}'")).estimate
}

fn said(findings: &Findings) -> String {
    render(findings, Format::Text, Style::PLAIN, true)
}

#[test]
fn spin_up_time_within_a_fifth_of_a_second() {
    let runs: Vec<Findings> = (1..=5).map(|seed| measured(&asked(15.0), disk(), seed)).collect();
    let mut direct: Vec<f64> = runs.iter().map(|run| estimate(run, "spin-up time").value).collect();
    direct.sort_by(f64::total_cmp);
    assert!((direct[2] - 3.5).abs() < 0.2, "{direct:?}");
    insta::assert_snapshot!(said(&runs[0]));
}

#[test]
fn a_disk_without_standby_has_no_spin_up_time() {
    let findings = measured(&asked(10.0), disk(), 1);
    assert!(
        findings.estimates.iter().all(|named| named.label() == "read while spinning"),
        "{:?}",
        findings.estimates
    );
    let text = said(&findings).replace('\n', " ");
    assert!(text.contains("No standby was seen"), "{text}");
}

#[test]
fn one_run_has_no_interval() {
    let mut asked = asked(15.0);
    asked.values.set("runs", "1");
    let findings = measured(&asked, disk(), 1);
    assert!(estimate(&findings, "spin-up time").high.is_infinite());
    assert!(said(&findings).contains("so no interval"), "{}", said(&findings));
}

#[test]
fn a_truncated_record_is_read() {
    let events = events(&asked(15.0), disk(), 1);
    for keep in 0..events.len() {
        let text = said(&SPINUP.findings(&mut events[..keep].iter().cloned()));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{keep} events: {text}");
    }
}

#[test]
fn disks_that_cannot_go_to_standby_are_refused() {
    let refused = |change: &dyn Fn(&mut Target)| {
        let mut asked = asked(15.0);
        change(&mut asked.targets[0]);
        SPINUP.plan(&asked).expect_err("refused").to_string()
    };
    let used = |by: &str| refused(&|target| target.uses = vec!["/mnt/a".to_owned(), by.to_owned()]);
    insta::assert_snapshot!(
        [
            used("/"),
            used("/boot/firmware"),
            used("swap"),
            refused(&|target| target.drives[0].medium = Medium::Flash),
            refused(&|target| target.kind = Kind::Directory),
            refused(&|target| target.drives.clear()),
            refused(&|target| target.path = "/dev/sda1".into()),
        ]
        .join("\n")
    );
}

#[test]
fn the_cost_of_a_plan() {
    let plan: Plan = plan_of(&SPINUP, &asked(15.0)).expect("plans");
    let cost = plan.cost(0);
    assert_eq!(cost.written, 0);
    // Starting the loads takes time, too.
    let steps = 5.0 * (15.0 + 25.0 + 15.0);
    assert!(cost.seconds.is_some_and(|most| (steps..1.01 * steps).contains(&most)), "{cost:?}");
    let standbys = plan.steps.iter().filter(|step| step.act.label() == "standby");
    assert_eq!((plan.measures().count(), standbys.count()), (10, 5));
}
