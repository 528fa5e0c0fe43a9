//! The ledger as it outlives a power cut: in the store, on another drive than what is written.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    time::Instant,
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::{
    record::{lock, open_own},
    run::AppendLog,
    test_files::{AREA, AREA_BLOCKS, BLOCK, LARGEST, Ledger, Write, WriteLog, area_writes},
};

/// The directory of ledgers in the store.
const LEDGERS: &str = "ledgers";
/// The largest ledger that is read, bytes.
const LONGEST: u64 = 128 << 20;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "line")]
pub enum Line {
    /// The files are about to be written to this directory.
    Begun { boot_id: Option<String>, dir: PathBuf },
    /// The files, and the blocks that are written over and over, are synced.
    Ready,
    /// A write is about to begin.
    Will { file: u64, offset: u64, length: u64, number: u64 },
    /// A write ended, `at` seconds after the first one began.
    Answer { number: u64, acknowledged: bool, at: f64 },
    /// The drive takes no more writes, and the machine goes on.
    Gone,
    /// The run ended without a power cut: its files are about to be removed, so that a power cut meanwhile says nothing.
    Ended,
}

/// Where the ledger of a run is.
fn ledger_path(store: &Path, run: &str) -> PathBuf {
    store.join(LEDGERS).join(format!("{run}.jsonl"))
}

/// A ledger that is written.
#[derive(Debug)]
pub struct LedgerWriter {
    log: AppendLog,
    began: Instant,
}

impl LedgerWriter {
    /// Creates the ledger, which must not exist.
    pub fn begin(store: &Path, run: &str, boot_id: Option<&str>, dir: &Path) -> io::Result<Self> {
        let begun = Line::Begun { boot_id: boot_id.map(str::to_owned), dir: dir.to_owned() };
        let log = AppendLog::create(&ledger_path(store, run), &begun)?;
        Ok(Self { log, began: Instant::now() })
    }

    pub fn record(&self, line: &Line) -> io::Result<()> {
        self.log.append(line)
    }

    pub fn remove(&self) -> io::Result<()> {
        self.log.remove()
    }
}

impl WriteLog for LedgerWriter {
    fn begins(&self, write: &Write) -> io::Result<()> {
        let Write { file, offset, length, number, .. } = *write;
        self.log.append(&Line::Will { file, offset, length, number })
    }

    fn answer(&self, number: u64, acknowledged: bool) -> io::Result<()> {
        let at = self.began.elapsed().as_secs_f64();
        self.log.append_unsynced(&Line::Answer { number, acknowledged, at })
    }
}

/// A ledger as an earlier process left it.
#[derive(Debug)]
pub struct SavedLedger {
    pub path: PathBuf,
    pub boot_id: Option<String>,
    pub dir: PathBuf,
    pub ready: bool,
    pub gone: bool,
    pub ended: bool,
    pub ledger: Ledger,
    /// Time until the last answer, s.
    pub seconds: f64,
    /// Locked, so that nobody else checks it.
    _file: File,
}

impl SavedLedger {
    /// The ledger of a run, if it has one. The content of its writes follows from the seed.
    pub fn read(store: &Path, run: &str, seed: u64) -> io::Result<Option<Self>> {
        let path = ledger_path(store, run);
        let file = match open_own(&path, OFlags::RDONLY) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        lock(&file)?;
        let mut lines = BufReader::new(file.try_clone()?.take(LONGEST)).split(b'\n').enumerate().peekable();
        let mut saved = Self {
            path,
            boot_id: None,
            dir: PathBuf::new(),
            ready: false,
            gone: false,
            ended: false,
            ledger: Ledger { seed, writes: Vec::new() },
            seconds: 0.0,
            _file: file,
        };
        while let Some((at, line)) = lines.next() {
            let is_right = match serde_json::from_slice(&line?) {
                Ok(line) => saved.add(line),
                // The power was cut while it was written: it may hold anything.
                Err(_) => lines.peek().is_none(),
            };
            if !is_right {
                return Err(io::Error::other(format!("line {} was not written by drivebench", at + 1)));
            }
        }
        Ok(Some(saved))
    }

    /// All ledgers of a store that no process has open, with the names of their runs.
    pub fn all(store: &Path) -> impl Iterator<Item = (String, Self)> {
        let entries = fs::read_dir(store.join(LEDGERS)).into_iter().flatten().flatten();
        entries.filter_map(move |entry| {
            let name = entry.file_name().into_string().ok()?;
            let run = name.strip_suffix(".jsonl")?.to_owned();
            let saved = Self::read(store, &run, 0).ok()??;
            Some((run, saved))
        })
    }

    pub fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    /// Takes a line; false if no run writes it there. Anyone who can write to the store can edit it.
    fn add(&mut self, line: Line) -> bool {
        let writes = &mut self.ledger.writes;
        match line {
            Line::Begun { boot_id, dir } if self.boot_id.is_none() && !self.ready => {
                (self.boot_id, self.dir) = (boot_id, dir);
            }
            Line::Ready if !self.ready => {
                writes.extend(area_writes());
                self.ready = true;
            }
            Line::Begun { .. } | Line::Ready => return false,
            Line::Will { file, offset, length, number } => {
                let in_area =
                    file == AREA && length == BLOCK && offset % BLOCK == 0 && offset / BLOCK < AREA_BLOCKS;
                let is_new =
                    file.checked_sub(AREA) == Some(number) && offset == 0 && (1..=LARGEST).contains(&length);
                let is_next = writes.last().is_some_and(|last| last.number + 1 == number);
                if !is_next || !(in_area || is_new) {
                    return false;
                }
                writes.push(Write { file, offset, length, number, acknowledged: false });
            }
            Line::Answer { number, acknowledged, at } => {
                let Some(last) = writes.last_mut().filter(|last| last.number == number) else { return false };
                last.acknowledged = acknowledged;
                self.seconds = self.seconds.max(at);
            }
            Line::Gone => self.gone = true,
            Line::Ended => self.ended = true,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "20261125-0000-power";

    fn write(number: u64) -> Write {
        Write { file: AREA, offset: (number % 7) * BLOCK, length: BLOCK, number, acknowledged: false }
    }

    /// A ledger of three writes, of which the last has no answer.
    fn begun(store: &Path) -> PathBuf {
        let begin = |boot_id, dir: &str| LedgerWriter::begin(store, RUN, boot_id, Path::new(dir));
        let writer = begin(Some("boot"), "/mnt/a").expect("begins");
        writer.record(&Line::Ready).expect("is written");
        for number in AREA_BLOCKS + 1..=AREA_BLOCKS + 3 {
            writer.begins(&write(number)).expect("is written");
            if number < AREA_BLOCKS + 3 {
                writer.answer(number, number == AREA_BLOCKS + 1).expect("is written");
            }
        }
        SavedLedger::read(store, RUN, 1).expect_err("its process has it");
        begin(None, "/mnt/b").expect_err("the run has one");
        ledger_path(store, RUN)
    }

    #[test]
    fn what_was_noted_before_the_cut_is_read_back() {
        let store = tempfile::tempdir().expect("a directory");
        let path = begun(store.path());
        let read = || SavedLedger::read(store.path(), RUN, 1);
        let saved = read().expect("reads").expect("is there");
        assert_eq!((saved.boot_id.as_deref(), saved.ready, saved.gone), (Some("boot"), true, false));
        assert_eq!(saved.dir, Path::new("/mnt/a"));
        let answers: Vec<bool> =
            saved.ledger.writes[AREA_BLOCKS as usize..].iter().map(|w| w.acknowledged).collect();
        assert_eq!(answers, [true, false, false]);
        drop(saved);
        assert_eq!(SavedLedger::all(store.path()).count(), 1);

        // Cut off anywhere, it has what came before, or says what is damaged.
        let whole = fs::read(&path).expect("reads");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("writes");
            let saved = read().expect("a line that was cut off is left out").expect("is there");
            assert!(saved.ledger.writes.len() <= AREA_BLOCKS as usize + 3);
        }
        let text = String::from_utf8(whole).expect("text");
        for (from, to) in [
            ("\"length\":16384", "\"length\":99999999999"),
            ("\"offset\":81920", "\"offset\":18446744073709551615"),
            ("\"number\":257", "\"number\":1"),
            ("{\"line\":\"ready\"}", "{\"line\":\"other\"}"),
            ("{\"line\":\"ready\"}", "{\"line\":\"ready\"}\n{\"line\":\"ready\"}"),
        ] {
            assert!(text.contains(from), "{from}");
            fs::write(&path, text.replace(from, to)).expect("writes");
            read().expect_err(to);
        }
    }
}
