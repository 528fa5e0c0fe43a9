//! Summaries of runs for lists: computed once from a record and kept in an index next to the records.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::{self, BufReader, BufWriter, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{AtomicFile, End, PRIVATE, ReadError, Reader, Run, reader::open_regular};
use crate::inventory::Drive;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub run: String,
    /// When it began, as RFC 3339.
    pub at: String,
    pub experiment: String,
    pub targets: Vec<String>,
    /// The drives of each target, or its path.
    pub drives: Vec<String>,
    /// The board, or another name of the machine.
    pub board: Option<String>,
    #[serde(default)]
    pub host: Option<String>,
    /// How it ended; `None` if it is running or was cut off.
    pub end: Option<End>,
    /// Bytes written, by the identity of the drive.
    pub written: BTreeMap<String, u64>,
    /// What lists show of its findings; `None` before it was listed.
    pub digest: Option<String>,
    /// The run of which this record is a copy, according to both records.
    #[serde(skip)]
    pub copy_of: Option<String>,
}

impl Summary {
    pub(super) fn read(path: &Path) -> Result<Self, ReadError> {
        let run = Run::of(Reader::open(path)?);
        let Some(start) = run.start else {
            let why = "its first line can't be read".to_owned();
            return Err(ReadError::NotARecord { path: path.to_owned(), why });
        };
        let machine = start.inventory.machine;
        let mut written = BTreeMap::new();
        let targets = || run.plan.iter().flat_map(|plan| &plan.targets);
        for (at, target) in targets().enumerate() {
            for drive in &target.drives {
                let sum: &mut u64 = written.entry(drive.identity()).or_default();
                *sum = sum.saturating_add(run.written.get(&at).copied().unwrap_or(0));
            }
        }
        let drives = targets().map(|target| match (&target.pool, &target.drives[..]) {
            (Some(pool), _) => pool.describe(),
            (None, []) => target.given.clone(),
            (None, drives) => drives.iter().map(Drive::model_and_serial).collect::<Vec<_>>().join(" + "),
        });
        Ok(Self {
            drives: drives.collect(),
            digest: None,
            copy_of: None,
            run: start.run,
            at: start.at,
            experiment: start.experiment,
            targets: start.targets,
            board: machine.board,
            host: start.host.name,
            end: run.end,
            written,
        })
    }
}

/// The state of a record file when its summary was made. If size or time differ, the record is read again.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct State {
    file: String,
    bytes: u64,
    seconds: i64,
    nanoseconds: i64,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    state: State,
    summary: Summary,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    /// The program that wrote it. Another one may find something else in the records.
    program: String,
    entries: Vec<Entry>,
}

/// The digest of a run; `None` if the list needs none.
pub type Digester<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// This program: its size and time tell builds of one version apart.
fn program() -> String {
    let about = std::env::current_exe().and_then(fs::metadata);
    let build = about.map(|about| format!(" {} {}", about.len(), about.mtime())).unwrap_or_default();
    env!("CARGO_PKG_VERSION").to_owned() + &build
}

/// The name of the index in the store.
pub(super) const INDEX: &str = "index";

/// The index: summaries of unchanged records. It may be deleted at any time; it is rebuilt from the records.
pub(super) struct Index {
    path: PathBuf,
    known: HashMap<State, Summary>,
    kept: Saved,
    /// Whether a record was read.
    learned: bool,
}

impl Index {
    /// Reads the index of this directory. An unreadable index, or one of another program, counts as empty.
    pub fn open(dir: &Path) -> Self {
        let path = dir.join(INDEX);
        let read = |file| serde_json::from_reader(BufReader::new(file)).ok();
        let saved: Option<Saved> = open_regular(&path).ok().and_then(read);
        let program = program();
        let entries =
            saved.filter(|saved| saved.program == program).map_or_else(Vec::new, |saved| saved.entries);
        let known = entries.into_iter().map(|entry| (entry.state, entry.summary)).collect();
        Self { path, known, kept: Saved { program, entries: Vec::new() }, learned: false }
    }

    /// The summary of the record in this file; `digest` makes the digest where it is unknown.
    pub fn summary(&mut self, path: &Path, run: &str, digest: &Digester<'_>) -> Result<Summary, ReadError> {
        let meta = fs::metadata(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (bytes, seconds, nanoseconds) = (meta.len(), meta.mtime(), meta.mtime_nsec());
        let state = State { file, bytes, seconds, nanoseconds };
        let mut summary = match self.known.remove(&state) {
            Some(summary) => summary,
            None => Summary::read(path).inspect(|_| self.learned = true)?,
        };
        if summary.digest.is_none() {
            summary.digest = digest(run);
            self.learned |= summary.digest.is_some();
        }
        self.kept.entries.push(Entry { state, summary: summary.clone() });
        Ok(summary)
    }

    /// Writes the index if it changed, without removed records.
    pub fn save(&self) -> io::Result<()> {
        if !self.learned && self.known.is_empty() {
            return Ok(());
        }
        let index = AtomicFile::create(&self.path, PRIVATE)?;
        let mut out = BufWriter::new(index.file());
        serde_json::to_writer(&mut out, &self.kept)?;
        out.flush()?;
        drop(out);
        index.rename()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        inventory::Drive,
        plan::{FileSet, FileWork, Files, Plan, ScratchFile, StepId, Steps},
        record::{ActResult, Event, Log, SCHEMA, Start, Store},
        target::Target,
        units::{Ended, Outcome},
    };

    fn target(serials: &[&str]) -> Target {
        let drive =
            |serial: &&str| Drive { serial: Some((*serial).to_owned()), sectors: 8, ..Drive::default() };
        Target {
            given: "/mnt".to_owned(),
            path: PathBuf::from("/mnt"),
            drives: serials.iter().map(drive).collect(),
            direct_alignment: 512,
            ..Target::default()
        }
    }

    fn wrote(target: u32, bytes_written: u64) -> Event {
        let outcome = Outcome {
            ended: Ended::Cancelled,
            bytes_read: 7,
            bytes_written,
            ops: 1,
            seconds: 1.0,
            fsync_seconds: 0.0,
        };
        Event::Outcome { step: StepId(0), target, zone: None, outcome, again: None }
    }

    fn start(run: String) -> Start {
        Start {
            schema: SCHEMA,
            run,
            at: "2026-11-21T10:00:00Z".to_owned(),
            version: "0.1.0".to_owned(),
            command: vec![],
            experiment: "baseline".to_owned(),
            targets: vec![],
            host: Default::default(),
            inventory: Default::default(),
        }
    }

    #[test]
    fn a_digest_is_computed_once_for_each_build_of_drivebench() {
        let home = tempfile::tempdir().expect("a directory");
        let store = Store::at(home.path().to_owned());
        let (run, _) = store.create(start).expect("creates");
        let listed = |digest: &Digester<'_>| store.list_with(digest).expect("lists").0[0].digest.clone();
        assert_eq!(listed(&|_| None), None);
        let one = Some("1 MB/s".to_owned());
        assert_eq!(listed(&|name| (name == run).then(|| "1 MB/s".to_owned())), one);
        assert_eq!(listed(&|_| panic!("the index has it")), one);
        let index = home.path().join("index");
        let text = fs::read_to_string(&index).expect("an index");
        let program = format!("\"program\":\"{}\"", program());
        assert!(text.contains(&program), "{text}");
        fs::write(&index, text.replace(&program, "\"program\":\"0.0.1\"")).expect("writes");
        assert_eq!(listed(&|_| Some("2 MB/s".to_owned())), Some("2 MB/s".to_owned()));
    }

    #[test]
    fn a_link_in_place_of_the_index_is_replaced_and_not_followed() {
        let home = tempfile::tempdir().expect("a directory");
        let (store, victim) = (Store::at(home.path().join("store")), home.path().join("victim"));
        drop(store.create(start).expect("creates"));
        fs::write(&victim, "keep").expect("writes");
        std::os::unix::fs::symlink(&victim, store.dir().join("index")).expect("links");
        assert_eq!(store.list().expect("lists").0.len(), 1);
        assert_eq!(fs::read_to_string(&victim).expect("reads"), "keep");
        assert!(store.dir().join("index").symlink_metadata().expect("there").is_file());
        // Nor is anything else replaced.
        fs::remove_file(store.dir().join("index")).expect("removes");
        fs::create_dir(store.dir().join("index")).expect("a directory");
        assert_eq!(store.list().expect("lists").0.len(), 1);
        assert!(store.dir().join("index").is_dir());
    }

    #[test]
    fn bytes_written_are_summed_by_drive() {
        let home = tempfile::tempdir().expect("a directory");
        let store = Store::at(home.path().to_owned());
        assert!(store.written().expect("an empty store").is_empty());
        for bytes in [100, 20] {
            let (_, mut writer) = store.create(start).expect("creates");
            let targets = vec![target(&["4C530001"]), target(&["S6PUNX01", "S6PUNX02"])];
            let mut steps = Steps::default();
            steps.add(&[0], ScratchFile { bytes: 3 });
            let work = FileWork::Write { seed: 1, predict: None };
            steps.add(&[0], Files { set: FileSet { files: 1, size: 3 }, work, seconds: 1.0 });
            let experiment = "baseline".to_owned();
            let plan = Plan { experiment, targets, steps: steps.into(), ..Plan::default() };
            let took = |step| Event::Act {
                step: StepId(step),
                target: Some(0),
                at: String::new(),
                result: Box::new(ActResult { bytes: 3, ..ActResult::default() }),
            };
            for event in [Event::Plan { plan }, wrote(0, bytes), wrote(1, 5), wrote(9, 1), took(0), took(1)] {
                writer.append(&event).expect("appends");
            }
        }
        let runs = store.list().expect("lists").0;
        let path = |run: &str| store.dir().join(format!("{run}.jsonl"));
        fs::copy(path(&runs[0].run), path("rcopy")).expect("a copy, which counts once");
        fs::rename(path(&runs[1].run), path("rnew")).expect("renames");
        let copies = store.list().expect("lists").0.into_iter().filter_map(|run| run.copy_of);
        assert_eq!(copies.collect::<Vec<_>>(), [runs[0].run.clone()]);
        let mut written: Vec<_> = store.written().expect("reads").into_iter().collect();
        written.sort();
        assert_eq!(
            written,
            [("4C530001+8".to_owned(), 126), ("S6PUNX01+8".to_owned(), 10), ("S6PUNX02+8".to_owned(), 10)]
        );
    }
}
