//! Findings: the one door between experiments and reports.

mod figure;

use serde::{Deserialize, Serialize};

pub use figure::{At, Axis, Band, Curve, Figure, Mark, Point, Style};

use crate::analyse::Estimate;

/// What a run found, ready to be drawn by any report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// The run's short name.
    pub run: String,
    /// The experiment's name.
    pub experiment: String,
    /// The question it answers.
    pub question: String,
    /// Some figures come from a model, not from a drive.
    #[serde(rename = "virtual")]
    pub modelled: bool,
    /// What was measured, on what, how: lines of context in the order a reader wants them.
    pub context: Vec<String>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Figures.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// What it means, most important first; whole sentences.
    pub verdicts: Vec<String>,
    /// What was flagged: conditions that may have changed the result, things not done; whole sentences.
    pub flags: Vec<String>,
    /// Commands that reproduce it.
    pub reproduce: Vec<String>,
    /// The numbers behind it all.
    pub estimates: Vec<Named>,
    /// Where they come from; nothing is told of what rests on several runs.
    #[serde(default)]
    pub origin: Origin,
}

/// Where findings come from: the run, its machine and its drives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// When the run began, as RFC 3339.
    pub at: String,
    /// drivebench's version then.
    pub version: String,
    /// How it ended: `finished`, `interrupted`, `failed`, or `running or cut off`.
    pub ended: String,
    /// The board, or what else the machine is called.
    pub board: Option<String>,
    /// It ran in the lab.
    pub lab: bool,
    /// What carries each target, in the order of the plan; none for targets on no known drive.
    pub carriers: Vec<Carrier>,
}

/// The drive that carries a target. Of several, what all of them tell is joined by ` + `, and their sizes are none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carrier {
    /// The target as the person wrote it.
    pub target: String,
    /// What the drive is kept under, wherever it hangs.
    pub drive: String,
    /// Vendor, where told.
    pub vendor: Option<String>,
    /// Model, where told.
    pub model: Option<String>,
    /// Serial number, where told.
    pub serial: Option<String>,
    /// Size, bytes.
    pub bytes: Option<u64>,
    /// The physical port, where known.
    pub bay: Option<String>,
    /// What links it: `usb`, `mmc`, `nvme`, `ata`.
    pub bus: Option<String>,
}

/// An estimate with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Named {
    /// The drive or target it belongs to.
    pub target: String,
    /// What it is, such as `write throughput`.
    pub name: String,
    /// Its unit: `B/s`, `s` or `B`.
    pub unit: String,
    /// The number.
    pub estimate: Estimate,
    /// The bytes it rests on, where more of them would narrow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl Named {
    /// An estimate that more bytes of one run wouldn't narrow.
    pub fn new(target: &str, name: impl Into<String>, unit: &str, estimate: Estimate) -> Self {
        Self { target: target.to_owned(), name: name.into(), unit: unit.to_owned(), estimate, bytes: None }
    }
}

/// A table: every cell is text with its unit, ready to print.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows; empty where the heading before it says so.
    pub title: String,
    /// Heads of the columns.
    pub columns: Vec<Column>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<String>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its head.
    pub name: String,
    /// Numbers stand to the right.
    pub right: bool,
}
