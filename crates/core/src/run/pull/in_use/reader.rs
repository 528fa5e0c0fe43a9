//! Reads pieces of known files, and times each.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{
    super::{
        files::READ,
        load::{Op, Outcome},
    },
    known::{Known, Look},
};
use crate::engine::Aligned;

/// The time until the next try after an error, and between two looks at a reader that is to end.
const AGAIN: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub struct Reader {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    files: Arc<Vec<Known>>,
    stop: AtomicBool,
    ops: Mutex<Vec<Op>>,
    /// Since when the present operation is under way.
    since: Mutex<Option<Instant>>,
}

impl Reader {
    pub fn start(files: &Arc<Vec<Known>>, seed: u64) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            files: Arc::clone(files),
            stop: AtomicBool::new(false),
            ops: Mutex::default(),
            since: Mutex::default(),
        });
        let reader = Arc::clone(&shared);
        let thread = thread::Builder::new().spawn(move || reader.read(seed))?;
        Ok(Self { shared, thread })
    }

    /// Whether something was read that was wrong, or could not be read.
    pub fn had_trouble(&self) -> bool {
        let ops = self.shared.ops.lock().unwrap_or_else(PoisonError::into_inner);
        ops.iter().any(|op| op.outcome != Outcome::Done)
    }

    /// Ends it, and waits so long for the operation under way. Returns since when it runs, if it has not ended.
    pub fn end(self, patience: Duration) -> (Vec<Op>, Vec<Instant>) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let until = Instant::now() + patience;
        while !self.thread.is_finished() && Instant::now() < until {
            thread::sleep(AGAIN);
        }
        let ops = self.shared.ops.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (ops, self.shared.since.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn read(&self, seed: u64) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        // Files that another program changed are left out.
        let mut left: Vec<usize> = (0..self.files.len()).collect();
        let mut buffer = Aligned::new(READ);
        let since = |now| *self.since.lock().unwrap_or_else(PoisonError::into_inner) = now;
        while !self.stop.load(Ordering::Relaxed) && !left.is_empty() {
            let nth = random.random_range(0..left.len());
            let file = &self.files[left[nth]];
            let piece = file.pieces[random.random_range(0..file.pieces.len())];
            let at = Instant::now();
            since(Some(at));
            let look = file.look(&[piece], &mut buffer, &|| ());
            let took = at.elapsed();
            since(None);
            let outcome = match look {
                Look::Same => Outcome::Done,
                Look::Wrong => Outcome::Wrong,
                Look::Failed(_) => Outcome::Failed,
                Look::Changed => {
                    left.swap_remove(nth);
                    continue;
                }
            };
            let op = Op { at, took, write: false, bytes: piece.length, outcome };
            self.ops.lock().unwrap_or_else(PoisonError::into_inner).push(op);
            if outcome != Outcome::Done {
                thread::sleep(AGAIN);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{
        super::{
            choose::{Tree, choose},
            known::know,
        },
        *,
    };
    use crate::engine::Cancel;

    #[test]
    fn pieces_are_read_until_their_files_are_gone() {
        let home = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        for name in ["a", "b"] {
            fs::write(home.path().join(name), vec![7; 3 * READ]).expect("writes");
        }
        thread::sleep(Duration::from_secs(4));
        let tree = Arc::new(Tree::open(home.path()).expect("opens"));
        let (files, _) = know(&tree, &choose(&tree, 1 << 30, 1, &Cancel::default()), &Cancel::default());
        let reader = Reader::start(&Arc::new(files), 1).expect("starts");
        let ops = |reader: &Reader| reader.shared.ops.lock().expect("no panic").len();
        while ops(&reader) < 5 {
            thread::yield_now();
        }
        for name in ["a", "b"] {
            fs::remove_file(home.path().join(name)).expect("removes");
        }
        while !reader.thread.is_finished() {
            thread::yield_now();
        }
        let (ops, hanging) = reader.end(Duration::from_secs(60));
        assert!(hanging.is_empty() && ops.len() >= 5);
        assert!(ops.iter().all(|op| op.outcome == Outcome::Done && !op.write && op.bytes == READ as u64));
    }
}
