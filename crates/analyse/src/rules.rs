//! When to look and when to stop.

use serde::{Deserialize, Serialize};

/// Sizes are in MiB. Stored in the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// The half-width aimed at, as a share of the value.
    pub precision: f64,
    pub first: u64,
    /// Minimum length over which a speed without a cliff must hold. `None`: only a cliff or the budget ends the load.
    pub w_min: Option<u64>,
    /// Maximum length of the load.
    pub budget: u64,
    /// Minimum length of the part that is kept after warm-up.
    pub retain: u64,
    pub growth: f64,
    /// Maximum time of a load whose speed has fallen, s, so that time is left for the next load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallen_seconds: Option<f64>,
    /// Stop past `w_min` when the precision would need more than this many budgets; `None` never gives up.
    pub give_up: Option<f64>,
}

impl Rules {
    /// 5 %, at least 1 GiB, at most 3 GiB.
    pub fn standard() -> Self {
        Self {
            precision: 0.05,
            first: 256,
            w_min: Some(1024),
            budget: 3072,
            retain: 128,
            growth: 1.25,
            fallen_seconds: None,
            give_up: Some(2.0),
        }
    }

    /// 10 %, at least 512 MiB, at most 1.5 GiB.
    pub fn quick() -> Self {
        Self { precision: 0.10, w_min: Some(512), budget: 1536, ..Self::standard() }
    }

    /// 3 %, at least 2 GiB, at most 48 GiB: what 600 s take at 85 MB/s.
    pub fn thorough() -> Self {
        Self { precision: 0.03, w_min: Some(2048), budget: 49152, ..Self::standard() }
    }

    /// Never ends a load; only stalls and cliffs are looked for.
    pub fn never() -> Self {
        Self { precision: 1e-9, give_up: None, budget: 1 << 40, ..Self::standard() }
    }

    /// All looks in ascending order; the last one is the budget.
    pub(crate) fn looks(&self) -> Vec<u64> {
        let growth = if self.growth.is_finite() { self.growth.max(1.05) } else { 1.25 };
        let mut looks: Vec<u64> = std::iter::successors(Some(self.first.max(1) as f64), |w| Some(w * growth))
            .take_while(|&w| w < self.budget as f64)
            .map(|w| w as u64)
            .chain(self.w_min)
            .chain([self.budget])
            .filter(|&w| w <= self.budget)
            .collect();
        looks.sort_unstable();
        looks.dedup();
        looks
    }
}

/// The rule's decision after a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Continue,
    /// The sustained speed is known, or that of a span where only that is asked for.
    Converged,
    /// The speed of the span is known, and the budget is too small for the sustained one, or far too small for the precision.
    Span,
    /// The budget is used up.
    Budget,
}

impl Decision {
    pub fn stops(self) -> bool {
        self != Self::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_grow_and_include_the_minimum_and_the_budget() {
        assert_eq!(
            Rules::standard().looks(),
            [256, 320, 400, 500, 625, 781, 976, 1024, 1220, 1525, 1907, 2384, 2980, 3072]
        );
        assert_eq!(Rules { budget: 100, ..Rules::standard() }.looks(), [100]);
        let odd = Rules { growth: 0.0, first: 0, budget: 0, ..Rules::standard() };
        assert_eq!(odd.looks(), [0]);
    }
}
