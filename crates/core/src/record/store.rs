//! The store: a directory with one file per run.

use std::{
    collections::{BTreeSet, HashMap},
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};
use rustix::{
    fs::{FlockOperation, OFlags, flock},
    io::retry_on_intr,
    rand::{GetRandomFlags, getrandom},
};

use super::{
    AtomicFile, Event, Log, PRIVATE, ReadError, Reader, Run, Start, Summary, Writer,
    atomic_file::left_for,
    caller, home, lock, make_dir,
    owner::leads_elsewhere,
    reader::{MOST_GROWTH, open_own, open_regular},
    summary::{Digester, INDEX, Index},
};
use crate::units::Histogram;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("no directory for results: neither XDG_DATA_HOME nor HOME is set")]
    NoHome,
    #[error(
        "{path} leads to {real}, which does not belong to the user who called sudo: name a directory with --store"
    )]
    Elsewhere { path: PathBuf, real: PathBuf },
    #[error("results can't be stored in {path}: {source}")]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("{path} can't be removed: {source}")]
    Stays { path: PathBuf, source: io::Error },
    #[error("the results in {path} can't be read: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("names can't be replaced without the key in {path}: {source}")]
    NoKey { path: PathBuf, source: io::Error },
    #[error("there is no run '{run}' in {path}")]
    NoSuchRun { run: String, path: PathBuf },
    #[error("{0} is in use: another drivebench runs or removes it; wait for its end, or stop it")]
    Busy(String),
    #[error("{0} is complete")]
    Complete(String),
    #[error("{run} can't be continued, because its record {why}: start a new run")]
    Damaged { run: String, why: String },
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// The suffixes of records in progress and of compressed records.
const PLAIN: &str = ".jsonl";
const PACKED: &str = ".jsonl.gz";
/// The file of the key of pseudonyms.
const KEY: &str = "pseudonyms.key";

#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
}

/// Letters of run names: no vowels, so that no words result, and no characters that look alike.
const LETTERS: &[u8] = b"23456789bcdfghjkmnpqrstvwxz";

impl Store {
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The store of the user who called, `drivebench` below the XDG data directory.
    pub fn of_user() -> Result<Self, StoreError> {
        let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let data = set("XDG_DATA_HOME").filter(|p| p.is_absolute());
        let data = data.or_else(|| Some(home()?.join(".local/share"))).ok_or(StoreError::NoHome)?;
        let path = data.join("drivebench");
        match caller().and_then(|(uid, _)| leads_elsewhere(&path, uid)) {
            Some(real) => Err(StoreError::Elsewhere { path, real }),
            None => Ok(Self::at(path)),
        }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// When a record was added, packed or removed, or the index written.
    pub fn changed(&self) -> Option<SystemTime> {
        fs::metadata(&self.dir).and_then(|dir| dir.modified()).ok()
    }

    /// Creates a record: returns the name of the run and the writer. It appears in the store with its first line.
    pub fn create(&self, start: impl FnOnce(String) -> Start) -> Result<(String, Writer), StoreError> {
        self.begin(start, &[])
    }

    /// Stores a whole record with these events after the start, or nothing.
    pub fn keep(&self, start: impl FnOnce(String) -> Start, events: &[Event]) -> Result<String, StoreError> {
        Ok(self.begin(start, events)?.0)
    }

    fn begin(
        &self,
        start: impl FnOnce(String) -> Start,
        events: &[Event],
    ) -> Result<(String, Writer), StoreError> {
        let unwritable = |path: &Path, source| StoreError::Unwritable { path: path.to_owned(), source };
        make_dir(&self.dir).map_err(|e| unwritable(&self.dir, e))?;
        let mut start = start(String::new());
        // Letters are added until the name is free, so names stay short while there are few runs.
        for attempt in 0.. {
            start.run = name(4 + attempt / 4).map_err(|e| unwritable(&self.dir, e))?;
            let path = self.path(&start.run);
            if path.exists() && attempt < 64 {
                continue;
            }
            let begin = || {
                let file = AtomicFile::create(&path, PRIVATE)?;
                let mut writer = Writer::new(file.file().try_clone()?);
                writer.append(&Event::Start(Box::new(start.clone())))?;
                events.iter().try_for_each(|event| writer.append(event))?;
                file.keep_new().map(|_| writer)
            };
            match begin() {
                Ok(writer) => return Ok((start.run, writer)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 64 => {}
                Err(e) => return Err(unwritable(&path, e)),
            }
        }
        unreachable!("the loop ends by returning")
    }

    /// Whether anything was anonymised yet.
    pub fn has_pseudonym_key(&self) -> bool {
        self.dir.join(KEY).exists()
    }

    /// The key of the pseudonyms in all that is anonymised, made at first use. It never leaves the store.
    pub fn pseudonym_key(&self) -> Result<[u8; 32], StoreError> {
        let path = self.dir.join(KEY);
        let key = || {
            if !self.has_pseudonym_key() {
                make_dir(&self.dir)?;
                let mut key = [0; 32];
                getrandom(&mut key[..], GetRandomFlags::empty())?;
                let file = AtomicFile::create(&path, PRIVATE)?;
                file.file().write_all(&key)?;
                match file.keep_new() {
                    // Another process was faster.
                    Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                    kept => drop(kept?),
                }
            }
            let mut key = Vec::new();
            open_own(&path, OFlags::RDONLY)?.take(64).read_to_end(&mut key)?;
            key.try_into()
                .map_err(|_| io::Error::other("it is damaged: remove it, and names get new pseudonyms"))
        };
        key().map_err(|source| StoreError::NoKey { path: path.clone(), source })
    }

    /// Locks the store against other imports until the file is closed: each sees what the one before it kept.
    pub fn lock_for_import(&self) -> Result<File, StoreError> {
        let dir = || make_dir(&self.dir).and_then(|()| File::open(&self.dir));
        let dir = dir().map_err(|source| StoreError::Unwritable { path: self.dir.clone(), source })?;
        // Some filesystems have no locks.
        let _ = retry_on_intr(|| flock(&dir, FlockOperation::LockExclusive));
        Ok(dir)
    }

    /// Reopens the record of a run, cut to the lines that can be read.
    pub fn reopen(&self, run: &str) -> Result<(Run<Histogram>, Writer), StoreError> {
        self.open(run)?;
        let path = self.path(run);
        // A compressed record is final.
        if path == self.dir.join(format!("{run}{PACKED}")) {
            return Err(StoreError::Complete(run.to_owned()));
        }
        let unwritable = |source| StoreError::Unwritable { path: path.clone(), source };
        let mut file = OpenOptions::new().append(true).open(&path).map_err(unwritable)?;
        lock_record(&file, run)?;
        let (record, (length, ended)) = self.read_whole(run)?;
        let last: &[u8] = if ended { b"" } else { b"\n" };
        file.set_len(length).and_then(|()| file.write_all(last)).map_err(unwritable)?;
        Ok((record, Writer::new(file)))
    }

    /// The record of a run that can be continued.
    pub fn unfinished(&self, run: &str) -> Result<Run<Histogram>, StoreError> {
        Ok(self.read_whole(run)?.0)
    }

    fn read_whole(&self, run: &str) -> Result<(Run<Histogram>, (u64, bool)), StoreError> {
        let mut reader = self.open(run)?;
        let record = Run::with_latencies(reader.by_ref());
        match reader.damage() {
            Some(why) => Err(StoreError::Damaged { run: run.to_owned(), why: why.to_owned() }),
            None => Ok((record, reader.accepted)),
        }
    }

    pub fn open(&self, run: &str) -> Result<Reader, StoreError> {
        loop {
            self.files(run)?;
            match Reader::open(&self.path(run)) {
                // Another process has compressed or removed it since.
                Err(e) if e.is_gone() => {}
                opened => return Ok(opened?),
            }
        }
    }

    /// The files of a run. Both exist if compression was interrupted.
    fn files(&self, run: &str) -> Result<Vec<PathBuf>, StoreError> {
        let both = [PACKED, PLAIN].map(|end| self.dir.join(format!("{run}{end}")));
        let none = || StoreError::NoSuchRun { run: run.to_owned(), path: self.dir.clone() };
        if !is_name(run) {
            return Err(none());
        }
        let mut files = Vec::new();
        for path in both {
            // Without the right to look, it isn't known whether there is one.
            match path.try_exists() {
                Ok(exists) => files.extend(exists.then_some(path)),
                Err(source) => return Err(StoreError::Unreadable { path: self.dir.clone(), source }),
            }
        }
        if files.is_empty() { Err(none()) } else { Ok(files) }
    }

    /// The size of a run's record, bytes; 0 if there is none.
    pub fn size(&self, run: &str) -> u64 {
        if is_name(run) { fs::metadata(self.path(run)).map_or(0, |meta| meta.len()) } else { 0 }
    }

    /// Refuses to remove a run that doesn't exist or may be in use. Nothing can continue it while the returned files are open.
    pub fn removable(&self, run: &str) -> Result<Vec<File>, StoreError> {
        let open = |path: PathBuf| match open_regular(&path) {
            Ok(file) => Some(lock_record(&file, run).map(|()| file)),
            // It can't be checked whether a run of another user writes it.
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                Some(Err(StoreError::Stays { path, source }))
            }
            Err(_) => None,
        };
        self.files(run)?.into_iter().filter_map(open).collect()
    }

    pub fn remove(&self, run: &str) -> Result<(), StoreError> {
        let _locked = self.removable(run)?;
        self.files(run)?.into_iter().try_for_each(|path| match fs::remove_file(&path) {
            // Another process removed it, or finished compressing it.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(|source| StoreError::Stays { path, source }),
        })
    }

    /// All runs, oldest first, and errors of unreadable records.
    pub fn list(&self) -> Result<(Vec<Summary>, Vec<ReadError>), StoreError> {
        self.list_with(&|_| None)
    }

    /// The same with digests. The index keeps them, so that each is computed once.
    pub fn list_with(&self, digest: &Digester<'_>) -> Result<(Vec<Summary>, Vec<ReadError>), StoreError> {
        let unreadable = |source| StoreError::Unreadable { path: self.dir.clone(), source };
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
            Err(e) => return Err(unreadable(e)),
        };
        let mut index = Index::open(&self.dir);
        let (mut runs, mut bad) = (Vec::new(), Vec::new());
        // The name and date in a record, and where it is stored.
        let mut stored: HashMap<(String, String), Vec<String>> = HashMap::new();
        // Both files exist during compression, and either may appear or disappear while the directory is read.
        let mut names = BTreeSet::new();
        for entry in entries {
            let file = entry.map_err(unreadable)?.file_name();
            let file = file.to_string_lossy();
            names.extend(file.strip_suffix(PACKED).or(file.strip_suffix(PLAIN)).map(str::to_owned));
        }
        for run in names {
            let mut read = || {
                let path = self.path(&run);
                (index.summary(&path, &run, digest), path)
            };
            let summary = match read() {
                (Err(e), _) if e.is_gone() => read(),
                summary => summary,
            };
            match summary {
                (Ok(_), path) if !is_name(&run) => {
                    let why = "its name has other characters than letters and digits: rename it".to_owned();
                    bad.push(ReadError::NotARecord { path, why });
                }
                // It may have been renamed or copied.
                (Ok(summary), _) => {
                    let origin = (summary.run.clone(), summary.at.clone());
                    stored.entry(origin).or_default().push(run.clone());
                    runs.push(Summary { run, ..summary });
                }
                // Another process has removed it.
                (Err(e), _) if e.is_gone() => {}
                (Err(e), _) => bad.push(e),
            }
        }
        let mut copies = HashMap::new();
        for ((own, _), mut names) in stored {
            names.sort_by_key(|name| (*name != own, name.clone()));
            let first = names.remove(0);
            copies.extend(names.into_iter().map(|name| (name, first.clone())));
        }
        runs.iter_mut().for_each(|run| run.copy_of = copies.remove(&run.run));
        runs.sort_by(|a, b| (&a.at, &a.run).cmp(&(&b.at, &b.run)));
        // Without the index, the next list only takes longer.
        let _ = index.save();
        Ok((runs, bad))
    }

    /// Bytes that all stored runs wrote, by the identity of the drive. A write to a target of several drives counts
    /// for each of them, because a mirror writes all data twice. The result is an upper limit.
    pub fn written(&self) -> Result<HashMap<String, u64>, StoreError> {
        let mut written: HashMap<String, u64> = HashMap::new();
        let runs = self.list()?.0.into_iter().filter(|run| run.copy_of.is_none());
        for (drive, bytes) in runs.flat_map(|run| run.written) {
            let sum = written.entry(drive).or_default();
            *sum = sum.saturating_add(bytes);
        }
        Ok(written)
    }

    /// Compresses the record of a run that has ended, unless it would shrink by more than [`MOST_GROWTH`], which no reader accepts.
    pub fn pack(&self, run: &str) -> Result<(), StoreError> {
        let (plain, packed) =
            (self.dir.join(format!("{run}{PLAIN}")), self.dir.join(format!("{run}{PACKED}")));
        let pack = || {
            let file = AtomicFile::create(&packed, PRIVATE)?;
            let mut out = GzEncoder::new(file.file(), Compression::default());
            let bytes = io::copy(&mut File::open(&plain)?, &mut out)?;
            out.finish()?;
            if file.file().metadata()?.len().saturating_mul(MOST_GROWTH) < bytes {
                return Ok(());
            }
            file.keep()?;
            fs::remove_file(&plain)
        };
        pack().map_err(|source| StoreError::Unwritable { path: packed.clone(), source })
    }

    /// Removes what killed processes left in the store: temporary files, and records that were compressed already.
    pub fn sweep(&self) {
        let names = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        for path in names.map(|entry| entry.path()) {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let run = |name: &str, end| name.strip_suffix(end).is_some_and(is_name);
            let temporary = left_for(name)
                .is_some_and(|name| [INDEX, KEY].contains(&name) || run(name, PLAIN) || run(name, PACKED));
            let packed = || holds_the_same(&path.with_extension("jsonl.gz"), &path).unwrap_or(false);
            let packed = run(name, PLAIN) && packed();
            let unused = || open_regular(&path).is_ok_and(|file| lock(&file).is_ok());
            if (temporary || packed) && !path.is_symlink() && unused() {
                // The next sweep tries again.
                let _ = fs::remove_file(&path);
            }
        }
    }

    fn path(&self, run: &str) -> PathBuf {
        let packed = self.dir.join(format!("{run}{PACKED}"));
        if packed.exists() { packed } else { self.dir.join(format!("{run}{PLAIN}")) }
    }
}

/// Whether a compressed record holds all of a plain one: it got its name when it was complete, but others may have files of
/// such names.
fn holds_the_same(packed: &Path, plain: &Path) -> io::Result<bool> {
    let packed = open_regular(packed)?;
    let mut plain = BufReader::new(open_regular(plain)?);
    let mut unpacked = BufReader::new(GzDecoder::new(BufReader::new(packed)));
    loop {
        let (a, b) = (unpacked.fill_buf()?, plain.fill_buf()?);
        let n = a.len().min(b.len());
        if n == 0 || a[..n] != b[..n] {
            return Ok(a.is_empty() && b.is_empty());
        }
        unpacked.consume(n);
        plain.consume(n);
    }
}

/// Whether this can be the name of a run.
pub fn is_name(run: &str) -> bool {
    // `last` is the newest run.
    !run.is_empty() && run.len() < 32 && run != "last" && run.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// A random name. It begins with `r`, so that it can't be mistaken for a number.
fn name(letters: usize) -> io::Result<String> {
    // The kernel gives up to 256 bytes whole, also where there is no /dev.
    let mut random = vec![0u8; letters - 1];
    getrandom(&mut random[..], GetRandomFlags::empty())?;
    let tail = random.iter().map(|b| char::from(LETTERS[usize::from(*b) % LETTERS.len()]));
    Ok(std::iter::once('r').chain(tail).collect())
}

fn lock_record(file: &File, run: &str) -> Result<(), StoreError> {
    lock(file).map_err(|_| StoreError::Busy(run.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::record::{End, How, SCHEMA};

    fn start(run: String) -> Start {
        Start {
            schema: SCHEMA,
            run,
            at: "2026-11-21T10:00:00Z".to_owned(),
            version: "0.1.0".to_owned(),
            command: vec!["drivebench".to_owned()],
            experiment: "baseline".to_owned(),
            targets: vec!["a drive".to_owned()],
            host: Default::default(),
            inventory: Default::default(),
        }
    }

    fn note(text: &str) -> Event {
        Event::Note { text: text.to_owned() }
    }

    fn end() -> Event {
        Event::End(End { how: How::Finished, at: "2026-11-21T10:01:00Z".to_owned() })
    }

    fn store() -> (tempfile::TempDir, Store) {
        let home = tempfile::tempdir().expect("a temporary directory");
        let store = Store::at(home.path().join("deep/store"));
        (home, store)
    }

    #[test]
    fn appended_events_are_read_back_in_order() {
        let (_home, store) = store();
        let (run, mut writer) = store.create(start).expect("creates");
        writer.append(&note("one")).expect("appends");
        writer.append(&end()).expect("appends");
        let mut reader = store.open(&run).expect("opens");
        let events: Vec<Event> = reader.by_ref().collect();
        assert_eq!(events, [Event::Start(Box::new(start(run))), note("one"), end()]);
        assert_eq!(reader.cut_off(), None);
    }

    #[test]
    fn a_truncated_record_reads_up_to_the_cut() {
        let (_home, store) = store();
        let (run, mut writer) = store.create(start).expect("creates");
        for event in [note("one"), note("two"), end()] {
            writer.append(&event).expect("appends");
        }
        let path = store.path(&run);
        let whole = fs::read(&path).expect("reads");
        let first = whole.iter().position(|b| *b == b'\n').expect("a line");
        for cut in first + 1..whole.len() {
            fs::write(&path, &whole[..cut]).expect("cuts");
            let lines = whole[..cut].iter().filter(|b| **b == b'\n').count();
            let mut reader = store.open(&run).expect("opens");
            let read = reader.by_ref().count();
            // The last event may be complete if only its line end is missing.
            assert!(read == lines || read == lines + 1, "{read} events of {lines} lines, cut at {cut}");
            let said = reader.cut_off();
            assert_eq!(said.is_none(), cut >= whole.len() - 1, "cut at {cut}: {said:?}");
        }
        fs::write(&path, &whole[..first]).expect("cuts");
        assert!(store.open(&run).is_ok(), "a first line without its line end is valid");
        fs::write(&path, &whole[..first / 2]).expect("cuts");
        assert!(store.open(&run).err().expect("half a start").to_string().contains("not a record"));
    }

    #[test]
    fn the_key_of_pseudonyms_is_private_and_stays() {
        let (_home, store) = store();
        let key = store.pseudonym_key().expect("a new key");
        let path = store.dir.join(KEY);
        assert_eq!(fs::metadata(&path).expect("is there").permissions().mode() & 0o777, PRIVATE);
        assert_eq!(store.pseudonym_key().expect("the same key"), key);
        fs::write(&path, [1; 31]).expect("writes");
        assert!(matches!(store.pseudonym_key(), Err(StoreError::NoKey { .. })));
        fs::remove_file(&path).expect("removes");
        assert_ne!(store.pseudonym_key().expect("another key"), key);
    }

    #[test]
    fn damage_in_the_middle_is_reported() {
        let (_home, store) = store();
        let (run, mut writer) = store.create(start).expect("creates");
        for event in [note("one"), note("two"), end()] {
            writer.append(&event).expect("appends");
        }
        let path = store.path(&run);
        let text = fs::read_to_string(&path).expect("reads").replace("\"two\"", "\"two");
        fs::write(&path, text).expect("damages");
        let mut reader = store.open(&run).expect("opens");
        assert_eq!(reader.by_ref().count(), 2);
        let said = reader.cut_off().expect("says so");
        assert!(said.starts_with("The record is damaged at line 3"), "{said}");
    }

    #[test]
    fn a_resumed_run_keeps_complete_lines() {
        let (_home, store) = store();
        let (run, mut writer) = store.create(start).expect("creates");
        writer.append(&note("one")).expect("appends");
        writer.append(&end()).expect("appends");
        let path = store.path(&run);
        let whole = fs::read(&path).expect("reads");
        fs::write(&path, [&whole[..], &vec![b'x'; 100_000]].concat())
            .expect("is killed in the middle of a line");
        drop(writer);
        let (_, mut writer) = store.reopen(&run).expect("goes on");
        writer.append(&note("two")).expect("appends");
        let mut reader = store.open(&run).expect("opens");
        let events: Vec<Event> = reader.by_ref().collect();
        assert_eq!(events, [Event::Start(Box::new(start(run.clone()))), note("one"), end(), note("two")]);
        assert!(reader.cut_off().is_some(), "it has not ended again");
        writer.append(&end()).expect("appends");
        let mut reader = store.open(&run).expect("opens");
        assert_eq!((reader.by_ref().count(), reader.cut_off()), (5, None));
        assert_eq!(store.size(&run), fs::metadata(&path).expect("is there").len());
        assert_eq!([store.size("r999"), store.size("../x")], [0, 0]);
        assert!(matches!(store.reopen("r999"), Err(StoreError::NoSuchRun { .. })));
    }

    #[test]
    fn one_process_writes_a_record() {
        let (_home, store) = store();
        let (run, writer) = store.create(start).expect("creates");
        for refused in [store.reopen(&run).map(drop), store.remove(&run)] {
            assert!(matches!(refused, Err(StoreError::Busy(_))), "{refused:?}");
        }
        drop(writer);
        let (_, writer) = store.reopen(&run).expect("goes on");
        assert!(matches!(store.reopen(&run), Err(StoreError::Busy(_))));
        drop(writer);
        store.remove(&run).expect("removes");
    }

    #[test]
    fn odd_files_in_the_store_hide_no_run() {
        let (_home, store) = store();
        let (run, mut writer) = store.create(start).expect("creates");
        writer.append(&end()).expect("appends");
        let [renamed, copy] = ["rnew", "my run"].map(|name| store.dir.join(format!("{name}{PLAIN}")));
        fs::copy(store.path(&run), &copy).expect("copies");
        fs::rename(store.path(&run), renamed).expect("renames");
        let old = store.dir.join(format!("rold{PLAIN}"));
        let line = |plan: &str| {
            let start = serde_json::to_string(&Event::Start(Box::new(start("rold".into()))));
            format!("{}\n{{\"event\":\"plan\",\"plan\":{plan}}}\n", start.expect("JSON"))
        };
        for plan in [
            "{\"steps\":[1]}",
            "{\"steps\":[\"a\"]}",
            "{\"steps\":[{\"step\":\"errand\"}]}",
            "5",
            "\"x\"",
            "[1]",
        ] {
            fs::write(&old, line(plan)).expect("writes");
            let mut reader = store.open("rold").expect("opens");
            assert_eq!(reader.by_ref().count(), 1, "{plan}");
            assert!(reader.damage().is_some_and(|why| why.starts_with("is damaged at line 2")), "{plan}");
        }
        // Sums of such counts would overflow, and no time is negative.
        for result in
            [format!("\"bytes\":{}", u64::MAX), "\"seconds\":-1e308".to_owned(), "\"seconds\":1e9".to_owned()]
        {
            let act = format!(
                "{{\"event\":\"act\",\"step\":1,\"target\":0,\"at\":\"\",\"result\":{{{result}}}}}\n"
            );
            let begin = serde_json::to_string(&Event::Start(Box::new(start("rold".into())))).expect("JSON");
            fs::write(&old, format!("{begin}\n{act}")).expect("writes");
            let mut reader = store.open("rold").expect("opens");
            assert_eq!(reader.by_ref().count(), 1);
            let damage = reader.damage();
            assert!(damage.is_some_and(|why| why.contains("larger than any drive")), "{damage:?}");
        }
        let pipe = store.dir.join(format!("rpipe{PLAIN}"));
        for path in [&pipe, &store.dir.join("index")] {
            let _ = fs::remove_file(path);
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
                .expect("a pipe");
        }
        let (runs, bad) = store.list().expect("lists");
        let mut names: Vec<_> = runs.iter().map(|run| run.run.as_str()).collect();
        names.sort_unstable();
        assert_eq!((names, bad.len()), (vec!["rnew", "rold"], 2));
        assert!(bad.iter().any(|e| e.to_string().contains("is not a regular file")), "{bad:?}");
        fs::write(&old, format!("{{\"event\":\"start\",\"schema\":{}}}\n", u64::MAX)).expect("writes");
        let error = store.open("rold").err().expect("refused").to_string();
        assert!(error.contains("has schema 18446744073709551615"), "{error}");
    }

    #[test]
    fn a_record_appears_with_its_first_line_and_an_import_whole() {
        let (_home, store) = store();
        let names = || fs::read_dir(store.dir()).expect("lists").count();
        let seen = |run: String| {
            assert_eq!(names(), 0, "a kill now leaves nothing");
            start(run)
        };
        let run = store.keep(seen, &[note("one"), end()]).expect("keeps");
        assert_eq!(store.open(&run).expect("opens").count(), 3);
        // Filesystems without unnamed files have temporary names.
        fs::write(store.dir().join(".rabc.jsonl.4194999.0"), "").expect("writes");
        // Another process has created this one and not locked it yet.
        let begun = store.dir().join(format!(".rghj.jsonl.{}.0", std::process::id()));
        fs::write(&begun, "").expect("writes");
        store.sweep();
        assert!(begun.exists(), "its process lives");
        assert_eq!((names(), store.list().expect("lists").1.len()), (2, 0));
    }

    #[test]
    fn a_plain_record_goes_only_where_its_whole_copy_stays() {
        let (_home, store) = store();
        let (run, mut writer) = store.create(start).expect("creates");
        writer.append(&end()).expect("appends");
        drop(writer);
        let [plain, packed] = [PLAIN, PACKED].map(|end| store.dir.join(format!("{run}{end}")));
        let text = fs::read(&plain).expect("reads");
        store.pack(&run).expect("packs");
        let whole = fs::read(&packed).expect("reads");
        let others = [("data.jsonl", "{}"), ("data.jsonl.gz", "junk"), ("todo.jsonl", "")];
        for (name, text) in others {
            fs::write(store.dir.join(name), text).expect("writes");
        }
        for (copy, stays) in [(&b"junk"[..], true), (&whole[..whole.len() / 2], true), (&whole[..], false)] {
            fs::write(&plain, &text).expect("writes");
            fs::write(&packed, copy).expect("writes");
            store.sweep();
            assert_eq!((plain.exists(), packed.exists()), (stays, true));
        }
        assert!(others.iter().all(|(name, _)| store.dir.join(name).exists()), "files of others");
    }

    #[test]
    fn what_could_not_be_read_when_packed_stays_plain() {
        let (_home, store) = store();
        let (run, mut writer) = store.create(start).expect("creates");
        (0..20_000).for_each(|_| writer.append(&note(&"x".repeat(200))).expect("appends"));
        writer.append(&end()).expect("appends");
        store.pack(&run).expect("packs what can be");
        assert!(store.dir.join(format!("{run}{PLAIN}")).exists());
        let mut reader = store.open(&run).expect("opens");
        assert_eq!((reader.by_ref().count(), reader.damage()), (20_002, None));
    }

    #[test]
    fn another_schema_is_refused() {
        let (_home, store) = store();
        for schema in [SCHEMA - 1, SCHEMA + 1] {
            let (run, _) = store.create(|run| Start { schema, ..start(run) }).expect("creates");
            let error = store.open(&run).err().expect("another");
            assert!(
                matches!(error, StoreError::Read(ReadError::OtherSchema { found, .. }) if found == u64::from(schema)),
                "{error}"
            );
        }
    }

    #[test]
    fn runs_are_listed_and_removed() {
        let (_home, store) = store();
        assert_eq!(store.list().expect("an absent store is empty").0, []);
        let (run, mut writer) = store.create(start).expect("creates");
        let (later, _) = store
            .create(|run| Start { at: "2026-11-22T10:00:00Z".to_owned(), ..start(run) })
            .expect("creates");
        writer.append(&end()).expect("appends");
        fs::write(store.dir().join("garbage.jsonl"), [0xff; 100]).expect("writes");
        fs::write(store.dir().join("notes.txt"), "mine").expect("writes");
        let (runs, bad) = store.list().expect("lists");
        let shown: Vec<_> = runs.iter().map(|r| (r.run.clone(), r.end.is_some())).collect();
        assert_eq!(shown, [(run.clone(), true), (later, false)]);
        assert_eq!(bad.len(), 1);
        drop(writer);
        store.remove(&run).expect("removes");
        assert!(matches!(store.open(&run), Err(StoreError::NoSuchRun { .. })));
        for odd in ["", "../notes", "notes.txt", "r/../../x", &"r".repeat(40)] {
            assert!(matches!(store.remove(odd), Err(StoreError::NoSuchRun { .. })), "{odd}");
        }
    }

    #[test]
    fn compressed_records_read_the_same_and_lists_use_the_index() {
        let (_home, store) = store();
        let (run, mut writer) = store.create(start).expect("creates");
        for event in [note("one"), end()] {
            writer.append(&event).expect("appends");
        }
        let before: Vec<Event> = store.open(&run).expect("opens").collect();
        let listed = store.list().expect("lists").0;
        store.pack(&run).expect("packs");
        assert!(!store.dir.join(format!("{run}{PLAIN}")).exists());
        let mut reader = store.open(&run).expect("opens");
        assert_eq!(reader.by_ref().collect::<Vec<_>>(), before);
        assert_eq!(reader.cut_off(), None);
        assert_eq!(store.list().expect("lists").0, listed);

        // Records in the index are not read again; without the index they are.
        let index = store.dir.join("index");
        let text = fs::read_to_string(&index).expect("an index");
        fs::write(&index, text.replace("\"baseline\"", "\"remembered\"")).expect("writes");
        assert_eq!(store.list().expect("lists").0[0].experiment, "remembered");
        for broken in ["", "{", "\u{0}\n{}\n", &text[..text.len() - 1]] {
            fs::write(&index, broken).expect("writes");
            assert_eq!(store.list().expect("lists").0, listed, "{broken:?}");
        }
        fs::remove_file(&index).expect("removes");
        assert_eq!(store.list().expect("lists").0, listed);

        // A truncated compressed record reads up to the cut.
        let path = store.path(&run);
        let whole = fs::read(&path).expect("reads");
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).expect("cuts");
            if let Ok(mut reader) = store.open(&run) {
                let events = reader.by_ref().count();
                assert!(events == before.len() || reader.cut_off().is_some(), "cut at {cut}");
            }
        }
        store.remove(&run).expect("removes");
        assert_eq!(store.list().expect("lists").0, []);
    }

    #[test]
    fn an_unwritable_store_is_an_error_with_its_path() {
        let store = Store::at(PathBuf::from("/proc/drivebench"));
        let said = store.create(start).expect_err("proc can't be written").to_string();
        assert!(said.starts_with("results can't be stored in /proc/drivebench"), "{said}");
    }
}
