//! Findings of power: what was acknowledged, and what of it is there.

use super::super::common::Series;
use crate::{
    analyse::Estimate,
    findings::{Column, Findings, Measures, Metric, Quantity, Table, fitness::Use},
    plan::Plan,
    power::{PowerCut, PowerCutResult, WritesEnded},
    record::Run,
    test_files::losses,
    units::{Pool, count, decimal_bytes, duration},
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    for step in &plan.steps {
        let (true, Some(at)) = (step.act.is::<PowerCut>(), step.targets().next()) else { continue };
        let cut = run.acts.get(&(step.id, at)).and_then(|act| act.get::<PowerCutResult>());
        let Some(cut) = cut else { continue };
        findings.verdicts.push(verdict(cut, plan.targets[at].pool.as_ref()));
        findings.tables.push(table(cut));
        let (given, kept) = (&plan.targets[at].given, cut.kept());
        // One power cut says nothing of others.
        let lost = Estimate::unbounded(kept.lost_bytes as f64, "one power cut");
        findings.estimates.push(Metric::new(given, Quantity::LostBytes, lost));
        findings.judge(given, Measures { kept: Some(kept), ..Measures::default() }, &[Use::Safekeeping]);
        let details = &mut findings.details.sentences;
        details.extend(cut.ledger.examples.iter().map(|example| format!("Lost: {example}.")));
        details.extend(cut.files.error.iter().map(|e| format!("The first error: {e}.")));
    }
}

/// Losses come first. "Nothing was lost" holds for this power cut only.
fn verdict(cut: &PowerCutResult, pool: Option<&Pool>) -> String {
    let PowerCutResult { files, ledger, ended, .. } = cut;
    let losses = losses(files, ledger).collect::<Vec<String>>().join(", ");
    let written =
        format!("{} in {}", count(ledger.acknowledged, "acknowledged write"), duration(cut.seconds));
    let when = match ended {
        WritesEnded::PowerCut => "after a power cut or restart",
        WritesEnded::DriveGone => "after the drive stopped taking writes",
        WritesEnded::WrongRead => "before any power cut",
    };
    let lacks = pool.filter(|_| cut.missing > 0).map(|pool| {
        format!("The pool came back without {} of its {}", cut.missing, count(pool.drives, "drive"))
    });
    if cut.is_whole() {
        return format!(
            "Nothing was lost {when} ({written}). {}{}",
            lacks.map(|lacks| lacks + ". ").unwrap_or_default(),
            match ended {
                WritesEnded::DriveGone =>
                    "A reset or a filesystem error can look the same, so this may not show a power cut.",
                _ => "Rare losses take many power cuts to find.",
            }
        );
    }
    let is_wrong = cut.is_stored() || *ended == WritesEnded::WrongRead;
    let why = match lacks {
        _ if is_wrong => "Don't trust the drive, its port or its cable with data.".to_owned(),
        Some(lacks) => format!(
            "{lacks}, which can be the cause; with parity, a power cut then also damages other data (write hole)."
        ),
        None => "The drive, or a layer between it and the filesystem, confirmed writes that were not stored."
            .to_owned(),
    };
    let head = if is_wrong { "WRONG DATA" } else { "NOT KEPT" };
    let remain = match ended {
        WritesEnded::WrongRead => "",
        _ => " The test files remain (drivebench cleanup lists them).",
    };
    format!("{head}: {losses}, {when} ({written}). {why}{remain}")
}

fn table(cut: &PowerCutResult) -> Table {
    let PowerCutResult { files, ledger, .. } = cut;
    Table {
        title: String::new(),
        columns: Column::all([("data", false), ("kept", true), ("lost", true)]),
        rows: vec![
            vec![
                "files synced before".to_owned(),
                files.whole.to_string(),
                (files.all() - files.whole).to_string(),
            ],
            vec![
                "acknowledged writes".to_owned(),
                decimal_bytes(ledger.kept_bytes),
                decimal_bytes(ledger.lost_bytes),
            ],
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_files::{FilesFound, LedgerFound};

    #[test]
    fn what_is_not_as_promised_comes_first() {
        let files = FilesFound { whole: 40, ..FilesFound::default() };
        let ledger = LedgerFound {
            acknowledged: 300,
            acknowledged_bytes: 6_000_000,
            kept_bytes: 5_000_000,
            ..LedgerFound::default()
        };
        let healthy = PowerCutResult { files, ledger, seconds: 12.0, ..PowerCutResult::default() };
        let mut lies = healthy.clone();
        (lies.ledger.lost_bytes, lies.ledger.kept_bytes) = (200_000, 4_800_000);
        let mut unsteady = healthy.clone();
        (unsteady.files.unsteady, unsteady.ledger.unsteady) = (1, 2);
        let flips = PowerCutResult { ended: WritesEnded::WrongRead, ..unsteady.clone() };
        let mut forgets = PowerCutResult { ledger: lies.ledger.clone(), ..flips.clone() };
        forgets.files.wrong = 1;
        let of = |layout: &str| Pool { layout: Some(layout.to_owned()), drives: 4, ..Pool::default() };
        let lack = |cut: &PowerCutResult, layout| {
            verdict(&PowerCutResult { missing: 1, ..cut.clone() }, Some(&of(layout)))
        };
        let degraded = [lack(&healthy, "raid5"), lack(&lies, "raid5"), lack(&lies, "raid1")];
        let all = [healthy, lies, unsteady, flips, forgets].map(|cut| verdict(&cut, Some(&of("raid5"))));
        insta::assert_snapshot!([&all[..], &degraded[..]].concat().join("\n\n"));
    }
}
