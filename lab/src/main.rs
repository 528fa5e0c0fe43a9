//! `lab`: virtual machines with modelled drives.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use drivebench_lab::{Machine, Options, Scenario};
use drivebench_lab_agent::Kind;

/// Virtual machines with modelled drives, to try and test drivebench on.
#[derive(Parser)]
#[command(name = "lab/vm")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds programs, kernels and guests where they are missing or stale; every other command does, too
    Build {
        /// Also what the emulated Raspberry Pi needs: raspi3b
        #[arg(value_parser = ["q35", "raspi3b"])]
        machine: Option<String>,
    },
    /// Lists the scenarios
    List,
    /// Starts a machine and gives you a shell in it; it ends with the shell
    Up(Up),
    /// Starts a machine, runs a command in it, and ends it: output and exit code are the command's
    Run(Run),
}

#[derive(Args)]
struct Which {
    /// A scenario: a name that `list` knows, or a file
    scenario: String,
    /// Drives and buses so many times as fast as the scenario says
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    speed: f64,
    /// Keep the drives' content and ledgers in this directory, and go on with what is there
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

#[derive(Args)]
struct Up {
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
struct Run {
    #[command(flatten)]
    which: Which,
    /// Copy a file into the directory that the command runs in
    #[arg(long, value_name = "FILE")]
    put: Vec<PathBuf>,
    /// Where to put the files that the command leaves in its directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// End the command after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    limit: u64,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    argv: Vec<String>,
}

fn main() -> ExitCode {
    match obey(Cli::parse().command) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("lab/vm: {e:#}");
            ExitCode::from(125)
        }
    }
}

fn obey(command: Command) -> Result<ExitCode> {
    match command {
        Command::Build { .. } => Ok(ExitCode::SUCCESS),
        Command::List => list(),
        Command::Up(up) => {
            let mut machine = start(&up.which, true)?;
            machine.wait()?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Run(command) => run(&command),
    }
}

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

fn list() -> Result<ExitCode> {
    let mut paths: Vec<PathBuf> =
        scenarios().read_dir()?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    for path in paths {
        let scenario = Scenario::read(&path)?;
        println!("{:<14} {}", scenario.name, scenario.title);
    }
    Ok(ExitCode::SUCCESS)
}

impl Which {
    fn read(&self) -> Result<Scenario> {
        let named = scenarios().join(format!("{}.toml", self.scenario));
        let path = Path::new(&self.scenario);
        let scenario = match (named.is_file(), path.is_file()) {
            (true, _) => Scenario::read(&named)?,
            (_, true) => Scenario::read(path)?,
            _ => bail!("there is no scenario {:?}; `lab/vm list` shows those there are", self.scenario),
        };
        Ok(scenario.faster(self.speed))
    }
}

fn start(which: &Which, terminal: bool) -> Result<Machine> {
    let options = Options { kit: None, terminal, keep: which.keep.clone() };
    Ok(Machine::start(&which.read()?, &options)?)
}

fn run(command: &Run) -> Result<ExitCode> {
    let machine = start(&command.which, false)?;
    for path in &command.put {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.with_context(|| format!("{} can't be copied", path.display()))?;
        machine.put(path, &format!("/work/{name}"))?;
    }
    let argv: Vec<&str> = command.argv.iter().map(String::as_str).collect();
    let running = machine.begin(&argv)?;
    let mut said = Ok(());
    let code = running.follow(Duration::from_secs(command.limit), |kind, bytes| {
        let result = match kind {
            Kind::Stdout => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
            _ => io::stderr().write_all(bytes),
        };
        said = std::mem::replace(&mut said, Ok(())).and(result);
    })?;
    said?;
    if let Some(out) = &command.out {
        machine.get("/work", out)?;
    }
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(255)))
}
