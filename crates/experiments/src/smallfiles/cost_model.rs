//! The cost per file and per byte, on one target and in one direction.

use std::collections::BTreeMap;

use super::super::common::{MeasuredFiles, file_sets};
use crate::{
    analyse::{CostFit, CostSample, Estimate},
    plan::{FileSet, Files, Plan, StepId},
    record::ActResult,
};

/// A set that the model misses by more than this share is reported, and nothing is predicted from that model.
const OFF: f64 = 0.25;

pub(super) struct Costs {
    pub at: usize,
    pub write: bool,
    /// What was measured of each set, in order of size.
    pub sets: Vec<MeasuredFiles>,
    /// Parts: syncs (writing only), files, bytes.
    fit: Option<CostFit>,
}

impl Costs {
    /// The costs behind the sets of a record on one target.
    pub fn of(plan: &Plan, acts: &BTreeMap<(StepId, usize), ActResult>, at: usize, write: bool) -> Self {
        let sets = file_sets(plan, acts, at, write);
        let row = |t: &ActResult| CostSample {
            parts: parts(write, Files::syncs(t.bytes), t.files, t.bytes),
            cost: t.seconds,
            error: t.seconds,
        };
        let rows: Vec<CostSample> = sets.iter().flat_map(|s| &s.runs).map(row).collect();
        // Two costs need more than two sets.
        let fit = CostFit::of_shares(&rows).filter(|_| sets.len() > 2);
        Self { at, write, sets, fit }
    }

    /// The fixed cost of a file, s.
    pub fn file(&self) -> Option<Estimate> {
        Some(self.fit.as_ref()?.cost(usize::from(self.write)))
    }

    /// The speed of the bytes, bytes per second.
    pub fn rate(&self) -> Option<Estimate> {
        let rate = self.fit.as_ref()?.rate(1 + usize::from(self.write));
        rate.value.is_finite().then_some(rate)
    }

    /// The cost of a sync, s.
    pub fn sync(&self) -> Option<Estimate> {
        self.fit.as_ref().filter(|_| self.write).map(|fit| fit.cost(0))
    }

    /// The file size whose bytes take as long as the fixed cost; `None` where that is not resolved.
    pub fn even(&self) -> Option<Estimate> {
        let first = usize::from(self.write);
        let even = self.fit.as_ref()?.ratio(first, first + 1);
        (self.file()?.low > 0.0 && even.value > 0.0).then_some(even)
    }

    /// Whether the largest files were measured faster than the smallest: their intervals are apart.
    pub fn is_faster_as_one(&self) -> bool {
        let speed = |s: Option<&MeasuredFiles>| s.and_then(MeasuredFiles::speed).filter(Estimate::is_bounded);
        let small = speed(self.sets.iter().min_by_key(|s| s.set.size));
        let large = speed(self.sets.iter().max_by_key(|s| s.set.size));
        small.zip(large).is_some_and(|(small, large)| large.low > small.high)
    }

    /// The time of a set by the model, s.
    pub fn fitted(&self, set: FileSet) -> Option<f64> {
        Some(self.fit.as_ref()?.at(&parts(self.write, Files::syncs(set.bytes()), set.files, set.bytes())))
    }

    /// The measured set that the model misses most, and by which share, where that is more than `OFF` and more than its runs
    /// differ by.
    pub fn misfit(&self) -> Option<(FileSet, f64)> {
        let off = self.sets.iter().filter_map(|s| {
            let (fitted, took) = (self.fitted(s.set)?, s.seconds()?);
            let noise = took.is_bounded() && (took.low..=took.high).contains(&fitted);
            (!noise).then_some((s.set, (fitted / took.value - 1.0).abs()))
        });
        off.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, share)| *share > OFF)
    }

    fn once(&self, set: FileSet) -> Vec<f64> {
        parts(self.write, 1, set.files, set.bytes())
    }

    /// The predicted time to copy this set once. Where the model misses what was measured, it follows from fewer files of this size,
    /// if there are any.
    pub fn predict(&self, set: FileSet) -> Option<Estimate> {
        if self.misfit().is_none() {
            return Some(self.fit.as_ref()?.predict(&self.once(set), 1.0));
        }
        let fewer = self.sets.iter().find(|fewer| fewer.set.size == set.size)?;
        let speed = fewer.files_per_second()?;
        let seconds = |per_second: f64| set.files as f64 / per_second.max(0.0);
        let [value, low, high] = [speed.value, speed.high, speed.low].map(seconds);
        Some(Estimate { value, low, high, ..speed })
    }

    /// The measured time of this set, if it was measured as a whole.
    pub fn measured(&self, set: FileSet) -> Option<Estimate> {
        self.sets.iter().find(|s| s.set == set)?.seconds()
    }

    /// How many times as long one set takes as another.
    pub fn times(&self, one: FileSet, other: FileSet) -> Option<Estimate> {
        Some(self.fit.as_ref()?.times(&self.once(one), &self.once(other)))
    }
}

fn parts(write: bool, syncs: u64, files: u64, bytes: u64) -> Vec<f64> {
    let (syncs, files, bytes) = (syncs as f64, files as f64, bytes as f64);
    if write { vec![syncs, files, bytes] } else { vec![files, bytes] }
}
