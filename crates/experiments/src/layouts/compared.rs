//! One load on each drive alone and on each layout: predicted and measured.

use crate::{analyse::Estimate, findings::LoadKey, units::PredictedLoad};

/// One load on all targets.
pub(super) struct Compared {
    pub label: String,
    pub load: LoadKey,
    /// The most repetitions on a target.
    pub runs: usize,
    /// By the position of the target.
    pub measured: Vec<Option<Estimate>>,
    pub predicted: Vec<Option<PredictedLoad>>,
}

impl Compared {
    pub fn is_predicted(&self) -> bool {
        self.predicted.iter().any(Option::is_some)
    }

    /// By how much the prediction is above what was measured, as a share of that.
    pub fn error(&self, at: usize) -> Option<f64> {
        Some(self.predicted[at].as_ref()?.speed / self.measured[at].as_ref()?.value - 1.0)
    }
}
