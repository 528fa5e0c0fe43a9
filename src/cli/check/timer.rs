//! `check --install` and `--remove`: a timer of systemd that checks the drives, or the line of cron where there is none.

use std::{
    env,
    io::{self, IsTerminal},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::anyhow;
use rustix::process::geteuid;

use crate::{
    cli::{errors::Usage, output::Output},
    experiments::{
        has_systemd,
        unit_files::{self, asked},
    },
    record::{AtomicFile, Store, caller, make_dir},
    tools::{Runner, System, systemctl},
    units::shell_word,
};

use super::args::Every;

const SERVICE: &str = "/etc/systemd/system/drivebench-check.service";
const TIMER: &str = "/etc/systemd/system/drivebench-check.timer";
const TIMER_NAME: &str = "drivebench-check.timer";
/// The word that consents at the terminal.
const WORD: &str = "install";

/// What the timer runs.
struct Job {
    program: PathBuf,
    /// Absolute.
    store: PathBuf,
    /// The command of `--on-change`.
    command: Option<String>,
    every: Every,
}

/// Installs the timer after consent, or prints the line of cron.
pub(super) fn install(
    every: Every,
    command: Option<&String>,
    consented: bool,
    store: &Store,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let program = env::current_exe()?.canonicalize()?;
    let store = std::path::absolute(store.dir())?;
    if command.is_some_and(|command| command.contains('\n')) {
        return Err(
            Usage("the --on-change command has several lines: put it into a script".to_owned()).into()
        );
    }
    let job = Job { program, store, command: command.cloned(), every };
    if has_systemd().is_err() {
        output.note(&format!(
            "systemd does not run here. This line in `sudo crontab -e` checks the drives {}:",
            every.word()
        ));
        output.result(&format!("{}\n", job.cron()))?;
        // Nothing was installed, whatever was consented to.
        return Ok(ExitCode::from(u8::from(consented)));
    }
    output.plan(&job.describe())?;
    job.can_be_installed()?;
    if !consented {
        if !io::stdin().is_terminal() {
            return Err(Usage("to install these files, add --yes-install".to_owned()).into());
        }
        output.ask_consent("install them", WORD)?;
    }
    let runner = System::default();
    // The unit may write to its store only, so that must exist.
    make_dir(&job.store)?;
    job.write(&runner).map_err(|e| match remove_all(&runner) {
        Ok(()) => anyhow!("the timer is not installed: {e}"),
        Err(left) => anyhow!("the timer is not installed: {e}; some of its files remain: {left}"),
    })?;
    output.note(&format!("Installed. `systemctl list-timers {TIMER_NAME}` shows when it runs next."));
    output.command("sudo drivebench check --remove", Some("undoes it"));
    Ok(ExitCode::SUCCESS)
}

/// Removes the timer.
pub(super) fn remove(output: &Output) -> anyhow::Result<ExitCode> {
    if !unit_files::is_any(&[SERVICE, TIMER]) {
        output.note("No timer is installed.");
        return Ok(ExitCode::SUCCESS);
    }
    if !geteuid().is_root() {
        return Err(Usage("removing the timer needs root: run it with sudo".to_owned()).into());
    }
    remove_all(&System::default()).map_err(|e| anyhow!("the timer is not removed completely: {e}"))?;
    output.note("The timer is removed; records are kept.");
    Ok(ExitCode::SUCCESS)
}

impl Job {
    /// Root runs the program each time, so nobody else may change it.
    fn can_be_installed(&self) -> anyhow::Result<()> {
        let path = self.program.display();
        let is_safe =
            |path: &Path| path.metadata().is_ok_and(|about| about.uid() == 0 && about.mode() & 0o022 == 0);
        let why = if !geteuid().is_root() {
            "installing a timer needs root: run it with sudo".to_owned()
        } else if !self.program.ancestors().all(is_safe) {
            format!(
                "users other than root can change {path}, which root would run: first copy the program with `sudo install {} /usr/local/bin/`",
                shell_word(&self.program)
            )
        } else if self.store.to_str().is_none() || self.program.to_str().is_none() {
            "the store and the program must have names in UTF-8".to_owned()
        } else {
            return Ok(());
        };
        Err(Usage(why).into())
    }

    fn describe(&self) -> String {
        let indented = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
        format!(
            "The drives are checked {}. Sleeping disks are not woken; only records are written, to {}.\n  \
             {SERVICE}\n{}  {TIMER}\n{}",
            self.every.word(),
            self.store.display(),
            indented(&self.service()),
            indented(&self.timer())
        )
    }

    fn words(&self) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let words = vec![text(&self.program), "--store".to_owned(), text(&self.store), "check".to_owned()];
        let command = self.command.iter().flat_map(|command| ["--on-change".to_owned(), command.clone()]);
        words.into_iter().chain(command).collect()
    }

    /// The text of the service. Exit code 1 reports an alarm and is no failure of the unit. The `--on-change` command may need a
    /// network and a mail spool.
    fn service(&self) -> String {
        let words: Vec<String> = self.words().iter().map(|word| quoted(word)).collect();
        let (wants, confined) = match self.command {
            Some(_) => ("Wants=network-online.target\nAfter=network-online.target\n", ""),
            None => {
                ("", "PrivateNetwork=yes\nProtectSystem=strict\nNoNewPrivileges=yes\nRestrictSUIDSGID=yes\n")
            }
        };
        let owner = owner().map(|owner| format!("Environment={owner}\n"));
        format!(
            "[Unit]\n\
             Description=drivebench checks the drives (remove it with: sudo drivebench check --remove)\n{wants}\n\
             [Service]\n\
             Type=oneshot\n\
             {}ExecStart={}\n\
             SuccessExitStatus=1\n\
             TimeoutStartSec=2h\n\
             Nice=10\n\
             IOSchedulingClass=idle\n\
             {confined}ProtectHome=read-only\n\
             ReadWritePaths={} -/run/lock\n\
             PrivateTmp=yes\n\
             ProtectKernelModules=yes\n\
             ProtectControlGroups=yes\n\
             MemoryDenyWriteExecute=yes\n",
            owner.unwrap_or_default(),
            words.join(" ").replace('$', "$$"), // the other lines have no variables
            quoted(&self.store.to_string_lossy()),
        )
    }

    fn timer(&self) -> String {
        format!(
            "[Unit]\n\
             Description=drivebench checks the drives {0}\n\n\
             [Timer]\n\
             OnCalendar={0}\n\
             RandomizedDelaySec=4h\n\
             Persistent=yes\n\n\
             [Install]\n\
             WantedBy=timers.target\n",
            self.every.word()
        )
    }

    /// `%` ends a command in a crontab.
    fn cron(&self) -> String {
        let when = match self.every {
            Every::Daily => "17 3 * * *",
            Every::Weekly => "17 3 * * 0",
        };
        let words: Vec<String> = self.words().iter().map(shell_word).collect();
        let owner = owner().map(|owner| owner + " ").unwrap_or_default();
        format!("{when} {owner}nice ionice -c 3 {}", words.join(" ").replace('%', "\\%"))
    }

    fn write(&self, runner: &dyn Runner) -> io::Result<()> {
        for (path, text) in [(SERVICE, self.service()), (TIMER, self.timer())] {
            AtomicFile::write(path.as_ref(), 0o644, text.as_bytes())?;
        }
        asked(&systemctl::daemon_reload(), runner)?;
        asked(&systemctl::enable(TIMER_NAME), runner)?;
        asked(&systemctl::start(TIMER_NAME), runner)
    }
}

/// Variables that give records to the user who called sudo, as a check by hand does.
fn owner() -> Option<String> {
    caller().map(|(uid, gid)| format!("SUDO_UID={uid} SUDO_GID={gid}"))
}

fn remove_all(runner: &dyn Runner) -> io::Result<()> {
    let is_there = unit_files::is_any(&[TIMER]);
    let stopped = if is_there { asked(&systemctl::stop(TIMER_NAME), runner) } else { Ok(()) };
    stopped.and(unit_files::remove(TIMER_NAME, &[TIMER, SERVICE], runner))
}

/// A quoted word of a systemd unit, with specifiers escaped.
fn quoted(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{}\"", escaped.replace('%', "%%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(command: Option<&str>) -> Job {
        Job {
            program: "/usr/bin/drivebench".into(),
            store: "/srv/my runs".into(),
            command: command.map(str::to_owned),
            every: Every::Weekly,
        }
    }

    #[test]
    fn what_a_person_agrees_to() {
        insta::assert_snapshot!(job(None).describe());
    }

    #[test]
    fn a_command_is_one_word_and_has_a_network() {
        let with = job(Some("curl -d @- 'https://a/$HOME' 100%"));
        let service = with.service();
        let line = service.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
        assert_eq!(
            line,
            r#""/usr/bin/drivebench" "--store" "/srv/my runs" "check" "--on-change" "curl -d @- 'https://a/$$HOME' 100%%""#
        );
        assert_eq!(service.lines().filter(|line| line.starts_with("PrivateNetwork")).count(), 0);
        let service = Job { store: "/srv/$HOME 5%".into(), ..job(None) }.service();
        let has = |line: &str| service.contains(line);
        assert!(has(r#""--store" "/srv/$$HOME 5%%""#) && has(r#"ReadWritePaths="/srv/$HOME 5%%" -"#));
        assert_eq!(
            with.cron(),
            r"17 3 * * 0 nice ionice -c 3 /usr/bin/drivebench --store '/srv/my runs' check --on-change 'curl -d @- '\''https://a/$HOME'\'' 100\%'"
        );
    }
}
