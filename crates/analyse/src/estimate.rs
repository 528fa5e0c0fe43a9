//! A number with its interval.

use serde::{Deserialize, Serialize};

use crate::units::{MIB, PredictedLoad, percent};

/// Runs on one drive have a standard deviation of up to 2 %, which a single run does not show: twice that.
pub(super) const FLOOR: f64 = 0.04;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Throughput in bytes per second, latency and time in seconds.
    pub value: f64,
    /// The ends of the 95 % interval; `high` is infinite if unbounded.
    pub low: f64,
    #[serde(with = "unbounded")]
    pub high: f64,
    /// The method of the interval, such as `batch means` or `t, 3 runs`.
    pub how: String,
    /// Whether the requested precision was reached.
    pub converged: bool,
    /// The ends without the assumed spread between runs of one drive, if the interval includes it.
    #[serde(skip)]
    pub within: Option<[f64; 2]>,
}

impl Estimate {
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.value
    }

    /// Whether one side is much longer, so that one number for both would mislead.
    fn is_lopsided(&self) -> bool {
        let (below, above) = (self.value - self.low, self.high - self.value);
        below.max(above) > 2.0 * below.min(above) && below.max(above) > 0.05 * self.value
    }

    /// Whether both ends of the interval are known and lie above zero.
    pub fn is_bounded(&self) -> bool {
        self.low > 0.0 && self.high.is_finite()
    }

    /// Text for tables: `1.93 MB/s ±1.8 %`, or `1.93 MB/s (1.60–2.40)` where the interval is wide; `write` adds units.
    pub fn text(&self, write: impl Fn(f64) -> String) -> String {
        let half = self.half_width();
        let value = write(self.value);
        match () {
            // Both ends are too far off to be shown.
            () if self.is_far() && self.value > FAR * self.low => format!("{value} (too noisy)"),
            // An end that is so far off is not shown.
            () if self.is_far() => {
                let low = write(self.low);
                let same = value.rsplit_once(' ').zip(low.rsplit_once(' ')).filter(|(a, b)| a.1 == b.1);
                format!("{value} (at least {})", same.map_or(low.as_str(), |(_, (number, _))| number))
            }
            () if !half.is_finite() => value,
            () if half < WIDE && !self.is_lopsided() => format!("{value} ±{}", percent(half)),
            () => self.with_ends(write),
        }
    }

    /// Whether its upper end is too far off to be shown.
    fn is_far(&self) -> bool {
        self.high > FAR * self.value && self.low > 0.0
    }

    /// With both ends, such as `1.93 MB/s (1.60–2.40)`.
    pub fn with_ends(&self, write: impl Fn(f64) -> String) -> String {
        let (value, range) = (write(self.value), self.range(&write));
        let unit = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
        // The unit is written once where all three numbers have the same.
        let shared = unit(&value).filter(|u| unit(&write(self.low)).as_ref() == Some(u));
        let short = shared.and_then(|unit| range.strip_suffix(&format!(" {unit}")).map(str::to_owned));
        format!("{value} ({})", short.unwrap_or(range))
    }

    /// The interval alone: `1.60–2.40 MB/s`, with the unit once where both ends have the same.
    pub fn range(&self, write: impl Fn(f64) -> String) -> String {
        let (low, high) = (write(self.low), write(self.high));
        // A dash looks like one minus more.
        let between = if low.starts_with('−') { " to " } else { "–" };
        match (low.rsplit_once(' '), high.rsplit_once(' ')) {
            (Some((number, unit)), Some((_, same))) if unit == same => format!("{number}{between}{high}"),
            _ => format!("{low}{between}{high}"),
        }
    }

    /// As [`Self::text`]; `alone` follows a value without an interval.
    pub fn sentence(&self, write: impl Fn(f64) -> String, alone: &str) -> String {
        if self.high.is_finite() { self.text(write) } else { write(self.value) + alone }
    }

    pub(super) fn new(value: f64, [low, high]: [f64; 2], how: impl Into<String>, converged: bool) -> Self {
        Self { value, low, high, how: how.into(), converged, within: None }
    }

    /// A speed, bytes per second, from a mean time, s per MiB, and its interval without the spread between runs. `widen` is a
    /// factor on that interval.
    pub(super) fn of_time(
        mean: f64,
        [below, above]: [f64; 2],
        widen: f64,
        how: &str,
        converged: bool,
    ) -> Self {
        let ends = |floor: f64| {
            let [down, up] = [below, above].map(|half| widen * half.hypot(floor * mean));
            let fastest = if down < mean { MIB as f64 / (mean - down) } else { f64::INFINITY };
            [MIB as f64 / (mean + up), fastest]
        };
        Self { within: Some(ends(0.0)), ..Self::new(MIB as f64 / mean, ends(FLOOR), how, converged) }
    }

    /// An unbounded value: the interval is from 0 to infinity, and `how` says why.
    pub fn unbounded(value: f64, how: &str) -> Self {
        Self::new(value, [0.0, f64::INFINITY], how, false)
    }

    /// A value that lies between two known ones.
    pub fn between(value: f64, ends: [f64; 2], how: &str) -> Self {
        Self::new(value, ends, how, false)
    }

    /// The speed of a load that a model predicts.
    pub fn predicted(load: &PredictedLoad) -> Self {
        let ends = [load.low, load.high.unwrap_or(f64::INFINITY)];
        Self::new(load.speed, ends, "a model, from what its drives do", false)
    }
}

const FAR: f64 = 10.0;

/// From this half-width on, both ends of an interval are written.
const WIDE: f64 = 0.2;

/// JSON has no infinity: an upper end without bound is `null`.
mod unbounded {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(x: &f64, s: S) -> Result<S::Ok, S::Error> {
        if x.is_finite() { s.serialize_some(x) } else { s.serialize_none() }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
        Ok(Option::<f64>::deserialize(d)?.unwrap_or(f64::INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{duration, rate};

    #[test]
    fn intervals_have_one_style() {
        let of = |value, low, high| Estimate { value, low, high, ..Estimate::unbounded(0.0, "") };
        assert_eq!(of(1.93e6, 1.9e6, 1.96e6).text(rate), "1.93 MB/s ±1.6 %");
        assert_eq!(of(2.38e6, 1.88e6, 2.41e6).text(rate), "2.38 MB/s (1.88–2.41)");
        assert_eq!(of(2e6, 1.7e6, 2.4e6).text(rate), "2.00 MB/s ±18 %");
        let wide = of(2e-3, 900e-6, 4e-3);
        assert_eq!(wide.text(duration), "2 ms (900 µs–4 ms)");
        assert_eq!(of(2e6, 1e6, 4e6).text(rate), "2.00 MB/s (1.00–4.00)");
        assert_eq!(wide.sentence(duration, ""), "2 ms (900 µs–4 ms)");
        assert_eq!(of(2360e6, 1203e6, 61_806e6).text(rate), "2360 MB/s (at least 1203)");
        // Both ends are too far off.
        assert_eq!(of(0.05, 55e-9, 39_085.0).text(duration), "50 ms (too noisy)");
        assert_eq!(of(656e6, 0.44e6, f64::INFINITY).text(rate), "656 MB/s (too noisy)");
        let open = Estimate::unbounded(2e6, "");
        assert_eq!([open.text(rate), open.sentence(rate, " alone")], ["2.00 MB/s", "2.00 MB/s alone"]);
    }
}
