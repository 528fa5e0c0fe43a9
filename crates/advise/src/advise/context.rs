//! The basis of all answers: the inventory, and the evidence that counts here.

use std::cmp::Reverse;

use super::{
    evidence::{Evidence, Wanted},
    sentences,
};
use crate::{
    analyse::Estimate,
    findings::{
        LoadKey, Measures, Metric,
        fitness::{Use, Verdict},
        pooled,
    },
    inventory::{Block, Drive, Inventory, Layer, Medium},
    units::{Caching, Health, Pool, capital, distinct, listed},
};

/// A longer write is a stall that people and clients notice, s.
pub(super) const LONG: f64 = 1.0;

/// The inventory and the evidence that counts, oldest first.
pub(super) struct Context<'a> {
    pub inventory: &'a Inventory,
    /// Each run by itself.
    pub runs: &'a [&'a Evidence],
    /// The same with [`comparable`] runs as one.
    pub evidence: &'a [Evidence],
}

/// What a drive is fit for, and the runs that show it.
pub(super) struct Judged<'a> {
    pub verdict: Verdict,
    pub runs: Vec<&'a Evidence>,
}

impl<'a> Judged<'a> {
    /// What these runs show together.
    pub fn by(runs: impl Iterator<Item = &'a Evidence>, purpose: Use) -> Self {
        let (measures, runs) = measures(runs);
        Self { verdict: measures.verdict(purpose), runs }
    }

    /// Why it is unfit, such as `md0 is not fit for swap: operations stop for up to 2.6 s.`
    pub fn unfit(&self, name: &str, purpose: Use) -> Option<String> {
        let Verdict::Unfit(need, value) = self.verdict else { return None };
        let why = purpose.shortfall(need, value);
        Some(capital(&format!("{name} is not fit for {}: {why}.", purpose.name())))
    }
}

/// The numbers of these runs that decide what a drive is fit for, and the runs that have some.
fn measures<'a>(runs: impl Iterator<Item = &'a Evidence>) -> (Measures, Vec<&'a Evidence>) {
    let (all, runs): (Vec<_>, Vec<_>) = runs.filter_map(|e| Some((e.measures.as_ref()?, e))).unzip();
    (Measures::pooled(&all), runs)
}

/// The evidence that counts here, oldest first.
pub(super) fn counting<'a>(inventory: &Inventory, evidence: &'a [Evidence]) -> Vec<&'a Evidence> {
    let here: Vec<String> = inventory.drives.iter().map(Drive::identity).collect();
    let lab = inventory.machine.lab.is_some();
    let counts = |e: &&Evidence| {
        (lab || !e.modelled)
            && !e.indirect
            && !e.drives.is_empty()
            && e.drives.iter().all(|drive| here.contains(drive))
    };
    let mut evidence: Vec<&Evidence> = evidence.iter().filter(counts).collect();
    evidence.sort_by(|a, b| (&a.at, &a.run).cmp(&(&b.at, &b.run)));
    evidence
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Number<'a> {
    pub estimate: &'a Estimate,
    pub from: &'a Evidence,
}

impl<'a> Number<'a> {
    /// The speed that this run found.
    fn of(from: &'a Evidence) -> Option<Self> {
        Some(Self { estimate: from.speed()?, from })
    }
}

/// The speed under the load that fits best, and of several runs the newest with an interval, or else the newest; `all` are
/// oldest first.
fn best<'a>(all: impl Iterator<Item = &'a Evidence>, wanted: Wanted) -> Option<Number<'a>> {
    let fitting = all.filter_map(|e| Some((Reverse(e.fit(wanted)?), has_interval(e), Number::of(e)?)));
    fitting.max_by_key(|(fit, interval, _)| (*fit, *interval)).map(|(.., number)| number)
}

fn has_interval(e: &Evidence) -> bool {
    e.speed().is_some_and(Estimate::is_bounded)
}

impl<'a> Context<'a> {
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &'a Evidence> + Clone + use<'a> {
        self.evidence.iter()
    }

    /// Evidence of this drive alone, oldest first.
    pub fn on_drive(&self, drive: &Drive) -> impl DoubleEndedIterator<Item = &'a Evidence> + use<'a> {
        let identity = drive.identity();
        self.all().filter(move |e| is_of(e, &identity))
    }

    /// The same, each run by itself.
    pub fn runs_of(&self, drive: &Drive) -> impl DoubleEndedIterator<Item = &'a Evidence> + use<'a> {
        let identity = drive.identity();
        self.runs.iter().copied().filter(move |e| is_of(e, &identity))
    }

    /// The newest speed of each drive under the same load: the load that most of the drives were measured with, and of those the
    /// one that fits best.
    pub fn speeds(&self, drives: &[&Drive], wanted: Wanted) -> Vec<Option<Number<'a>>> {
        let has_speed = |e: &&Evidence| e.has_load(wanted) && e.speed().is_some();
        let of = |drive: &&Drive| self.on_drive(drive).filter(has_speed).collect::<Vec<_>>();
        let all: Vec<Vec<&'a Evidence>> = drives.iter().map(of).collect();
        let shared = |e: &Evidence| all.iter().filter(|own| own.iter().any(|o| o.is_like(e))).count();
        let best = all.iter().flatten().max_by_key(|e| (shared(e), Reverse(e.fit(wanted)), &e.at));
        let is_best = |e: &&&Evidence| best.is_some_and(|best| e.is_like(best));
        let newest = |own: &Vec<&'a Evidence>| Number::of(own.iter().rev().find(is_best)?);
        all.iter().map(newest).collect()
    }

    /// The longest operation of a drive under any fitting load, s, and its run. One at a time: with more, an operation
    /// also waits for those before it.
    pub fn worst(&self, drive: &Drive, wanted: Wanted) -> Option<(f64, &'a Evidence)> {
        let all =
            self.on_drive(drive).filter(|e| e.has_load(wanted) && e.load.as_ref().is_some_and(is_alone));
        let each = all.filter_map(|e| Some((e.worst()?, e)));
        // Of equal ones the load that fits best.
        each.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.fit(wanted).cmp(&a.1.fit(wanted))))
    }

    /// Whether a drive is fit for a use, by all runs that measured what it needs; a stall in a run that didn't counts, too.
    pub fn fitness(&self, drive: &Drive, purpose: Use) -> Option<Judged<'a>> {
        let (mut measures, mut runs) = measures(self.runs_of(drive));
        let others = self.runs_of(drive).filter(|e| runs.iter().all(|judged| judged.run != e.run));
        let stall = stall(others);
        if let Some((seconds, from)) = stall {
            measures.longest_stop = Some(measures.longest_stop.map_or(seconds, |stop| stop.max(seconds)));
            runs.push(from);
        }
        (!runs.is_empty()).then(|| Judged { verdict: measures.verdict(purpose), runs })
    }

    pub fn is_unfit(&self, drive: &Drive, purpose: Use) -> bool {
        matches!(self.fitness(drive, purpose), Some(Judged { verdict: Verdict::Unfit(..), .. }))
    }

    /// Why drives are unfit for a use, in a sentence each, and the runs that show it.
    pub fn unfit(&self, drives: &[&Drive], purpose: Use) -> (Vec<String>, Vec<&'a Evidence>) {
        let sentence = |drive: &&Drive| {
            let judged = self.fitness(drive, purpose)?;
            Some((judged.unfit(&self.name(drive), purpose)?, judged.runs))
        };
        let (sentences, runs): (_, Vec<_>) = drives.iter().filter_map(sentence).unzip();
        (sentences, runs.concat())
    }

    /// The best run of several targets at once under such a load, whose drives are all here. Targets on one drive share
    /// its speed, so their sum is no speed of drives.
    pub fn at_once(&self, wanted: Wanted) -> Option<Number<'a>> {
        let apart = |e: &&Evidence| {
            let drives: Vec<&Drive> = e.drives.iter().filter_map(|identity| self.drive(identity)).collect();
            self.inventory.hardware(drives.iter().copied()).len() == drives.len()
        };
        let several = self.all().filter(|e| e.at_once && e.drives.len() > 1 && !e.shares_a_drive());
        best(several.filter(apart), wanted)
    }

    /// The speed of a pool with this layout and in this state.
    pub fn of_layer(&self, layer: &'a Layer, wanted: Wanted) -> Option<Number<'a>> {
        best(self.on_layer(layer), wanted)
    }

    /// Evidence of a pool with this layout and in this state.
    pub fn on_layer(&self, layer: &'a Layer) -> impl Iterator<Item = &'a Evidence> + use<'a> {
        let under = self.inventory.stack_of([Block::Layer(layer)]);
        let mut drives: Vec<String> = under.drives.iter().map(|d| d.identity()).collect();
        drives.sort();
        let same = move |e: &&Evidence| {
            let mut own = e.drives.clone();
            own.sort();
            let it = match (&e.pool, &layer.pool) {
                (Some(then), Some(now)) => then.is_like(now) && !then.is_filling(),
                _ => e.layers.contains(&layer.name),
            };
            !e.at_once && it && own == drives
        };
        self.all().filter(same)
    }

    pub fn drive(&self, identity: &str) -> Option<&'a Drive> {
        self.inventory.drives.iter().find(|d| d.identity() == identity)
    }

    /// Drives with a medium in them.
    pub fn drives(&self) -> Vec<&'a Drive> {
        self.inventory.drives.iter().filter(|d| d.sectors > 0 && !d.is_for_tests()).collect()
    }

    /// The drive or drives that the system runs from.
    pub fn system(&self) -> Vec<&'a Drive> {
        let own = |path: &str| path == "/" || path == "/boot" || path.starts_with("/boot/") || path == "/usr";
        let mounts = self.inventory.mounts.iter().filter(|mount| own(&mount.path));
        distinct(mounts.flat_map(|mount| self.inventory.drives_of(mount)))
    }

    /// Pools with a known layout, and filesystems over several drives.
    pub fn arrays(&self) -> Vec<(&'a Layer, &'a Pool, Vec<&'a Drive>)> {
        let pools = self.inventory.pools().filter(|(_, pool)| pool.is_of_whole_drives());
        pools
            .map(|(layer, pool)| (layer, pool, self.inventory.stack_of([Block::Layer(layer)]).drives))
            .collect()
    }

    /// Drives that can hold data: not the system's, in no pool, not failing, writable, and mounted if they carry a volume.
    pub fn for_data(&self) -> Vec<&'a Drive> {
        let mut taken = self.system();
        taken.extend(self.arrays().into_iter().flat_map(|(_, _, on)| on));
        taken.extend(self.inventory.swap_drives());
        let mounts = &self.inventory.mounts;
        let used: Vec<&Drive> = mounts.iter().flat_map(|mount| self.inventory.drives_of(mount)).collect();
        let is_closed = |drive: &&'a Drive| drive.is_pool_member() && !used.contains(drive);
        taken.extend(self.inventory.drives.iter().filter(is_closed));
        let free = |drive: &&Drive| !drive.read_only && !taken.contains(drive) && !self.failing(drive);
        self.drives().into_iter().filter(free).collect()
    }

    /// Drives that a layout may be built from: those for data without a volume or a part of a cluster on them.
    pub fn for_layout(&self) -> Vec<&'a Drive> {
        self.for_data().into_iter().filter(|drive| !drive.is_pool_member()).collect()
    }

    /// Those for data; where there are none, all drives.
    pub fn for_data_or_all(&self) -> Vec<&'a Drive> {
        Some(self.for_data()).filter(|drives| !drives.is_empty()).unwrap_or_else(|| self.drives())
    }

    pub fn failing(&self, drive: &Drive) -> bool {
        drive.health.as_ref().is_some_and(Health::endangers_data)
    }

    /// It rotates, by a reliable source.
    pub fn rotates(drive: &Drive) -> bool {
        drive.medium == Medium::Rotating
    }

    pub fn name(&self, drive: &Drive) -> String {
        sentences::name(self.inventory, drive)
    }

    pub fn names(&self, drives: &[&Drive]) -> String {
        listed(&drives.iter().map(|d| self.name(d)).collect::<Vec<_>>())
    }

    pub fn other_board(&self, e: &Evidence) -> bool {
        let unknown = e.is_import() && e.board.is_none();
        !unknown && e.board != self.inventory.machine.board
    }

    /// Whether one of these runs is so.
    pub fn any_run(&self, runs: &[String], is: fn(&Evidence) -> bool) -> bool {
        self.runs.iter().any(|e| is(e) && runs.contains(&e.run))
    }

    /// Whether one of its drives was in another bay then, or on another board.
    pub fn moved(&self, e: &Evidence) -> bool {
        let stays = |(identity, bay): (&String, &String)| {
            bay.is_empty() || self.drive(identity).is_none_or(|drive| drive.full_bay() == *bay)
        };
        self.other_board(e) || !e.drives.iter().zip(&e.bays).all(stays)
    }

    /// Which of these runs were not made here by drivebench, in whole sentences.
    pub fn elsewhere(&self, runs: &[String]) -> Vec<String> {
        let sentence = |run: &String| {
            let mut own = self.runs.iter().filter(|e| e.run == *run);
            if own.clone().any(|e| e.is_import()) {
                return Some(format!("{run} is an import: another tool measured it."));
            }
            own.any(|e| self.moved(e))
                .then(|| format!("{run} was measured on another board or in other bays."))
        };
        runs.iter().filter_map(sentence).collect()
    }
}

/// Whether it is of this drive alone. A pool that lacks all other drives is not the drive.
fn is_of(e: &Evidence, identity: &str) -> bool {
    !e.at_once && e.pool.is_none() && e.drives.len() == 1 && e.drives[0] == *identity
}

/// The longest operation in any direct load of one operation at a time, s, and its run, where that is a stall.
pub(super) fn stall<'a>(runs: impl Iterator<Item = &'a Evidence>) -> Option<(f64, &'a Evidence)> {
    let alone = |l: &LoadKey| is_alone(l) && l.caching == Some(Caching::Direct);
    let all = runs.filter(|e| e.load.as_ref().is_some_and(alone));
    let stalls = all.filter_map(|e| Some((e.worst()?, e))).filter(|(seconds, _)| *seconds >= LONG);
    stalls.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Whether it has one operation in flight.
fn is_alone(load: &LoadKey) -> bool {
    load.depth == Some(1) && load.jobs.unwrap_or(1) == 1 && load.streams.unwrap_or(1) == 1
}

/// Evidence of one load on one drive as one where its runs are comparable: with the same load, layers and board, and in the same
/// bay. Other evidence is kept as it is. Both are oldest first.
pub(super) fn comparable(all: &[&Evidence]) -> Vec<Evidence> {
    let is_of_one =
        |e: &Evidence| e.load.is_some() && e.drives.len() == 1 && e.pool.is_none() && e.speed().is_some();
    let is_alike = |a: &Evidence, b: &Evidence| {
        let scope = |e: &Evidence| e.speed_position().map(|at| e.numbers[at].scope);
        (&a.drives, &a.bays, &a.board, a.modelled) == (&b.drives, &b.bays, &b.board, b.modelled)
            && (scope(a), a.at_once) == (scope(b), b.at_once)
            && a.is_like(b)
    };
    let mut left: Vec<&Evidence> = all.to_vec();
    let mut merged = Vec::new();
    while let Some(newest) = left.pop() {
        let is_same = |e: &&Evidence| is_of_one(newest) && is_of_one(e) && is_alike(e, newest);
        let (mut same, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(is_same);
        left = rest;
        same.push(newest);
        merged.push(as_one(newest, &same));
    }
    merged.reverse();
    merged
}

/// The newest evidence with the speed of all that is the same, and the longest operation of any.
fn as_one(newest: &Evidence, same: &[&Evidence]) -> Evidence {
    let mut one = newest.clone();
    let speeds: Vec<&Metric> =
        same.iter().filter_map(|e| e.speed_position().map(|at| &e.numbers[at])).collect();
    let weighted: Vec<_> = speeds.iter().map(|m| (&m.estimate, m.rounds.unwrap_or(1))).collect();
    let (Some(at), true, Some((estimate, used))) = (one.speed_position(), same.len() > 1, pooled(&weighted))
    else {
        return one;
    };
    one.numbers[at].estimate = estimate;
    let worst = same.iter().filter_map(|e| Some((e.worst()?, *e))).max_by(|a, b| a.0.total_cmp(&b.0));
    if let (Some(at), Some((seconds, _))) = (one.worst_position(), worst) {
        one.numbers[at].estimate.value = seconds;
    }
    let runs = used.iter().map(|&at| same[at]).chain(worst.map(|(_, from)| from));
    one.pooled_with = distinct(runs.map(|e| e.run.clone()).filter(|run| *run != newest.run));
    one
}
