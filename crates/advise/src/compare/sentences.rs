//! Sentences and cells of a comparison.

use crate::{
    analyse::{Estimate, compare::Ratio},
    findings::{Metric, Unit},
    units::{listed, shortened},
};

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

/// One sentence for all ratios that show no difference, or for all that can't be judged.
pub(super) fn open(is_judged: bool, of: &[(&Metric, Estimate)]) -> Option<String> {
    let (what, advice) = match is_judged {
        true => ("No difference found", "Repeat both to see smaller differences."),
        false => ("Too few or too noisy to judge", "Repeat both when nothing else runs."),
    };
    let one = |(metric, ratio): &(&Metric, Estimate)| match ratio.is_bounded() {
        true => format!("{} ({})", metric.row(), ratio.range(|x| format!("{x:.2}"))),
        false => format!("{} ({:.2} times)", metric.row(), ratio.value),
    };
    (!of.is_empty()).then(|| format!("{what}: {}. {advice}", some(of.iter().map(one).collect())))
}

/// What a ratio says; `busy` are the runs during which other programs used the drive. Only the slower one's can be the cause.
pub(super) fn differ(a: &Metric, r: &Ratio, (first, second): (&str, &str), busy: &[String]) -> String {
    let e = &r.estimate;
    let is_time = a.quantity.unit() == Unit::Seconds;
    // The larger one first.
    let (larger, smaller, ratio) = if e.value >= 1.0 {
        (first, second, e.clone())
    } else {
        (second, first, Estimate { value: 1.0 / e.value, low: 1.0 / e.high, high: 1.0 / e.low, ..e.clone() })
    };
    let times = times(&Ratio { estimate: ratio, ..r.clone() });
    let slower = if is_time { larger } else { smaller };
    let why = match busy.iter().any(|run| run == slower) {
        false => String::new(),
        true => format!(" Other programs used the drive during {slower}: repeat it when idle."),
    };
    let (verb, like) = if is_time { ("takes", "long") } else { ("is", "fast") };
    format!("{}: {larger} {verb} {times} times as {like} as {smaller}.{why}", a.row())
}
