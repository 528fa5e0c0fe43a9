//! `drivebench pool predictions`: how far the predictions of pools were off, over all stored runs.

use std::{collections::BTreeMap, process::ExitCode};

use crate::{
    cli::{output::Output, stored},
    experiments::LAYOUTS,
    findings::{Column, Findings, Metric, Quantity, Scope, Table},
    record::Store,
    report,
    units::{count, percent, signed_percent},
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
    let mut all = Errors::default();
    let mut with = 0;
    for run in runs.iter().filter(|run| run.experiment == LAYOUTS.name && run.copy_of.is_none()) {
        let findings = stored::findings(store, &run.run)?;
        let errors = errors(&findings);
        with += u64::from(!errors.is_empty());
        for (layout, load, error) in errors {
            by_layout.entry(layout).or_default().push(error, &load);
            all.push(error, &load);
        }
    }
    if by_layout.is_empty() {
        let run = stored::command(store, "run layouts --plan DRIVES...");
        output.note(&format!("No predictions were compared with measurements yet: `{run}`."));
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows: Vec<Vec<String>> = by_layout.iter().map(|(layout, errors)| errors.row(layout)).collect();
    rows.push(all.row("all"));
    let columns = Column::all([
        ("layout", false),
        ("speeds", true),
        ("off by", true),
        ("within 10 %", true),
        ("worst", false),
    ]);
    let table = report::table(&Table { title: String::new(), columns, rows }, output.style);
    let runs = count(with, "run");
    output.result(&format!(
        "{table}\nFrom {runs} of layouts. Each prediction was saved before its pool was built.\n"
    ))?;
    Ok(if unreadable.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The layout, the load and the error of each prediction whose load was measured.
fn errors(findings: &Findings) -> Vec<(String, String, f64)> {
    let speeds = || findings.estimates.iter().filter(|m| m.quantity == Quantity::Throughput);
    let of = |predicted: &Metric| {
        let same =
            |m: &&Metric| m.scope == Scope::Whole && m.target == predicted.target && m.load == predicted.load;
        let measured = speeds().find(same)?;
        let load = predicted.load.as_ref().map(|load| load.name.clone()).unwrap_or_default();
        Some((predicted.target.clone(), load, predicted.estimate.value / measured.estimate.value - 1.0))
    };
    speeds().filter(|m| m.scope == Scope::Predicted).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analyse::Estimate, findings::LoadKey};

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
        found.iter().for_each(|(_, load, error)| all.push(*error, load));
        assert_eq!(all.row("all"), ["all", "2", "15 %", "50 %", "-25 % write 1M"]);
    }
}
