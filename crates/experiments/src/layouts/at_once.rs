//! The speed of all drives at once and its limit: evidence for advice.

use std::collections::BTreeMap;

use super::{
    super::{
        common::{Group, Series},
        together::{Held, Level, ProcessorLoad, added, shared},
    },
    plan::{alone, labels_at_once},
};
use crate::{
    analyse::{Estimate, compare, repeat},
    conditions::Processors,
    findings::{Limiter, Metric, Quantity, Scope},
    inventory::Inventory,
    plan::Plan,
    record::Run,
    units::{Direction, distinct, listed, rate},
};

/// The shared limit of drives that are slower at once than alone: layouts that use all of them can't exceed it.
pub(super) fn limit(evidence: &[Metric]) -> Option<String> {
    let mut limits = Vec::new();
    for ceiling in evidence {
        let Quantity::Ceiling(by) = ceiling.quantity else { continue };
        let alone = evidence.iter().find(|m| m.scope == Scope::SumAlone && m.load == ceiling.load);
        let (Some(alone), Some(load)) = (alone.filter(|_| by != Limiter::Drives), &ceiling.load) else {
            continue;
        };
        let verb = if load.direction == Some(Direction::Write) { "write" } else { "read" };
        let (at_once, alone) = (ceiling.estimate.sentence(rate, ""), rate(alone.estimate.value));
        limits.push((ceiling.target.clone(), format!("{verb} {at_once} at once ({alone} alone)")));
    }
    let (names, speeds): (Vec<String>, Vec<String>) = limits.into_iter().unzip();
    let names = listed(&distinct(names));
    (!speeds.is_empty())
        .then(|| format!("Layouts of these drives are limited by {names}: the drives {}.", listed(&speeds)))
}

/// What the processors did during each load on several drives at once, by its label.
pub(super) fn processors(run: &Run<Series>, plan: &Plan) -> BTreeMap<String, Vec<Processors>> {
    let mut all: BTreeMap<String, Vec<Processors>> = BTreeMap::new();
    for (step, measure) in plan.measures().filter(|(step, _)| step.on.len() > 1) {
        let processors = run.steps.get(&step.id).and_then(|done| done.processors.clone());
        all.entry(measure.label.clone()).or_default().extend(processors);
    }
    all
}

/// The speeds of all drives at once, their sums, and the ceiling, where it is known whether there is one.
pub(super) fn metrics(
    plan: &Plan,
    drives: usize,
    groups: &[Group<'_>],
    processors: &BTreeMap<String, Vec<Processors>>,
    inventory: &Inventory,
) -> Vec<Metric> {
    let each = labels_at_once().filter_map(|label| {
        let find = |label: &str| -> Option<Vec<&Group<'_>>> {
            let one = |at: usize| groups.iter().find(|g| g.at == at && g.measure.label == label);
            (0..drives).map(one).collect()
        };
        let (at_once, alone) = (find(&label)?, find(alone(&label))?);
        let speeds: Vec<Vec<f64>> = at_once.iter().map(|group| group.speeds()).collect();
        let repetitions = speeds.iter().map(Vec::len).min()?;
        let sums: Vec<f64> = (0..repetitions).map(|run| speeds.iter().map(|s| s[run]).sum()).collect();
        let sum = repeat::mean(&sums)?;
        let means = alone.iter().map(|group| repeat::mean(&group.speeds())).collect::<Option<Vec<_>>>()?;
        let sum_alone = added(&means);
        let load = &at_once.first()?.load;
        let metric = |target: &str, quantity, e: &Estimate, scope| {
            Metric::new(target, quantity, e.clone()).of(load).at(scope)
        };
        let mut all = vec![
            metric("all", Quantity::Throughput, &sum, Scope::Sum),
            metric("all", Quantity::Throughput, &sum_alone, Scope::SumAlone),
        ];
        for (group, speeds) in at_once.iter().zip(&speeds) {
            let together = repeat::mean(speeds)?;
            all.push(metric(&group.target.given, Quantity::Throughput, &together, Scope::Together));
        }
        let members: Vec<usize> = (0..drives).collect();
        let load = processors.get(&label).and_then(|all| ProcessorLoad::of(all, drives));
        let (limiter, name) = match Held::by(&compare::ratio(&sum, &sum_alone)?.estimate) {
            Held::Unknown => return Some(all),
            Held::No => (Limiter::Drives, "drives".to_owned()),
            Held::Yes if load.is_some_and(|load| load.level == Level::Limit) => {
                (Limiter::Processor, "processor".to_owned())
            }
            Held::Yes => {
                let mut links = shared(inventory, &plan.targets, &members).into_iter();
                match links.find(|link| link.members == members && !link.name.is_empty()) {
                    Some(link) => (Limiter::Bus, link.name),
                    None => (Limiter::Unknown, "something shared".to_owned()),
                }
            }
        };
        all.push(metric(&name, Quantity::Ceiling(limiter), &sum, Scope::Whole));
        Some(all)
    });
    each.flatten().collect()
}
