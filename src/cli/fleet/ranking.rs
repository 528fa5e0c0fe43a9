//! The results of many hosts side by side: a table, and the drives that differ from most of their kind.

use crate::{
    analyse::{Estimate, compare::outliers},
    cli::headline::important,
    findings::{CarrierDrive, Column, Findings, Metric, Quantity, Table, Unit},
    units::{distinct, listed, percent, shortened},
};

/// What a host measured on one target.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    host: String,
    run: String,
    /// Models and serials.
    drive: String,
    /// Vendor, model (or bus, where it has none) and size of each drive: only equal ones are compared, and none that is unknown.
    kind: Option<Vec<(Option<String>, String, u64)>>,
    metrics: Vec<Metric>,
}

impl Row {
    fn number(&self, wanted: &Name) -> Option<&Estimate> {
        self.metrics.iter().find(|metric| name(metric) == *wanted).map(|metric| &metric.estimate)
    }
}

/// A row for each target with important numbers.
pub(super) fn rows(host: &str, findings: &Findings) -> Vec<Row> {
    let metrics = important(&findings.estimates);
    let row = |target: &String| {
        let carrier = findings.origin.carriers.iter().find(|carrier| carrier.target == *target);
        let drives = carrier.map(|carrier| &carrier.drives[..]).unwrap_or_default();
        let words = drives.iter().flat_map(|drive| drive.model.iter().chain(&drive.serial));
        let model = |drive: &CarrierDrive| drive.model.clone().or(drive.bus.clone());
        let kind = drives.iter().map(|drive| Some((drive.vendor.clone(), model(drive)?, drive.bytes?)));
        Row {
            host: host.to_owned(),
            run: findings.run.clone(),
            drive: words.cloned().collect::<Vec<_>>().join(" "),
            kind: kind.collect::<Option<Vec<_>>>().filter(|kind| !kind.is_empty()),
            metrics: metrics.iter().filter(|m| m.target == *target).map(|m| (*m).clone()).collect(),
        }
    };
    distinct(metrics.iter().map(|metric| &metric.target)).into_iter().map(row).collect()
}

/// What makes numbers of two rows comparable.
type Name = (Quantity, String);

fn name(metric: &Metric) -> Name {
    (metric.quantity.clone(), metric.row())
}

/// The positions of the rows that have a number, and the number.
fn numbers<'a>(rows: &[&'a Row], wanted: &Name) -> (Vec<usize>, Vec<&'a Estimate>) {
    rows.iter().enumerate().filter_map(|(at, row)| Some((at, row.number(wanted)?))).unzip()
}

/// A table, best first by its first number, what is unusual, and the flags of hosts.
pub(super) fn ranked(rows: &[Row], flags: &[(String, String)]) -> Findings {
    let of = |flag: &String| {
        let hosts: Vec<&str> = flags.iter().filter(|(_, one)| one == flag).map(|(host, _)| &**host).collect();
        format!("{}: {flag}", listed(&hosts))
    };
    let flags = distinct(flags.iter().map(|(_, flag)| flag)).into_iter().map(of).collect();
    let mut rows: Vec<&Row> = rows.iter().collect();
    let names = distinct(rows.iter().flat_map(|row| &row.metrics).map(name));
    let Some(first) = names.first() else { return Findings { flags, ..Findings::default() } };
    let sign = if first.0.unit() == Unit::Seconds { 1.0 } else { -1.0 };
    let order = |row: &Row| row.number(first).map_or(f64::INFINITY, |number| sign * number.value);
    rows.sort_by(|a, b| order(a).total_cmp(&order(b)));
    let mut columns =
        ["host", "drive"].map(|name| Column { head: true, ..Column::new(name, false) }).to_vec();
    let heads = |row: &&Row| vec![row.host.clone(), shortened(&row.drive, 24)];
    let mut cells: Vec<Vec<String>> = rows.iter().map(heads).collect();
    for (nth, name) in names.iter().enumerate() {
        let unit = name.0.unit();
        let (at, estimates) = numbers(&rows, name);
        // A narrow terminal shows two.
        columns.push(Column { optional: nth > 1, ..Column::new(&name.1, false) });
        cells.iter_mut().for_each(|cells| cells.push("-".to_owned()));
        for (at, estimate) in at.into_iter().zip(estimates) {
            cells[at][2 + nth] = estimate.text(|value| unit.write(value));
        }
    }
    columns.push(Column::new("run", false));
    rows.iter().zip(&mut cells).for_each(|(row, cells)| cells.push(row.run.clone()));
    let table = Table { title: String::new(), columns, rows: cells };
    let verdicts = rows.iter().filter_map(|row| unusual(row, &rows)).collect();
    Findings { tables: vec![table], verdicts, flags, ..Findings::default() }
}

/// By how much a drive differs from most of its kind.
fn unusual(row: &Row, all: &[&Row]) -> Option<String> {
    let alike: Vec<&Row> =
        all.iter().copied().filter(|other| row.kind.is_some() && other.kind == row.kind).collect();
    let phrase = |metric: &Metric| {
        let (at, estimates) = numbers(&alike, &name(metric));
        let (_, ratio) = outliers(&estimates).into_iter().find(|(place, _)| alike[at[*place]] == row)?;
        let words = match metric.quantity.unit() {
            Unit::BytesPerSecond => ["slower", "faster"],
            _ => ["less", "more"],
        };
        let mut ends = [ratio.low, ratio.high].map(|end| (end - 1.0).abs());
        ends.sort_by(f64::total_cmp);
        let by = Estimate::between((ratio.value - 1.0).abs(), ends, "").with_ends(percent);
        let (than, others) = (words[usize::from(ratio.value > 1.0)], at.len() - 1);
        Some(format!("{} {by} {than} than most of {others}", metric.row()))
    };
    let phrases: Vec<String> = row.metrics.iter().filter_map(phrase).collect();
    (!phrases.is_empty())
        .then(|| format!("{} ({}) differs from others like it: {}.", row.host, row.drive, listed(&phrases)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        findings::{LoadKey, Quantity},
        report::{Format, Style, render},
    };

    fn row(host: &str, model: &str, speeds: &[(&str, f64)]) -> Row {
        let metric = |(load, value): &(&str, f64)| {
            let load = LoadKey { name: (*load).to_owned(), ..LoadKey::default() };
            let estimate = Estimate::between(*value, [value * 0.97, value * 1.03], "");
            Metric::new("/media/stick", Quantity::Throughput, estimate).of(&load)
        };
        Row {
            host: host.to_owned(),
            run: format!("r{host}"),
            drive: format!("{model} 4C5300{host}"),
            kind: (!model.is_empty()).then(|| vec![(None, model.to_owned(), 32_000_000_000)]),
            metrics: speeds.iter().map(metric).collect(),
        }
    }

    #[test]
    fn the_slow_one_of_eight_is_named() {
        let sticks = (1..=8).map(|n| {
            let slow = if n == 5 { 0.69 } else { 1.0 };
            row(
                &format!("pi{n}"),
                "Cruzer Blade",
                &[("SEQ1M read", 28e6 + n as f64 * 1e5), ("SEQ1M write", slow * 9e6)],
            )
        });
        let flag = |(host, flag): (&str, &str)| (host.to_owned(), flag.to_owned());
        let mut rows: Vec<Row> = sticks.collect();
        rows.push(row("nas", "WD10EZEX", &[("SEQ1M read", 150e6)]));
        insta::assert_snapshot!(render(
            &ranked(&rows, &[("pi4", "Hot."), ("pi5", "It swapped."), ("pi5", "Hot.")].map(flag)),
            Format::Text,
            Style::PLAIN,
            false
        ));
    }

    #[test]
    fn two_drives_or_unlike_ones_have_no_outlier() {
        let verdicts = |rows: &[Row]| ranked(rows, &[]).verdicts.len();
        let one = |host: &str, model: &str, speed| row(host, model, &[("SEQ1M write", speed)]);
        assert_eq!(verdicts(&[one("a", "x", 9e6), one("b", "x", 3e6)]), 0);
        assert_eq!(verdicts(&[one("a", "x", 9e6), one("b", "x", 9e6), one("c", "y", 3e6)]), 0);
        assert_eq!(verdicts(&[one("a", "x", 9e6), one("b", "x", 9e6), one("c", "x", 3e6)]), 1);
        assert_eq!(verdicts(&[one("a", "", 9e6), one("b", "", 9e6), one("c", "", 3e6)]), 0, "unknown models");
    }
}
