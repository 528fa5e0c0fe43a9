//! Simultaneous loads: which shared ceilings explain the speed that they lose compared to running alone.
//!
//! Each drive has its own speed, and each group of drives may have a ceiling for its sum. Drives below a ceiling
//! share it evenly, but none gets more than its own speed. The set of ceilings that fits best is chosen; each
//! ceiling must improve chi-square by more than 4.

use super::{Estimate, interval::student};

/// Loads that ran at the same time, once or several times.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trial {
    /// The drives; one if it ran alone.
    pub members: Vec<usize>,
    /// Bytes per second of each member, for each repetition.
    pub runs: Vec<Vec<f64>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SharedCeilings {
    /// The ceilings that explain the losses; none if the drives are the limit.
    pub ceilings: Vec<FittedCeiling>,
    /// The unexplained part: chi-square per measured value; 1 or less is noise.
    pub misfit: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FittedCeiling {
    /// Position in the given groups.
    pub group: usize,
    pub ceiling: Estimate,
    /// How much worse the best fit without this ceiling is, as chi-square.
    pub margin: f64,
    /// In how many different trials it was reached.
    pub reached: usize,
    /// In one of them, drives outside the group also ran and lost nothing.
    pub others_free: bool,
}

/// The minimum improvement by a ceiling.
const WORTH: f64 = 4.0;
/// The minimum error of a run, as a share.
const FLOOR: f64 = 0.015;
/// Drives below a ceiling share it evenly, within this share.
const EVEN: f64 = 0.25;
/// A ceiling must be below the sum of its drives by at least this share.
const SMALL: f64 = 0.04;
/// The maximum number of groups of which all sets are tried. More groups with losses are rare.
const MOST_GROUPS: usize = 5;
/// The spread assumed without repetitions, as a share.
const UNKNOWN: f64 = 0.05;

/// `groups` are lists of drives. `None` if a drive was not measured alone, or if no loads ran at the same time.
pub fn fit_ceilings(trials: &[Trial], groups: &[Vec<usize>]) -> Option<SharedCeilings> {
    let data = Data::new(trials)?;
    let groups = lossy(&data, groups);
    let members_of =
        |chosen: &[usize]| -> Vec<&[usize]> { chosen.iter().map(|&g| &groups[g].1[..]).collect() };
    let scored: Vec<(Vec<usize>, Vec<f64>, f64)> = (0..1usize << groups.len())
        .filter_map(|set| {
            let chosen: Vec<usize> = (0..groups.len()).filter(|g| set >> g & 1 == 1).collect();
            let (values, chi2) = data.fit(&members_of(&chosen))?;
            let score = chi2 + WORTH * chosen.len() as f64;
            Some((chosen, values, score))
        })
        .collect();
    let (chosen, values, score) = scored.iter().min_by(|a, b| a.2.total_cmp(&b.2))?;
    let members = members_of(chosen);
    let ceilings = chosen.iter().enumerate().map(|(at, g)| {
        let without = scored.iter().filter(|(others, ..)| !others.contains(g)).map(|(.., score)| *score);
        let (reached, others_free, error) = data.evidence(&members, values, at);
        let value = values[at];
        FittedCeiling {
            group: groups[*g].0,
            ceiling: Estimate::new(
                value,
                [(value - error).max(0.0), value + error],
                "ceiling fitted to loads alone and at once",
                false,
            ),
            margin: without.fold(f64::INFINITY, f64::min) - score,
            reached,
            others_free,
        }
    });
    let chi2 = score - WORTH * chosen.len() as f64;
    let count: usize = data.trials.iter().map(|t| t.members.len()).sum();
    Some(SharedCeilings { ceilings: ceilings.collect(), misfit: chi2 / count as f64 })
}

/// Groups that lost speed in a trial, with their positions; if there are many, those with the largest losses.
fn lossy(data: &Data<'_>, groups: &[Vec<usize>]) -> Vec<(usize, Vec<usize>)> {
    let mut lost: Vec<(f64, usize, Vec<usize>)> = groups
        .iter()
        .enumerate()
        .filter(|(_, group)| group.len() > 1)
        .map(|(at, group)| (data.loss(group), at, group.clone()))
        .filter(|(loss, ..)| *loss > SMALL)
        .collect();
    lost.sort_by(|a, b| b.0.total_cmp(&a.0));
    lost.truncate(MOST_GROUPS);
    lost.into_iter().map(|(_, at, group)| (at, group)).collect()
}

struct Data<'a> {
    trials: Vec<&'a Trial>,
    alone: Vec<f64>,
    /// How often each was measured alone.
    repeated: Vec<f64>,
    /// The spread of repetitions of each, as a share.
    spread: Vec<f64>,
    /// Degrees of freedom of `spread`.
    degrees: usize,
}

#[derive(Clone, Copy)]
struct Expected {
    speed: f64,
    /// The ceiling that limits it, as a position in the set.
    held_by: Option<usize>,
}

impl<'a> Data<'a> {
    fn new(trials: &'a [Trial]) -> Option<Self> {
        let drives = trials.iter().flat_map(|t| &t.members).max()? + 1;
        let usable: Vec<&Trial> = trials.iter().filter(|t| !t.runs.is_empty()).collect();
        let (single, several): (Vec<&Trial>, Vec<&Trial>) = usable.iter().partition(|t| t.members.len() == 1);
        let mut alone = vec![f64::NAN; drives];
        let mut repeated = vec![0.0; drives];
        for trial in single {
            alone[trial.members[0]] = trial.mean(0);
            repeated[trial.members[0]] = trial.runs.len() as f64;
        }
        let known = |t: &&Trial| t.members.iter().all(|&m| alone[m].is_finite() && alone[m] > 0.0);
        if several.is_empty() || !several.iter().all(known) {
            return None;
        }
        let mut own = vec![(0.0, 0.0); drives];
        for trial in &usable {
            for (at, &member) in trial.members.iter().enumerate() {
                let mean = trial.mean(at);
                let squares: f64 = trial.runs.iter().map(|run| (run[at] / mean - 1.0).powi(2)).sum();
                own[member].0 += squares;
                own[member].1 += trial.runs.len() as f64 - 1.0;
            }
        }
        let (squares, degrees) = own.iter().fold((0.0, 0.0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
        let common = if degrees > 0.0 { squares / degrees } else { UNKNOWN * UNKNOWN };
        // A drive's own spread comes from few runs, so it is pooled with the common spread, weighted as `PRIOR` runs.
        let spread =
            own.iter().map(|(squares, n)| ((squares + PRIOR * common) / (n + PRIOR)).sqrt()).collect();
        Some(Self { trials: several, alone, repeated, spread, degrees: degrees as usize })
    }

    /// The largest loss in a trial, as a share of the group's sum.
    fn loss(&self, group: &[usize]) -> f64 {
        let loss = |trial: &&Trial| {
            let in_group = |m: &(usize, &usize)| group.contains(m.1);
            let (mut seen, mut own) = (0.0, 0.0);
            for (at, &member) in trial.members.iter().enumerate().filter(in_group) {
                seen += trial.mean(at);
                own += self.alone[member];
            }
            if own > 0.0 { 1.0 - seen / own } else { 0.0 }
        };
        self.trials.iter().map(loss).fold(0.0, f64::max)
    }

    /// The expected speeds of a trial's members: all rise evenly until their own speed or a ceiling limits them.
    fn expect(&self, trial: &Trial, groups: &[&[usize]], ceilings: &[f64]) -> Vec<Expected> {
        let mut expected: Vec<Option<Expected>> = vec![None; trial.members.len()];
        while expected.iter().any(Option::is_none) {
            let level = |(c, group): (usize, &&[usize])| {
                let inside = trial.members.iter().zip(&expected).filter(|(m, _)| group.contains(m));
                let (mut left, mut rising) = (ceilings[c], 0.0);
                for (_, done) in inside {
                    match done {
                        Some(e) => left -= e.speed,
                        None => rising += 1.0,
                    }
                }
                (rising > 0.0).then_some((left.max(0.0) / rising, c))
            };
            let lowest = groups.iter().enumerate().filter_map(level).min_by(|a, b| a.0.total_cmp(&b.0));
            let rising = trial.members.iter().zip(&expected).filter(|(_, done)| done.is_none());
            let slowest = rising.map(|(&m, _)| self.alone[m]).fold(f64::INFINITY, f64::min);
            let held = lowest.filter(|(level, _)| *level < slowest);
            for (&member, done) in trial.members.iter().zip(&mut expected).filter(|(_, d)| d.is_none()) {
                match held {
                    Some((speed, c)) if groups[c].contains(&member) => {
                        *done = Some(Expected { speed, held_by: Some(c) });
                    }
                    None if self.alone[member] <= slowest => {
                        *done = Some(Expected { speed: slowest, held_by: None });
                    }
                    _ => {}
                }
            }
        }
        expected.into_iter().flatten().collect()
    }

    /// The standard error of a mean of this trial, as a share.
    fn error(&self, trial: &Trial, member: usize) -> f64 {
        (self.spread[member].powi(2) / trial.runs.len() as f64 + FLOOR * FLOOR).sqrt()
    }

    /// Chi-square of a trial against its expectation.
    fn chi2(&self, trial: &Trial, groups: &[&[usize]], ceilings: &[f64]) -> f64 {
        let expected = self.expect(trial, groups, ceilings);
        let mut chi2 = 0.0;
        // For each ceiling: expected sum, measured sum, and error.
        let mut held = vec![(0.0, 0.0, 0.0); groups.len()];
        for (at, (&member, e)) in trial.members.iter().zip(&expected).enumerate() {
            let (seen, error) = (trial.mean(at), self.error(trial, member));
            match e.held_by {
                None => {
                    let alone = self.spread[member] / self.repeated[member].sqrt();
                    chi2 += ((seen / e.speed - 1.0) / error.hypot(alone)).powi(2);
                }
                Some(c) => {
                    let (should, did, errors) = &mut held[c];
                    *should += e.speed;
                    *did += seen;
                    *errors += (error * e.speed).powi(2);
                    chi2 += ((seen / e.speed - 1.0) / EVEN).powi(2);
                }
            }
        }
        let sums = held.iter().filter(|(should, ..)| *should > 0.0);
        // Differences between members of a ceiling cancel. Their common error is at least
        // the minimum error, which they share.
        let sum = |(should, did, errors): &(f64, f64, f64)| {
            (did - should).powi(2) / (errors + (FLOOR * should).powi(2))
        };
        chi2 + sums.map(sum).sum::<f64>()
    }

    /// The best ceilings for these groups, and the remaining chi-square; `None` if one of them would limit nothing.
    fn fit(&self, groups: &[&[usize]]) -> Option<(Vec<f64>, f64)> {
        let total = |ceilings: &[f64]| -> f64 {
            self.trials.iter().map(|trial| self.chi2(trial, groups, ceilings)).sum()
        };
        let own: Vec<f64> = groups.iter().map(|group| group.iter().map(|&m| self.alone[m]).sum()).collect();
        let mut ceilings: Vec<f64> =
            groups.iter().zip(&own).map(|(group, own)| own * (1.0 - self.loss(group))).collect();
        for _ in 0..if groups.len() > 1 { ROUNDS } else { 1 } {
            for c in 0..groups.len() {
                let mut at = |x: f64| {
                    ceilings[c] = x;
                    total(&ceilings)
                };
                ceilings[c] = lowest(&mut at, 0.05 * own[c], own[c]);
            }
        }
        let binds = |c: usize| {
            self.trials.iter().any(|trial| {
                let members = trial.members.iter().filter(|m| groups[c].contains(m));
                let own: f64 = members.map(|&m| self.alone[m]).sum();
                let expected = self.expect(trial, groups, &ceilings);
                expected.iter().any(|e| e.held_by == Some(c)) && ceilings[c] < (1.0 - SMALL) * own
            })
        };
        (0..groups.len()).all(binds).then(|| (ceilings.clone(), total(&ceilings)))
    }

    /// In how many trials a ceiling was reached, whether other drives ran unlimited at the same time, and its error.
    fn evidence(&self, groups: &[&[usize]], ceilings: &[f64], at: usize) -> (usize, bool, f64) {
        let (mut reached, mut others_free, mut weight) = (0, false, 0.0);
        for trial in &self.trials {
            let expected = self.expect(trial, groups, ceilings);
            let Some(i) = expected.iter().position(|e| e.held_by == Some(at)) else { continue };
            reached += 1;
            weight += self.error(trial, trial.members[i]).powi(-2);
            let outside = trial.members.iter().zip(&expected).filter(|(m, _)| !groups[at].contains(m));
            let free: Vec<bool> = outside.map(|(_, e)| e.held_by.is_none()).collect();
            others_free |= !free.is_empty() && free.iter().all(|free| *free);
        }
        let t = if self.degrees > 0 { student(self.degrees) } else { f64::INFINITY };
        (reached, others_free, t * ceilings[at] / weight.sqrt())
    }
}

/// Weight of the common spread of all drives, in runs.
const PRIOR: f64 = 4.0;
/// Rounds in which each ceiling is fitted with the others fixed. They converge within about two.
const ROUNDS: usize = 3;

impl Trial {
    fn mean(&self, at: usize) -> f64 {
        self.runs.iter().map(|run| run[at]).sum::<f64>() / self.runs.len() as f64
    }
}

/// The minimum of a function between `low` and `high`: on a grid first, because there may be several local minima.
fn lowest(f: &mut dyn FnMut(f64) -> f64, low: f64, high: f64) -> f64 {
    const STEPS: u32 = 40;
    let step = (high / low).powf(1.0 / f64::from(STEPS));
    let grid = (0..=STEPS).map(|i| low * step.powi(i as i32));
    let best = grid.map(|x| (x, f(x))).min_by(|a, b| a.1.total_cmp(&b.1)).map_or(high, |(x, _)| x);
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let (mut a, mut b) = (best / step, (best * step).min(high));
    for _ in 0..20 {
        let (x, y) = (b - golden * (b - a), a + golden * (b - a));
        if f(x) <= f(y) { b = y } else { a = x }
    }
    (a + b) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trial of three repetitions around these speeds.
    fn trial(members: &[usize], speeds: &[f64]) -> Trial {
        let run = |factor: f64| speeds.iter().map(|s| s * 1e6 * factor).collect();
        Trial { members: members.to_vec(), runs: [0.995, 1.0, 1.005].map(run).to_vec() }
    }

    fn alone(speeds: &[f64]) -> Vec<Trial> {
        speeds.iter().enumerate().map(|(i, s)| trial(&[i], &[*s])).collect()
    }

    #[test]
    fn no_ceiling_if_drives_reach_their_sum() {
        let trials = [alone(&[7.0, 6.6]), vec![trial(&[0, 1], &[6.95, 6.58])]].concat();
        let found = fit_ceilings(&trials, &[vec![0, 1]]).expect("an answer");
        assert!(found.ceilings.is_empty() && found.misfit < 1.0, "{found:?}");
    }

    #[test]
    fn ceilings_of_two_hubs_are_found() {
        let trials = [
            alone(&[8.0, 8.0, 10.0, 10.0]),
            vec![
                trial(&[0, 1], &[4.5, 4.5]),
                trial(&[2, 3], &[6.0, 6.0]),
                trial(&[0, 2], &[8.0, 10.0]),
                trial(&[0, 1, 2, 3], &[4.5, 4.5, 6.0, 6.0]),
            ],
        ]
        .concat();
        let groups = [vec![0, 1, 2, 3], vec![0, 1], vec![2, 3]];
        let found = fit_ceilings(&trials, &groups).expect("an answer");
        let named: Vec<(usize, f64)> =
            found.ceilings.iter().map(|c| (c.group, (c.ceiling.value / 1e4).round() / 100.0)).collect();
        assert_eq!(named, [(1, 9.0), (2, 12.0)], "{found:?}");
        assert!(found.ceilings.iter().all(|c| c.margin > 50.0 && c.reached == 2), "{found:?}");
        // Without the trials of each hub alone, a common ceiling could explain the same.
        let found = fit_ceilings(&[&trials[..4], &trials[7..]].concat(), &groups).expect("an answer");
        assert!(found.ceilings.iter().all(|c| c.margin < 10.0), "{found:?}");
    }

    #[test]
    fn only_the_limited_hub_has_a_ceiling() {
        let trials = [
            alone(&[8.0, 8.0, 3.0]),
            vec![
                trial(&[0, 1], &[4.5, 4.5]),
                trial(&[0, 2], &[8.0, 3.0]),
                trial(&[0, 1, 2], &[4.5, 4.5, 3.0]),
            ],
        ]
        .concat();
        let found = fit_ceilings(&trials, &[vec![0, 1, 2], vec![0, 1]]).expect("an answer");
        let [one] = &found.ceilings[..] else { panic!("{found:?}") };
        assert!((one.group, one.others_free) == (1, true) && one.margin > 50.0, "{one:?}");
        assert!(
            one.ceiling.low < 9e6 && one.ceiling.high > 9e6 && one.ceiling.half_width() < 0.05,
            "{one:?}"
        );
    }

    #[test]
    fn a_slow_drive_keeps_its_speed_below_a_ceiling() {
        let trials = [alone(&[20.0, 3.0]), vec![trial(&[0, 1], &[12.0, 3.0])]].concat();
        let found = fit_ceilings(&trials, &[vec![0, 1]]).expect("an answer");
        assert!(
            (found.ceilings[0].ceiling.value / 15e6 - 1.0).abs() < 0.01 && found.misfit < 1.0,
            "{found:?}"
        );
    }

    #[test]
    fn too_few_trials_give_no_ceilings() {
        assert_eq!(fit_ceilings(&[], &[]), None);
        assert_eq!(fit_ceilings(&alone(&[1.0, 1.0]), &[vec![0, 1]]), None);
        assert_eq!(fit_ceilings(&[trial(&[0], &[1.0]), trial(&[0, 1], &[1.0, 1.0])], &[vec![0, 1]]), None);
        // Without repetitions there is no interval.
        let once = |members: &[usize], speeds: &[f64]| Trial {
            members: members.to_vec(),
            runs: vec![speeds.to_vec()],
        };
        let trials = [once(&[0], &[8e6]), once(&[1], &[8e6]), once(&[0, 1], &[4e6, 4e6])];
        let found = fit_ceilings(&trials, &[vec![0, 1]]).expect("an answer");
        assert_eq!(found.ceilings[0].ceiling.high, f64::INFINITY);
    }
}
