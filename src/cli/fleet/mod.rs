//! `drivebench fleet run`: one experiment on many hosts, by the Ansible collection of this program.

mod collection;
mod hosts;
mod ranking;

use std::{
    collections::BTreeMap,
    env, fs,
    io::BufReader,
    path::{Path, PathBuf, absolute},
    process::ExitCode,
};

use anyhow::Context;
use clap::{Args as Group, Parser, Subcommand};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    args::{Args, Command, LAST},
    errors::Usage,
    mistakes,
    output::Output,
    signals::Signals,
    stored,
};
use crate::{
    experiments::seconds,
    record::{make_dir, open_regular},
    report::{Format, render},
    run,
    tools::{Runner, System, ansible, ssh},
    units::shell_word,
};

#[derive(Debug, Group)]
pub struct Fleet {
    #[command(subcommand)]
    pub action: FleetAction,
}

#[derive(Debug, Subcommand)]
pub enum FleetAction {
    /// Run an experiment on each host, and rank their drives
    #[command(after_help = NOTES)]
    Run(FleetRun),
}

const NOTES: &str = "\
Exit codes: 0 all hosts have a result, 1 some have none, 2 wrong use.
Example:
  drivebench fleet run baseline --hosts 'pi@pi[1-8]' --quick /media/stick";

#[derive(Debug, Group)]
pub struct FleetRun {
    /// As of `drivebench run`, if it erases and restarts nothing
    pub experiment: String,

    /// Options of the experiment and targets on the hosts, last
    #[arg(value_name = "ARG", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,

    /// Such as 'pi[1-8],me@nas', or a file with one a line
    #[arg(long, value_name = "LIST")]
    pub hosts: String,

    /// serial, staggered (by a minute) or at_once
    #[arg(long, value_name = "HOW", default_value = "serial", hide_possible_values = true)]
    #[arg(value_parser = ["serial", "staggered", "at_once"])]
    pub mode: String,

    /// Name of this measurement [default: experiment and time]
    #[arg(long, value_name = "NAME", value_parser = label, conflicts_with = "resume")]
    pub label: Option<String>,

    /// Measure the hosts without a result of this name; `last` is the newest
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub resume: Option<String>,

    /// Longest time for a host
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = seconds)]
    pub time_limit: f64,

    /// Programs for other architectures: DIR/aarch64/drivebench
    #[arg(long, value_name = "DIR")]
    pub programs: Option<PathBuf>,

    /// Remove the program and all its runs from hosts that succeed
    #[arg(long)]
    pub clean: bool,

    /// Show what would be copied and run, and stop
    #[arg(long)]
    pub plan: bool,
}

/// The name of a measurement, as the roles take it.
fn label(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let fits = text.len() <= 64 && text.chars().all(plain) && !text.starts_with(['.', '_', '-']);
    (fits && !text.is_empty())
        .then(|| text.to_owned())
        .ok_or("up to 64 letters, digits, '.', '_' and '-'".to_owned())
}

/// Where the hosts have the program and their runs.
const BROUGHT: &str = "~/.drivebench-ansible";
/// Asks nothing, accepts no unknown host, and notices one that is gone.
const SSH: &str = "-o BatchMode=yes -o StrictHostKeyChecking=yes -o ServerAliveInterval=15";

/// A line of the collection's callback plugin: how far a host is.
#[derive(Debug, Deserialize)]
struct Event {
    host: String,
    state: String,
    #[serde(flatten)]
    failure: Option<Failure>,
}

#[derive(Debug, Deserialize)]
struct Failure {
    unreachable: bool,
    reason: String,
}

/// The result of a host, as the collection keeps it.
#[derive(Debug, Deserialize)]
struct HostResult {
    experiment: String,
    run: String,
}

impl HostResult {
    fn read(path: &Path) -> Option<Self> {
        serde_json::from_reader(BufReader::new(open_regular(path).ok()?)).ok()
    }
}

/// One experiment on many hosts.
struct Measurement<'a> {
    args: &'a FleetRun,
    hosts: Vec<String>,
    arguments: Vec<String>,
    label: String,
    /// As absolute paths: the store, and what it has of each host.
    store: PathBuf,
    results: PathBuf,
    /// Programs by the architecture that `uname -m` prints.
    programs: Vec<(&'static str, PathBuf)>,
}

pub(super) fn fleet(fleet: &Fleet, dir: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let FleetAction::Run(args) = &fleet.action;
    let planned = check(args)?;
    let store = stored::store(dir)?;
    let measurement = Measurement::new(args, absolute(store.dir())?)?;
    let Measurement { hosts, label, results, .. } = &measurement;
    if args.plan || planned {
        output.plan(&measurement.describe())?;
        return Ok(ExitCode::SUCCESS);
    }
    let system = System::default();
    for tool in [ansible::PLAYBOOK, ssh::SSH] {
        system.find(tool).map_err(|e| Usage(e.to_string()))?;
    }
    make_dir(results).with_context(|| format!("{} can't be made", results.display()))?;
    let inventory = |programs: &Path| measurement.inventory(programs);
    let dir =
        collection::write(&measurement.programs, inventory).context("the collection can't be written")?;
    let signals = Signals::listen()?;
    let cancel = signals.cancel();
    output.note(&format!("{} as {label} on {}:", args.experiment, hosts.join(", ")));
    let mut failures: BTreeMap<&String, Failure> = BTreeMap::new();
    let mut hear = |line: &str| {
        let Ok(Event { host, state, failure }) = serde_json::from_str(line) else { return };
        let Some(host) = hosts.iter().find(|one| hosts::key(one) == host) else { return };
        let why = failure.iter().map(|failure| format!(": {}", failure.reason)).collect::<String>();
        output.note(&format!("{host}: {state}{why}"));
        failures.extend(failure.map(|failure| (host, failure)));
    };
    let query = ansible::play(dir.path(), collection::MEASURE, collection::EVENTS, hosts.len());
    let played = system.stream(&query, &|| cancel.is_set(), &mut hear)?;
    let again = format!("The same command with --resume {label} measures the hosts without a result.");
    if let Some(code) = signals.code() {
        output.note(&format!("Runs on the hosts go on. {again}"));
        return Ok(ExitCode::from(code));
    }
    let (mut rows, mut flags) = (Vec::new(), Vec::new());
    for host in hosts {
        let reason = match measurement.run_of(host).map(|run| stored::findings(&store, &run)).transpose() {
            Ok(Some(findings)) => {
                if let Some(Failure { reason, .. }) = failures.remove(host) {
                    output.note(&format!("{host} has a result, but was not cleaned: {reason}."));
                }
                rows.extend(ranking::rows(host, &findings));
                flags.extend(findings.flags.into_iter().map(|flag| (host.clone(), flag)));
                continue;
            }
            // One that was not heard of failed with all of Ansible.
            Ok(None) => played.complaint(),
            Err(e) => e.to_string(),
        };
        failures.entry(host).or_insert(Failure { unreachable: false, reason });
    }
    output.note("");
    output.result(&render(&ranking::ranked(&rows, &flags), Format::Text, output.style, false))?;
    for (host, Failure { unreachable, reason }) in &failures {
        let hint = || format!("`ssh {host}` must work and ask for nothing");
        output.error(&format!("{host}: {reason}"), unreachable.then(hint));
    }
    if failures.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    output.note(&again);
    Ok(ExitCode::FAILURE)
}

/// Refuses what `drivebench run` would refuse, and what is not run on many hosts. Returns whether the options have `--plan`.
fn check(args: &FleetRun) -> Result<bool, Usage> {
    let experiment = &args.experiment;
    // As the role runs it.
    let begin = ["drivebench", "run", experiment, "--store", "runs", "--wait"].map(str::to_owned);
    let typed = [&begin[..], &args.arguments].concat();
    let parsed = Args::try_parse_from(&typed).map_err(|e| match mistakes::explain(&e, &typed[1..]) {
        Some((wrong, hint)) => Usage(format!("{wrong}: {hint}")),
        None => Usage(format!("`drivebench run {experiment} --help` shows its options")),
    })?;
    match parsed.command {
        Command::Run(run) if collection::allows(experiment) => Ok(run.options.plan),
        _ => {
            let why = "it may erase, restart or cut off, or needs a person";
            Err(Usage(format!("{experiment} is not run on many hosts: {why}")))
        }
    }
}

impl<'a> Measurement<'a> {
    fn new(args: &'a FleetRun, store: PathBuf) -> anyhow::Result<Self> {
        let own = if env::consts::ARCH == "arm" { "armv7l" } else { env::consts::ARCH };
        let mut programs = vec![(own, env::current_exe()?)];
        if let Some(dir) = &args.programs {
            let dir = absolute(dir)?;
            let all = ["x86_64", "aarch64", "armv7l"].map(|name| (name, dir.join(name).join("drivebench")));
            let there: Vec<_> = all.into_iter().filter(|(_, path)| path.is_file()).collect();
            if there.is_empty() {
                return Err(
                    Usage(format!("{} has no program such as aarch64/drivebench", dir.display())).into()
                );
            }
            programs.extend(there.into_iter().filter(|(name, _)| *name != own));
        }
        let now: String = run::now().chars().filter(char::is_ascii_digit).collect();
        let label = match args.resume.as_deref() {
            Some(LAST) => newest(&store.join("fleet"), &args.experiment)?,
            given => given
                .or(args.label.as_deref())
                .map_or_else(|| format!("{}-{now}", args.experiment), str::to_owned),
        };
        let arguments = [&["--wait".to_owned()][..], &args.arguments].concat();
        let results = store.join("fleet").join(&label);
        let measurement =
            Self { args, hosts: hosts::read(&args.hosts)?, arguments, label, store, results, programs };
        let inventory = measurement.inventory(Path::new("")).to_string();
        let place = measurement.results.display();
        Err(Usage(match (measurement.results.is_dir(), &args.resume) {
            _ if ["{{", "{%", "{#"].iter().any(|begin| inventory.contains(begin)) => {
                "'{{', '{%' and '{#' begin templates of Ansible".to_owned()
            }
            _ if args.label.as_deref() == Some(LAST) => {
                "'last' is the newest: choose another label".to_owned()
            }
            (true, Some(_)) if is_of_another(&measurement.results, &args.experiment) == Some(true) => {
                format!("{place} has results of another experiment than {}", args.experiment)
            }
            (true, None) => format!("{place} exists: --resume continues it"),
            (false, Some(_)) => format!("there is no {place}"),
            _ => return Ok(measurement),
        })
        .into())
    }

    /// The run of a host that has a result.
    fn run_of(&self, host: &str) -> Option<String> {
        HostResult::read(&self.results.join(hosts::key(host) + ".json")).map(|result| result.run)
    }

    fn describe(&self) -> String {
        let Self { args, label, .. } = self;
        let (done, left): (Vec<_>, Vec<_>) =
            self.hosts.iter().cloned().partition(|host| self.run_of(host).is_some());
        let words: Vec<String> = self.arguments.iter().map(shell_word).collect();
        let programs = self.programs.iter().map(|(name, path)| format!("\n  {name}: {}", path.display()));
        let listed = |all: Vec<String>| if all.is_empty() { "none".to_owned() } else { all.join(" ") };
        let [hosts, done, words] = [left, done, words].map(listed);
        let others = if args.programs.is_none() { "\n  others: only with --programs" } else { "" };
        let programs = programs.collect::<String>() + others;
        let end = if args.clean { "removed after success" } else { "left there" };
        format!(
            "Label {label}, mode {}, hosts: {hosts}\nWith a result already: {done}\nCopied to {BROUGHT}, and {end}:{programs}\n\
             Run there: drivebench run {} {words}\nThe records are saved in {}\n",
            args.mode,
            args.experiment,
            self.store.display()
        )
    }

    /// All that Ansible is given.
    fn inventory(&self, programs: &Path) -> Value {
        let host = |host: &String| (hosts::key(host), json!({ "ansible_host": host }));
        json!({ "all": { "hosts": self.hosts.iter().map(host).collect::<serde_json::Map<_, _>>(), "vars": {
            "ansible_host_key_checking": true,
            "ansible_pipelining": true,
            "ansible_python_interpreter": "auto_silent",
            "ansible_remote_tmp": format!("{BROUGHT}/tmp"),
            "ansible_ssh_common_args": SSH,
            // sftp takes no user in the name of a host.
            "ansible_ssh_transfer_method": "piped",
            "drivebench_arguments": self.arguments,
            "drivebench_clean": self.args.clean,
            "drivebench_experiment": self.args.experiment,
            "drivebench_label": self.label,
            "drivebench_mode": self.args.mode,
            "drivebench_programs": programs.to_string_lossy(),
            "drivebench_store": self.store.to_string_lossy(),
            "drivebench_time_limit": self.args.time_limit,
            "drivebench_version": concat!("drivebench ", env!("CARGO_PKG_VERSION")),
        } } })
    }
}

/// Whether a measurement has results of another experiment; `None` without results.
fn is_of_another(results: &Path, experiment: &str) -> Option<bool> {
    let entries = fs::read_dir(results).into_iter().flatten().flatten();
    let results = entries.filter_map(|entry| HostResult::read(&entry.path()));
    results.map(|result| result.experiment != experiment).reduce(|one, other| one || other)
}

/// The label of the newest measurement of this experiment. One without results is known by the label that it gets by default.
fn newest(dir: &Path, experiment: &str) -> Result<String, Usage> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let newest = entries
        .filter(|entry| match is_of_another(&entry.path(), experiment) {
            Some(other) => !other,
            None => {
                let name = entry.file_name();
                name.to_string_lossy().rsplit_once('-').is_some_and(|(begin, _)| begin == experiment)
            }
        })
        .max_by_key(|entry| entry.metadata().and_then(|about| about.modified()).ok());
    let none = || Usage(format!("{} has no measurement by {experiment}", dir.display()));
    let newest = newest.ok_or_else(none)?;
    Ok(newest.file_name().to_string_lossy().into_owned())
}
