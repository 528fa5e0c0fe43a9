//! Random reads of the large file.

use std::{io, time::Instant};

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{
    files::{self, LARGE, Stop},
    setup::Setup,
    transfers::Timed,
};
use crate::{
    conditions::ProcessorWatch,
    engine::Pulse,
    run::RunError,
    share::{Route, ShareTest, TransferKind},
    sysroot::Sysroot,
};

impl Setup {
    /// Times random reads and compares the data.
    pub fn time_random(&self, route: Route, stop: Stop<'_>) -> Result<Timed, RunError> {
        let (name, way) = (self.act.name(TransferKind::ReadRandom), self.act.route_name(route));
        let cannot = |e: io::Error| self.cannot((TransferKind::ReadRandom, route), &e);
        let places = places(&self.act, self.draws.replace(self.draws.get() + 1));
        let bytes = self.act.blocks().1;
        let files = self.files(route);
        files::cool(&files, 1).map_err(cannot)?;
        let mounted = if route == Route::Server { None } else { Some(self.mount(route)?) };
        let dir = mounted.as_ref().map_or(files, |mounted| mounted.dir());
        let root = Sysroot::live();
        let (watch, since) = (ProcessorWatch::begin(&root), Instant::now());
        let pulse = Pulse::since(since);
        let blocks = files::read_blocks(&dir, &places, bytes, stop).map_err(cannot)?;
        let took = since.elapsed();
        let (seconds, suspended_ns) = (took.as_secs_f64(), pulse.missed(0, took.as_nanos() as u64));
        let cores = watch.end(&root, seconds).cores;
        mounted.map_or(Ok(()), |mounted| self.unmount(mounted, route))?;
        let own = self.client.file(LARGE);
        if files::read_blocks(&own, &places, bytes, stop).map_err(cannot)? != blocks {
            return Err(RunError::WrongData(format!("{name}, {way}: other bytes than were shared")));
        }
        Ok(Timed { bytes: blocks.len() as u64, seconds, cores, suspended_ns })
    }
}

/// Distinct offsets of blocks in the large file, other ones in each call.
fn places(act: &ShareTest, time: u64) -> Vec<u64> {
    let (blocks, bytes) = act.blocks();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(time);
    let mut places = Vec::new();
    while (places.len() as u64) < blocks {
        let place = random.random_range(0..(act.bytes / bytes).max(1)) * bytes;
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
        let act = |bytes| ShareTest { bytes, ..ShareTest::least() };
        for (bytes, blocks) in [(64 << 20, 256), (1 << 20, 256), (40_000, 9), (4096, 1), (100, 1)] {
            let first = places(&act(bytes), 0);
            let different: BTreeSet<u64> = first.iter().copied().collect();
            assert_eq!((first.len(), different.len()), (blocks, blocks), "{bytes}");
            let end = first.iter().max().expect("a block") + act(bytes).blocks().1;
            assert!(end <= bytes, "{bytes}");
        }
        assert_ne!(places(&act(64 << 20), 0), places(&act(64 << 20), 1));
    }
}
