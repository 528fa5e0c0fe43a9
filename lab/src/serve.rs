//! The drives of a machine, served in real time: what waits how long, and what comes back.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use drivebench::{
    engine::{
        EngineError,
        sim::{Drives, Op},
    },
    units::Extent,
};
use rustix::io::Errno;
use thiserror::Error;

use crate::{
    Scenario,
    ledger::{self, Entry, Kind, now_ns},
    scenario::SECTOR,
};

/// An operation that comes so soon after the answer to the one before it has come back-to-back: what lies between is
/// the emulation's time, a turn through it and the way of the bytes, and counts as the drive's own.
fn grace_ns(length: u64) -> u64 {
    5_000_000 + length * 125
}

/// So far behind the clock a drive may begin with an operation, to make up for what emulation took; what is beyond is
/// lost, so that a stall seems shorter by this at most.
fn debt_ns(length: u64) -> u64 {
    2 * grace_ns(length)
}

/// Why the drives can't be served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// A drive's file can't be opened or made.
    #[error("{0}: {1}")]
    File(PathBuf, #[source] io::Error),
    /// The model makes no sense.
    #[error(transparent)]
    Model(#[from] EngineError),
}

/// The drives of a machine.
#[derive(Debug)]
pub struct Served {
    bays: Vec<Bay>,
    drives: Mutex<Drives>,
    /// When they were switched on.
    since_ns: u64,
}

/// A drive, and the line before it.
#[derive(Debug)]
struct Bay {
    name: String,
    medium: Medium,
    line: Mutex<Line>,
    turn: Condvar,
    ledger: Mutex<ledger::Writer>,
}

impl Served {
    /// Switches the drives of `scenario` on: bay `1.1` keeps what it holds in `1.1.img` in `directory`, and its ledger
    /// in `1.1.ledger.csv`.
    pub fn new(scenario: &Scenario, directory: &Path) -> Result<Self, ServeError> {
        let bays = scenario.drives.iter().map(|drive| {
            let at = |path: PathBuf, e| ServeError::File(path, e);
            let image = directory.join(format!("{}.img", drive.bay));
            let book = directory.join(format!("{}.ledger.csv", drive.bay));
            let size = drive.sectors * SECTOR;
            Ok(Bay {
                name: drive.bay.clone(),
                medium: Medium {
                    file: open(&image, size).map_err(|e| at(image, e))?,
                    size,
                    real: drive.real_sectors.unwrap_or(drive.sectors) * SECTOR,
                    corrupt: drive.model.faults.corrupt.clone(),
                },
                line: Mutex::default(),
                turn: Condvar::new(),
                ledger: Mutex::new(ledger::Writer::open(&book).map_err(|e| at(book, e))?),
            })
        });
        Ok(Self {
            bays: bays.collect::<Result<_, ServeError>>()?,
            drives: Mutex::new(Drives::new(&scenario.board())?),
            since_ns: now_ns(),
        })
    }

    /// Which drive is in the bay of that name.
    pub fn find(&self, bay: &str) -> Option<usize> {
        self.bays.iter().position(|b| b.name == bay)
    }

    /// Its size, bytes.
    pub fn size(&self, drive: usize) -> u64 {
        self.bays[drive].medium.size
    }

    /// Reads, and returns when the drive would have.
    pub fn read(&self, drive: usize, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let length = buffer.len() as u64;
        self.serve(drive, Kind::Read, offset, length, |medium| medium.read(buffer, offset))
    }

    /// Writes, and returns when the drive would have.
    pub fn write(&self, drive: usize, bytes: &[u8], offset: u64) -> io::Result<()> {
        let length = bytes.len() as u64;
        self.serve(drive, Kind::Write, offset, length, |medium| medium.write(bytes, offset))
    }

    /// Makes everything last, and returns when the drive would have.
    pub fn flush(&self, drive: usize) -> io::Result<()> {
        self.serve(drive, Kind::Flush, 0, 0, |_| Ok(()))
    }

    fn serve(
        &self,
        drive: usize,
        kind: Kind,
        offset: u64,
        length: u64,
        transfer: impl FnOnce(&Medium) -> io::Result<()>,
    ) -> io::Result<()> {
        let bay = &self.bays[drive];
        let asked_ns = self.now_ns();
        let pace = bay.take_turn();
        let came_ns = pace.came_ns(asked_ns, self.now_ns(), length);
        let (done, away_ns) = {
            let mut drives = lock(&self.drives);
            let (model, link) = drives.at(drive);
            let op = Op { write: kind == Kind::Write, offset, length };
            let done =
                if kind == Kind::Flush { model.flush(came_ns) } else { model.service(came_ns, op, link) };
            (done, (model.model().round_trip_seconds * 1e9) as u64)
        };
        let result = match done.fault {
            Some(_) => Err(Errno::IO.into()),
            None => transfer(&bay.medium),
        };
        self.wait_until(done.end_ns);
        let due_ns = done.end_ns + away_ns;
        bay.pass_turn(Pace { due_ns, answered_ns: due_ns.max(self.now_ns()) });
        self.wait_until(due_ns);
        let answered_ns = self.now_ns();
        let entry = Entry {
            asked_ns: self.since_ns + asked_ns,
            start_ns: self.since_ns + done.start_ns,
            end_ns: self.since_ns + done.end_ns,
            answered_ns: self.since_ns + answered_ns,
            kind,
            offset,
            length,
            cause: done.cause,
            failed: result.is_err(),
        };
        lock(&bay.ledger).add(&entry).map_err(io::Error::other)?;
        result
    }

    /// The drives' own time.
    fn now_ns(&self) -> u64 {
        now_ns() - self.since_ns
    }

    fn wait_until(&self, at_ns: u64) {
        if let Some(left) = at_ns.checked_sub(self.now_ns()) {
            thread::sleep(Duration::from_nanos(left));
        }
    }
}

/// Operations wait in the order in which they came.
#[derive(Debug, Default)]
struct Line {
    tickets: u64,
    serving: u64,
    pace: Pace,
}

impl Bay {
    /// Waits for one's turn; what came before it.
    fn take_turn(&self) -> Pace {
        let mut line = lock(&self.line);
        let ticket = line.tickets;
        line.tickets += 1;
        while line.serving != ticket {
            line = self.turn.wait(line).unwrap_or_else(PoisonError::into_inner);
        }
        line.pace
    }

    fn pass_turn(&self, pace: Pace) {
        let mut line = lock(&self.line);
        line.pace = pace;
        line.serving += 1;
        self.turn.notify_all();
    }
}

/// When the operation before this one was due to be answered, and when it was.
#[derive(Debug, Clone, Copy, Default)]
struct Pace {
    due_ns: u64,
    answered_ns: u64,
}

impl Pace {
    /// When an operation of `length` bytes counts as having come that came at `asked_ns` and has its turn at `now_ns`.
    fn came_ns(&self, asked_ns: u64, now_ns: u64, length: u64) -> u64 {
        let back_to_back = asked_ns.saturating_sub(self.answered_ns) <= grace_ns(length);
        let came_ns = if back_to_back { asked_ns.min(self.due_ns) } else { asked_ns };
        came_ns.max(now_ns.saturating_sub(debt_ns(length)))
    }
}

/// What a drive holds.
#[derive(Debug)]
struct Medium {
    file: File,
    size: u64,
    /// Bytes that it really holds.
    real: u64,
    corrupt: Vec<Extent>,
}

impl Medium {
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let (real, lost) = buffer.split_at_mut(self.kept(buffer.len(), offset));
        self.file.read_exact_at(real, offset)?;
        lost.fill(0);
        for extent in &self.corrupt {
            let end = (extent.offset + extent.length).min(offset + buffer.len() as u64);
            let mut at = extent.offset;
            // The first byte of the extent in each sector, however the read was cut.
            while at < end {
                if let Some(byte) = at.checked_sub(offset).and_then(|i| buffer.get_mut(i as usize)) {
                    *byte ^= 0xff;
                }
                at = (at / SECTOR + 1) * SECTOR;
            }
        }
        Ok(())
    }

    fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(&bytes[..self.kept(bytes.len(), offset)], offset)
    }

    /// How many of `length` bytes at `offset` it really holds.
    fn kept(&self, length: usize, offset: u64) -> usize {
        (self.real.saturating_sub(offset)).min(length as u64) as usize
    }
}

/// A file of at least `size` bytes, thin where nothing was written.
fn open(path: &Path, size: u64) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    if file.metadata()?.len() < size {
        file.set_len(size)?;
    }
    Ok(file)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
