//! `drivebench run boot --times` and `--stop`: a systemd unit records each boot and restarts the machine, until the number is reached.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::anyhow;
use clap::Parser;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

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
        unit_files::{self, asked, remove_one, succeeded},
    },
    inventory::Inventory,
    record::{AtomicFile, PRIVATE, Store, caller, make_dir},
    run::Place,
    sysroot::Sysroot,
    target::Target,
    tools::{Runner, System, systemctl},
    units::count,
};

/// The state of a series between boots, which is not in the store.
const DIR: &str = "/var/lib/drivebench";
const STATE: &str = "/var/lib/drivebench/boot-series.json";
/// A copy: the program that was run may be changed or moved meanwhile, by others than root, too.
const PROGRAM: &str = "/var/lib/drivebench/drivebench";
const UNIT: &str = "/etc/systemd/system/drivebench-boot.service";
const NAME: &str = "drivebench-boot.service";
/// The command of the unit.
pub(super) const COMMAND: &str = "boot-series";
/// Boots in a row that can't be recorded until a series ends.
const FAILURES: u32 = 2;
/// A person needs time to end a series, s.
const PAUSE: u64 = 30;
/// The command that ends a series.
const STOP_IT: &str = "sudo drivebench run boot --stop";
/// How often a signal is looked for.
const POLL: Duration = Duration::from_millis(200);

/// The progress of a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Series {
    /// The directory of the store, and where that is.
    store: String,
    place: Option<Place>,
    /// Boots that are to be recorded, and that were.
    times: u32,
    recorded: u32,
    /// Boots in a row that could not be recorded.
    failed: u32,
    /// The boot in which it was last active: it does nothing twice in one.
    boot_id: String,
    /// All is in place, and the first restart was asked for.
    begun: bool,
}

impl Series {
    /// A series of `times` boots; the next boot is the first.
    fn new(store: &str, times: u32, boot_id: &str) -> Self {
        let place = Place::of(Path::new(store));
        let (store, boot_id) = (store.to_owned(), boot_id.to_owned());
        Self { store, place, times, recorded: 0, failed: 0, boot_id, begun: false }
    }

    /// The first restart, unless a person ended it meanwhile. It is noted afterwards: what is interrupted before restarts nothing later.
    fn start(&mut self, runner: &dyn Runner) -> io::Result<()> {
        if !self.is_unchanged() {
            return Err(io::Error::other("the series was ended meanwhile"));
        }
        restart(runner)?;
        self.begun = true;
        self.save().map_err(|e| io::Error::new(e.kind(), format!("the machine restarts, but {e}")))
    }

    /// Refuses a store that is not where it was: its drive may not be mounted yet, and who may write to a directory above it could lead root elsewhere.
    fn check_store(&self) -> io::Result<()> {
        let store = Path::new(&self.store);
        let elsewhere = || io::Error::other(format!("the store is no longer at {}", self.store));
        if store.canonicalize().map_err(|_| elsewhere())? != store {
            return Err(elsewhere());
        }
        self.place.as_ref().map_or(Ok(()), |place| place.check(&store.join("run")))
    }

    /// Whether the saved series is unchanged: the user may have ended it.
    fn is_unchanged(&self) -> bool {
        Self::read().is_ok_and(|saved| saved.as_ref() == Some(self))
    }

    /// The saved series; `None` without one.
    fn read() -> io::Result<Option<Self>> {
        match fs::read(STATE) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            read => serde_json::from_slice(&read?)
                .map(Some)
                .map_err(|e| io::Error::other(format!("{STATE} is damaged: {e}"))),
        }
    }

    /// Saved, also over a power cut, before anything that depends on it is done.
    fn save(&self) -> io::Result<()> {
        AtomicFile::write(STATE.as_ref(), PRIVATE, &serde_json::to_vec(self)?)
    }

    /// Whether this boot is one that the series has not seen. It counts as failed until it is recorded: a machine that dies meanwhile
    /// does not restart for ever.
    fn begin_boot(&mut self, boot_id: &str) -> bool {
        let is_new = self.boot_id != boot_id;
        if is_new {
            boot_id.clone_into(&mut self.boot_id);
            self.failed += 1;
        }
        is_new
    }

    /// After a boot was recorded, or could not be: why the series ends, if it does.
    fn finish_boot(&mut self, was_recorded: bool) -> Option<String> {
        if was_recorded {
            (self.recorded, self.failed) = (self.recorded + 1, 0);
        }
        let so_far = format!("{} of {} recorded", self.recorded, count(u64::from(self.times), "boot"));
        match (self.recorded >= self.times, self.failed >= FAILURES) {
            (true, _) => Some(so_far),
            (false, true) => Some(format!("{so_far}; the last {FAILURES} could not be recorded")),
            (false, false) => None,
        }
    }

    /// The text that the user agrees to.
    fn describe(&self, host: &str) -> String {
        format!(
            "{host} is restarted {}. PROGRAMS END EACH TIME; what they have not saved is lost.\n\
             Each boot is recorded, and {PAUSE} s later the machine restarts.\n\
             The series ends after {}, after {FAILURES} in a row that could not be recorded, or within {PAUSE} s of a boot with\n  \
             sudo drivebench run boot --stop\n\
             At the end these files are removed:\n  \
             {UNIT}\n{}  \
             {PROGRAM}, a copy of this program\n  \
             {STATE}\n\
             Records go to {}. To compare media, use the same --store for all, on another drive.\n",
            if self.times == 1 { "once".to_owned() } else { format!("{} times", self.times) },
            count(u64::from(self.times), "recorded boot"),
            unit().lines().map(|line| format!("    {line}\n")).collect::<String>(),
            self.store
        )
    }

    /// Installs the unit: from here on the next boot is recorded.
    fn arm(&self, runner: &dyn Runner) -> io::Result<()> {
        make_dir(Path::new(DIR))?;
        self.save()?;
        // The running program; its path may hold another one by now.
        let program = fs::read("/proc/self/exe")?;
        AtomicFile::write(PROGRAM.as_ref(), 0o755, &program)?;
        AtomicFile::write(UNIT.as_ref(), 0o644, unit().as_bytes())?;
        asked(&systemctl::daemon_reload(), runner)?;
        asked(&systemctl::enable(NAME), runner)
    }
}

/// Refuses a directory for the program that others may change: what is in it runs as root.
fn require_private_dir() -> io::Result<()> {
    match Path::new(DIR).symlink_metadata() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        about => match about.map(|about| about.is_dir() && about.uid() == 0 && about.mode() & 0o022 == 0)? {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "{DIR} is not a directory that only root may change: move it away"
            ))),
        },
    }
}

/// Whether anything of a series is there.
fn is_armed() -> bool {
    unit_files::is_any(&[UNIT, STATE])
}

/// Ends a series that may be recording a boot now, or waiting before a restart.
fn stop_restarts(runner: &dyn Runner) -> io::Result<()> {
    // Without its state it restarts nothing, however long its end takes. What it saves until then is removed afterwards.
    let state = remove_one(STATE);
    // It may not run.
    let _ = asked(&systemctl::stop(NAME), runner);
    let what = match state {
        Ok(()) => "the restart is cancelled, but some files remain".to_owned(),
        Err(_) => format!("the machine may be restarted in {PAUSE} s"),
    };
    disarm(runner).map_err(|e| io::Error::other(format!("{what}: {e}")))
}

/// Removes all of a series: after that no start of the machine is followed by a restart.
fn disarm(runner: &dyn Runner) -> io::Result<()> {
    // Without its state the unit does nothing but remove itself.
    let state = remove_one(STATE);
    let unit = unit_files::remove(NAME, &[UNIT, PROGRAM], runner);
    // Others may have files in it.
    let _ = fs::remove_dir(DIR);
    state.and(unit)
}

/// Ends all programs, and restarts the machine.
fn restart(runner: &dyn Runner) -> io::Result<()> {
    let order = systemctl::restart();
    let output = runner.ask(&order).map_err(io::Error::other)?;
    // A signal ended it: systemd ends all programs, including the one that asked for the restart.
    if output.code.is_none() { Ok(()) } else { succeeded(&order, &output) }
}

/// The text of the unit. It starts after all others, so it delays nothing, and systemd does not wait for its end.
fn unit() -> String {
    // Records belong to the user who called sudo, as always.
    let owner =
        caller().map(|(uid, gid)| format!("Environment=SUDO_UID={uid} SUDO_GID={gid}\n")).unwrap_or_default();
    format!(
        "[Unit]\n\
         Description=drivebench records this boot and restarts the machine (stop it with: sudo drivebench run boot --stop)\n\
         After=multi-user.target graphical.target\n\n\
         [Service]\n\
         Type=simple\n\
         {owner}ExecStart={PROGRAM} {COMMAND}\n\n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}

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
    let boot_id = experiments::boot_id(&root)?;
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
    let left = match disarm(&runner) {
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
        format!("the store {} has a name that is not UTF-8: choose another one with --store", dir.display())
    } else if let Some(lost) = places.into_iter().find(|dir| !is_kept(dir)) {
        format!(
            "no drive is known below {}, so what is written there may be gone after a restart: choose another store with --store DIR, or a \
             system that keeps its changes",
            lost.display()
        )
    } else if let Err(e) = require_private_dir() {
        e.to_string()
    } else if is_armed() {
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
    if !is_armed() {
        output.note("No restarts are under way.");
        return Ok(ExitCode::SUCCESS);
    }
    if !geteuid().is_root() {
        return Err(Usage("ending the restarts needs root: run it with sudo".to_owned()).into());
    }
    let series = Series::read().ok().flatten();
    stop_restarts(&System::default()).map_err(|e| {
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
        Some((series, None)) => {
            output.note(&format!("The machine is restarted in {PAUSE} s. To end this: {STOP_IT}"));
            let since = Instant::now();
            while since.elapsed() < Duration::from_secs(PAUSE) && signals.code().is_none() {
                thread::sleep(POLL);
            }
            // The series may have been stopped meanwhile.
            match signals.code().is_none() && series.is_unchanged() {
                true => Ok(restart(&runner)?),
                false => Ok(()),
            }
        }
        Some((_, Some(why))) => {
            output.note(&format!("The machine is not restarted any more: {why}."));
            Ok(disarm(&runner)?)
        }
    });
    if done.is_err() {
        disarm(&runner)?;
    }
    done.map(|()| ExitCode::SUCCESS)
}

/// Records this boot, and says why the series ends, if it does; none if that was tried already, or if the series is ended meanwhile.
fn next(
    output: &Output,
    runner: &System,
    signals: &Signals,
) -> anyhow::Result<Option<(Series, Option<String>)>> {
    let mut series = Series::read()?.ok_or_else(|| anyhow!("there is no series of restarts"))?;
    let boot_id = experiments::boot_id(&Sysroot::live())?;
    if !series.begin_boot(&boot_id) {
        return Ok(None);
    }
    if !series.begun {
        return Err(anyhow!("the series of restarts was interrupted at its beginning"));
    }
    series.save()?;
    // Its exit code says whether units failed, which is no reason not to record a boot.
    runner.ask(&systemctl::wait_for_start())?;
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
    let Command::Run(now) = &args.command else { return Err(anyhow!("it is not a `run` command")) };
    super::run::run(now, &args.store, output).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boots of a series, each of which is recorded or not: how many there are, and why it ends.
    fn boots(times: u32, recorded: &[bool]) -> (usize, Option<String>) {
        let mut series = Series::new("/srv/runs", times, "0");
        let mut ends = None;
        let mut all = 0;
        for (nth, recorded) in recorded.iter().enumerate() {
            if ends.is_some() {
                break;
            }
            assert!(series.begin_boot(&format!("{}", nth + 1)));
            assert!(!series.begin_boot(&format!("{}", nth + 1)), "the same boot");
            ends = series.finish_boot(*recorded);
            all += 1;
        }
        (all, ends)
    }

    #[test]
    fn a_series_ends_with_enough_boots_or_after_two_failures_in_a_row() {
        let end = |why: &str| Some(why.to_owned());
        assert_eq!(boots(3, &[true; 9]), (3, end("3 of 3 boots recorded")));
        assert_eq!(boots(3, &[true, false, true, true]), (4, end("3 of 3 boots recorded")));
        let failed = "1 of 3 boots recorded; the last 2 could not be recorded";
        assert_eq!(boots(3, &[false, true, false, false, true]), (4, end(failed)));
        // A machine that dies before it is recorded has failed, too.
        let mut series = Series::new("/srv/runs", 5, "0");
        assert!(series.begin_boot("1") && series.begin_boot("2"));
        assert!(series.finish_boot(false).is_some());
    }

    #[test]
    fn the_next_boot_is_new_and_this_one_is_not() {
        let mut series = Series::new("/srv/runs", 1, "now");
        assert!(!series.begin_boot("now") && series.begin_boot("next"));
        let json = serde_json::to_vec(&series).expect("is written");
        assert_eq!(serde_json::from_slice::<Series>(&json).expect("is read"), series);
    }

    #[test]
    fn what_a_person_agrees_to() {
        insta::assert_snapshot!(Series::new("/srv/runs", 5, "0").describe("pi4"));
    }
}
