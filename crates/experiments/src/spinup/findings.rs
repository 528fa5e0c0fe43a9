//! Findings of spinup.

use super::{
    super::common::{self, Series, named, range},
    plan::{FIRST, SPINNING},
    verdicts,
    woken::{Woken, woken},
};
use crate::{
    analyse::repeat,
    findings::{Column, Findings, Metric, Quantity, Scope, Table, short},
    plan::Plan,
    record::Run,
    units::duration,
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let groups = common::group(run, plan);
    let several = plan.targets.len() > 1;
    let mut rows = Vec::new();
    for (at, target) in plan.targets.iter().enumerate() {
        let woken = woken(&run.acts, &groups, at, target);
        if woken.reads.is_empty() {
            continue;
        }
        let say = |text| named(several, target, text);
        findings.verdicts.extend(verdicts::verdicts(&woken).into_iter().map(say));
        rows.extend(woken.rows(several));
        findings.estimates.extend(woken.estimates());
    }
    if !rows.is_empty() {
        let mut columns = Column::heads(several);
        columns.extend(Column::all([("median", true), ("min", true), ("max", true), ("runs", true)]));
        findings.tables = vec![Table { title: String::new(), columns, rows }];
    }
}

impl Woken<'_> {
    fn rows(&self, several: bool) -> Vec<Vec<String>> {
        let (first, spinning): (Vec<f64>, Vec<f64>) = self.reads.iter().copied().unzip();
        let kinds = [(FIRST, first), (SPINNING, spinning)];
        let row = |(label, seconds): (&str, Vec<f64>)| {
            let median = repeat::middle(&seconds)?.value;
            let (least, most) = range(seconds.iter().copied());
            let mut row = if several { vec![short(&self.target.given)] } else { Vec::new() };
            row.push(label.to_owned());
            row.extend([median, least, most].map(duration));
            row.push(seconds.len().to_string());
            Some(row)
        };
        kinds.into_iter().filter_map(row).collect()
    }

    fn estimates(&self) -> Vec<Metric> {
        let all = [
            (Quantity::WakeTime, Scope::Whole, self.direct()),
            (Quantity::ReadTime, Scope::Spinning, self.spinning()),
        ];
        let metric = |(quantity, scope, estimate): (_, _, Option<_>)| {
            Some(Metric::new(&self.target.given, quantity, estimate?).at(scope))
        };
        all.into_iter().filter_map(metric).collect()
    }
}
