//! Whether a drive is fit for a use, by its numbers. Thresholds and their sources: `docs/reference/fitness.md`.

use serde::{Deserialize, Serialize};

use crate::{
    analyse::Estimate,
    pooled::pooled,
    units::{count, decimal_bytes, duration, listed, rate, thousands},
};

/// What a drive is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    Media,
    Backups,
    System,
    Swap,
    Databases,
    /// Data that must not be lost.
    Safekeeping,
}

/// A number that a use depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Sequential reads in blocks of 1 MiB, bytes per second.
    Reads,
    /// Sequential writes in blocks of 1 MiB, bytes per second.
    Writes,
    /// Random reads of 4 KiB, operations per second.
    RandomReads,
    /// Random writes of 4 KiB, operations per second.
    RandomWrites,
    /// The longest time that an operation took beyond the usual one, seconds.
    Stops,
    /// The slowest of a hundred synced random writes of 4 KiB, seconds.
    Commits,
    /// The longest wait of a program that swapped to the drive, seconds. It decides instead of the speed and the stops of the drive.
    SwapWaits,
    /// Data that was acknowledged as stored and is lost, bytes.
    Kept,
    /// Reads that returned something else than was written.
    RightData,
}

/// Whether a drive is fit for a use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Fit,
    /// The first number that is too bad, in the unit of its need.
    Unfit(Need, f64),
    /// The threshold lies within the interval of this number. Without ends it was not measured, or not long enough.
    Undecided(Need, Option<[f64; 2]>),
}

/// The verdict on one target for one use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fitness {
    /// The target as the person wrote it.
    pub target: String,
    #[serde(rename = "use")]
    pub purpose: Use,
    pub verdict: Verdict,
}

/// The numbers of a drive that decide what it is fit for, as far as they were measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measures {
    /// Rounds in which the speeds were measured; 0 where they were not measured in rounds.
    pub rounds: u32,
    /// Bytes per second.
    pub reads: Option<Estimate>,
    /// Bytes per second.
    pub writes: Option<Estimate>,
    /// Operations per second.
    pub random_reads: Option<Estimate>,
    /// Operations per second.
    pub random_writes: Option<Estimate>,
    /// The longest stop that was seen, seconds.
    pub longest_stop: Option<f64>,
    /// Whether reads and writes were each watched long enough to exclude longer stops.
    pub watched_stops: bool,
    /// The slowest of a hundred synced writes in each run, seconds.
    pub commits: Vec<Option<Estimate>>,
    pub swap: Option<SwapTest>,
    pub kept: Option<KeptData>,
}

/// The result of a test of swap on the drive itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SwapTest {
    /// The longest wait of the program, seconds.
    pub longest_wait: Option<f64>,
    /// Whether the test had to be ended early.
    pub was_stopped: bool,
}

/// Data that differed from what was acknowledged, after a power cut or while a drive of a pool was away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeptData {
    pub lost_bytes: u64,
    /// Reads that returned something else than was written.
    pub wrong_reads: u64,
}

impl Use {
    /// The uses that depend on speeds and waits.
    pub const ALL: [Self; 5] = [Self::Media, Self::Backups, Self::System, Self::Swap, Self::Databases];

    pub fn name(self) -> &'static str {
        match self {
            Self::Media => "media",
            Self::Backups => "backups",
            Self::System => "a system",
            Self::Swap => "swap",
            Self::Databases => "databases",
            Self::Safekeeping => "data that must not be lost",
        }
    }

    /// The needs of a use with their thresholds: minimum speeds and maximum times.
    fn needs(self) -> &'static [(Need, f64)] {
        match self {
            // A stream of 40 Mb/s, as on a Blu-ray disc.
            Self::Media => &[(Need::Reads, 5e6)],
            // Video speed class V6: 170 GB in a night of eight hours.
            Self::Backups => &[(Need::Writes, 6e6)],
            // Application performance class A1; a desktop that stops for a second counts as hung.
            Self::System => &[(Need::RandomReads, 1500.0), (Need::RandomWrites, 500.0), (Need::Stops, 1.0)],
            // Application performance class A2; a program that waits half a second for a page is noticed.
            Self::Swap => &[(Need::RandomWrites, 2000.0), (Need::Stops, 0.5)],
            Self::Databases => &[(Need::Commits, 0.01)],
            Self::Safekeeping => &[(Need::Kept, 0.0), (Need::RightData, 0.0)],
        }
    }
}

/// A program that waits for memory for a second counts as hung.
const SWAP_TESTED: &[(Need, f64)] = &[(Need::SwapWaits, 1.0)];

impl KeptData {
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        Self {
            lost_bytes: self.lost_bytes.max(other.lost_bytes),
            wrong_reads: self.wrong_reads.max(other.wrong_reads),
        }
    }
}

impl Measures {
    pub fn verdict(&self, purpose: Use) -> Verdict {
        let is_tested = purpose == Use::Swap && self.swap.is_some();
        let needs = if is_tested { SWAP_TESTED } else { purpose.needs() };
        let met: Vec<Verdict> = needs.iter().map(|(need, threshold)| self.meets(*need, *threshold)).collect();
        let unfit = met.iter().find(|verdict| matches!(verdict, Verdict::Unfit(..)));
        unfit.or(met.iter().find(|verdict| !verdict.is_decided())).copied().unwrap_or(Verdict::Fit)
    }

    /// The verdict by one number.
    fn meets(&self, need: Need, threshold: f64) -> Verdict {
        let (unfit, open) = (|value| Verdict::Unfit(need, value), |ends| Verdict::Undecided(need, ends));
        let at_least = |speed: &Option<Estimate>| match speed {
            Some(e) if e.high < threshold => unfit(e.value),
            Some(e) if e.low >= threshold => Verdict::Fit,
            speed => open(speed.as_ref().map(|e| [e.low, e.high])),
        };
        // One test without a loss doesn't show that the next one has none.
        let none_of = |number: Option<u64>| match number {
            Some(n) if n > 0 => unfit(n as f64),
            _ => open(None),
        };
        match need {
            Need::Reads => at_least(&self.reads),
            Need::Writes => at_least(&self.writes),
            Need::RandomReads => at_least(&self.random_reads),
            Need::RandomWrites => at_least(&self.random_writes),
            Need::Stops => match self.longest_stop {
                Some(stop) if stop >= threshold => unfit(stop),
                Some(_) if self.watched_stops => Verdict::Fit,
                _ => open(None),
            },
            Need::Commits => {
                let slow = self.commits.iter().flatten().find(|e| e.low > threshold);
                let is_quick = |e: &Option<Estimate>| e.as_ref().is_some_and(|e| e.high <= threshold);
                match (slow, self.commits.iter().find(|e| !is_quick(e))) {
                    (Some(slow), _) => unfit(slow.value),
                    (None, Some(wide)) => open(wide.as_ref().map(|e| [e.low, e.high])),
                    (None, None) if self.commits.is_empty() => open(None),
                    (None, None) => Verdict::Fit,
                }
            }
            Need::SwapWaits => match self.swap {
                Some(SwapTest { longest_wait: Some(wait), .. }) if wait >= threshold => unfit(wait),
                Some(SwapTest { longest_wait: Some(_), was_stopped: false }) => Verdict::Fit,
                _ => open(None),
            },
            Need::Kept => none_of(self.kept.map(|kept| kept.lost_bytes)),
            Need::RightData => none_of(self.kept.map(|kept| kept.wrong_reads)),
        }
    }

    /// The numbers of several runs on one drive, oldest first. Speeds are weighted by rounds; the worst value counts for rare events.
    pub fn pooled(runs: &[&Self]) -> Self {
        let speed = |number: fn(&Self) -> Option<&Estimate>| {
            let all: Vec<_> = runs.iter().filter_map(|run| Some((number(run)?, run.rounds))).collect();
            Some(pooled(&all)?.0)
        };
        Self {
            rounds: runs.iter().map(|run| run.rounds).sum(),
            reads: speed(|run| run.reads.as_ref()),
            writes: speed(|run| run.writes.as_ref()),
            random_reads: speed(|run| run.random_reads.as_ref()),
            random_writes: speed(|run| run.random_writes.as_ref()),
            longest_stop: runs.iter().filter_map(|run| run.longest_stop).reduce(f64::max),
            watched_stops: runs.iter().any(|run| run.watched_stops),
            commits: runs.iter().flat_map(|run| run.commits.clone()).collect(),
            swap: runs.iter().rev().find_map(|run| run.swap),
            kept: runs.iter().filter_map(|run| run.kept).reduce(KeptData::worst),
        }
    }
}

impl Need {
    fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::RandomReads => "random reads",
            Self::RandomWrites => "random writes",
            Self::Stops => "stops",
            Self::Commits => "synced writes",
            Self::SwapWaits => "waits with swap on it",
            Self::Kept => "losses",
            Self::RightData => "wrong reads",
        }
    }

    fn number(self, value: f64) -> String {
        match self {
            Self::Reads | Self::Writes => rate(value),
            Self::RandomReads | Self::RandomWrites => format!("{} IOPS", thousands(value)),
            Self::Stops | Self::Commits | Self::SwapWaits => duration(value),
            Self::Kept => decimal_bytes(value as u64),
            Self::RightData => count(value as u64, "read"),
        }
    }
}

impl Verdict {
    pub fn is_decided(self) -> bool {
        !matches!(self, Self::Undecided(..))
    }
}

impl Use {
    fn threshold(self, need: Need) -> f64 {
        self.needs().iter().find(|(own, _)| *own == need).map_or(0.0, |(_, threshold)| *threshold)
    }

    /// Why it is not decided.
    fn open(self, need: Need, ends: Option<[f64; 2]>) -> String {
        let (name, needed) = (need.name(), need.number(self.threshold(need)));
        match ends {
            Some([low, high]) if high.is_finite() => {
                let range = Estimate::between(low, [low, high], "").range(|value| need.number(value));
                format!("{name} {range}, {needed} needed")
            }
            Some([low, _]) => format!("{name} {} or more, {needed} needed", need.number(low)),
            None if need == Need::Commits => "synced writes not measured: --suite db".to_owned(),
            None if need == Need::Stops => "longer stops may come".to_owned(),
            None => format!("{name} not measured for long enough"),
        }
    }

    /// A number that is too bad for this use, such as `random writes 98 IOPS, 500 IOPS needed`.
    pub fn shortfall(self, need: Need, value: f64) -> String {
        match need {
            Need::Reads | Need::Writes | Need::RandomReads | Need::RandomWrites => {
                let least = need.number(self.threshold(need));
                format!("{} {}, {least} needed", need.name(), need.number(value))
            }
            Need::Stops => format!("operations stop for up to {}", duration(value)),
            Need::Commits => format!("1 in 100 synced writes takes {}", duration(value)),
            Need::SwapWaits => format!("with swap on it, a program waited {}", duration(value)),
            Need::Kept => {
                format!("it lost {} that it had acknowledged as stored", need.number(value))
            }
            Need::RightData => {
                format!("{} returned something else than was written", need.number(value))
            }
        }
    }
}

/// The uses for which one target is fit, unfit or undecided, with the numbers.
pub fn sentence<'a>(all: impl Iterator<Item = &'a Fitness> + Clone) -> String {
    let fit: Vec<&str> =
        all.clone().filter(|f| f.verdict == Verdict::Fit).map(|f| f.purpose.name()).collect();
    let mut unfit: Vec<(String, Vec<&str>)> = Vec::new();
    let mut open = Vec::new();
    for fitness in all {
        if let Verdict::Undecided(need, ends) = fitness.verdict {
            open.push(format!("{} ({})", fitness.purpose.name(), fitness.purpose.open(need, ends)));
        }
        let Verdict::Unfit(need, value) = fitness.verdict else { continue };
        let why = fitness.purpose.shortfall(need, value);
        match unfit.iter_mut().find(|(other, _)| *other == why) {
            Some((_, uses)) => uses.push(fitness.purpose.name()),
            None => unfit.push((why, vec![fitness.purpose.name()])),
        }
    }
    let fit = (!fit.is_empty()).then(|| format!("Fit for {}.", listed(&fit)));
    let unfit: Vec<String> = unfit.iter().map(|(why, uses)| format!("{} ({why})", listed(uses))).collect();
    let unfit = (!unfit.is_empty()).then(|| format!("Not fit for {}.", unfit.join(", ")));
    let open = (!open.is_empty()).then(|| format!("Undecided: {}.", open.join(", ")));
    [fit, unfit, open].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(low: f64, high: f64) -> Option<Estimate> {
        Some(Estimate::between((low + high) / 2.0, [low, high], ""))
    }

    fn good() -> Measures {
        Measures {
            reads: between(20e6, 21e6),
            writes: between(9e6, 10e6),
            random_reads: between(3000.0, 3100.0),
            random_writes: between(2500.0, 2600.0),
            longest_stop: Some(0.1),
            watched_stops: true,
            commits: vec![between(0.002, 0.004)],
            ..Measures::default()
        }
    }

    #[test]
    fn a_whole_interval_decides() {
        assert!(Use::ALL.iter().all(|purpose| good().verdict(*purpose) == Verdict::Fit));
        let open = Measures { reads: between(4e6, 6e6), ..good() };
        assert_eq!(open.verdict(Use::Media), Verdict::Undecided(Need::Reads, Some([4e6, 6e6])));
        let slow = Measures { reads: between(3e6, 4e6), ..good() };
        assert_eq!(slow.verdict(Use::Media), Verdict::Unfit(Need::Reads, 3.5e6));
        assert_eq!(Measures::default().verdict(Use::Databases), Verdict::Undecided(Need::Commits, None));
    }

    #[test]
    fn one_number_that_is_too_bad_is_enough() {
        let stops = Measures { longest_stop: Some(0.7), random_writes: None, ..good() };
        assert_eq!(stops.verdict(Use::Swap), Verdict::Unfit(Need::Stops, 0.7));
        assert_eq!(stops.verdict(Use::System), Verdict::Undecided(Need::RandomWrites, None));
        let mixed = Measures { commits: vec![between(0.002, 0.004), None, between(0.02, 0.04)], ..good() };
        assert_eq!(mixed.verdict(Use::Databases), Verdict::Unfit(Need::Commits, 0.03));
    }

    #[test]
    fn a_short_watch_finds_stops_but_excludes_none() {
        let short = |stop| Measures { longest_stop: Some(stop), watched_stops: false, ..good() };
        assert_eq!(short(0.1).verdict(Use::Swap), Verdict::Undecided(Need::Stops, None));
        assert_eq!(short(0.6).verdict(Use::Swap), Verdict::Unfit(Need::Stops, 0.6));
    }

    #[test]
    fn a_test_of_swap_itself_decides() {
        let slow = Measures { random_writes: between(90.0, 110.0), ..good() };
        let tested = |wait, was_stopped| {
            let swap = Some(SwapTest { longest_wait: Some(wait), was_stopped });
            Measures { swap, ..slow.clone() }.verdict(Use::Swap)
        };
        assert_eq!(slow.verdict(Use::Swap), Verdict::Unfit(Need::RandomWrites, 100.0));
        assert_eq!(tested(0.2, false), Verdict::Fit);
        assert_eq!(tested(2.6, true), Verdict::Unfit(Need::SwapWaits, 2.6));
        assert_eq!(tested(0.2, true), Verdict::Undecided(Need::SwapWaits, None));
    }

    #[test]
    fn losses_decide_and_their_absence_does_not() {
        let kept = |lost_bytes, wrong_reads| {
            let kept = Some(KeptData { lost_bytes, wrong_reads });
            Measures { kept, ..Measures::default() }
        };
        let verdict = |measures: &Measures| measures.verdict(Use::Safekeeping);
        assert_eq!(verdict(&kept(4096, 1)), Verdict::Unfit(Need::Kept, 4096.0));
        assert_eq!(verdict(&kept(0, 3)), Verdict::Unfit(Need::RightData, 3.0));
        assert_eq!(verdict(&kept(0, 0)), Verdict::Undecided(Need::Kept, None));
        assert_eq!(verdict(&Measures::pooled(&[&kept(4096, 0), &kept(0, 0)])), verdict(&kept(4096, 0)));
    }

    #[test]
    fn several_runs_are_judged_together() {
        let random_writes =
            |low, high, rounds| Measures { random_writes: between(low, high), rounds, ..good() };
        // Each run alone leaves it undecided.
        let both = [random_writes(1950.0, 2250.0, 10), random_writes(1990.0, 2250.0, 40)];
        let is_open = |one: &Measures| matches!(one.verdict(Use::Swap), Verdict::Undecided(..));
        assert!(both.iter().all(is_open));
        assert_eq!(Measures::pooled(&both.each_ref()).verdict(Use::Swap), Verdict::Fit);
        assert_eq!(Measures::pooled(&[&good()]).verdict(Use::Swap), good().verdict(Use::Swap));
        let stops = Measures { longest_stop: Some(0.7), ..good() };
        assert_eq!(Measures::pooled(&[&stops, &good()]).verdict(Use::Swap), Verdict::Unfit(Need::Stops, 0.7));
    }

    #[test]
    fn uses_with_one_shortfall_stand_together() {
        let slow =
            Measures { longest_stop: Some(2.6), reads: between(4e6, 6e6), commits: Vec::new(), ..good() };
        let all = Use::ALL.map(|purpose| Fitness {
            target: String::new(),
            purpose,
            verdict: slow.verdict(purpose),
        });
        assert_eq!(
            sentence(all.iter()),
            "Fit for backups. Not fit for a system and swap (operations stop for up to 2.6 s). \
             Undecided: media (reads 4.00–6.00 MB/s, 5.00 MB/s needed), databases (synced writes not measured: --suite db)."
        );
    }
}
