//! Files of a pool are read and written, each operation is checked and timed.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{
    HANG,
    content::{PIECE, Source},
    files::{AREA_BLOCKS, READ, create, ledger_path, open, open_area, path, read, source},
    ledger::{AREA, Answer, BLOCK, LARGEST, Ledger, Write, name},
    noted::Noted,
};
use crate::{
    engine::Aligned,
    plan::FileTree,
    record::{Operation, Operations},
};

/// Each so many writes, one makes a new file.
const NEW: u64 = 4;
/// After an error, or without bytes that may be written: the time until the next try.
const AGAIN: Duration = Duration::from_millis(10);

/// Operations in a record, for a picture.
pub const SAMPLE: usize = 400;

/// An operation that ended.
#[derive(Debug, Clone, Copy)]
pub struct Op {
    /// When it began, and how long it took.
    pub at: Instant,
    pub took: Duration,
    pub write: bool,
    pub bytes: u64,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Failed,
    /// It was read, and held something else.
    Wrong,
}

/// A reader and a writer. Where a ledger outlives this process, the reader also reads what was acknowledged.
#[derive(Debug)]
pub struct Load {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    dir: PathBuf,
    tree: FileTree,
    stop: AtomicBool,
    /// Bytes that may still be written.
    budget: AtomicU64,
    ops: Mutex<Vec<Op>>,
    /// Since when the operation of the reader and of the writer is under way.
    since: Mutex<[Option<Instant>; 2]>,
    ledger: Arc<Mutex<Ledger>>,
    /// The ledger that outlives this process, where there is one, and why it could not be written.
    noted: Option<Arc<Noted>>,
    unnoted: Mutex<Option<io::Error>>,
    /// Since when all writes fail, and with which error the first one did.
    failing: Mutex<Option<(Instant, io::Error)>>,
    /// The first place that held something else than was synced to it.
    wrong: Mutex<Option<String>>,
}

/// What is read at once.
struct Piece {
    path: PathBuf,
    name: String,
    source: Source,
    at: u64,
    length: u64,
}

impl Load {
    /// Starts to read files of the tree, and to write what the ledger notes: at most `budget` bytes until more is allowed.
    pub fn start(
        dir: &Path,
        tree: FileTree,
        ledger: &Arc<Mutex<Ledger>>,
        budget: u64,
        noted: Option<Arc<Noted>>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            dir: dir.to_owned(),
            tree,
            stop: AtomicBool::new(false),
            budget: AtomicU64::new(budget),
            ops: Mutex::default(),
            since: Mutex::default(),
            ledger: Arc::clone(ledger),
            noted,
            unnoted: Mutex::default(),
            failing: Mutex::default(),
            wrong: Mutex::default(),
        });
        let area = open_area(dir)?;
        let [reader, writer] = [Arc::clone(&shared), Arc::clone(&shared)];
        let threads = vec![
            thread::Builder::new().spawn(move || writer.write(&area))?,
            thread::Builder::new().spawn(move || reader.read())?,
        ];
        Ok(Self { shared, threads })
    }

    pub fn allow(&self, bytes: u64) {
        self.shared.budget.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Ends it, and waits so long for operations under way. Returns how many have not ended, and since when the oldest runs.
    pub fn end(self, patience: Duration) -> (Vec<Op>, Vec<Instant>) {
        self.stop(patience);
        let hanging = self.shared.since.lock().unwrap_or_else(PoisonError::into_inner);
        (self.ops().clone(), hanging.iter().flatten().copied().collect())
    }

    fn stop(&self, patience: Duration) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let until = Instant::now() + patience;
        while self.threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < until {
            thread::sleep(AGAIN);
        }
    }

    /// Bytes that may still be written.
    pub fn left(&self) -> u64 {
        self.shared.budget.load(Ordering::Relaxed)
    }

    /// Why the ledger that outlives this process could not be written: then nothing more is written.
    pub fn unnoted(&self) -> Option<io::Error> {
        self.shared.unnoted.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The first place that held something else than was synced to it.
    pub fn wrong(&self) -> Option<String> {
        self.shared.wrong.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// For how long all writes have failed.
    pub fn failing(&self) -> Duration {
        let failing = self.shared.failing.lock().unwrap_or_else(PoisonError::into_inner);
        failing.as_ref().map(|(since, _)| since.elapsed()).unwrap_or_default()
    }

    /// An error of writes that a drive without power does not give: there is no room.
    pub fn is_full(&self) -> Option<io::Error> {
        let is_full =
            |e: &io::Error| matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let mut failing = self.shared.failing.lock().unwrap_or_else(PoisonError::into_inner);
        failing.take_if(|(_, e)| is_full(e)).map(|(_, e)| e)
    }

    pub fn ops(&self) -> MutexGuard<'_, Vec<Op>> {
        self.shared.ops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // After an error: files in use would keep a pool from being removed.
        if !self.shared.stopped() {
            self.stop(HANG);
        }
    }
}

impl Shared {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Does and times an operation.
    fn time(&self, write: bool, bytes: u64, work: impl FnOnce() -> Outcome) -> Outcome {
        let since = |now| self.since.lock().unwrap_or_else(PoisonError::into_inner)[usize::from(write)] = now;
        let at = Instant::now();
        since(Some(at));
        let outcome = work();
        let took = at.elapsed();
        since(None);
        let op = Op { at, took, write, bytes, outcome };
        self.ops.lock().unwrap_or_else(PoisonError::into_inner).push(op);
        if outcome != Outcome::Done {
            thread::sleep(AGAIN);
        }
        outcome
    }

    fn read(&self) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.tree.seed ^ 1);
        let sizes: Vec<u64> = self.tree.sizes().collect();
        let mut buffer = Aligned::new(READ);
        while !self.stopped() && !sizes.is_empty() {
            let noted =
                self.noted.as_ref().filter(|_| random.random()).and_then(|_| self.acknowledged(&mut random));
            let piece = noted.unwrap_or_else(|| self.piece(&sizes, &mut random));
            let mut right = true;
            let outcome = self.time(false, piece.length, || {
                match open(&piece.path).and_then(|file| read(&file, piece.at, piece.length, &mut buffer)) {
                    Ok(bytes) => {
                        let whole = bytes.len() as u64 == piece.length;
                        right = whole && piece.source.matching(piece.at, bytes) == bytes.len();
                        Outcome::Done
                    }
                    Err(_) => Outcome::Failed,
                }
            });
            if outcome == Outcome::Done && !right && self.is_last(&piece) {
                let what = format!("{}, write {} at {}", piece.name, piece.source.write, piece.at);
                self.wrong.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(what);
                let mut ops = self.ops.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(op) = ops.iter_mut().rev().find(|op| !op.write) {
                    op.outcome = Outcome::Wrong;
                }
            }
        }
    }

    /// Some of a file of the tree.
    fn piece(&self, sizes: &[u64], random: &mut Xoshiro256PlusPlus) -> Piece {
        let number = random.random_range(0..sizes.len());
        let at = random.random_range(0..sizes[number].div_ceil(PIECE as u64)) * PIECE as u64;
        let length = (READ as u64).min(sizes[number] - at);
        let number = number as u64;
        let source = source(&self.tree, number);
        Piece { path: path(&self.dir, number), name: format!("file {number}"), source, at, length }
    }

    /// All of a write that was acknowledged, if no other to its place is under way.
    fn acknowledged(&self, random: &mut Xoshiro256PlusPlus) -> Option<Piece> {
        let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let write = *ledger.writes.get(random.random_range(0..ledger.writes.len().max(1)))?;
        let source = ledger.source(&write);
        drop(ledger);
        let Write { file, offset: at, length, .. } = write;
        let piece = Piece { path: ledger_path(&self.dir, file), name: name(file), source, at, length };
        (write.is_acknowledged() && self.is_last(&piece)).then_some(piece)
    }

    /// Whether nothing was written to its place since.
    fn is_last(&self, piece: &Piece) -> bool {
        let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |write: &&Write| write.file == piece.source.file && write.offset == piece.at;
        let last = ledger.writes.iter().rev().find(same);
        last.is_none_or(|write| write.number == piece.source.write)
    }

    fn write(&self, area: &File) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.tree.seed ^ 2);
        while !self.stopped() {
            let write = {
                let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
                let number = ledger.writes.last().map_or(1, |last| last.number + 1);
                let (file, offset, length) = if number % NEW == 0 {
                    (AREA + number, 0, random.random_range(1..=LARGEST))
                } else {
                    (AREA, random.random_range(0..AREA_BLOCKS) * BLOCK, BLOCK)
                };
                if self.budget.load(Ordering::Relaxed) < length {
                    drop(ledger);
                    thread::sleep(AGAIN);
                    continue;
                }
                self.budget.fetch_sub(length, Ordering::Relaxed);
                let write = Write { file, offset, length, number, answer: Answer::Open };
                // Before the write: a part of it may be stored, whatever comes of it.
                ledger.writes.push(write);
                write
            };
            if let Some(Err(e)) = self.noted.as_ref().map(|noted| noted.will(&write)) {
                return self.give_up(e);
            }
            let mut bytes = vec![0; write.length as usize];
            let source = self.ledger.lock().unwrap_or_else(PoisonError::into_inner).source(&write);
            source.fill(write.offset, &mut bytes);
            let mut error = None;
            let outcome = self.time(true, write.length, || match self.store(area, &write, &bytes) {
                Ok(()) => Outcome::Done,
                Err(e) => {
                    error = Some(e);
                    Outcome::Failed
                }
            });
            let acknowledged = outcome == Outcome::Done;
            if !acknowledged {
                self.budget.fetch_add(write.length, Ordering::Relaxed);
            }
            let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
            *failing = error.and_then(|e| failing.take().or(Some((Instant::now(), e))));
            drop(failing);
            if let Some(Err(e)) = self.noted.as_ref().map(|noted| noted.answer(write.number, acknowledged)) {
                return self.give_up(e);
            }
            let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(noted) = ledger.writes.iter_mut().rev().find(|w| w.number == write.number) {
                noted.answer = if acknowledged { Answer::Acknowledged } else { Answer::Refused };
            }
        }
    }

    fn give_up(&self, e: io::Error) {
        *self.unnoted.lock().unwrap_or_else(PoisonError::into_inner) = Some(e);
    }

    /// Writes and syncs; a new file with its name.
    fn store(&self, area: &File, write: &Write, bytes: &[u8]) -> io::Result<()> {
        if write.file == AREA {
            area.write_all_at(bytes, write.offset)?;
            return area.sync_data();
        }
        let file = create(&ledger_path(&self.dir, write.file))?;
        file.write_all_at(bytes, 0)?;
        file.sync_all()?;
        File::open(&self.dir)?.sync_all()
    }
}

/// Operations that began between two moments, and of those that had not ended.
pub fn sum(ops: &[Op], hanging: &[Instant], from: Instant, to: Instant) -> Operations {
    let mut all = Operations {
        seconds: to.saturating_duration_since(from).as_secs_f64(),
        hanging: hanging.iter().filter(|since| **since < to).count() as u64,
        ..Operations::default()
    };
    // One that was under way at the pull waits because of it.
    for op in ops.iter().filter(|op| op.at + op.took > from && op.at < to) {
        all.longest = all.longest.max(op.took.as_secs_f64());
        if op.at < from {
            continue;
        }
        match (op.outcome, op.write) {
            (Outcome::Done, true) => {
                (all.writes, all.written_bytes) = (all.writes + 1, all.written_bytes + op.bytes)
            }
            (Outcome::Done, false) => {
                (all.reads, all.read_bytes) = (all.reads + 1, all.read_bytes + op.bytes)
            }
            (Outcome::Failed, true) => all.failed_writes += 1,
            (Outcome::Failed, false) => all.failed_reads += 1,
            (Outcome::Wrong, _) => all.wrong_reads += 1,
        }
    }
    // They were waited for beyond the time in question.
    for since in hanging {
        all.longest = all.longest.max(since.elapsed().as_secs_f64());
    }
    all
}

/// At most so many operations for a picture: the longest ones, and others evenly.
pub fn sample(ops: &[Op], zero: Instant, most: usize) -> Vec<Operation> {
    let mut longest: Vec<&Op> = ops.iter().collect();
    longest.sort_by_key(|op| std::cmp::Reverse(op.took));
    longest.truncate(most / 4);
    let every = ops.len().div_ceil((most * 3 / 4).max(1)).max(1);
    let mut all: Vec<&Op> = ops.iter().step_by(every).chain(longest).collect();
    all.sort_by_key(|op| (op.at, op.write));
    all.dedup_by(|a, b| std::ptr::eq(*a, *b));
    let seconds = |at: Instant| match at.checked_duration_since(zero) {
        Some(after) => after.as_secs_f64(),
        None => -zero.duration_since(at).as_secs_f64(),
    };
    let point = |op: &&Op| Operation {
        at: seconds(op.at),
        seconds: op.took.as_secs_f64(),
        write: op.write,
        failed: op.outcome != Outcome::Done,
    };
    all.iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::files::{fill, make_area, place},
        *,
    };
    use crate::engine::Cancel;

    #[test]
    fn what_is_acknowledged_is_stored_and_reads_find_the_tree() {
        let dir = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        let tree = FileTree { bytes: 2 << 20, seed: 3 };
        fill(dir.path(), &tree, &Cancel::default()).expect("fills");
        let mut ledger = Ledger { seed: 3, writes: Vec::new() };
        make_area(dir.path(), &mut ledger).expect("makes");
        let ledger = Arc::new(Mutex::new(ledger));
        let from = Instant::now();
        let load = Load::start(dir.path(), tree, &ledger, 1 << 20, None).expect("starts");
        let both = |load: &Load| {
            let ops = load.ops();
            ops.iter().any(|op| op.write) && ops.iter().any(|op| !op.write)
        };
        while !both(&load) {
            thread::yield_now();
        }
        let (ops, hanging) = load.end(Duration::from_secs(60));
        assert!(hanging.is_empty());
        let all = sum(&ops, &hanging, from, Instant::now());
        assert!(all.reads > 0 && all.writes > 0 && all.written_bytes <= 1 << 20, "{all:?}");
        assert_eq!((all.failed_reads, all.failed_writes, all.wrong_reads, all.hanging), (0, 0, 0, 0));
        let ledger = ledger.lock().expect("nobody writes");
        let mut buffer = Aligned::new(READ);
        let found = ledger.compare(|file, at, length| place(dir.path(), file, at, length, &mut buffer));
        assert_eq!((found.acknowledged, found.refused), (AREA_BLOCKS + all.writes, 0));
        assert_eq!((found.lost_bytes, found.torn_bytes), (0, 0), "{found:?}");
    }

    #[test]
    fn a_picture_has_the_longest_operations() {
        let zero = Instant::now();
        let op = |ms: u64, took: u64| Op {
            at: zero + Duration::from_millis(ms),
            took: Duration::from_millis(took),
            write: ms % 2 == 0,
            bytes: 1,
            outcome: if took > 50 { Outcome::Failed } else { Outcome::Done },
        };
        let ops: Vec<Op> = (0..1000).map(|ms| op(ms, if ms == 501 { 900 } else { 1 })).collect();
        let points = sample(&ops, zero + Duration::from_millis(500), 100);
        assert!(points.len() <= 100);
        let longest = points.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds)).expect("points");
        assert!((longest.at - 0.001).abs() < 1e-6 && longest.failed && !longest.write);
        assert!((points[0].at + 0.5).abs() < 1e-6);
        // Those that were under way at the pull count for the wait, not for what was moved.
        let [from, to] = [502, 600].map(|ms| zero + Duration::from_millis(ms));
        let all = sum(&ops, &[zero], from, to);
        assert_eq!((all.reads, all.writes, all.failed_reads, all.hanging), (49, 49, 0, 1));
        assert!((all.longest - 0.9).abs() < 1e-6);
    }
}
