//! Times transfers, and compares the data that arrived.

use std::{
    io,
    path::{Path, PathBuf},
    time::Instant,
};

use rustix::fs::statvfs;

use super::{
    clients::Moved,
    files::{self, Differs, GOT, Replaced, Stop},
    sandbox::failed,
    setup::{ClientMode, Setup, set_name},
};
use crate::{
    conditions::{Core, ProcessorWatch},
    engine::{Cancel, Pulse},
    run::RunError,
    share::{Route, TransferKind},
    sysroot::Sysroot,
};

/// Time of one transfer.
pub(super) struct Timed {
    pub bytes: u64,
    pub seconds: f64,
    pub cores: Vec<Core>,
    /// Time for which drivebench was suspended, in nanoseconds.
    pub suspended_ns: u64,
}

/// Directories of a transfer.
struct Paths {
    /// The shared files.
    files: PathBuf,
    /// The original files.
    source: PathBuf,
    /// The client's directory, from which it puts or into which it gets, and its name.
    own: PathBuf,
    name: &'static str,
}

impl Setup {
    /// Times a transfer and compares the data: by length, and if `read` by its bytes.
    pub fn time(
        &self,
        (kind, route): (TransferKind, Route),
        read: bool,
        cancel: &Cancel,
    ) -> Result<Timed, RunError> {
        let stop = || cancel.is_set();
        if kind == TransferKind::ReadRandom {
            return self.time_random(route, &stop);
        }
        let at = self.paths(kind, route);
        self.ready((kind, route), &at, &stop).map_err(|e| self.cannot((kind, route), &e))?;
        if let Some(remote) = self.remote(route).filter(|_| !kind.puts()) {
            remote.clear(GOT, &self.tools, &stop)?;
        }
        let root = Sysroot::live();
        let (watch, since) = (ProcessorWatch::begin(&root), Instant::now());
        let pulse = Pulse::since(since);
        let moved = match route {
            Route::Server => self.alone(kind, &at, &stop).map_err(|e| self.cannot((kind, route), &e))?,
            _ => self.moved((kind, route), &at, cancel)?,
        };
        let cores = watch.end(&root, since.elapsed().as_secs_f64()).cores;
        let at_ns = |moment: Instant| (moment - since).as_nanos() as u64;
        let suspended_ns = pulse.missed(at_ns(moved.begins), at_ns(moved.ends));
        moved.mounted.map_or(Ok(()), |mounted| self.unmount(mounted, route))?;
        if route != Route::Server || kind.puts() {
            self.compare((kind, route), &at, (read, &moved.said), &stop)?;
        }
        let seconds = (moved.ends - moved.begins).as_secs_f64();
        Ok(Timed { bytes: self.act.moved(kind), seconds, cores, suspended_ns })
    }

    pub fn cannot(&self, (kind, route): (TransferKind, Route), e: &io::Error) -> RunError {
        let why = format!("{}, {}: {e}", self.act.name(kind), self.act.route_name(route));
        if e.get_ref().is_some_and(|e| e.is::<Replaced>()) { RunError::Replaced(why) } else { failed(&why) }
    }

    fn paths(&self, kind: TransferKind, route: Route) -> Paths {
        let name = if kind.puts() { set_name(kind) } else { GOT };
        let (source, own) = (self.client.file(set_name(kind)), self.client.file(name));
        Paths { files: self.files(route), source, own, name }
    }

    /// Prepares the directories and drops the files from the page cache, except those on tmpfs.
    fn ready(&self, (kind, route): (TransferKind, Route), at: &Paths, stop: Stop<'_>) -> io::Result<()> {
        let Paths { files, source, own, .. } = at;
        let (count, most) = (self.act.set(kind).0, self.act.most_files());
        if !kind.puts() {
            files::clear(own, most)?;
            if route == Route::Existing {
                files::clear(files, most)?;
                files::put(source, files, count, (false, false), stop)?;
                files::open_to_all(files, count)?;
            }
            files::sync(own)?;
            return files::cool(files, count);
        }
        files::clear(files, most)?;
        files::sync(files)
    }

    /// Copies without a client.
    fn alone(&self, kind: TransferKind, at: &Paths, stop: Stop<'_>) -> io::Result<Moved<'_>> {
        let (count, at_once) = (self.act.set(kind).0, kind.has_several_clients());
        let begins = Instant::now();
        match kind.puts() {
            true => files::put(&at.source, &at.files, count, (at_once, false), stop)?,
            false => files::get(&at.files, count, at_once, stop)?,
        }
        Ok(Moved { begins, ends: Instant::now(), said: String::new(), mounted: None })
    }

    /// Copies by clients. A transfer ends when its data is on the drive.
    fn moved(
        &self,
        (kind, route): (TransferKind, Route),
        at: &Paths,
        cancel: &Cancel,
    ) -> Result<Moved<'_>, RunError> {
        let stop = || cancel.is_set();
        let cannot = |e: io::Error| self.cannot((kind, route), &e);
        let moved = match &self.client_mode {
            ClientMode::Cifs(_) | ClientMode::Nfs => self.mounted((kind, route), &at.own, &stop)?,
            ClientMode::Program(server) => {
                let room = self.remote(route).is_none().then_some(self.client.room.as_path());
                let there = room.unwrap_or(Path::new("")).join(at.name);
                self.run_client_commands(server.as_ref(), (kind, route), &there, cancel)?
            }
        };
        if !kind.puts() {
            return Ok(moved);
        }
        files::sync(&at.files).map_err(cannot)?;
        Ok(Moved { ends: Instant::now(), ..moved })
    }

    /// Compares what arrived with the original. `said` is the clients' output.
    fn compare(
        &self,
        (kind, route): (TransferKind, Route),
        at: &Paths,
        (read, said): (bool, &str),
        stop: Stop<'_>,
    ) -> Result<(), RunError> {
        let differs = match self.remote(route).filter(|_| !kind.puts()) {
            // The other machine does not report which file differs.
            Some(remote) => {
                let differs = remote.differs([set_name(kind), GOT], read, &self.tools, stop)?;
                differs.map(|how| ("a file".to_owned(), how))
            }
            None => {
                let came = if kind.puts() { &at.files } else { &at.own };
                let differs = files::differs(&at.source, came, self.act.set(kind).0, read, stop);
                let differs = differs.map_err(|e| self.cannot((kind, route), &e))?;
                differs.map(|(number, how)| (format!("file {number}"), how))
            }
        };
        let (name, way) = (self.act.name(kind), self.act.route_name(route));
        match differs {
            None => Ok(()),
            Some((_, Differs::Length)) => {
                let is_full = statvfs(if kind.puts() { &at.files } else { &at.own })
                    .is_ok_and(|space| space.f_bavail == 0 || space.f_files > 0 && space.f_ffree == 0);
                let full = if is_full { "there is no room left. " } else { "" };
                Err(failed(format!("{name}, {way}: not all came: {full}{said}").trim_end_matches([' ', ':'])))
            }
            Some((file, Differs::Bytes)) => Err(RunError::WrongData(format!(
                "{name}, {way}: {file} has other bytes {}",
                if kind.puts() { "in the server's memory than were put" } else { "than were shared" }
            ))),
        }
    }
}
