//! Findings of cliff.

use super::{
    super::common::{
        self, Group, Series, named,
        pieces::{self, Placed},
    },
    act::Pause,
    plan::WRITE,
    verdicts::{self, Writing, Written, written},
};
use crate::{
    analyse::{CliffEstimate, Estimate, rounds::Piece},
    findings::{
        At, Axis, Band, Column, Curve, Figure, Findings, Mark, Metric, Quantity, Scope, Style, Table, Unit,
        short,
    },
    plan::Plan,
    record::Run,
    units::{count, decimal_bytes, duration, rate},
};

/// Points of a curve: enough for a screen.
const POINTS: usize = 256;

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let mut groups = common::group(run, plan);
    let first = |group: &&Group<'_>| group.measure.label == WRITE;
    findings.evidence = groups.iter().filter(first).filter_map(Group::longest).collect();
    let several = plan.targets.len() > 1;
    let mut rows = Vec::new();
    for (at, target) in plan.targets.iter().enumerate() {
        if let Some(written) = written(run, plan, &mut groups, at, target) {
            rows.extend(written.rows(several));
            findings.figures.push(over_bytes(&written));
            findings.estimates.extend(written.estimates());
            let sentences = verdicts::verdicts(&written).into_iter();
            findings.verdicts.extend(sentences.map(|text| named(several, target, text)));
        }
    }
    if plan.acts::<Pause>().next().is_none() {
        let why = "Recovery after a pause is not measured: it would take most of --max-time.";
        findings.flags.push(why.to_owned());
    }
    if !rows.is_empty() {
        let mut columns = Column::heads(several);
        columns.extend(Column::all([("fast part", false), ("before", false), ("after", false)]));
        columns.extend(Column::all([("written", true), ("time", true)]));
        findings.tables = vec![Table { title: String::new(), columns, rows }];
    }
}

impl Written<'_> {
    fn rows(&self, several: bool) -> Vec<Vec<String>> {
        let pause = self.pause.map_or("after a pause".to_owned(), |s| format!("after {}", duration(s)));
        let writings = [("first".to_owned(), Some(&self.first)), (pause, self.again.as_ref())];
        let rows = writings.into_iter().filter_map(|(name, writing)| Some((name, writing?)));
        rows.map(|(name, writing)| {
            let mut row = if several { vec![short(&self.target.given), name] } else { vec![name] };
            row.extend(match writing.falls.last().filter(|_| self.not_its_own.is_none()) {
                Some(fall) => {
                    [decimal_bytes(fall.at.value as u64), fall.before.text(rate), fall.after.text(rate)]
                }
                None => self.without_a_fall(writing),
            });
            row.extend([decimal_bytes(writing.run.bytes), duration(writing.run.seconds)]);
            row
        })
        .collect()
    }

    /// The cells of a writing in which the speed did not fall: all of it was before, or after, a slow-down.
    fn without_a_fall(&self, writing: &Writing) -> [String; 3] {
        let (speed, none) = (writing.run.estimate.text(rate), || "-".to_owned());
        let fall = self.first.falls.last().filter(|_| self.not_its_own.is_none());
        match fall.map(|fall| verdicts::is_fast(writing, fall)) {
            None => ["none seen".to_owned(), speed, none()],
            Some(None) => ["not known".to_owned(), speed, none()],
            Some(Some(true)) => [format!("at least {}", decimal_bytes(writing.run.bytes)), speed, none()],
            Some(Some(false)) => ["none seen".to_owned(), none(), speed],
        }
    }

    fn estimates(&self) -> Vec<Metric> {
        if self.not_its_own.is_some() {
            return Vec::new();
        }
        let metric = |quantity, e: &Estimate| Metric::new(&self.target.given, quantity, e.clone());
        let speed = |e: &Estimate| metric(Quantity::Throughput, e).of(&self.first.load);
        let mut all = Vec::new();
        for (n, fall) in (1..).zip(&self.first.falls) {
            let step = (n < self.first.falls.len() as u32).then_some(n);
            all.push(metric(Quantity::CacheSize, &fall.at).at(Scope::BeforeCliff(step)));
            all.push(speed(&fall.before).at(Scope::BeforeCliff(step)));
            let settled = step.is_none() && verdicts::sustained(self);
            let after = if settled { self.first.run.estimate.clone() } else { fall.after.clone() };
            all.push(speed(&Estimate { converged: settled, ..after }).at(Scope::AfterCliff(step)));
        }
        if self.first.falls.is_empty() {
            let run = &self.first.run;
            all.push(Metric { bytes: Some(run.bytes), ..speed(&run.estimate) });
        }
        if let Some(fall) = self.again.as_ref().and_then(|again| again.falls.last()) {
            all.push(metric(Quantity::CacheSize, &fall.at).at(Scope::AfterPause));
        }
        all
    }
}

fn curves(name: &str, writing: &Writing) -> Vec<Curve> {
    let ends = writing.run.rule.curve(POINTS);
    let begins = [0].into_iter().chain(ends.iter().map(|(end, _)| *end));
    let place = |(begin, (end, speed)): (u64, &(u64, f64))| {
        let bytes = end - begin;
        let piece = Piece { bytes, seconds: bytes as f64 / speed };
        Placed { from: begin as f64, to: *end as f64, piece }
    };
    let placed: Vec<Placed> = begins.zip(&ends).map(place).collect();
    pieces::curves(name, &placed, &[], &writing.run.estimate).to_vec()
}

fn over_bytes(written: &Written<'_>) -> Figure {
    let name = written.again.as_ref().map_or("", |_| "first");
    let mut curves = curves(name, &written.first);
    let pause = duration(written.pause.unwrap_or_default());
    let again =
        written.again.iter().flat_map(|again| self::curves(&format!("after a pause of {pause}"), again));
    curves.extend(again);
    let pieces = curves.iter().filter(|c| c.style == Style::Pieces).map(|c| c.points.len() as u64).sum();
    let first = &written.first.run.throughput;
    let (from, to) = (first.discarded as f64, (first.discarded + first.used) as f64);
    let band = Band { label: "used for the sustained speed".to_owned(), from, to };
    let fell = |fall: &CliffEstimate| Mark {
        label: format!("slows down after {}", decimal_bytes(fall.at.value as u64)),
        at: At::X(fall.at.value),
    };
    Figure {
        title: format!("write speed over bytes written, {}", written.target.given),
        text: verdicts::verdicts(written).join(" "),
        load: written.first.load.describe(),
        n: format!("{} of {} or more", count(pieces, "piece"), decimal_bytes(first.chunk)),
        reading: pieces::READING.to_owned(),
        x: Axis::of("written", Unit::Bytes),
        y: Axis::speed(),
        curves,
        marks: written.first.falls.iter().map(fell).collect(),
        bands: verdicts::sustained(written).then_some(band).into_iter().collect(),
    }
}
