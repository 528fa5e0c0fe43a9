//! Findings: the one door between experiments and reports.

mod figure;

use serde::{Deserialize, Serialize};

pub use figure::{At, Axis, Band, Curve, Figure, Mark, Point, Style};

use crate::analyse::Estimate;

/// What a run found, ready to be drawn by any report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
