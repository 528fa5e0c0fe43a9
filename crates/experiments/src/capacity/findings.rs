//! Findings of capacity.

use super::{
    probe::{Probed, Sample, State},
    verdict::{False, Undecided, Verdict},
};
use crate::{
    analyse::Estimate,
    common::Series,
    findings::{
        Axis, Column, Curve, Figure, Findings, Measures, Metric, Point, Quantity, Style, Table, Unit,
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
        let (what, part) = match &act.free_space {
            Some(free_space) => ("free space", format!(" This {}.", free_space.describe(tested))),
            None => ("drive", String::new()),
        };
        findings.verdicts.push(format!("{given}: {}{part}", sentence(&verdict, probed)));
        findings.tables.push(table(given, probed));
        findings.figures.push(figure(given, what, probed));
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
        if let Verdict::Real { .. } = verdict {
            let n = probed.samples.len() as f64;
            findings.details.sentences.push(format!(
                "{given}: a bad range of {} of the {what} or more is always hit; if {} of all blocks are bad, {} in 100,000 tests \
                 miss them.",
                percent(2.0 / n),
                percent(0.01),
                whole((1e5 * 0.99_f64.powf(n)).ceil() as u64)
            ));
        }
    }
}

fn bytes(blocks: u64) -> u64 {
    blocks * BLOCK as u64
}

/// Bytes that are real, as far as they are known.
fn real_size(verdict: &Verdict, claimed: u64) -> Option<Estimate> {
    let within =
        |low: f64, high: f64, value: f64| Estimate { low, high, ..Estimate::unbounded(value, "samples") };
    let all = claimed as f64;
    Some(match verdict {
        Verdict::Real { good } => within(all * good, all, all),
        Verdict::Fake { bytes, .. } | Verdict::Fails { from: bytes } => {
            within(*bytes as f64, *bytes as f64, *bytes as f64)
        }
        Verdict::Faulty { share, low, high, .. } => {
            within(all * (1.0 - high), all * (1.0 - low), all * (1.0 - share))
        }
        Verdict::FakeSomewhere { .. } | Verdict::Unsteady { .. } | Verdict::Undecided(_) => return None,
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
        Verdict::Real { .. } | Verdict::Undecided(_) => return None,
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
            if probed.foreign.is_some() { " Old files may share blocks with them: a test of the whole drive would tell." } else { "" }
        ),
        Verdict::FakeSomewhere { overwrites, share } => {
            let how = match overwrites {
                true => "data overwrites other data".to_owned(),
                false => format!("the last {} of it loses what is written", percent(*share)),
            };
            format!("FAKE: {how}. Copy old files elsewhere and compare them; test the whole drive for its exact size.")
        }
        Verdict::Fake { how, bytes, confirmed } => {
            let beyond = match how {
                False::Wraps(_) => "overwrites earlier data",
                False::Vanishes => "is lost",
            };
            let sure = if *confirmed { "A second pass confirmed it." } else { "A second pass found another exact size." };
            format!(
                "FAKE: it claims {claimed} and holds {}. Data written beyond that {beyond}. {sure} Return it; do not trust any file on it.",
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
            match samples {
                1 => "one block was".to_owned(),
                n => format!("{} blocks were", whole(*n)),
            }
        ),
        Verdict::Undecided(why) => match why {
            Undecided::Nothing => "UNDECIDED: no block could be tested.".to_owned(),
            Undecided::NoEdge => {
                "UNDECIDED: blocks are lost beyond some point, but two passes disagree on it. Repeat the test.".to_owned()
            }
        },
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

/// Where samples are, what became of them, and how long reading them took.
fn figure(given: &str, what: &str, probed: &Probed) -> Figure {
    let point = |s: &Sample| Point::new(bytes(s.block) as f64, s.seconds);
    let curve = |(state, name): (State, &str)| {
        let own = probed.samples.iter().filter(|s| s.state == state).map(point);
        Curve::new(name, Style::Dots, own)
    };
    let states = STATES.map(|(state, name)| {
        let own = probed.samples.iter().filter(|s| s.state == state).count();
        (own > 0).then(|| format!("{} {name}", whole(own as u64)))
    });
    Figure {
        title: format!("samples over the {what}, {given}"),
        text: format!(
            "Samples by position: {}.",
            states.into_iter().flatten().collect::<Vec<_>>().join(", ")
        ),
        load: "random read, 4 KiB, direct, depth 1".to_owned(),
        n: format!("n = {} samples", whole(probed.samples.len() as u64)),
        x: Axis::of("position", Unit::Bytes),
        y: Axis::of("time to read", Unit::Seconds),
        curves: STATES.map(curve).into_iter().filter(|c| !c.points.is_empty()).collect(),
        ..Figure::default()
    }
}
