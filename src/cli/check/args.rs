//! Arguments of `drivebench check`.

use clap::{Args as Group, ValueEnum};

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

    /// Measure nothing: the newest check of each drive becomes what it is compared with
    #[arg(long, conflicts_with_all = ["wake", "on_change", "format"])]
    pub accept: bool,

    /// Check the drives daily or weekly, by a timer of systemd that is shown first
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["drives", "wake", "accept", "format"])]
    #[arg(hide_possible_values = true)]
    pub install: Option<Every>,

    /// Consent to its files, without a question
    #[arg(long, requires = "install")]
    pub yes_install: bool,

    /// Remove that timer
    #[arg(long, conflicts_with_all = ["drives", "wake", "accept", "format", "on_change", "install"])]
    pub remove: bool,

    /// When there is something else to look at, hand it to this command as JSON
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
It reads for about 10 s a drive and writes nothing to drives. The first check of
a drive is what later ones are compared with. Drives in use are skipped.
Exit codes: 0 fine, 1 something to look at, 2 error.";
