//! What a client would have waited, had its requests not been polite enough to wait for each other.

use std::collections::BTreeMap;

use crate::{
    analyse::{Tail, open_loop::Replay},
    findings::{Column, Table},
    plan::{Plan, StepId},
    record::Event,
    units::{duration, percent},
};

/// Shares of the sustained rate at which requests come.
const LOADS: [f64; 2] = [0.5, 0.8];
/// Percentiles shown.
const PERCENTILES: [(&str, f64); 4] = [("50th", 0.5), ("99th", 0.99), ("99.9th", 0.999), ("99.99th", 0.9999)];

/// Replays the loads of a record that ran at depth 1. The record is read twice, as the sustained rate is only known at
/// its end.
///
/// # Errors
/// What `read` says.
pub fn waiting<E, R: Iterator<Item = Event>>(read: impl Fn() -> Result<R, E>) -> Result<Table, E> {
    let mut plan = None;
    let mut tails: BTreeMap<(StepId, u32), Tail> = BTreeMap::new();
    for event in read()? {
        match event {
            Event::Plan { plan: p } => plan = Some(p),
            // A step that was cut short before is measured all over.
            Event::Step { step, .. } => tails.retain(|(of, _), _| *of != step),
            Event::Window { step, target, window, .. } => {
                tails.entry((step, target)).or_default().push(&window)
            }
            _ => {}
        }
    }
    let mut replays: BTreeMap<(StepId, u32), Vec<Replay>> = BTreeMap::new();
    for event in read()? {
        match event {
            Event::Step { step, .. } if plan.as_ref().is_some_and(|p| is_serial(p, step)) => {
                for (key, tail) in tails.iter().filter(|((of, _), _)| *of == step) {
                    let each = LOADS.iter().filter_map(|&load| Replay::new(tail.histogram(), load, 1));
                    replays.insert(*key, each.collect());
                }
            }
            Event::Window { step, target, window, .. } => {
                replays.get_mut(&(step, target)).into_iter().flatten().for_each(|r| r.push(&window));
            }
            _ => {}
        }
    }
    let rows = replays
        .into_iter()
        .flat_map(|(key, each)| each.into_iter().filter_map(move |r| Some((key, r.finish()?))));
    let rows = rows.map(|((step, target), waiting)| {
        let (label, given) = plan.as_ref().map_or_else(Default::default, |p| names(p, step, target));
        let mut row = vec![given, label, percent(waiting.load)];
        row.extend(PERCENTILES.map(|(_, share)| {
            waiting.response.quantile(share).map_or("-".to_owned(), |ns| duration(ns as f64 / 1e9))
        }));
        row.push(percent(waiting.over_100ms));
        row
    });
    let column = |name: &str| Column { name: name.to_owned(), right: false };
    let heads =
        ["target", "load", "at"].into_iter().chain(PERCENTILES.map(|(name, _)| name)).chain(["over 100 ms"]);
    Ok(Table {
        title: "modelled: response times, had requests come evenly at a share of what the drive sustains"
            .to_owned(),
        columns: heads.map(column).collect(),
        rows: rows.collect(),
    })
}

fn is_serial(plan: &Plan, step: StepId) -> bool {
    plan.measure(step).is_some_and(|m| m.load.depth == 1)
}

fn names(plan: &Plan, step: StepId, target: u32) -> (String, String) {
    let label = plan.measure(step).map(|m| match m.repetition {
        1 => m.label.clone(),
        n => format!("{} {n}", m.label),
    });
    let given = plan.targets.get(target as usize).map(|t| t.given.clone());
    (label.unwrap_or_default(), given.unwrap_or_default())
}
