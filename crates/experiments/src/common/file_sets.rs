//! Sets of files in a record.

use std::collections::BTreeMap;

use crate::{
    analyse::{Estimate, repeat},
    findings::{Metric, Quantity},
    plan::{FileSet, FileWork, Plan, StepId},
    record::ActResult,
    units::Direction,
};

/// What was measured of a set of files on one target, in one direction.
pub struct MeasuredFiles {
    /// As planned.
    pub set: FileSet,
    pub runs: Vec<ActResult>,
}

impl MeasuredFiles {
    /// Whether no repetition was ended by its time limit.
    pub fn is_whole(&self) -> bool {
        self.runs.iter().all(|t| t.files >= self.set.files && t.bytes >= self.set.bytes())
    }

    /// The most files of a repetition.
    pub fn measured(&self) -> u64 {
        self.runs.iter().map(|t| t.files).max().unwrap_or(0)
    }

    /// Seconds of a repetition, if all were whole.
    pub fn seconds(&self) -> Option<Estimate> {
        let seconds: Vec<f64> = self.runs.iter().map(|t| t.seconds).collect();
        repeat::typical(&seconds).filter(|_| self.is_whole())
    }

    /// Bytes per second.
    pub fn speed(&self) -> Option<Estimate> {
        repeat::typical(&self.runs.iter().map(|t| t.bytes as f64 / t.seconds).collect::<Vec<_>>())
    }

    /// Files per second.
    pub fn files_per_second(&self) -> Option<Estimate> {
        repeat::typical(&self.runs.iter().map(|t| t.files as f64 / t.seconds).collect::<Vec<_>>())
    }

    /// Its time, if all of it was measured.
    pub fn metric(&self, target: &str, direction: Direction) -> Option<Metric> {
        let FileSet { files, size } = self.set;
        Some(Metric::new(target, Quantity::FilesTime { direction, files, size }, self.seconds()?))
    }
}

/// Sets of files on one target: read and written.
pub type FileSets = [Vec<MeasuredFiles>; 2];

/// The sets of a record on each target.
pub fn all_file_sets(plan: &Plan, acts: &BTreeMap<(StepId, usize), ActResult>) -> Vec<FileSets> {
    let sets = |at| [false, true].map(|write| file_sets(plan, acts, at, write));
    (0..plan.targets.len()).map(sets).collect()
}

/// The times of sets that were measured as a whole.
pub fn file_metrics<'a>(target: &'a str, sets: &'a FileSets) -> impl Iterator<Item = Metric> + 'a {
    let both = [Direction::Read, Direction::Write].into_iter().zip(sets);
    both.flat_map(move |(direction, sets)| sets.iter().filter_map(move |set| set.metric(target, direction)))
}

/// The sets of a record on one target, smallest files first, without those that were interrupted.
pub fn file_sets(
    plan: &Plan,
    acts: &BTreeMap<(StepId, usize), ActResult>,
    at: usize,
    write: bool,
) -> Vec<MeasuredFiles> {
    let mut sets: Vec<MeasuredFiles> = Vec::new();
    for (step, files) in plan.files().filter(|(_, f)| write != (f.work == FileWork::Read)) {
        let set = files.set;
        let whole = |took: &&ActResult| !took.cut_short && took.files > 0 && took.seconds > 0.0;
        let Some(took) = acts.get(&(step.id, at)).filter(whole) else { continue };
        match sets.iter_mut().find(|s| s.set == set) {
            Some(same) => same.runs.push(took.clone()),
            None => sets.push(MeasuredFiles { set, runs: vec![took.clone()] }),
        }
    }
    sets.sort_by_key(|s| s.set.size);
    sets
}
