//! Reads a record one event at a time, because records can be larger than the memory of a small board.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use flate2::bufread::GzDecoder;
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};

use super::{Event, SCHEMA};

/// The maximum length of a line, which takes up to 32 times its size in memory. The longest lines hold an inventory or a plan.
const MAX_LINE: u64 = 16 * 1024 * 1024;
const TOO_LONG: &str = "longer than 16 MiB";
/// Records shrink to a tenth when they are compressed. What grows far more would be read for minutes.
pub const MOST_GROWTH: u64 = 200;
const TOO_DENSE: &str = "it unpacks to more than 200 times its size";

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("record {path} can't be read: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path} is not a record of drivebench: {why}")]
    NotARecord { path: PathBuf, why: String },
    #[error(
        "record {path} has schema {found}, this drivebench reads schema {SCHEMA}: use the drivebench that wrote it, or a newer one"
    )]
    OtherSchema { path: PathBuf, found: u64 },
}

impl ReadError {
    /// Whether the file doesn't exist.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// The events of a record, as far as they can be read.
pub struct Reader {
    path: PathBuf,
    lines: BufReader<Box<dyn Read>>,
    /// The first line, which `open` has already read.
    first: Option<Vec<u8>>,
    number: u64,
    /// Bytes that may still be read.
    left: u64,
    complete: bool,
    /// Why the rest can't be read, without a full stop.
    broken: Option<String>,
    /// The length of the lines that were accepted, bytes, and whether the last of them has its newline.
    pub(super) accepted: (u64, bool),
}

/// Opens a regular file; opening a FIFO would wait for its writer, and opening a device may do anything.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let regular = |is: bool| is.then_some(()).ok_or_else(|| io::Error::other("it is not a regular file"));
    regular(std::fs::metadata(path)?.is_file())?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    regular(file.metadata()?.is_file())?;
    Ok(file)
}

/// Opens a file that this program made. Refuses what others may have put in its place: a link, a device, or a pipe.
pub fn open_own(path: &Path, how: OFlags) -> io::Result<File> {
    let replaced = || io::Error::other("it was replaced: it is not a regular file");
    let flags = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Err(Errno::LOOP | Errno::NXIO) => return Err(replaced()),
        opened => File::from(opened?),
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(replaced()) }
}

impl Reader {
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let io = |source| ReadError::Io { path: path.to_owned(), source };
        let file = open_regular(path).map_err(io)?;
        let bytes = file.metadata().map_err(io)?.len();
        Self::of(file, bytes, path)
    }

    /// The record in `file`, whose stored size is `bytes`; `path` names it in errors.
    pub fn of(file: impl Read + 'static, bytes: u64, path: &Path) -> Result<Self, ReadError> {
        let mut file = BufReader::new(file);
        let begin = file.fill_buf().map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
        let packed = begin.starts_with(&[0x1f, 0x8b]);
        let plain: Box<dyn Read> = if packed { Box::new(GzDecoder::new(file)) } else { Box::new(file) };
        // A record that is being written grows, but is not packed.
        let most = if packed { bytes.saturating_mul(MOST_GROWTH).saturating_add(1 << 20) } else { u64::MAX };
        let mut reader = Self {
            path: path.to_owned(),
            lines: BufReader::new(plain),
            first: None,
            number: 0,
            left: most,
            complete: false,
            broken: None,
            accepted: (0, true),
        };
        let schema = |line: &[u8]| {
            let first: serde_json::Value = serde_json::from_slice(line).ok()?;
            (first["event"] == "start").then(|| first["schema"].as_u64()).flatten()
        };
        let line = reader.line()?.unwrap_or_default();
        let not = |why: &str| ReadError::NotARecord { path: path.to_owned(), why: why.to_owned() };
        match schema(&line) {
            None if line.is_empty() => Err(not("it is empty")),
            _ if reader.left == 0 => Err(not(TOO_DENSE)),
            None if line.len() as u64 >= MAX_LINE => Err(not(&format!("its first line is {TOO_LONG}"))),
            None => Err(not("its first line is not the start of a run")),
            Some(found) if found != u64::from(SCHEMA) => {
                Err(ReadError::OtherSchema { path: path.to_owned(), found })
            }
            Some(_) => Ok(Self { first: Some(line), ..reader }),
        }
    }

    /// After the last event: why the record is incomplete, if it is.
    pub fn cut_off(&self) -> Option<String> {
        if let Some(why) = &self.broken {
            return Some(format!("The record {why}."));
        }
        (!self.complete)
            .then(|| "The record was cut off: the run was killed or the machine lost power.".to_owned())
    }

    /// After the last event: why more than the end of the record can't be read, as words that follow "the record".
    pub fn damage(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    fn line(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let mut line = Vec::new();
        let io = |source| ReadError::Io { path: self.path.clone(), source };
        let most = MAX_LINE.min(self.left);
        let n = (&mut self.lines).take(most).read_until(b'\n', &mut line).map_err(io)?;
        self.left -= n as u64;
        self.number += 1;
        Ok((n > 0).then_some(line))
    }
}

impl Iterator for Reader {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if self.broken.is_some() {
            return None;
        }
        let line = match self.line() {
            Ok(line) => line?,
            Err(e) => {
                self.broken = Some(format!("can't be read after line {}: {e}", self.number));
                return None;
            }
        };
        if self.left == 0 {
            self.broken = Some(format!("is damaged: {TOO_DENSE}"));
            return None;
        }
        let event = serde_json::from_slice::<Event>(&line);
        let event = event.map_err(|e| e.to_string()).and_then(Event::checked);
        let ended = line.last() == Some(&b'\n');
        let long = !ended && line.len() as u64 >= MAX_LINE;
        // Names in a second start would be trusted like those of the first.
        let event = event.and_then(|event| match event {
            Event::Start(_) if self.number > 1 => Err("a run starts only once".to_owned()),
            event => Ok(event),
        });
        match event {
            Ok(event) => {
                self.accepted = (self.accepted.0 + line.len() as u64, ended);
                // A run that ended may have been resumed.
                self.complete = matches!(event, Event::End(_));
                Some(event)
            }
            // The last line of a killed run may be incomplete. Anything else is damage and is reported.
            Err(_) if !ended && !long => {
                self.complete = false;
                None
            }
            Err(e) => {
                let why = if long { TOO_LONG.to_owned() } else { e };
                self.broken = Some(format!("is damaged at line {}: {why}", self.number));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    #[test]
    fn what_took_the_place_of_an_own_file_is_refused_at_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("own");
        std::fs::write(&path, "mine").expect("writes");
        for how in [OFlags::RDONLY, OFlags::WRONLY | OFlags::APPEND] {
            open_own(&path, how).expect("is a file");
        }
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("links");
        let pipe = dir.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
        for other in [&link, &pipe] {
            for how in [OFlags::RDONLY, OFlags::WRONLY] {
                let refused = open_own(other, how).expect_err("is no file").to_string();
                assert_eq!(refused, "it was replaced: it is not a regular file");
            }
        }
        open_own(dir.path(), OFlags::RDONLY).expect_err("is a directory");
    }
}
