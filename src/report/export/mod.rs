//! Estimates as flat rows, for programs: one row an estimate, with all that is known of where it comes from.
//!
//! [`COLUMNS`] says once what a row holds; every format is written from it. docs/export.md tells people.

mod csv;
mod json;
mod openmetrics;

use std::io::{self, Write};

use serde::Serialize;

use csv::Csv;
pub use csv::csv;
use json::Json;
use openmetrics::OpenMetrics;

use crate::findings::{Carrier, Findings, Named};

/// One estimate and where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    findings: &'a Findings,
    carrier: Option<&'a Carrier>,
    named: &'a Named,
}

/// What rows are written as, one after the other. Dropped before its end, what was written is of no use.
pub trait Export {
    /// Writes a row.
    fn row(&mut self, row: &Row<'_>) -> io::Result<()>;

    /// Writes what stands after the last row, and all that was held back.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// A format of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowFormat {
    /// For a spreadsheet or an SQL engine.
    Csv,
    /// An array of objects, a line each.
    Json,
    /// The latest of each drive, for Prometheus.
    OpenMetrics,
}

/// Rows as this format, into `out`.
pub fn export<'a>(format: RowFormat, out: impl Write + 'a) -> io::Result<Box<dyn Export + 'a>> {
    Ok(match format {
        RowFormat::Csv => Box::new(Csv::new(out)?),
        RowFormat::Json => Box::new(Json::new(out)),
        RowFormat::OpenMetrics => Box::new(OpenMetrics::new(out)),
    })
}

/// A row for each estimate.
pub fn rows(findings: &Findings) -> impl Iterator<Item = Row<'_>> {
    findings.estimates.iter().map(|named| {
        let carrier = findings.origin.carriers.iter().find(|c| c.target == named.target);
        Row { findings, carrier, named }
    })
}

/// How a column's value is got from a row; its type is that of all its values, and each may be missing.
enum Get {
    Text(for<'a> fn(&Row<'a>) -> Option<&'a str>),
    /// RFC 3339.
    Time(for<'a> fn(&Row<'a>) -> Option<&'a str>),
    Flag(fn(&Row<'_>) -> bool),
    Number(fn(&Row<'_>) -> f64),
    Whole(fn(&Row<'_>) -> Option<u64>),
}

/// A value of a column; numbers that are not finite are none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
enum Cell<'a> {
    Text(&'a str),
    Flag(bool),
    Number(f64),
    Whole(u64),
    None,
}

/// Every column, in order. Names are lower case and no words of SQL's.
const COLUMNS: [(&str, Get); 23] = [
    ("run", Get::Text(|r| Some(&r.findings.run))),
    ("started_at", Get::Time(|r| told(&r.findings.origin.at))),
    ("version", Get::Text(|r| told(&r.findings.origin.version))),
    ("experiment", Get::Text(|r| Some(&r.findings.experiment))),
    ("ended", Get::Text(|r| told(&r.findings.origin.ended))),
    ("board", Get::Text(|r| r.findings.origin.board.as_deref())),
    ("is_virtual", Get::Flag(|r| r.is_virtual())),
    ("target", Get::Text(|r| Some(&r.named.target))),
    ("drive", Get::Text(|r| Some(r.carrier?.drive.as_str()))),
    ("vendor", Get::Text(|r| r.carrier?.vendor.as_deref())),
    ("model", Get::Text(|r| r.carrier?.model.as_deref())),
    ("serial", Get::Text(|r| r.carrier?.serial.as_deref())),
    ("drive_bytes", Get::Whole(|r| r.carrier?.bytes)),
    ("bay", Get::Text(|r| r.carrier?.bay.as_deref())),
    ("bus", Get::Text(|r| r.carrier?.bus.as_deref())),
    ("name", Get::Text(|r| Some(&r.named.name))),
    ("unit", Get::Text(|r| Some(&r.named.unit))),
    ("value", Get::Number(|r| r.named.estimate.value)),
    ("low", Get::Number(|r| r.named.estimate.low)),
    ("high", Get::Number(|r| r.named.estimate.high)),
    ("how", Get::Text(|r| Some(&r.named.estimate.how))),
    ("converged", Get::Flag(|r| r.named.estimate.converged)),
    ("moved_bytes", Get::Whole(|r| r.named.bytes)),
];

fn told(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

impl<'a> Row<'a> {
    fn is_virtual(&self) -> bool {
        self.findings.modelled || self.findings.origin.lab
    }

    /// Its values, in the order of [`COLUMNS`].
    fn cells(&self) -> impl Iterator<Item = Cell<'a>> {
        COLUMNS.iter().map(|(_, get)| get.of(self))
    }
}

impl Get {
    fn of<'a>(&self, row: &Row<'a>) -> Cell<'a> {
        match self {
            Self::Text(of) | Self::Time(of) => of(row).map_or(Cell::None, Cell::Text),
            Self::Flag(of) => Cell::Flag(of(row)),
            Self::Number(of) => Some(of(row)).filter(|x| x.is_finite()).map_or(Cell::None, Cell::Number),
            Self::Whole(of) => of(row).map_or(Cell::None, Cell::Whole),
        }
    }
}

#[cfg(test)]
mod tests;
