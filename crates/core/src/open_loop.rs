//! Open-loop latency: response times if requests did not wait for each other.

use crate::{
    analyse::{End, SpanRules, StoppingRule, Tail, open_loop::OpenLoop},
    findings::{Column, Table},
    plan::{FILL, Plan, StepId},
    record::{Event, Run, Windows},
    units::{Percentile, Window, ZonePoint, duration, percent},
};

/// Requests come at these shares of the load's mean rate.
const LOADS: [f64; 2] = [0.5, 0.8];
const SHOWN: [Percentile; 4] = [Percentile::P50, Percentile::P99, Percentile::P999, Percentile::P9999];

impl Windows for Tail {
    fn window(&mut self, _: Option<ZonePoint>, window: &Window) {
        self.push(window);
    }
}

/// The latencies of a load, and whether it was long enough for an interval of its speed.
struct Served {
    tail: Tail,
    speed: StoppingRule,
}

impl Served {
    fn has_interval(&self) -> bool {
        self.speed.finish(End::Complete).estimate.is_bounded()
    }
}

impl Windows for Served {
    fn window(&mut self, zone: Option<ZonePoint>, window: &Window) {
        self.tail.window(zone, window);
        self.speed.push(window);
    }
}

struct Replays(Vec<OpenLoop>);

impl Windows for Replays {
    fn window(&mut self, _: Option<ZonePoint>, window: &Window) {
        self.0.iter_mut().for_each(|replay| replay.push(window));
    }
}

/// Replays the loads of a record that ran at depth 1, without those that fill a file and those that were too short for an
/// interval. The record is read twice, as the mean rate is only known at its end.
pub fn waiting<E, R: Iterator<Item = Event>>(read: impl Fn() -> Result<R, E>) -> Result<Table, E> {
    let rule = StoppingRule::span(&SpanRules::standard());
    let first = Run::read(read()?, |_, _, _| Served { tail: Tail::default(), speed: rule.clone() });
    let replays = |step: StepId, target: usize| {
        let load = first.steps.get(&step).and_then(|step| step.loads.get(&target));
        let serial = first.planned(step).is_some_and(|m| m.load.depth == 1 && m.label != FILL);
        let load = load.filter(|load| serial && load.kept.has_interval());
        let each = LOADS.iter().filter_map(|&share| OpenLoop::new(load?.kept.tail.histogram(), share, 1));
        Replays(each.collect())
    };
    let run = Run::read(read()?, |step, target, _| replays(step, target));
    let plan = first.plan.as_ref();
    let mut rows = Vec::new();
    for (step, of) in run.steps {
        for (target, load) in of.loads {
            for waiting in load.kept.0.into_iter().filter_map(OpenLoop::finish) {
                let (label, given) = plan.map_or_else(Default::default, |plan| names(plan, step, target));
                let at = |p: Percentile| waiting.response.quantile(p.share());
                let times = SHOWN.map(|p| at(p).map_or("-".to_owned(), |ns| duration(ns as f64 / 1e9)));
                let mut row = vec![given, label, percent(waiting.load)];
                row.extend(times.into_iter().chain([percent(waiting.over_100ms)]));
                rows.push(row);
            }
        }
    }
    let percentiles = SHOWN.map(Percentile::name);
    let shown = percentiles.iter().map(String::as_str);
    let heads = ["target", "load", "at"].into_iter().chain(shown).chain(["over 100 ms"]);
    Ok(Table {
        title: "modelled: response times if requests came evenly at a share of the load's mean rate"
            .to_owned(),
        columns: heads.map(|name| Column::new(name, false)).collect(),
        rows,
    })
}

fn names(plan: &Plan, step: StepId, target: usize) -> (String, String) {
    let label = plan.measure(step).map(|m| match m.repetition {
        1 => m.label.clone(),
        n => format!("{} {n}", m.label),
    });
    let given = plan.targets.get(target).map(|t| t.given.clone());
    (label.unwrap_or_default(), given.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{Measure, Rule, Steps},
        target::Target,
        units::{Caching, Direction, EngineInfo, Histogram, Load, MIB, Pattern},
    };

    #[test]
    fn fills_and_loads_without_an_interval_are_not_modelled() {
        let load = Load::new(Direction::Write, Pattern::Sequential, MIB, Caching::Direct, 1);
        let rule = Rule::Fixed { bytes: 1000 * MIB, seconds: None };
        let mut steps = Steps::default();
        let ids = [(FILL, 1000), ("write", 1000), ("short", 8)].map(|(label, windows)| {
            (steps.add(&[0], Measure::new(label, load.clone(), rule.clone(), MIB)), windows)
        });
        let target = Target { given: "/mnt/a".to_owned(), ..Target::default() };
        let plan = Plan { targets: vec![target], steps: steps.into(), ..Plan::default() };
        let engine = EngineInfo { name: "psync".to_owned(), detail: None, modelled: false };
        let mut events = vec![Event::Plan { plan }];
        for (step, windows) in ids {
            events.push(Event::Step { step, engine: engine.clone(), at: String::new(), instead: None });
            events.extend((0..windows).map(|at| {
                let took = 10_000_000 + at % 7 * 100_000;
                let latency = Histogram::of(&mut [took]);
                let (from_ns, to_ns) = (at * 11_000_000, at * 11_000_000 + took);
                let window = Window { from_ns, to_ns, bytes: MIB, ops: 1, latency, ..Window::default() };
                Event::Window { step, target: 0, zone: None, window }
            }));
        }
        let table = waiting(|| Ok::<_, ()>(events.clone().into_iter())).expect("a table");
        let rows: Vec<_> = table.rows.iter().map(|row| [row[1].as_str(), row[2].as_str()]).collect();
        assert_eq!(rows, [["write", "50 %"], ["write", "80 %"]]);
        assert!(!table.title.contains("sustained"), "{}", table.title);
    }
}
