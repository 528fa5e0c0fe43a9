//! Arguments of `drivebench check`.

use clap::{Args as Group, ValueEnum};

use super::gate::Gate;
use crate::cli::args::ListFormat;

#[derive(Debug, Group)]
#[command(after_help = CHECK_NOTES)]
pub struct Check {
    /// /dev paths, serials, bay:PORT, or directories on them [default: all drives]
    #[arg(value_name = "DRIVE")]
    pub drives: Vec<String>,

    /// Check disks that are asleep, or may be
    #[arg(long)]
    pub wake: bool,

    /// Measure directories as `run baseline` does, and exit with 0 (fit), 1 (not fit) or 3 (undecided):
    /// media, backups, system, swap or databases
    #[arg(long = "for", value_name = "USE", hide_possible_values = true)]
    #[arg(conflicts_with_all = ["wake", "accept", "install", "remove", "on_change", "format"])]
    pub purpose: Option<Gate>,

    /// Make the newest check of each drive its reference; measures nothing
    #[arg(long, conflicts_with_all = ["wake", "on_change", "format"])]
    pub accept: bool,

    /// Check daily or weekly by a systemd timer, which is shown first
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["drives", "wake", "accept", "format"])]
    #[arg(hide_possible_values = true)]
    pub install: Option<Every>,

    /// Install the timer without asking
    #[arg(long, requires = "install")]
    pub yes_install: bool,

    /// Remove the timer
    #[arg(long, conflicts_with_all = ["drives", "wake", "accept", "format", "on_change", "install"])]
    pub remove: bool,

    /// Run this command when the result changes, with its JSON on standard input
    #[arg(long, value_name = "COMMAND")]
    pub on_change: Option<String>,

    /// text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    pub format: ListFormat,
}

/// How often drives are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Every {
    /// Each night
    Daily,
    /// Each Monday
    Weekly,
}

impl Every {
    pub fn word(self) -> &'static str {
        match self {
            Self::Daily => "daily",
            Self::Weekly => "weekly",
        }
    }
}

const CHECK_NOTES: &str = "\
It reads for about 10 s a drive. Later checks of a drive are compared with
its first one. Drives in use are skipped. Only --for writes, to own files.
Exit codes: 0 fine, 1 something to look at or an error, 2 wrong use, no
readable drive, or --on-change failed, 3 undecided (--for).";
