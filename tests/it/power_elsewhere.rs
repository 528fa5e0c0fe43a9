//! `run power` with its ledger on another machine: a program in the place of `ssh` runs the commands here.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::support::cli::{Cli, Done, names, words};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

/// A machine, its drive and another machine.
struct Machines {
    cli: Cli,
    drive: tempfile::TempDir,
    other: tempfile::TempDir,
}

const SMALL: [&str; 7] = ["run", "power", "--wait", "--size", "1MiB", "--max-bytes", "256MiB"];

impl Machines {
    /// The other machine has booted at another time.
    fn new() -> Self {
        let machines = Self {
            cli: Cli::new(),
            drive: Cli::directory(),
            other: tempfile::tempdir().expect("a directory"),
        };
        fs::create_dir(machines.other.path().join("bin")).expect("makes");
        machines
            .program("bin/cat", "case $1 in /proc/*boot_id) echo another;; *) exec /bin/cat \"$@\";; esac");
        machines.program(
            "ssh",
            "dir=${0%/ssh}; echo $$ >$dir/pid; while [ \"$1\" != -- ]; do shift; done; shift 2\n\
             echo Welcome; PATH=$dir/bin:$PATH exec sh -c \"$*\"",
        );
        machines
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.other.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("writes");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("is a program");
    }

    fn ledgers(&self) -> PathBuf {
        self.other.path().join("a b/ledgers")
    }

    fn url(&self) -> String {
        format!("ssh://pi@nas:2222{}", self.ledgers().display())
    }

    fn command<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = self.cli.command(args);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.other.path().display()));
        command
    }

    fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Done {
        let output = self.command(args).output().expect("starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Done { code: output.status.code().expect("ends"), out: text(output.stdout), err: text(output.stderr) }
    }

    /// A run that asks to cut the power, and has acknowledged a few writes; none where the drive of the build is not known.
    fn start(&self) -> Option<Child> {
        let (url, drive) = (self.url(), self.drive.path().to_str().expect("UTF-8"));
        let mut command = self.command(SMALL.into_iter().chain(["--ledger", &url, drive]));
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
        let mut said = String::new();
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        while !words(&said).contains(&format!("--ledger '{url}' --store ")) {
            match lines.next() {
                Some(line) => said.extend([&line.expect("UTF-8"), "\n"]),
                // On an overlay, all that can be tested is the refusal.
                None if words(&said).contains("its drive is not known") => {
                    assert_eq!(child.wait().expect("ends").code(), Some(2), "{said}");
                    assert!(names(self.drive.path()).is_empty() && !self.ledgers().exists());
                    return None;
                }
                None => panic!("{said}"),
            }
        }
        thread::spawn(move || lines.for_each(drop));
        let since = Instant::now();
        while self.ledger().matches("\"acknowledged\":true").count() < 5 {
            assert!(since.elapsed() < Duration::from_secs(60), "{said}");
            thread::sleep(Duration::from_millis(10));
        }
        Some(child)
    }

    /// The process group of the last ssh.
    fn ssh(&self) -> Pid {
        let pid = fs::read_to_string(self.other.path().join("pid")).expect("a pid");
        Pid::from_raw(pid.trim().parse().expect("a pid")).expect("a pid")
    }

    /// Kills a run, and returns its name once the other machine has what it was given.
    fn kill(&self, mut child: Child) -> String {
        child.kill().and_then(|()| child.wait()).expect("ends");
        while test_kill_process_group(self.ssh()).is_ok() {
            thread::sleep(Duration::from_millis(10));
        }
        self.cli.run_name()
    }

    fn ledger(&self) -> String {
        fs::read_to_string(self.ledgers().join(format!("{}.jsonl", self.cli.run_name()))).expect("a ledger")
    }

    fn nothing_is_left(&self) {
        assert_eq!((names(self.drive.path()), names(&self.ledgers())), (vec![], vec![]));
        assert_eq!(names(&self.cli.store().join("ledgers")), [""; 0]);
    }
}

#[test]
fn what_a_power_cut_leaves_is_checked_even_without_the_record() {
    for lost in [None, Some(""), Some("\0\0\0\0")] {
        let machines = Machines::new();
        let Some(child) = machines.start() else { return };
        let run = machines.kill(child);
        let own = machines.drive.path().join(format!("drivebench-power-{run}"));
        let file = machines.ledgers().join(format!("{run}.jsonl"));
        let mode = |path| fs::metadata(path).expect("is there").permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(&machines.ledgers())), (0o600, 0o700));

        let cleanup = machines.run(["cleanup"]);
        let rm = format!("ssh -p 2222 pi@nas 'rm -f '\\''{}'\\'''", file.display());
        assert!(cleanup.code == 1 && cleanup.out.contains(&rm), "{}", cleanup.out);
        // As if the machine had started again since.
        let (begun, rest) =
            machines.ledger().split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("lines");
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot id");
        let begun = begun.replacen(boot.trim(), "before", 1);
        fs::write(&file, [begun, rest].join("\n")).expect("writes");

        let record = machines.cli.store().join(format!("{run}.jsonl"));
        let (url, mut resume) = (machines.url(), vec!["run", "power", "--wait", "--resume", &run]);
        match lost {
            Some("") => fs::remove_file(&record).expect("removes"),
            Some(text) => fs::write(&record, text).expect("writes"),
            None => {}
        }
        if lost.is_some() {
            let refused = machines.run(resume.iter().copied());
            assert!(refused.code != 0 && own.exists(), "{}", refused.err);
            let other = format!("{url}/other");
            let refused = machines.run(resume.iter().copied().chain(["--ledger", &other]));
            assert!(refused.code != 0 && own.exists(), "{}", refused.err);
            resume.extend(["--ledger", &url]);
        } else {
            let refused = machines.run(resume.iter().copied().chain(["--ledger", "ssh://nas/other"]));
            let said = words(&refused.err);
            assert!(refused.code == 2 && said.contains(&format!("is in {url}")), "{said}");
        }
        let done = machines.run(resume.iter().copied());
        let said = words(&done.out);
        assert!(
            done.code == 0 && said.contains("Nothing was lost after a power cut or restart"),
            "{said} {}",
            done.err
        );
        machines.nothing_is_left();
    }
}

#[test]
fn a_lost_connection_ends_the_run_and_leaves_nothing() {
    let machines = Machines::new();
    let Some(mut child) = machines.start() else { return };
    kill_process_group(machines.ssh(), Signal::KILL).expect("ends");
    assert_eq!(child.wait().expect("ends").code(), Some(1));
    let said = machines.run(["show", &machines.cli.run_name()]).out;
    assert!(words(&said).contains("can't be written or read"), "{said}");
    machines.nothing_is_left();
}

#[test]
fn the_ledger_of_another_run_is_left_alone() {
    let machines = Machines::new();
    let Some(child) = machines.start() else { return };
    let run = machines.kill(child);
    let file = machines.ledgers().join(format!("{run}.jsonl"));
    let ledger = machines.ledger().replacen("\"at\":\"2", "\"at\":\"1", 1);
    fs::write(&file, &ledger).expect("writes");
    let refused = machines.run(["run", "power", "--wait", "--resume", &run]);
    assert!(refused.code == 1 && words(&refused.err).contains("to another run"), "{}", refused.err);
    assert_eq!(machines.ledger(), ledger);
}

#[test]
fn ctrl_c_ends_the_wait_for_another_machine_at_once() {
    let machines = Machines::new();
    let (url, drive) = (machines.url(), machines.drive.path().to_str().expect("UTF-8"));
    // When the ledger is looked for, and when it is made.
    for first in ["", "case $* in *'set -C'*) ;; *) exit 41;; esac; "] {
        let _ = fs::remove_file(machines.other.path().join("pid"));
        machines.program("ssh", &format!("{first}echo $$ >${{0%/ssh}}/pid; exec sleep 600"));
        let mut command = machines.command(SMALL.into_iter().chain(["--ledger", &url, drive]));
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
        let since = Instant::now();
        while fs::read_to_string(machines.other.path().join("pid")).map_or(true, |pid| !pid.ends_with('\n')) {
            if let Some(status) = child.try_wait().expect("is known") {
                // On an overlay, all that can be tested is the refusal.
                assert_eq!(status.code(), Some(2));
                return;
            }
            assert!(since.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(10));
        }
        kill_process(Pid::from_child(&child), Signal::INT).expect("is there");
        assert_eq!(child.wait().expect("ends").code(), Some(130));
        assert!(names(machines.drive.path()).is_empty());
        assert!(test_kill_process_group(machines.ssh()).is_err(), "ssh has ended");
    }
}

#[test]
fn what_ssh_refuses_is_said_and_nothing_is_left() {
    let machines = Machines::new();
    let (url, drive) = (machines.url(), machines.drive.path().to_str().expect("UTF-8"));
    let refused = |script: &str| {
        machines.program("ssh", script);
        let done = machines.run(SMALL.into_iter().chain(["--ledger", &url, drive]));
        assert!(names(machines.drive.path()).is_empty() && !machines.ledgers().exists());
        assert!(done.code == 1 || words(&done.err).contains("no drive is known"), "{}", done.err);
        (done.code == 1).then(|| words(&done.err))
    };
    for (script, expected) in [
        (
            "echo 'Host key verification failed.' >&2; exit 255",
            "check that `ssh -p 2222 pi@nas` asks for nothing",
        ),
        (
            "echo 'pi@nas: Permission denied (publickey).' >&2; exit 255",
            "`ssh-copy-id -p 2222 pi@nas` lets this user in",
        ),
        (
            "echo 'ssh: connect to host nas port 2222: Connection refused' >&2; exit 255",
            "Connection refused; check that",
        ),
        // It runs what it is given on this machine.
        ("while [ \"$1\" != -- ]; do shift; done; shift 2; exec sh -c \"$*\"", "it is on this machine"),
        ("echo Welcome; exit 0", "did not run the command it was given"),
    ] {
        let Some(said) = refused(script) else { return };
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn places_that_are_none_are_refused_before_anything_is_done() {
    let machines = Machines::new();
    machines.program("ssh", "touch ${0%/ssh}/called");
    let drive = machines.drive.path().to_str().expect("UTF-8");
    for url in [
        "/srv",
        "ssh://nas",
        "ssh://-oProxyCommand=reboot/a",
        "ssh://a b/c",
        "ssh://nas/a\nb",
        "ssh://nas:x/a",
    ] {
        let done = machines.run(SMALL.into_iter().chain(["--ledger", url, drive]));
        assert_eq!(done.code, 2, "{url:?}: {}", done.err);
    }
    assert!(!machines.cli.store().exists() && !machines.other.path().join("called").exists());
}
