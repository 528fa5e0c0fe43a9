//! The scale of an axis: where values stand, which of them are written beside it, and in which unit.

use crate::{
    findings::{Axis, Unit},
    units::{duration, size},
};

#[derive(Debug, Clone)]
pub struct Scale {
    from: f64,
    to: f64,
    log: bool,
    pub ticks: Vec<f64>,
    /// What a value is divided by before it is written, and the unit then.
    unit: (f64, String),
    axis: Axis,
}

/// Where a scale begins and ends, and its ticks.
type Range = (f64, f64, Vec<f64>);

/// The approximate limit of values beside an axis.
const TICKS: usize = 6;

impl Scale {
    /// An axis that shows all of `values`; `from_zero` where what is drawn begins there, as bars do.
    pub fn new(axis: &Axis, values: impl Iterator<Item = f64>, from_zero: bool) -> Self {
        let log = axis.log && axis.names.is_empty();
        // What is beyond that is nonsense and would overflow.
        let shown = values.map(|v| v.clamp(-1e300, 1e300)).filter(|v| !log || *v > 1e-300);
        let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if low > high { (1.0, 10.0) } else { (low, high) };
        let (from, to, ticks) = match (axis.names.len(), log) {
            (0, true) if axis.unit == Unit::Bytes => powers(2.0, f64::log2, low, high),
            (0, true) => decades(low, high),
            (0, false) => steps(if from_zero { low.min(0.0) } else { low }, high),
            (n, _) => (-0.5, n as f64 - 0.5, (0..n).map(|i| i as f64).collect()),
        };
        let largest = from.abs().max(to.abs());
        let units: &[(f64, &str)] = match axis.unit {
            Unit::BytesPerSecond => &[(1e6, "MB/s")],
            // Each value is written with its own.
            Unit::Bytes | Unit::Seconds if log => &[(1.0, "")],
            Unit::Bytes => &[(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")],
            Unit::Seconds => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
            Unit::None => &[(1.0, "")],
        };
        let unit = units.iter().find(|(per, _)| largest >= *per).or(units.last()).unwrap_or(&(1.0, ""));
        Self { from, to, log, ticks, unit: (unit.0, unit.1.to_owned()), axis: axis.clone() }
    }

    /// This axis, if it has numbers at equal distances, up to its largest value: what is empty beyond looks as if it was
    /// not measured.
    #[must_use]
    pub fn up_to(mut self, largest: f64) -> Self {
        let inside = |tick: &f64| *tick <= largest;
        if !self.log && !self.named() && self.ticks.iter().filter(|tick| inside(tick)).count() > 1 {
            self.ticks.retain(inside);
            self.to = self.to.min(largest);
        }
        self
    }

    /// Where a value stands, from 0 to 1; values beyond an end stand there.
    pub fn share(&self, value: f64) -> f64 {
        let on = |v: f64| if self.log { v.max(1e-300).log10() } else { v };
        let share = (on(value) - on(self.from)) / (on(self.to) - on(self.from));
        share.clamp(0.0, 1.0)
    }

    /// It has names, not numbers.
    pub fn named(&self) -> bool {
        !self.axis.names.is_empty()
    }

    pub fn label(&self) -> String {
        match (self.axis.label.as_str(), self.unit.1.as_str()) {
            (label, "") => label.to_owned(),
            ("", unit) => unit.to_owned(),
            (label, unit) => format!("{label}, {unit}"),
        }
    }

    pub fn write(&self, value: f64) -> String {
        match (self.axis.unit, self.log) {
            _ if self.named() => self.axis.names.get(value.round() as usize).cloned().unwrap_or_default(),
            (Unit::Bytes, true) if (1.0..1e19).contains(&value) => size(value.round() as u64),
            (Unit::Seconds, true) if (0.9e-9..1e9).contains(&value) => duration(value),
            _ => plain(value / self.unit.0),
        }
    }
}

/// A number without digits it doesn't need.
fn plain(value: f64) -> String {
    let usual = value == 0.0 || (1e-4..1e7).contains(&value.abs());
    let text = if usual { format!("{value:.6}") } else { format!("{value:.3e}") };
    let (number, power) = text.split_at(text.find('e').unwrap_or(text.len()));
    format!("{}{power}", number.trim_end_matches('0').trim_end_matches('.'))
}

/// Multiples of 1, 2 or 5 times a power of ten; the range ends on one.
fn steps(low: f64, high: f64) -> Range {
    let largest = low.abs().max(high.abs());
    // Less than that can't be written beside an axis.
    let span = if high - low > 1e-3 * largest { high - low } else { largest };
    let rough = if span > 0.0 { span } else { 1.0 } / TICKS as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
    let first = (low / step).floor() as i64;
    let last = ((low + rough * TICKS as f64) / step).ceil() as i64;
    let ticks: Vec<f64> = (first..=last).map(|i| i as f64 * step).collect();
    (first as f64 * step, last as f64 * step, ticks)
}

/// 1, 2 and 5 times powers of ten, or where those are many, powers of ten.
fn decades(low: f64, high: f64) -> Range {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32 + 1);
    let fine: Vec<f64> = (first..=last).flat_map(|e| [1.0, 2.0, 5.0].map(|f| f * 10f64.powi(e))).collect();
    let from = fine.iter().rposition(|t| *t <= low * 1.001).unwrap_or(0);
    let to = fine.iter().position(|t| *t >= high * 0.999).unwrap_or(0).max(from + 1);
    if to - from <= TICKS {
        return (fine[from], fine[to], fine[from..=to].to_vec());
    }
    powers(10.0, f64::log10, low, high)
}

/// All, or every n-th, of the powers of a base.
fn powers(base: f64, log: fn(f64) -> f64, low: f64, high: f64) -> Range {
    let first = log(low).floor() as i32;
    let last = (log(high).ceil() as i32).max(first + 1);
    let every = ((last - first) as usize).div_ceil(TICKS);
    let ticks = (first..=last).step_by(every).map(|e| base.powi(e)).collect();
    (base.powi(first), base.powi(last), ticks)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn written(axis: &Axis, low: f64, high: f64) -> String {
        let scale = Scale::new(axis, [low, high].into_iter(), false);
        let ticks: Vec<String> = scale.ticks.iter().map(|t| scale.write(*t)).collect();
        format!("{}: {}", scale.label(), ticks.join(" "))
    }

    #[test]
    fn values_are_round_and_have_units() {
        let axis = |label: &str, unit, log| Axis { log, ..Axis::of(label, unit) };
        let speed = axis("speed", Unit::BytesPerSecond, false);
        assert_eq!(written(&speed, 0.0, 7.3e6), "speed, MB/s: 0 2 4 6 8");
        assert_eq!(written(&speed, 1.9e6, 2.1e6), "speed, MB/s: 1.9 1.95 2 2.05 2.1");
        assert_eq!(written(&speed, 5e6, 5e6), "speed, MB/s: 5 6 7 8 9 10");
        assert_eq!(written(&axis("time", Unit::Seconds, false), 0.0, 0.0031), "time, ms: 0 1 2 3 4");
        assert_eq!(written(&axis("written", Unit::Bytes, false), 0.0, 3.2e9), "written, GB: 0 1 2 3 4");
        assert_eq!(
            written(&axis("latency", Unit::Seconds, true), 2e-5, 2.6),
            "latency: 10 µs 100 µs 1 ms 10 ms 100 ms 1 s 10 s"
        );
        assert_eq!(
            written(&axis("block", Unit::Bytes, true), 64.0, 1048576.0),
            "block: 64 B 512 B 4 KiB 32 KiB 256 KiB"
        );
        let named = Axis { names: ["a", "b"].map(str::to_owned).to_vec(), ..Axis::default() };
        assert_eq!(written(&named, 0.0, 1.0), ": a b");
    }

    #[test]
    fn nothing_and_nonsense_have_an_axis_too() {
        let log = Axis { log: true, ..Axis::default() };
        for values in [&[][..], &[f64::NAN], &[f64::INFINITY, -1.0], &[0.0], &[1e-300, 1e300]] {
            for axis in [&Axis::default(), &log] {
                let scale = Scale::new(axis, values.iter().copied(), true);
                assert!(scale.from < scale.to, "{values:?} {scale:?}");
                assert!((2..=12).contains(&scale.ticks.len()), "{values:?} {scale:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn ticks_are_round_and_distinct_and_every_value_has_a_place(
            values in vec(prop_oneof![-1e12..1e12f64, 1e-9..1.0f64, prop::num::f64::NORMAL], 1..9),
            unit in prop::sample::select(Vec::from([Unit::Bytes, Unit::BytesPerSecond, Unit::Seconds, Unit::None])), log: bool, from_zero: bool,
        ) {
            let axis = Axis { log, ..Axis::of("", unit) };
            let scale = Scale::new(&axis, values.iter().copied(), from_zero);
            prop_assert!(scale.from < scale.to && (2..=12).contains(&scale.ticks.len()), "{:?}", scale);
            for v in values.iter().filter(|v| v.abs() < 1e300 && (!log || **v > 1e-300)) {
                let slack = 1e-3 * (scale.to - scale.from).abs().max(v.abs());
                prop_assert!(scale.from - slack <= *v && *v <= scale.to + slack, "{} in {:?}", v, scale);
            }
            for pair in scale.ticks.windows(2) {
                let (a, b) = (scale.share(pair[0]), scale.share(pair[1]));
                prop_assert!((0.0..=1.0).contains(&a) && a < b && b <= 1.0, "{:?}", scale);
                prop_assert_ne!(scale.write(pair[0]), scale.write(pair[1]), "{:?}", scale);
            }
            if !(log && unit == Unit::Bytes) {
                let steps = scale.ticks.windows(2).map(|pair| if log { pair[1] } else { pair[1] - pair[0] });
                for step in steps {
                    let round = format!("{step:.3e}");
                    let known = ["1.000e", "2.000e", "5.000e"].iter().any(|r| round.starts_with(r));
                    prop_assert!(known, "{} {:?}", step, scale);
                }
            }
        }
    }
}
