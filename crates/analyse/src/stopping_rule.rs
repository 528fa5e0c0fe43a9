//! The rule that ends a load: when its sustained speed is known, or its speed over a span of time.

use super::{Adaptive, CliffEstimate, Decision, End, Estimate, Rules, Span, SpanRules, Throughput};
use crate::units::Window;

#[derive(Debug, Clone)]
pub enum StoppingRule {
    Sustained(Box<Adaptive>),
    Span(Box<Span>),
}

impl StoppingRule {
    /// The load takes no longer than `seconds`.
    pub fn sustained(rules: &Rules, seconds: f64) -> Self {
        Self::Sustained(Box::new(Adaptive::new(rules, seconds)))
    }

    /// For how much is fast again, of a drive whose cliff is known.
    pub fn fast_part(rules: &Rules, seconds: f64) -> Self {
        Self::Sustained(Box::new(Adaptive::of_fast_part(rules, seconds)))
    }

    pub fn span(rules: &SpanRules) -> Self {
        Self::Span(Box::new(Span::new(rules)))
    }

    pub fn push(&mut self, window: &Window) -> Decision {
        match self {
            Self::Sustained(rule) => rule.push(window),
            Self::Span(rule) => rule.push(window),
        }
    }

    /// Whether a limit on time or bytes ended a load that looks for a sustained speed, before its rule did.
    pub fn is_cut_by_limit(&self) -> bool {
        matches!(self, Self::Sustained(rule) if matches!(rule.decision(), Decision::Continue | Decision::Budget))
    }

    /// The estimate, stalls and cliffs of the latest look.
    pub fn progress(&self) -> (Option<Estimate>, usize, usize) {
        match self {
            Self::Sustained(rule) => rule.progress(),
            Self::Span(rule) => rule.progress(),
        }
    }

    pub fn finish(&self, end: End) -> Throughput {
        match self {
            Self::Sustained(rule) => rule.finish(end),
            Self::Span(rule) => rule.finish(end),
        }
    }

    /// Every cliff, with intervals of its position and of both speeds; none of a span.
    pub fn cliff_estimates(&self) -> Vec<CliffEstimate> {
        match self {
            Self::Sustained(rule) => rule.cliff_estimates(),
            Self::Span(_) => Vec::new(),
        }
    }

    /// Speed over bytes moved, see [`Adaptive::curve`]; nothing of a span.
    pub fn curve(&self, most: usize) -> Vec<(u64, f64)> {
        match self {
            Self::Sustained(rule) => rule.curve(most),
            Self::Span(_) => Vec::new(),
        }
    }
}
