//! How revisit reads its record.

use super::{
    super::common::{self, Group, Series},
    plan::{AFTER, BEFORE},
};
use crate::{
    analyse::compare,
    findings::{Column, Findings, Metric, Quantity, Table},
    plan::Plan,
    record::Run,
    units::rate,
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let groups = common::group(run, plan);
    let metric =
        |g: &Group<'_>| Metric::new(&g.target.given, Quantity::Throughput, g.estimate.clone()).of(&g.load);
    let row = |g: &Group<'_>| vec![g.target.given.clone(), g.measure.label.clone(), g.estimate.text(rate)];
    findings.estimates = groups.iter().map(metric).collect();
    findings.tables = vec![Table {
        title: String::new(),
        columns: vec![Column::new("target", false), Column::new("", false), Column::new("speed", false)],
        rows: groups.iter().map(row).collect(),
    }];
    for (at, target) in plan.targets.iter().enumerate() {
        let read = |label: &str| groups.iter().find(|g| g.at == at && g.measure.label == label);
        let Some((before, after)) = read(BEFORE).zip(read(AFTER)) else { continue };
        let Some(ratio) = compare::ratio(&after.estimate, &before.estimate) else { continue };
        let times = ratio.estimate.sentence(|times| format!("{times:.2}"), common::ONE_RUN);
        let said = match ratio.different {
            true => format!("Reads after the pause are {times} times as fast as before."),
            false => "No difference found between the reads.".to_owned(),
        };
        findings.verdicts.push(format!("{}: {said}", target.given));
    }
}
