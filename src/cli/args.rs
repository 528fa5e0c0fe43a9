//! What can be typed.

use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand, ValueEnum};

use super::options::Run;
use crate::report::{Format, RowFormat};

/// A workbench for the drives of a small server: how fast is each drive, how bad is its worst moment, and why.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 80, after_help = EXAMPLES)]
pub struct Args {
    /// Keep results in this directory [default: drivebench below the XDG data directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub store: Option<PathBuf>,

    /// Plain ASCII output, for terminals and logs without UTF-8
    #[arg(long, global = true)]
    pub ascii: bool,

    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  drivebench list                          what is here and what is wrong
  drivebench run baseline .                the drive under this directory
  drivebench run baseline /mnt/a /mnt/b    two drives, and whether they differ
  drivebench run baseline /dev/sda         a whole drive, reading only
  drivebench results                       what was measured before
  drivebench advise                        what follows from all that

Nothing is erased: writing goes to a file made for the purpose and removed after.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure: run an experiment on drives
    #[command(subcommand, after_help = "`drivebench run EXPERIMENT --help` tells more of one.")]
    Run(Run),
    /// Show the drives of this machine, what links them, and what is wrong
    List(List),
    /// Advise: where to boot from, swap and keep data, which layout, what limits, what to buy and what not
    Advise(Advise),
    /// Name the ports that drives sit in
    Bay(Bay),
    /// Keep what this machine says of its drives in an archive, for a bug report
    Capture(Capture),
    /// Take what fio, dd or PiBenchmarks told over into records, to list, show and compare it
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(Import),
    /// Show, list, compare, export or remove what was measured before
    Results(Results),
    /// Write what runs found as a page that can be published
    Report(Report),
}

/// `drivebench report`.
#[derive(Debug, Group)]
#[command(after_help = "The page needs no network and no script. Nothing is sent anywhere.")]
pub struct Report {
    /// The runs' names, in the order of the page; `drivebench results` lists them
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<String>,

    /// The directory to make for it [default: drivebench-RUN]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// `drivebench list`.
#[derive(Debug, Group)]
pub struct List {
    /// Write it as this
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: ListFormat,

    /// Which machine
    #[command(flatten)]
    pub machine: Machine,
}

/// Which machine, and whether its drives are asked.
#[derive(Debug, Group)]
pub struct Machine {
    /// Ask drives for their state and wear, which needs root and smartctl; sleeping disks are left asleep
    #[arg(long)]
    pub health: bool,

    /// Wake sleeping disks to ask them
    #[arg(long, requires = "health")]
    pub wake: bool,

    /// Read the machine from this directory or archive instead of /
    #[arg(long, value_name = "DIR|FILE", default_value = "/")]
    pub sysroot: PathBuf,
}

/// `drivebench advise`.
#[derive(Debug, Group)]
#[command(after_help = ADVISE_NOTES)]
pub struct Advise {
    /// Write it as this
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: AdviceFormat,

    /// Which machine
    #[command(flatten)]
    pub machine: Machine,
}

const ADVISE_NOTES: &str = "\
Answers rest on what is here and on runs in the store of drives that are here. Each says on which runs and how sure it
is, and which experiment would decide what isn't known. Nothing is measured, nothing is sent anywhere.";

/// `drivebench capture`.
#[derive(Debug, Group)]
pub struct Capture {
    /// The archive to write, such as machine.tar.gz
    pub file: PathBuf,

    /// Replace serials, UUIDs, hardware addresses and the host name, each by the same wherever it stands
    #[arg(long)]
    pub anonymise: bool,
}

/// `drivebench bay`.
#[derive(Debug, Group)]
#[command(after_help = "A name stands for its port whatever is in it: drivebench run baseline bay:top-left")]
pub struct Bay {
    /// What to do with names [default: list]
    #[command(subcommand)]
    pub action: Option<BayAction>,
}

/// What can be done with names of bays.
#[derive(Debug, Subcommand)]
pub enum BayAction {
    /// List the names
    List,
    /// Give a bay a name, or another one
    Name {
        /// The bay as `drivebench list` shows it: 1.3, or with its bus: 3f980000.usb-usbv2-1.3
        bay: String,
        /// Letters, digits, - and _
        name: String,
    },
    /// Take a bay's name away
    Forget {
        /// The name
        name: String,
    },
}

const IMPORT_EXAMPLES: &str = "\
Examples:
  drivebench import fio.json                     fio --output-format=json
  drivebench import bench-fio --drive 4C530001   all files below a directory
  drivebench import dd.log --rw write            where dd's log doesn't tell
  drivebench import pi.txt --board 'Pi Zero 2 W'

Formats are known by their content: fio's JSON, dd's last lines in any language,
what PiBenchmarks prints. What a tool doesn't tell is unknown, and one run has
no interval. Nothing is kept of a file that is damaged or cut off.";

/// `drivebench import`.
#[derive(Debug, Group)]
pub struct Import {
    /// Files, or directories for all files below them
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// The drive that it was measured on, such as its serial: kept as said by you
    #[arg(long, value_name = "NAME", value_parser = said)]
    pub drive: Option<String>,

    /// The board that it was measured on: kept as said by you
    #[arg(long, value_name = "NAME", value_parser = said)]
    pub board: Option<String>,

    /// What loads did that don't tell it, as dd's don't
    #[arg(long, value_name = "read|write")]
    pub rw: Option<Way>,
}

/// Which way bytes moved.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Way {
    /// From the drive
    Read,
    /// To the drive
    Write,
}

/// A name that fits into a line.
fn said(text: &str) -> Result<String, String> {
    let fits = !text.trim().is_empty() && text.chars().count() <= 160 && !text.chars().any(char::is_control);
    if fits {
        Ok(text.trim().to_owned())
    } else {
        Err("a name has 1 to 160 characters, on one line".to_owned())
    }
}

/// `drivebench results`.
#[derive(Debug, Group)]
pub struct Results {
    /// What to do with them [default: list]
    #[command(subcommand)]
    pub action: Option<ResultsAction>,
}

/// Which runs.
#[derive(Debug, Default, Group)]
pub struct Which {
    /// Only those on a drive or target in whose name this stands: model, serial, path
    #[arg(long, value_name = "TEXT")]
    pub drive: Option<String>,

    /// Only those on a board in whose name this stands
    #[arg(long, value_name = "TEXT")]
    pub board: Option<String>,

    /// Only those of this experiment
    #[arg(long, value_name = "NAME")]
    pub experiment: Option<String>,

    /// Only those from this day on (UTC)
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub since: Option<String>,

    /// Only those up to this day (UTC)
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub until: Option<String>,
}

/// `drivebench results export`.
#[derive(Debug, Group)]
#[command(after_help = EXPORT_EXAMPLES)]
pub struct Export {
    /// The runs' names, in the order of the rows [default: all, oldest first]
    #[arg(value_name = "RUN", conflicts_with = "Which")]
    pub runs: Vec<String>,

    /// Which of all runs
    #[command(flatten)]
    pub which: Which,

    /// Write it as this [default: what the name of --out ends in, else csv]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<RowFormatName>,

    /// Write to this file, which is whole or not there, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Replace the file where there is one; one of metrics is replaced in any case
    #[arg(long, requires = "out")]
    pub force: bool,
}

const EXPORT_EXAMPLES: &str = "\
Examples:
  drivebench results export > all.csv            for a spreadsheet or DuckDB
  drivebench results export --format json        for a program
  drivebench results export --out /var/lib/prometheus/node-exporter/bench.prom

docs/export.md describes the columns and the metrics.";

/// Names of the formats of rows.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum RowFormatName {
    /// For a spreadsheet
    Csv,
    /// An array of objects, a line each
    Json,
    /// The latest finished run of each drive and experiment, for Prometheus
    #[value(name = "openmetrics")]
    OpenMetrics,
}

impl From<RowFormatName> for RowFormat {
    fn from(name: RowFormatName) -> Self {
        match name {
            RowFormatName::Csv => Self::Csv,
            RowFormatName::Json => Self::Json,
            RowFormatName::OpenMetrics => Self::OpenMetrics,
        }
    }
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  drivebench results compare r2k4 r7xz           the drives that both measured
  drivebench results compare r2k4:/mnt/a r7xz    one of several, and another
  drivebench results compare r2k4                the drives of one run";

/// What can be done with results.
#[derive(Debug, Subcommand)]
pub enum ResultsAction {
    /// List runs, all or those asked for
    List(Which),
    /// Show what runs found, worked out anew from their records
    Show {
        /// The runs' names
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
        /// Write it as this
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        format: FormatName,
        /// Add what clients would wait whose requests come evenly, at 50 % and 80 % load (modelled)
        #[arg(long)]
        waiting: bool,
    },
    /// Compare two results, drive by drive: how many times one is the other, and whether that is a real difference
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare {
        /// A run, or one target of it
        #[arg(value_name = "RUN[:TARGET]")]
        first: String,
        /// What to compare it with; without it, the first run's targets are compared with each other
        #[arg(value_name = "RUN[:TARGET]")]
        second: Option<String>,
        /// Write it as this
        #[arg(long, value_name = "FORMAT", default_value = "text")]
        format: FormatName,
    },
    /// Write the estimates of runs as rows: for spreadsheets, SQL engines and Prometheus
    Export(Export),
    /// Remove the records of runs
    Rm {
        /// The runs' names
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
    },
}

/// Names of formats.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum FormatName {
    /// For a terminal
    Text,
    /// For a page
    Markdown,
    /// The estimates, for a spreadsheet
    Csv,
    /// Everything, for a program
    Json,
}

/// Names of the formats of `list`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// For a terminal
    Text,
    /// For a program
    Json,
}

/// Names of the formats of `advise`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AdviceFormat {
    /// For a terminal
    Text,
    /// For a page
    Markdown,
    /// For a program
    Json,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Text => Self::Text,
            FormatName::Markdown => Self::Markdown,
            FormatName::Csv => Self::Csv,
            FormatName::Json => Self::Json,
        }
    }
}

/// A day as it stands at the beginning of a date.
fn day(text: &str) -> Result<String, String> {
    humantime::parse_rfc3339(&format!("{text}T00:00:00Z"))
        .map(|_| text.to_owned())
        .map_err(|_| "a day is written as 2026-11-21".to_owned())
}
