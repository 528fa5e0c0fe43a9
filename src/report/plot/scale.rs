//! An axis as it is drawn: where values stand, which of them are written beside it, and in which unit.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

use crate::{
    findings::Axis,
    units::{duration, size},
};

/// A range of values, and those that are written beside the axis.
#[derive(Debug, Clone)]
pub struct Scale {
    range: Range<f64>,
    log: bool,
    ticks: Vec<f64>,
    /// What a value is divided by before it is written.
    per: f64,
    axis: Axis,
}

/// At most about so many values are written beside an axis.
const TICKS: usize = 6;

impl Scale {
    /// An axis that shows all of `values`; `from_zero` where what is drawn begins there, as bars do.
    pub fn new(axis: &Axis, values: impl Iterator<Item = f64>, from_zero: bool) -> Self {
        let log = axis.log && axis.names.is_empty();
        let shown = values.filter(|v| v.is_finite() && (!log || *v > 0.0));
        let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low > high { (1.0, 10.0) } else { (low, high) };
        let (range, ticks) = match (axis.names.len(), log) {
            (0, true) if axis.unit == "B" => powers_of_two(low, high),
            (0, true) => decades(low, high),
            (0, false) => steps(if from_zero { low.min(0.0) } else { low }, high),
            (n, _) => (-0.5..n as f64 - 0.5, (0..n).map(|i| i as f64).collect()),
        };
        let largest = range.start.abs().max(range.end.abs());
        let per = match axis.unit.as_str() {
            "B/s" => 1e6,
            "B" if !log => *[1e12, 1e9, 1e6, 1e3, 1.0].iter().find(|f| largest >= **f).unwrap_or(&1.0),
            "s" if !log => *[1.0, 1e-3, 1e-6, 1e-9].iter().find(|f| largest >= **f).unwrap_or(&1.0),
            _ => 1.0,
        };
        Self { range, log, ticks, per, axis: axis.clone() }
    }

    /// What is written along the axis: what it is, and its unit.
    pub fn label(&self) -> String {
        let unit = match (self.axis.unit.as_str(), self.log) {
            ("B/s", _) => "MB/s",
            ("B", false) => ["B", "kB", "MB", "GB", "TB"][(self.per.log10() / 3.0).round() as usize % 5],
            ("s", false) => ["s", "ms", "µs", "ns"][(-self.per.log10() / 3.0).round() as usize % 4],
            // Each value has its own.
            ("B" | "s", true) => "",
            (unit, _) => unit,
        };
        match (self.axis.label.as_str(), unit) {
            (label, "") => label.to_owned(),
            ("", unit) => unit.to_owned(),
            (label, unit) => format!("{label}, {unit}"),
        }
    }

    /// A value as it is written beside the axis.
    pub fn write(&self, value: f64) -> String {
        if !self.axis.names.is_empty() {
            let at = value.round();
            let near = (value - at).abs() < 0.01 && at >= 0.0;
            let name = self.axis.names.get(at as usize).filter(|_| near);
            let most = LETTERS as f64 / self.axis.names.len() as f64 / self.squeeze();
            return name.map_or_else(String::new, |name| cut(name, most as usize));
        }
        match (self.axis.unit.as_str(), self.log) {
            ("B", true) => size(value.round() as u64),
            ("s", true) => duration(value),
            _ => plain(value / self.per),
        }
    }

    /// How small names must be written to stand side by side, as a share of the usual size; half is the least.
    pub fn squeeze(&self) -> f64 {
        let longest = self.axis.names.iter().map(|name| name.chars().count() + 1).max().unwrap_or(0);
        (LETTERS as f64 / (longest * self.axis.names.len()).max(1) as f64).clamp(0.5, 1.0)
    }

    /// Where it begins and ends.
    pub fn ends(&self) -> &Range<f64> {
        &self.range
    }
}

/// How many letters stand side by side along an axis.
const LETTERS: usize = 52;

/// The end of a name that is too long: it tells more than its beginning.
fn cut(name: &str, most: usize) -> String {
    let (length, most) = (name.chars().count(), most.max(3));
    if length <= most {
        return name.to_owned();
    }
    format!("…{}", name.chars().skip(length + 1 - most).collect::<String>())
}

/// A number without digits it doesn't need.
fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Multiples of 1, 2 or 5 times a power of ten; the range ends on one.
fn steps(low: f64, high: f64) -> (Range<f64>, Vec<f64>) {
    let span = if high > low { high - low } else { high.abs().max(1.0) };
    let rough = span / TICKS as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
    let first = (low / step).floor() as i64;
    let last = ((low + span) / step).ceil() as i64;
    let ticks = (first..=last).map(|i| i as f64 * step).collect();
    (first as f64 * step..last as f64 * step, ticks)
}

/// Powers of ten, with 2 and 5 between them where they are few.
fn decades(low: f64, high: f64) -> (Range<f64>, Vec<f64>) {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let last = last.max(first + 1);
    let between: &[f64] = if last - first <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = ((last - first) as usize).div_ceil(TICKS);
    let powers = (first..=last).step_by(every).map(|e| 10f64.powi(e));
    let end = 10f64.powi(last);
    let ticks = powers.flat_map(|p| between.iter().map(move |f| f * p)).filter(|t| *t <= end * 1.001);
    (10f64.powi(first)..end, ticks.collect())
}

fn powers_of_two(low: f64, high: f64) -> (Range<f64>, Vec<f64>) {
    let (first, last) = (low.log2().floor() as i32, high.log2().ceil() as i32);
    let last = last.max(first + 1);
    let every = ((last - first) as usize).div_ceil(TICKS);
    let ticks = (first..=last).step_by(every).map(|e| 2f64.powi(e)).collect();
    (2f64.powi(first)..2f64.powi(last), ticks)
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let on = |v: f64| if self.log { v.max(f64::MIN_POSITIVE).log10() } else { v };
        let (from, to) = (on(self.range.start), on(self.range.end));
        let share = ((on(*value) - from) / (to - from)).clamp(-0.05, 1.05);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(axis: &Axis, low: f64, high: f64) -> String {
        let scale = Scale::new(axis, [low, high].into_iter(), false);
        let ticks: Vec<String> = scale.ticks.iter().map(|t| scale.write(*t)).collect();
        format!("{}: {}", scale.label(), ticks.join(" "))
    }

    #[test]
    fn values_are_round_and_have_units() {
        let axis = |label: &str, unit: &str, log| Axis {
            label: label.to_owned(),
            unit: unit.to_owned(),
            log,
            names: vec![],
        };
        let speed = axis("speed", "B/s", false);
        assert_eq!(written(&speed, 0.0, 7.3e6), "speed, MB/s: 0 2 4 6 8");
        assert_eq!(written(&speed, 1.9e6, 2.1e6), "speed, MB/s: 1.9 1.95 2 2.05 2.1");
        assert_eq!(written(&speed, 5e6, 5e6), "speed, MB/s: 5 6 7 8 9 10");
        assert_eq!(written(&axis("time", "s", false), 0.0, 0.0031), "time, ms: 0 1 2 3 4");
        assert_eq!(written(&axis("written", "B", false), 0.0, 3.2e9), "written, GB: 0 1 2 3 4");
        assert_eq!(
            written(&axis("latency", "s", true), 2e-5, 2.6),
            "latency: 10 µs 100 µs 1 ms 10 ms 100 ms 1 s 10 s"
        );
        assert_eq!(
            written(&axis("block", "B", true), 64.0, 1048576.0),
            "block: 64 B 512 B 4 KiB 32 KiB 256 KiB"
        );
        let named = Axis { names: vec!["a".to_owned(), "b".to_owned()], ..Axis::default() };
        assert_eq!(written(&named, 0.0, 1.0), ": a b");
    }

    #[test]
    fn nothing_and_nonsense_have_an_axis_too() {
        let log = Axis { log: true, ..Axis::default() };
        for values in [vec![], vec![f64::NAN], vec![f64::INFINITY, -1.0], vec![0.0], vec![1e-300, 1e300]] {
            for axis in [&Axis::default(), &log] {
                let scale = Scale::new(axis, values.iter().copied(), true);
                assert!(scale.range.start < scale.range.end, "{values:?} {scale:?}");
                assert!((2..=12).contains(&scale.ticks.len()), "{values:?} {scale:?}");
            }
        }
    }
}
