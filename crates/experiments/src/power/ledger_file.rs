//! The ledger as it outlives a power cut: in the store, on another drive than what is written, or on another machine.

use std::{
    fmt,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::remote_ledger::{RemoteLedger, Session};
use crate::{
    engine::Cancel,
    record::{Event, lock, open_own},
    run::AppendLog,
    test_files::{AREA, AREA_BLOCKS, BLOCK, LARGEST, Ledger, Write, WriteLog, area_writes},
    units::RemoteDir,
};

/// The directory of ledgers in the store.
const LEDGERS: &str = "ledgers";
/// The largest ledger that is read, bytes.
const LONGEST: u64 = 128 << 20;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "line")]
enum Line {
    /// The files are about to be written to this directory.
    Begun {
        boot_id: Option<String>,
        dir: PathBuf,
        /// Where the ledger itself is, if this file in the store only names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ledger: Option<RemoteDir>,
        /// The first events of the record, which may be lost with the drive; only on another machine.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        record: Vec<Event>,
    },
    /// The files, and the blocks that are written over and over, are synced.
    Ready,
    /// A write is about to begin.
    Will { file: u64, offset: u64, length: u64, number: u64 },
    /// A write ended, `at` seconds after the first one began.
    Answer { number: u64, acknowledged: bool, at: f64 },
    /// The drive takes no more writes, and the machine goes on.
    Gone,
    /// The run ended without a power cut: its files are about to be removed.
    Ended,
}

/// Where the ledger of a run is: in the store, or on another machine. Then the store has a file that says so.
#[derive(Debug, Clone, Copy)]
pub struct LedgerPlace<'a> {
    pub store: &'a Path,
    pub run: &'a str,
    pub remote: Option<&'a RemoteDir>,
}

impl LedgerPlace<'_> {
    fn path(&self) -> PathBuf {
        self.store.join(LEDGERS).join(format!("{}.jsonl", self.run))
    }

    fn remote(&self) -> Option<RemoteLedger> {
        self.remote.map(|at| RemoteLedger::new(at, self.run))
    }
}

impl fmt::Display for LedgerPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.remote {
            Some(at) => at.fmt(f),
            None => self.store.display().fmt(f),
        }
    }
}

/// A ledger that is written.
#[derive(Debug)]
pub struct LedgerWriter {
    log: AppendLog,
    remote: Option<(RemoteLedger, Mutex<Session>)>,
    began: Instant,
}

impl LedgerWriter {
    /// Creates the ledger, which must not exist. `record` holds the first events of the run's record.
    pub fn begin(
        place: LedgerPlace<'_>,
        boot_id: Option<&str>,
        dir: &Path,
        record: &[Event],
        cancel: &Cancel,
    ) -> io::Result<Self> {
        let path = place.path();
        if place.remote.is_some() {
            // A power cut may have left it without a ledger.
            or_gone(fs::remove_file(&path))?;
        }
        let begun = |ledger: Option<&RemoteDir>, record: &[Event]| Line::Begun {
            boot_id: boot_id.map(str::to_owned),
            dir: dir.to_owned(),
            ledger: ledger.cloned(),
            record: record.to_vec(),
        };
        let log = AppendLog::create(&path, &begun(place.remote, &[]))?;
        let mut writer = Self { log, remote: None, began: Instant::now() };
        if let Some(remote) = place.remote() {
            let session = remote.create(boot_id.unwrap_or("none"), cancel);
            let begun = session.and_then(|session| {
                writer.remote = Some((remote, Mutex::new(session)));
                writer.append_synced(&begun(None, record))
            });
            if let Err(e) = begun {
                // One that was there before stays. If there was no answer, it may be there now, and `cleanup` names it.
                let is_unknown = matches!(e.kind(), io::ErrorKind::TimedOut | io::ErrorKind::Interrupted);
                return if is_unknown { Err(e) } else { writer.remove().and(Err(e)) };
            }
        }
        Ok(writer)
    }

    pub fn record_ready(&self) -> io::Result<()> {
        self.append_synced(&Line::Ready)
    }

    pub fn record_gone(&self) -> io::Result<()> {
        self.append_synced(&Line::Gone)
    }

    /// Before the files are removed: a power cut meanwhile says nothing.
    pub fn record_end(&self) -> io::Result<()> {
        let Some((remote, session)) = &self.remote else { return self.log.append(&Line::Ended) };
        // The run may end because the connection was lost: a new one is made.
        locked(session).end();
        // Without a ledger there is nothing to check, either; on a full disk that is possible still.
        remote.append(&serde_json::to_string(&Line::Ended)?).or_else(|_| remote.remove())
    }

    pub fn remove(&self) -> io::Result<()> {
        remove(self.remote.as_ref().map(|(remote, _)| remote), || self.log.remove())
    }

    fn append(&self, line: &Line) -> io::Result<()> {
        match &self.remote {
            Some((_, session)) => locked(session).append(&(serde_json::to_string(line)? + "\n")),
            None => self.log.append_unsynced(line),
        }
    }

    fn append_synced(&self, line: &Line) -> io::Result<()> {
        self.append(line)?;
        match &self.remote {
            Some((_, session)) => locked(session).sync(),
            None => self.log.sync(),
        }
    }
}

impl WriteLog for LedgerWriter {
    fn begins(&self, write: &Write) -> io::Result<()> {
        let Write { file, offset, length, number, .. } = *write;
        self.append_synced(&Line::Will { file, offset, length, number })
    }

    fn answer(&self, number: u64, acknowledged: bool) -> io::Result<()> {
        self.append(&Line::Answer { number, acknowledged, at: self.began.elapsed().as_secs_f64() })
    }
}

/// A ledger as an earlier process left it.
#[derive(Debug)]
pub struct SavedLedger {
    pub path: PathBuf,
    pub boot_id: Option<String>,
    pub dir: PathBuf,
    /// The command that removes it on the other machine.
    pub remove_by_hand: Option<String>,
    pub record: Vec<Event>,
    pub ready: bool,
    pub gone: bool,
    pub ended: bool,
    pub ledger: Ledger,
    /// Time until the last answer, s.
    pub seconds: f64,
    remote: Option<RemoteLedger>,
    /// Locked, so that nobody else checks it.
    _file: Option<File>,
}

impl SavedLedger {
    /// The ledger of a run, if it has one. The content of its writes follows from the seed.
    pub fn read(place: LedgerPlace<'_>, seed: u64, cancel: &Cancel) -> io::Result<Option<Self>> {
        let path = place.path();
        if let Some(remote) = place.remote() {
            return match remote.read(cancel)? {
                Some(text) => Self::parse(path, seed, text.as_bytes(), Some(remote), None).map(Some),
                None if !path.exists() => Ok(None),
                // To start again could hide that something was lost.
                None => Err(io::Error::other(format!(
                    "it does not exist. Is its disk mounted? If the run ended before it was created, remove {}",
                    path.display()
                ))),
            };
        }
        let file = match open_own(&path, OFlags::RDONLY) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        lock(&file)?;
        Self::parse(path, seed, &file.try_clone()?, None, Some(file)).map(Some)
    }

    fn parse(
        path: PathBuf,
        seed: u64,
        text: impl Read,
        remote: Option<RemoteLedger>,
        file: Option<File>,
    ) -> io::Result<Self> {
        let mut saved = Self {
            path,
            boot_id: None,
            dir: PathBuf::new(),
            remove_by_hand: None,
            record: Vec::new(),
            ready: false,
            gone: false,
            ended: false,
            ledger: Ledger { seed, writes: Vec::new() },
            seconds: 0.0,
            remote,
            _file: file,
        };
        let mut lines = BufReader::new(text.take(LONGEST)).split(b'\n').enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            let damaged = |why: &str| io::Error::other(format!("line {}: {why}", at + 1));
            match serde_json::from_slice(&line?) {
                Ok(line) => saved.add(line).map_err(damaged)?,
                // The power was cut while it was written: it may hold anything.
                Err(_) if lines.peek().is_none() => {}
                Err(e) => return Err(damaged(&e.to_string())),
            }
        }
        Ok(saved)
    }

    /// All ledgers of a store that no process has open, with the names of their runs.
    pub fn all(store: &Path) -> impl Iterator<Item = (String, Self)> {
        let entries = fs::read_dir(store.join(LEDGERS)).into_iter().flatten().flatten();
        entries.filter_map(move |entry| {
            let name = entry.file_name().into_string().ok()?;
            let run = name.strip_suffix(".jsonl")?.to_owned();
            let place = LedgerPlace { store, run: &run, remote: None };
            let saved = Self::read(place, 0, &Cancel::default()).ok()??;
            Some((run, saved))
        })
    }

    pub fn remove(&self) -> io::Result<()> {
        remove(self.remote.as_ref(), || fs::remove_file(&self.path))
    }

    /// Anyone who can write to the store or to the other machine can edit it.
    fn add(&mut self, line: Line) -> Result<(), &'static str> {
        let writes = &mut self.ledger.writes;
        match line {
            Line::Begun { .. } if self.boot_id.is_some() || self.ready => return Err("it begins twice"),
            Line::Begun { boot_id, dir, ledger, record } => {
                let run = self.path.file_stem().and_then(|run| run.to_str()).unwrap_or_default();
                self.remove_by_hand = ledger.map(|at| RemoteLedger::new(&at, run).remove_by_hand());
                (self.boot_id, self.dir, self.record) = (boot_id, dir, record);
            }
            Line::Ready if self.ready => return Err("it is ready twice"),
            Line::Ready => {
                writes.extend(area_writes());
                self.ready = true;
            }
            Line::Will { file, offset, length, number } => {
                let in_area =
                    file == AREA && length == BLOCK && offset % BLOCK == 0 && offset / BLOCK < AREA_BLOCKS;
                let is_new =
                    file.checked_sub(AREA) == Some(number) && offset == 0 && (1..=LARGEST).contains(&length);
                if !(in_area || is_new) {
                    return Err("no such write is made");
                }
                if writes.last().is_none_or(|last| last.number + 1 != number) {
                    return Err("a write is missing before it");
                }
                writes.push(Write { file, offset, length, number, acknowledged: false });
            }
            Line::Answer { number, acknowledged, at } => {
                let last = writes.last_mut().filter(|last| last.number == number);
                last.ok_or("it answers no write")?.acknowledged = acknowledged;
                self.seconds = self.seconds.max(at);
            }
            Line::Gone => self.gone = true,
            Line::Ended => self.ended = true,
        }
        Ok(())
    }
}

fn locked(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the ledger, and the file in the store.
fn remove(remote: Option<&RemoteLedger>, file: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match remote {
        // The drive may have lost the file in the store.
        Some(remote) => remote.remove().and_then(|()| or_gone(file())),
        None => file(),
    }
}

fn or_gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|e| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(store: &Path) -> LedgerPlace<'_> {
        LedgerPlace { store, run: "20261125-0000-power", remote: None }
    }

    fn write(number: u64) -> Write {
        Write { file: AREA, offset: (number % 7) * BLOCK, length: BLOCK, number, acknowledged: false }
    }

    /// A ledger of three writes, of which the last has no answer.
    fn begun(store: &Path) -> PathBuf {
        let begin = |boot_id, dir: &str| {
            LedgerWriter::begin(place(store), boot_id, Path::new(dir), &[], &Cancel::default())
        };
        let writer = begin(Some("boot"), "/mnt/a").expect("begins");
        writer.record_ready().expect("is written");
        for number in AREA_BLOCKS + 1..=AREA_BLOCKS + 3 {
            writer.begins(&write(number)).expect("is written");
            if number < AREA_BLOCKS + 3 {
                writer.answer(number, number == AREA_BLOCKS + 1).expect("is written");
            }
        }
        SavedLedger::read(place(store), 1, &Cancel::default()).expect_err("its process has it");
        begin(None, "/mnt/b").expect_err("the run has one");
        place(store).path()
    }

    #[test]
    fn what_was_noted_before_the_cut_is_read_back() {
        let store = tempfile::tempdir().expect("a directory");
        let path = begun(store.path());
        let read = || SavedLedger::read(place(store.path()), 1, &Cancel::default());
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
