//! Names of formats on the command line.

use clap::ValueEnum;

use crate::report::{Format, RowFormat};

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
