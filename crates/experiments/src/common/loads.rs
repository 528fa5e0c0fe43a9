//! The loads of a record, grouped: all runs of one load on one target.

use std::collections::BTreeMap;

use super::{Series, Summary, loaded_run::on};
use crate::{
    analyse::{Estimate, repeat},
    conditions::BytesMoved,
    findings::{LoadKey, Metric, Quantity},
    plan::{FILL, Measure, Plan, Rule},
    record::{Run, Step, Windows},
    target::{Kind, Target},
    units::{Direction, Ended, Extent, Histogram, Outcome, Pattern, distinct, listed},
};

/// From this share on, what the drive's counters show of a load's bytes is all of them.
const REACHED: f64 = 0.95;

/// Bytes that loads moved, and as many of them as the counters of the drives show.
#[derive(Default)]
pub(in super::super) struct Reached {
    moved: u64,
    shown: u64,
}

impl Reached {
    /// Adds a load whose drives have known counters.
    pub fn add(&mut self, outcome: Option<&Outcome>, counted: Option<&BytesMoved>) {
        let (Some(outcome), Some(counted)) = (outcome, counted) else { return };
        let shown =
            counted.read.min(outcome.bytes_read).saturating_add(counted.written.min(outcome.bytes_written));
        self.moved = self.moved.saturating_add(outcome.bytes_read).saturating_add(outcome.bytes_written);
        self.shown = self.shown.saturating_add(shown);
    }

    /// The percentage of the bytes that never reached the drives, where it is so high that the speed is not theirs.
    pub fn missed(&self) -> Option<u8> {
        let share = self.shown as f64 / self.moved as f64;
        (share < REACHED).then_some(((1.0 - share) * 100.0).round() as u8)
    }
}

pub(in super::super) struct Group<'a> {
    /// Position of the target in the plan.
    pub at: usize,
    pub target: &'a Target,
    /// The measure that ran, which may differ from the plan.
    pub measure: Measure,
    /// The measured load is the planned one.
    pub as_planned: bool,
    pub load: LoadKey,
    /// Bytes from the start of the target that the load could use.
    extent: u64,
    /// Over all runs.
    pub estimate: Estimate,
    pub runs: Vec<Summary>,
}

/// Runs of the same load in blocks of the same size on the same target belong together, in the order of the plan's
/// targets; steps that only fill a file are left out.
pub(in super::super) fn group<'a>(run: &mut Run<Series>, plan: &'a Plan) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    // The rounds of each group, one after the other.
    let mut rounds: BTreeMap<usize, (Series, Option<Outcome>)> = BTreeMap::new();
    // What each group moved, and what the drives' counters show of it.
    let mut reached: BTreeMap<usize, Reached> = BTreeMap::new();
    let mut readable: BTreeMap<usize, u64> = BTreeMap::new();
    for (step, mut of) in std::mem::take(&mut run.steps) {
        let loads = std::mem::take(&mut of.loads);
        let measure = &of.measure;
        for (at, load) in loads {
            let Some(target) = plan.targets.get(at) else { continue };
            let readable = readable.entry(at).or_insert_with(|| match target.kind {
                Kind::Directory => 0,
                Kind::File | Kind::BlockDevice => measure.reach,
            });
            let extent = if measure.only_written { measure.reach.min(*readable) } else { measure.reach };
            // A record may be damaged or edited.
            if let (Ok(()), Some(outcome)) = (measure.load.check(), &load.outcome) {
                let all = Extent { offset: 0, length: extent };
                *readable = measure.filled(all, outcome.bytes_written).max(*readable);
            }
            let ended = load.outcome.as_ref().map(|outcome| &outcome.ended);
            if load.windows == 0 || measure.label == FILL || measure.load.lacks_fsync(ended) {
                continue;
            }
            // A round that was cut off is none.
            let is_round = matches!(measure.rule, Rule::Round { .. });
            if is_round && ended.is_none_or(|ended| *ended == Ended::Cancelled) {
                continue;
            }
            let same = |g: &Group<'_>| {
                g.at == at && (&g.measure.label, g.measure.load.block) == (&measure.label, measure.load.block)
            };
            let number = groups.iter().position(same).unwrap_or_else(|| {
                groups.push(Group {
                    at,
                    target,
                    measure: measure.clone(),
                    as_planned: plan.measure(step).is_some_and(|m| m.load == measure.load),
                    load: load_key(plan, target, &of, &measure.label),
                    extent,
                    estimate: Estimate::unbounded(0.0, ""),
                    runs: Vec::new(),
                });
                groups.len() - 1
            });
            reached.entry(number).or_default().add(load.outcome.as_ref(), of.counted.get(&at));
            let group = &mut groups[number];
            group.extent = group.extent.max(extent);
            if is_round {
                let (all, ended) = rounds.entry(number).or_insert_with(|| (Series::new(measure), None));
                all.follow(load.kept, load.outcome.as_ref());
                *ended = load.outcome;
            } else {
                group.runs.push(load.kept.finish(measure, load.outcome.as_ref()));
            }
        }
    }
    for (number, (all, ended)) in rounds {
        let group = &mut groups[number];
        group.runs.push(all.finish(&group.measure, ended.as_ref()));
    }
    for (number, reached) in reached {
        groups[number].load.missed = reached.missed();
    }
    groups.sort_by_key(|group| group.at);
    for group in &mut groups {
        if let Some(run) = group.runs.first() {
            group.estimate = run.estimate.clone();
        }
        let lasts = |is: fn(&Summary) -> bool| Some(!group.runs.iter().all(is));
        group.load.span = match group.measure.rule {
            Rule::Adaptive { .. } | Rule::Again { .. } => lasts(|run| run.throughput.sustained),
            Rule::Zones { .. } => lasts(|run| run.estimate.converged),
            Rule::Fixed { .. } | Rule::Round { .. } => group.load.span,
        };
        let speeds = group.speeds();
        if let (true, Some(mean)) = (speeds.len() > 1, repeat::mean(&speeds)) {
            group.estimate = mean;
        }
    }
    groups
}

pub(in super::super) fn load_key<T: Windows>(
    plan: &Plan,
    target: &Target,
    step: &Step<T>,
    name: &str,
) -> LoadKey {
    let engine = step.engine.as_ref().map(|engine| engine.name.as_str()).unwrap_or_default();
    LoadKey {
        cold: step.measure.cold,
        span: matches!(step.measure.rule, Rule::Round { .. }).then_some(true),
        suite: plan.suite.clone(),
        ..LoadKey::new(name, &step.measure.load, on(target), engine)
    }
}

/// The longest operation of a load; another run may have a longer one.
pub(in super::super) fn longest<'a>(
    target: &str,
    load: &LoadKey,
    latency: impl Iterator<Item = &'a Histogram>,
) -> Option<Metric> {
    let value = latency.filter_map(Histogram::max).max()? as f64 / 1e9;
    let how = "the longest seen".to_owned();
    let estimate = Estimate { value, low: value, high: f64::INFINITY, how, converged: false, within: None };
    Some(Metric::new(target, Quantity::LongestOperation, estimate).of(load))
}

impl Group<'_> {
    /// The rounds in which it was measured, where it was measured in rounds.
    pub fn rounds(&self) -> Option<u32> {
        matches!(self.measure.rule, Rule::Round { .. })
            .then(|| self.runs.iter().map(|run| run.rounds.len() as u32).sum())
    }

    /// What it does, such as `4 KiB random reads`, by direction alone outside of suites.
    pub fn name(&self) -> String {
        let Measure { load, row, .. } = &self.measure;
        let verb = match load.direction {
            Direction::Read => "reads",
            Direction::Write => "writes",
            Direction::Mixed { .. } => "mixed reads and writes",
        };
        match &self.load.suite {
            Some(_) => format!("{} {verb}", row.clone().unwrap_or_else(|| load.short_name())),
            None => verb.to_owned(),
        }
    }

    pub fn longest(&self) -> Option<Metric> {
        longest(&self.target.given, &self.load, self.runs.iter().map(|run| run.tail.histogram()))
    }

    /// How many bytes of the target its load went over, and how many there are, where that is known.
    pub fn part(&self) -> Option<(u64, u64)> {
        let whole = self.target.size.or(self.target.capacity).filter(|whole| *whole > 0)?;
        let moved = self.runs.iter().map(|run| run.bytes).max()?;
        let used = match (&self.measure.rule, self.measure.load.pattern) {
            (Rule::Zones { .. }, _) => whole,
            (_, Pattern::Sequential) => moved.min(self.extent),
            (_, Pattern::Random) => self.extent,
        };
        Some((used.min(whole), whole))
    }

    /// The speeds of complete runs, bytes per second.
    pub fn speeds(&self) -> Vec<f64> {
        let whole = |r: &&Summary| r.ended.as_ref().is_some_and(Ended::is_whole);
        self.runs.iter().filter(whole).map(|r| r.estimate.value).collect()
    }
}

/// Names the loads of a target whose bytes did not all reach the drive.
pub(in super::super) fn not_of_the_drive(groups: &[&Group<'_>]) -> Option<String> {
    let missed: Vec<&&Group<'_>> = groups.iter().filter(|g| g.load.missed.is_some()).collect();
    let least = missed.iter().filter_map(|g| g.load.missed).min()?;
    let names = match missed.len() == groups.len() {
        true => "the loads".to_owned(),
        false => {
            let name =
                |g: &Group<'_>| if g.load.suite.is_some() { g.name() } else { g.measure.label.clone() };
            listed(&distinct(missed.iter().map(|g| name(g))))
        }
    };
    Some(format!(
        "Not the drive's speed: at least {least} % of the bytes of {names} never reached it (a cache, holes, compression or deduplication)."
    ))
}

/// Labels of the loads, each once, in order.
pub(in super::super) fn labels<'a>(groups: &'a [Group<'_>]) -> Vec<&'a str> {
    distinct(groups.iter().map(|group| group.measure.label.as_str()))
}
