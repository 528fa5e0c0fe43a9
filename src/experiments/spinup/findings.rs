//! How spinup reads its record.

use super::{
    super::{
        Experiment,
        load_summary::Run,
        loaded_run::{Gathered, Group},
        table_cells::{column, short},
    },
    plan::{COLD_COPY, COPY, FIRST, SPINNING},
    verdicts,
};
use crate::{
    analyse::{Estimate, repeat},
    findings::{Axis, Curve, Figure, Findings, Named, Point, Style, Table},
    record::{Event, StandbyResult},
    target::Target,
    units::{Ended, count, duration},
};

/// A read that takes so many times as long as while spinning woke the disk...
const TIMES: f64 = 10.0;
/// ...if it took so long at all, s: heads that were parked take less.
const LEAST_SECONDS: f64 = 0.3;

/// What was seen of one disk.
pub(super) struct Woken<'a> {
    pub target: &'a Target,
    /// Each first read with the typical one while spinning, s.
    pub reads: Vec<(f64, f64)>,
    /// Copies while spinning, s.
    pub copies: Vec<f64>,
    /// Copies from standby, s.
    pub cold: Vec<f64>,
    /// How it was brought to sleep, each time, and how long that took, s.
    pub naps: Vec<(StandbyResult, f64)>,
}

impl Woken<'_> {
    /// What each waking cost, s, where there was one.
    pub fn wakings(&self) -> Vec<f64> {
        let woke = |(first, spinning): &&(f64, f64)| *first > (TIMES * spinning).max(LEAST_SECONDS);
        self.reads.iter().filter(woke).map(|(first, spinning)| first - spinning).collect()
    }

    /// By the first reads.
    pub fn direct(&self) -> Option<Estimate> {
        repeat::middle(&self.wakings())
    }

    /// By the copies; nothing where no read showed that the disk slept.
    pub fn by_copies(&self) -> Option<Estimate> {
        repeat::difference(&self.cold, &self.copies).filter(|_| !self.wakings().is_empty())
    }

    fn spinning(&self) -> Option<Estimate> {
        repeat::middle(&self.reads.iter().map(|(_, spinning)| *spinning).collect::<Vec<_>>())
    }
}

pub(super) fn findings(experiment: &dyn Experiment, record: &mut dyn Iterator<Item = Event>) -> Findings {
    let mut held = Gathered::read(record, |_| ());
    let mut findings = held.findings(experiment);
    let Some(plan) = held.plan.clone() else { return findings };
    let groups = held.groups(&plan, "");
    let several = plan.targets.len() > 1;
    let mut rows = Vec::new();
    for (at, target) in plan.targets.iter().enumerate() {
        let woken = woken(&held, &groups, at, target);
        if woken.reads.is_empty() {
            continue;
        }
        let said = verdicts::woken(&woken);
        findings.verdicts.push(if several { format!("{}: {said}", target.given) } else { said });
        rows.extend(woken.rows(several));
        findings.estimates.extend(woken.estimates());
        findings.figures.extend(woken.figure());
    }
    if !rows.is_empty() {
        let mut columns = vec![column("", false), column("median", true), column("least", true)];
        columns.extend([column("most", true), column("runs", true)]);
        if several {
            columns.insert(0, column("target", false));
        }
        findings.tables = vec![Table { title: String::new(), columns, rows }];
    }
    findings
}

fn woken<'a>(held: &Gathered, groups: &[Group<'_>], at: usize, target: &'a Target) -> Woken<'a> {
    let whole = |run: &&Run| run.ended == Some(Ended::Finished);
    let runs = |label: &str| -> Vec<&Run> {
        let group = groups.iter().find(|group| group.at == at && group.measure.label == label);
        group.map(|group| group.runs.iter().filter(whole).collect()).unwrap_or_default()
    };
    let seconds = |label: &str| runs(label).iter().map(|run| run.seconds).collect::<Vec<_>>();
    let typical = |run: &Run| Some(run.tail.histogram().quantile(0.5)? as f64 / 1e9);
    let spinning = runs(SPINNING);
    let pair = |first: &&Run| {
        let same = spinning.iter().find(|run| run.repetition == first.repetition)?;
        Some((first.seconds, typical(same)?))
    };
    let naps = held.acts.iter().filter(|((_, of), _)| *of == at);
    Woken {
        target,
        reads: runs(FIRST).iter().filter_map(pair).collect(),
        copies: seconds(COPY),
        cold: seconds(COLD_COPY),
        naps: naps.filter_map(|(_, result)| Some((result.slept.clone()?, result.seconds))).collect(),
    }
}

impl Woken<'_> {
    fn rows(&self, several: bool) -> Vec<Vec<String>> {
        let (first, spinning): (Vec<f64>, Vec<f64>) = self.reads.iter().copied().unzip();
        let kinds = [
            (FIRST, first),
            (SPINNING, spinning),
            (COLD_COPY, self.cold.clone()),
            (COPY, self.copies.clone()),
        ];
        let row = |(label, seconds): (&str, Vec<f64>)| {
            let median = repeat::middle(&seconds)?.value;
            let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
            let most = seconds.iter().copied().fold(0.0, f64::max);
            let mut row = if several { vec![short(&self.target.given)] } else { Vec::new() };
            row.push(label.to_owned());
            row.extend([median, least, most].map(duration));
            row.push(seconds.len().to_string());
            Some(row)
        };
        kinds.into_iter().filter_map(row).collect()
    }

    fn estimates(&self) -> Vec<Named> {
        let all = [
            ("spin-up time", self.direct()),
            ("spin-up time by copies", self.by_copies()),
            ("read while spinning", self.spinning()),
        ];
        all.into_iter()
            .filter_map(|(name, estimate)| Some(Named::new(&self.target.given, name, "s", estimate?)))
            .collect()
    }

    fn figure(&self) -> Option<Figure> {
        let direct = self.direct()?;
        let wakings = self.wakings();
        let single = wakings.iter().map(|seconds| Point::new(0.0, *seconds));
        let both = [Some(direct), self.by_copies()];
        let both = (0..).zip(both).filter_map(|(x, e)| Some(Point::of(f64::from(x), &e?)));
        let names = ["first read", "difference of copies"].map(str::to_owned);
        Some(Figure {
            title: format!("spin-up time, {}", self.target.given),
            text: verdicts::both(self),
            n: count(wakings.len() as u64, "waking"),
            x: Axis::named("method", names),
            y: Axis::of("spin-up time", "s"),
            curves: vec![
                Curve::new("each waking", Style::Dots, single),
                Curve::new("estimate", Style::Dots, both),
            ],
            ..Figure::default()
        })
    }
}
