//! Sentences, cells and the figure of a comparison.

use crate::{
    analyse::{
        Estimate,
        compare::{More, Ratio, to_tell_apart},
    },
    findings::{Axis, Curve, Figure, Metric, Point, Style},
    units::{count, decimal_bytes, distinct, listed, rate, shortened},
};

pub(super) fn figure(
    speeds: &[(&Metric, &Metric)],
    on: Option<&str>,
    (a, b): (&str, &str),
) -> Option<Figure> {
    let curve = |(x, y): &(&Metric, &Metric)| {
        Curve::new(x.label(), Style::Dots, [Point::of(0.0, &x.estimate), Point::of(1.0, &y.estimate)])
    };
    let sentences = |(x, y): &(&Metric, &Metric)| {
        format!("{}: {} and {}", x.label(), x.estimate.text(rate), y.estimate.text(rate))
    };
    let on = on.map(|on| format!(", {on}")).unwrap_or_default();
    (!speeds.is_empty()).then(|| Figure {
        title: format!("speeds of {a} and {b}{on}"),
        text: speeds.iter().map(sentences).collect::<Vec<_>>().join("; ") + ".",
        n: format!("n = {}, 95 % intervals", count(2 * speeds.len() as u64, "speed")),
        x: Axis::named("", [a, b].map(str::to_owned)),
        y: Axis::speed(),
        curves: speeds.iter().map(curve).collect(),
        ..Figure::default()
    })
}

/// Columns for a name above numbers.
const HEAD: usize = 11;

pub(super) fn short(name: &str) -> String {
    shortened(name, HEAD)
}

pub(super) fn times(r: &Ratio) -> String {
    let e = &r.estimate;
    match (e.low > 0.0, e.high.is_finite()) {
        (true, true) => format!("{:.2} ({})", e.value, e.range(|x| format!("{x:.2}"))),
        (true, false) => format!("{:.2} (at least {:.2})", e.value, e.low),
        (false, true) => format!("{:.2} (at most {:.2})", e.value, e.high),
        (false, false) => format!("{:.2} (no interval)", e.value),
    }
}

/// Labels that are named; of more, only their number.
const NAMED: usize = 3;

/// One sentence for all ratios without an interval.
pub(super) fn no_interval(of: &[(&Metric, &Metric)], (a, b): (&str, &str)) -> Option<String> {
    let labels = distinct(of.iter().map(|(metric, _)| metric.label()));
    let mut named: Vec<String> = labels.iter().take(NAMED).cloned().collect();
    let more = labels.len().saturating_sub(NAMED);
    named.extend((more > 0).then(|| format!("{more} more")));
    let lacks = |get: fn(&(&Metric, &Metric)) -> bool, run| of.iter().any(get).then_some(run);
    let runs = [lacks(|(x, _)| !x.estimate.is_bounded(), a), lacks(|(_, y)| !y.estimate.is_bounded(), b)];
    let runs = listed(&runs.into_iter().flatten().collect::<Vec<_>>());
    (!of.is_empty()).then(|| {
        format!("{}: {runs} has no interval, so a difference may be chance. Repeat {runs}.", named.join(", "))
    })
}

/// What a ratio says; `busy` are the runs during which other programs used the drive.
pub(super) fn different_speeds(
    a: &Metric,
    r: &Ratio,
    (first, second): (&str, &str),
    busy: &[String],
) -> String {
    let why = match busy {
        [] => String::new(),
        runs => format!(
            " The difference may come from other programs that used the drive during {}: repeat it when idle.",
            runs.join(" and ")
        ),
    };
    format!("{}: {first} is {} times as fast as {second}.{why}", a.row(), times(r))
}

/// One sentence for all ratios that hold 1.
pub(super) fn no_difference(of: &[(&Metric, Estimate)]) -> Option<String> {
    let one = |(metric, ratio): &(&Metric, Estimate)| {
        format!("{} ({})", metric.row(), ratio.range(|x| format!("{x:.2}")))
    };
    let all = listed(&of.iter().map(one).collect::<Vec<_>>());
    (!of.is_empty()).then(|| format!("No difference found: {all}. Repeat both to see smaller differences."))
}

/// How much more would show a difference, where more bytes can.
pub(super) fn bytes_to_differ(a: &Metric, b: &Metric, (first, second): (&str, &str)) -> Option<String> {
    let what = a.row();
    match (to_tell_apart(&a.estimate, &b.estimate), a.bytes.zip(b.bytes)) {
        (Some(More::Bytes(times)), Some((x, y))) => {
            let bytes = |n: u64| decimal_bytes(((times - 1.0).max(0.0) * n as f64) as u64);
            Some(format!(
                "{what}: if the difference is real, about {} more of {first} and {} of {second} would show it.",
                bytes(x),
                bytes(y)
            ))
        }
        (Some(More::Bytes(times)), None) => Some(format!(
            "{what}: if the difference is real, about {times:.1} times as many runs of each would show it."
        )),
        _ => None,
    }
}
