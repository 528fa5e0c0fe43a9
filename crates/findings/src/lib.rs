//! Findings: the values that experiments give to reports.

use drivebench_analyse as analyse;
use drivebench_units as units;

mod figure;
pub mod fitness;
mod metric;
mod pooled;
mod words;

use serde::{Deserialize, Serialize};

pub use figure::{At, Axis, Band, Curve, Figure, Mark, Point, Style};
pub use fitness::{Fitness, Measures};
pub use metric::{BootPart, Claim, Limiter, LoadKey, Metric, On, Quantity, Reference, Scope, Unit};
pub use pooled::pooled;

use crate::{
    fitness::Use,
    units::{Pool, RunStatus, decimal_bytes, duration, shortened},
};

/// What a run found, ready to be drawn by any report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    pub run: String,
    pub experiment: String,
    pub question: String,
    /// Whether some figures come from a model, not from a drive.
    #[serde(rename = "virtual")]
    pub modelled: bool,
    /// What was measured: a line for each target.
    pub context: Vec<String>,
    pub tables: Vec<Table>,
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Verdicts, most important first; whole sentences.
    pub verdicts: Vec<String>,
    /// Flags: conditions that may have changed the result, and steps not done; whole sentences.
    pub flags: Vec<String>,
    /// What each target is fit for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fitness: Vec<Fitness>,
    /// The numbers that decide that, each with its target.
    #[serde(skip)]
    pub measures: Vec<(String, Measures)>,
    /// For readers who want more than the answer.
    #[serde(default)]
    pub details: Details,
    /// How it was measured: suite, engine, version, machine, date.
    #[serde(default)]
    pub conditions: Vec<String>,
    pub reproduce: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Next>,
    /// What measuring cost; `None` for findings from several runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    #[serde(serialize_with = "metric::labelled")]
    pub estimates: Vec<Metric>,
    /// Further numbers that advice needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Metric>,
    /// Targets and the names of their loads that ended early and are not evidence; `None` for numbers without a load, if the run
    /// ended early.
    #[serde(skip)]
    pub cut: Vec<(String, Option<String>)>,
    /// Where they come from; empty for findings from several runs.
    #[serde(default)]
    pub origin: Origin,
}

impl Findings {
    /// Adds the verdicts that follow from these numbers of a target.
    pub fn judge(&mut self, target: &str, measures: Measures, uses: &[Use]) {
        let judge = |purpose: &Use| Fitness {
            target: target.to_owned(),
            purpose: *purpose,
            verdict: measures.verdict(*purpose),
        };
        self.fitness.extend(uses.iter().map(judge));
        self.measures.push((target.to_owned(), measures));
    }
}

/// Reasons of intervals, stalls, percentiles, and what a run could not show.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Details {
    pub sentences: Vec<String>,
    pub tables: Vec<Table>,
}

/// A command that answers the next question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Next {
    /// Without `drivebench` and its store.
    pub command: String,
    pub question: String,
}

/// The time under load, s, and the bytes moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    pub seconds: f64,
    pub read: u64,
    pub written: u64,
}

impl Spent {
    /// A sentence such as `Measured 41 s, 0.46 GB written.` The last writes of a run that did not end well are not counted.
    pub fn describe(&self) -> String {
        let written = match self.written {
            0 => String::new(),
            bytes => format!(", {} written", decimal_bytes(bytes)),
        };
        format!("Measured {}{written}.", duration(self.seconds))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// When it was measured, as RFC 3339; empty where unknown.
    pub at: String,
    pub version: String,
    pub ended: RunStatus,
    /// The board, or what else the machine is called.
    pub board: Option<String>,
    /// The name of the machine, and its machine-id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The lab's scenario, where it ran in the lab.
    pub lab: Option<String>,
    pub suite: Option<String>,
    /// The most rounds of a load; `None` where nothing was measured in rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// Whether `--quick` was given.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// What carries each target, in the order of the plan.
    pub carriers: Vec<Carrier>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carrier {
    /// The target as the person wrote it.
    pub target: String,
    pub names: Vec<String>,
    pub describe: String,
    /// A file or a device; `None` where another tool measured it.
    pub on: Option<On>,
    pub drives: Vec<CarrierDrive>,
    /// The type of its mounted filesystem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<String>,
    /// Names of the layers between, such as `md0`.
    pub layers: Vec<String>,
    /// The pool that joins the drives, as it was then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
    /// Whether another program or filesystem is between, such as a loop device or FUSE, so that the figures are not the drives'.
    #[serde(skip)]
    pub indirect: bool,
    /// Whether other programs used its drives meanwhile.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub other_io: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CarrierDrive {
    /// The key of the drive in records, in whichever bay it is.
    pub identity: String,
    pub vendor: Option<String>,
    pub model: Option<String>,
    pub serial: Option<String>,
    pub bytes: Option<u64>,
    pub bay: Option<String>,
    /// The physical port with its controller.
    pub full_bay: String,
    /// Bus type: `usb`, `mmc`, `nvme`, `ata`.
    pub bus: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Negotiated link speed, Mb/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_mbps: Option<u64>,
}

impl Carrier {
    pub fn identities(&self) -> impl Iterator<Item = &str> {
        self.drives.iter().map(|drive| drive.identity.as_str())
    }

    /// The kinds of the layers between: `md` of `md0`, whose number may be another one after a restart.
    pub fn kinds_of_layers(&self) -> impl Iterator<Item = &str> {
        self.layers.iter().map(|layer| layer.trim_end_matches(|c: char| c.is_ascii_digit()))
    }
}

/// A table: every cell is text with its unit, ready to print.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Its title; empty where it needs none.
    pub title: String,
    pub columns: Vec<Column>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    pub name: String,
    pub right: bool,
    /// One of the first columns, which name the rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub head: bool,
    /// Follows from other columns: left out where the table is too wide otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// Columns for the name of a target in a table.
const NAME: usize = 14;

impl Column {
    /// A column of words, or of numbers aligned to the `right`.
    pub fn new(name: &str, right: bool) -> Self {
        Self { name: name.to_owned(), right, head: false, optional: false }
    }

    pub fn all<const N: usize>(columns: [(&str, bool); N]) -> Vec<Self> {
        columns.map(|(name, right)| Self::new(name, right)).to_vec()
    }

    /// The first columns of a table of targets: the target, if there are several, and the name of the row.
    pub fn heads(several: bool) -> Vec<Self> {
        let names: &[&str] = if several { &["target", ""] } else { &[""] };
        names.iter().map(|name| Self { head: true, ..Self::new(name, false) }).collect()
    }
}

/// A target's name in a cell, which leaves room for the numbers.
pub fn short(name: &str) -> String {
    shortened(name, NAME)
}
