//! Estimates as flat rows, for programs: one row an estimate, with all that is known of where it comes from.
//!
//! [`COLUMNS`] defines a row; every format is written from it. docs/reference/export.md describes it.

mod openmetrics;

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::{Value, to_value};

use openmetrics::OpenMetrics;

use crate::{
    findings::{Carrier, CarrierDrive, Findings, LoadKey, Metric, Scope},
    units::{Direction, clean, shortened},
};

#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    findings: &'a Findings,
    carrier: Option<&'a Carrier>,
    metric: &'a Metric,
}

/// A writer of rows. The output is complete only after `finish`.
pub trait Export {
    fn row(&mut self, row: &Row<'_>) -> io::Result<()>;

    /// Writes the end, and all rows that were held back.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RowFormat {
    /// For a spreadsheet.
    Csv,
    /// An array of objects, a line each.
    Json,
    /// The latest finished run of each drive and experiment, for Prometheus.
    #[value(name = "openmetrics")]
    OpenMetrics,
}

pub fn export<'a>(format: RowFormat, out: impl Write + 'a) -> io::Result<Box<dyn Export + 'a>> {
    Ok(match format {
        RowFormat::Csv => Box::new(Csv::new(out)?),
        RowFormat::Json => Box::new(Json { out, any: false }),
        RowFormat::OpenMetrics => Box::new(OpenMetrics::new(out)),
    })
}

pub fn rows(findings: &Findings) -> impl Iterator<Item = Row<'_>> {
    findings.estimates.iter().map(|metric| {
        let carrier = findings.origin.carriers.iter().find(|c| c.target == metric.target);
        Row { findings, carrier, metric }
    })
}

/// A column: its name, and how its value is read from a row. A column has one type; values may be missing.
type Column = (&'static str, fn(&Row<'_>) -> Option<Value>);

/// Every column, in order. Names are lower case and no words of SQL's.
const COLUMNS: [Column; 43] = [
    ("run", |r| known(&r.findings.run)),
    ("started_at", |r| known(&r.findings.origin.at)),
    ("version", |r| known(&r.findings.origin.version)),
    ("experiment", |r| known(&r.findings.experiment)),
    ("ended", |r| known(r.findings.origin.ended.words())),
    ("board", |r| known(r.findings.origin.board.as_ref()?)),
    ("is_virtual", |r| Some(r.findings.modelled.into())),
    ("target", |r| known(&r.metric.target)),
    ("drive", |r| known(&r.of_drives(|drive| Some(&drive.identity))?)),
    ("vendor", |r| known(&r.of_drives(|drive| drive.vendor.as_ref())?)),
    ("model", |r| known(&r.of_drives(|drive| drive.model.as_ref())?)),
    ("serial", |r| known(&r.of_drives(|drive| drive.serial.as_ref())?)),
    ("drive_bytes", |r| Some(r.only_drive()?.bytes.into())),
    ("bay", |r| known(&r.of_drives(|drive| drive.bay.as_ref())?)),
    ("bus", |r| known(&r.of_drives(|drive| drive.bus.as_ref())?)),
    ("name", |r| known(&r.metric.label())),
    ("unit", |r| to_value(r.metric.quantity.unit()).ok()),
    ("value", |r| Some(r.metric.estimate.value.into())),
    ("low", |r| Some(r.metric.estimate.low.into())),
    ("high", |r| Some(r.metric.estimate.high.into())),
    ("how", |r| known(&r.metric.estimate.how)),
    ("converged", |r| Some(r.metric.estimate.converged.into())),
    ("claim", |r| to_value(r.metric.claim()).ok()),
    ("part", |r| Some(r.metric.part.into())),
    ("moved_bytes", |r| Some(r.metric.bytes.into())),
    ("suite", |r| known(r.findings.origin.suite.as_ref()?)),
    ("direction", |r| known(r.direction()?)),
    ("read_percent", |r| r.read_percent()),
    ("pattern", |r| to_value(r.load()?.pattern).ok()),
    ("block", |r| r.block()),
    ("depth", |r| Some(r.load()?.depth.into())),
    ("jobs", |r| Some(r.load()?.jobs.into())),
    ("caching", |r| known(r.load()?.caching?.words())),
    ("sync", |r| known(if r.load()?.sync? { "each write" } else { "none" })),
    ("streams", |r| Some(r.load()?.streams.into())),
    ("missed_percent", |r| Some(r.load()?.missed.into())),
    ("engine", |r| known(&r.load()?.engine)),
    ("host", |r| known(r.findings.origin.host_name.as_ref()?)),
    ("machine_id", |r| known(r.findings.origin.machine_id.as_ref()?)),
    ("firmware", |r| known(&r.of_drives(|drive| drive.firmware.as_ref())?)),
    ("link_mbps", |r| Some(r.only_drive()?.link_mbps.into())),
    ("filesystem", |r| known(r.carrier?.filesystem.as_ref()?)),
    ("kernel", |r| known(r.findings.origin.kernel.as_ref()?)),
];

/// Columns that are labels of metrics, too.
const LABELS: [&str; 12] = [
    "suite",
    "direction",
    "read_percent",
    "pattern",
    "block",
    "depth",
    "jobs",
    "caching",
    "sync",
    "streams",
    "missed_percent",
    "engine",
];

/// A text without what controls a terminal, with its last 1000 characters; what is empty isn't known.
fn known(text: &str) -> Option<Value> {
    Some(text).filter(|text| !text.is_empty()).map(|text| clean(&shortened(text, 1000)).into())
}

/// A value as text; nothing where it isn't known.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        other => other.to_string(),
    }
}

impl<'a> Row<'a> {
    /// What is known of all drives of the target, joined by ` + `.
    fn of_drives(&self, get: fn(&CarrierDrive) -> Option<&String>) -> Option<String> {
        let drives = &self.carrier.filter(|carrier| !carrier.drives.is_empty())?.drives;
        let all: Option<Vec<&str>> = drives.iter().map(|drive| get(drive).map(String::as_str)).collect();
        all.map(|all| all.join(" + "))
    }

    fn only_drive(&self) -> Option<&'a CarrierDrive> {
        let [drive] = &self.carrier?.drives[..] else { return None };
        Some(drive)
    }

    fn load(&self) -> Option<&'a LoadKey> {
        self.metric.load.as_ref()
    }

    fn direction(&self) -> Option<&'static str> {
        Some(match self.load()?.direction? {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Mixed { .. } => "mixed",
        })
    }

    fn read_percent(&self) -> Option<Value> {
        match self.load()?.direction? {
            Direction::Mixed { read_percent } => Some(read_percent.into()),
            _ => None,
        }
    }

    /// Bytes of an operation or transfer.
    fn block(&self) -> Option<Value> {
        match self.metric.scope {
            Scope::Block(bytes) => Some(bytes.into()),
            _ => Some(self.load()?.block.into()),
        }
    }

    /// The values of all columns.
    fn values(&self) -> impl Iterator<Item = (&'static str, Value)> {
        COLUMNS.iter().map(|(name, get)| (*name, get(self).unwrap_or_default()))
    }
}

/// CSV with a head; what isn't known is empty.
struct Csv<W: Write>(csv::Writer<W>);

impl<W: Write> Csv<W> {
    fn new(out: W) -> io::Result<Self> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(COLUMNS.iter().map(|(name, _)| name)).map_err(failed)?;
        Ok(Self(out))
    }
}

impl<W: Write> Export for Csv<W> {
    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.0.write_record(row.values().map(|(_, value)| cell(&value))).map_err(failed)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}

/// A spreadsheet runs a text that begins like a formula; an apostrophe keeps it a text.
fn cell(value: &Value) -> String {
    let text = text(value);
    let begins = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let is_formula = value.is_string() && text.trim_start().starts_with(begins);
    if is_formula { format!("'{text}") } else { text }
}

/// I/O errors are passed on unchanged, so that a closed pipe is recognised.
fn failed(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// One array of objects, a line each, so that it can be read as a whole or by lines; what isn't known is `null`.
struct Json<W> {
    out: W,
    any: bool,
}

impl<W: Write> Export for Json<W> {
    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.out.write_all(if self.any { b",\n" } else { b"[\n" })?;
        self.any = true;
        Ok(serde_json::to_writer(&mut self.out, row)?)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.write_all(if self.any { b"\n]\n" } else { b"[]\n" })?;
        self.out.flush()
    }
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.values())
    }
}

#[cfg(test)]
mod tests;
