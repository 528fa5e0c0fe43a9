//! All drives side by side: which are faster in which load, as `results compare` decides.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    history::{DriveHistory, Series, origin, speed_name},
    stored,
};
use crate::{
    analyse::{Estimate, compare::Difference},
    compare::compare,
    findings::{Carrier, Details, Findings, Quantity, Scope},
    record::Store,
    report::site::{Ranked, Ranking},
    units::distinct,
};

/// Drives in a table at most; of more, those that were measured last.
const MOST: usize = 50;

/// The newest run of a drive, which is known by its position, in one experiment and suite.
struct Newest {
    drive: usize,
    findings: Findings,
    target: String,
}

/// A table for each load that at least two drives have in their newest runs of one experiment and suite.
pub(super) fn rankings(store: &Store, drives: &[DriveHistory]) -> anyhow::Result<Vec<Ranking>> {
    let runs = store.list()?.0;
    // Pictures and tables of all runs would take too much memory.
    let numbers = |all| Findings { figures: vec![], tables: vec![], details: Details::default(), ..all };
    let mut known: BTreeMap<String, Option<Findings>> = BTreeMap::new();
    let mut read = |run: &str| {
        let known = known.entry(run.to_owned());
        known.or_insert_with(|| stored::findings(store, run).ok().map(numbers)).clone()
    };
    let key = |series: &Series| (series.experiment.clone(), series.suite.clone());
    let mut rankings = Vec::new();
    for same in distinct(drives.iter().flat_map(|one| &one.loads).map(key)) {
        let loads = |drive: usize| drives[drive].loads.iter().filter(|series| key(series) == same);
        let newest = |drive: usize| {
            let last =
                loads(drive).filter_map(|series| series.points.last()).max_by_key(|point| &point.at)?;
            let findings = read(&last.run)?;
            let is_own = |carrier: &&Carrier| carrier.identities().eq([drives[drive].identity.as_str()]);
            let target = findings.origin.carriers.iter().find(is_own)?.target.clone();
            Some(Newest { drive, findings, target })
        };
        let mut all: Vec<Newest> = (0..drives.len()).filter_map(newest).collect();
        all.sort_by(|a, b| b.findings.origin.at.cmp(&a.findings.origin.at));
        all.truncate(MOST);

        let mut faster: BTreeSet<(String, usize, usize)> = BTreeSet::new();
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate().skip(i + 1) {
                let others = stored::others_of(&runs, &[&a.findings, &b.findings], &mut read);
                let side = |i: usize| (&all[i].findings, Some(all[i].target.as_str()));
                let Ok(compared) = compare(side(i), Some(side(j)), &others, false) else { continue };
                for metric in compared.estimates {
                    let is_speed = metric.quantity == Quantity::Ratio(Box::new(Quantity::Throughput))
                        && (metric.scope, metric.repetition) == (Scope::Whole, None);
                    let differs = is_speed && Difference::of(&metric.estimate) == Difference::Found;
                    let (first, second) = if metric.estimate.value > 1.0 { (i, j) } else { (j, i) };
                    let load = metric.load.filter(|_| differs);
                    faster.extend(load.map(|load| (speed_name(&load), first, second)));
                }
            }
        }
        for load in distinct(all.iter().flat_map(|one| loads(one.drive)).map(|series| &series.load)) {
            let speed = |i: usize| {
                let Newest { drive, findings, .. } = &all[i];
                let point = loads(*drive).find(|series| series.load == *load)?.points.last()?;
                let is_newest = point.run == findings.run && point.speed.value.is_normal();
                Some((i, &point.speed)).filter(|_| is_newest)
            };
            let mut order: Vec<(usize, &Estimate)> = (0..all.len()).filter_map(speed).collect();
            order.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
            let row = |&(i, speed): &(usize, &Estimate)| {
                let is_slower = |at: &usize| faster.contains(&(load.clone(), i, order[*at].0));
                let slower = (0..order.len()).filter(is_slower).collect();
                Ranked { drive: all[i].drive, speed: speed.clone(), slower }
            };
            let rows: Vec<Ranked> = order.iter().map(row).collect();
            let title = format!("{load} ({})", origin(&same.0, same.1.as_deref()));
            rankings.extend((rows.len() > 1).then_some(Ranking { title, rows }));
        }
    }
    Ok(rankings)
}
