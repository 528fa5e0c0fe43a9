//! `drivebench run boot --times` and `--stop`: restarts of this machine, each of which is recorded.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::anyhow;
use clap::Parser;
use rustix::process::geteuid;

use super::{
    args::{Args, Command},
    errors::Usage,
    options::Run,
    output::Output,
    signals::Signals,
    stored,
};
use crate::{
    experiments::{
        self, BOOT, RESTART, STOP, TIMES,
        boot_series::{self, Next, PAUSE, Series},
    },
    inventory::Inventory,
    record::{Store, make_dir},
    run,
    sysroot::Sysroot,
    target::Target,
    tools::System,
};

/// The command that ends a series.
const STOP_IT: &str = "sudo drivebench run boot --stop";
/// How often a signal is looked for.
const POLL: Duration = Duration::from_millis(200);

/// Begins or ends a series, if the options of `run boot` ask for one.
pub(super) fn run(args: &Run, store: &Option<PathBuf>, output: &Output) -> Option<anyhow::Result<ExitCode>> {
    let Run { experiment, values, options } = args;
    if experiment.name != BOOT.name {
        return None;
    }
    match values.typed(&TIMES) {
        Some(times) => Some(begin(times, values.typed(&RESTART), options.plan, store, output)),
        None => values.get(&STOP).then(|| stop(options.plan, output)),
    }
}

/// Restarts the machine whose name was typed a number of times, or shows what that would do.
fn begin(
    times: u32,
    named: Option<String>,
    plan: bool,
    store: &Option<PathBuf>,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let root = Sysroot::live();
    let store = stored::store(store)?;
    let boot_id = run::host(&root).boot_id.ok_or(experiments::BootError::NoBootId)?;
    let host = root.word("/proc/sys/kernel/hostname").unwrap_or_default();
    let dir = std::path::absolute(store.dir())?;
    let dir = dir.canonicalize().unwrap_or(dir);
    let mut series = Series::new(&dir.to_string_lossy(), times, &boot_id);
    if plan {
        output.plan(&series.describe(&host))?;
        if let Err(e) = can_begin(&root, &dir, &host) {
            output.warn(&format!("as things are, it is refused: {e}"));
        }
        return Ok(ExitCode::SUCCESS);
    }
    can_begin(&root, &dir, &host)?;
    if named.as_ref() != Some(&host) {
        let wrong = named.map_or(String::new(), |named| format!(" '{named}' is not its name."));
        return Err(Usage(format!(
            "this restarts {host} {times} times, and ends its programs each time.{wrong} If that is what you want, add: --restart {host}"
        ))
        .into());
    }
    let runner = System::default();
    make_dir(&dir)?;
    let signals = Signals::listen()?;
    let begun = series.arm(&runner).and_then(|()| {
        output.lines(&series.describe(&host));
        match signals.code() {
            // An armed series would begin at the next restart, whenever that is.
            Some(_) => Err(io::Error::other("it was interrupted")),
            None => series.start(&runner),
        }
    });
    let Err(e) = begun else { return Ok(ExitCode::SUCCESS) };
    let left = match boot_series::disarm(&runner) {
        Ok(()) => String::new(),
        Err(e) => format!("; and not all is removed ({e}): {STOP_IT}"),
    };
    Err(anyhow!("no series of restarts begins: {e}{left}"))
}

/// Refuses a series that can't be recorded here, whoever consents.
fn can_begin(root: &Sysroot, dir: &Path, host: &str) -> anyhow::Result<()> {
    let inventory = Inventory::read(root);
    // What is stored in memory is lost at a restart. The store may not exist yet.
    let is_kept = |dir: &&Path| {
        let there = dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(Path::new("/"));
        Target::resolve(&inventory, &there.to_string_lossy()).is_ok_and(|target| !target.drives.is_empty())
    };
    let places = [dir, Path::new("/etc/systemd/system"), Path::new("/var/lib")];
    let why = if !geteuid().is_root() {
        "restarting the machine needs root: run it with sudo".to_owned()
    } else if dir.to_str().is_none() {
        format!("the store {} has a name that is no UTF-8: choose another one", dir.display())
    } else if let Some(lost) = places.into_iter().find(|dir| !is_kept(dir)) {
        format!(
            "no drive is known below {}, so what is written there may be gone after a restart: choose another store with --store DIR, or a \
             system that keeps its changes",
            lost.display()
        )
    } else if let Err(e) = boot_series::require_private_dir() {
        e.to_string()
    } else if boot_series::is_armed() {
        format!("a series of restarts is under way already: end it with `{STOP_IT}`")
    } else if host.is_empty() {
        "this machine has no name that could be typed: hostnamectl hostname NAME".to_owned()
    } else {
        return Ok(experiments::has_systemd()?);
    };
    Err(Usage(why).into())
}

fn stop(plan: bool, output: &Output) -> anyhow::Result<ExitCode> {
    if plan {
        return Err(Usage("--stop has no plan: leave out --plan to end the restarts".to_owned()).into());
    }
    if !boot_series::is_armed() {
        output.note("No restarts are under way.");
        return Ok(ExitCode::SUCCESS);
    }
    if !geteuid().is_root() {
        return Err(Usage("ending the restarts needs root: run it with sudo".to_owned()).into());
    }
    let series = Series::read().ok().flatten();
    boot_series::stop_restarts(&System::default()).map_err(|e| {
        anyhow!("{e}. Once that is mended, and before the machine starts again, repeat {STOP_IT}")
    })?;
    let recorded =
        series.map_or_else(String::new, |s| format!(" {} of {} boots are recorded.", s.recorded, s.times));
    output.note(&format!("The machine is not restarted any more.{recorded}"));
    Ok(ExitCode::SUCCESS)
}

/// Records a boot, as the unit of a series after each start. After any error the machine is not restarted again.
pub(super) fn go_on(output: &Output) -> anyhow::Result<ExitCode> {
    let runner = System::default();
    // Systemd asks it to end where a person does, and before any other restart.
    let signals = Signals::listen()?;
    let done = next(output, &runner, &signals).and_then(|next| match next {
        None => Ok(()),
        Some((series, Next::Restart)) => {
            output.note(&format!("The machine is restarted in {PAUSE} s. To end this: {STOP_IT}"));
            let since = Instant::now();
            while since.elapsed() < Duration::from_secs(PAUSE) && signals.code().is_none() {
                thread::sleep(POLL);
            }
            // The series may have been stopped meanwhile.
            match signals.code().is_none() && series.is_unchanged() {
                true => Ok(boot_series::restart(&runner)?),
                false => Ok(()),
            }
        }
        Some((_, Next::End(why))) => {
            output.note(&format!("The machine is not restarted any more: {why}."));
            Ok(boot_series::disarm(&runner)?)
        }
    });
    if done.is_err() {
        boot_series::disarm(&runner)?;
    }
    done.map(|()| ExitCode::SUCCESS)
}

/// Records this boot; none if that was tried already, or if the series is ended meanwhile.
fn next(output: &Output, runner: &System, signals: &Signals) -> anyhow::Result<Option<(Series, Next)>> {
    let mut series = Series::read()?.ok_or_else(|| anyhow!("there is no series of restarts"))?;
    let boot_id = run::host(&Sysroot::live()).boot_id.ok_or(experiments::BootError::NoBootId)?;
    if !series.begin_boot(&boot_id) {
        return Ok(None);
    }
    if !series.begun {
        return Err(anyhow!("the series of restarts was interrupted at its beginning"));
    }
    series.save()?;
    boot_series::wait_for_startup(runner)?;
    if signals.code().is_some() {
        return Ok(None);
    }
    let found = series.check_store();
    let is_there = found.is_ok();
    if let Err(e) = found.map_err(anyhow::Error::from).and_then(|()| record(&series, output)) {
        output.error(&e, None);
    }
    let store = Store::at(series.store.clone().into());
    let is_recorded = is_there && experiments::is_recorded(&store, BOOT.name, &boot_id);
    if !series.is_unchanged() {
        return Ok(None);
    }
    let next = series.finish_boot(is_recorded);
    series.save()?;
    Ok(Some((series, next)))
}

fn record(series: &Series, output: &Output) -> anyhow::Result<()> {
    let typed = ["drivebench", "--store", series.store.as_str(), "run", "boot", "--now"];
    let args = Args::try_parse_from(typed)?;
    let Command::Run(now) = &args.command else { return Err(anyhow!("it is no run")) };
    super::run::run(now, &args.store, output).map(drop)
}
