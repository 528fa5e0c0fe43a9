//! Append-only logs in the store, one JSON value a line. A change is made only after the line that announces it is synced.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rustix::{fs::OFlags, process::geteuid};
use serde::{Serialize, de::DeserializeOwned};

use crate::record::{AtomicFile, PRIVATE, lock, make_dir, open_own};

/// The maximum size of a journal, or of the log of a pool, in bytes.
const LONGEST: u64 = 4 << 20;

/// A log, open and locked, so that no other process changes what it describes.
#[derive(Debug)]
pub struct AppendLog {
    path: PathBuf,
    file: File,
}

impl AppendLog {
    /// Creates a log, which appears with its first line; the error is `AlreadyExists` if there is one of that name.
    pub fn create(path: &Path, first: &impl Serialize) -> io::Result<Self> {
        make_dir(path.parent().unwrap_or(path))?;
        let new = AtomicFile::create(path, PRIVATE)?;
        new.file().write_all(&json_line(first)?)?;
        Ok(Self { path: path.to_owned(), file: new.keep_new()? })
    }

    /// Opens a log to append to it, and reads it. The error is `WouldBlock` if another process has it.
    pub fn open<L: DeserializeOwned>(
        path: &Path,
        each: impl FnMut(L) -> Result<(), String>,
    ) -> io::Result<Self> {
        let file = open_trusted(path, OFlags::RDWR | OFlags::APPEND)?;
        lock_patiently(&file)?;
        let complete = undamaged(read_lines(&file, each)?)?;
        // Nothing was changed after a line that was cut off, and the next line must not become part of it.
        if complete < file.metadata()?.len() {
            file.set_len(complete)?;
            file.sync_data()?;
        }
        Ok(Self { path: path.to_owned(), file })
    }

    /// Appends a line and syncs it.
    pub fn append(&self, line: &impl Serialize) -> io::Result<()> {
        self.append_unsynced(line)?;
        self.sync()
    }

    /// Appends a line that may be lost with the machine.
    pub fn append_unsynced(&self, line: &impl Serialize) -> io::Result<()> {
        (&self.file).write_all(&json_line(line)?)
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// A value as a line of a log.
pub fn json_line(line: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(text)
}

/// Reads lines and passes each to `each`, whose error is damage. A process that was killed may leave an incomplete last line.
/// Returns the length of the complete lines, in bytes, and the first line that can't be understood, and why.
pub fn read_lines<L: DeserializeOwned>(
    log: impl Read,
    mut each: impl FnMut(L) -> Result<(), String>,
) -> io::Result<(u64, Option<String>)> {
    let mut lines = BufReader::new(log.take(LONGEST + 1));
    let (mut line, mut length, mut number) = (Vec::new(), 0, 0);
    let (mut complete, mut damage) = (0, None);
    loop {
        line.clear();
        length += lines.read_until(b'\n', &mut line)? as u64;
        number += 1;
        let is_complete = line.last() == Some(&b'\n');
        let understood = match serde_json::from_slice(&line) {
            _ if length > LONGEST => Err(format!("it has more than {LONGEST} bytes")),
            Ok(value) if is_complete => each(value).map_err(|why| format!("line {number}: {why}")),
            Ok(_) => Ok(()),
            Err(e) if e.is_eof() && !is_complete => Ok(()),
            Err(e) => Err(format!("line {number}: {e}")),
        };
        damage = damage.or(understood.err());
        if !is_complete || length > LONGEST {
            return Ok((complete, damage));
        }
        complete = length;
    }
}

/// The length of a log that was read; an error if it is damaged.
pub fn undamaged((complete, damage): (u64, Option<String>)) -> io::Result<u64> {
    damage.map_or(Ok(complete), |why| Err(io::Error::other(why)))
}

/// Opens a log that this user, root or the owner of its directory wrote: root must not act on the word of others.
pub fn open_trusted(path: &Path, access: OFlags) -> io::Result<File> {
    let file = open_own(path, access)?;
    let (about, above) = (file.metadata()?, path.parent().unwrap_or(path).metadata()?);
    if ![0, above.uid(), geteuid().as_raw()].contains(&about.uid()) {
        return Err(io::Error::other("it belongs to another user than its directory"));
    }
    Ok(file)
}

/// Locks a log, with retries: a reader holds the lock for a moment.
fn lock_patiently(file: &File) -> io::Result<()> {
    for _ in 0..10 {
        match lock(file) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(20)),
            locked => return locked,
        }
    }
    lock(file)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn an_incomplete_last_line_is_no_damage_and_is_cut_off() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("x.jsonl");
        AppendLog::create(&path, &1).and_then(|log| log.append(&2)).expect("is written");
        for torn in ["\"th", "3"] {
            let mut file = OpenOptions::new().append(true).open(&path).expect("opens");
            file.write_all(torn.as_bytes()).expect("writes");
            let mut read = Vec::new();
            let log = AppendLog::open(&path, |line: u32| {
                read.push(line);
                Ok(())
            });
            drop(log.expect("opens"));
            assert_eq!((read, fs::read_to_string(&path).expect("reads")), (vec![1, 2], "1\n2\n".to_owned()));
        }
    }

    #[test]
    fn damage_is_named_by_its_line() {
        let damage = |text: &str| {
            let each = |n: u32| if n < 9 { Ok(()) } else { Err("too large".to_owned()) };
            read_lines(text.as_bytes(), each).expect("reads").1.unwrap_or_default()
        };
        assert_eq!(damage("1\n9\n2\n"), "line 2: too large");
        assert!(damage("1\nx\n2\n").starts_with("line 2: expected value"));
        assert!(damage("not a log").starts_with("line 1: expected"));
        assert_eq!(damage(&"1\n".repeat(LONGEST as usize)), "it has more than 4194304 bytes");
    }

    #[test]
    fn a_log_is_locked_and_never_replaced() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("logs/x.jsonl");
        let log = AppendLog::create(&path, &1).expect("is written");
        let kind = |opened: io::Result<AppendLog>| opened.expect_err("refused").kind();
        assert_eq!(kind(AppendLog::create(&path, &1)), io::ErrorKind::AlreadyExists);
        assert_eq!(kind(AppendLog::open(&path, |_: u32| Ok(()))), io::ErrorKind::WouldBlock);
        log.remove().expect("removes");
        assert!(!path.exists());
    }
}
