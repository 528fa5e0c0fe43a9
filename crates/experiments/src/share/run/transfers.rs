//! Times what clients do, and compares what came.

use std::{
    io,
    path::{Path, PathBuf},
    time::Instant,
};

use rustix::fs::statvfs;

use super::{
    apart::{OWN, failed},
    clients::Moved,
    errands::{self, Differs, GOT, Replaced, Stop},
    site::{Site, Speaks, set_name},
};
use crate::{
    conditions::{Core, ProcessorWatch},
    engine::{Cancel, Pulse},
    run::RunError,
    share::{Errand, Part, Via},
    sysroot::Sysroot,
};

/// What a load took.
pub(super) struct Timed {
    pub bytes: u64,
    pub seconds: f64,
    pub cores: Vec<Core>,
    /// For how long this program did not run meanwhile, ns.
    pub suspended_ns: u64,
}

/// Where the files of an errand are.
struct Paths {
    /// Of the share, as this program sees them.
    files: PathBuf,
    /// What is put, as it was made.
    source: PathBuf,
    /// Of the client: where it puts from, or what it gets; and the name of that directory.
    own: PathBuf,
    name: &'static str,
    /// That is on the client's drive.
    has_drive: bool,
}

impl Site {
    /// How long it takes, s, and how busy the processors are meanwhile. What has come is compared, in length or byte by byte.
    pub fn time(&self, (errand, via): (Errand, Via), read: bool, cancel: &Cancel) -> Result<Timed, RunError> {
        let stop = || cancel.is_set();
        if errand == Errand::ReadRandom {
            return self.time_random(via, &stop);
        }
        let at = self.paths(errand, via);
        self.ready((errand, via), &at, &stop).map_err(|e| self.cannot((errand, via), &e))?;
        if let Some(remote) = self.remote(via).filter(|_| !errand.puts()) {
            remote.clear(GOT, &self.tools, &stop)?;
        }
        let root = Sysroot::live();
        let (watch, since) = (ProcessorWatch::begin(&root), Instant::now());
        let pulse = Pulse::since(since);
        let moved = match via {
            Via::Server => self.alone(errand, &at, &stop).map_err(|e| self.cannot((errand, via), &e))?,
            _ => self.moved((errand, via), &at, cancel)?,
        };
        let cores = watch.end(&root, since.elapsed().as_secs_f64()).cores;
        let at_ns = |moment: Instant| (moment - since).as_nanos() as u64;
        let suspended_ns = pulse.missed(at_ns(moved.begins), at_ns(moved.ends));
        moved.mounted.map_or(Ok(()), |mounted| self.unmount(mounted, via))?;
        if via != Via::Server || errand.puts() {
            self.compare((errand, via), &at, (read, &moved.said), &stop)?;
        }
        let seconds = (moved.ends - moved.begins).as_secs_f64();
        Ok(Timed { bytes: self.act.moved(errand), seconds, cores, suspended_ns })
    }

    pub fn cannot(&self, (errand, via): (Errand, Via), e: &io::Error) -> RunError {
        let why = format!("{}, {}: {e}", self.act.name(errand), self.act.way(via));
        if e.get_ref().is_some_and(|e| e.is::<Replaced>()) { RunError::Replaced(why) } else { failed(&why) }
    }

    fn paths(&self, errand: Errand, via: Via) -> Paths {
        let has_drive = self.act.client_dir.is_some() && via.has(Part::ClientDrive);
        let name = match (has_drive, errand.puts()) {
            (true, _) => OWN,
            (false, true) => set_name(errand),
            (false, false) => GOT,
        };
        let (source, own) = (self.client.file(set_name(errand)), self.client.file(name));
        Paths { files: self.files(via), source, own, name, has_drive }
    }

    /// Nothing of what is moved is in memory, but with those who have it there.
    fn ready(&self, (errand, via): (Errand, Via), at: &Paths, stop: Stop<'_>) -> io::Result<()> {
        let Paths { files, source, own, has_drive, .. } = at;
        let (count, most) = (self.act.set(errand).0, self.act.most_files());
        if *has_drive || !errand.puts() {
            errands::clear(own, most)?;
        }
        if !errand.puts() {
            if via == Via::Existing {
                errands::clear(files, most)?;
                errands::put(source, files, count, (false, false), stop)?;
                errands::open_to_all(files, count)?;
            }
            errands::sync(own)?;
            return errands::cool(files, count);
        }
        errands::clear(files, most)?;
        if *has_drive {
            errands::put(source, own, count, (false, false), stop)?;
            errands::cool(own, count)?;
        }
        errands::sync(files)
    }

    /// By the server's own programs.
    fn alone(&self, errand: Errand, at: &Paths, stop: Stop<'_>) -> io::Result<Moved<'_>> {
        let (count, at_once) = (self.act.set(errand).0, errand.has_several_clients());
        let begins = Instant::now();
        match errand.puts() {
            true => errands::put(&at.source, &at.files, count, (at_once, false), stop)?,
            false => errands::get(&at.files, count, at_once, stop)?,
        }
        Ok(Moved { begins, ends: Instant::now(), said: String::new(), mounted: None })
    }

    /// By clients. What is put has come once it is on the drive, and so has what is got by a client with a drive.
    fn moved(
        &self,
        (errand, via): (Errand, Via),
        at: &Paths,
        cancel: &Cancel,
    ) -> Result<Moved<'_>, RunError> {
        let stop = || cancel.is_set();
        let cannot = |e: io::Error| self.cannot((errand, via), &e);
        let moved = match &self.speaks {
            Speaks::Cifs(_) | Speaks::Nfs => self.mounted((errand, via), &at.own, &stop)?,
            Speaks::Told(server) => {
                let room = self.remote(via).is_none().then_some(self.client.room.as_path());
                let there = room.unwrap_or(Path::new("")).join(at.name);
                self.told(server.as_ref(), (errand, via), &there, cancel)?
            }
        };
        match (errand.puts(), at.has_drive) {
            (true, _) => errands::sync(&at.files).map_err(cannot)?,
            (false, true) => errands::sync(&at.own).map_err(cannot)?,
            (false, false) => return Ok(moved),
        }
        Ok(Moved { ends: Instant::now(), ..moved })
    }

    /// What came with what was put, or shared. `said` is what clients said.
    fn compare(
        &self,
        (errand, via): (Errand, Via),
        at: &Paths,
        (read, said): (bool, &str),
        stop: Stop<'_>,
    ) -> Result<(), RunError> {
        let differs = match self.remote(via).filter(|_| !errand.puts()) {
            // Which file differs is not known from there.
            Some(remote) => {
                let differs = remote.differs([set_name(errand), GOT], read, &self.tools, stop)?;
                differs.map(|how| ("a file".to_owned(), how))
            }
            None => {
                let came = if errand.puts() { &at.files } else { &at.own };
                let differs = errands::differs(&at.source, came, self.act.set(errand).0, read, stop);
                let differs = differs.map_err(|e| self.cannot((errand, via), &e))?;
                differs.map(|(number, how)| (format!("file {number}"), how))
            }
        };
        let (name, way) = (self.act.name(errand), self.act.way(via));
        match differs {
            None => Ok(()),
            Some((_, Differs::Length)) => {
                let is_full = statvfs(if errand.puts() { &at.files } else { &at.own })
                    .is_ok_and(|space| space.f_bavail == 0 || space.f_files > 0 && space.f_ffree == 0);
                let full = if is_full { "there is no room left. " } else { "" };
                Err(failed(format!("{name}, {way}: not all came: {full}{said}").trim_end_matches([' ', ':'])))
            }
            Some((file, Differs::Bytes)) => Err(RunError::WrongData(format!(
                "{name}, {way}: {file} has other bytes {}",
                if errand.puts() { "in the server's memory than were put" } else { "than were shared" }
            ))),
        }
    }
}
