use rand::{Rng, SeedableRng};
use rand_distr::StandardNormal;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;

/// Permutations in tests of a thousand experiments: as exact as more permutations, but coarser.
const FEW: u32 = 199;

/// A crossed experiment: what things and places do to a value, as shares, and noise.
fn experiment(
    things: &[f64],
    places: &[f64],
    (noise, moment): (f64, f64),
    random: &mut Xoshiro256PlusPlus,
) -> (Vec<Arrangement>, Vec<Vec<f64>>) {
    let n = things.len();
    let design = draw(n, rounds(n), random);
    let row = |a: &Arrangement| {
        let now = moment * random.sample::<f64, _>(StandardNormal);
        let one = |(thing, &place): (usize, &usize)| {
            let luck: f64 = random.sample(StandardNormal);
            6.6e6 * (things[thing] + places[place] + now + noise * luck).exp()
        };
        a.iter().enumerate().map(one).collect()
    };
    let values = design.clone().iter().map(row).collect();
    (design, values)
}

fn of(things: &[f64], places: &[f64], noise: f64, seed: u64) -> Crossed {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (design, values) = experiment(things, places, (noise, 0.0), &mut random);
    Crossed::of(&design, &values).expect("a whole experiment")
}

#[test]
fn equal_bays_are_rarely_reported_as_different() {
    for (n, moment, seed) in [(2, 0.02, 1), (3, 0.0, 2), (4, 0.0, 3), (4, 0.02, 4), (5, 0.02, 5)] {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut alarms = 0;
        for _ in 0..1000 {
            let none = vec![0.0; n];
            let (design, values) = experiment(&none, &none, (0.01, moment), &mut random);
            let crossed = Crossed::with(&design, &values, FEW).expect("a whole experiment");
            alarms += u32::from(crossed.things.differ || crossed.places.differ);
        }
        // Where all of one moment rise and fall together the test is nearly exact: 5 % and what luck adds to 1,000.
        let most = if moment > 0.0 { 65 } else { 50 };
        assert!(alarms <= most, "{alarms} of 1000 with {n} drives");
    }
}

#[test]
fn differences_between_drives_are_not_attributed_to_bays() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let drives = [0.0, 0.69, 0.23, 0.21];
    let mut alarms = 0;
    for _ in 0..1000 {
        let (design, values) = experiment(&drives, &[0.0; 4], (0.01, 0.0), &mut random);
        let crossed = Crossed::with(&design, &values, FEW).expect("a whole experiment");
        assert!(crossed.things.differ);
        alarms += u32::from(crossed.places.differ);
    }
    assert!(alarms <= 50, "{alarms} of 1000");
}

#[test]
fn a_slow_bay_is_found_and_measured() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(6);
    let bays = [0.0, 0.0, -0.05, 0.0];
    let (mut found, mut held) = (0, 0);
    for _ in 0..200 {
        let (design, values) = experiment(&[0.0, 0.69, 0.23, 0.21], &bays, (0.01, 0.0), &mut random);
        let crossed = Crossed::with(&design, &values, FEW).expect("a whole experiment");
        let slow = &crossed.places.levels[2];
        found += u32::from(crossed.places.differ && slow.high < 1.0);
        held += u32::from(slow.low <= (-0.05f64).exp() && (-0.05f64).exp() <= slow.high);
    }
    assert!(found >= 190, "found {found} of 200");
    assert!(held >= 190, "within the interval {held} of 200");
}

#[test]
fn shares_lie_in_their_intervals() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let (drives, noise) = ([-0.01, 0.01, 0.0, 0.0], 0.01);
    let brought = drives.iter().map(|d| d * d).sum::<f64>() / 4.0;
    let truth = brought / (brought + noise * noise);
    let mut held = 0;
    for _ in 0..400 {
        let (design, values) = experiment(&drives, &[0.0; 4], (noise, 0.0), &mut random);
        let share = Crossed::with(&design, &values, FEW).expect("a whole experiment").things.share;
        held += u32::from(share.low <= truth && truth <= share.high);
    }
    assert!(held >= 370, "{held} of 400");
}

#[test]
fn four_sticks_of_one_maker() {
    // The read speeds of the four, MB/s, with 0.3 % noise.
    let speeds = [6.6f64, 7.26, 6.40, 6.39].map(f64::ln);
    let crossed = of(&speeds, &[0.0; 4], 0.003, 8);
    assert!(crossed.things.differ && !crossed.places.differ, "{crossed:?}");
    assert!(crossed.things.share.low > 0.95 && crossed.places.share.value < 0.01, "{crossed:?}");
    assert!(crossed.things.p < 0.01 && crossed.places.p > 0.05, "{crossed:?}");
    let second = &crossed.things.levels[1];
    assert!((second.value - 7.26 / (6.6f64 * 6.4).sqrt()).abs() < 0.01 && second.low > 1.1, "{second:?}");
}

#[test]
fn few_arrangements_report_their_low_power() {
    let two = of(&[0.0, 0.5], &[0.0, -0.1], 0.005, 9);
    assert!((two.places.least - 2.0 / 400.0).abs() < 1e-12, "{}", two.places.least);
    assert!(two.things.differ && two.places.differ, "{two:?}");
    let design = vec![vec![0, 1], vec![1, 0]];
    assert_eq!(Crossed::of(&design, &[vec![1.0, 2.0], vec![1.0, 2.0]]), None, "no degrees of freedom");
    let design = vec![vec![0, 1], vec![1, 0], vec![0, 1], vec![1, 0]];
    let one = Crossed::of(&design, &vec![vec![1.0, 2.0]; 4]).expect("a whole experiment");
    assert!((one.things.least - 2.0 / 36.0).abs() < 1e-12 && !one.things.differ, "{one:?}");
}

#[test]
fn incomplete_squares_give_no_result() {
    let design = vec![vec![0, 1, 2], vec![1, 2, 0], vec![2, 0, 1]];
    let row = vec![1.0, 2.0, 3.0];
    assert!(Crossed::of(&design, &vec![row.clone(); 3]).is_some());
    assert_eq!(Crossed::of(&design, &vec![row.clone(); 2]), None);
    assert_eq!(Crossed::of(&design[..2], &vec![row.clone(); 2]), None);
    assert_eq!(Crossed::of(&design, &vec![vec![1.0, 0.0, 3.0]; 3]), None);
    assert_eq!(Crossed::of(&design, &vec![vec![1.0; 3]; 3]), None, "nothing differs at all");
    assert_eq!(Crossed::of(&[], &[]), None);
}

#[test]
fn noncentralities_match_the_distribution() {
    // F with 3 and 6 degrees of freedom: the 95th percentile is 4.757.
    assert_eq!(noncentrality(4.757_062, 3.0, 6.0, 0.950_001), 0.0);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(10);
    for (f, p) in [(20.0, 0.5), (20.0, 0.025), (300.0, 0.975)] {
        let shift = noncentrality(f, 3.0, 6.0, p).sqrt();
        let mut normal = || random.sample::<f64, _>(StandardNormal);
        let below = (0..20_000).filter(|_| {
            let top = (normal() + shift).powi(2) + normal().powi(2) + normal().powi(2);
            let bottom: f64 = (0..6).map(|_| normal().powi(2)).sum();
            (top / 3.0) / (bottom / 6.0) <= f
        });
        let share = below.count() as f64 / 20_000.0;
        assert!((share - p).abs() < 0.012, "{share} is not {p}");
    }
}
