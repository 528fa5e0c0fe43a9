//! Figures of baseline.

use super::super::common::{
    Group, Summary, labels,
    pieces::{self, Placed},
};
use crate::{
    analyse::{Stretch, rounds::Piece},
    findings::{Axis, Band, Curve, Figure, Point, Style, Unit, short},
    plan::Plan,
    units::{Load, Percentile, count, decimal_bytes, duration, rate},
};

pub(super) fn figures(plan: &Plan, groups: &[Group<'_>]) -> Vec<Figure> {
    let mut all = Vec::new();
    for group in groups {
        match &group.runs[..] {
            [run] if run.zoned.is_some() => all.extend(positions(plan, group, run)),
            [run] => all.extend(over_time(plan, group, run)),
            _ => {}
        }
    }
    all.extend(tails(plan, groups));
    all
}

fn title(plan: &Plan, group: &Group<'_>, what: &str) -> String {
    let on = if plan.targets.len() > 1 { format!(", {}", group.target.given) } else { String::new() };
    format!("{} {what}{on}", group.measure.label)
}

fn over_time(plan: &Plan, group: &Group<'_>, run: &Summary) -> Option<Figure> {
    let stretches: Vec<&Stretch> = run.timeline.stretches().collect();
    let pieces = pieces(&stretches, &group.measure.load);
    let (first, last, end) = (pieces.first()?, pieces.last()?, stretches.last()?.to);
    if run.bytes == 0 {
        return None;
    }
    let place = |s: &Stretch| {
        let piece = Piece { bytes: s.bytes, seconds: s.to - s.from };
        Placed { from: s.from, to: s.to, piece }
    };
    let placed: Vec<Placed> = pieces.iter().map(place).collect();
    let mut ends: Vec<f64> = run.rounds.iter().map(|round| round.seconds).collect();
    (1..ends.len()).for_each(|n| ends[n] += ends[n - 1]);
    let t = &run.throughput;
    let stalls: Vec<Point> = t.stalls.each.iter().map(|s| Point::new(s.at_seconds, 0.0)).collect();
    let each = duration((last.to - first.from) / pieces.len() as f64);
    let used = stretches.iter().find(|s| s.before >= t.discarded).map(|s| s.from);
    let name = if stalls.is_empty() { "" } else { "speed" };
    let mut curves = pieces::curves(name, &placed, &ends, &run.estimate).to_vec();
    let stalled = match stalls.len() as u64 {
        0 => "No stalls".to_owned(),
        n => format!("{} of {} on average", count(n, "stall"), duration(t.stalls.mean_seconds)),
    };
    if !stalls.is_empty() {
        curves.push(Curve::new("stalls", Style::Dots, stalls));
    }
    let band = |from| Band { label: "used for the estimate".to_owned(), from, to: end };
    Some(Figure {
        title: title(plan, group, "speed over time"),
        text: format!("{} over {}. {stalled}.", run.estimate.text(rate), duration(end)),
        load: group.load.describe(),
        n: format!("{} of {each}", count(pieces.len() as u64, "piece")),
        reading: pieces::READING.to_owned(),
        x: Axis::of("time in this load", Unit::Seconds),
        y: Axis::speed(),
        curves,
        // All of a round counts.
        bands: used.filter(|from| *from > 0.0 && ends.is_empty()).map(band).into_iter().collect(),
        ..Figure::default()
    })
}

/// A piece has this many times the bytes that are in flight: operations end in batches, between which little time passes.
const BATCHES: u64 = 4;

/// Whole pieces of a load. What is left at its end is no piece: it has too few bytes for a speed of its own.
fn pieces(stretches: &[&Stretch], load: &Load) -> Vec<Stretch> {
    let usual = stretches.iter().rev().nth(1).or(stretches.last()).map_or(0, |s| s.bytes);
    let batches = if load.depth > 1 { BATCHES * load.block * u64::from(load.depth) } else { 0 };
    let (mut from, mut before) = (stretches.first().map_or(0.0, |s| s.from), 0);
    let mut pieces = Vec::new();
    for s in stretches {
        let bytes = s.before + s.bytes - before;
        if bytes >= usual.max(batches) {
            pieces.push(Stretch { from, to: s.to, before, bytes });
            (from, before) = (s.to, before + bytes);
        }
    }
    // A small load is one piece.
    if let (true, Some(first), Some(last)) = (pieces.is_empty(), stretches.first(), stretches.last()) {
        let bytes = last.before + last.bytes - first.before;
        pieces.push(Stretch { from: first.from, to: last.to, before: first.before, bytes });
    }
    pieces
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

/// How to read the latency curves.
const READING: &str = "Latency: at 99, 99 of 100 operations took no longer than the curve shows; rarer, slower ones are \
     further right. A curve ends where there are too few operations.";

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
            let p = run.tail.percentile(of.share()).filter(|p| p.high.is_finite())?;
            Some(Point::of(i as f64, &p))
        };
        Percentile::ALL.iter().enumerate().filter_map(point).collect::<Vec<_>>()
    };
    let longest =
        |g: &Group<'_>| Some(g.runs.iter().filter_map(|run| run.tail.histogram().max()).max()? as f64 / 1e9);
    let mut shown: Vec<(String, &Summary, f64)> =
        groups.iter().filter_map(|g| Some((name(g), g.runs.first()?, longest(g)?))).collect();
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
        text: sentences.collect::<Vec<_>>().join(" "),
        reading: READING.to_owned(),
        n: format!("{}; band: 95 % interval", count(operations, "operation")),
        x: Axis::named("% of operations that took no longer", names),
        y: Axis::of("latency", Unit::Seconds).log(),
        curves: curves.filter(|c| !c.points.is_empty()).collect(),
        ..Figure::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Caching, Direction, MIB, Pattern};

    /// Ends of 1 MiB each, s, and a last one of `rest` bytes.
    fn stretches(ends: impl IntoIterator<Item = f64>, rest: u64) -> Vec<Stretch> {
        let mut all: Vec<Stretch> = Vec::new();
        for to in ends {
            let (from, before) = all.last().map_or((0.0, 0), |s| (s.to, s.before + s.bytes));
            all.push(Stretch { from, to, before, bytes: MIB });
        }
        all.last_mut().expect("a stretch").bytes = rest;
        all
    }

    fn load(depth: u32) -> Load {
        Load { depth, ..Load::new(Direction::Read, Pattern::Sequential, MIB, Caching::Direct, 0) }
    }

    #[test]
    fn operations_that_end_together_make_no_speed_that_no_drive_has() {
        // Eight end within a microsecond, every 8 ms: 1049 MB/s.
        let ends = (0..800).map(|i| f64::from(i / 8 + 1) * 8e-3 + f64::from(i % 8) * 1e-7);
        let stretches = stretches(ends, MIB);
        let pieces = pieces(&stretches.iter().collect::<Vec<_>>(), &load(8));
        let speed = MIB as f64 / 1e-3;
        assert!(pieces.len() > 20, "{pieces:?}");
        assert!(pieces.iter().all(|s| (s.rate() / speed - 1.0).abs() < 0.3), "{pieces:?}");
        assert!(stretches.iter().any(|s| s.rate() > 100.0 * speed));
    }

    #[test]
    fn what_is_left_at_the_end_is_no_piece() {
        let stretches = stretches((1..=10).map(f64::from), MIB / 2);
        let all: Vec<&Stretch> = stretches.iter().collect();
        let rates = |all: &[&Stretch]| pieces(all, &load(1)).iter().map(Stretch::rate).collect::<Vec<_>>();
        assert_eq!(rates(&all), [MIB as f64; 9]);
        assert_eq!(rates(&all[..3]), [MIB as f64; 3]);
        assert_eq!(rates(&all[9..]).len(), 1, "alone it is all there is");
        assert!(rates(&[]).is_empty());
    }

    #[test]
    fn a_load_too_small_for_a_piece_is_one_piece() {
        let stretches = stretches((1..=10).map(f64::from), MIB);
        let all: Vec<&Stretch> = stretches.iter().collect();
        let pieces = pieces(&all, &load(32));
        assert_eq!(
            pieces.iter().map(|s| (s.from, s.to, s.bytes)).collect::<Vec<_>>(),
            [(0.0, 10.0, 10 * MIB)]
        );
    }
}
