//! The options and the plan of smallfiles.

use rand::{SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::{
    Declared, Opt, PlanError, Request, options,
    shared_options::{self as shared, MAX_BYTES, MAX_TIME, SEED},
    target_checks::fits,
};
use crate::{
    plan::{FileSet, Files, Plan, Steps},
    target::Kind,
    units::{KIB, MIB},
};

/// The fewest for a useful interval.
const RUNS: Opt<u32> = shared::RUNS.default("3");

const FILES: Opt<u64> = Opt::new(
    "files",
    "N",
    |text| options::within(text, 1..=u64::MAX),
    "Number of files, measured within the limits",
)
.requires("size");

const SIZE: Opt<u64> =
    Opt::new("size", "SIZE", shared::bytes, "Size of each of these files").requires("files");

pub(super) const OPTIONS: &[&dyn Declared] = &[&SEED, &MAX_TIME, &MAX_BYTES, &RUNS, &FILES, &SIZE];

/// The sets: many small files, some medium ones, and a single large one. The small ones determine the cost per file, the
/// large one the cost per byte.
const SETS: [FileSet; 5] = [
    FileSet { files: 512, size: 4 * KIB },
    FileSet { files: 256, size: 16 * KIB },
    FileSet { files: 128, size: 64 * KIB },
    FileSet { files: 16, size: MIB },
    FileSet { files: 1, size: 64 * MIB },
];
/// The least `--max-bytes` for which there are enough sets: the single large file is larger than those of the third set.
const LEAST: u64 = SETS[2].size + FileSet::CLUSTER;
/// The share of the time that the set asked for may take.
const ASKED: f64 = 0.5;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    if let Some(target) = ask.targets.iter().find(|t| t.kind != Kind::Directory) {
        return Err(PlanError::NoDirectory { path: target.path.clone() });
    }
    let predict =
        ask.values.typed(&FILES).zip(ask.values.typed(&SIZE)).map(|(files, size)| FileSet { files, size });
    let usual = usual(ask.effort.max_bytes);
    let most = usual.iter().map(FileSet::bytes).max();
    let Some(most) = most.filter(|_| ask.effort.max_bytes >= LEAST) else {
        return Err(PlanError::Bytes { bytes: ask.effort.max_bytes, least: LEAST });
    };
    let runs = ask.values.get(&RUNS);
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        let room = fits(target, most)?;
        let own = predict.map(|set| FileSet {
            files: set.files.min(ask.effort.max_bytes.min(room) / set.cluster_bytes()),
            ..set
        });
        let own = own.filter(|own| own.bytes() > 0 && !usual.contains(own));
        let sets: Vec<FileSet> = usual.iter().copied().chain(own).collect();
        let share = if own.is_some() { ASKED } else { 0.0 };
        let twice = ask.effort.max_seconds / (f64::from(runs) * 2.0);
        let seconds = |set: FileSet| match own {
            Some(own) if own == set => twice * share,
            _ => twice * (1.0 - share) / usual.len() as f64,
        };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(ask.seed.wrapping_add(at as u64));
        for repetition in 1..=runs {
            // In random order, so that a drift over time does not look like an effect of size.
            let mut order = sets.clone();
            order.shuffle(&mut random);
            for set in order {
                let seed = ask.seed.wrapping_add(u64::from(repetition));
                for files in Files::both(set, seed, predict, seconds(set)) {
                    steps.add(&[at], files);
                }
            }
        }
    }
    // No engine copies files.
    Ok(Plan { engine: None, ..ask.planned(steps) })
}

/// The sets of every run, each at most `max_bytes`.
fn usual(max_bytes: u64) -> Vec<FileSet> {
    let mut sets: Vec<FileSet> =
        SETS.into_iter().map(|set| within(set, max_bytes)).filter(|set| set.files > 0).collect();
    sets.sort();
    sets.dedup();
    sets
}

/// The single large file gets smaller; sets of small files get fewer files. Whole clusters, which is what files take.
fn within(set: FileSet, max_bytes: u64) -> FileSet {
    let whole = max_bytes / FileSet::CLUSTER * FileSet::CLUSTER;
    let size = if set.files == 1 { set.size.min(whole) } else { set.size };
    let set = FileSet { size, ..set };
    FileSet { files: set.files.min(max_bytes / set.cluster_bytes()), ..set }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_bytes_are_the_least_that_give_all_sets_but_one() {
        let sets = |bytes| usual(bytes).len();
        assert_eq!((sets(LEAST), sets(LEAST - 1)), (SETS.len() - 1, SETS.len() - 2));
        assert!(
            (1..=u64::from(u16::MAX)).all(|more| sets(LEAST + more * FileSet::CLUSTER) >= SETS.len() - 1)
        );
    }
}
