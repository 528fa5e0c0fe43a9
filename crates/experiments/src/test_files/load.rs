//! Reads files, and writes to a ledger of files: each operation is checked and timed.

use std::{
    fmt,
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rand::{Rng, SeedableRng};

use super::{
    FileLook, HANG, KnownFiles, Operations, READ, Random,
    ledger::{AREA, AREA_BLOCKS, BLOCK, LARGEST, Ledger, Write, file_name},
    locked,
    tree::{create, open_to_write},
};
use crate::engine::Aligned;

/// One in this many writes makes a new file.
const NEW: u64 = 4;
/// The time until the next try after an error, or without bytes that may be written.
const AGAIN: Duration = Duration::from_millis(10);

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

/// A log of writes that outlives this process.
pub trait WriteLog: fmt::Debug + Send + Sync {
    /// A write is about to begin. It is on the drive when this returns, and with it the answers so far.
    fn begins(&self, write: &Write) -> io::Result<()>;
    fn answer(&self, number: u64, acknowledged: bool) -> io::Result<()>;
}

/// What the writer writes.
#[derive(Debug, Clone)]
pub struct Writes {
    pub dir: PathBuf,
    pub ledger: Arc<Mutex<Ledger>>,
    /// The most that is written until more is allowed, bytes.
    pub most: u64,
    pub log: Option<Arc<dyn WriteLog>>,
}

/// A reader and, where there are writes, a writer.
#[derive(Debug)]
pub struct Load {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    seed: u64,
    stop: AtomicBool,
    writes: Option<Writes>,
    /// Bytes that may still be written.
    budget: AtomicU64,
    ops: Mutex<Vec<Op>>,
    /// Since when the operation of the reader and of the writer is under way.
    since: Mutex<[Option<Instant>; 2]>,
    /// Why the log of writes could not be written.
    log_failed: Mutex<Option<io::Error>>,
    /// Since when all writes fail, and with which error the first one did.
    failing: Mutex<Option<(Instant, io::Error)>>,
    /// A place held something else than was written to it.
    wrong: AtomicBool,
}

impl Load {
    /// Starts to read files, and to write.
    pub fn start(files: Arc<dyn KnownFiles>, seed: u64, writes: Option<Writes>) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            seed,
            budget: AtomicU64::new(writes.as_ref().map_or(0, |writes| writes.most)),
            writes,
            ..Shared::default()
        });
        let mut load = Self { shared: Arc::clone(&shared), threads: Vec::new() };
        if let Some(writes) = shared.writes.clone() {
            let area = open_to_write(&writes.dir.join(file_name(AREA)))?;
            let writer = Arc::clone(&shared);
            load.threads.push(thread::Builder::new().spawn(move || writer.write(&writes, &area))?);
        }
        load.threads.push(thread::Builder::new().spawn(move || shared.read(&*files))?);
        Ok(load)
    }

    pub fn allow(&self, bytes: u64) {
        self.shared.budget.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Ends it, and waits for operations under way, if they don't hang. Returns what ended, and since when those run that have not.
    pub fn end(self) -> (Vec<Op>, Vec<Instant>) {
        self.stop();
        let hanging = locked(&self.shared.since).iter().flatten().copied().collect();
        (self.ops().clone(), hanging)
    }

    fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let until = Instant::now() + HANG;
        while self.threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < until {
            thread::sleep(AGAIN);
        }
    }

    /// Bytes that may still be written.
    pub fn left(&self) -> u64 {
        self.shared.budget.load(Ordering::Relaxed)
    }

    /// Why the log of writes could not be written: then nothing more is written.
    pub fn log_failed(&self) -> Option<io::Error> {
        locked(&self.shared.log_failed).take()
    }

    /// Whether a place held something else than was written to it.
    pub fn is_wrong(&self) -> bool {
        self.shared.wrong.load(Ordering::Relaxed)
    }

    /// For how long all writes have failed.
    pub fn failing(&self) -> Duration {
        locked(&self.shared.failing).as_ref().map(|(since, _)| since.elapsed()).unwrap_or_default()
    }

    /// An error of writes that a drive without power does not give: there is no room.
    pub fn is_full(&self) -> Option<io::Error> {
        let is_full =
            |e: &io::Error| matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        locked(&self.shared.failing).take_if(|(_, e)| is_full(e)).map(|(_, e)| e)
    }

    pub fn ops(&self) -> MutexGuard<'_, Vec<Op>> {
        locked(&self.shared.ops)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // After an error: files in use would keep a pool from being removed.
        if !self.shared.stopped() {
            self.stop();
        }
    }
}

impl Shared {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs and times an operation; one without an outcome is not counted.
    fn time(&self, write: bool, work: impl FnOnce() -> Option<(u64, Outcome)>) {
        let since = |now| locked(&self.since)[usize::from(write)] = now;
        let at = Instant::now();
        since(Some(at));
        let done = work();
        let took = at.elapsed();
        since(None);
        let Some((bytes, outcome)) = done else { return };
        locked(&self.ops).push(Op { at, took, write, bytes, outcome });
        if outcome != Outcome::Done {
            thread::sleep(AGAIN);
        }
    }

    fn read(&self, files: &dyn KnownFiles) {
        let mut random = Random::seed_from_u64(self.seed ^ 1);
        let mut buffer = Aligned::new(READ);
        // Files that another program changed are left out.
        let mut left: Vec<usize> = (0..files.count()).collect();
        while !self.stopped() && !left.is_empty() {
            let nth = random.random_range(0..left.len());
            let number = left[nth];
            let mut is_changed = false;
            self.time(false, || {
                let (length, look) = files.look_at_piece(number, &mut random, &mut buffer);
                let outcome = match look {
                    FileLook::Whole => Outcome::Done,
                    FileLook::Failed(_) => Outcome::Failed,
                    FileLook::Wrong => {
                        self.wrong.store(true, Ordering::Relaxed);
                        Outcome::Wrong
                    }
                    FileLook::Changed => {
                        is_changed = true;
                        return None;
                    }
                };
                Some((length, outcome))
            });
            if is_changed {
                left.swap_remove(nth);
            }
        }
    }

    fn write(&self, writes: &Writes, area: &File) {
        let mut random = Random::seed_from_u64(self.seed ^ 2);
        while !self.stopped() {
            let Some((write, bytes)) = self.next_write(writes, &mut random) else {
                thread::sleep(AGAIN);
                continue;
            };
            let mut error = None;
            let logged = writes.log.as_ref().map_or(Ok(()), |log| log.begins(&write)).and_then(|()| {
                self.time(true, || {
                    error = store(writes, area, &write, &bytes).err();
                    Some((write.length, if error.is_none() { Outcome::Done } else { Outcome::Failed }))
                });
                writes.log.as_ref().map_or(Ok(()), |log| log.answer(write.number, error.is_none()))
            });
            if let Err(e) = logged {
                *locked(&self.log_failed) = Some(e);
                return;
            }
            if error.is_some() {
                self.budget.fetch_add(write.length, Ordering::Relaxed);
            }
            if let Some(entry) =
                locked(&writes.ledger).writes.iter_mut().rev().find(|other| other.number == write.number)
            {
                entry.acknowledged = error.is_none();
            }
            let mut failing = locked(&self.failing);
            *failing = error.and_then(|e| failing.take().or(Some((Instant::now(), e))));
        }
    }

    /// The next write and its content; none if no more may be written for now. It is in the ledger before it begins: a part of it
    /// may be stored, whatever comes of it.
    fn next_write(&self, writes: &Writes, random: &mut Random) -> Option<(Write, Vec<u8>)> {
        let mut ledger = locked(&writes.ledger);
        let number = ledger.writes.last().map_or(1, |last| last.number + 1);
        let (file, offset, length) = if number % NEW == 0 {
            (AREA + number, 0, random.random_range(1..=LARGEST))
        } else {
            (AREA, random.random_range(0..AREA_BLOCKS) * BLOCK, BLOCK)
        };
        if self.budget.load(Ordering::Relaxed) < length {
            return None;
        }
        self.budget.fetch_sub(length, Ordering::Relaxed);
        let write = Write { file, offset, length, number, acknowledged: false };
        ledger.writes.push(write);
        let mut bytes = vec![0; length as usize];
        ledger.source(&write).fill(offset, &mut bytes);
        Some((write, bytes))
    }
}

/// Writes and syncs; a new file with its name.
fn store(writes: &Writes, area: &File, write: &Write, bytes: &[u8]) -> io::Result<()> {
    if write.file == AREA {
        area.write_all_at(bytes, write.offset)?;
        return area.sync_data();
    }
    let file = create(&write.path(&writes.dir))?;
    file.write_all_at(bytes, 0)?;
    file.sync_all()?;
    File::open(&writes.dir)?.sync_all()
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

#[cfg(test)]
mod tests {
    use super::{
        super::{FileTree, TreeFiles},
        *,
    };
    use crate::engine::Cancel;

    #[test]
    fn what_is_acknowledged_is_stored_and_reads_find_the_tree() {
        let home = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        let dir = home.path().to_owned();
        let tree = FileTree { bytes: 2 << 20, seed: 3 };
        tree.fill(&dir, &Cancel::default()).expect("fills");
        let ledger = Arc::new(Mutex::new(Ledger::begin(&dir, 3).expect("makes")));
        let from = Instant::now();
        let files = Arc::new(TreeFiles::new(&dir, tree));
        let writes = Writes { dir: dir.clone(), ledger: Arc::clone(&ledger), most: 1 << 20, log: None };
        let load = Load::start(files, 3, Some(writes)).expect("starts");
        let both = |load: &Load| {
            let ops = load.ops();
            ops.iter().any(|op| op.write) && ops.iter().any(|op| !op.write)
        };
        while !both(&load) {
            thread::yield_now();
        }
        let (ops, hanging) = load.end();
        assert!(hanging.is_empty());
        let all = sum(&ops, &hanging, from, Instant::now());
        assert!(all.reads > 0 && all.writes > 0 && all.written_bytes <= 1 << 20, "{all:?}");
        assert_eq!((all.failed_reads, all.failed_writes, all.wrong_reads, all.hanging), (0, 0, 0, 0));
        let ledger = ledger.lock().expect("nobody writes");
        let found = ledger.verify(&dir, Duration::from_secs(60));
        assert_eq!(found.acknowledged, AREA_BLOCKS + all.writes);
        assert_eq!(found.lost_bytes, 0, "{found:?}");
    }

    #[test]
    fn operations_that_were_under_way_count_for_the_wait_alone() {
        let zero = Instant::now();
        let op = |ms: u64, took: u64| Op {
            at: zero + Duration::from_millis(ms),
            took: Duration::from_millis(took),
            write: ms % 2 == 0,
            bytes: 1,
            outcome: if took > 50 { Outcome::Failed } else { Outcome::Done },
        };
        let ops: Vec<Op> = (0..1000).map(|ms| op(ms, if ms == 501 { 900 } else { 1 })).collect();
        let [from, to] = [502, 600].map(|ms| zero + Duration::from_millis(ms));
        let all = sum(&ops, &[zero], from, to);
        assert_eq!((all.reads, all.writes, all.failed_reads, all.hanging), (49, 49, 0, 1));
        assert!((all.longest - 0.9).abs() < 1e-6);
    }
}
