//! The store: a directory with one file a run.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};

use super::{AtomicFile, Summary, Event, Log, ReadError, Reader, Start, Writer, summary::Index};

/// Why the store can't do what is asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No home directory to keep it in.
    #[error("no directory for results: neither XDG_DATA_HOME nor HOME is set")]
    NoHome,
    /// It can't be written.
    #[error("results can't be stored in {path}: {source}")]
    Unwritable {
        /// The directory or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It can't be read.
    #[error("the results in {path} can't be read: {source}")]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No such run.
    #[error("there is no run '{run}' in {path}")]
    NoSuchRun {
        /// The name given.
        run: String,
        /// The store.
        path: PathBuf,
    },
    /// The run's record can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// How records end that are written to, and those that are over.
const PLAIN: &str = ".jsonl";
const PACKED: &str = ".jsonl.gz";

/// A directory of records.
#[derive(Debug, Clone)]
pub struct Store {
    dir: PathBuf,
}

/// Letters of run names: no vowels, so no words, and nothing that looks like something else.
const LETTERS: &[u8] = b"23456789bcdfghjkmnpqrstvwxz";

impl Store {
    /// The store in this directory.
    pub fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The user's store, `drivebench` below the XDG data directory.
    pub fn of_user() -> Result<Self, StoreError> {
        let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let data = set("XDG_DATA_HOME").filter(|p| p.is_absolute());
        let data = data.or_else(|| set("HOME").map(|h| h.join(".local/share"))).ok_or(StoreError::NoHome)?;
        Ok(Self::at(data.join("drivebench")))
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Begins a record: names the run, and gives its name and the writer.
    pub fn create(&self, start: impl FnOnce(String) -> Start) -> Result<(String, Writer), StoreError> {
        let unwritable = |path: &Path, source| StoreError::Unwritable { path: path.to_owned(), source };
        fs::create_dir_all(&self.dir).map_err(|e| unwritable(&self.dir, e))?;
        // The name is tried with more letters until it is free, so it stays short while there are few.
        for attempt in 0.. {
            let run = name(4 + attempt / 4).map_err(|e| unwritable(&self.dir, e))?;
            let path = self.path(&run);
            let file = match OpenOptions::new().append(true).create_new(true).open(&path) {
                Ok(file) => file,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 64 => continue,
                Err(e) => return Err(unwritable(&path, e)),
            };
            let mut writer = Writer::new(file);
            let begun =
                writer.append(&Event::Start(Box::new(start(run.clone())))).and_then(|()| writer.sync());
            return match begun.and_then(|()| File::open(&self.dir)?.sync_all()) {
                Ok(()) => Ok((run, writer)),
                Err(e) => {
                    // Half a first line is no record; if even that can't be removed the error names the file.
                    let _ = fs::remove_file(&path);
                    Err(unwritable(&path, e))
                }
            };
        }
        unreachable!("the loop ends by returning")
    }

    /// Goes on with the record of a run: half a line that a kill left is taken off.
    pub fn reopen(&self, run: &str) -> Result<Writer, StoreError> {
        self.open(run)?;
        // A packed record is over.
        let path = self.dir.join(format!("{run}{PLAIN}"));
        let reopen = || {
            let file = OpenOptions::new().read(true).append(true).open(&path)?;
            file.set_len(whole_lines(&file)?)?;
            Ok(Writer::new(file))
        };
        reopen().map_err(|source| StoreError::Unwritable { path: path.clone(), source })
    }

    /// The record of a run, by its name.
    pub fn open(&self, run: &str) -> Result<Reader, StoreError> {
        let none = || StoreError::NoSuchRun { run: run.to_owned(), path: self.dir.clone() };
        if !is_name(run) {
            return Err(none());
        }
        let path = self.path(run);
        if path.exists() { Ok(Reader::open(&path)?) } else { Err(none()) }
    }

    /// How many bytes the record of a run takes up; 0 where there is none.
    pub fn size(&self, run: &str) -> u64 {
        if is_name(run) { fs::metadata(self.path(run)).map_or(0, |meta| meta.len()) } else { 0 }
    }

    /// Removes the record of a run.
    pub fn remove(&self, run: &str) -> Result<(), StoreError> {
        self.open(run)
            .map(drop)
            .or_else(|e| if matches!(e, StoreError::NoSuchRun { .. }) { Err(e) } else { Ok(()) })?;
        // Both are there where packing was cut short.
        let both = [PACKED, PLAIN].map(|end| self.dir.join(format!("{run}{end}")));
        both.into_iter().filter(|path| path.exists()).try_for_each(|path| {
            fs::remove_file(&path).map_err(|source| StoreError::Unwritable { path, source })
        })
    }

    /// All runs, oldest first, and what can't be read.
    pub fn list(&self) -> Result<(Vec<Summary>, Vec<ReadError>), StoreError> {
        let unreadable = |source| StoreError::Unreadable { path: self.dir.clone(), source };
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
            Err(e) => return Err(unreadable(e)),
        };
        let mut index = Index::open(&self.dir);
        let before = index.len();
        let (mut runs, mut bad) = (Vec::new(), Vec::new());
        for entry in entries {
            let path = entry.map_err(unreadable)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Both are there while one is made of the other.
            if name.ends_with(PLAIN) && !path.with_extension("jsonl.gz").exists() || name.ends_with(PACKED) {
                match index.summary(&path) {
                    Ok(run) => runs.push(run),
                    Err(e) => bad.push(e),
                }
            }
        }
        runs.sort_by(|a, b| (&a.at, &a.run).cmp(&(&b.at, &b.run)));
        // Without an index the next list takes longer, that is all.
        let _ = index.save(before < runs.len());
        Ok((runs, bad))
    }

    /// Bytes that all kept runs wrote, by the identity of the drive. What was written to several drives at once counts
    /// for each of them, since a mirror writes all of it twice: at most so much.
    pub fn written(&self) -> Result<HashMap<String, u64>, StoreError> {
        let mut written: HashMap<String, u64> = HashMap::new();
        for (drive, bytes) in self.list()?.0.into_iter().flat_map(|run| run.written) {
            let sum = written.entry(drive).or_default();
            *sum = sum.saturating_add(bytes);
        }
        Ok(written)
    }

    /// Packs the record of a run that is over; it reads as before.
    pub fn pack(&self, run: &str) -> Result<(), StoreError> {
        let (plain, packed) =
            (self.dir.join(format!("{run}{PLAIN}")), self.dir.join(format!("{run}{PACKED}")));
        let pack = || {
            let file = AtomicFile::create(&packed)?;
            let mut out = GzEncoder::new(file.file(), Compression::default());
            io::copy(&mut File::open(&plain)?, &mut out)?;
            out.finish()?;
            file.keep()?;
            fs::remove_file(&plain)
        };
        pack().map_err(|source| StoreError::Unwritable { path: packed.clone(), source })
    }

    /// Where the record of a run is, packed or not.
    fn path(&self, run: &str) -> PathBuf {
        let packed = self.dir.join(format!("{run}{PACKED}"));
        if packed.exists() { packed } else { self.dir.join(format!("{run}{PLAIN}")) }
    }
}

fn is_name(run: &str) -> bool {
    !run.is_empty() && run.len() < 32 && run.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// A random name; the first character is always `r`, so that a run is never taken for a number.
fn name(letters: usize) -> io::Result<String> {
    let mut random = vec![0u8; letters - 1];
    io::Read::read_exact(&mut File::open("/dev/urandom")?, &mut random)?;
    let tail = random.iter().map(|b| char::from(LETTERS[usize::from(*b) % LETTERS.len()]));
    Ok(std::iter::once('r').chain(tail).collect())
}

/// Bytes up to the end of the last line that has one.
fn whole_lines(file: &File) -> io::Result<u64> {
    use std::os::unix::fs::FileExt;
    let mut end = file.metadata()?.len();
    let mut block = [0; 64 * 1024];
    while end > 0 {
        let from = end.saturating_sub(block.len() as u64);
        let part = &mut block[..(end - from) as usize];
        file.read_exact_at(part, from)?;
        if let Some(at) = part.iter().rposition(|b| *b == b'\n') {
            return Ok(from + at as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
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
        Event::Note { target: None, text: text.to_owned() }
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
    fn what_is_appended_is_read_back_in_order() {
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
    fn a_record_cut_at_any_byte_reads_as_far_as_it_goes() {
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
            // The last event may be whole where only its line end is missing.
            assert!(read == lines || read == lines + 1, "{read} events of {lines} lines, cut at {cut}");
            let said = reader.cut_off();
            assert_eq!(said.is_none(), cut >= whole.len() - 1, "cut at {cut}: {said:?}");
        }
        fs::write(&path, &whole[..first]).expect("cuts");
        assert!(store.open(&run).is_ok(), "a first line without its end is a start");
        fs::write(&path, &whole[..first / 2]).expect("cuts");
        assert!(store.open(&run).expect_err("half a start").to_string().contains("not a record"));
    }

    #[test]
    fn damage_in_the_middle_is_named() {
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
    fn a_run_that_goes_on_keeps_what_was_whole() {
        let (_home, store) = store();
        let (run, mut writer) = store.create(start).expect("creates");
        writer.append(&note("one")).expect("appends");
        writer.append(&end()).expect("appends");
        let path = store.path(&run);
        let whole = fs::read(&path).expect("reads");
        fs::write(&path, [&whole[..], &vec![b'x'; 100_000]].concat())
            .expect("is killed in the middle of a line");
        let mut writer = store.reopen(&run).expect("goes on");
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
    fn a_later_schema_is_refused_with_what_to_do() {
        let (_home, store) = store();
        let (run, _) = store.create(|run| Start { schema: SCHEMA + 1, ..start(run) }).expect("creates");
        let said = store.open(&run).expect_err("newer").to_string();
        assert!(said.ends_with("use a newer drivebench"), "{said}");
    }

    #[test]
    fn lists_and_removes() {
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
        store.remove(&run).expect("removes");
        assert!(matches!(store.open(&run), Err(StoreError::NoSuchRun { .. })));
        for odd in ["", "../notes", "notes.txt", "r/../../x", &"r".repeat(40)] {
            assert!(matches!(store.remove(odd), Err(StoreError::NoSuchRun { .. })), "{odd}");
        }
    }

    #[test]
    fn packed_records_read_as_before_and_lists_remember() {
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

        // What the index knows is not read again; without it the records are.
        let index = store.dir.join("index");
        let text = fs::read_to_string(&index).expect("an index");
        fs::write(&index, text.replace("\"baseline\"", "\"remembered\"")).expect("writes");
        assert_eq!(store.list().expect("lists").0[0].experiment, "remembered");
        for broken in ["", "{", "\u{0}\n{}\n"] {
            fs::write(&index, broken).expect("writes");
            assert_eq!(store.list().expect("lists").0, listed, "{broken:?}");
        }
        fs::remove_file(&index).expect("removes");
        assert_eq!(store.list().expect("lists").0, listed);

        // A packed record that was cut off reads as far as it goes.
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
    fn an_unwritable_store_is_named() {
        let store = Store::at(PathBuf::from("/proc/drivebench"));
        let said = store.create(start).expect_err("proc can't be written").to_string();
        assert!(said.starts_with("results can't be stored in /proc/drivebench"), "{said}");
    }
}
