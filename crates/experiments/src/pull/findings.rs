//! Findings of pull: what each layout lost, and how it came back.

use super::{
    super::common::Series,
    BuiltPool, Pull, PullBy, PullResult, PulledPool,
    tables::{away, rejoined, summary},
    verdicts::verdict,
};
use crate::{
    analyse::Estimate,
    findings::{
        Findings, Measures, Metric, Quantity, Scope,
        fitness::{KeptData, Use},
    },
    plan::{Plan, Step},
    record::Run,
    target::Target,
    units::{Layout, distinct},
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

/// One pull.
pub(super) struct Case<'a> {
    pub layout: Layout,
    /// Number of drives of the pool.
    pub drives: usize,
    /// The pool that lost a drive, as the plan names it.
    pub pool: &'a str,
    /// The drive that was pulled: its bay, or its name.
    pub drive: String,
    pub by: PullBy,
    /// What was planned for a pool that the run built; none for one in use.
    pub built: Option<&'a BuiltPool>,
    pub pulled: &'a PullResult,
}

impl Case<'_> {
    /// The pool: by its layout, and if it is in use by its drives, too.
    pub fn name(&self) -> String {
        match self.built {
            Some(_) => self.layout.to_string(),
            None => format!("{} of {} drives in use", self.layout, self.drives),
        }
    }
}

fn name(target: &Target, number: u32) -> Option<String> {
    let drive = target.drives.get(number as usize)?;
    Some(drive.bay.as_ref().map_or_else(|| drive.name.clone(), |bay| format!("bay {bay}")))
}

pub(super) fn cases<'a>(run: &'a Run<Series>, plan: &'a Plan) -> Vec<Case<'a>> {
    let case = |step: &'a Step| {
        let act: &Pull = step.act.get()?;
        let at = step.targets().next()?;
        let (pulled, target) = (run.acts.get(&(step.id, at))?.get::<PullResult>()?, &plan.targets[at]);
        let (layout, drives, drive, built) = match &act.pool {
            PulledPool::Built(built) => {
                let build = plan.build(at)?;
                (build.layout, build.drives.len(), name(target, built.member)?, Some(built))
            }
            PulledPool::InUse(used) => {
                let pool = target.pool.as_ref()?;
                let drives = usize::try_from(pool.members).ok()?;
                (Layout::of_name(&pool.kind)?, drives, used.label.clone(), None)
            }
        };
        Some(Case { layout, drives, pool: &target.given, drive, by: act.by, built, pulled })
    };
    plan.steps.iter().filter_map(case).collect()
}
