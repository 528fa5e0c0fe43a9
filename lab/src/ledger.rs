//! Ledgers: every operation of the modelled drives, one per line. Tests compare drivebench's results with them.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
};

use drivebench_modelled::sim::Cause;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A flush.
    Flush,
}

/// One operation. Times are in ns on the host's clock, see [`now_ns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// When it arrived.
    pub asked_ns: u64,
    /// When the drive began it; before `asked_ns` if the time of emulation counts as the drive's.
    pub start_ns: u64,
    /// When the drive finished it.
    pub end_ns: u64,
    /// When the reply was sent.
    pub answered_ns: u64,
    /// The kind of operation.
    pub kind: Kind,
    /// Where, bytes.
    pub offset: u64,
    /// How much, bytes.
    pub length: u64,
    /// The main part of its time.
    pub cause: Cause,
    /// It failed.
    pub failed: bool,
}

/// The clock of all ledgers: the host's monotonic one, which tests can read, too.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Appends to a drive's ledger. Each line is written at once, so that the ledger of a running machine can be read.
#[derive(Debug)]
pub struct Writer(File);

impl Writer {
    /// Opens or creates the ledger at `path`; removes an incomplete last line.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        let whole = whole(&fs::read(path)?).len();
        file.set_len(whole as u64)?;
        if whole == 0 {
            file.write_all(b"asked_ns,start_ns,end_ns,answered_ns,kind,offset,length,cause,failed\n")?;
        }
        Ok(Self(file))
    }

    /// Adds a line.
    pub fn add(&mut self, entry: &Entry) -> csv::Result<()> {
        let mut line = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::with_capacity(128));
        line.serialize(entry)?;
        let line = line.into_inner().map_err(|e| io::Error::other(e.to_string()))?;
        Ok(self.0.write_all(&line)?)
    }
}

/// Reads a drive's ledger without an incomplete last line.
pub fn read(path: &Path) -> csv::Result<Vec<Entry>> {
    csv::Reader::from_reader(whole(&fs::read(path)?)).deserialize().collect()
}

/// How long a drive worked on these operations, ns, and their bytes.
pub fn work<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> (u64, u64) {
    entries.into_iter().fold((0, 0), |(ns, bytes), e| (ns + e.end_ns - e.start_ns, bytes + e.length))
}

/// The complete lines of `text`.
fn whole(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_is_read_while_it_grows_and_after_truncation() {
        let entry = Entry {
            asked_ns: 12,
            start_ns: 10,
            end_ns: 30,
            answered_ns: 31,
            kind: Kind::Flush,
            offset: 512,
            length: 4096,
            cause: Cause::Stall,
            failed: true,
        };
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1.1.ledger.csv");
        let mut ledger = Writer::open(&path).unwrap();
        assert_eq!(read(&path).unwrap(), []);
        ledger.add(&entry).unwrap();
        ledger.add(&Entry { kind: Kind::Read, failed: false, ..entry }).unwrap();
        let all = [entry, Entry { kind: Kind::Read, failed: false, ..entry }];
        assert_eq!(read(&path).unwrap(), all);

        let length = fs::metadata(&path).unwrap().len();
        for cut in 1..20 {
            File::options().write(true).open(&path).unwrap().set_len(length - cut).unwrap();
            assert_eq!(read(&path).unwrap(), all[..1], "without its last {cut} bytes");
        }
        Writer::open(&path).unwrap().add(&all[1]).unwrap();
        assert_eq!(read(&path).unwrap(), all);

        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("stall", "stale", 1)).unwrap();
        assert!(read(&path).is_err(), "an invalid line in the middle is an error");
    }
}
