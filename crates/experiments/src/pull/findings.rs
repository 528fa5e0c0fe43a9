//! Findings of pull: what each layout lost, and when it noticed.

use super::{
    super::common::Series,
    cases::{Case, cases},
    read_only,
    shown::{figure, figure_back, kernel},
    tables::{away, back, moments, probes, second, summary},
    verdicts::{Rank, verdict},
};
use crate::{
    analyse::Estimate,
    findings::{Findings, Metric, Quantity, Scope},
    plan::Plan,
    record::Run,
    units::{count, distinct},
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let all = cases(run, plan);
    let (built, in_use): (Vec<&Case<'_>>, Vec<&Case<'_>>) = all.iter().partition(|case| case.built.is_some());
    by_layout(findings, &built);
    in_use.iter().for_each(|case| read_only::results(findings, case));
    // How long operations waited; one pull has no interval.
    findings.estimates.extend(all.iter().map(|case| {
        let longest = Estimate::unbounded(case.pulled.away.longest, "one pull");
        Metric::new(case.pool, Quantity::LongestOperation, longest).at(Scope::Whole)
    }));
    let settings = all.iter().map(|case| {
        let settings = case.pulled.settings.iter().map(|(name, value)| format!("{name} {value}"));
        format!("{}: {}.", case.drive, settings.collect::<Vec<String>>().join(", "))
    });
    findings.details.sentences.extend(distinct(settings));
    let how = all.iter().map(|case| match case.has_second() {
        true => format!("a drive, and then another one, was {}", case.by.past()),
        false => format!("one drive at a time was {}", case.by.past()),
    });
    findings.context.extend(distinct(how));
}

/// The tables of pulls of one pool, or of pools of one layout.
pub(super) fn tables(findings: &mut Findings, cases: &[&Case<'_>]) {
    let Some(case) = cases.first() else { return };
    findings.tables.extend([away(case, cases), probes(cases)]);
    findings.tables.extend(second(cases));
    findings.tables.push(back(case, cases));
    findings.details.tables.push(moments(case.layout, cases));
    let worst = cases.iter().max_by(|a, b| a.pulled.away.longest.total_cmp(&b.pulled.away.longest));
    findings.figures.extend(worst.map(|case| figure(case)));
    findings.details.sentences.extend(worst.and_then(|case| kernel(case)));
}

/// Of pools that the run built.
fn by_layout(findings: &mut Findings, cases: &[&Case<'_>]) {
    let layouts: Vec<&[&Case<'_>]> = cases.chunk_by(|a, b| a.layout == b.layout).collect();
    let verdict = |cases: &&[&Case<'_>]| Some(verdict(cases.first()?.layout, cases));
    let mut verdicts: Vec<(Rank, String)> = layouts.iter().filter_map(verdict).collect();
    // A broken promise is the headline.
    verdicts.sort_by_key(|(rank, _)| *rank);
    findings.verdicts = verdicts.into_iter().map(|(_, text)| text).collect();
    findings.tables.extend(summary(&layouts));
    if !cases.is_empty() {
        findings.details.sentences.extend([NOT_SHOWN, LEGEND].map(str::to_owned));
    }
    let twice = cases.iter().any(|case| case.has_second());
    findings.details.sentences.extend(twice.then(|| SECOND.to_owned()));
    for cases in layouts {
        tables(findings, cases);
        let waited = |case: &&&Case<'_>| case.pulled.back.as_ref().map_or(0.0, |back| back.during.longest);
        let slowest = cases.iter().max_by(|a, b| waited(a).total_cmp(&waited(b)));
        findings.figures.extend(slowest.and_then(|case| figure_back(case)));
        findings.details.sentences.extend(cases.iter().filter_map(|case| examples(case)));
    }
}

/// What nobody should conclude.
const NOT_SHOWN: &str = "Not shown by this: what a drive does that dies, hangs or returns wrong data, what a power cut does \
    (`drivebench run power`), how long a drive of full size takes to fill, and what is left if a drive never comes back and there are no \
    copies.";

/// What the columns say.
const LEGEND: &str = "'room': how many drives' worth of data it holds; 'survives': the loss of so many drives, whichever they are, without losing data. Of several pulls a row has the worst of each. 'files on it': with a part \
    on that drive. 'intact': files that hold what they should; 'wrong': files that can be read, but hold something else. 'synced writes': those that the \
    system had confirmed to be on the drives; 'lost writes': those of them that are not there. 'longest wait': the longest read or write while the \
    drive was away, or while it was filled. 'cache emptied': tried again after the memory's copies of files were dropped. 'back in', 'complete in': from the command that \
    takes the drive back to the last byte copied, while files were used. 'share written': of what the pool uses of the drive.";

const SECOND: &str = "'then pulled': the drive that was pulled while the one under 'after' was filled; 'was filled': how much of that one was; 'complete \
    in': from the command that takes the other one back, once the first one was filled.";

/// The first losses of the ledger.
fn examples(case: &Case<'_>) -> Option<String> {
    let found = case.pulled.back.as_ref().map_or(&case.pulled.ledger, |back| &back.ledger);
    let lost = count(found.lost_bytes, "byte");
    let first = found.examples.join("; ");
    (!found.examples.is_empty()).then(|| {
        format!("{} of acknowledged writes lost on {}, {} pulled: {first}.", lost, case.layout, case.drive)
    })
}
