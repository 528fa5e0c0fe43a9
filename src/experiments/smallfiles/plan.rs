//! The plan of smallfiles.

use rand::{SeedableRng, seq::SliceRandom};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::super::{PlanError, Request, target_checks::fits};
use super::options;
use crate::{
    plan::{FileSet, FileWork, Files, Plan, Steps},
    target::Kind,
    units::{KIB, MIB},
};

/// The sets: many small files, some medium ones, and a single large one. The small ones determine the cost per file, the
/// large one the cost per byte.
const SETS: [FileSet; 5] = [
    FileSet { files: 512, size: 4 * KIB },
    FileSet { files: 256, size: 16 * KIB },
    FileSet { files: 128, size: 64 * KIB },
    FileSet { files: 16, size: MIB },
    FileSet { files: 1, size: 64 * MIB },
];
/// Most files and most bytes of the extra set that has the size asked for.
const FILES: u64 = 512;
const BYTES: u64 = 16 * MIB;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    if let Some(target) = ask.targets.iter().find(|t| t.kind != Kind::Directory) {
        return Err(PlanError::NoDirectory { path: target.path.clone() });
    }
    let predict = ask
        .values
        .typed(&options::FILES)
        .zip(ask.values.typed(&options::SIZE))
        .map(|(files, size)| FileSet { files, size });
    let sets = sets(predict.map(|set| set.size), ask.effort.max_bytes);
    let most = sets.iter().map(FileSet::bytes).max().filter(|most| *most > 0);
    let Some(most) = most.filter(|_| sets.len() >= SETS.len() - 1) else {
        return Err(PlanError::Budget { bytes: ask.effort.max_bytes, block: SETS[3].size });
    };
    let runs = ask.values.get(&options::RUNS);
    let seconds = ask.effort.max_seconds / (sets.len() as f64 * f64::from(runs) * 2.0);
    let mut steps = Steps::default();
    for (at, target) in ask.targets.iter().enumerate() {
        fits(target, most)?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(ask.seed.wrapping_add(at as u64));
        for repetition in 1..=runs {
            // In random order, so that a drift over time does not look like an effect of size.
            let mut order = sets.clone();
            order.shuffle(&mut random);
            for set in order {
                let seed = ask.seed.wrapping_add(u64::from(repetition));
                steps.add(&[at], Files { set, work: FileWork::Write { seed, predict }, seconds });
                steps.add(&[at], Files { set, work: FileWork::Read, seconds });
            }
        }
    }
    // No engine copies files.
    Ok(Plan { engine: None, ..ask.planned(steps) })
}

/// The sets, each at most `max_bytes`, and one more with files of the size asked for.
fn sets(asked: Option<u64>, max_bytes: u64) -> Vec<FileSet> {
    let within = |set: FileSet| {
        // The single large file gets smaller; sets of small files get fewer files.
        let size = if set.files == 1 { set.size.min(max_bytes) } else { set.size };
        FileSet { files: set.files.min(max_bytes / size.max(1)), size }
    };
    let own = asked.filter(|size| (1..=BYTES).contains(size) && SETS.iter().all(|set| set.size != *size));
    let own = own.map(|size| FileSet { files: (BYTES / size).clamp(1, FILES), size });
    let mut sets: Vec<FileSet> =
        SETS.into_iter().chain(own).map(within).filter(|set| set.files > 0).collect();
    sets.sort();
    sets.dedup();
    sets
}
