//! Findings of capacity.

use super::{
    probe::{Probed, State},
    verdict::Verdict,
};
use crate::{
    analyse::Estimate,
    common::Series,
    findings::{
        Column, Findings, Measures, Metric, Quantity, Table,
        fitness::{KeptData, Use},
    },
    plan::Plan,
    record::Run,
    stamped::BLOCK,
    units::{count, decimal_bytes, percent, whole},
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    for (step, act) in plan.acts::<super::act::ProbeCapacity>() {
        let Some(at) = step.targets().next() else { continue };
        let given = &plan.targets[at].given;
        let Some(probed) = run.acts.get(&(step.id, at)).and_then(|act| act.get::<Probed>()) else {
            findings.verdicts.push(format!(
                "{given}: UNDECIDED: the test ended before all samples were read. `drivebench cleanup` undoes what is left of it."
            ));
            continue;
        };
        let verdict = Verdict::of(probed);
        let tested = bytes(probed.blocks);
        let part =
            act.free_space.as_ref().map(|free_space| format!(" This {}.", free_space.describe(tested)));
        findings.verdicts.push(format!(
            "{given}: {}{}",
            sentence(&verdict, probed),
            part.unwrap_or_default()
        ));
        findings.tables.push(table(given, probed));
        let real = real_size(&verdict, act.bytes).filter(|_| act.free_space.is_none());
        findings.estimates.extend(real.map(|e| Metric::new(given, Quantity::RealSize, e)));
        if let Some(kept) = loss(&verdict, tested) {
            findings.judge(given, Measures { kept: Some(kept), ..Measures::default() }, &[Use::Safekeeping]);
        }
        if probed.not_restored > 0 {
            findings.verdicts.push(format!(
                "{given}: {} could not be restored; the content is saved, and `drivebench cleanup` tries again.",
                count(probed.not_restored, "block")
            ));
        }
    }
}

fn bytes(blocks: u64) -> u64 {
    blocks * BLOCK as u64
}

/// Bytes that are real, as far as they are known.
fn real_size(verdict: &Verdict, claimed: u64) -> Option<Estimate> {
    let within = |low: f64, high: f64, value: f64| Estimate::between(value, [low, high], "samples");
    let all = claimed as f64;
    Some(match verdict {
        Verdict::Real { good } => within(all * good, all, all),
        Verdict::Fake { bytes, .. } | Verdict::Fails { from: bytes } => {
            within(*bytes as f64, *bytes as f64, *bytes as f64)
        }
        Verdict::Faulty { share, low, high, .. } => {
            within(all * (1.0 - high), all * (1.0 - low), all * (1.0 - share))
        }
        Verdict::FakeSomewhere { .. } | Verdict::Unsteady { .. } | Verdict::Undecided => return None,
    })
}

/// Data that a filled drive would lose.
fn loss(verdict: &Verdict, claimed: u64) -> Option<KeptData> {
    let lost = |lost_bytes: u64| KeptData { lost_bytes, wrong_reads: 0 };
    Some(match verdict {
        Verdict::Fake { bytes, .. } | Verdict::Fails { from: bytes } => {
            lost(claimed.saturating_sub(*bytes).max(1))
        }
        Verdict::Faulty { share, .. } | Verdict::FakeSomewhere { share, .. } => {
            lost(((claimed as f64 * share) as u64).max(1))
        }
        Verdict::Unsteady { samples } => KeptData { lost_bytes: 0, wrong_reads: *samples },
        Verdict::Real { .. } | Verdict::Undecided => return None,
    })
}

fn sentence(verdict: &Verdict, probed: &Probed) -> String {
    let claimed = decimal_bytes(bytes(probed.blocks));
    let samples = count(probed.samples.len() as u64, "sampled block");
    let bad = || probed.samples.iter().filter(|s| s.state.is_bad()).map(|s| s.block);
    match verdict {
        Verdict::Real { good } => format!(
            "at least {} of {claimed} are real (95 %). All {samples} kept what was written.{}",
            decimal_bytes((bytes(probed.blocks) as f64 * good) as u64),
            if probed.foreign.is_some() {
                " Old files may share blocks with them: a test of the whole drive would tell."
            } else {
                ""
            }
        ),
        Verdict::FakeSomewhere { overwrites, share } => {
            let how = match overwrites {
                true => "data overwrites other data".to_owned(),
                false => format!("the last {} of it loses what is written", percent(*share)),
            };
            format!(
                "FAKE: {how}. Copy old files elsewhere and compare them; test the whole drive for its exact size."
            )
        }
        Verdict::Fake { wraps, bytes, confirmed } => {
            let beyond = if wraps.is_some() { "overwrites earlier data" } else { "is lost" };
            let sure = if *confirmed {
                "A second pass confirmed it."
            } else {
                "A second pass found another exact size."
            };
            format!(
                "FAKE: it claims {claimed} and holds {}. Data written beyond that {beyond}. {sure} Return it; trust no file on it.",
                decimal_bytes(*bytes)
            )
        }
        Verdict::Fails { from } => format!(
            "BAD: every sampled block beyond {} of {claimed} fails with an error. Its size is false or it is defective: return it.",
            decimal_bytes(*from)
        ),
        Verdict::Faulty { share, low, high, errors } => format!(
            "BAD: {} ({}–{}) of its blocks {}, from {} to {}. Return it.",
            percent(*share),
            percent(*low),
            percent(*high),
            if *errors { "fail with errors" } else { "lose what is written to them" },
            decimal_bytes(bytes(bad().min().unwrap_or(0))),
            decimal_bytes(bytes(bad().max().unwrap_or(0)))
        ),
        Verdict::Unsteady { samples } => format!(
            "UNSTEADY: {} wrong at first and right later, so its size is not known. Clean the contacts, try another port, cable or \
             reader, and repeat.",
            if *samples == 1 {
                "one block was".to_owned()
            } else {
                format!("{} blocks were", whole(*samples))
            }
        ),
        Verdict::Undecided => {
            "UNDECIDED: blocks are lost beyond some point, but two passes disagree on it. Repeat the test."
                .to_owned()
        }
    }
}

const STATES: [(State, &str); 5] = [
    (State::Good, "good"),
    (State::Lost, "lost"),
    (State::Unsteady, "unsteady"),
    (State::ReadError, "read error"),
    (State::WriteError, "write error"),
];

fn table(given: &str, probed: &Probed) -> Table {
    let count = |state: State| probed.samples.iter().filter(|s| s.state == state).count() as u64;
    let mut columns = vec![Column::new("blocks", false)];
    columns.extend(STATES.map(|(_, name)| Column::new(name, true)));
    let first = whole(probed.samples.len() as u64);
    let cells = STATES.map(|(state, _)| whole(count(state)));
    let rows = vec![[first].into_iter().chain(cells).collect()];
    Table { title: given.to_owned(), columns, rows }
}
