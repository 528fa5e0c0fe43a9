//! What else differs between two results, so that they aren't compared as like with like in silence.

use std::collections::BTreeMap;

use super::{Pair, Side};
use crate::findings::{LoadKey, Metric};

/// What else differs, so that the comparison isn't of like with like.
pub(super) fn unlike(pair: &Pair<'_>, both: &[(&Metric, &Metric)], (a, b): (&str, &str)) -> Vec<String> {
    let mut said = Vec::new();
    let (x, y) = (pair.a.run, pair.b.run);
    if x.modelled != y.modelled {
        let (model, real) = if x.modelled { (a, b) } else { (b, a) };
        said.push(format!(
            "Not like with like: {model} is virtual, a model's figures; {real} is of a real drive. The ratio \
             tells how well the model fits, nothing of the drive."
        ));
    } else if x.origin.lab != y.origin.lab {
        said.push(format!("Not like with like: {a} and {b} are from different machines of the lab."));
    }
    let mut loads: BTreeMap<&str, (&LoadKey, &LoadKey)> = BTreeMap::new();
    for (left, right) in both.iter().filter_map(|(n, other)| Some((n.load.as_ref()?, other.load.as_ref()?))) {
        loads.entry(&left.name).or_insert((left, right));
    }
    for (label, (load, other)) in loads {
        if load.differs(other) {
            let (x, y) = (load.describe(), other.describe());
            said.push(format!("Not like with like: '{label}' is {x} in {a}, but {y} in {b}."));
        }
        for (run, load) in [(a, load), (b, other)] {
            let unknown = load.unknown();
            if !unknown.is_empty() {
                said.push(format!("Of '{label}' in {run} is not known {}.", unknown.join(", nor ")));
            }
        }
        if load.engine != other.engine && x.modelled == y.modelled {
            let (x, y) = (&load.engine, &other.engine);
            said.push(format!("Not like with like: '{label}' was moved by {x} in {a}, by {y} in {b}."));
        }
    }
    let experiment = |side: Side<'_>| match &side.run.origin.protocol {
        Some(protocol) => format!("{} by protocol {protocol}", side.run.experiment),
        None => side.run.experiment.clone(),
    };
    let (x, y) = (experiment(pair.a), experiment(pair.b));
    if x != y {
        said.push(format!("{a} is a run of {x}, {b} of {y}: they may not measure alike."));
    }
    if pair.a.target.on.zip(pair.b.target.on).is_some_and(|(x, y)| x != y) {
        said.push("Not like with like: one worked in a file, the other on the bare device.".to_owned());
    }
    said
}
