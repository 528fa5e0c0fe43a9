//! The cost per file and per byte, on one target and in one direction.

use std::collections::BTreeMap;

use crate::{
    analyse::{CostFit, CostSample, Estimate, repeat},
    plan::{FileSet, FileWork, Plan, StepId},
    record::ActResult,
};

pub(super) struct Costs {
    pub at: usize,
    pub write: bool,
    /// What was measured of each set, in order of size.
    pub sets: Vec<Set>,
    /// Parts: the sync at the end (writing only), files, bytes.
    fit: Option<CostFit>,
}

pub(super) struct Set {
    pub set: FileSet,
    pub runs: Vec<ActResult>,
}

impl Set {
    /// Seconds of a repetition.
    pub fn seconds(&self) -> Option<Estimate> {
        repeat::typical(&self.runs.iter().map(|t| t.seconds).collect::<Vec<_>>())
    }

    /// Bytes per second.
    pub fn speed(&self) -> Option<Estimate> {
        repeat::typical(&self.runs.iter().map(|t| t.bytes as f64 / t.seconds).collect::<Vec<_>>())
    }
}

impl Costs {
    /// The sets of a record on one target. Sets that were cut short are left out, because the time of the rest is not
    /// known.
    pub fn of(plan: &Plan, acts: &BTreeMap<(StepId, usize), ActResult>, at: usize, write: bool) -> Self {
        let mut sets: Vec<Set> = Vec::new();
        for (step, files) in plan.files().filter(|(_, f)| write != (f.work == FileWork::Read)) {
            let set = files.set;
            let whole = |took: &&ActResult| !took.cut_short && took.files > 0 && took.seconds > 0.0;
            let Some(took) = acts.get(&(step.id, at)).filter(whole) else { continue };
            match sets.iter_mut().find(|s| s.set == set) {
                Some(same) => same.runs.push(took.clone()),
                None => sets.push(Set { set, runs: vec![took.clone()] }),
            }
        }
        sets.sort_by_key(|s| s.set.size);
        let row = |t: &ActResult| CostSample {
            parts: parts(write, t.files, t.bytes),
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

    /// The cost of the final sync, s.
    pub fn sync(&self) -> Option<Estimate> {
        self.fit.as_ref().filter(|_| self.write).map(|fit| fit.cost(0))
    }

    /// The file size whose bytes take as long as the fixed cost; `None` where that is not resolved.
    pub fn even(&self) -> Option<Estimate> {
        let first = usize::from(self.write);
        let even = self.fit.as_ref()?.ratio(first, first + 1);
        (self.file()?.low > 0.0 && even.value > 0.0).then_some(even)
    }

    /// The time of a set by the model, s.
    pub fn fitted(&self, set: FileSet) -> Option<f64> {
        Some(self.fit.as_ref()?.at(&parts(self.write, set.files, set.bytes())))
    }

    /// The predicted time to copy this set once.
    pub fn predict(&self, set: FileSet) -> Option<Estimate> {
        Some(self.fit.as_ref()?.predict(&parts(self.write, set.files, set.bytes()), 1.0))
    }

    /// How far a set is beyond those measured, in phrases such as `39.0 times as many files as were measured`.
    pub fn beyond(&self, set: FileSet) -> Vec<String> {
        let most = |of: fn(FileSet) -> u64| self.sets.iter().map(|s| of(s.set)).max().unwrap_or(0);
        let times = |asked: u64, most: u64, what: &str| {
            let times = asked as f64 / most as f64;
            (times > 1.0).then(|| format!("{times:.1} times as {what} as were measured"))
        };
        let smallest = self.sets.iter().map(|s| s.set.size).min().unwrap_or(0);
        let beyond = [
            times(set.files, most(|s| s.files), "many files"),
            times(set.bytes(), most(|s| s.bytes()), "many bytes"),
            (set.size < smallest).then(|| "files smaller than any measured".to_owned()),
        ];
        beyond.into_iter().flatten().collect()
    }
}

fn parts(write: bool, files: u64, bytes: u64) -> Vec<f64> {
    let (files, bytes) = (files as f64, bytes as f64);
    if write { vec![1.0, files, bytes] } else { vec![files, bytes] }
}
