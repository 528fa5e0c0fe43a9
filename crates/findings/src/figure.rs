//! Figures as numbers. Values are in base units; the report chooses MB/s or ms.

use serde::{Deserialize, Serialize};

use super::Unit;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it shows, such as `write speed over time, /mnt/a`.
    pub title: String,
    /// A description in a sentence or two, for people who can't see it.
    pub text: String,
    /// The load, such as `sequential write, 1 MiB, direct, depth 1`; empty where it has several.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub load: String,
    /// The sample size, such as `n = 1024 windows`, and what its intervals are.
    pub n: String,
    /// How it is read. A page says it once for all figures that are read alike.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reading: String,
    pub x: Axis,
    pub y: Axis,
    pub curves: Vec<Curve>,
    /// Lines across all curves, such as a ceiling.
    pub marks: Vec<Mark>,
    /// Ranges of x that are shaded, such as the part used for an estimate.
    pub bands: Vec<Band>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    pub label: String,
    pub unit: Unit,
    /// Equal distances are equal ratios.
    pub log: bool,
    /// Names of the places 0, 1, 2...; empty for an axis of numbers.
    pub names: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What they are; empty where there is one curve only.
    pub name: String,
    pub style: Style,
    /// The points, in order of x.
    pub points: Vec<Point>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    /// Joined by a line; intervals as a band around it.
    Line,
    /// Dots, with their intervals as bars.
    Dots,
    /// Small dots without intervals, beside a histogram of their values.
    Pieces,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// The ends of its interval: of 95 %, or the spread that the figure's `n` names. The upper is infinite if unbounded.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "open")]
    pub interval: Option<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// What it marks, such as `USB2 bus, 35 MB/s`.
    pub label: String,
    #[serde(flatten)]
    pub at: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum At {
    /// Upright, at this x.
    X(f64),
    /// Level, at this y.
    Y(f64),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Band {
    pub label: String,
    pub from: f64,
    pub to: f64,
}

impl Axis {
    pub fn of(label: &str, unit: Unit) -> Self {
        Self { label: label.to_owned(), unit, ..Self::default() }
    }

    pub fn speed() -> Self {
        Self::of("speed", Unit::BytesPerSecond)
    }

    pub fn named(label: &str, names: impl IntoIterator<Item = String>) -> Self {
        Self { names: names.into_iter().collect(), ..Self::of(label, Unit::None) }
    }

    /// The same axis with a logarithmic scale.
    #[must_use]
    pub fn log(self) -> Self {
        Self { log: true, ..self }
    }
}

impl Curve {
    /// A curve; an empty name is for one that is alone.
    pub fn new(name: impl Into<String>, style: Style, points: impl IntoIterator<Item = Point>) -> Self {
        Self { name: name.into(), style, points: points.into_iter().collect() }
    }
}

impl Point {
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None }
    }

    /// A value with its interval at `x`; an unbounded interval is left out.
    pub fn of(x: f64, estimate: &crate::analyse::Estimate) -> Self {
        let bounded = estimate.high.is_finite() || estimate.low > 0.0;
        Self { x, y: estimate.value, interval: bounded.then_some((estimate.low, estimate.high)) }
    }
}

/// JSON has no infinity: an upper end without bound is `null`.
mod open {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Interval = Option<(f64, f64)>;

    pub fn serialize<S: Serializer>(interval: &Interval, s: S) -> Result<S::Ok, S::Error> {
        interval.map(|(low, high)| (low, Some(high).filter(|high| high.is_finite()))).serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Interval, D::Error> {
        let read = Option::<(f64, Option<f64>)>::deserialize(d)?;
        Ok(read.map(|(low, high)| (low, high.unwrap_or(f64::INFINITY))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_without_an_upper_end_are_kept() {
        let at_least = crate::analyse::Estimate { low: 1e6, ..crate::analyse::Estimate::unbounded(2e6, "") };
        let point = Point::of(0.0, &at_least);
        assert_eq!(point.interval, Some((1e6, f64::INFINITY)));
        let text = serde_json::to_string(&point).expect("JSON");
        assert_eq!(serde_json::from_str::<Point>(&text).expect("reads back"), point);
        assert_eq!(Point::of(0.0, &crate::analyse::Estimate::unbounded(2e6, "")).interval, None);
    }
}
