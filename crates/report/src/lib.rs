//! Findings as text, Markdown, HTML, SVG and JSON, estimates as rows. Independent of experiments.

use drivebench_analyse as analyse;
use drivebench_findings as findings;
use drivebench_units as units;

mod colours;
mod export;
mod head;
mod html;
mod markdown;
pub mod plot;
pub mod site;
mod terminal;
mod text;

pub use export::{Export, RowFormat, export, rows};
pub use html::{MARK, html};
pub use markdown::markdown;
pub use terminal::{Style, ascii};
pub use text::{table, text, wrapped};

use clap::ValueEnum;
use serde::Serialize;

use crate::{findings::Findings, units::clean_json};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal.
    #[default]
    Text,
    /// For a page.
    Markdown,
    /// Everything, for a program.
    Json,
}

/// Findings in this format; `style` and `full` are for terminals only.
pub fn render(findings: &Findings, format: Format, style: Style, full: bool) -> String {
    match format {
        Format::Text => text(findings, style, full),
        Format::Markdown => style.text(&markdown(findings, &[])),
        Format::Json => json(findings),
    }
}

/// A document for a program.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).map_or_else(|e| e.to_string(), |json| clean_json(&json) + "\n")
}
