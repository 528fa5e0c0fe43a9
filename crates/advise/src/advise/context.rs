//! The basis of all answers: the inventory, and the evidence that counts here.

use std::cmp::Reverse;

use super::{
    evidence::{Evidence, Wanted},
    sentences,
};
use crate::{
    analyse::Estimate,
    findings::{
        LoadKey,
        fitness::{Need, Use, Verdict},
    },
    inventory::{Block, Drive, Inventory, Layer, Medium},
    units::{Caching, Health, Pool, capital, distinct, listed},
};

/// A longer write is a stall that people and clients notice, s.
pub(super) const LONG: f64 = 1.0;

/// The inventory and the evidence that counts, oldest first.
pub(super) struct Context<'a> {
    pub inventory: &'a Inventory,
    evidence: Vec<&'a Evidence>,
    pub today: &'a str,
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
    pub fn new(inventory: &'a Inventory, evidence: &'a [Evidence], today: &'a str) -> Self {
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
        Self { inventory, evidence, today }
    }

    pub fn all(&self) -> impl DoubleEndedIterator<Item = &'a Evidence> + Clone + '_ {
        self.evidence.iter().copied()
    }

    /// Evidence of this drive alone, oldest first.
    pub fn of<'s>(&'s self, drive: &Drive) -> impl DoubleEndedIterator<Item = &'a Evidence> + use<'s, 'a> {
        let identity = drive.identity();
        // A pool that lacks all other drives is not the drive.
        let alone = |e: &Evidence| !e.at_once && e.pool.is_none() && e.drives.len() == 1;
        self.all().filter(move |e| alone(e) && e.drives[0] == identity)
    }

    /// The newest speed of each drive under the same fitting load; one with an interval, if there is any.
    pub fn speeds(&self, drives: &[&'a Drive], wanted: Wanted) -> Vec<Option<Number<'a>>> {
        let with_interval = |e: &'a Evidence| {
            let same = self.all().filter(move |o| !o.at_once && o.drives == e.drives && o.key() == e.key());
            same.rev().find(|o| has_interval(o)).unwrap_or(e)
        };
        let each = self.fitting(drives, wanted, |e| e.speed().is_some()).into_iter();
        each.map(|e| e.map(with_interval).and_then(Number::of)).collect()
    }

    /// The newest evidence of each drive under the same load, if it `has` what is asked for: the load that most of the
    /// drives were measured with, and of those the one that fits best.
    pub fn fitting(
        &self,
        drives: &[&Drive],
        wanted: Wanted,
        has: fn(&Evidence) -> bool,
    ) -> Vec<Option<&'a Evidence>> {
        let of = |drive: &&Drive| self.of(drive).filter(|e| e.is(wanted) && has(e)).collect::<Vec<_>>();
        let all: Vec<Vec<&'a Evidence>> = drives.iter().map(of).collect();
        let shared = |e: &Evidence| all.iter().filter(|own| own.iter().any(|o| o.key() == e.key())).count();
        let best = all.iter().flatten().max_by_key(|e| (shared(e), Reverse(e.fit(wanted)), &e.at));
        let key = best.map(|e| e.key());
        let newest = |own: &Vec<&'a Evidence>| own.iter().rev().find(|e| Some(e.key()) == key).copied();
        all.iter().map(newest).collect()
    }

    /// The longest operation of a drive under any fitting load, s, and its run. One at a time: with more, an operation
    /// also waits for those before it.
    pub fn worst(&self, drive: &Drive, wanted: Wanted) -> Option<(f64, &'a Evidence)> {
        let all = self.of(drive).filter(|e| e.is(wanted) && e.load.as_ref().is_some_and(is_alone));
        let each = all.filter_map(|e| Some((e.worst()?, e)));
        // Of equal ones the load that fits best.
        each.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.fit(wanted).cmp(&a.1.fit(wanted))))
    }

    /// The longest operation of a drive in any direct load of one operation at a time, s, and its run, where that is a stall.
    pub fn stall(&self, drive: &Drive) -> Option<(f64, &'a Evidence)> {
        let alone = |l: &LoadKey| is_alone(l) && l.caching == Some(Caching::Direct);
        let all = self.of(drive).filter(|e| e.load.as_ref().is_some_and(alone));
        let stalls = all.filter_map(|e| Some((e.worst()?, e))).filter(|(seconds, _)| *seconds >= LONG);
        stalls.max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Whether a drive is fit for a use, and the run that shows it: of all runs the newest that found it unfit, or else the
    /// newest that decided. A stall in any load makes it unfit for what must not wait.
    pub fn fitness(&self, drive: &Drive, purpose: Use) -> Option<(Verdict, &'a Evidence)> {
        let all = self.of(drive);
        let judged =
            all.flat_map(|e| e.fitness.iter().filter(|f| f.purpose == purpose).map(move |f| (f.verdict, e)));
        let stall =
            self.stall(drive).filter(|(stop, _)| purpose.longest_stop().is_some_and(|most| *stop >= most));
        let stall = stall.map(|(stop, e)| (Verdict::Unfit(Need::Stops, stop), e));
        let badness = |verdict: &Verdict| match verdict {
            Verdict::Undecided(..) => 0,
            Verdict::Fit => 1,
            Verdict::Unfit(..) => 2,
        };
        stall.into_iter().chain(judged).max_by_key(|(verdict, _)| badness(verdict))
    }

    /// Why drives are unfit for a use, in a sentence each, and the runs that show it.
    pub fn unfit(&self, drives: &[&Drive], purpose: Use) -> Vec<(String, &'a Evidence)> {
        let sentence = |drive: &&Drive| match self.fitness(drive, purpose)? {
            (Verdict::Unfit(need, value), from) => {
                let (name, why) = (self.name(drive), purpose.shortfall(need, value));
                Some((capital(&format!("{name} is not fit for {}: {why}.", purpose.name())), from))
            }
            _ => None,
        };
        drives.iter().filter_map(sentence).collect()
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
    pub fn of_layer(&self, layer: &Layer, wanted: Wanted) -> Option<Number<'a>> {
        let under = self.inventory.stack_of([Block::Layer(layer)]);
        let mut drives: Vec<String> = under.drives.iter().map(|d| d.identity()).collect();
        drives.sort();
        let same = |e: &&Evidence| {
            let mut own = e.drives.clone();
            own.sort();
            let it = match (&e.pool, &layer.pool) {
                (Some(then), Some(now)) => then.is_like(now) && !then.is_filling(),
                _ => e.layers.contains(&layer.name),
            };
            !e.at_once && it && own == drives
        };
        best(self.all().filter(same), wanted)
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

    /// How long the drive takes to wake, s, where that was measured.
    pub fn wakes(&self, drive: &Drive) -> Option<Number<'a>> {
        let number = |from: &'a Evidence| Some(Number { estimate: from.wake_time()?, from });
        self.of(drive).rev().find_map(number)
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
            let mut own = self.all().filter(|e| e.run == *run);
            if own.clone().any(|e| e.is_import()) {
                return Some(format!("{run} is an import: another tool measured it."));
            }
            own.any(|e| self.moved(e))
                .then(|| format!("{run} was measured on another board or in other bays."))
        };
        runs.iter().filter_map(sentence).collect()
    }
}

/// Whether it has one operation in flight.
fn is_alone(load: &LoadKey) -> bool {
    load.depth == Some(1) && load.jobs.unwrap_or(1) == 1 && load.streams.unwrap_or(1) == 1
}
