//! Estimates as flat rows, for programs: one row an estimate, with all that is known of where it comes from.
//!
//! [`COLUMNS`] defines a row; every format is written from it. docs/reference/export.md describes it.

mod csv;
mod openmetrics;

use std::{
    borrow::Cow,
    fmt,
    io::{self, Write},
};

use serde::{Serialize, Serializer};

use csv::Csv;
use openmetrics::OpenMetrics;

use crate::{
    findings::{Carrier, CarrierDrive, Claim, Findings, LoadKey, Metric, Scope},
    units::{Direction, Pattern, clean},
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

/// How a column's value is read from a row; a column has one type, and values may be missing.
enum Get {
    Text(for<'a> fn(&Row<'a>) -> Option<Cow<'a, str>>),
    /// RFC 3339.
    Time(for<'a> fn(&Row<'a>) -> Option<Cow<'a, str>>),
    Flag(fn(&Row<'_>) -> bool),
    Number(fn(&Row<'_>) -> f64),
    Whole(fn(&Row<'_>) -> Option<u64>),
}

/// A value of a column; numbers that are not finite are none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
enum Cell<'a> {
    Text(Cow<'a, str>),
    Flag(bool),
    Number(f64),
    Whole(u64),
    None,
}

/// Every column, in order. Names are lower case and no words of SQL's.
const COLUMNS: [(&str, Get); 43] = [
    ("run", Get::Text(|r| known(&r.findings.run))),
    ("started_at", Get::Time(|r| known(&r.findings.origin.at))),
    ("version", Get::Text(|r| known(&r.findings.origin.version))),
    ("experiment", Get::Text(|r| known(&r.findings.experiment))),
    ("ended", Get::Text(|r| known(r.findings.origin.ended.words()))),
    ("board", Get::Text(|r| known(r.findings.origin.board.as_ref()?))),
    ("is_virtual", Get::Flag(|r| r.is_virtual())),
    ("target", Get::Text(|r| known(&r.metric.target))),
    ("drive", Get::Text(|r| r.of_drives(|drive| Some(&drive.identity)))),
    ("vendor", Get::Text(|r| r.of_drives(|drive| drive.vendor.as_ref()))),
    ("model", Get::Text(|r| r.of_drives(|drive| drive.model.as_ref()))),
    ("serial", Get::Text(|r| r.of_drives(|drive| drive.serial.as_ref()))),
    ("drive_bytes", Get::Whole(|r| r.only_drive()?.bytes)),
    ("bay", Get::Text(|r| r.of_drives(|drive| drive.bay.as_ref()))),
    ("bus", Get::Text(|r| r.of_drives(|drive| drive.bus.as_ref()))),
    ("name", Get::Text(|r| Some(r.metric.label().into()))),
    ("unit", Get::Text(|r| Some(r.metric.quantity.unit().symbol().into()))),
    ("value", Get::Number(|r| r.metric.estimate.value)),
    ("low", Get::Number(|r| r.metric.estimate.low)),
    ("high", Get::Number(|r| r.metric.estimate.high)),
    ("how", Get::Text(|r| known(&r.metric.estimate.how))),
    ("converged", Get::Flag(|r| r.metric.estimate.converged)),
    (
        "claim",
        Get::Text(|r| r.metric.claim().map(|c| if c == Claim::Span { "span" } else { "sustained" }.into())),
    ),
    ("part", Get::Number(|r| r.metric.part.unwrap_or(f64::NAN))),
    ("moved_bytes", Get::Whole(|r| r.metric.bytes)),
    ("suite", Get::Text(|r| known(r.findings.origin.suite.as_ref()?))),
    ("direction", Get::Text(|r| r.direction())),
    ("read_percent", Get::Whole(|r| r.read_percent())),
    ("pattern", Get::Text(|r| r.pattern())),
    ("block", Get::Whole(|r| r.block())),
    ("depth", Get::Whole(|r| r.load()?.depth.map(u64::from))),
    ("jobs", Get::Whole(|r| r.load()?.jobs.map(u64::from))),
    ("caching", Get::Text(|r| r.load()?.caching.map(|caching| caching.words().into()))),
    ("sync", Get::Text(|r| r.load()?.sync.map(|sync| if sync { "each write" } else { "none" }.into()))),
    ("streams", Get::Whole(|r| r.load()?.streams.map(u64::from))),
    ("missed_percent", Get::Whole(|r| r.load()?.missed.map(u64::from))),
    ("engine", Get::Text(|r| known(&r.load()?.engine))),
    ("host", Get::Text(|r| known(r.findings.origin.host_name.as_ref()?))),
    ("machine_id", Get::Text(|r| known(r.findings.origin.machine_id.as_ref()?))),
    ("firmware", Get::Text(|r| r.of_drives(|drive| drive.firmware.as_ref()))),
    ("link_mbps", Get::Whole(|r| r.only_drive()?.link_mbps)),
    ("filesystem", Get::Text(|r| known(r.carrier?.filesystem.as_ref()?))),
    ("kernel", Get::Text(|r| known(r.findings.origin.kernel.as_ref()?))),
];

/// Columns that are labels of metrics, too.
const LABELS: [&str; 11] = [
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
    "engine",
];

fn known(text: &str) -> Option<Cow<'_, str>> {
    Some(text).filter(|text| !text.is_empty()).map(Cow::Borrowed)
}

impl<'a> Row<'a> {
    fn is_virtual(&self) -> bool {
        self.findings.modelled
    }

    /// What is known of all drives of the target, joined by ` + `.
    fn of_drives(&self, get: fn(&CarrierDrive) -> Option<&String>) -> Option<Cow<'a, str>> {
        let drives = &self.carrier.filter(|carrier| !carrier.drives.is_empty())?.drives;
        let all: Option<Vec<&str>> = drives.iter().map(|drive| get(drive).map(String::as_str)).collect();
        all.map(|all| all.join(" + ").into())
    }

    fn only_drive(&self) -> Option<&'a CarrierDrive> {
        let [drive] = &self.carrier?.drives[..] else { return None };
        Some(drive)
    }

    fn load(&self) -> Option<&'a LoadKey> {
        self.metric.load.as_ref()
    }

    fn direction(&self) -> Option<Cow<'a, str>> {
        Some(match self.load()?.direction? {
            Direction::Read => "read".into(),
            Direction::Write => "write".into(),
            Direction::Mixed { .. } => "mixed".into(),
        })
    }

    fn read_percent(&self) -> Option<u64> {
        match self.load()?.direction? {
            Direction::Mixed { read_percent } => Some(read_percent.into()),
            _ => None,
        }
    }

    fn pattern(&self) -> Option<Cow<'a, str>> {
        Some(match self.load()?.pattern? {
            Pattern::Sequential => "sequential".into(),
            Pattern::Random => "random".into(),
        })
    }

    /// Bytes of an operation or transfer.
    fn block(&self) -> Option<u64> {
        match self.metric.scope {
            Scope::Block(bytes) => Some(bytes),
            _ => self.load()?.block,
        }
    }

    /// What is known of these columns, as text.
    fn texts(&self, columns: &[&'static str]) -> Vec<(&'static str, String)> {
        let wanted = COLUMNS.iter().filter(|(name, _)| columns.contains(name));
        let texts = wanted.map(|(name, get)| (*name, get.cell(self).to_string()));
        texts.filter(|(_, text)| !text.is_empty()).collect()
    }

    fn cells(&self) -> impl Iterator<Item = Cell<'a>> {
        COLUMNS.iter().map(|(_, get)| get.cell(self))
    }
}

impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Flag(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Whole(number) => number.fmt(f),
            Self::None => Ok(()),
        }
    }
}

impl Get {
    fn cell<'a>(&self, row: &Row<'a>) -> Cell<'a> {
        match self {
            Self::Text(of) | Self::Time(of) => {
                of(row).map_or(Cell::None, |text| Cell::Text(clean(&text).into_owned().into()))
            }
            Self::Flag(of) => Cell::Flag(of(row)),
            Self::Number(of) => Some(of(row)).filter(|x| x.is_finite()).map_or(Cell::None, Cell::Number),
            Self::Whole(of) => of(row).map_or(Cell::None, Cell::Whole),
        }
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
        serializer.collect_map(COLUMNS.iter().map(|(name, _)| name).zip(self.cells()))
    }
}

#[cfg(test)]
mod tests;
