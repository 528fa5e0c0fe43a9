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
    // An end that is rounded to 1 would contradict what is said of the difference.
    let digits = if [e.low, e.high].iter().any(|end| (end - 1.0).abs() < 0.005) { 3 } else { 2 };
    match (e.low > 0.0, e.high.is_finite()) {
        (true, true) => format!("{:.digits$} ({})", e.value, e.range(|x| format!("{x:.digits$}"))),
        (true, false) => format!("{:.2} (at least {:.2})", e.value, e.low),
        (false, true) => format!("{:.2} (at most {:.2})", e.value, e.high),
        (false, false) => format!("{:.2} (no interval)", e.value),
    }
}

/// Labels that are named; of more, only their number.
const NAMED: usize = 3;

/// Ratios without an interval: one sentence for those that lack it in the same runs.
pub(super) fn no_interval(of: &[(&Metric, &Metric)], (a, b): (&str, &str)) -> Vec<String> {
    let lack = |(x, y): &(&Metric, &Metric)| [!x.estimate.is_bounded(), !y.estimate.is_bounded()];
    let sides = [([true, false], vec![a]), ([false, true], vec![b]), ([true, true], vec![a, b])];
    let sentence = |(which, runs): ([bool; 2], Vec<&str>)| {
        let labels = distinct(of.iter().filter(|pair| lack(pair) == which).map(|(metric, _)| metric.row()));
        let mut named: Vec<String> = labels.iter().take(NAMED).cloned().collect();
        let more = labels.len().saturating_sub(NAMED);
        named.extend((more > 0).then(|| format!("{more} more")));
        let (have, runs) = (if runs.len() > 1 { "have" } else { "has" }, listed(&runs));
        let because = "so a difference may be chance";
        (!named.is_empty())
            .then(|| format!("{}: {runs} {have} no interval, {because}. Repeat {runs}.", named.join(", ")))
    };
    sides.into_iter().filter_map(sentence).collect()
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
    let e = &r.estimate;
    // The faster one first.
    let (faster, slower, r) = if e.value >= 1.0 {
        (first, second, r.clone())
    } else {
        let inverse = Estimate { value: 1.0 / e.value, low: 1.0 / e.high, high: 1.0 / e.low, ..e.clone() };
        (second, first, Ratio { estimate: inverse, ..r.clone() })
    };
    format!("{}: {faster} is {} times as fast as {slower}.{why}", a.row(), times(&r))
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
