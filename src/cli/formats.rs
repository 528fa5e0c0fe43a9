//! Names of formats, as they are typed.

use clap::ValueEnum;

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
