//! Findings of one check alone: the speeds of its reads.

use super::super::common::{self, Series};
use crate::{
    findings::{Column, Findings, Metric, Quantity, Table, short},
    plan::Plan,
    record::Run,
    units::rate,
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let groups = common::group(run, plan);
    let several = plan.targets.len() > 1;
    let mut rows = Vec::new();
    for group in &groups {
        let mut row = if several { vec![short(&group.target.given)] } else { Vec::new() };
        row.extend([group.measure.label.clone(), group.estimate.text(rate)]);
        rows.push(row);
        let metric = Metric::new(&group.target.given, Quantity::Throughput, group.estimate.clone());
        findings.estimates.push(Metric { rounds: group.rounds(), ..metric.of(&group.load) });
    }
    let mut columns = Column::heads(several);
    columns.push(Column::new("speed", false));
    findings.tables = vec![Table { title: String::new(), columns, rows }];
}
