//! The command line: commands and their options.

use std::path::PathBuf;

use clap::{
    Args as Group, Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use clap_complete::Shell;

use super::{check::args::Check, fleet::Fleet, options::Run, output::Color, pool::args::Pool};
use crate::{
    experiments::seconds,
    report::{Format, RowFormat},
    units::{Service, hides},
};

/// Measure the drives of a small server: how fast, how slow at worst, and why.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 80, after_help = EXAMPLES)]
pub struct Args {
    /// Directory for results [default: XDG data directory]
    #[arg(long, global = true, value_name = "DIR", display_order = 900)]
    pub store: Option<PathBuf>,

    /// Plain ASCII output
    #[arg(long, global = true, display_order = 900)]
    pub ascii: bool,

    /// Colours: auto, always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    #[arg(display_order = 900)]
    pub color: Color,

    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  drivebench list                          drives, buses and problems
  drivebench run baseline .                the drive under this directory
  drivebench run baseline /mnt/a /mnt/b    two drives, and whether they differ
  drivebench results                       earlier runs
  drivebench advise                        recommendations from all of it

These erase nothing. Only pool and run layouts, pull, accept, and swap of a
drive or partition erase, and run capacity overwrites blocks and puts them
back, after consent to each drive.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an experiment on drives
    #[command(subcommand, after_help = "`drivebench run EXPERIMENT --help` shows its options.")]
    Run(Run),
    /// List drives, how they are connected, and problems
    List(List),
    /// Recommend a layout, drives for boot, swap and data, and upgrades
    Advise(Advise),
    /// Name the bays that drives sit in
    Bay(Bay),
    /// Build, show, repair and remove pools of drives
    Pool(Pool),
    /// Check whether drives became slower or report new errors
    Check(Check),
    /// Run an experiment on other machines, and rank their drives
    Fleet(Fleet),
    /// Time from outside when another machine answers after a restart
    WatchBoot(WatchBoot),
    /// Save the description of this machine for a bug report
    Capture(Capture),
    /// Import results of fio, dd or PiBenchmarks
    Import(Import),
    /// List, compare, export or remove earlier runs
    Results(Results),
    /// Show the findings of runs
    Show(Show),
    /// Show the runs of each drive over time
    History(History),
    /// Write a report of runs as HTML and Markdown
    Report(Report),
    /// Remove files left by runs that were killed
    Cleanup,
    /// Print a script that completes commands, options and runs
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// bash, zsh or fish
        #[arg(hide_possible_values = true, value_parser = PossibleValuesParser::new(["bash", "zsh", "fish"]).try_map(|name| name.parse::<Shell>()))]
        shell: Shell,
    },
    /// Use memory for `run swap`, as its child
    #[command(hide = true)]
    SwapWorker,
    /// Record a boot of `run boot --times`, as its unit of systemd
    #[command(hide = true, name = super::boot_series::COMMAND)]
    BootSeries,
    /// Print the runs or suites that may follow these words, for those scripts
    #[command(hide = true)]
    Names {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Print a man page
    #[command(hide = true)]
    Man {
        /// Such as drivebench-run-baseline [default: list the names]
        page: Option<String>,
    },
}

const COMPLETIONS_EXAMPLES: &str = "\
bash:
  mkdir -p ~/.local/share/bash-completion/completions
  cd ~/.local/share/bash-completion/completions
  drivebench completions bash > drivebench

zsh, with `fpath+=~/.zfunc` before `compinit` in .zshrc:
  mkdir -p ~/.zfunc
  drivebench completions zsh > ~/.zfunc/_drivebench

fish:
  mkdir -p ~/.config/fish/completions
  drivebench completions fish > ~/.config/fish/completions/drivebench.fish

The Debian package has all three.";

#[derive(Debug, Group)]
#[command(after_help = "The page needs no network and no script. Nothing is uploaded.")]
pub struct Report {
    /// Names of runs, in the order of the page; `drivebench results` lists them
    #[arg(value_name = RUN, default_value = LAST)]
    pub runs: Vec<String>,

    /// The new directory [default: drivebench-RUN]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Pages of all drives and their runs over time, in this directory; written anew each time
    #[arg(long, value_name = "DIR", num_args = 0..=1, conflicts_with_all = ["runs", "out", "anonymise"])]
    pub site: Option<Option<PathBuf>>,

    /// Show the pages of --site to browsers on this machine instead of writing them; 0 is any port
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "8321", requires = "site")]
    pub serve: Option<u16>,

    /// Replace serials, UUIDs, hardware addresses and the host name, consistently
    #[arg(long)]
    pub anonymise: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, ValueEnum)]
pub enum ListFormat {
    /// For a terminal
    #[default]
    Text,
    /// For a program
    Json,
}

#[derive(Debug, Group)]
pub struct List {
    /// text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    pub format: ListFormat,

    #[command(flatten)]
    pub machine: Machine,
}

#[derive(Debug, Group)]
pub struct Machine {
    /// Show the health of drives; needs root and smartctl, wakes no disk
    #[arg(long)]
    pub health: bool,

    /// Wake sleeping disks to read their health
    #[arg(long, requires = "health")]
    pub wake: bool,

    /// Read the machine from this directory or archive instead of /
    #[arg(long, value_name = "DIR|FILE", default_value = "/")]
    pub sysroot: PathBuf,
}

#[derive(Debug, Group)]
#[command(after_help = ADVISE_NOTES)]
pub struct Advise {
    /// text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    pub format: ListFormat,

    /// Add the reasons, their sources, and what is not known
    #[arg(long)]
    pub full: bool,

    #[command(flatten)]
    pub machine: Machine,
}

const ADVISE_NOTES: &str = "\
Answers use the drives of this machine and the stored runs on them. Each names its runs, their load, its confidence,
and an experiment that would settle what is open. Nothing is measured or uploaded.";

#[derive(Debug, Group)]
pub struct Capture {
    /// The archive to write, such as machine.tar.gz
    pub file: PathBuf,

    /// Replace serials, UUIDs, hardware addresses and the host name, consistently
    #[arg(long)]
    pub anonymise: bool,
}

#[derive(Debug, Group)]
#[command(after_help = WATCH_NOTES)]
pub struct WatchBoot {
    /// The machine: a name or an address
    pub host: String,

    /// Longest time to watch
    #[arg(long = "for", value_name = "TIME", default_value = "15m", value_parser = seconds)]
    pub most: f64,

    /// Services to wait for: network, ssh, http
    #[arg(long, value_name = "LIST", default_value = "network,ssh,http", value_delimiter = ',')]
    #[arg(hide_possible_values = true)]
    pub services: Vec<Service>,

    /// Port of ssh
    #[arg(long, value_name = "PORT", default_value_t = 22)]
    pub ssh_port: u16,

    /// Port of the web server
    #[arg(long, value_name = "PORT", default_value_t = 80)]
    pub http_port: u16,
}

const WATCH_NOTES: &str = "\
Run it on a machine other than HOST. Then restart HOST or switch it on, and
press Enter at that moment: times are counted from then, and from the last
answer before the restart. It restarts nothing, and contacts only HOST.";

#[derive(Debug, Group)]
#[command(after_help = "A name can be a target: drivebench run baseline bay:top-left")]
pub struct Bay {
    #[command(subcommand)]
    pub action: Option<BayAction>,
}

#[derive(Debug, Subcommand)]
pub enum BayAction {
    /// List the names
    List,
    /// Name or rename a bay
    Name {
        /// The bay as `drivebench list` shows it: 1.3, or with its bus: 3f980000.usb-usbv2-1.3
        bay: String,
        /// Letters, digits, - and _
        name: String,
    },
    /// Remove the name of a bay
    Forget {
        /// The name
        name: String,
    },
}

#[derive(Debug, Group)]
pub struct Import {
    /// Files, or directories for all files below them
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// The drive that was measured, such as its serial
    #[arg(long, value_name = "NAME", value_parser = line)]
    pub drive: Option<String>,

    /// The board that it was measured on
    #[arg(long, value_name = "NAME", value_parser = line)]
    pub board: Option<String>,

    /// Direction of loads that don't state it, such as dd's
    #[arg(long, value_name = "read|write", hide_possible_values = true)]
    pub rw: Option<Way>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Way {
    /// From the drive
    Read,
    /// To the drive
    Write,
}

/// Checks a name: one line of 1 to 160 characters.
fn line(text: &str) -> Result<String, String> {
    let fits = !text.trim().is_empty() && text.chars().count() <= 160 && !text.contains(hides);
    fits.then(|| text.trim().to_owned())
        .ok_or_else(|| "a name has 1 to 160 characters, on one line".to_owned())
}

/// What stands in the help for the name of a run, and for one of its targets.
pub const RUN: &str = "RUN";
pub const SIDE: &str = "RUN[:TARGET]";

/// The word for the newest run, wherever a run is named.
pub const LAST: &str = "last";

#[derive(Debug, Group)]
#[command(after_help = "Wherever a RUN is named, `last` is the newest one.")]
pub struct Results {
    #[command(flatten)]
    pub list: ListRuns,

    #[command(subcommand)]
    pub action: Option<ResultsAction>,
}

#[derive(Debug, Default, PartialEq, Group)]
pub struct ListRuns {
    #[command(flatten)]
    pub filter: Filter,

    /// text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    pub format: ListFormat,
}

#[derive(Debug, Default, PartialEq, Group)]
pub struct Filter {
    /// Only runs on drives or targets whose name contains this: model, serial, path
    #[arg(long, value_name = "TEXT")]
    pub drive: Option<String>,

    /// Only runs on boards whose name contains this
    #[arg(long, value_name = "TEXT")]
    pub board: Option<String>,

    /// Only runs on the machine with this name
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,

    /// Only runs of this experiment
    #[arg(long, value_name = "NAME")]
    pub experiment: Option<String>,

    /// Only runs since this day (UTC)
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    pub since: Option<String>,
}

#[derive(Debug, Group)]
pub struct Export {
    /// Names of runs, in the order of the rows [default: all, oldest first]
    #[arg(value_name = RUN, conflicts_with = "Filter")]
    pub runs: Vec<String>,

    #[command(flatten)]
    pub filter: Filter,

    /// csv, json or openmetrics
    #[arg(long, value_name = "FORMAT", default_value = "csv", hide_possible_values = true)]
    pub format: RowFormat,

    /// Add a file for each finished run to this directory, in partitions by month and machine
    #[arg(long, value_name = "DIR", conflicts_with = "format")]
    pub dataset: Option<PathBuf>,
}

#[derive(Debug, Group)]
pub struct History {
    /// A directory, device or kernel name, or a part of a model or serial [default: all drives]
    #[arg(value_name = "DRIVE")]
    pub drive: Option<String>,

    /// text or json
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    pub format: ListFormat,
}

#[derive(Debug, Group)]
pub struct Show {
    /// Names of runs; `drivebench results` lists them, `last` is the newest
    #[arg(required = true, value_name = RUN)]
    pub runs: Vec<String>,

    /// text, markdown or json
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
    pub format: Format,

    /// Add reasons, percentiles, conditions and commands
    #[arg(long)]
    pub full: bool,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  drivebench results compare r2k4 r7xz           drives measured by both
  drivebench results compare r2k4:/mnt/a r7xz    one target of the first run
  drivebench results compare r2k4                the drives of one run
  drivebench results compare r2k4 packs/         its place among packs of its model";

#[derive(Debug, Subcommand)]
pub enum ResultsAction {
    /// List runs; the default
    List(ListRuns),
    /// Compare two runs, drive by drive: ratios with intervals
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare {
        /// A run, or one target of it
        #[arg(value_name = SIDE)]
        first: String,
        /// The other run, or a directory of packs of the same model [default: compare the targets of the first]
        #[arg(value_name = SIDE)]
        second: Option<String>,
        /// Compare unlike loads too
        #[arg(long)]
        force: bool,
        /// Latencies too, and what would show smaller differences
        #[arg(long)]
        full: bool,
        /// text, markdown or json
        #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true)]
        format: Format,
    },
    /// Export estimates as CSV, JSON or OpenMetrics
    Export(Export),
    /// Write one run as a file that others can check and import
    Pack {
        /// Name of the run
        #[arg(value_name = RUN)]
        run: String,
        /// The new file [default: RUN.drivebench]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Keep serials, UUIDs and the name of the machine
        #[arg(long)]
        identities: bool,
        /// Sign with this ssh key
        #[arg(long, value_name = "KEY")]
        sign: Option<PathBuf>,
    },
    /// Check a pack: its digest, its findings computed again, its signature
    Verify {
        /// The pack
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// File of allowed signers (see ssh-keygen)
        #[arg(long, value_name = "FILE")]
        signers: Option<PathBuf>,
    },
    /// Remove runs
    Rm {
        /// Names of runs
        #[arg(required = true, value_name = RUN)]
        runs: Vec<String>,
    },
}

/// A day, as the first ten characters of an RFC 3339 date.
fn day(text: &str) -> Result<String, String> {
    humantime::parse_rfc3339(&format!("{text}T00:00:00Z"))
        .map(|_| text.to_owned())
        .map_err(|_| "write the day as 2026-11-21".to_owned())
}
