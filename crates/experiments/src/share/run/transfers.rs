//! Times transfers, and compares the data that arrived.

use std::{io, path::Path, time::Instant};

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{
    clients::Moved,
    files::{self, Differs, GOT, LARGE, Replaced, Stop},
    nfs::Mounted,
    sandbox::failed,
    setup::{Setup, set_name},
};
use crate::{
    conditions::ProcessorWatch,
    engine::{Cancel, Pulse},
    run::RunError,
    share::{BLOCKS, Route, ShareLoad, TransferKind},
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
        self.ready((kind, route), &files, &stop).map_err(cannot)?;
        if let Some(remote) = self.remote(route).filter(|_| !kind.puts()) {
            remote.clear(GOT, &self.tools, &stop)?;
        }
        let mounts = self.act.is_mounted() && !is_alone;
        let mounted = mounts.then(|| self.mount(route)).transpose()?;
        let places = places(self.act.bytes, self.draws.replace(self.draws.get() + 1));
        let root = Sysroot::live();
        let (watch, since) = (ProcessorWatch::begin(&root), Instant::now());
        let pulse = Pulse::since(since);
        let mut moved = match &self.programs {
            Some(server) if !is_alone => self.run_client_commands(server.as_ref(), (kind, route), cancel)?,
            _ => {
                let there = mounted.as_ref().map_or_else(|| files.clone(), Mounted::dir);
                self.copy((kind, route), &there, &places, &stop).map_err(cannot)?
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
        self.compare((kind, route), (&moved, &places), read, &stop)?;
        let seconds = (moved.ends - moved.begins).as_secs_f64();
        Ok(ShareLoad { kind, route, run, bytes: self.act.moved(kind), seconds, cores, suspended_ns })
    }

    fn what(&self, kind: TransferKind, route: Route) -> String {
        format!("{}, {}", self.act.name(kind), self.act.route_name(route))
    }

    fn cannot(&self, (kind, route): (TransferKind, Route), e: &io::Error) -> RunError {
        let why = format!("{}: {e}", self.what(kind, route));
        if e.get_ref().is_some_and(|e| e.is::<Replaced>()) { RunError::Replaced(why) } else { failed(&why) }
    }

    /// Prepares the directories and drops the files from the page cache, except those on tmpfs.
    fn ready(&self, (kind, route): (TransferKind, Route), files: &Path, stop: Stop<'_>) -> io::Result<()> {
        let (count, most) = (self.act.set(kind).0, self.act.most_files());
        if kind.puts() || route == Route::Existing {
            files::clear(files, most)?;
        }
        if kind.puts() {
            return files::sync(files);
        }
        files::clear(&self.client.file(GOT), most)?;
        if route == Route::Existing {
            files::put(&self.client.file(set_name(kind)), files, count, (false, false), stop)?;
            files::open_to_all(files, count)?;
        }
        files::cool(files, count)
    }

    /// Copies or reads files from this process: of the mounted share, or without a client.
    fn copy(
        &self,
        (kind, route): (TransferKind, Route),
        there: &Path,
        places: &[u64],
        stop: Stop<'_>,
    ) -> io::Result<Moved> {
        let (count, at_once) = (self.act.set(kind).0, kind.has_several_clients());
        // Closing a file writes what is left of it, and says nothing if that fails.
        let to_its_end = route != Route::Server;
        let mut blocks = Vec::new();
        let begins = Instant::now();
        match kind {
            TransferKind::ReadRandom => blocks = files::read_blocks(there, places, BLOCKS.1, stop)?,
            kind if kind.puts() => {
                files::put(&self.client.file(set_name(kind)), there, count, (at_once, to_its_end), stop)?;
            }
            _ if route == Route::Server => files::get(there, count, at_once, stop)?,
            _ => files::put(there, &self.client.file(GOT), count, (at_once, false), stop)?,
        }
        Ok(Moved { begins, ends: Instant::now(), output: String::new(), blocks })
    }

    /// Compares what arrived with the original.
    fn compare(
        &self,
        (kind, route): (TransferKind, Route),
        (moved, places): (&Moved, &[u64]),
        read: bool,
        stop: Stop<'_>,
    ) -> Result<(), RunError> {
        let cannot = |e: io::Error| self.cannot((kind, route), &e);
        let source = self.client.file(set_name(kind));
        let remote = self.remote(route).filter(|_| !kind.puts());
        let differs = if kind == TransferKind::ReadRandom {
            let original =
                files::read_blocks(&self.client.file(LARGE), places, BLOCKS.1, stop).map_err(cannot)?;
            (original != moved.blocks).then_some(Differs::Bytes)
        } else if route == Route::Server && !kind.puts() {
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
                let why = format!("{what}: not all data arrived: {}", moved.output);
                Err(failed(why.trim_end_matches([' ', ':'])))
            }
            Some(Differs::Bytes) => {
                Err(RunError::WrongData(format!("{what}: the data that arrived is not what was sent")))
            }
        }
    }
}

/// Distinct offsets of blocks in a file of so many bytes, other ones for each seed.
fn places(bytes: u64, seed: u64) -> Vec<u64> {
    let (blocks, block) = BLOCKS;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut places = Vec::new();
    while (places.len() as u64) < blocks {
        let place = random.random_range(0..bytes / block) * block;
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn blocks_are_all_within_the_file_and_others_each_time() {
        for bytes in [64 << 20, 1 << 20] {
            let first = places(bytes, 0);
            let different: BTreeSet<u64> = first.iter().copied().collect();
            assert_eq!((first.len(), different.len()), (256, 256), "{bytes}");
            assert!(first.iter().all(|place| place + 4096 <= bytes), "{bytes}");
        }
        assert_ne!(places(64 << 20, 0), places(64 << 20, 1));
    }
}
