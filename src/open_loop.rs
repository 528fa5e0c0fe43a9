//! Open-loop latency: response times if requests did not wait for each other.

use crate::{
    analyse::{Tail, open_loop::OpenLoop},
    findings::{Column, Table},
    plan::{Plan, StepId},
    record::{Event, Run, Windows},
    units::{Percentile, Window, ZonePoint, duration, percent},
};

/// Shares of the sustained rate at which requests come.
const LOADS: [f64; 2] = [0.5, 0.8];
const SHOWN: [Percentile; 4] = [Percentile::P50, Percentile::P99, Percentile::P999, Percentile::P9999];

impl Windows for Tail {
    fn window(&mut self, _: Option<ZonePoint>, window: &Window) {
        self.push(window);
    }
}

struct Replays(Vec<OpenLoop>);

impl Windows for Replays {
    fn window(&mut self, _: Option<ZonePoint>, window: &Window) {
        self.0.iter_mut().for_each(|replay| replay.push(window));
    }
}

/// Replays the loads of a record that ran at depth 1. The record is read twice, as the sustained rate is only known
/// at its end.
pub fn waiting<E, R: Iterator<Item = Event>>(read: impl Fn() -> Result<R, E>) -> Result<Table, E> {
    let first = Run::read(read()?, |_, _, _| Tail::default());
    let replays = |step: StepId, target: usize| {
        let load = first.steps.get(&step).and_then(|step| step.loads.get(&target));
        let serial = load.filter(|_| first.planned(step).is_some_and(|m| m.load.depth == 1));
        let each = LOADS.iter().filter_map(|&load| OpenLoop::new(serial?.kept.histogram(), load, 1));
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
        title: "modelled: response times if requests came evenly at a share of the sustained rate".to_owned(),
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
