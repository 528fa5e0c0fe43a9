//! What a run measured, as far as advice needs it.

use crate::{
    analyse::Estimate,
    findings::Named,
    units::{Caching, Direction, Load, Pattern},
};

/// What a run found of one load on one target, or of one load on all its targets at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The run's short name.
    pub run: String,
    /// When it began, as RFC 3339.
    pub at: String,
    /// The experiment.
    pub experiment: String,
    /// Its figures come from modelled drives.
    pub modelled: bool,
    /// The board it ran on, where that has a name.
    pub board: Option<String>,
    /// What was measured, as the person named it.
    pub target: String,
    /// The identities of the drives that carry it.
    pub drives: Vec<String>,
    /// The bay of each, with its controller.
    pub bays: Vec<String>,
    /// Names of the layers between, such as `md0`.
    pub layers: Vec<String>,
    /// The figures are of several targets at once.
    pub at_once: bool,
    /// The load; none where the experiment has none, as spinup.
    pub load: Option<Load>,
    /// What else must be alike to compare: file or device, what moved the bytes, which protocol.
    pub way: String,
    /// What was found; names are the load's label and what it is, such as `write throughput`.
    pub estimates: Vec<Named>,
}

/// Loads that can be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub reads: bool,
    pub pattern: Pattern,
}

impl Wanted {
    pub const READ: Self = Self { reads: true, pattern: Pattern::Sequential };
    pub const WRITE: Self = Self { reads: false, pattern: Pattern::Sequential };
    pub const RANDOM_READ: Self = Self { reads: true, pattern: Pattern::Random };
    pub const RANDOM_WRITE: Self = Self { reads: false, pattern: Pattern::Random };
}

impl Evidence {
    /// The estimate of this name, whatever the load is labelled.
    pub(super) fn number(&self, name: &str) -> Option<&Estimate> {
        let is = |n: &&Named| n.name == name || n.name.strip_suffix(name).is_some_and(|l| l.ends_with(' '));
        self.estimates.iter().find(is).map(|n| &n.estimate).filter(|e| e.value.is_finite() && e.value > 0.0)
    }

    /// The speed that lasts, bytes per second: after the last cliff, where there is one.
    pub(super) fn speed(&self) -> Option<&Estimate> {
        let names = if self.at_once { &["sum"][..] } else { &["throughput after", "throughput", "alone"] };
        names.iter().find_map(|name| self.number(name))
    }

    /// The longest that one operation took, s, as far as the run tells.
    pub(super) fn worst(&self) -> Option<f64> {
        let tail = || self.number("latency 99.99th").map(|e| e.value);
        self.number("longest").map(|e| e.value).or_else(tail)
    }

    /// Whether it is this load, past the page cache or with it written out.
    pub(super) fn is(&self, wanted: Wanted) -> bool {
        let direction = if wanted.reads { Direction::Read } else { Direction::Write };
        let fits = |l: &Load| {
            l.direction == direction
                && l.pattern == wanted.pattern
                && (l.caching != Caching::Buffered || wanted.reads && self.way.contains("cold"))
        };
        self.load.as_ref().is_some_and(fits)
    }

    /// Evidence with the same key can be compared, drive with drive and then with now.
    pub(super) fn key(&self) -> String {
        let load = self.load.as_ref().map(|l| format!("{}, {:?}", l.describe(), l.content));
        format!("{} {}", load.unwrap_or_else(|| self.experiment.clone()), self.way)
    }

    /// The day it began.
    pub(super) fn day(&self) -> &str {
        self.at.get(..10).unwrap_or(&self.at)
    }
}
