//! Findings of together.

use super::{
    super::common,
    bottleneck::{Answer, answer},
    samples::{Group, Times, groups},
    shared_links::shared,
    verdicts,
};
use crate::{
    analyse::{Estimate, compare},
    findings::{Column, Findings, Metric, Quantity, Scope, Table, short},
    inventory::Inventory,
    plan::Plan,
    record::Run,
    target::Target,
    units::{capital, count, percent, rate},
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Times>, plan: &Plan) {
    let none = Inventory::default();
    let inventory = run.start.as_ref().map_or(&none, |start| &start.inventory);
    let groups = groups(run, plan);
    let answers: Vec<Answer<'_>> = groups
        .iter()
        .filter(|group| group.load.missed.is_none())
        .filter_map(|group| answer(group, &shared(inventory, &plan.targets, &group.members)))
        .collect();
    let everywhere: Vec<usize> = (0..plan.targets.len()).collect();
    let shared = shared(inventory, &plan.targets, &everywhere);

    findings.tables = answers.iter().map(|a| speeds(a, plan)).collect();
    let limits = answers.iter().flat_map(|a| a.limits.iter().map(move |limit| (a, limit)));
    findings.verdicts = limits.map(|(a, limit)| verdicts::verdict(a, limit, &plan.targets)).collect();
    findings.details.sentences.extend(answers.iter().map(verdicts::processors));
    let open = answers.iter().flat_map(|a| a.open.iter().map(move |open| (a, open)));
    findings.verdicts.extend(open.map(|(a, open)| verdicts::open(a, open, &plan.targets)));
    let one_drive = shared.iter().filter(|s| s.drive);
    findings.flags.extend(one_drive.map(|s| verdicts::on_one_drive(s, &plan.targets)));
    for group in groups.iter().filter(|g| !answers.iter().any(|a| a.group.load.name == g.load.name)) {
        let name = capital(&group.load.name);
        let why = group.load.missed.map_or(
            "it needs each target measured alone and all of them at once".to_owned(),
            |percent| {
                format!("{percent} % of the bytes never reached the drives (a cache, holes or compression)")
            },
        );
        findings.verdicts.push(format!("{name}: no answer; {why}."));
    }
    let lost: usize = groups.iter().flat_map(|g| &g.sets).map(|set| set.lost).sum();
    if lost > 0 {
        let lost = count(lost as u64, "run");
        let flag = format!("{lost} left out: a load failed, was stopped, or hardly overlapped the others.");
        findings.flags.push(flag);
    }
    findings.estimates = answers.iter().flat_map(|a| metrics(a, &plan.targets)).collect();
    findings.evidence = groups.iter().flat_map(|group| longest(group, &plan.targets)).collect();
}

/// Speed alone, at once, and the share.
fn speeds(a: &Answer<'_>, plan: &Plan) -> Table {
    let name = &a.group.load.name;
    let columns = Column::all([(name, false), ("alone", false), ("at once", false), ("share", false)]);
    let row = |name: String, alone: &Estimate, at_once: &Estimate| {
        let share = compare::ratio(at_once, alone).map_or("-".to_owned(), |r| share(&r.estimate));
        vec![name, alone.text(rate), at_once.text(rate), share]
    };
    let members = a.group.members.iter().zip(a.alone.iter().zip(&a.at_once));
    let mut rows: Vec<Vec<String>> =
        members.map(|(&m, (alone, at_once))| row(short(&plan.targets[m].given), alone, at_once)).collect();
    rows.push(row("sum".to_owned(), &a.sum_alone, &a.sum));
    Table { title: String::new(), columns, rows }
}

/// A share with its interval, where it has one.
fn share(e: &Estimate) -> String {
    let interval = if e.high.is_finite() { e.range(percent) } else { "no interval".to_owned() };
    format!("{} ({interval})", percent(e.value))
}

fn metrics(a: &Answer<'_>, targets: &[Target]) -> Vec<Metric> {
    let metric =
        |target: &str, quantity, e: &Estimate| Metric::new(target, quantity, e.clone()).of(&a.group.load);
    let speed = |target, e, scope| metric(target, Quantity::Throughput, e).at(scope);
    let mut all = Vec::new();
    for (&m, (alone, at_once)) in a.group.members.iter().zip(a.alone.iter().zip(&a.at_once)) {
        let speed = |e, scope| speed(&targets[m].given, e, scope).of(&a.group.load_on(&targets[m]));
        all.push(speed(alone, Scope::Alone));
        all.push(speed(at_once, Scope::Together));
    }
    all.push(speed("all", &a.sum_alone, Scope::SumAlone));
    all.push(speed("all", &a.sum, Scope::Sum));
    for limit in &a.limits {
        let how = format!("{}, confidence {}", limit.ceiling.how, limit.confidence.word());
        let ceiling = Estimate { how, ..limit.ceiling.clone() };
        all.push(metric(&limit.name, Quantity::Ceiling(limit.what), &ceiling));
    }
    all
}

/// The longest operation of each target while it was alone.
fn longest(group: &Group, targets: &[Target]) -> Vec<Metric> {
    let of = |&at: &usize| {
        let set = group.alone(at)?;
        common::longest(&targets[at].given, &group.load_on(&targets[at]), set.latency.iter())
    };
    group.members.iter().filter_map(of).collect()
}
