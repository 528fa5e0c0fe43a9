//! Findings of synctime.

use super::{
    super::common::Series,
    act::{SyncResult, TimeSync},
};
use crate::{
    analyse::repeat,
    findings::{Column, Findings, Table},
    plan::Plan,
    record::Run,
    units::duration,
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let mut rows = Vec::new();
    for (at, target) in plan.targets.iter().enumerate() {
        let steps = plan.acts::<TimeSync>().map(|(step, _)| run.acts.get(&(step.id, at)));
        let seconds: Vec<f64> = steps.filter_map(|act| Some(act?.get::<SyncResult>()?.seconds)).collect();
        let Some(median) = repeat::middle(&seconds) else { continue };
        rows.push(vec![target.given.clone(), median.text(duration)]);
        let longest = seconds.iter().copied().fold(0.0, f64::max);
        findings.verdicts.push(format!("{}: a sync takes {} at most.", target.given, duration(longest)));
    }
    findings.tables =
        vec![Table { title: String::new(), columns: Column::all([("target", false), ("sync", true)]), rows }];
}
