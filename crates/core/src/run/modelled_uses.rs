//! What programs see that use modelled memory.

use crate::{
    plan::{SwapTest, SwapWork},
    record::{SwapLoad, Swapped},
    units::Histogram,
};

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
