//! `drivebench pool predictions`: how far the predictions of pools were off, over all stored runs.

use std::{collections::BTreeMap, process::ExitCode};

use super::forecast;
use crate::{
    advise::Evidence,
    cli::{output::Output, stored},
    experiments::LAYOUTS,
    findings::{Column, Findings, Metric, Quantity, Scope, Table},
    record::{Store, Summary},
    report,
    units::{Direction, Layout, PredictedLoad, count, percent, signed_percent},
};

/// Errors of predictions: what was predicted, as a share of what was measured, less one.
#[derive(Debug, Default)]
struct Errors {
    all: Vec<f64>,
    /// The load of the largest.
    worst: Option<(f64, String)>,
}

impl Errors {
    fn push(&mut self, error: f64, load: &str) {
        self.all.push(error.abs());
        if self.worst.as_ref().is_none_or(|(worst, _)| error.abs() > worst.abs()) {
            self.worst = Some((error, load.to_owned()));
        }
    }

    fn row(&self, name: &str) -> Vec<String> {
        let n = self.all.len();
        let mean = self.all.iter().sum::<f64>() / n as f64;
        let within = self.all.iter().filter(|error| **error <= 0.1).count();
        let worst = self
            .worst
            .as_ref()
            .map_or("-".to_owned(), |(error, load)| format!("{} {load}", signed_percent(*error)));
        vec![name.to_owned(), n.to_string(), percent(mean), percent(within as f64 / n as f64), worst]
    }
}

pub(super) fn predictions(store: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    let (runs, unreadable) = store.list()?;
    unreadable.iter().for_each(|e| output.warn(&e.to_string()));
    let mut by_layout: BTreeMap<String, Errors> = BTreeMap::new();
    let [mut all, mut first_syncs, mut rebuilds] = [(); 3].map(|()| Errors::default());
    let mut with = 0;
    // Of a pool that was measured more than once, the newest counts.
    let mut measured = Vec::new();
    let predicted = |run: &&Summary| {
        let of_pool = run.pool.as_ref().is_some_and(|pool| !pool.predicted.is_empty());
        run.copy_of.is_none() && (run.experiment == LAYOUTS.name || of_pool)
    };
    for run in runs.iter().rev().filter(predicted) {
        let findings = stored::findings(store, &run.run)?;
        let mut errors = errors(&findings);
        errors.extend(Evidence::of(&findings).iter().filter_map(|found| on_pool(found, &mut measured)));
        with += u64::from(!errors.is_empty());
        for one in errors {
            // What is predicted from one drive was measured of that drive.
            if !one.of_one_drive {
                all.push(one.error, &one.load);
            }
            by_layout.entry(one.layout).or_default().push(one.error, &one.load);
        }
        for (quantity, errors) in
            [(Quantity::FirstSyncTime, &mut first_syncs), (Quantity::RebuildTime, &mut rebuilds)]
        {
            scored(&findings, &quantity).for_each(|(of, error)| errors.push(error, &of.target));
        }
    }
    if by_layout.is_empty() {
        let run = stored::command(store, "run layouts --plan DRIVES...");
        output.note(&format!("No predictions were compared with measurements yet: `{run}`."));
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows: Vec<Vec<String>> = by_layout.iter().map(|(layout, errors)| errors.row(layout)).collect();
    let sums = [(&all, "of several drives"), (&first_syncs, "first syncs"), (&rebuilds, "rebuilds")];
    rows.extend(sums.into_iter().filter(|(sum, _)| !sum.all.is_empty()).map(|(sum, name)| sum.row(name)));
    let columns = Column::all([
        ("layout", false),
        ("predicted", true),
        ("off by", true),
        ("within 10 %", true),
        ("worst", false),
    ]);
    let table = report::table(&Table { title: String::new(), columns, rows }, output.style);
    let runs = count(with, "run");
    output
        .result(&format!("{table}\nFrom {runs}. Each prediction was saved before its pool was built. What is predicted of linear and of reads of raid1 \
         is the speed of one drive: 'of several drives' leaves it out, and times.\n"
    ))?;
    Ok(if unreadable.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was predicted of a load on a pool, as a share of what was measured, less one.
#[derive(Debug, PartialEq)]
struct Compared {
    layout: String,
    load: String,
    error: f64,
    /// The prediction is the speed of one drive.
    of_one_drive: bool,
}

impl Compared {
    fn of(layout: String, load: String, direction: Option<Direction>, error: f64) -> Self {
        let known = Layout::of_name(&layout).zip(direction);
        let of_one_drive = known.is_some_and(|(layout, direction)| layout.is_of_one_drive(direction));
        Self { layout, load, error, of_one_drive }
    }
}

/// Each prediction of this quantity that was measured of the same target and load, and what was predicted as a share of what was
/// measured, less one.
fn scored<'f>(findings: &'f Findings, quantity: &'f Quantity) -> impl Iterator<Item = (&'f Metric, f64)> {
    let of =
        move |scope| findings.estimates.iter().filter(move |m| m.quantity == *quantity && m.scope == scope);
    of(Scope::Predicted).filter_map(move |predicted| {
        let same = |m: &&Metric| m.target == predicted.target && m.load == predicted.load;
        let measured = of(Scope::Whole).find(same)?;
        Some((predicted, predicted.estimate.value / measured.estimate.value - 1.0))
    })
}

/// Each prediction whose load was measured.
fn errors(findings: &Findings) -> Vec<Compared> {
    let compared = |(predicted, error): (&Metric, f64)| {
        let load = predicted.load.clone().unwrap_or_default();
        Compared::of(predicted.target.clone(), load.name, load.direction, error)
    };
    scored(findings, &Quantity::Throughput).map(compared).collect()
}

/// What was predicted of a pool and measured on it, unless that pool and load is among the `measured` already.
fn on_pool(found: &Evidence, measured: &mut Vec<(Option<String>, PredictedLoad)>) -> Option<Compared> {
    let predicted = forecast::predicted(found)?;
    let speed = found.speed()?;
    let pool = found.pool.as_ref()?;
    let one = (pool.name.clone(), predicted.clone());
    if measured.contains(&one) {
        return None;
    }
    measured.push(one);
    let direction = found.load.as_ref().and_then(|load| load.direction);
    let error = predicted.speed / speed.value - 1.0;
    Some(Compared::of(pool.layout.clone()?, predicted.label.clone(), direction, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        advise::testing::{alone, load, within},
        analyse::Estimate,
        findings::LoadKey,
        inventory::fixtures,
        units::{Action, Pool},
    };

    #[test]
    fn a_prediction_is_compared_with_what_was_measured_of_the_same_load() {
        let speed = |target: &str, load: &str, scope, value: f64| {
            let key = LoadKey { name: load.to_owned(), ..LoadKey::default() };
            Metric::new(target, Quantity::Throughput, Estimate::unbounded(value, "")).of(&key).at(scope)
        };
        let estimates = vec![
            speed("raid0", "write 1M", Scope::Whole, 10.0),
            speed("raid0", "write 1M", Scope::Predicted, 10.5),
            speed("raid0", "read 1M", Scope::Predicted, 40.0),
            speed("bay:1.1", "write 1M", Scope::Alone, 5.0),
            speed("raid5", "write 1M", Scope::Whole, 4.0),
            speed("raid5", "write 1M", Scope::Predicted, 3.0),
        ];
        let found = errors(&Findings { estimates, ..Findings::default() });
        assert_eq!(found.len(), 2);
        let mut all = Errors::default();
        found.iter().for_each(|one| all.push(one.error, &one.load));
        assert_eq!(all.row("all"), ["all", "2", "15 %", "50 %", "-25 % write 1M"]);
    }

    #[test]
    fn a_time_is_compared_with_that_of_the_same_layout() {
        let time = |target: &str, quantity, scope, seconds: f64| {
            Metric::new(target, quantity, Estimate::unbounded(seconds, "")).at(scope)
        };
        let estimates = vec![
            time("raid1", Quantity::RebuildTime, Scope::Whole, 10.0),
            time("raid5", Quantity::RebuildTime, Scope::Predicted, 33.0),
            time("raid5", Quantity::FirstSyncTime, Scope::Whole, 50.0),
            time("raid5", Quantity::RebuildTime, Scope::Whole, 30.0),
        ];
        let findings = Findings { estimates, ..Findings::default() };
        let found: Vec<(&Metric, f64)> = scored(&findings, &Quantity::RebuildTime).collect();
        assert!(
            found.len() == 1 && (found[0].1 - 0.1).abs() < 1e-9 && found[0].0.target == "raid5",
            "{found:?}"
        );
        assert_eq!(scored(&findings, &Quantity::FirstSyncTime).count(), 0);
    }

    #[test]
    fn what_is_predicted_from_one_drive_is_known() {
        let of = |layout: Layout, direction| {
            Compared::of(layout.name().to_owned(), String::new(), Some(direction), 0.1).of_one_drive
        };
        let both = |layout| [of(layout, Direction::Read), of(layout, Direction::Write)];
        assert_eq!(both(Layout::Linear), [true, true]);
        assert_eq!(both(Layout::Raid1), [true, false]);
        assert_eq!([both(Layout::Raid0), both(Layout::Raid10)], [[false; 2]; 2]);
    }

    #[test]
    fn a_prediction_of_a_pool_is_compared_with_its_newest_measurement() {
        let predicted = |speed| PredictedLoad {
            label: "write 1M".to_owned(),
            speed,
            low: speed,
            high: None,
            processor: None,
        };
        let pool = |speed| Pool {
            name: Some("data".to_owned()),
            layout: Some("raid0".to_owned()),
            predicted: vec![predicted(speed)],
            ..Pool::default()
        };
        let pi = fixtures::pi_zero().inventory();
        let found = |pool: Pool| Evidence {
            pool: Some(pool),
            layers: vec!["md0".to_owned()],
            ..alone(&pi, "r1", "sda", load(false, 1 << 20, 1), within(10.0, 0.1), None)
        };
        let mut measured = Vec::new();
        let mut error = |found: &Evidence| {
            on_pool(found, &mut measured).map(|one| (one.layout + " " + &one.load, one.error))
        };
        let newest = error(&found(pool(11e6))).expect("one");
        assert!(newest.0 == "raid0 write 1M" && (newest.1 - 0.1).abs() < 1e-9, "{newest:?}");
        assert_eq!(error(&found(pool(11e6))), None);
        // Another pool of that name.
        assert!(error(&found(pool(9e6))).is_some());
        // Not what was predicted.
        assert_eq!(error(&found(Pool { degraded: 1, ..pool(8e6) })), None);
        assert_eq!(error(&found(Pool { action: Some(Action::Recover), ..pool(8e6) })), None);
        assert_eq!(error(&Evidence { at_once: true, ..found(pool(8e6)) }), None);
        assert_eq!(
            error(&Evidence { layers: vec!["dm-1".to_owned(), "md0".to_owned()], ..found(pool(8e6)) }),
            None
        );
        assert_eq!(error(&Evidence { load: Some(load(true, 1 << 20, 1)), ..found(pool(8e6)) }), None);
        assert_eq!(error(&Evidence { load: Some(load(false, 1 << 20, 4)), ..found(pool(8e6)) }), None);
    }
}
