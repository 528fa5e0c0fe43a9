//! Tests of when a load ends that has too few bytes or too little time for a sustained speed.

use super::{tests::levels, *};
use crate::units::{Ended, MIB, Window};

/// A load whose bytes or seconds are too few for a sustained speed doesn't use them up.
#[test]
fn a_load_that_may_not_last_long_enough_ends_as_a_span() {
    let all = levels(&[(20_000, 0.05)]);
    let until = |seconds: f64| {
        let mut adaptive = Adaptive::new(&Rules { budget: 1 << 20, ..Rules::standard() }, seconds);
        let _ = all.iter().find(|window| adaptive.push(window).stops());
        adaptive.finish(Some(&Ended::Finished))
    };
    let [short, long] = [0.5, 1.5].map(|share| until(share * Throughput::SUSTAINED_SECONDS));
    assert!(!short.sustained && short.seconds < 0.5 * Throughput::SUSTAINED_SECONDS, "{short:?}");
    assert!(long.sustained && long.seconds >= Throughput::SUSTAINED_SECONDS, "{long:?}");
}

/// A slow drive doesn't continue in vain, and doesn't end before its first look.
#[test]
fn time_is_looked_at_however_few_bytes_there_are() {
    let until = |rules: &Rules, each: f64, seconds: f64| {
        let mut adaptive = Adaptive::new(rules, seconds);
        let all = levels(&[((2.0 * seconds / each) as usize, each)]);
        let stops = |window: &&Window| adaptive.push(window).stops() || window.to_ns as f64 / 1e9 >= seconds;
        let _ = all.iter().find(stops);
        adaptive.finish(Some(&Ended::Finished))
    };
    let slow = until(&Rules::thorough(), 8.0, 1200.0);
    assert!(!slow.sustained && slow.seconds < 400.0 && slow.estimate.is_bounded(), "{slow:?}");
    let rules = Rules { budget: 1 << 20, ..Rules::standard() };
    // The looks by bytes are at 596 s and 745 s.
    let long = until(&rules, 0.25, 700.0);
    assert!(long.sustained && long.seconds <= 701.0, "{long:?}");
    let exact = until(&rules, 0.25, Throughput::SUSTAINED_SECONDS);
    assert!(!exact.sustained && exact.seconds < 100.0, "what takes all of the time has no margin: {exact:?}");
}

#[test]
fn a_load_that_looks_for_a_cliff_leaves_room_for_the_same_once_more() {
    let search = Rules { first: 128, w_min: None, give_up: None, ..Rules::standard() };
    let moved = |mut rule: Adaptive, all: &[Window]| {
        let _ = all.iter().find(|window| rule.push(window).stops());
        (rule.decision, rule.finish(Some(&Ended::Finished)).bytes / MIB)
    };
    for (fast, most) in [(1000, 5000), (2000, 8192 - 2500)] {
        let rules = Rules { budget: 8192, ..search.clone() };
        let all = levels(&[(fast, 0.0025), (8192, 0.016)]);
        let (decision, mib) = moved(Adaptive::new(&rules, f64::INFINITY), &all);
        assert!(decision == Decision::Span && mib <= most, "{fast}: {decision:?} after {mib} MiB");
    }
    let all = levels(&[(1000, 0.0025), (45_000, 0.016)]);
    let rules = Rules { budget: 50_000, ..search };
    let (decision, mib) = moved(Adaptive::new(&rules, f64::INFINITY), &all);
    assert!(decision == Decision::Converged && mib > 37_000, "{decision:?} after {mib} MiB");
    let (decision, mib) = moved(Adaptive::of_fast_part(&rules, f64::INFINITY), &all);
    assert!(decision == Decision::Span && mib < 5000, "the fast part is known: {decision:?} after {mib} MiB");
    let (decision, _) = moved(Adaptive::new(&rules, f64::INFINITY), &all[..20_000]);
    assert_eq!(decision, Decision::Continue);
}

/// A load that ended too soon after a slow-down to be judged is not called drifting: a limit ended it.
#[test]
fn too_little_after_a_slow_down_is_no_drift() {
    let mut adaptive = Adaptive::new(&Rules::thorough(), f64::INFINITY);
    levels(&[(300, 0.02), (36, 0.2)]).iter().for_each(|window| {
        let _ = adaptive.push(window);
    });
    let found = adaptive.finish(Some(&Ended::Finished));
    assert_eq!((found.cliffs.len(), found.reason), (1, Some(Reason::Budget)), "{found:?}");
}
