//! The speed of all drives at once and its limit: evidence for advice.

use super::{
    super::{
        common::Group,
        together::{Held, added},
    },
    plan::{alone, labels_at_once},
};
use crate::{
    analyse::{Estimate, compare, repeat},
    findings::{Limiter, Metric, Quantity, Scope},
    units::{Direction, listed, rate},
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
        limits.push(format!("{verb} {at_once} at once ({alone} alone)"));
    }
    (!limits.is_empty()).then(|| {
        let limits = listed(&limits);
        format!("Layouts of these drives are limited by something shared: the drives {limits}. drivebench run together names it.")
    })
}

/// The speeds of all drives at once, their sums, and the ceiling, where it is known whether there is one.
pub(super) fn metrics(drives: usize, groups: &[Group<'_>]) -> Vec<Metric> {
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
        let (limiter, name) = match Held::by(&compare::ratio(&sum, &sum_alone)?.estimate) {
            Held::Unknown => return Some(all),
            Held::No => (Limiter::Drives, "drives"),
            Held::Yes => (Limiter::Unknown, "something shared"),
        };
        all.push(metric(name, Quantity::Ceiling(limiter), &sum, Scope::Whole));
        Some(all)
    });
    each.flatten().collect()
}
