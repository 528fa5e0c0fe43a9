//! Results of a run that advice needs.

use crate::{
    analyse::Estimate,
    findings::{Carrier, Findings, LoadKey, Metric, Quantity, Scope},
    units::{Caching, Direction, Pattern, Percentile},
};

/// What a run found of one load on one target, or of one load on all its targets at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    pub run: String,
    /// When it began, as RFC 3339.
    pub at: String,
    pub experiment: String,
    pub modelled: bool,
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
    pub load: Option<LoadKey>,
    pub numbers: Vec<Metric>,
}

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

/// Evidence is compared if these are equal: the load and the layers below the target.
pub(super) type Key<'a> = (Option<&'a LoadKey>, &'a [String]);

impl Evidence {
    /// The evidence in the findings of a run: of each load on each target, and of each load on several at once.
    pub fn of(findings: &Findings) -> Vec<Self> {
        let numbers: Vec<&Metric> = findings.estimates.iter().chain(&findings.evidence).collect();
        let mut all = Vec::new();
        for carrier in &findings.origin.carriers {
            let own = numbers.iter().copied().filter(|m| m.target == carrier.target);
            for (load, numbers) in by_load(own) {
                all.push(Self { load, numbers, ..Self::about(findings, &carrier.target, &[carrier]) });
            }
        }
        let at_once = numbers.iter().copied().filter(|m| {
            matches!(m.scope, Scope::Sum | Scope::SumAlone) || matches!(m.quantity, Quantity::Ceiling(_))
        });
        for (load, together) in by_load(at_once) {
            let took = |carrier: &&Carrier| {
                let name = |load: &Option<LoadKey>| load.as_ref().map(|load| load.name.clone());
                let same = |m: &&&Metric| m.scope == Scope::Together && name(&m.load) == name(&load);
                numbers.iter().filter(same).any(|m| m.target == carrier.target)
            };
            let carriers: Vec<&Carrier> = findings.origin.carriers.iter().filter(took).collect();
            let about = Self::about(findings, "all", &carriers);
            all.push(Self { load, at_once: true, numbers: together, ..about });
        }
        all
    }

    /// The fields that all evidence of these targets shares.
    fn about(findings: &Findings, target: &str, carriers: &[&Carrier]) -> Self {
        let drives = || carriers.iter().flat_map(|carrier| &carrier.drives);
        Self {
            run: findings.run.clone(),
            at: findings.origin.at.clone(),
            experiment: findings.experiment.clone(),
            modelled: findings.modelled,
            board: findings.origin.board.clone(),
            target: target.to_owned(),
            drives: drives().map(|drive| drive.identity.clone()).collect(),
            bays: drives().map(|drive| drive.full_bay.clone()).collect(),
            layers: carriers.iter().flat_map(|carrier| carrier.layers.clone()).collect(),
            ..Self::default()
        }
    }

    /// A number of all runs of the load, where it is known.
    pub(super) fn number(&self, quantity: Quantity, scope: Scope) -> Option<&Estimate> {
        let is = |m: &&Metric| m.quantity == quantity && m.scope == scope && m.repetition.is_none();
        self.numbers.iter().find(is).map(|m| &m.estimate).filter(|e| e.value.is_finite() && e.value > 0.0)
    }

    /// The sustained speed, bytes per second: after the last cliff, where there is one.
    pub(super) fn speed(&self) -> Option<&Estimate> {
        let scopes = if self.at_once {
            &[Scope::Sum][..]
        } else {
            &[Scope::AfterCliff(None), Scope::Whole, Scope::Alone]
        };
        scopes.iter().find_map(|scope| self.number(Quantity::Throughput, *scope))
    }

    /// The sum of the targets alone, bytes per second.
    pub(super) fn sum_alone(&self) -> Option<&Estimate> {
        self.number(Quantity::Throughput, Scope::SumAlone)
    }

    /// How long a disk takes to wake, s.
    pub(super) fn wake_time(&self) -> Option<&Estimate> {
        self.number(Quantity::WakeTime, Scope::Whole)
    }

    /// The longest operation, s, as far as the run has it.
    pub(super) fn worst(&self) -> Option<f64> {
        let quantities = [Quantity::LongestOperation, Quantity::Latency(Percentile::P9999)];
        quantities.into_iter().find_map(|quantity| self.number(quantity, Scope::Whole)).map(|e| e.value)
    }

    /// Whether it is this kind of load, without the effect of the page cache.
    pub(super) fn is(&self, wanted: Wanted) -> bool {
        let direction = if wanted.reads { Direction::Read } else { Direction::Write };
        let fits = |l: &LoadKey| {
            l.direction == Some(direction)
                && l.pattern == Some(wanted.pattern)
                && (l.caching != Some(Caching::Buffered) || wanted.reads && l.cold)
        };
        self.load.as_ref().is_some_and(fits)
    }

    pub(super) fn key(&self) -> Key<'_> {
        (self.load.as_ref(), &self.layers)
    }

    pub(super) fn day(&self) -> &str {
        self.at.get(..10).unwrap_or(&self.at)
    }
}

fn by_load<'a>(numbers: impl Iterator<Item = &'a Metric>) -> Vec<(Option<LoadKey>, Vec<Metric>)> {
    let mut all: Vec<(Option<LoadKey>, Vec<Metric>)> = Vec::new();
    for metric in numbers {
        match all.iter_mut().find(|(load, _)| *load == metric.load) {
            Some((_, same)) => same.push(metric.clone()),
            None => all.push((metric.load.clone(), vec![metric.clone()])),
        }
    }
    all
}
