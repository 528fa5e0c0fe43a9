//! Speeds of loads that ran at the same time, from the record.

use super::super::common::{Reached, load_key, on};
use crate::{
    analyse::{ceiling_fit::Trial, past_cliffs},
    conditions::Processors,
    findings::LoadKey,
    plan::{FILL, Measure, Plan},
    record::{Load, Run, Step, Windows},
    target::Target,
    units::{Caching, Direction, Ended, Histogram, Outcome, Pattern, Window, ZonePoint},
};

/// A load with fewer windows than this while all ran is not used.
const LEAST: usize = 2;

/// When the windows of a load were, and how long its operations took.
#[derive(Default)]
pub(super) struct Times {
    /// Beginning, end and bytes of each window.
    windows: Vec<(u64, u64, u64)>,
    latency: Histogram,
}

impl Windows for Times {
    fn window(&mut self, _: Option<ZonePoint>, window: &Window) {
        self.windows.push((window.from_ns, window.to_ns, window.bytes));
        self.latency.merge(&window.latency);
    }
}

pub(super) struct Group {
    /// Named `read`, `write` and so on.
    pub load: LoadKey,
    /// Its targets, as positions in the plan.
    pub members: Vec<usize>,
    /// Each set of targets that ran at the same time, single targets included. Members are positions in the plan.
    pub sets: Vec<Set>,
}

/// A set of targets under a load at the same time.
#[derive(Default)]
pub(super) struct Set {
    pub trial: Trial,
    /// Latency of one operation for each member, over all repetitions.
    pub latency: Vec<Histogram>,
    pub processors: Vec<Processors>,
    /// Repetitions that could not be used.
    pub lost: usize,
}

pub(super) fn groups(run: &Run<Times>, plan: &Plan) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut reached: Vec<Reached> = Vec::new();
    let begun = run.steps.iter().filter(|(_, step)| step.measure.label != FILL && !step.loads.is_empty());
    for (&id, step) in begun {
        let m = &step.measure;
        let targets: Vec<usize> = plan.step(id).iter().flat_map(|s| s.targets()).collect();
        let name = name(m);
        let at = groups.iter().position(|g| g.load.name == name).unwrap_or_else(|| {
            let target = targets.first().and_then(|&at| plan.targets.get(at));
            let load = target.map(|target| load_key(plan, target, step, &name)).unwrap_or_default();
            groups.push(Group { load, members: Vec::new(), sets: Vec::new() });
            reached.push(Reached::default());
            groups.len() - 1
        });
        let group = &mut groups[at];
        for (target, load) in &step.loads {
            reached[at].add(load.outcome.as_ref(), step.counted.get(target));
        }
        group.members.extend(targets.iter().filter(|t| !group.members.contains(t)).collect::<Vec<_>>());
        group.members.sort_unstable();
        let at = group.sets.iter().position(|s| s.trial.members == targets).unwrap_or_else(|| {
            let trial = Trial { members: targets.clone(), runs: Vec::new() };
            group.sets.push(Set {
                trial,
                latency: vec![Histogram::default(); targets.len()],
                ..Set::default()
            });
            group.sets.len() - 1
        });
        let set = &mut group.sets[at];
        match speeds(step, &targets) {
            Some(speeds) => {
                set.trial.runs.push(speeds);
                set.processors.extend(step.processors.clone());
                for (latency, target) in set.latency.iter_mut().zip(&targets) {
                    if let Some(load) = step.loads.get(target) {
                        latency.merge(&load.kept.latency);
                    }
                }
            }
            None => set.lost += 1,
        }
    }
    for (group, reached) in groups.iter_mut().zip(&reached) {
        group.load.missed = reached.missed();
        group.sets.sort_by_key(|set| (set.trial.members.len(), set.trial.members.clone()));
    }
    groups
}

/// The speed of each target of a step, over the time in which all of them ran; `None` where one failed, was stopped,
/// or they hardly overlapped.
fn speeds(step: &Step<Times>, targets: &[usize]) -> Option<Vec<f64>> {
    let loads: Vec<&Load<Times>> = targets.iter().map(|t| step.loads.get(t)).collect::<Option<Vec<_>>>()?;
    if !loads.iter().all(|load| load.ended().is_some_and(Ended::is_whole)) {
        return None;
    }
    let speeds: Vec<f64> = if step.measure.load.caching == Caching::Direct {
        let times: Vec<&Times> = loads.iter().map(|load| &load.kept).collect();
        let writes = step.measure.load.writes();
        let from = times.iter().filter_map(|t| if writes { t.past_cliffs() } else { t.begin() }).max()?;
        let to = times.iter().map(|t| t.windows.last().map_or(0, |w| w.1)).min()?;
        let inside = |t: &&&Times| t.windows.iter().filter(|w| w.0 >= from && w.1 <= to).count() >= LEAST;
        if times.iter().filter(inside).count() < times.len() {
            return None;
        }
        times.iter().map(|t| t.speed(from, to)).collect()
    } else {
        // Windows through the page cache show memory, so the whole load counts, with the fsync at its end.
        let whole = |o: &Outcome| (o.bytes_read + o.bytes_written) as f64 / o.seconds;
        loads.iter().filter_map(|l| l.outcome.as_ref()).map(whole).collect()
    };
    speeds.iter().all(|s| s.is_finite() && *s > 0.0).then_some(speeds)
}

impl Times {
    fn begin(&self) -> Option<u64> {
        Some(self.windows.first()?.0)
    }

    /// The begin of the first window after its cache was full. Speeds before that don't depend on other drives.
    fn past_cliffs(&self) -> Option<u64> {
        let windows =
            self.windows.iter().map(|&(begin, end, bytes)| (end.saturating_sub(begin) as f64 / 1e9, bytes));
        Some(self.windows.get(past_cliffs(windows))?.0)
    }

    /// Bytes per second from one moment to another; a window that reaches beyond counts in part.
    fn speed(&self, from: u64, to: u64) -> f64 {
        let inside = |&(begin, end, bytes): &(u64, u64, u64)| {
            let (a, b) = (begin.max(from), end.min(to));
            if end <= begin { 0.0 } else { bytes as f64 * b.saturating_sub(a) as f64 / (end - begin) as f64 }
        };
        self.windows.iter().map(inside).sum::<f64>() / ((to - from) as f64 / 1e9)
    }
}

/// fio's name of the load.
fn name(m: &Measure) -> String {
    let order = if m.load.pattern == Pattern::Random { "rand" } else { "" };
    let direction = match m.load.direction {
        Direction::Read => "read",
        Direction::Write => "write",
        Direction::Mixed { .. } => "rw",
    };
    format!("{order}{direction}")
}

impl Group {
    pub fn load_on(&self, target: &Target) -> LoadKey {
        LoadKey { on: Some(on(target)), ..self.load.clone() }
    }

    /// The one set of this target alone.
    pub fn alone(&self, target: usize) -> Option<&Set> {
        self.sets.iter().find(|s| s.trial.members == [target] && !s.trial.runs.is_empty())
    }

    pub fn at_once(&self) -> Option<&Set> {
        self.sets.iter().find(|s| s.trial.members == self.members && !s.trial.runs.is_empty())
    }
}

impl Set {
    /// The speeds of one member, for each repetition.
    pub fn of(&self, target: usize) -> Vec<f64> {
        let at = self.trial.members.iter().position(|m| *m == target);
        at.map(|at| self.trial.runs.iter().map(|run| run[at]).collect()).unwrap_or_default()
    }

    /// The sums of these members, for each repetition.
    pub fn sums(&self, of: &[usize]) -> Vec<f64> {
        let sum = |run: &Vec<f64>| {
            self.trial.members.iter().zip(run).filter(|(m, _)| of.contains(m)).map(|(_, speed)| speed).sum()
        };
        self.trial.runs.iter().map(sum).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partly_covered_window_counts_in_part() {
        let load = Times {
            windows: vec![
                (0, 1_000_000_000, 100),
                (1_000_000_000, 3_000_000_000, 400),
                (3_000_000_000, 3_000_000_000, 0),
            ],
            ..Times::default()
        };
        assert_eq!(load.speed(0, 2_000_000_000), 150.0);
        assert_eq!(load.speed(500_000_000, 1_500_000_000), 150.0);
    }
}
