//! Findings of spinup: standbys and spin-ups of a disk.

use super::{
    super::common::{self, Group, ONE_RUN, Series, Summary, named},
    act::StandbyResult,
    plan::{FIRST, SPINNING},
};
use crate::{
    analyse::{Estimate, repeat},
    findings::{Column, Findings, Metric, Quantity, Scope, Table, short},
    plan::Plan,
    record::Run,
    target::Target,
    units::{Ended, MIB, Percentile, count, decimal_bytes, duration, signed_duration},
};

/// A first read that takes this many times as long as while spinning included a spin-up...
const TIMES: f64 = 10.0;
/// ...if it took at least this long, s: unparking heads takes less.
const LEAST_SECONDS: f64 = 0.3;

/// The reads of a disk.
struct Woken<'a> {
    target: &'a Target,
    /// Each first read, and the typical one while spinning before it, s.
    first: Vec<f64>,
    spinning: Vec<f64>,
    /// Bytes that other programs moved during standby.
    others: u64,
}

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let groups = common::group(run, plan);
    let several = plan.targets.len() > 1;
    let mut rows = Vec::new();
    for (at, target) in plan.targets.iter().enumerate() {
        let naps = run.acts.iter().filter(|((_, of), _)| *of == at);
        let others = naps.filter_map(|(_, result)| Some(result.get::<StandbyResult>()?.others)).sum();
        let woken = Woken::new(&groups, at, target, others);
        if woken.first.is_empty() {
            continue;
        }
        let wakings = woken.wakings();
        let wake_time = repeat::middle(&wakings);
        let say = |text| named(several, target, text);
        findings.verdicts.extend(woken.verdicts(wakings.len(), wake_time.as_ref()).into_iter().map(say));
        for (label, seconds) in [(FIRST, &woken.first), (SPINNING, &woken.spinning)] {
            let Some(median) = repeat::middle(seconds) else { continue };
            let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
            let most = seconds.iter().copied().fold(0.0, f64::max);
            let mut row = if several { vec![short(&target.given)] } else { Vec::new() };
            row.push(label.to_owned());
            row.extend([median.value, least, most].map(duration));
            row.push(seconds.len().to_string());
            rows.push(row);
        }
        let metric = |quantity, estimate| Metric::new(&target.given, quantity, estimate);
        findings.estimates.extend(wake_time.map(|e| metric(Quantity::WakeTime, e)));
        let spinning = repeat::middle(&woken.spinning);
        findings.estimates.extend(spinning.map(|e| metric(Quantity::ReadTime, e).at(Scope::Spinning)));
    }
    if !rows.is_empty() {
        let mut columns = Column::heads(several);
        columns.extend(Column::all([("median", true), ("min", true), ("max", true), ("runs", true)]));
        findings.tables = vec![Table { title: String::new(), columns, rows }];
    }
}

impl<'a> Woken<'a> {
    fn new(groups: &[Group<'_>], at: usize, target: &'a Target, others: u64) -> Self {
        let whole = |run: &&Summary| run.ended == Some(Ended::Finished);
        let runs = |label: &str| -> Vec<&Summary> {
            let group = groups.iter().find(|group| group.at == at && group.measure.label == label);
            group.map(|group| group.runs.iter().filter(whole).collect()).unwrap_or_default()
        };
        let spinning = runs(SPINNING);
        let pair = |first: &&Summary| {
            let same = spinning.iter().find(|run| run.repetition == first.repetition)?;
            let typical = same.tail.histogram().quantile(Percentile::P50.share())?;
            Some((first.seconds, typical as f64 / 1e9))
        };
        let (first, spinning) = runs(FIRST).iter().filter_map(pair).unzip();
        Self { target, first, spinning, others }
    }

    /// The time of each spin-up, s.
    fn wakings(&self) -> Vec<f64> {
        let reads = self.first.iter().zip(&self.spinning);
        let woke = |(first, spinning): &(&f64, &f64)| **first > (TIMES * **spinning).max(LEAST_SECONDS);
        reads.filter(woke).map(|(first, spinning)| first - spinning).collect()
    }

    fn verdicts(&self, slept: usize, wake_time: Option<&Estimate>) -> Vec<String> {
        let mut sentences = match wake_time {
            Some(time) => {
                let time = time.sentence(signed_duration, ONE_RUN);
                vec![format!("Spin-up takes {time} by the first read after standby.")]
            }
            None => vec![
                "No standby was seen: no first read took longer than while spinning. Wait longer for the drive's own \
                 timer with --pause, or find what keeps it awake."
                    .to_owned(),
            ],
        };
        if slept > 0 && slept < self.first.len() {
            let all = count(self.first.len() as u64, "read");
            sentences.push(format!("Only {slept} of {all} followed a standby; the others are left out."));
        }
        let timeout = wake_time.filter(|time| time.high.is_finite());
        sentences.extend(timeout.map(|e| format!("Set timeouts to at least {}.", duration(2.0 * e.high))));
        if self.others > MIB / 16 {
            let (moved, uses) = (decimal_bytes(self.others), self.target.uses.join(", "));
            let used = if uses.is_empty() { String::new() } else { format!("; it is used for {uses}") };
            sentences
                .push(format!("Other programs moved {moved} on it during standby, which wakes it{used}."));
        }
        sentences
    }
}
