//! Findings of power: what was acknowledged, and what of it is there.

use super::super::common::Series;
use crate::{
    analyse::Estimate,
    findings::{Column, Findings, Metric, Quantity, Table},
    plan::Plan,
    power::{PowerCut, PowerCutResult},
    record::Run,
    units::{Layout, Pool, capital, count, decimal_bytes, duration},
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    for step in &plan.steps {
        let (true, Some(at)) = (step.act.is::<PowerCut>(), step.targets().next()) else { continue };
        let cut = run.acts.get(&(step.id, at)).and_then(|act| act.get::<PowerCutResult>());
        let Some(cut) = cut else { continue };
        findings.verdicts.push(verdict(cut, plan.targets[at].pool.as_ref()));
        findings.tables.push(table(cut));
        // One power cut says nothing of others.
        let lost = Estimate::unbounded(
            cut.ledger.lost_bytes.saturating_add(cut.files.lost_bytes) as f64,
            "one power cut",
        );
        findings.estimates.push(Metric::new(&plan.targets[at].given, Quantity::LostBytes, lost));
        let first = cut.early.iter().map(|early| format!("The first wrong read: {}.", early.first));
        findings.details.sentences.extend(first);
        let lost = cut.ledger.examples.iter().map(|example| format!("Lost: {example}."));
        findings.details.sentences.extend(lost);
        findings.details.sentences.extend(cut.files.error.iter().map(|e| format!("The first error: {e}.")));
    }
}

/// What is not as promised comes first. That nothing is lost is said of this power cut only.
fn verdict(cut: &PowerCutResult, pool: Option<&Pool>) -> String {
    let PowerCutResult { files, ledger, early, .. } = cut;
    let what = match cut.only_drive {
        true => "The drive took no more writes",
        false => "The power was cut, or the machine started again,",
    };
    let mut broken = Vec::new();
    if files.wrong > 0 {
        broken.push(format!("{} silently wrong", count(files.wrong, "file")));
    }
    if files.failed + files.unread > 0 {
        broken.push(format!("{} not readable", count(files.failed + files.unread, "file")));
    }
    if ledger.lost_bytes > 0 {
        let (lost, all) =
            (decimal_bytes(ledger.lost_bytes), decimal_bytes(ledger.lost_bytes + ledger.kept_bytes));
        broken.push(format!("{lost} of {all} of acknowledged writes lost"));
    }
    let is_stored = broken.is_empty();
    if files.unsteady + ledger.unsteady > 0 {
        let places = count(files.unsteady + ledger.unsteady, "place");
        broken.push(format!(
            "{places} held something else when first read, and the right data when read again"
        ));
    }
    let written =
        format!("{} in {}", count(ledger.acknowledged, "acknowledged write"), duration(cut.seconds));
    if let Some(early) = early {
        let nothing = "read again, all is there: it was changed on the way, or by the drive when it read";
        let what = if broken.is_empty() { nothing.to_owned() } else { broken.join(", ") };
        return format!(
            "WRONG DATA: {} of {} returned something else than was synced, before any power cut, after {written}; {what}. Don't \
             trust the drive, its port or what is between them with data. {}",
            early.wrong,
            count(early.reads, "read"),
            match &cut.stay {
                None => "The test files were removed.".to_owned(),
                Some(why) =>
                    format!("The test files were not removed (drivebench cleanup names them): {why}."),
            }
        );
    }
    match cut.is_whole() {
        false if is_stored => format!(
            "WRONG DATA: {}. {what} after {written}; nothing was lost. The drive, its port or what is between them changes data on the \
             way. Its files stay for another look (drivebench cleanup names them).",
            broken.join(", ")
        ),
        false => format!(
            "NOT KEPT: {}. {what} after {written}. {} Its files stay for another look (drivebench cleanup names them).",
            broken.join(", "),
            reason(cut, pool)
        ),
        true => format!(
            "Nothing was lost. {what} after {written}{}; all {} and all {} of acknowledged writes are there. {}",
            lacks(cut, pool).map(|lacks| format!(", and {lacks}")).unwrap_or_default(),
            count(files.whole, "file"),
            decimal_bytes(ledger.kept_bytes),
            match cut.only_drive {
                true =>
                    "If its power was cut then, that is one power cut; after a reset or an error of the filesystem it shows nothing.",
                false => "That is one power cut: a drive that loses data now and then may need many.",
            }
        ),
    }
}

/// Which drives the pool came back without.
fn lacks(cut: &PowerCutResult, pool: Option<&Pool>) -> Option<String> {
    let pool = pool.filter(|_| cut.missing > 0)?;
    let of = count(pool.drives, "drive");
    Some(format!("the pool came back without {} of its {of}", cut.missing))
}

/// Why acknowledged writes may be lost.
fn reason(cut: &PowerCutResult, pool: Option<&Pool>) -> String {
    let layout = pool.and_then(|pool| Layout::of_name(pool.layout.as_ref()?));
    match (lacks(cut, pool), layout) {
        (Some(lacks), Some(layout)) if layout.has_parity() => format!(
            "{}. What a missing drive had is computed from the others and from parity, which is wrong where a write was cut off: \
             the write hole of {layout}, which no drive need be at fault for.",
            capital(&lacks)
        ),
        (Some(lacks), _) => format!(
            "{}: what only the missing one had is not there. Or a drive said that data was stored that was not.",
            capital(&lacks)
        ),
        (None, _) => {
            "The drive, or what is between it and the filesystem, said that data was stored that was not."
                .to_owned()
        }
    }
}

fn table(cut: &PowerCutResult) -> Table {
    let PowerCutResult { files, ledger, .. } = cut;
    let row = |what: &str, cells: [String; 4]| {
        std::iter::once(what.to_owned()).chain(cells).collect::<Vec<String>>()
    };
    Table {
        title: if cut.early.is_some() { "Without a power cut" } else { "After the power cut" }.to_owned(),
        columns: Column::all([
            ("what", false),
            ("kept", true),
            ("lost", true),
            ("torn", true),
            ("refused", true),
        ]),
        rows: vec![
            row(
                "files synced before",
                [
                    files.whole.to_string(),
                    (files.all() - files.whole).to_string(),
                    "-".to_owned(),
                    "-".to_owned(),
                ],
            ),
            row(
                "acknowledged writes",
                [
                    decimal_bytes(ledger.kept_bytes),
                    decimal_bytes(ledger.lost_bytes),
                    decimal_bytes(ledger.torn_bytes),
                    count(ledger.refused, "write"),
                ],
            ),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        power::WrongReads,
        test_files::{FilesFound, LedgerFound},
    };

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
        let early = WrongReads { reads: 812, wrong: 3, first: "area, write 7 at 16384".to_owned() };
        let flips = PowerCutResult { early: Some(early), ..healthy.clone() };
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
