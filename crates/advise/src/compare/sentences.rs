//! Sentences, cells and the figure of a comparison.

use crate::{
    analyse::{
        Estimate,
        compare::{More, Ratio, to_tell_apart},
    },
    findings::{Axis, Curve, Figure, Metric, Point, Style, Unit},
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

/// A ratio of percentiles: where one of them is only known to be at least so much, what that leaves of the ratio.
pub(super) fn bound(r: &Ratio) -> String {
    let e = &r.estimate;
    match (e.low > 0.0, e.high.is_finite()) {
        (true, true) => times(r),
        (true, false) => format!("at least {:.2}", e.low),
        (false, true) => format!("at most {:.2}", e.high),
        (false, false) => "not known".to_owned(),
    }
}

/// Numbers that are named; of more, only how many.
const NAMED: usize = 3;

/// Those that are named, and how many more there are.
fn some(mut texts: Vec<String>) -> String {
    let more = texts.len().saturating_sub(NAMED);
    texts.truncate(NAMED);
    texts.extend((more > 0).then(|| format!("{more} more")));
    listed(&texts)
}

/// What is missing of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lack {
    Nothing,
    UpperEnd,
    All,
}

impl Lack {
    fn of(e: &Estimate) -> Self {
        match () {
            () if e.is_bounded() => Self::Nothing,
            () if e.low > 0.0 => Self::UpperEnd,
            () => Self::All,
        }
    }
}

/// Ratios without an interval: one sentence for those that lack it in the same way.
pub(super) fn no_interval(of: &[(&Metric, &Metric, f64)], (a, b): (&str, &str)) -> Vec<String> {
    let lack = |(x, y, _): &(&Metric, &Metric, f64)| [Lack::of(&x.estimate), Lack::of(&y.estimate)];
    let sentence = |which: [Lack; 2]| {
        let names = of.iter().filter(|pair| lack(pair) == which);
        let names = some(names.map(|(m, _, ratio)| format!("{} ({ratio:.2} times)", m.row())).collect());
        let runs = |kind: Lack| -> Vec<&str> {
            [a, b].into_iter().zip(which).filter(|(_, lack)| *lack == kind).map(|(run, _)| run).collect()
        };
        let verb = |n: usize| if n > 1 { "have" } else { "has" };
        let clause = |runs: Vec<&str>, what: &str| {
            (!runs.is_empty()).then(|| format!("{} {} {what}", listed(&runs), verb(runs.len())))
        };
        let clauses = [
            clause(runs(Lack::All), "no interval"),
            clause(runs(Lack::UpperEnd), "an interval without an upper end"),
            (which == [Lack::Nothing; 2]).then(|| "their ratio has no interval".to_owned()),
        ];
        let clauses: Vec<String> = clauses.into_iter().flatten().collect();
        let mut again = [runs(Lack::All), runs(Lack::UpperEnd)].concat();
        if again.is_empty() {
            again = vec![a, b];
        }
        format!("Can't be judged: {names}; {}. Repeat {}.", listed(&clauses), listed(&again))
    };
    distinct(of.iter().map(lack)).into_iter().map(sentence).collect()
}

fn with_ranges(of: &[(&Metric, Estimate)]) -> String {
    let one = |(metric, ratio): &(&Metric, Estimate)| {
        format!("{} ({})", metric.row(), ratio.range(|x| format!("{x:.2}")))
    };
    some(of.iter().map(one).collect())
}

/// One sentence for all ratios that may be far from 1 on either side.
pub(super) fn too_wide(of: &[(&Metric, Estimate)]) -> Option<String> {
    let all = with_ranges(of);
    (!of.is_empty()).then(|| format!("Too noisy to judge: {all}. Repeat both when nothing else runs."))
}

/// What a ratio says; `busy` are the runs during which other programs used the drive. Only the slower one's can be the cause.
pub(super) fn differ(a: &Metric, r: &Ratio, (first, second): (&str, &str), busy: &[String]) -> String {
    let e = &r.estimate;
    // Other programs make a run slower, not faster.
    let slower = if (e.value >= 1.0) == (a.quantity.unit() == Unit::Seconds) { first } else { second };
    let why = match busy.iter().any(|run| run == slower) {
        false => String::new(),
        true => format!(
            " The difference may come from other programs that used the drive during {slower}: repeat it when idle."
        ),
    };
    // The larger one first.
    let (larger, smaller, r) = if e.value >= 1.0 {
        (first, second, r.clone())
    } else {
        let inverse = Estimate { value: 1.0 / e.value, low: 1.0 / e.high, high: 1.0 / e.low, ..e.clone() };
        (second, first, Ratio { estimate: inverse, ..r.clone() })
    };
    match a.quantity.unit() {
        Unit::Seconds => {
            format!("{}: {larger} takes {} times as long as {smaller}.{why}", a.row(), times(&r))
        }
        _ => format!("{}: {larger} is {} times as fast as {smaller}.{why}", a.row(), times(&r)),
    }
}

/// One sentence for all ratios that hold 1.
pub(super) fn no_difference(of: &[(&Metric, Estimate)]) -> Option<String> {
    let all = with_ranges(of);
    (!of.is_empty()).then(|| format!("No difference found: {all}. Repeat both to see smaller differences."))
}

/// More than so many times as much is no advice.
const MOST: f64 = 10.0;

/// How much more would show a difference, where more bytes can.
pub(super) fn bytes_to_differ(a: &Metric, b: &Metric, (first, second): (&str, &str)) -> Option<String> {
    let what = a.row();
    let more = to_tell_apart(&a.estimate, &b.estimate);
    match (more.filter(|more| !matches!(more, More::Bytes(times) if *times > MOST)), a.bytes.zip(b.bytes)) {
        (Some(More::Bytes(times)), Some((x, y))) => {
            let bytes = |n: u64| decimal_bytes(((times - 1.0).max(0.0) * n as f64) as u64);
            Some(format!(
                "{what}: if the difference is real, about {} more of {first} and {} of {second} would show it.",
                bytes(x),
                bytes(y)
            ))
        }
        (Some(More::Bytes(times)), None) => Some(format!(
            "{what}: if the difference is real, about {:.0} times as many runs of each would show it.",
            times.ceil()
        )),
        _ => None,
    }
}
