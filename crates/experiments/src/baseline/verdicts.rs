//! Verdicts of baseline: the ranking of drives, what each is fit for, and how each load went.

use super::super::{
    common::{self, Group, Summary, labels, named},
    rounds::Rounds,
};
use crate::{
    analyse::{
        Cliff, Estimate, Reason, StallSummary,
        compare::{self, Difference},
        rounds,
    },
    findings::{Fitness, fitness},
    plan::{Plan, Rule},
    units::{
        Caching, Ended, aim, capital, count, decimal_bytes, duration, listed, multiple, percent, rate, size,
    },
};

/// The longest run that is suggested for a narrower interval, s.
const MOST_SECONDS: f64 = 6.0 * 3600.0;

/// The verdicts, and the details behind them.
pub(super) fn verdicts(plan: &Plan, groups: &[Group<'_>], fit: &[Fitness]) -> (Vec<String>, Vec<String>) {
    let several = plan.targets.len() > 1;
    let mut short = if several { rankings(plan, groups) } else { Vec::new() };
    let mut full = Vec::new();
    for (at, target) in plan.targets.iter().enumerate() {
        let own: Vec<&Group<'_>> = groups.iter().filter(|g| g.at == at).collect();
        let say = |text| named(several, target, text);
        let own_fit = fit.iter().filter(|f| f.target == target.given);
        let is_decided = own_fit.clone().any(|f| f.verdict.is_decided());
        short.extend(is_decided.then(|| say(fitness::sentence(own_fit))));
        short.extend(common::not_of_the_drive(&own).map(say));
        let its_own: Vec<&Group<'_>> = own.iter().copied().filter(|g| g.load.missed.is_none()).collect();
        short.extend(its_own.iter().filter_map(|g| synced(g)).map(say));
        short.extend(widest(plan, at, &its_own).map(say));
        for group in &its_own {
            let [run] = &group.runs[..] else { continue };
            let name = load_name(group);
            let steps = run.throughput.cliffs.iter().map(|cliff| slow_down(&name, cliff));
            let stalls = stalls(&name, &run.throughput.stalls);
            let unsettled = unsettled(&name, group, run);
            if aim_of(group).is_some() {
                short.extend(steps.map(say));
                full.extend(stalls.map(say));
            } else {
                let speed = [speed(&name, group, run)].into_iter().chain(zones(run));
                short.extend(speed.chain(steps).chain(stalls).chain(unsettled).map(say));
            }
        }
        short.extend(own.iter().filter_map(|g| failure(g)).map(say));
    }
    (short, full)
}

/// The aim of a load in rounds, as a share of its speed.
fn aim_of(group: &Group<'_>) -> Option<f64> {
    if let Rule::Round { precision, .. } = group.measure.rule { Some(precision) } else { None }
}

/// The load with the widest interval, if it misses the target, and the time that would bring all loads to it.
fn widest(plan: &Plan, at: usize, groups: &[&Group<'_>]) -> Option<String> {
    let wide = |g: &&Group<'_>| aim_of(g).is_some() && !g.estimate.converged;
    let wide: Vec<&Group<'_>> = groups.iter().copied().filter(wide).collect();
    let half = |g: &Group<'_>| g.estimate.half_width();
    let group = *wide.iter().max_by(|a, b| half(a).total_cmp(&half(b)))?;
    if !half(group).is_finite() {
        let few = wide.iter().filter(|g| !half(g).is_finite()).count();
        let least = rounds::LEAST;
        return Some(format!(
            "{} without an interval: fewer than {least} rounds.",
            count(few as u64, "load")
        ));
    }
    let seconds_a_round = |g: &&Group<'_>| {
        let runs = g.runs.iter().filter(|run| !run.rounds.is_empty());
        runs.map(|run| run.seconds / run.rounds.len() as f64).sum::<f64>()
    };
    let round = groups.iter().map(seconds_a_round).sum::<f64>();
    // More time is named only where it is time that ends the rounds, not their bytes.
    let rounds = |g: &&Group<'_>| {
        let (pieces, rule) = (&g.runs.first()?.rounds, &g.measure.rule);
        let needed = rounds::needed(pieces, aim_of(g)?)?;
        let same = plan.measures().filter(|(step, m)| step.is_on(at) && m.label == g.measure.label);
        let most = rule.limits().0? as f64 * same.count() as f64;
        let moved = pieces.iter().map(|piece| piece.bytes).sum::<u64>() as f64 / pieces.len() as f64;
        (needed * moved <= most).then_some(needed)
    };
    let needed = wide.iter().map(rounds).collect::<Option<Vec<f64>>>().unwrap_or_default();
    let needed = needed.into_iter().fold(0.0, f64::max);
    let needed = Rounds::time_for(needed, plan, at).max(needed * round);
    let needed = match (60.0..MOST_SECONDS).contains(&needed) {
        true => {
            let (minutes, aim) = ((needed / 60.0).ceil(), aim(aim_of(group)?));
            format!(" About {minutes} min would narrow all to ±{aim} (--max-time {minutes}m).")
        }
        false => String::new(),
    };
    Some(format!("{} are known only as {}.{needed}", load_name(group), group.estimate.text(rate)))
}

/// How long a write takes until it is safe, which is what a database waits for.
fn synced(group: &Group<'_>) -> Option<String> {
    let ([run], load) = (&group.runs[..], &group.measure.load) else { return None };
    let latency = |share| Some(duration(run.tail.percentile(share)?.value));
    let (half, most) = (latency(0.5)?, latency(0.99)?);
    let block = size(load.block);
    (load.sync && load.depth == 1).then(|| {
        format!("A synced write of {block} typically takes {half}; the slowest 1 % take {most} or more.")
    })
}

fn failure(group: &Group<'_>) -> Option<String> {
    let Some(Ended::Failed { what, offset, message, .. }) = &group.runs.last()?.ended else { return None };
    let (load, at) = (load_name(group), size(*offset));
    Some(format!("{load}: a {what} at offset {at} failed: {message}. Results before it are valid."))
}

fn speed(name: &str, group: &Group<'_>, run: &Summary) -> String {
    let e = &group.estimate;
    let through = match group.measure.load.caching {
        Caching::Direct => "",
        Caching::Buffered => " through the page cache, partly the speed of memory",
        Caching::BufferedFsync => " through the page cache, including the final fsync",
    };
    let span = format!(" over {} ({})", duration(run.seconds), decimal_bytes(run.bytes));
    let holds = match group.measure.rule {
        _ if !e.high.is_finite() => format!("{span}, without an interval"),
        Rule::Adaptive { .. } if run.throughput.sustained => ", sustained".to_owned(),
        Rule::Adaptive { .. } => span,
        _ => String::new(),
    };
    format!("{name}: {}{through}{holds}.", e.text(rate))
}

fn zones(run: &Summary) -> Option<String> {
    let positions = &run.zoned.as_ref()?.positions;
    let (first, last) = (rate(positions.first()?.speed.value), rate(positions.last()?.speed.value));
    Some(format!("From {first} at the beginning of the disk to {last} at its end."))
}

/// The loads of a suite by their names, others by their direction.
fn load_name(group: &Group<'_>) -> String {
    if group.load.suite.is_some() { group.name() } else { capital(&group.name()) }
}

fn slow_down(name: &str, cliff: &Cliff) -> String {
    let (before, after, at) = (rate(cliff.before), rate(cliff.after), decimal_bytes(cliff.at_bytes));
    format!("{name} slow down from {before} to {after} after {at}.")
}

fn stalls(name: &str, stalls: &StallSummary) -> Option<String> {
    let (mean, share) = (duration(stalls.mean_seconds), percent(stalls.time_share));
    let times = count(stalls.each.len() as u64, "time");
    let sentence = format!("{name} almost stopped {times}, for about {mean} each: {share} of the time.");
    (!stalls.each.is_empty()).then_some(sentence)
}

/// Why the sustained speed is not known, and how much would have to be measured.
fn unsettled(name: &str, group: &Group<'_>, run: &Summary) -> Option<String> {
    let t = &run.throughput;
    let Rule::Adaptive { bytes: most, .. } = &group.measure.rule else { return None };
    let why = match t.reason? {
        Reason::TooShort => return None,
        Reason::Stopped => "the load was stopped early",
        Reason::Budget => "a limit ended the load early",
        Reason::Drifting if run.rule.is_cut_by_limit() => "a limit ended the load early",
        Reason::Drifting | Reason::Noisy => "the speed varies",
        Reason::IrregularStalls => "stalls are rare or irregular",
    };
    let needed = t.bytes_needed.filter(|bytes| *bytes > t.bytes).map(|bytes| match bytes > *most {
        true => decimal_bytes(bytes),
        // There are bytes enough, but no time.
        false => duration(t.seconds * bytes as f64 / t.bytes as f64),
    });
    let needed = needed.map(|what| format!(" Measuring it takes {what} or more.")).unwrap_or_default();
    Some(format!("{name}: the sustained speed is not known, because {why}.{needed}"))
}

/// The order of the targets under each load; a second target on a drive is left out.
fn rankings(plan: &Plan, groups: &[Group<'_>]) -> Vec<String> {
    let first_on_drive =
        |at: usize| plan.targets[..at].iter().find(|target| target.is_on_same_drives(&plan.targets[at]));
    let is_ranked = |g: &&Group<'_>| first_on_drive(g.at).is_none() && g.load.missed.is_none();
    let ranked: Vec<&Group<'_>> = groups.iter().filter(is_ranked).collect();
    let rankings: Vec<Ranking<'_>> =
        labels(groups).into_iter().filter_map(|label| Ranking::of_load(label, &ranked)).collect();
    let again = |at: usize| Some((first_on_drive(at)?, &plan.targets[at]));
    let unranked = (0..plan.targets.len()).filter_map(again).map(|(first, again)| {
        format!(
            "{again} is on the same drive as {first}, so it is not ranked.",
            again = again.given,
            first = first.given
        )
    });
    let mut sentences: Vec<String> = unranked.chain(rankings.iter().map(Ranking::sentence)).collect();
    let is_tied = |r: &Ranking<'_>| r.places.len() > 1 && r.places.iter().any(|place| place.len() > 1);
    if rankings.iter().any(is_tied) {
        sentences.push("'=' means no difference found, '≥' that the order is not certain.".to_owned());
    }
    sentences
}

/// Targets in order of speed under one load.
#[derive(Debug)]
struct Ranking<'a> {
    load: &'a str,
    /// Names and speeds, bytes per second.
    speeds: Vec<(&'a str, f64)>,
    /// Positions in `speeds`, the fastest first; each in a place can't be told apart from another one there.
    places: Vec<Vec<usize>>,
    /// For each place, whether some in it differ.
    differ: Vec<bool>,
    /// The first as a multiple of the last.
    ratio: Estimate,
}

impl<'a> Ranking<'a> {
    fn of_load(load: &'a str, groups: &[&'a Group<'a>]) -> Option<Self> {
        let same: Vec<&Group<'_>> = groups.iter().copied().filter(|g| g.measure.label == load).collect();
        // Runs of a load differ, so one run does not decide.
        let estimate = |g: &&Group<'_>| match g.runs.len() {
            1 => compare::across_runs(&g.estimate, None),
            _ => g.estimate.clone(),
        };
        let speeds: Vec<(&str, Estimate)> =
            same.iter().map(|g| (g.target.given.as_str(), estimate(g))).collect();
        Self::new(load, &speeds)
    }

    fn new(load: &'a str, speeds: &[(&'a str, Estimate)]) -> Option<Self> {
        let estimates: Vec<Estimate> = speeds.iter().map(|(_, e)| e.clone()).collect();
        let places = compare::rank(&estimates);
        let (best, worst) = (*places.first()?.first()?, *places.last()?.last()?);
        let ratio = compare::ratio(&estimates[best], &estimates[worst])?.estimate;
        let differ = |place: &Vec<usize>| {
            let mut pairs = place.iter().flat_map(|a| place.iter().map(move |b| (*a, *b)));
            pairs.any(|(a, b)| compare::differ(&estimates[a], &estimates[b]))
        };
        let differ = places.iter().map(differ).collect();
        let speeds = speeds.iter().map(|(name, e)| (*name, e.value)).collect();
        (estimates.len() > 1).then_some(Self { load, speeds, places, differ, ratio })
    }

    fn sentence(&self) -> String {
        let load = self.load;
        let name = |&at: &usize| format!("{} ({})", self.speeds[at].0, rate(self.speeds[at].1));
        let interval = match self.ratio.is_bounded() {
            true => format!(" ({})", self.ratio.range(multiple)),
            false => String::new(),
        };
        let times = format!("the fastest is {} times the slowest{interval}", multiple(self.ratio.value));
        if let ([all], [false]) = (&self.places[..], &self.differ[..]) {
            let names = listed(&all.iter().map(name).collect::<Vec<_>>());
            return match Difference::of(&self.ratio) {
                Difference::Found | Difference::NotFound => {
                    format!("{load}: no difference found between {names}.")
                }
                Difference::Unknown | Difference::TooWide => {
                    format!("{load}: {names} can't be ranked: too few or too noisy runs; {times}.")
                }
            };
        }
        let tied = |(place, differ): (&Vec<usize>, &bool)| {
            place.iter().map(name).collect::<Vec<_>>().join(if *differ { " ≥ " } else { " = " })
        };
        let order = self.places.iter().zip(&self.differ).map(tied).collect::<Vec<_>>().join(" > ");
        format!("{load}: {order}; {times}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(speeds: &[(f64, f64, f64)]) -> Ranking<'static> {
        let estimate = |&(value, low, high): &(f64, f64, f64)| {
            ("a", Estimate { low, high, ..Estimate::unbounded(value, "") })
        };
        Ranking::new("read", &speeds.iter().map(estimate).collect::<Vec<_>>()).expect("two")
    }

    #[test]
    fn drives_are_called_equal_only_where_their_intervals_say_so() {
        let difference = |ranking: &Ranking<'_>| (ranking.places.len(), Difference::of(&ranking.ratio));
        let equal = ranking(&[(1e6, 0.9e6, 1.1e6), (1.05e6, 0.95e6, 1.15e6)]);
        assert_eq!(difference(&equal), (1, Difference::NotFound));
        let open = (0.0, f64::INFINITY);
        let unknown = ranking(&[(149e6, open.0, open.1), (1e6, open.0, open.1)]);
        assert_eq!((difference(&unknown), unknown.ratio.value), ((1, Difference::Unknown), 149.0));
        let wide = ranking(&[(3e6, 1e6, 9e6), (1e6, 0.3e6, 3e6)]);
        assert_eq!(difference(&wide), (1, Difference::TooWide));
        // Without an interval, the second may be as fast as the first or as slow as the third.
        let tied = ranking(&[(9e6, 8.9e6, 9.1e6), (8e6, open.0, open.1), (1e6, 0.9e6, 1.1e6)]);
        assert_eq!(tied.places, [vec![0, 1, 2]]);
        insta::assert_snapshot!([equal, unknown, wide, tied].map(|r| r.sentence()).join("\n"));
    }
}
