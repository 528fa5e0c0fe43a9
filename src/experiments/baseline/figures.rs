//! Figures of baseline.

use super::super::common::{Group, Summary, labels, range};
use crate::{
    analyse::Stretch,
    findings::{At, Axis, Band, Curve, Figure, Mark, Point, Style, Unit, short},
    plan::Plan,
    units::{Percentile, count, decimal_bytes, duration, rate},
};

pub(super) fn figures(plan: &Plan, groups: &[Group<'_>]) -> Vec<Figure> {
    let mut all = Vec::new();
    if plan.targets.len() > 1 {
        all.push(drives(plan, groups));
    }
    for group in groups {
        match &group.runs[..] {
            [run] if run.zoned.is_some() => all.extend(positions(plan, group, run)),
            [run] => all.extend(over_time(plan, group, run)),
            _ => all.push(repetitions(plan, group)),
        }
    }
    all.extend(tails(plan, groups));
    all
}

fn title(plan: &Plan, group: &Group<'_>, what: &str) -> String {
    let on = if plan.targets.len() > 1 { format!(", {}", group.target.given) } else { String::new() };
    format!("{} {what}{on}", group.measure.label)
}

fn drives(plan: &Plan, groups: &[Group<'_>]) -> Figure {
    let curves = labels(groups).into_iter().map(|label| {
        let of = groups.iter().filter(|g| g.measure.label == label);
        Curve::new(label, Style::Dots, of.map(|g| Point::of(g.at as f64, &g.estimate)))
    });
    let sentences =
        groups.iter().map(|g| format!("{} {}: {}", g.target.given, g.measure.label, g.estimate.text(rate)));
    let loads = groups.iter().map(|g| g.runs.len() as u64).sum();
    Figure {
        title: "speed of each drive".to_owned(),
        text: sentences.collect::<Vec<_>>().join("; ") + ".",
        n: format!("{}, 95 % intervals", count(loads, "load")),
        x: Axis::named("", plan.targets.iter().map(|t| short(&t.given))),
        y: Axis::speed(),
        curves: curves.collect(),
        ..Figure::default()
    }
}

fn over_time(plan: &Plan, group: &Group<'_>, run: &Summary) -> Option<Figure> {
    let stretches: Vec<&Stretch> = run.timeline.stretches().collect();
    let (first, last) = (stretches.first()?, stretches.last()?);
    if run.bytes == 0 {
        return None;
    }
    let values: Vec<(f64, f64, f64)> = stretches.iter().map(|s| (s.from, s.to, s.rate())).collect();
    let t = &run.throughput;
    let stalls: Vec<Point> = t.stalls.each.iter().map(|s| Point::new(s.at_seconds, 0.0)).collect();
    let (slowest, fastest) = range(stretches.iter().map(|s| s.rate()));
    let stalled = match stalls.len() as u64 {
        0 => "No stalls.".to_owned(),
        n => format!("{} of {} on average.", count(n, "stall"), duration(t.stalls.mean_seconds)),
    };
    let (speed, seconds, slowest, fastest) =
        (run.estimate.text(rate), duration(last.to), rate(slowest), rate(fastest));
    let each = duration((last.to - first.from) / stretches.len() as f64);
    let used = stretches.iter().find(|s| s.before >= t.discarded).map(|s| s.from);
    let mut curves = vec![Curve::spread(if stalls.is_empty() { "" } else { "speed" }, &values)];
    let n = curves[0].shown(&format!("{} of {each}", count(stretches.len() as u64, "piece")));
    if !stalls.is_empty() {
        curves.push(Curve::new("stalls", Style::Dots, stalls));
    }
    let band = |from| Band { label: "used for the estimate".to_owned(), from, to: last.to };
    Some(Figure {
        title: title(plan, group, "speed over time"),
        text: format!(
            "{speed} over {seconds}, between {slowest} and {fastest} in pieces of {each}. {stalled}"
        ),
        load: group.load.describe(),
        n,
        x: Axis::of("time", Unit::Seconds),
        y: Axis::speed(),
        curves,
        marks: vec![Mark { label: rate(run.estimate.value), at: At::Y(run.estimate.value) }],
        bands: used.filter(|from| *from > 0.0).map(band).into_iter().collect(),
    })
}

/// Disks that rotate: speed over the whole of them.
fn positions(plan: &Plan, group: &Group<'_>, run: &Summary) -> Option<Figure> {
    let positions = &run.zoned.as_ref()?.positions;
    let (first, last) = (positions.first()?, positions.last()?);
    let (fast, slow, end) = (rate(first.speed.value), rate(last.speed.value), decimal_bytes(last.offset));
    let points = positions.iter().map(|p| Point::of(p.offset as f64, &p.speed));
    Some(Figure {
        title: title(plan, group, "speed over the disk"),
        text: format!("From {fast} at the beginning to {slow} at {end}."),
        load: group.load.describe(),
        n: format!("{}, 95 % intervals", count(positions.len() as u64, "position")),
        x: Axis::of("position", Unit::Bytes),
        y: Axis::speed(),
        curves: vec![Curve::new("", Style::Line, points)],
        ..Figure::default()
    })
}

fn repetitions(plan: &Plan, group: &Group<'_>) -> Figure {
    let points = group.runs.iter().enumerate().map(|(i, run)| Point::of(i as f64, &run.estimate));
    let mean = group.estimate.value;
    Figure {
        title: title(plan, group, "speed of every run"),
        text: format!("{} over all runs.", group.estimate.text(rate)),
        load: group.load.describe(),
        n: format!("{}, 95 % intervals", count(group.runs.len() as u64, "run")),
        x: Axis::named("", group.runs.iter().map(|run| format!("run {}", run.repetition))),
        y: Axis::speed(),
        curves: vec![Curve::new("", Style::Dots, points)],
        marks: vec![Mark { label: format!("mean {}", rate(mean)), at: At::Y(mean) }],
        ..Figure::default()
    }
}

/// How the curve of latency is read.
const READING: &str = "At 99, all but 1 in 100 operations took no longer than the curve shows; further right are \
     the rarer, slower ones. Each step upwards is a longer wait. A curve ends where operations are too few to say.";

/// As many lines as stay distinct.
const LINES: usize = 6;

/// One figure of all loads for one target; with several targets, one figure per load.
fn tails(plan: &Plan, groups: &[Group<'_>]) -> Vec<Figure> {
    let all: Vec<&Group<'_>> = groups.iter().collect();
    if plan.targets.len() < 2 {
        return tail("", &all, |g| g.measure.label.clone()).into_iter().collect();
    }
    let of = |label: &str| {
        let same: Vec<&Group<'_>> = all.iter().filter(|g| g.measure.label == label).copied().collect();
        tail(&format!("{label} "), &same, |g| short(&g.target.given))
    };
    labels(groups).into_iter().filter_map(of).collect()
}

fn tail(load: &str, groups: &[&Group<'_>], name: impl Fn(&Group<'_>) -> String) -> Option<Figure> {
    // Percentiles that are not resolvable are left out; the longest operation is a dot.
    let resolvable = |run: &Summary| {
        let point = |(i, of): (usize, &Percentile)| {
            let p = run.tail.percentile(of.share()).filter(|p| p.estimate.high.is_finite())?;
            Some(Point::of(i as f64, &p.estimate))
        };
        Percentile::ALL.iter().enumerate().filter_map(point).collect::<Vec<_>>()
    };
    let longest = |run: &Summary| Some(run.tail.histogram().max()? as f64 / 1e9);
    let mut shown: Vec<(String, &Summary, f64)> =
        groups.iter().filter_map(|g| Some((name(g), g.runs.first()?, longest(g.runs.first()?)?))).collect();
    let all = shown.len();
    if all > LINES {
        shown.sort_by(|a, b| b.2.total_cmp(&a.2));
        shown.truncate(LINES);
    }
    let of_all = if all > LINES { format!(", the {LINES} worst of {all}") } else { String::new() };
    let curves = shown.iter().flat_map(|(name, run, longest)| {
        let far = [Point::new(Percentile::ALL.len() as f64, *longest)];
        [Curve::new(name, Style::Line, resolvable(run)), Curve::new(name, Style::Dots, far)]
    });
    let sentences = shown.iter().filter_map(|(name, run, longest)| {
        let median = run.tail.histogram().quantile(0.5)? as f64 / 1e9;
        Some(format!("{name}: median {}, longest {}.", duration(median), duration(*longest)))
    });
    let operations = shown.iter().map(|(_, run, _)| run.tail.histogram().count()).sum();
    let names = Percentile::ALL.iter().map(|p| p.number().to_owned()).chain(["longest".to_owned()]);
    (!shown.is_empty()).then(|| Figure {
        title: format!("how long one {load}operation takes{of_all}"),
        text: format!("{READING} {}", sentences.collect::<Vec<_>>().join(" ")),
        n: format!("{}; band: 95 % interval", count(operations, "operation")),
        x: Axis::named("% of operations that took no longer", names),
        y: Axis::of("latency", Unit::Seconds).log(),
        curves: curves.filter(|c| !c.points.is_empty()).collect(),
        ..Figure::default()
    })
}
