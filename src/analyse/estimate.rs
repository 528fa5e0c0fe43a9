//! The one shape of every number with an interval.

use serde::{Deserialize, Serialize};

/// A number with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The value; throughput in bytes per second, latency and time in seconds.
    pub value: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval; infinite where nothing bounds it.
    #[serde(with = "unbounded")]
    pub high: f64,
    /// How the interval was got, such as `batch means` or `t, 3 runs`.
    pub how: String,
    /// Whether the precision asked for was reached.
    pub converged: bool,
}

impl Estimate {
    /// Half the interval's width as a share of the value.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.value
    }

    /// A value that nothing bounds: the interval is everything from 0 up, and `how` says why.
    pub(crate) fn unbounded(value: f64, how: &str) -> Self {
        Self { value, low: 0.0, high: f64::INFINITY, how: how.to_owned(), converged: false }
    }
}

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
