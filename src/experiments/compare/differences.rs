//! What else differs between two results, so that they aren't compared as like with like in silence.

use std::collections::BTreeMap;

use super::{super::imports, Pair, Side};
use crate::{
    findings::Named,
    plan::{Measure, StepId},
    record::Told,
    units::{Content, EngineInfo},
};

/// What else differs, so that the comparison isn't of like with like.
pub(super) fn unlike(pair: &Pair<'_>, (a, b): (&str, &str)) -> Vec<String> {
    let mut said = Vec::new();
    let lab = |s: &Side| s.start.as_ref().and_then(|s| s.inventory.machine.lab.clone());
    match (pair.a.0, pair.b.0) {
        (x, y) if x.findings.modelled != y.findings.modelled => {
            let (model, real) = if x.findings.modelled { (a, b) } else { (b, a) };
            said.push(format!(
                "Not like with like: {model} is virtual, a model's figures; {real} is of a real drive. The ratio \
                 tells how well the model fits, nothing of the drive."
            ));
        }
        (x, y) if lab(x) != lab(y) => {
            said.push(format!("Not like with like: {a} and {b} are from different machines of the lab."));
        }
        _ => {}
    }
    let (left, right) = (loads(pair.a), loads(pair.b));
    for (label, load) in &left {
        let counts = |n: &Named| n.name.starts_with(label.as_str());
        let counts = pair.a.0.findings.estimates.iter().any(counts);
        let Some(other) = right.get(label).filter(|_| counts) else { continue };
        if load.differs(other) {
            let (x, y) = (load.told.describe(), other.told.describe());
            said.push(format!("Not like with like: '{label}' is {x} in {a}, but {y} in {b}."));
        }
        for (run, load) in [(a, load), (b, other)] {
            let unknown = load.told.unknown();
            if !unknown.is_empty() {
                said.push(format!("Of '{label}' in {run} is not known {}.", unknown.join(", nor ")));
            }
        }
        if load.told.tool != other.told.tool && load.modelled == other.modelled {
            let (x, y) = (&load.told.tool, &other.told.tool);
            said.push(format!("Not like with like: '{label}' was moved by {x} in {a}, by {y} in {b}."));
        }
    }
    let experiment = |s: &Side| {
        let protocol = s.plan.as_ref().and_then(|p| p.protocol.clone());
        protocol
            .map_or(s.findings.experiment.clone(), |p| format!("{} by protocol {p}", s.findings.experiment))
    };
    let (x, y) = (experiment(pair.a.0), experiment(pair.b.0));
    if x != y {
        said.push(format!("{a} is a run of {x}, {b} of {y}: they may not measure alike."));
    }
    let target = |(side, at): (&'_ Side, usize)| side.targets()[at].kind;
    if target(pair.a).zip(target(pair.b)).is_some_and(|(x, y)| x != y) {
        said.push("Not like with like: one worked in a file, the other on the bare device.".to_owned());
    }
    said
}

/// A load on a target, measured or told.
struct Asked {
    told: Told,
    /// What was written, where that is known.
    content: Option<Content>,
    modelled: bool,
}

impl Asked {
    fn of(measure: &Measure, engine: &EngineInfo) -> Self {
        let load = &measure.load;
        let told = Told {
            tool: engine.name.clone(),
            direction: Some(load.direction),
            pattern: Some(load.pattern),
            block: Some(load.block),
            depth: Some(load.depth),
            jobs: Some(1),
            caching: Some(load.caching),
            ..Told::default()
        };
        Self { told, content: Some(load.content), modelled: engine.modelled }
    }

    /// Whether what is known of both isn't the same.
    fn differs(&self, other: &Self) -> bool {
        fn unlike<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
            a.zip(b).is_some_and(|(a, b)| a != b)
        }
        let (a, b) = (&self.told, &other.told);
        unlike(a.direction, b.direction)
            || unlike(a.pattern, b.pattern)
            || unlike(a.block, b.block)
            || unlike(a.depth, b.depth)
            || unlike(a.jobs, b.jobs)
            || unlike(a.caching, b.caching)
            || unlike(self.content, other.content)
    }
}

/// Each load on this target by its label.
fn loads((side, at): (&Side, usize)) -> BTreeMap<String, Asked> {
    let on = |step: &StepId| {
        side.plan.as_ref().and_then(|plan| plan.step(*step)).is_some_and(|step| step.is_on(at))
    };
    let of = side.done.iter().filter(|(step, _)| on(step));
    let measured = of.map(|(_, (m, engine))| (m.label.clone(), Asked::of(m, engine)));
    let groups = side.imported.iter().flat_map(imports::groups);
    let here = groups.filter(|g| side.targets().get(at).is_some_and(|place| place.given == g.target));
    let told = here.filter_map(|g| {
        let told = (*g.loads.first()?).clone();
        Some((g.name, Asked { told, content: None, modelled: false }))
    });
    measured.chain(told).collect()
}
