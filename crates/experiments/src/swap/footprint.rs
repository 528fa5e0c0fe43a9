//! How far memory can be overcommitted before requests take ten times as long.

use super::{act::SwapLoadResult, findings::Load};
use crate::analyse::{Estimate, repeat};

/// Requests that take this many times as long mark the limit.
pub(super) const LONGER: f64 = 10.0;

/// Where at least one run did not reach the limit, or was ended before it.
pub(super) fn at_least(times: f64) -> Estimate {
    Estimate::between(times, [times, f64::INFINITY], "not reached in all runs")
}

/// Usable memory as a multiple of the limit, from all runs; a complete run goes up to `most` percent. `None` if no run tells it.
pub(super) fn footprint(loads: &[Load<'_>], most: u32) -> Option<Estimate> {
    let mut runs: Vec<u32> = loads.iter().map(|load| load.act.run).collect();
    runs.dedup();
    let (mut found, mut not_reached, mut ended) = (Vec::new(), false, 0.0_f64);
    let most = f64::from(most) / 100.0;
    for run in runs {
        let of_run = loads.iter().filter(|load| load.act.run == run);
        let point = |load: &Load<'_>| Some((f64::from(load.act.percent) / 100.0, time(load)?));
        let points: Vec<(f64, f64)> = of_run.filter_map(point).collect();
        match (crossing(&points), points.last()) {
            (Some(at), _) => found.push(at),
            (None, Some((last, _))) if *last >= most => not_reached = true,
            // It was ended early: it holds until there.
            (None, Some((last, _))) if *last > 1.0 => ended = ended.max(*last),
            _ => {}
        }
    }
    match (not_reached, found.is_empty()) {
        (true, _) => Some(at_least(found.into_iter().fold(most, f64::min))),
        (false, true) => (ended > 1.0).then(|| at_least(ended)),
        (false, false) => repeat::typical(&found),
    }
}

/// Seconds of a request, on average.
fn time(load: &Load<'_>) -> Option<f64> {
    let SwapLoadResult { operations, seconds, .. } = load.result;
    (*operations > 0).then(|| seconds / *operations as f64)
}

/// From where on requests take ten times as long as those of the first point, which fits into memory, at all that was tried: what something else
/// that the machine did made slow at less is no limit. Between two points the time is taken to grow with the share of pages that are not in memory.
fn crossing(points: &[(f64, f64)]) -> Option<f64> {
    let (_, fits) = *points.first()?;
    let missing = |of: f64| (1.0 - 1.0 / of).max(0.0);
    let limit = fits * LONGER;
    let last = points.iter().rposition(|(_, time)| *time < limit)?;
    let [before, after] = [points[last], *points.get(last + 1)?].map(|(of, time)| (missing(of), time));
    let share = (limit - before.1) / (after.1 - before.1);
    Some(1.0 / (1.0 - before.0 - share * (after.0 - before.0)))
}

#[cfg(test)]
mod tests {
    use super::{super::act::UseSwap, *};

    /// 0.1 ms of work, and 16 pages, of which those that are not in memory take this long.
    fn loads(fault: f64, runs: u32) -> Vec<(UseSwap, SwapLoadResult)> {
        let one = |run: u32, percent: u32| {
            let missing = (1.0 - 100.0 / f64::from(percent)).max(0.0);
            let operations = (500.0 / (0.1e-3 + 16.0 * missing * fault)) as u64;
            let act = UseSwap { percent, run, memory: 1 << 26, random: 50, seconds: 500.0, seed: 1 };
            (act, SwapLoadResult { seconds: 500.0, operations, ..SwapLoadResult::default() })
        };
        (1..=runs).flat_map(|run| [50, 110, 125, 150, 200].map(|percent| one(run, percent))).collect()
    }

    fn footprint(loads: &[(UseSwap, SwapLoadResult)], most: u32) -> Option<Estimate> {
        let loads: Vec<Load<'_>> = loads.iter().map(|(act, result)| Load { act, result }).collect();
        super::footprint(&loads, most)
    }

    #[test]
    fn the_footprint_is_where_requests_take_ten_times_as_long() {
        for fault in [0.2e-3, 0.5e-3, 0.9e-3, 5e-3] {
            let missing = 0.9e-3 / 16.0 / fault;
            let found = footprint(&loads(fault, 3), 200).expect("is reached");
            let truth = 1.0 / (1.0 - missing);
            assert!((found.value / truth - 1.0).abs() < 0.01, "{} is not {truth}", found.value);
        }
        assert_eq!(footprint(&loads(0.05e-3, 3), 200), Some(at_least(2.0)));
        // Where only some runs reach it, no more is claimed than holds for all.
        let mut mixed = loads(0.2e-3, 3);
        mixed.retain(|(act, _)| act.run < 3);
        mixed.extend(loads(0.05e-3, 3).into_iter().filter(|(act, _)| act.run == 3));
        let least = footprint(&mixed, 200).expect("a bound").low;
        assert!((least * (1.0 - 0.9e-3 / 16.0 / 0.2e-3) - 1.0).abs() < 0.01, "{least}");
        assert_eq!(footprint(&[], 200), None);
        // One slow load is no limit if requests that use more are fast again.
        for (fault, slow) in [(0.05e-3, 110), (0.05e-3, 150), (0.1e-3, 110)] {
            let mut hiccup = loads(fault, 3);
            let is_one = |load: &&mut (UseSwap, SwapLoadResult)| load.0.run == 2 && load.0.percent == slow;
            hiccup.iter_mut().filter(is_one).for_each(|(_, result)| result.operations /= 20);
            assert_eq!(footprint(&hiccup, 200), footprint(&loads(fault, 3), 200), "{fault}, {slow}");
        }
        // A run that was ended early neither replaces others, nor says more than it saw.
        let mut cut = loads(0.2e-3, 2);
        cut.retain(|(act, _)| act.run < 2 || act.percent <= 110);
        assert_eq!(footprint(&cut, 200), footprint(&loads(0.2e-3, 1), 200));
        cut.retain(|(act, _)| act.run == 2);
        assert_eq!(footprint(&cut, 200), Some(at_least(1.1)));
    }
}
