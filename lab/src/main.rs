//! `lab`: virtual machines with modelled drives.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};
use drivebench_lab::{Machine, Options, Scenario, oracle, soak};
use drivebench_lab_agent::Kind;

/// Virtual machines with modelled drives, for trying and testing drivebench.
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
        /// Also build for the emulated Raspberry Pi (raspi3b), or the guest with systemd
        #[arg(value_parser = ["q35", "raspi3b", "systemd"])]
        what: Vec<String>,
    },
    /// Lists the scenarios
    List,
    /// Starts a machine and gives you a shell in it; it ends with the shell
    Up(Up),
    /// Prints what an ideal observer would report of a scenario's drives
    Truth {
        /// A scenario: a name that `list` knows, or a file
        scenario: String,
        /// Also report from their ledgers: the directory given to --keep
        directory: Option<PathBuf>,
    },
    /// Repeats a test many times, and keeps what failed
    Soak(Soak),
    /// Starts a machine, runs a command in it, and ends it: output and exit code are the command's
    Run(Run),
}

/// Parses a speed factor; emulated machines can't follow larger ones.
fn factor(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().map_err(|e| e.to_string())?;
    if (0.01..=1000.0).contains(&factor) { Ok(factor) } else { Err("from 0.01 to 1000".to_owned()) }
}

#[derive(Args)]
struct Guest {
    /// A scenario: a name that `list` knows, or a file
    scenario: String,
    /// Speed factor of drives and buses
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = factor)]
    speed: f64,
    /// Keep the drives' content and ledgers in this directory, and reuse existing ones
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

#[derive(Args)]
struct Soak {
    /// The test
    #[arg(value_enum)]
    what: Campaign,
    /// How many times
    #[arg(long, value_name = "N", default_value_t = 20)]
    times: u32,
    /// The random seed
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Where to keep what failed
    #[arg(long, value_name = "DIR", default_value = "target/soak")]
    out: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Campaign {
    /// Pull drives during I/O, and put them into a random bay
    Pulls,
    /// Cut the power during measurements
    PowerCuts,
    /// Measure random drives, and compare the results with their ledgers
    Drives,
    /// Run the default baseline on drives of the shipped scenarios, one after the other, and compare its results with their ledgers
    Baselines,
    /// Build, use, break, repair and remove a pool of each layout in turn, and compare `pool status` with mdadm and the kernel
    Layouts,
    /// Kill drivebench N times and cut the power N times while pools are built, repaired and removed; `--seed S --times 1` repeats one
    Pools,
    /// Join the four drives of the post with `dmsetup`'s linear, and compare the table and its seams with them
    Joined,
    /// Run `drivebench run pull` on four drives, a layout each round: each drive is pulled while files are used
    Pulled,
    /// The same; each modelled stick is pulled when drivebench asks for it, and plugged into another bay
    PulledByHand,
    /// Cut the power of a pool of a layout each round, five times, while `drivebench run power` writes, and check what it finds
    LostPower,
    /// Cut the power of a raid5 while `drivebench run power` writes, take one drive away, and check what it finds
    WriteHole,
    /// `drivebench run swap` on four drives and zram, with five repeats and with three
    SwapMedia,
    /// `drivebench run swap` is killed at random moments
    SwapKills,
    /// `drivebench run share` where it is known what limits a client
    Shares,
    /// `drivebench run share` beside what a person would time with cp, fio, smbclient and sftp
    SharesByHand,
    /// `drivebench run share` is killed at random moments
    ShareKills,
    /// Cut the power of two healthy drives and of one that loses what it acknowledged, and use one that forgets writes or flips
    /// bits, while `drivebench run power` writes to each
    Lying,
    /// Run `drivebench run layouts` on one scenario after the other, and compare its predictions with what it measures
    Predictions,
    /// `drivebench run boot --times` restarts a machine three times; in turn nothing happens, it is ended after the first boot, or
    /// the power is cut in the third one
    Boots,
    /// The same five times from each of four drives
    BootMedia,
    /// A machine restarts while another one watches it with `drivebench watch-boot`
    WatchedBoots,
    /// Build a pool of each layout that is kept, reboot, reboot without one of its drives, mend and destroy it
    Reboots,
}

#[derive(Args)]
struct Up {
    #[command(flatten)]
    guest: Guest,
}

#[derive(Args)]
struct Run {
    #[command(flatten)]
    guest: Guest,
    /// Copy a file into the directory that the command runs in
    #[arg(long, value_name = "FILE")]
    put: Vec<PathBuf>,
    /// Copy the files that the command leaves in its directory to this one
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// End the command after this many seconds
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
            let mut machine = start(&up.guest, true)?;
            machine.wait()?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Truth { scenario, directory } => {
            let scenario = named(&scenario)?;
            print!("{}", oracle::describe(&scenario, directory.as_deref())?);
            Ok(ExitCode::SUCCESS)
        }
        Command::Soak(campaign) => soak(&campaign),
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

fn named(name: &str) -> Result<Scenario> {
    let named = scenarios().join(format!("{name}.toml"));
    let path = Path::new(name);
    match (named.is_file(), path.is_file()) {
        (true, _) => Ok(Scenario::read(&named)?),
        (_, true) => Ok(Scenario::read(path)?),
        _ => bail!("no scenario is named {name:?}; `lab/vm list` shows all scenarios"),
    }
}

fn soak(campaign: &Soak) -> Result<ExitCode> {
    let &Soak { what, times, seed, .. } = campaign;
    let summary = match what {
        Campaign::Pulls => {
            soak::pulls(&mut Machine::start(&named("pi-zero")?, &Options::default())?, times, seed)
        }
        Campaign::PowerCuts => {
            let scenario = named("two-sticks")?.faster(4.0);
            soak::power_cuts(&mut Machine::start(&scenario, &Options::default())?, times, seed)
        }
        Campaign::Pools => soak::pools(&Options::default(), &named("pools")?, times, seed),
        Campaign::Pulled => {
            soak::pulled(&Options::default(), &named("pools")?, soak::By::Software, times, seed)
        }
        Campaign::PulledByHand => {
            soak::pulled(&Options::default(), &named("pools")?, soak::By::Hand, times, seed)
        }
        Campaign::LostPower => soak::lost_power(&Options::default(), &named("pools")?, times, seed),
        Campaign::WriteHole => soak::write_hole(&Options::default(), &named("pools")?, times, seed),
        Campaign::SwapMedia => {
            // What else the host does changes no time of the processor. All that is emulated takes long, a request that fits into memory, too: only slower
            // drives make it ten times as long.
            let scenario = Scenario { icount: Some(1), ..named("pi-zero")? }.faster(0.2);
            soak::swap_media(&Options::default(), &scenario, times, seed)
        }
        Campaign::SwapKills => soak::swap_kills(&Options::default(), &named("pi-zero")?, times, seed),
        Campaign::Shares => soak::shares(&Options::default(), &named("two-sticks")?, times, seed),
        Campaign::SharesByHand => {
            // What else the host does changes no time of the processor, and drives are slow: else starting a program takes as long as moving a file.
            let scenario = Scenario { icount: Some(1), ..named("two-sticks")? }.faster(0.2);
            soak::shares_by_hand(&Options::default(), &scenario, times, seed)
        }
        Campaign::ShareKills => soak::share_kills(&Options::default(), &named("two-sticks")?, times, seed),
        Campaign::Lying => soak::lying(&Options::default(), &named("pools")?, times, seed),
        Campaign::Layouts => soak::layouts(&Options::default(), &named("pools")?, times, seed),
        Campaign::Joined => soak::joined(&Options::default(), named("pi-zero")?, times),
        Campaign::Predictions => {
            let scenarios = [
                "pi-zero",
                "two-sticks",
                "hub-limited",
                "usb-disks",
                "hub-and-sata",
                "disks-and-ssd",
                "unlike-sticks",
                "five-sticks",
                "mixed-drives",
                "desk-sticks",
                "ssds-and-sticks",
                "market-sticks",
                "attic-box",
                "loft-sticks",
                "closet-mix",
                "shelf-pair",
                "dock-four",
            ]
            .map(named);
            let scenarios = scenarios.into_iter().collect::<Result<Vec<_>>>()?;
            soak::predictions(&Options::default(), &scenarios, times, seed)
        }
        Campaign::Drives => soak::random_drives(&Options::default(), times, seed, &campaign.out),
        Campaign::Baselines => {
            let scenarios = ["pi-zero", "two-sticks", "sd-vs-usb", "cliff"].map(named);
            let scenarios = scenarios.into_iter().collect::<Result<Vec<_>>>()?;
            soak::baselines(&Options::default(), &scenarios, times)
        }
        Campaign::BootMedia => soak::boot_media(&Options::default(), &named("boot-media")?, times, seed),
        Campaign::WatchedBoots => {
            soak::watched_boots(&Options::default(), &named("two-sticks")?, times, seed)
        }
        Campaign::Boots => soak::boots(&Options::default(), &named("pools")?, times, seed),
        Campaign::Reboots => soak::reboots(&Options::default(), &named("pools")?, times, seed.max(1)),
    };
    let name = what.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default();
    print!("{}", summary.describe(&name));
    Ok(if summary.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn start(guest: &Guest, terminal: bool) -> Result<Machine> {
    let options = Options { terminal, keep: guest.keep.clone(), ..Options::default() };
    Ok(Machine::start(&named(&guest.scenario)?.faster(guest.speed), &options)?)
}

fn run(command: &Run) -> Result<ExitCode> {
    let machine = start(&command.guest, false)?;
    for path in &command.put {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.with_context(|| format!("{} can't be copied", path.display()))?;
        machine.put(path, &format!("/work/{name}"))?;
    }
    let argv: Vec<&str> = command.argv.iter().map(String::as_str).collect();
    let running = machine.begin(&argv)?;
    let mut written = Ok(());
    let code = running.follow(Duration::from_secs(command.limit), |kind, bytes| {
        let result = match kind {
            Kind::Stdout => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
            _ => io::stderr().write_all(bytes),
        };
        written = std::mem::replace(&mut written, Ok(())).and(result);
    })?;
    written?;
    if let Some(out) = &command.out {
        machine.get("/work", out)?;
    }
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(255)))
}
