//! A ledger of writes that outlives a power cut: in the store, on another drive than what is written, or on another machine.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write as _},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::{
    elsewhere::{Elsewhere, Session},
    files::{AREA_BLOCKS, area_writes},
    ledger::{AREA, Answer, BLOCK, LARGEST, Ledger, Write},
};
use crate::{
    engine::Cancel,
    record::{Event, PRIVATE, hand_over, lock, make_dir},
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
        /// In the store: the ledger itself is there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ledger: Option<RemoteDir>,
        /// On another machine: the first events of the record, which may be lost with the drive.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        record: Vec<Event>,
    },
    /// They, and the blocks that are written over and over, are synced.
    Ready,
    /// A write is about to begin.
    Will { file: u64, offset: u64, length: u64, number: u64 },
    /// It ended, so many seconds after the first one began.
    Answer { number: u64, acknowledged: bool, at: f64 },
    /// The drive takes no more writes, and the machine goes on.
    Gone,
    /// The run ended without a power cut: its files are about to be removed.
    Ended,
}

/// Where the ledger of a run is: in the store, or on another machine. Then the store has a file that says so.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub store: &'a Path,
    pub run: &'a str,
    pub elsewhere: Option<&'a RemoteDir>,
}

impl Place<'_> {
    fn path(&self) -> PathBuf {
        self.store.join(LEDGERS).join(format!("{}.jsonl", self.run))
    }

    fn elsewhere(&self) -> Option<Elsewhere> {
        self.elsewhere.map(|at| Elsewhere::new(at, self.run))
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.elsewhere {
            Some(at) => at.fmt(f),
            None => self.store.display().fmt(f),
        }
    }
}

/// A ledger that is written.
#[derive(Debug)]
pub struct Noted {
    file: File,
    path: PathBuf,
    elsewhere: Option<(Elsewhere, Mutex<Session>)>,
    began: Instant,
}

/// A ledger as an earlier process left it.
#[derive(Debug)]
pub struct Kept {
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
    /// Until the last answer, s.
    pub seconds: f64,
    elsewhere: Option<Elsewhere>,
    /// Locked, so that nobody else checks it.
    _file: Option<File>,
}

impl Noted {
    /// It is an error if the run has one. `record` are the first events of its record.
    pub fn begin(
        place: Place<'_>,
        boot_id: Option<String>,
        dir: &Path,
        record: Vec<Event>,
        cancel: &Cancel,
    ) -> io::Result<Self> {
        let path = place.path();
        let above = path.parent().unwrap_or(place.store);
        make_dir(above)?;
        if place.elsewhere.is_some() {
            // A power cut may have left it without a ledger.
            gone(fs::remove_file(&path))?;
        }
        let mut options = OpenOptions::new();
        options.append(true).create_new(true).mode(PRIVATE).custom_flags(OFlags::NOFOLLOW.bits() as i32);
        let file = options.open(&path)?;
        lock(&file)?;
        let above = File::open(above)?;
        hand_over(&file, &above)?;
        let mut noted = Self { file, path, elsewhere: None, began: Instant::now() };
        let begun =
            |ledger, record| Line::Begun { boot_id: boot_id.clone(), dir: dir.to_owned(), ledger, record };
        noted.append(&begun(place.elsewhere.cloned(), Vec::new()))?;
        noted.file.sync_all()?;
        above.sync_all()?;
        if let Some(elsewhere) = place.elsewhere() {
            let session = elsewhere.create(boot_id.as_deref().unwrap_or("none"), cancel);
            let begun = session.and_then(|session| {
                noted.elsewhere = Some((elsewhere, Mutex::new(session)));
                noted.append(&begun(None, record))?;
                noted.sync()
            });
            if let Err(e) = begun {
                // One that was there before stays. If there was no answer, it may be there now, and `cleanup` names it.
                let is_unknown = matches!(e.kind(), io::ErrorKind::TimedOut | io::ErrorKind::Interrupted);
                return if is_unknown { Err(e) } else { noted.remove().and(Err(e)) };
            }
        }
        Ok(noted)
    }

    pub fn ready(&self) -> io::Result<()> {
        self.append(&Line::Ready)?;
        self.sync()
    }

    /// A write that is about to begin; with it, the answers so far are on the drive.
    pub fn will(&self, write: &Write) -> io::Result<()> {
        let Write { file, offset, length, number, .. } = *write;
        self.append(&Line::Will { file, offset, length, number })?;
        self.sync()
    }

    pub fn answer(&self, number: u64, acknowledged: bool) -> io::Result<()> {
        self.append(&Line::Answer { number, acknowledged, at: self.began.elapsed().as_secs_f64() })
    }

    pub fn gone(&self) -> io::Result<()> {
        self.append(&Line::Gone)?;
        self.sync()
    }

    /// Before the files are removed: a power cut meanwhile says nothing.
    pub fn ended(&self) -> io::Result<()> {
        match &self.elsewhere {
            // The run may end because the connection was lost: a new one is made.
            Some((elsewhere, session)) => {
                session.lock().unwrap_or_else(PoisonError::into_inner).end();
                // Without a ledger there is nothing to check, either; on a full disk that is possible still.
                elsewhere.append(&text(&Line::Ended)?).or_else(|_| elsewhere.remove())
            }
            None => self.append(&Line::Ended).and_then(|()| self.sync()),
        }
    }

    pub fn remove(&self) -> io::Result<()> {
        remove(self.elsewhere.as_ref().map(|(elsewhere, _)| elsewhere), &self.path)
    }

    fn append(&self, line: &Line) -> io::Result<()> {
        let text = text(line)? + "\n";
        match &self.elsewhere {
            Some((_, session)) => session.lock().unwrap_or_else(PoisonError::into_inner).append(&text),
            None => (&self.file).write_all(text.as_bytes()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        match &self.elsewhere {
            Some((_, session)) => session.lock().unwrap_or_else(PoisonError::into_inner).sync(),
            None => self.file.sync_data(),
        }
    }
}

impl Kept {
    /// The ledger of a run, if it has one. The content of its writes follows from the seed.
    pub fn read(place: Place<'_>, seed: u64, cancel: &Cancel) -> io::Result<Option<Self>> {
        let path = place.path();
        if let Some(elsewhere) = place.elsewhere() {
            let Some(text) = elsewhere.read(cancel)? else {
                return match path.exists() {
                    false => Ok(None),
                    // To start again could hide that something was lost.
                    true => Err(io::Error::other(format!(
                        "it is not there. Is its disk mounted? If the run ended before it was made, remove {}",
                        path.display()
                    ))),
                };
            };
            return Self::parse(path, seed, &mut text.as_bytes(), Some(elsewhere), None).map(Some);
        }
        let mut options = OpenOptions::new();
        options.read(true).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
        let file = match options.open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        lock(&file)?;
        let mut text = BufReader::new(file.try_clone()?.take(LONGEST));
        Self::parse(path, seed, &mut text, None, Some(file)).map(Some)
    }

    fn parse(
        path: PathBuf,
        seed: u64,
        text: &mut dyn BufRead,
        elsewhere: Option<Elsewhere>,
        file: Option<File>,
    ) -> io::Result<Self> {
        let mut kept = Self {
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
            elsewhere,
            _file: file,
        };
        let mut lines = text.split(b'\n').enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            let damaged = |why: &str| io::Error::other(format!("line {}: {why}", at + 1));
            match serde_json::from_slice(&line?) {
                Ok(line) => kept.add(line).map_err(damaged)?,
                // The power was cut while it was written.
                Err(_) if lines.peek().is_none() => {}
                Err(e) => return Err(damaged(&e.to_string())),
            }
        }
        Ok(kept)
    }

    /// All ledgers of a store that no process has open, with the names of their runs.
    pub fn all(store: &Path) -> Vec<(String, Self)> {
        let entries = fs::read_dir(store.join(LEDGERS)).into_iter().flatten().flatten();
        let run = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().ok()?;
            let run = name.strip_suffix(".jsonl")?.to_owned();
            let kept =
                Self::read(Place { store, run: &run, elsewhere: None }, 0, &Cancel::default()).ok()??;
            Some((run, kept))
        };
        entries.filter_map(run).collect()
    }

    pub fn remove(&self) -> io::Result<()> {
        remove(self.elsewhere.as_ref(), &self.path)
    }

    /// Anyone who can write to the store or to the other machine can edit it.
    fn add(&mut self, line: Line) -> Result<(), &'static str> {
        let writes = &mut self.ledger.writes;
        match line {
            Line::Begun { .. } if self.boot_id.is_some() || self.ready => return Err("it begins twice"),
            Line::Begun { boot_id, dir, ledger, record } => {
                let run = self.path.file_stem().and_then(|run| run.to_str()).unwrap_or_default();
                self.remove_by_hand = ledger.map(|at| Elsewhere::new(&at, run).remove_by_hand());
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
                writes.push(Write { file, offset, length, number, answer: Answer::Open });
            }
            Line::Answer { number, acknowledged, at } => {
                let last = writes.last_mut().filter(|last| last.number == number);
                let last = last.ok_or("it answers no write")?;
                last.answer = if acknowledged { Answer::Acknowledged } else { Answer::Refused };
                self.seconds = self.seconds.max(at);
            }
            Line::Gone => self.gone = true,
            Line::Ended => self.ended = true,
        }
        Ok(())
    }
}

fn text(line: &Line) -> io::Result<String> {
    serde_json::to_string(line).map_err(io::Error::other)
}

fn remove(elsewhere: Option<&Elsewhere>, path: &Path) -> io::Result<()> {
    if let Some(elsewhere) = elsewhere {
        elsewhere.remove()?;
        // The drive may have lost it.
        return gone(fs::remove_file(path));
    }
    fs::remove_file(path)
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|e| if e.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(e) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(store: &Path) -> Place<'_> {
        Place { store, run: "20261125-0000-power", elsewhere: None }
    }

    fn write(number: u64) -> Write {
        Write { file: AREA, offset: (number % 7) * BLOCK, length: BLOCK, number, answer: Answer::Open }
    }

    /// A ledger of three writes, of which the last has no answer.
    fn begun(store: &Path) -> PathBuf {
        let noted = Noted::begin(
            place(store),
            Some("boot".to_owned()),
            Path::new("/mnt/a"),
            Vec::new(),
            &Cancel::default(),
        )
        .expect("begins");
        noted.ready().expect("is written");
        for number in AREA_BLOCKS + 1..=AREA_BLOCKS + 3 {
            noted.will(&write(number)).expect("is written");
            if number < AREA_BLOCKS + 3 {
                noted.answer(number, number == AREA_BLOCKS + 1).expect("is written");
            }
        }
        Kept::read(place(store), 1, &Cancel::default()).expect_err("its process has it");
        Noted::begin(place(store), None, Path::new("/mnt/b"), Vec::new(), &Cancel::default())
            .expect_err("the run has one");
        noted.path.clone()
    }

    #[test]
    fn what_was_noted_before_the_cut_is_read_back() {
        let store = tempfile::tempdir().expect("a directory");
        let path = begun(store.path());
        let read = || Kept::read(place(store.path()), 1, &Cancel::default());
        let kept = read().expect("reads").expect("is there");
        assert_eq!((kept.boot_id.as_deref(), kept.ready, kept.gone), (Some("boot"), true, false));
        assert_eq!(kept.dir, Path::new("/mnt/a"));
        let answers: Vec<Answer> =
            kept.ledger.writes[AREA_BLOCKS as usize..].iter().map(|w| w.answer).collect();
        assert_eq!(answers, [Answer::Acknowledged, Answer::Refused, Answer::Open]);
        drop(kept);
        assert_eq!(Kept::all(store.path()).len(), 1);

        // Cut off anywhere, it has what came before, or says what is damaged.
        let whole = fs::read(&path).expect("reads");
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).expect("writes");
            let kept = read().expect("a line that was cut off is left out").expect("is there");
            assert!(kept.ledger.writes.len() <= AREA_BLOCKS as usize + 3);
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
