//! Differences in how two results were measured, reported with every comparison.

use std::collections::BTreeMap;

use super::{Pair, Side};
use crate::findings::{LoadKey, Metric};

/// What differs besides the numbers.
pub(super) fn unlike(pair: &Pair<'_>, both: &[(&Metric, &Metric)], (a, b): (&str, &str)) -> Vec<String> {
    let mut sentences = Vec::new();
    let (x, y) = (pair.a.run, pair.b.run);
    if x.modelled != y.modelled {
        let (model, real) = if x.modelled { (a, b) } else { (b, a) };
        sentences.push(format!(
            "Different origins: {model} is virtual, from a model; {real} is from a real drive. The ratio shows how \
             well the model fits, not how drives differ."
        ));
    } else if x.origin.lab != y.origin.lab {
        sentences.push(format!("Different machines: {a} and {b} are from different machines of the lab."));
    }
    let mut loads: BTreeMap<&str, (&LoadKey, &LoadKey)> = BTreeMap::new();
    for (left, right) in both.iter().filter_map(|(n, other)| Some((n.load.as_ref()?, other.load.as_ref()?))) {
        loads.entry(&left.name).or_insert((left, right));
    }
    for (label, (load, other)) in loads {
        if load.differs(other) {
            let (x, y) = (load.describe(), other.describe());
            sentences.push(format!("Different loads: '{label}' is {x} in {a}, but {y} in {b}."));
        }
        for (run, load) in [(a, load), (b, other)] {
            let unknown = load.unknown();
            if !unknown.is_empty() {
                sentences.push(format!("Not known of '{label}' in {run}: {}.", unknown.join(", ")));
            }
        }
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
    if pair.a.target.on.zip(pair.b.target.on).is_some_and(|(x, y)| x != y) {
        sentences.push("Different targets: one is a file, the other is the bare device.".to_owned());
    }
    sentences
}
