//! How cliff reads its record.

use super::{
    super::{
        Experiment,
        load_summary::Run,
        loaded_run::{Gathered, Group},
        table_cells::{column, short, value},
    },
    plan::{AGAIN, SWEEP, WRITE},
    verdicts,
};
use crate::{
    analyse::{Fall, Position},
    findings::{At, Axis, Band, Column, Curve, Figure, Findings, Mark, Named, Point, Style, Table},
    plan::{Act, Plan},
    record::Event,
    target::Target,
    units::{Caching, count, decimal_bytes, duration, rate},
};

/// Points of a curve: more than a screen shows.
const POINTS: usize = 256;

/// What was seen of one directory.
pub(super) struct Written<'a> {
    pub target: &'a Target,
    pub first: Writing,
    /// Rest before the second write, s.
    pub pause: Option<f64>,
    pub again: Option<Writing>,
    /// The page cache stood between; then nothing is known of the drive.
    pub cached: bool,
}

/// One write.
pub(super) struct Writing {
    pub run: Run,
    pub falls: Vec<Fall>,
}

impl Writing {
    /// Where the speed fell for good.
    pub fn last(&self) -> Option<&Fall> {
        self.falls.last()
    }
}

pub(super) fn findings(experiment: &dyn Experiment, record: &mut dyn Iterator<Item = Event>) -> Findings {
    let mut held = Gathered::read(record, |_| ());
    let mut findings = held.findings(experiment);
    let Some(plan) = held.plan.clone() else { return findings };
    let mut groups = held.groups(&plan, "");
    let several = plan.targets.len() > 1;
    let mut rows = Vec::new();
    for (at, target) in plan.targets.iter().enumerate() {
        let mut said = String::new();
        if let Some(run) = take(&mut groups, at, SWEEP).map(|(run, _)| run) {
            let positions = run.zoned.as_ref().map_or(&[][..], |zoned| &zoned.positions);
            said = verdicts::sweep(positions, run.zoned.as_ref());
            findings.figures.extend(over_position(target, positions));
            findings.estimates.extend(places(positions).into_iter().map(|(name, p)| {
                Named::new(&target.given, format!("read at the {name}"), "B/s", p.speed.clone())
            }));
        }
        if let Some(written) = written(&held, &mut groups, at, target) {
            said = verdicts::written(&written);
            rows.extend(written.rows(several));
            findings.figures.push(over_bytes(&written));
            findings.estimates.extend(written.estimates());
        }
        if !said.is_empty() {
            findings.verdicts.push(if several { format!("{}: {said}", target.given) } else { said });
        }
    }
    if !rows.is_empty() {
        findings.tables = vec![Table { title: String::new(), columns: columns(&plan), rows }];
    }
    findings
}

/// The run of this label on this target, and whether the page cache stood between.
fn take(groups: &mut [Group<'_>], at: usize, label: &str) -> Option<(Run, bool)> {
    let group = groups.iter_mut().find(|group| group.at == at && group.measure.label == label)?;
    let cached = group.measure.load.caching != Caching::Direct;
    group.runs.pop().map(|run| (run, cached))
}

fn written<'a>(
    held: &Gathered,
    groups: &mut [Group<'_>],
    at: usize,
    target: &'a Target,
) -> Option<Written<'a>> {
    let writing = |run: Run| Writing { falls: run.adaptive.falls(), run };
    let (first, cached) = take(groups, at, WRITE)?;
    let steps = held.plan.iter().flat_map(|plan| &plan.steps);
    let pauses = steps.filter(|step| matches!(step.act, Act::Pause(_)));
    Some(Written {
        target,
        first: writing(first),
        pause: pauses.filter_map(|step| held.acts.get(&(step.id, at))).map(|result| result.seconds).next(),
        again: take(groups, at, AGAIN).map(|(run, _)| writing(run)),
        cached,
    })
}

fn columns(plan: &Plan) -> Vec<Column> {
    let mut columns = vec![column("", false)];
    if plan.targets.len() > 1 {
        columns.insert(0, column("target", false));
    }
    columns.extend([column("fast part", false), column("before", false), column("after", false)]);
    columns.extend([column("written", true), column("time", true)]);
    columns
}

impl Written<'_> {
    fn rows(&self, several: bool) -> Vec<Vec<String>> {
        let pause = self.pause.map_or("after a pause".to_owned(), |s| format!("after {}", duration(s)));
        let writings = [("first".to_owned(), Some(&self.first)), (pause, self.again.as_ref())];
        let rows = writings.into_iter().filter_map(|(name, writing)| Some((name, writing?)));
        rows.map(|(name, writing)| {
            let mut row = if several { vec![short(&self.target.given), name] } else { vec![name] };
            row.extend(match writing.last().filter(|_| !self.cached) {
                Some(fall) => [decimal_bytes(fall.at.value as u64), value(&fall.before), value(&fall.after)],
                None => ["none seen".to_owned(), "-".to_owned(), value(&writing.run.estimate)],
            });
            row.extend([decimal_bytes(writing.run.bytes), duration(writing.run.seconds)]);
            row
        })
        .collect()
    }

    fn estimates(&self) -> Vec<Named> {
        let target = self.target;
        let mut all = Vec::new();
        if self.cached {
            return all;
        }
        for (n, fall) in self.first.falls.iter().enumerate() {
            let which =
                if n + 1 == self.first.falls.len() { String::new() } else { format!(", step {}", n + 1) };
            all.push(Named::new(&target.given, format!("fast region{which}"), "B", fall.at.clone()));
            all.push(Named::new(
                &target.given,
                format!("write throughput before{which}"),
                "B/s",
                fall.before.clone(),
            ));
            all.push(Named::new(
                &target.given,
                format!("write throughput after{which}"),
                "B/s",
                fall.after.clone(),
            ));
        }
        if self.first.falls.is_empty() {
            let estimate = self.first.run.estimate.clone();
            all.push(Named {
                bytes: Some(self.first.run.bytes),
                ..Named::new(&target.given, "write throughput", "B/s", estimate)
            });
        }
        if let Some(fall) = self.again.as_ref().and_then(Writing::last) {
            all.push(Named::new(&target.given, "fast region after the pause", "B", fall.at.clone()));
        }
        all
    }
}

fn over_bytes(written: &Written<'_>) -> Figure {
    let curve = |name: &str, writing: &Writing| {
        let points = writing.run.adaptive.curve(POINTS).into_iter();
        Curve::new(name, Style::Line, points.map(|(bytes, speed)| Point::new(bytes as f64, speed)))
    };
    let pause = duration(written.pause.unwrap_or_default());
    let mut curves = vec![curve("first", &written.first)];
    curves.extend(written.again.as_ref().map(|again| curve(&format!("after {pause} of rest"), again)));
    let first = &written.first.run.throughput;
    let used = (first.discarded as f64, (first.discarded + first.used) as f64);
    let fell = |fall: &Fall| Mark {
        label: format!("slows down after {}", decimal_bytes(fall.at.value as u64)),
        at: At::X(fall.at.value),
    };
    let windows = curves.iter().map(|curve| curve.points.len() as u64).sum();
    Figure {
        title: format!("write speed over bytes written, {}", written.target.given),
        text: match written.first.last() {
            Some(fall) => format!(
                "The speed falls from {} to {} once {} are written.",
                rate(fall.before.value),
                rate(fall.after.value),
                decimal_bytes(fall.at.value as u64)
            ),
            None => format!("No lasting fall within {}.", decimal_bytes(first.bytes)),
        },
        n: format!("{} of {} and more", count(windows, "piece"), decimal_bytes(first.chunk)),
        x: Axis::of("written", "B"),
        y: Axis::speed(),
        curves,
        marks: written.first.falls.iter().map(fell).collect(),
        bands: vec![Band { label: "what the sustained speed rests on".to_owned(), from: used.0, to: used.1 }],
    }
}

fn over_position(target: &Target, positions: &[Position]) -> Option<Figure> {
    let [(_, first), _, (_, last)] = places(positions)[..] else { return None };
    let points = positions.iter().map(|p| Point::of(p.offset as f64, &p.speed));
    Some(Figure {
        title: format!("read speed over position, {}", target.given),
        text: format!(
            "From {} at the beginning to {} at the end.",
            rate(first.speed.value),
            rate(last.speed.value)
        ),
        n: count(positions.len() as u64, "position"),
        x: Axis::of("position", "B"),
        y: Axis::speed(),
        curves: vec![Curve::new("", Style::Line, points)],
        ..Figure::default()
    })
}

/// Beginning, middle and end of a disk that was swept; nothing of one that was not swept to its end.
pub(super) fn places(positions: &[Position]) -> Vec<(&'static str, &Position)> {
    match (positions.first(), positions.get(positions.len() / 2), positions.last()) {
        (Some(first), Some(middle), Some(last)) if positions.len() >= 17 => {
            vec![("beginning", first), ("middle", middle), ("end", last)]
        }
        _ => Vec::new(),
    }
}
