//! The percentiles of latency that are shown.

use serde::{Deserialize, Serialize};

/// A percentile of the operations of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Percentile {
    P50,
    P90,
    P99,
    P999,
    P9999,
    P99999,
}

impl Percentile {
    pub const ALL: [Self; 6] = [Self::P50, Self::P90, Self::P99, Self::P999, Self::P9999, Self::P99999];
    /// The percentiles in the tables of every load.
    pub const SHOWN: [Self; 3] = [Self::P50, Self::P99, Self::P9999];

    const fn share_and_number(self) -> (f64, &'static str) {
        match self {
            Self::P50 => (0.5, "50"),
            Self::P90 => (0.9, "90"),
            Self::P99 => (0.99, "99"),
            Self::P999 => (0.999, "99.9"),
            Self::P9999 => (0.9999, "99.99"),
            Self::P99999 => (0.99999, "99.999"),
        }
    }

    /// The share of operations at or below it, 0 to 1.
    pub fn share(self) -> f64 {
        self.share_and_number().0
    }

    /// Its number, for an axis: `99.99`.
    pub fn number(self) -> &'static str {
        self.share_and_number().1
    }

    /// Its name, for the head of a column: `99.99th`.
    pub fn name(self) -> String {
        format!("{}th", self.number())
    }
}
