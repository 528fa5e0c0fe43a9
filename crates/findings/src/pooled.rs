//! One estimate from several runs of one load on one drive.

use crate::analyse::{
    Estimate,
    compare::{across_runs, ratio},
};

/// No interval is narrower than this share of its value when runs are compared with each other.
const FLOOR: f64 = 0.01;
/// Half of a 95 % interval, in standard errors.
const NORMAL: f64 = 1.96;

/// The mean of several runs, oldest first, each with its rounds, which are its weight; and the positions of the runs in it. Runs
/// that differ from the newest are of another state of the drive and are left out; so are those without an interval, if others
/// have one. The interval is widened where the runs scatter by more than their own intervals (the scale factor S of the Particle
/// Data Group, "Review of Particle Physics", introduction, 5.2.2).
pub fn pooled(runs: &[(&Estimate, u32)]) -> Option<(Estimate, Vec<usize>)> {
    let newest = |bounded: bool| runs.iter().rev().find(|(e, _)| !bounded || e.is_bounded());
    let (newest, _) = newest(true).or_else(|| newest(false))?;
    let is_alike = |e: &Estimate| {
        let ratio = ratio(&across_runs(e, None), &across_runs(newest, None));
        e.is_bounded() == newest.is_bounded() && ratio.is_some_and(|ratio| !ratio.different)
    };
    let used: Vec<usize> =
        (0..runs.len()).filter(|&at| std::ptr::eq(runs[at].0, *newest) || is_alike(runs[at].0)).collect();
    if used.len() < 2 {
        return Some(((*newest).clone(), used));
    }
    let all = || used.iter().map(|&at| (runs[at].0, f64::from(runs[at].1.max(1))));
    let sum: f64 = all().map(|(_, weight)| weight).sum();
    let value = all().map(|(e, weight)| e.value * weight).sum::<f64>() / sum;
    let how = format!("{} runs, weighted by rounds", used.len());
    if !newest.is_bounded() {
        return Some((Estimate::unbounded(value, &how), used));
    }
    let half =
        |side: fn(&Estimate) -> f64| all().map(|(e, w)| (side(e) * w).powi(2)).sum::<f64>().sqrt() / sum;
    let deviation = |e: &Estimate| {
        let half = if e.value > value { e.value - e.low } else { e.high - e.value };
        NORMAL * (e.value - value) / half.max(FLOOR * value)
    };
    let scatter = all().map(|(e, _)| deviation(e).powi(2)).sum::<f64>() / (used.len() as f64 - 1.0);
    let scale = scatter.sqrt().max(1.0);
    let ends =
        [(value - scale * half(|e| e.value - e.low)).max(0.0), value + scale * half(|e| e.high - e.value)];
    let converged = all().all(|(e, _)| e.converged);
    Some((Estimate { converged, ..Estimate::between(value, ends, &how) }, used))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(value: f64, share: f64) -> Estimate {
        Estimate::between(value, [value * (1.0 - share), value * (1.0 + share)], "")
    }

    #[test]
    fn rounds_weigh_and_intervals_narrow() {
        let (few, many) = (within(10.0, 0.1), within(10.4, 0.1));
        let (e, used) = pooled(&[(&few, 10), (&many, 30)]).expect("an estimate");
        assert!((e.value - 10.3).abs() < 1e-9 && used == [0, 1], "{e:?}");
        assert!(e.half_width() < 0.09 && e.half_width() > 0.05, "{e:?}");
        assert_eq!(pooled(&[(&few, 10)]), Some((few.clone(), vec![0])));
        assert_eq!(pooled(&[]), None);
    }

    #[test]
    fn runs_that_scatter_widen_the_interval() {
        let (one, other) = (within(10.0, 0.001), within(10.6, 0.001));
        let (e, used) = pooled(&[(&one, 20), (&other, 20)]).expect("an estimate");
        assert!(used.len() == 2 && e.half_width() > 0.003, "{e:?}");
    }

    #[test]
    fn runs_of_another_state_and_without_an_interval_are_left_out() {
        let (old, new, open) = (within(20.0, 0.05), within(10.0, 0.05), Estimate::unbounded(11.0, ""));
        let (e, used) = pooled(&[(&old, 20), (&new, 10), (&open, 90)]).expect("an estimate");
        assert_eq!((e, used), (new, vec![1]));
        let (e, used) = pooled(&[(&open, 1), (&Estimate::unbounded(13.0, ""), 1)]).expect("an estimate");
        assert!(e.value == 12.0 && !e.is_bounded() && used == [0, 1], "{e:?}");
    }
}
