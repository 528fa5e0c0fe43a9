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
    /// Each a dot, with its interval as a bar.
    Dots,
    /// Each a bar from zero, over those of the curves before: with sums as values they stand on each other.
    Bars,
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

    /// The same, where equal distances are equal ratios.
    #[must_use]
    pub fn log(self) -> Self {
        Self { log: true, ..self }
    }
}

/// A curve of many values has about so many points.
const SLOTS: usize = 60;
/// A median and its spread need so many values.
const IN_SLOT: usize = 5;

impl Curve {
    /// What a curve of [`Curve::spread`] shows, where it had enough of these `pieces`.
    pub fn shown(&self, pieces: &str) -> String {
        let band = self.points.iter().any(|p| p.interval.is_some());
        if band { format!("median and middle 80 % of {pieces}") } else { pieces.to_owned() }
    }

    /// A line through medians, each with the range from the 10th to the 90th percentile, of pieces in order: where each
    /// begins and ends, and its value, which counts for as long as it lasts. Too few pieces are joined as they are.
    pub fn spread(name: impl Into<String>, pieces: &[(f64, f64, f64)]) -> Self {
        let slots = SLOTS.min(pieces.len() / IN_SLOT);
        let (Some((first, ..)), Some((_, last, _)), true) = (pieces.first(), pieces.last(), slots >= IN_SLOT)
        else {
            return Self::new(
                name,
                Style::Line,
                pieces.iter().map(|(a, b, y)| Point::new((a + b) / 2.0, *y)),
            );
        };
        let wide = (last - first) / slots as f64;
        let slot = |i: usize| {
            let (from, to) = (first + wide * i as f64, first + wide * (i + 1) as f64);
            let own =
                pieces.iter().map(|(a, b, y)| (*y, b.min(to) - a.max(from))).filter(|(_, long)| *long > 0.0);
            let mut own: Vec<(f64, f64)> = own.collect();
            own.sort_by(|a, b| a.0.total_cmp(&b.0));
            let all: f64 = own.iter().map(|(_, long)| long).sum();
            let at = |share: f64| {
                let mut sum = 0.0;
                let reached = own.iter().find(|(_, long)| {
                    sum += long;
                    sum >= share * all
                });
                reached.or(own.last()).map(|(y, _)| *y)
            };
            let (y, low, high) = (at(0.5)?, at(0.1)?, at(0.9)?);
            Some(Point { x: (from + to) / 2.0, y, interval: Some((low, high)) })
        };
        Self::new(name, Style::Line, (0..slots).filter_map(slot))
    }

    /// A curve; an empty name is for one that is alone.
    pub fn new(name: impl Into<String>, style: Style, points: impl IntoIterator<Item = Point>) -> Self {
        Self { name: name.into(), style, points: points.into_iter().collect() }
    }
}

impl Point {
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None }
    }

    /// A value with its interval at `x`; an interval that nothing bounds is none.
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
    fn many_pieces_become_a_median_with_a_band() {
        // Nine in ten are 10; every tenth is slow.
        let saw: Vec<(f64, f64, f64)> = (0..500)
            .map(|i| (f64::from(i), f64::from(i + 1), if i % 10 == 9 { 1.0 } else { 10.0 }))
            .collect();
        let drawn = Curve::spread("", &saw);
        assert!(drawn.points.len() <= SLOTS, "{}", drawn.points.len());
        for p in &drawn.points {
            let (low, high) = p.interval.expect("a band");
            assert!(p.y == 10.0 && low <= p.y && p.y <= high, "{p:?}");
        }
        assert!(drawn.points.is_sorted_by(|a, b| a.x < b.x));
    }

    #[test]
    fn a_piece_counts_for_as_long_as_it_lasts() {
        // A hundred fast pieces within 1 s, then one slow one that takes 9 s.
        let fast = (0..100).map(|i| (f64::from(i) / 100.0, f64::from(i + 1) / 100.0, 10.0));
        let pieces: Vec<(f64, f64, f64)> = fast.chain([(1.0, 10.0, 1.0)]).collect();
        let drawn = Curve::spread("", &pieces);
        let (fast, slow): (Vec<&Point>, Vec<&Point>) = drawn.points.iter().partition(|p| p.x < 1.0);
        assert!(fast.iter().all(|p| p.y == 10.0) && slow.iter().all(|p| p.y == 1.0), "{drawn:?}");
        assert!(slow.len() > 5 * fast.len() && !fast.is_empty(), "{drawn:?}");
    }

    #[test]
    fn intervals_without_an_upper_end_are_kept() {
        let at_least = crate::analyse::Estimate { low: 1e6, ..crate::analyse::Estimate::unbounded(2e6, "") };
        let point = Point::of(0.0, &at_least);
        assert_eq!(point.interval, Some((1e6, f64::INFINITY)));
        let text = serde_json::to_string(&point).expect("JSON");
        assert_eq!(serde_json::from_str::<Point>(&text).expect("reads back"), point);
        assert_eq!(Point::of(0.0, &crate::analyse::Estimate::unbounded(2e6, "")).interval, None);
    }

    #[test]
    fn few_pieces_are_drawn_as_they_are() {
        for n in [0, 1, 24] {
            let few: Vec<(f64, f64, f64)> = (0..n).map(|i| (f64::from(i), f64::from(i + 1), 2.0)).collect();
            let drawn = Curve::spread("", &few);
            assert_eq!(drawn.points.len(), few.len());
            assert!(drawn.points.iter().all(|p| p.interval.is_none()));
        }
    }
}
