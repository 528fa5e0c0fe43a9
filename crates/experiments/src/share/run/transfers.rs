//! Times transfers, and compares the data that arrived.

use std::{io, path::Path, time::Instant};

use super::{
    clients::Moved,
    files::{self, Differs, GOT, Stop},
    nfs::Mounted,
    sandbox::failed,
    setup::{Setup, set_name},
};
use crate::{
    conditions::ProcessorWatch,
    engine::{Cancel, Pulse},
    run::RunError,
    share::{Route, ShareLoad, TransferKind},
    sysroot::Sysroot,
};

impl Setup {
    /// Times a transfer and compares the data: by length, and if `read` by its bytes.
    pub fn time(
        &self,
        (kind, route): (TransferKind, Route),
        (run, read): (u32, bool),
        cancel: &Cancel,
    ) -> Result<ShareLoad, RunError> {
        let stop = || cancel.is_set();
        let cannot = |e: io::Error| self.cannot((kind, route), &e);
        let (is_alone, files) = (route == Route::Server, self.files(route));
        self.ready(kind, &files).map_err(cannot)?;
        if let Some(remote) = self.remote(route).filter(|_| !kind.puts()) {
            remote.clear(GOT, &self.tools, &stop)?;
        }
        let mounts = self.act.is_mounted() && !is_alone;
        let mounted = mounts.then(|| self.mount(route)).transpose()?;
        let root = Sysroot::live();
        let (watch, since) = (ProcessorWatch::begin(&root), Instant::now());
        let pulse = Pulse::since(since);
        let mut moved = match &self.programs {
            Some(server) if !is_alone => self.run_client_commands(server.as_ref(), (kind, route), cancel)?,
            _ => {
                let there = mounted.as_ref().map_or_else(|| files.clone(), Mounted::dir);
                self.copy((kind, route), &there, &stop).map_err(cannot)?
            }
        };
        // A transfer ends when its data is on the drive.
        if kind.puts() && !is_alone {
            files::sync(&files).map_err(cannot)?;
            moved.ends = Instant::now();
        }
        let cores = watch.end(&root, since.elapsed().as_secs_f64()).cores;
        let at_ns = |moment: Instant| (moment - since).as_nanos() as u64;
        let suspended_ns = pulse.missed(at_ns(moved.begins), at_ns(moved.ends));
        mounted.map_or(Ok(()), Mounted::unmount)?;
        self.compare((kind, route), &moved.output, read, &stop)?;
        let seconds = (moved.ends - moved.begins).as_secs_f64();
        Ok(ShareLoad { kind, route, run, bytes: self.act.moved(kind), seconds, cores, suspended_ns })
    }

    fn what(&self, kind: TransferKind, route: Route) -> String {
        format!("{}, {}", self.act.name(kind), self.act.route_name(route))
    }

    fn cannot(&self, (kind, route): (TransferKind, Route), e: &io::Error) -> RunError {
        failed(&format!("{}: {e}", self.what(kind, route)))
    }

    /// Prepares the directories and drops the files from the page cache, except those on tmpfs.
    fn ready(&self, kind: TransferKind, files: &Path) -> io::Result<()> {
        let (count, most) = (self.act.set(kind).0, self.act.most_files());
        if kind.puts() {
            return files::clear(files, most).and_then(|()| files::sync(files));
        }
        files::clear(&self.client.file(GOT), most)?;
        files::cool(files, count)
    }

    /// Copies or reads files from this process: of the mounted share, or without a client.
    fn copy(&self, (kind, route): (TransferKind, Route), there: &Path, stop: Stop<'_>) -> io::Result<Moved> {
        let (count, at_once) = (self.act.set(kind).0, kind.has_several_clients());
        // Closing a file writes what is left of it, and says nothing if that fails.
        let to_its_end = route != Route::Server;
        let begins = Instant::now();
        match route {
            _ if kind.puts() => {
                files::put(&self.client.file(set_name(kind)), there, count, (at_once, to_its_end), stop)?;
            }
            Route::Server => files::get(there, count, at_once, stop)?,
            _ => files::put(there, &self.client.file(GOT), count, (at_once, false), stop)?,
        }
        Ok(Moved { begins, ends: Instant::now(), output: String::new() })
    }

    /// Compares what arrived with the original.
    fn compare(
        &self,
        (kind, route): (TransferKind, Route),
        output: &str,
        read: bool,
        stop: Stop<'_>,
    ) -> Result<(), RunError> {
        let cannot = |e: io::Error| self.cannot((kind, route), &e);
        let source = self.client.file(set_name(kind));
        let remote = self.remote(route).filter(|_| !kind.puts());
        let differs = if route == Route::Server && !kind.puts() {
            // What was read there is not kept.
            None
        } else if let Some(remote) = remote {
            remote.differs([set_name(kind), GOT], read, &self.tools, stop)?
        } else {
            let came = if kind.puts() { self.files(route) } else { self.client.file(GOT) };
            files::differs(&source, &came, self.act.set(kind).0, read, stop).map_err(cannot)?
        };
        let what = self.what(kind, route);
        match differs {
            None => Ok(()),
            Some(Differs::Length) => {
                let why = format!("{what}: not all data arrived: {output}");
                Err(failed(why.trim_end_matches([' ', ':'])))
            }
            Some(Differs::Bytes) => {
                Err(RunError::WrongData(format!("{what}: the data that arrived is not what was sent")))
            }
        }
    }
}
