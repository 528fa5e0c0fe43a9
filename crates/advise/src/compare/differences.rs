//! Differences in how two results were measured: which loads can't be compared, and what is said with every comparison.

use std::collections::BTreeMap;

use super::{Pair, Side, pools};
use crate::findings::{LoadKey, Metric, On};

/// Differences in how the numbers were measured.
pub(super) fn unlike(pair: &Pair<'_>, both: &[(&Metric, &Metric)], (a, b): (&str, &str)) -> Vec<String> {
    let mut sentences = Vec::new();
    let (x, y) = (pair.a.run, pair.b.run);
    if x.modelled != y.modelled {
        let (model, real) = if x.modelled { (a, b) } else { (b, a) };
        sentences.push(format!(
            "Different origins: {model} is virtual, from a model; {real} is from a real drive. The ratio shows how \
             well the model fits, not how drives differ."
        ));
    }
    sentences.extend(pools::conditions((a, pair.a.target), (b, pair.b.target)));
    for (label, load, other) in loads(both) {
        for (run, load) in [(a, load), (b, other)] {
            let unknown = load.unknown();
            if !unknown.is_empty() {
                sentences.push(format!("Unknown for '{label}' in {run}: {}.", unknown.join(", ")));
            }
        }
        sentences.extend(claims(label, (a, load.span), (b, other.span)));
        if load.engine != other.engine && x.modelled == y.modelled {
            let (x, y) = (&load.engine, &other.engine);
            sentences.push(format!("Different engines: '{label}' ran with {x} in {a}, with {y} in {b}."));
        }
    }
    let experiment = |side: Side<'_>| match &side.run.origin.suite {
        Some(suite) => format!("{} of suite {suite}", side.run.experiment),
        None => side.run.experiment.clone(),
    };
    let (x, y) = (experiment(pair.a), experiment(pair.b));
    if x != y {
        sentences.push(format!("{a} is a run of {x}, {b} of {y}: they may measure differently."));
    }
    sentences
}

/// A sentence where only one of the runs measured the speed over minutes.
fn claims(label: &str, a: (&str, Option<bool>), b: (&str, Option<bool>)) -> Option<String> {
    let short: Vec<&str> =
        [a, b].iter().filter(|(_, span)| *span == Some(true)).map(|(run, _)| *run).collect();
    let [run] = short[..] else { return None };
    Some(format!(
        "Different claims: '{label}' is the speed over minutes in {run} only. A cache can make the difference."
    ))
}

/// Each load of these numbers in both runs, by its name.
fn loads<'a>(both: &[(&'a Metric, &'a Metric)]) -> Vec<(&'a str, &'a LoadKey, &'a LoadKey)> {
    let mut loads: BTreeMap<&str, (&LoadKey, &LoadKey)> = BTreeMap::new();
    for (load, other) in both.iter().filter_map(|(n, other)| Some((n.load.as_ref()?, other.load.as_ref()?))) {
        loads.entry(&load.name).or_insert((load, other));
    }
    loads.into_iter().map(|(name, (load, other))| (name, load, other)).collect()
}

/// Whether two numbers are of loads that can be compared, as far as is known.
pub(super) fn alike(a: &Metric, b: &Metric) -> bool {
    a.load.as_ref().zip(b.load.as_ref()).is_none_or(|(a, b)| !a.differs(b) && !is_elsewhere(a, b))
}

/// One is a file, the other the bare device.
fn is_elsewhere(a: &LoadKey, b: &LoadKey) -> bool {
    a.on.zip(b.on).is_some_and(|(a, b)| (a == On::Device) != (b == On::Device))
}

/// How the loads of these numbers differ.
pub(super) fn unlike_loads(both: &[(&Metric, &Metric)], (a, b): (&str, &str)) -> Vec<String> {
    let describe = |load: &LoadKey, other: &LoadKey| {
        let on = is_elsewhere(load, other).then_some(match load.on {
            Some(On::Device) => ", on the device",
            _ => ", in a file",
        });
        load.describe() + on.unwrap_or_default()
    };
    let one = |(label, x, y): (&str, &LoadKey, &LoadKey)| {
        format!("'{label}' is {} in {a}, but {} in {b}", describe(x, y), describe(y, x))
    };
    loads(both).into_iter().map(one).collect()
}
