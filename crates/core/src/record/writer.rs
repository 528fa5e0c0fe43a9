//! Appends events to a record.

use std::{
    fs::File,
    io::{self, Write},
    time::{Duration, Instant},
};

use rustix::fs::{FlockOperation, flock};

use super::Event;

/// How long a line may stay unsynced, unless syncing would disturb a measurement.
const SYNC_EVERY: Duration = Duration::from_secs(5);

/// Each line is handed to the kernel at once, so it survives the process. It is synced to the drive every few seconds, so that
/// little is lost to a power cut.
#[derive(Debug)]
pub struct Writer {
    file: File,
    line: Vec<u8>,
    synced: Instant,
    quiet: bool,
}

impl Drop for Writer {
    /// A process that is being started has the open file, too, until it executes its program: the lock would outlast the writer.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// A destination of events.
pub trait Log {
    fn append(&mut self, event: &Event) -> io::Result<()>;

    /// Syncs all appended events.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// While quiet, lines are written but not synced: a sync on the measured drive would be part of the measurement.
    fn quiet(&mut self, _quiet: bool) {}
}

impl Log for Vec<Event> {
    fn append(&mut self, event: &Event) -> io::Result<()> {
        self.push(event.clone());
        Ok(())
    }
}

impl Writer {
    pub(super) fn new(file: File) -> Self {
        Self { file, line: Vec::new(), synced: Instant::now(), quiet: false }
    }
}

impl Log for Writer {
    fn append(&mut self, event: &Event) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, event)?;
        self.line.push(b'\n');
        self.file.write_all(&self.line)?;
        if !self.quiet && self.synced.elapsed() >= SYNC_EVERY { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        self.synced = Instant::now();
        self.file.sync_data()
    }

    fn quiet(&mut self, quiet: bool) {
        self.quiet = quiet;
    }
}
