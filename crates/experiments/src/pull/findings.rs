//! Findings of pull: what each layout lost, and how it came back.

use super::{
    super::common::Series,
    cases::{Case, cases},
    tables::{away, rejoined, summary},
    verdicts::verdict,
};
use crate::{
    analyse::Estimate,
    findings::{
        Findings, Measures, Metric, Quantity, Scope,
        fitness::{KeptData, Use},
    },
    plan::Plan,
    record::Run,
    units::distinct,
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let all = cases(run, plan);
    let layouts: Vec<&[Case<'_>]> = all.chunk_by(|a, b| a.layout == b.layout).collect();
    let mut verdicts: Vec<_> = layouts.iter().filter_map(|cases| verdict(cases)).collect();
    // A broken promise is the headline.
    verdicts.sort_by_key(|(rank, _)| *rank);
    findings.verdicts = verdicts.into_iter().map(|(_, text)| text).collect();
    findings.tables.extend(summary(&layouts));
    for cases in layouts {
        findings.tables.push(away(cases));
        findings.tables.push(rejoined(cases));
    }
    for case in &all {
        // How long operations waited; one pull has no interval.
        let longest = Estimate::unbounded(case.pulled.away.longest, "one pull");
        findings.estimates.push(Metric::new(case.pool, Quantity::LongestOperation, longest).at(Scope::Whole));
        if let Some(kept) = kept(case) {
            let measures = Measures { kept: Some(kept), ..Measures::default() };
            findings.judge(case.pool, measures, &[Use::Safekeeping]);
        }
        if case.pulled.read.is_some() {
            // What md copies back is in no count of bytes.
            findings.spent = None;
            findings.context.push("reading only: no file was written".to_owned());
        }
    }
    let how = all.iter().map(|case| format!("one drive at a time was away: {}", case.by.words()));
    findings.context.extend(distinct(how));
}

/// The worst that a layout did which promises to survive the loss of one drive.
fn kept(case: &Case<'_>) -> Option<KeptData> {
    let promised = case.layout.is_redundant() && !case.pulled.is_other_lost();
    let stages = case.pulled.found().filter(|_| promised).map(|(_, used, files, ledger)| KeptData {
        lost_bytes: ledger.lost_bytes.saturating_add(files.lost_bytes),
        wrong_reads: used.wrong_reads.saturating_add(files.wrong),
    });
    stages.reduce(KeptData::worst)
}
