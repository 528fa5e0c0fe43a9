//! A series of restarts: a systemd unit records each boot and restarts the machine, until the number is reached.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{
    record::{AtomicFile, PRIVATE, caller, make_dir},
    run::Place,
    tools::{Output, Query, Runner, systemctl},
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
pub const COMMAND: &str = "boot-series";
/// Boots in a row that can't be recorded until a series ends.
const FAILURES: u32 = 2;
/// A person needs time to end a series, s.
pub const PAUSE: u64 = 30;

/// The progress of a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// The directory of the store, and where that is.
    pub store: String,
    #[serde(default)]
    place: Option<Place>,
    /// Boots that are to be recorded, and that were.
    pub times: u32,
    pub recorded: u32,
    /// Boots in a row that could not be recorded.
    pub failed: u32,
    /// The boot in which it was last active: it does nothing twice in one.
    pub boot_id: String,
    /// All is in place, and the first restart was asked for.
    #[serde(default)]
    pub begun: bool,
}

/// The next action after a boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Restart,
    /// Why it ends.
    End(String),
}

impl Series {
    /// A series of `times` boots; the next boot is the first.
    pub fn new(store: &str, times: u32, boot_id: &str) -> Self {
        let place = Place::of(Path::new(store));
        let (store, boot_id) = (store.to_owned(), boot_id.to_owned());
        Self { store, place, times, recorded: 0, failed: 0, boot_id, begun: false }
    }

    /// The first restart, unless a person ended it meanwhile. It is noted afterwards: what is interrupted before restarts nothing later.
    pub fn start(&mut self, runner: &dyn Runner) -> io::Result<()> {
        if !self.is_unchanged() {
            return Err(io::Error::other("the series was ended meanwhile"));
        }
        restart(runner)?;
        self.begun = true;
        self.save().map_err(|e| io::Error::new(e.kind(), format!("the machine restarts, but {e}")))
    }

    /// Refuses a store that is not where it was: its drive may not be mounted yet, and who may write to a directory above it could lead root elsewhere.
    pub fn check_store(&self) -> io::Result<()> {
        let store = Path::new(&self.store);
        let elsewhere = || io::Error::other(format!("the store is no longer at {}", self.store));
        if store.canonicalize().map_err(|_| elsewhere())? != store {
            return Err(elsewhere());
        }
        self.place.as_ref().map_or(Ok(()), |place| place.check(&store.join("run")))
    }

    /// Whether the saved series is unchanged: the user may have ended it.
    pub fn is_unchanged(&self) -> bool {
        Self::read().is_ok_and(|saved| saved.as_ref() == Some(self))
    }

    /// The saved series; `None` without one.
    pub fn read() -> io::Result<Option<Self>> {
        match fs::read(STATE) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            read => serde_json::from_slice(&read?)
                .map(Some)
                .map_err(|e| io::Error::other(format!("{STATE} is damaged: {e}"))),
        }
    }

    /// Saved, also over a power cut, before anything that depends on it is done.
    pub fn save(&self) -> io::Result<()> {
        write(Path::new(STATE), PRIVATE, &serde_json::to_vec(self)?)
    }

    /// Whether this boot is one that the series has not seen. It counts as failed until it is recorded: a machine that dies meanwhile
    /// does not restart for ever.
    pub fn begin_boot(&mut self, boot_id: &str) -> bool {
        let is_new = self.boot_id != boot_id;
        if is_new {
            boot_id.clone_into(&mut self.boot_id);
            self.failed += 1;
        }
        is_new
    }

    /// After a boot was recorded, or could not be.
    pub fn finish_boot(&mut self, was_recorded: bool) -> Next {
        if was_recorded {
            (self.recorded, self.failed) = (self.recorded + 1, 0);
        }
        let so_far = format!("{} of {} recorded", self.recorded, count(u64::from(self.times), "boot"));
        match (self.recorded >= self.times, self.failed >= FAILURES) {
            (true, _) => Next::End(so_far),
            (false, true) => Next::End(format!("{so_far}; the last {FAILURES} could not be recorded")),
            (false, false) => Next::Restart,
        }
    }

    /// The text that the user agrees to.
    pub fn describe(&self, host: &str) -> String {
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
    pub fn arm(&self, runner: &dyn Runner) -> io::Result<()> {
        make_dir(Path::new(DIR))?;
        self.save()?;
        // The running program; its path may hold another one by now.
        let program = fs::read("/proc/self/exe")?;
        write(Path::new(PROGRAM), 0o755, &program)?;
        write(Path::new(UNIT), 0o644, unit().as_bytes())?;
        asked(&systemctl::daemon_reload(), runner)?;
        asked(&systemctl::enable(NAME), runner)
    }
}

/// Refuses a directory for the program that others may change: what is in it runs as root.
pub fn require_private_dir() -> io::Result<()> {
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
pub fn is_armed() -> bool {
    [UNIT, STATE].iter().any(|path| Path::new(path).symlink_metadata().is_ok())
}

/// Ends a series that may be recording a boot now, or waiting before a restart.
pub fn stop_restarts(runner: &dyn Runner) -> io::Result<()> {
    // Without its state it restarts nothing, however long its end takes. What it saves until then is removed afterwards.
    let removed = remove(STATE);
    // It may not run.
    let stopped = asked(&systemctl::stop(NAME), runner);
    disarm(runner).map_err(|e| {
        io::Error::other(match (removed, stopped) {
            (Err(_), Err(why)) => format!("the machine may be restarted in {PAUSE} s: {why}; {e}"),
            _ => format!("the restart is cancelled, but some files remain: {e}"),
        })
    })
}

/// Removes a file that may be gone already.
fn remove(path: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(io::Error::new(e.kind(), format!("{path}: {e}")))
        }
        _ => Ok(()),
    }
}

/// Removes all of a series: after that no start of the machine is followed by a restart.
pub fn disarm(runner: &dyn Runner) -> io::Result<()> {
    // Without its state the unit does nothing but remove itself.
    let mut removed = vec![remove(STATE)];
    // Its links are found by its file.
    removed.extend(Path::new(UNIT).exists().then(|| asked(&systemctl::disable(NAME), runner)));
    removed.extend([UNIT, PROGRAM].map(remove));
    let _ = asked(&systemctl::daemon_reload(), runner);
    // Others may have files in it.
    let _ = fs::remove_dir(DIR);
    removed.into_iter().collect()
}

/// Waits until systemd has started all.
pub fn wait_for_startup(runner: &dyn Runner) -> io::Result<()> {
    // Its exit code says whether units failed, which is no reason not to record a boot.
    runner.ask(&systemctl::wait_for_start()).map(drop).map_err(io::Error::other)
}

/// Ends all programs, and restarts the machine.
pub fn restart(runner: &dyn Runner) -> io::Result<()> {
    let order = systemctl::restart();
    let output = runner.ask(&order).map_err(io::Error::other)?;
    // A signal ended it: systemd ends all programs, including the one that asked for the restart.
    if output.code.is_none() { Ok(()) } else { succeeded(&order, &output) }
}

fn asked(query: &Query, runner: &dyn Runner) -> io::Result<()> {
    succeeded(query, &runner.ask(query).map_err(io::Error::other)?)
}

fn succeeded(query: &Query, output: &Output) -> io::Result<()> {
    match output.code {
        Some(0) => Ok(()),
        _ => Err(io::Error::other(format!("'{query}' failed: {}", output.complaint()))),
    }
}

fn write(path: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
    let file = AtomicFile::create(path, mode)?;
    file.file().write_all(content)?;
    file.keep()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Boots of a series, each of which is recorded or not: how many there are, and why it ends.
    fn boots(times: u32, recorded: &[bool]) -> (usize, Next) {
        let mut series = Series::new("/srv/runs", times, "0");
        let mut next = Next::Restart;
        let mut all = 0;
        for (nth, recorded) in recorded.iter().enumerate() {
            if next != Next::Restart {
                break;
            }
            assert!(series.begin_boot(&format!("{}", nth + 1)));
            assert!(!series.begin_boot(&format!("{}", nth + 1)), "the same boot");
            next = series.finish_boot(*recorded);
            all += 1;
        }
        (all, next)
    }

    #[test]
    fn a_series_ends_with_enough_boots_or_after_two_failures_in_a_row() {
        let end = |why: &str| Next::End(why.to_owned());
        assert_eq!(boots(3, &[true; 9]), (3, end("3 of 3 boots recorded")));
        assert_eq!(boots(3, &[true, false, true, true]), (4, end("3 of 3 boots recorded")));
        let failed = "1 of 3 boots recorded; the last 2 could not be recorded";
        assert_eq!(boots(3, &[false, true, false, false, true]), (4, end(failed)));
        // A machine that dies before it is recorded has failed, too.
        let mut series = Series::new("/srv/runs", 5, "0");
        assert!(series.begin_boot("1") && series.begin_boot("2"));
        assert!(matches!(series.finish_boot(false), Next::End(_)));
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
