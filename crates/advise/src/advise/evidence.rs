//! Results of a run that advice needs.

use crate::{
    analyse::Estimate,
    findings::{Carrier, Findings, Limiter, LoadKey, Measures, Metric, Quantity, Scope},
    inventory::Inventory,
    units::{Caching, Direction, KIB, MIB, Pattern, Percentile, Pool, distinct, size},
};

/// Blocks that copies, media and network clients move, from this size on.
const LARGE: u64 = 128 * KIB;
/// Blocks of swap and of starting programs, up to this size.
const SMALL: u64 = 16 * KIB;

/// What a run found of one load on one target, or of one load on all its targets at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    pub run: String,
    /// Earlier runs of the same load, with which its numbers are pooled.
    pub pooled_with: Vec<String>,
    /// When it began, as RFC 3339.
    pub at: String,
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
    /// The pool that joins the drives, as it was then.
    pub pool: Option<Pool>,
    /// An indirection lies between target and drive: a loop device, FUSE.
    pub indirect: bool,
    /// The figures are of several targets at once.
    pub at_once: bool,
    /// The figures are of bays that differ, whatever drive is in them.
    pub of_bays: bool,
    /// The run has a warning.
    pub flagged: bool,
    /// The load; none where the experiment has none, as spinup and smallfiles.
    pub load: Option<LoadKey>,
    pub numbers: Vec<Metric>,
    /// What decides what the target is fit for, in evidence without a load.
    pub measures: Option<Measures>,
}

/// The load that a question is about: large blocks in order, or small ones at random, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub reads: bool,
    pub pattern: Pattern,
}

impl Wanted {
    pub const READ: Self = Self { reads: true, pattern: Pattern::Sequential };
    pub const WRITE: Self = Self { reads: false, ..Self::READ };
    pub const RANDOM_READ: Self = Self { pattern: Pattern::Random, ..Self::READ };
    pub const RANDOM_WRITE: Self = Self { reads: false, ..Self::RANDOM_READ };
}

/// How far a load is from the one that a question is about; the smallest fits best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fit {
    /// A run with latencies comes before a short one, and both before an import.
    source: u8,
    /// The usual block size as a multiple of this one, or this one of it.
    block: u64,
    smaller: bool,
    depth: u32,
    cached: bool,
}

impl Evidence {
    /// The evidence in the findings of a run: of each load on each target, and of each load on several at once.
    pub fn of(findings: &Findings) -> Vec<Self> {
        let targets: Vec<&String> = findings.origin.carriers.iter().map(|carrier| &carrier.target).collect();
        // A number of several targets is as good as the load on each of them.
        let whole = |m: &&Metric| {
            if m.load.as_ref().is_some_and(|load| load.missed.is_some()) {
                return false;
            }
            let load = m.load.as_ref().map(|load| &load.name);
            let own = |target: &String| *target == m.target || !targets.contains(&&m.target);
            !findings.cut.iter().any(|(target, name)| name.as_ref() == load && own(target))
        };
        let numbers: Vec<&Metric> =
            findings.estimates.iter().chain(&findings.evidence).filter(whole).collect();
        let mut all = Vec::new();
        for carrier in &findings.origin.carriers {
            // Boots from other drives are beside those from this one.
            let beside = |m: &Metric| matches!(m.scope, Scope::OverBoots | Scope::BesideThis);
            let own = numbers.iter().copied().filter(|m| m.target == carrier.target || beside(m));
            for (load, numbers) in by_load(own) {
                all.push(Self { load, numbers, ..Self::about(findings, &carrier.target, &[carrier]) });
            }
            let is_cut = findings.cut.iter().any(|(target, _)| *target == carrier.target);
            let own = findings.measures.iter().filter(|(target, _)| *target == carrier.target && !is_cut);
            all.extend(own.map(|(target, measures)| Self {
                measures: Some(measures.clone()),
                ..Self::about(findings, target, &[carrier])
            }));
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
        // Numbers of what carries no target, such as bays.
        let carriers: Vec<&Carrier> = findings.origin.carriers.iter().collect();
        let of_bays = findings.evidence.iter().filter(whole).filter(|m| {
            matches!(m.quantity, Quantity::RelativeSpeed(_)) && carriers.iter().all(|c| c.target != m.target)
        });
        for (load, numbers) in by_load(of_bays) {
            all.push(Self { load, numbers, of_bays: true, ..Self::about(findings, "bays", &carriers) });
        }
        all
    }

    /// The same, with identities for drives that an import names by their serials.
    #[must_use]
    pub fn named(mut self, inventory: &Inventory) -> Self {
        for name in self.drives.iter_mut() {
            let mut here = inventory.drives.iter();
            if let Some(drive) = here.find(|drive| drive.unique_id() == Some(name)) {
                *name = drive.identity();
            }
        }
        self
    }

    /// The fields that all evidence of these targets shares.
    fn about(findings: &Findings, target: &str, carriers: &[&Carrier]) -> Self {
        let drives = || carriers.iter().flat_map(|carrier| &carrier.drives);
        Self {
            run: findings.run.clone(),
            at: findings.origin.at.clone(),
            modelled: findings.modelled,
            flagged: !findings.flags.is_empty(),
            board: findings.origin.board.clone(),
            target: target.to_owned(),
            drives: drives().map(|drive| drive.identity.clone()).collect(),
            bays: drives().map(|drive| drive.full_bay.clone()).collect(),
            indirect: carriers.iter().any(|carrier| carrier.indirect),
            layers: carriers.iter().flat_map(|carrier| carrier.layers.clone()).collect(),
            pool: if let [carrier] = carriers { carrier.pool.clone() } else { None },
            ..Self::default()
        }
    }

    /// A number of all runs of the load, where it is known.
    pub(super) fn number(&self, quantity: Quantity, scope: Scope) -> Option<&Estimate> {
        self.position(quantity, scope).map(|at| &self.numbers[at].estimate)
    }

    fn position(&self, quantity: Quantity, scope: Scope) -> Option<usize> {
        let is_known = |e: &Estimate| e.value.is_finite() && e.value > 0.0;
        let is = |m: &Metric| m.quantity == quantity && m.scope == scope && m.repetition.is_none();
        self.numbers.iter().position(is).filter(|at| is_known(&self.numbers[*at].estimate))
    }

    /// The speed, bytes per second: after the last cliff, where there is one.
    pub fn speed(&self) -> Option<&Estimate> {
        self.speed_position().map(|at| &self.numbers[at].estimate)
    }

    /// Where the speed is in its numbers.
    pub(super) fn speed_position(&self) -> Option<usize> {
        let scopes = if self.at_once {
            &[Scope::Sum][..]
        } else {
            &[Scope::AfterCliff(None), Scope::Whole, Scope::Alone]
        };
        let of_block = self.load.as_ref().and_then(|load| load.block).map(Scope::Block);
        let mut scopes = scopes.iter().copied().chain(of_block);
        scopes.find_map(|scope| self.position(Quantity::Throughput, scope))
    }

    /// The sum of the targets alone, bytes per second.
    pub(super) fn sum_alone(&self) -> Option<&Estimate> {
        self.number(Quantity::Throughput, Scope::SumAlone)
    }

    /// The fixed cost of writing a file, s.
    pub(super) fn cost_of_file(&self) -> Option<&Estimate> {
        let cost = self.number(Quantity::CostPerFile(Direction::Write), Scope::Whole);
        cost.filter(|cost| cost.low > 0.0)
    }

    /// How long a disk takes to wake, s.
    pub(super) fn wake_time(&self) -> Option<&Estimate> {
        self.number(Quantity::WakeTime, Scope::Whole)
    }

    /// The longest operation, s, as far as the run has it.
    pub(super) fn worst(&self) -> Option<f64> {
        self.worst_position().map(|at| self.numbers[at].estimate.value)
    }

    /// Where the longest operation is in its numbers.
    pub(super) fn worst_position(&self) -> Option<usize> {
        let quantities = [Quantity::LongestOperation, Quantity::Latency(Percentile::P9999)];
        quantities.into_iter().find_map(|quantity| self.position(quantity, Scope::Whole))
    }

    /// How well its load fits; `None` where the load is another one or not known in full, and where the page cache decides.
    pub(super) fn fit(&self, wanted: Wanted) -> Option<Fit> {
        let load = self.load.as_ref()?;
        let direction = if wanted.reads { Direction::Read } else { Direction::Write };
        let (block, sequential) = (load.block?, wanted.pattern == Pattern::Sequential);
        let depth = load.depth?.saturating_mul(load.jobs.unwrap_or(1));
        let own_speed = match load.caching? {
            Caching::Direct => true,
            // The sync is no part of single operations.
            Caching::BufferedFsync => sequential,
            Caching::Buffered => wanted.reads && load.cold,
        };
        let (fits, usual) =
            if sequential { (block >= LARGE, MIB) } else { (block <= SMALL && depth == 1, 4 * KIB) };
        let is = load.direction == Some(direction) && load.pattern == Some(wanted.pattern);
        (is && own_speed && load.sync != Some(true) && block > 0 && fits).then(|| Fit {
            source: if self.is_import() { 2 } else { u8::from(self.worst().is_none()) },
            block: block.max(usual) / block.min(usual),
            smaller: block < usual,
            depth,
            cached: load.caching != Some(Caching::Direct),
        })
    }

    pub(super) fn has_load(&self, wanted: Wanted) -> bool {
        self.fit(wanted).is_some()
    }

    /// Two of its targets are on one drive.
    pub(super) fn shares_a_drive(&self) -> bool {
        let shared = |m: &Metric| m.quantity == Quantity::Ceiling(Limiter::Drive);
        distinct(self.drives.iter()).len() < self.drives.len() || self.numbers.iter().any(shared)
    }

    /// Another tool measured it.
    pub(super) fn is_import(&self) -> bool {
        self.load.as_ref().is_some_and(|load| load.on.is_none())
    }

    /// Its load in a few words: `sequential 1 MiB, depth 1`.
    pub(super) fn load_in_words(&self) -> Option<String> {
        let load = self.load.as_ref()?;
        let pattern = match load.pattern? {
            Pattern::Sequential => "sequential",
            Pattern::Random => "random",
        };
        let depth = format!("depth {}", load.depth?);
        let cached = load.caching.filter(|caching| *caching != Caching::Direct);
        let cached = cached.map(|caching| format!(", {}", caching.words())).unwrap_or_default();
        Some(format!("{pattern} {}, {depth}{cached}", size(load.block?)))
    }

    /// Whether both can be compared: the load by whatever name is equal, and so are the layers below the target, and whether latencies
    /// were measured.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let nameless = |e: &Self| e.load.as_ref().map(|load| LoadKey { name: String::new(), ..load.clone() });
        (&self.layers, self.worst().is_some()) == (&other.layers, other.worst().is_some())
            && nameless(self) == nameless(other)
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
