//! What can be typed after `drivebench run`: one subcommand for each experiment.

use std::time::Duration;

use clap::{
    ArgMatches, Args as Group, FromArgMatches, Subcommand, ValueEnum, error::ErrorKind, parser::ValueSource,
};

use super::args::FormatName;
use crate::{
    experiments::{self, Experiment, LoadName, REGISTER},
    units::{Caching, parse_size},
};

/// `drivebench run EXPERIMENT`.
#[derive(Debug, Group)]
pub struct Options {
    /// A directory on the drive, an existing file, a /dev path, a serial, a label or bay:PORT; several are compared
    #[arg(required = true, value_name = "TARGET")]
    pub targets: Vec<String>,

    /// Go on with a run that was stopped or cut off, days ago if need be: what is done is not done again
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all = ["targets", "plan", "quick", "thorough", "precision", "max_time", "max_bytes", "rw", "bs", "iodepth", "rwmixread", "caching", "verify", "seed", "engine", "protocol", "runs", "pause", "files", "size", "largest"]
    )]
    pub resume: Option<String>,

    /// Show what would be done and what it costs, and stop
    #[arg(long)]
    pub plan: bool,

    /// A rougher answer in less time and wear: 10 % precision, at most 1.5 GiB and 10 minutes a drive
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,

    /// A finer answer: 3 % precision, at most 12 GiB and 2 hours a drive
    #[arg(long)]
    pub thorough: bool,

    /// Stop when the 95 % interval is this narrow to either side [default: 5 %]
    #[arg(long, value_name = "PERCENT", value_parser = precision)]
    pub precision: Option<f64>,

    /// Most time on one drive [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub max_time: Option<Duration>,

    /// Most bytes each load moves; no more is ever written to a drive by it [default: 3GiB; cliff: 32GiB]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub max_bytes: Option<u64>,

    /// Loads in order: read, write, randread, randwrite, rw, randrw [default: write,read; files and devices: read]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = load_name)]
    pub rw: Option<Vec<LoadName>>,

    /// Bytes per operation, 64 B to 16 MiB [default: 4k; together and cliff: 1M]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, alias = "block")]
    pub bs: Option<u64>,

    /// Operations in flight, 1 to 256 [default: 1]
    #[arg(long, value_name = "N", alias = "depth")]
    pub iodepth: Option<u32>,

    /// Percentage of reads in rw and randrw [default: 50]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub rwmixread: Option<u8>,

    /// What stands between load and drive [default: direct, or buffered+fsync where direct is refused]
    #[arg(long, value_name = "HOW")]
    pub caching: Option<CachingName>,

    /// Stamp what is written and check every block that is read
    #[arg(long)]
    pub verify: bool,

    /// Seed of content and random offsets [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// What moves the bytes [default: psync at depth 1, uring above it where the kernel has it]
    #[arg(long, value_name = "ENGINE")]
    pub engine: Option<EngineName>,

    /// Follow a published procedure to the letter: pi-zero, fio-qd64, dd-256k, dd-parallel, or a file
    #[arg(
        long,
        value_name = "NAME|FILE",
        conflicts_with_all = ["quick", "thorough", "precision", "max_time", "max_bytes", "rw", "bs", "iodepth", "rwmixread", "caching", "verify"]
    )]
    pub protocol: Option<String>,

    /// How often each thing is repeated
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,

    /// Files in the mix whose copying is predicted
    #[arg(long, value_name = "N", requires = "size", value_parser = clap::value_parser!(u64).range(1..))]
    pub files: Option<u64>,

    /// Size of each file of that mix
    #[arg(long, value_name = "SIZE", requires = "files", value_parser = parse_size)]
    pub size: Option<u64>,

    /// The largest transfer
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub largest: Option<u64>,

    /// How long the drive is left alone: before it is written again, or for its own timer to end [default: 60s; spinup: what --max-time leaves]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub pause: Option<Duration>,

    /// Wait while another drivebench measures the drive, instead of refusing
    #[arg(long)]
    pub wait: bool,

    /// Write the result as this
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: FormatName,

    /// Write events as JSON lines while it runs, the findings last
    #[arg(long, conflicts_with_all = ["format", "plan"])]
    pub events: bool,
}

/// Options that every experiment takes; others only where [`Experiment::options`] names them.
const COMMON: [&str; 9] =
    ["targets", "plan", "max_time", "max_bytes", "seed", "engine", "wait", "format", "events"];

/// An experiment and what was asked of it.
#[derive(Debug)]
pub struct Run {
    /// Which one.
    pub experiment: &'static dyn Experiment,
    /// What was asked.
    pub options: Box<Options>,
}

/// The ids of the options that an experiment doesn't take.
fn foreign(experiment: &dyn Experiment) -> Vec<clap::Id> {
    let all = Options::augment_args(clap::Command::new(""));
    let ids = all.get_arguments().map(|arg| arg.get_id().clone());
    let takes = |id: &clap::Id| COMMON.iter().chain(experiment.options()).any(|taken| *id == *taken);
    ids.filter(|id| !takes(id)).collect()
}

/// One subcommand for each experiment of the register, with the options it takes.
impl Subcommand for Run {
    fn augment_subcommands(command: clap::Command) -> clap::Command {
        let command = command.subcommand_value_name("EXPERIMENT").subcommand_help_heading("Experiments");
        let command = command.subcommand_required(true).disable_help_subcommand(true);
        REGISTER.iter().fold(command, |command, experiment| {
            let help = format!(
                "Examples:\n{}\n\nSizes: 4k, 1M, 1GiB are powers of 1024; 500MB of 1000. Times: 90s, 10m, 1h.",
                experiment.examples().iter().map(|line| format!("  drivebench run {line}")).collect::<Vec<_>>().join("\n")
            );
            let mut one = Options::augment_args(clap::Command::new(experiment.name()))
                .about(experiment.question())
                .after_help(help);
            for id in foreign(*experiment) {
                one = one.mut_arg(id, |arg| arg.hide(true));
            }
            // What goes on knows its targets.
            if experiment.options().contains(&"resume") {
                one = one.mut_arg("targets", |arg| arg.required(false).required_unless_present("resume"));
            }
            command.subcommand(one)
        })
    }

    fn augment_subcommands_for_update(command: clap::Command) -> clap::Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        experiments::find(name).is_some()
    }
}

impl FromArgMatches for Run {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let named =
            matches.subcommand().and_then(|(name, matches)| Some((experiments::find(name)?, matches)));
        let Some((experiment, matches)) = named else {
            return Err(clap::Error::new(ErrorKind::MissingSubcommand));
        };
        let typed = |id: &clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        if let Some(id) = foreign(experiment).iter().find(|id| typed(id)) {
            let (name, option) = (experiment.name(), id.as_str().replace('_', "-"));
            let text =
                format!("{name} has no --{option}; `drivebench run {name} --help` shows what it takes\n");
            return Err(clap::Error::raw(ErrorKind::UnknownArgument, text));
        }
        Ok(Self { experiment, options: Box::new(Options::from_arg_matches(matches)?) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Names of engines.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum EngineName {
    /// pread and pwrite; threads above depth 1
    Psync,
    /// The kernel's io_uring
    Uring,
    /// The program fio
    Fio,
}

/// Names of cachings.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum CachingName {
    /// Past the page cache
    Direct,
    /// Through the page cache
    Buffered,
    /// Through the page cache, with fsync at the end
    #[value(name = "buffered+fsync")]
    BufferedFsync,
}

impl From<CachingName> for Caching {
    fn from(name: CachingName) -> Self {
        match name {
            CachingName::Direct => Self::Direct,
            CachingName::Buffered => Self::Buffered,
            CachingName::BufferedFsync => Self::BufferedFsync,
        }
    }
}

impl EngineName {
    /// The engine's own name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Psync => "psync",
            Self::Uring => "uring",
            Self::Fio => "fio",
        }
    }
}

fn load_name(text: &str) -> Result<LoadName, String> {
    let known = LoadName::ALL.map(LoadName::name).join(", ");
    LoadName::ALL.into_iter().find(|l| l.name() == text).ok_or(format!("there are {known}"))
}

/// A share from a percentage with or without its sign.
fn precision(text: &str) -> Result<f64, String> {
    let percent = text.trim().trim_end_matches('%').trim_end().parse::<f64>().map_err(|e| e.to_string())?;
    let range = 1.5..=50.0;
    if range.contains(&percent) {
        Ok(percent / 100.0)
    } else {
        Err("from 1.5 to 50 percent: what another day would show differs by 1 % in any case".to_owned())
    }
}

/// A length of time; a bare number is seconds.
fn time(text: &str) -> Result<Duration, String> {
    let time = match text.trim().parse::<u32>() {
        Ok(seconds) => Duration::from_secs(u64::from(seconds)),
        Err(_) => humantime::parse_duration(text).map_err(|e| e.to_string())?,
    };
    let range = Duration::from_secs(1)..=Duration::from_secs(30 * 86400);
    if range.contains(&time) { Ok(time) } else { Err("from 1 second to 30 days".to_owned()) }
}
