//! What programs see that use modelled memory, and clients of a modelled share.

use crate::{
    plan::{Errand, Part, ShareTest, SwapTest, SwapWork, Via},
    record::{ShareLoad, Shared, SwapLoad, Swapped},
    units::Histogram,
};

/// The drive moves 20 MB/s, the link 12, all else ten times as much.
pub(super) fn share(act: &ShareTest) -> Shared {
    let load = |run: u32, via: Via, errand: Errand| {
        let drive = if via.has(Part::Drive) { 20e6 } else { 200e6 };
        let speed = if via.has(Part::Link) { f64::min(drive, 12e6) } else { drive };
        let bytes = act.moved(errand);
        let seconds = bytes as f64 / speed;
        ShareLoad { errand, via, run, bytes, seconds, cores: Vec::new(), suspended_ns: 0 }
    };
    let runs = (1..=act.runs).flat_map(|run| act.ways().map(move |via| (run, via)));
    let loads = runs.flat_map(|(run, via)| act.errands().map(move |errand| (run, via, errand)));
    let loads = loads.filter(|(_, via, errand)| act.goes(*errand, *via));
    let loads = loads.map(|(run, via, errand)| load(run, via, errand)).collect();
    Shared { server: "Samba".to_owned(), loads, ..Shared::default() }
}

/// Each fault takes 1 ms, and half of the pages beyond what is allowed have to be read.
pub(super) fn swap(act: &SwapTest) -> Swapped {
    let load = |run: u32, work: &SwapWork| {
        let missing = 1.0 - 100.0 / f64::from(work.percent.max(100));
        let nanoseconds = 100_000 + (missing * 16e6) as u64;
        let operations = (act.seconds * 1e9) as u64 / nanoseconds;
        let mut latency = Histogram::default();
        latency.add(nanoseconds, operations);
        let bytes = (missing * operations as f64) as u64 * 16 * 4096;
        SwapLoad {
            work: *work,
            run,
            seconds: act.seconds,
            operations,
            latency,
            processor: act.seconds / 10.0,
            stalled: Some(act.seconds * missing),
            swapped_in: bytes,
            swapped_out: bytes,
            written: Some(bytes),
        }
    };
    let loads = (1..=act.runs).flat_map(|run| act.works.iter().map(move |work| load(run, work)));
    Swapped { made: 3.0, loads: loads.collect(), ..Swapped::default() }
}
