//! How a drive's speed changed since a reference, where it is looked at again and again.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{
    Estimate,
    estimate::FLOOR,
    interval::{average, deviation, student},
    rounds::LEAST,
    stalls::median,
};

/// The share of drives whose speed is called lower at any of all looks, though it is not.
const LEVEL: f64 = 0.05;
/// The standard deviation between days on one drive, which one day can't show: [`FLOOR`] is twice that.
const BETWEEN_DAYS: f64 = FLOOR / 2.0;

/// One of many looks at one drive, each of which may be wrong by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Its number since the reference, from 1.
    pub number: usize,
    /// The loads that are looked at each time.
    pub loads: usize,
}

impl Look {
    /// The error at either end of the interval of one load. Bonferroni's correction with the weights 1/(k(k+1)), whose
    /// sum over all looks is 1 (Dunn, J. Am. Stat. Assoc. 56, 1961, allows any weights).
    fn error(self) -> f64 {
        let number = self.number.max(1) as f64;
        LEVEL / (number * (number + 1.0)) / self.loads.max(1) as f64
    }

    /// How many times the standard error of a mean its interval reaches.
    fn reach(self) -> f64 {
        Normal::standard().inverse_cdf(1.0 - self.error())
    }
}

/// The speed in `recent`, as a multiple of that in `reference`: at most three days each, with the speeds of the same
/// rounds, in which the load is at the same places of the drive. `None` with fewer than four rounds.
///
/// In each round the medians of the days are compared, and the logarithms of their ratios are averaged without the lowest
/// and the highest, so that a few stalls change little. The interval combines the scatter of rounds (Yuen, Biometrika 61,
/// 1974) with that of days: the known one or that of `recent`, whichever is larger. Days that disagree show little.
pub fn change(reference: &[&[f64]], recent: &[&[f64]], look: Look) -> Option<Estimate> {
    let days = || reference.iter().chain(recent);
    let rounds = days().map(|day| day.len()).min()?;
    let is_speed = |speed: &f64| *speed > 0.0 && speed.is_finite();
    let all_are_speeds = days().all(|day| day.iter().all(is_speed));
    if reference.is_empty() || recent.is_empty() || rounds < LEAST || !all_are_speeds {
        return None;
    }
    let typical =
        |days: &[&[f64]], round: usize| median(&days.iter().map(|day| day[round]).collect::<Vec<_>>()).ln();
    let usual: Vec<f64> = (0..rounds).map(|round| typical(reference, round)).collect();
    let ratios =
        |days: &[&[f64]]| usual.iter().zip(0..).map(|(then, round)| typical(days, round) - then).collect();
    let of_days: Vec<f64> = recent.iter().map(|day| trimmed(ratios(&[day])).0).collect();
    let scatter = if recent.len() > 1 { deviation(&of_days) } else { 0.0 };
    let between =
        scatter.max(BETWEEN_DAYS) * error_of_median(reference.len()).hypot(error_of_median(recent.len()));
    let (value, within) = trimmed(ratios(recent));
    let half = look.reach() * between.hypot(within);
    let how = format!("ratio of {rounds} rounds, look {}", look.number);
    Some(Estimate::new(value.exp(), [(value - half).exp(), (value + half).exp()], how, false))
}

/// The standard error of the median of a few normal values, as a multiple of their standard deviation.
fn error_of_median(values: usize) -> f64 {
    match values {
        1 => 1.0,
        2 => std::f64::consts::FRAC_1_SQRT_2,
        // √0.4487 (David and Nagaraja, Order Statistics, 2003, table 3.2).
        _ => 0.670,
    }
}

/// The mean without the lowest and the highest value, and its error such that 1.96 times it is half of Student's interval at
/// 95 %: the variance is that with the two values replaced by their neighbours.
fn trimmed(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    let mean = average(&values[1..last]);
    (values[0], values[last]) = (values[1], values[last - 1]);
    let (all, kept) = (values.len() as f64, last as f64 - 1.0);
    let error = deviation(&values) * all.sqrt() / kept;
    (mean, error * student(last - 2) / Normal::standard().inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Look = Look { number: 1, loads: 1 };

    #[test]
    fn looks_share_one_error() {
        let all: f64 = (1..100_000).map(|number| Look { number, loads: 2 }.error() * 2.0).sum();
        assert!((all - LEVEL).abs() < 1e-6, "{all}");
        // scipy.stats.norm.isf(.05 / 2), and of the 10th look at two loads: isf(.05 / 110 / 2)
        assert!((FIRST.reach() - 1.959_964).abs() < 1e-5);
        assert!((Look { number: 10, loads: 2 }.reach() - 3.505_73).abs() < 1e-3);
    }

    #[test]
    fn places_of_the_drive_cancel_out() {
        let disk: Vec<f64> = (0..7).map(|round| 200.0 - 15.0 * f64::from(round)).collect();
        let slower: Vec<f64> = disk.iter().map(|speed| speed * 0.8).collect();
        let found = change(&[&disk], &[&slower[..]; 3], FIRST).expect("enough rounds");
        assert!((found.value - 0.8).abs() < 1e-9, "{found:?}");
        let half = 1.96 * BETWEEN_DAYS * 1.0f64.hypot(0.67);
        assert!((found.high / found.value - half.exp()).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn a_stall_changes_little() {
        let day: Vec<f64> = (0..7).map(|round| 100.0 + f64::from(round % 3)).collect();
        let mut stalled = day.clone();
        stalled[4] /= 10.0;
        let found = change(&[&day], &[&stalled], FIRST).expect("enough rounds");
        assert!(found.value == 1.0 && found.low > 0.94, "{found:?}");
    }

    #[test]
    fn a_trimmed_mean_has_the_error_of_yuen() {
        // scipy.stats.trim_mean([1, 2, 3, 4, 5, 6, 20], 1/7) is 4; the winsorised deviation is √3.
        let (mean, error) = trimmed(vec![20.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let expected = 3.0f64.sqrt() * 7.0f64.sqrt() / 5.0 * 2.776_445 / 1.959_964;
        assert!(mean == 4.0 && (error - expected).abs() < 1e-4, "{mean} {error} {expected}");
    }

    #[test]
    fn the_error_of_a_median_of_three() {
        use rand::{SeedableRng, distr::Distribution};
        let random = &mut rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
        let three = |_| {
            let values: Vec<f64> = (0..3).map(|_| rand_distr::StandardNormal.sample(random)).collect();
            median(&values)
        };
        let medians: Vec<f64> = (0..40_000).map(three).collect();
        assert!((deviation(&medians) - error_of_median(3)).abs() < 0.01);
    }

    #[test]
    fn days_that_disagree_show_little() {
        let day = |speed: f64| vec![speed; 7];
        let [full, half] = [day(100.0), day(50.0)];
        let found = change(&[&full], &[&full, &half, &half], FIRST).expect("enough rounds");
        assert!(found.value < 0.7 && found.high > 0.95, "{found:?}");
    }

    #[test]
    fn too_few_rounds_show_nothing() {
        assert_eq!(change(&[&[1.0; 3]], &[&[1.0; 7]], FIRST), None);
        assert_eq!(change(&[&[1.0; 7]], &[], FIRST), None);
        assert_eq!(change(&[&[1.0; 7]], &[&[0.0; 7]], FIRST), None);
    }
}
