//! What `run share` refuses before anything is changed, and many clients of a share. What it does with a server of its own is tested in
//! the lab, where a server may be installed.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use drivebench::findings::{Findings, Scope};

use crate::support::cli::{Cli, Done, names, words};

#[test]
fn a_rate_in_bytes_is_refused_before_anything_is_changed() {
    let (cli, dir) = (Cli::new(), Cli::directory());
    let path = dir.path().to_str().expect("UTF-8");
    let refused = |option: [&str; 2]| {
        let done = cli.run(["run", "share"].into_iter().chain(option).chain([path]));
        assert_eq!((done.code, names(dir.path())), (2, vec![]), "{}", done.err);
        words(&done.err)
    };
    assert!(refused(["--rate", "100MB"]).contains("bits per second"));
}

/// Machines whose `ssh` runs commands here, with the programs of a directory with the name of the host, and links the sockets that it is
/// to forward.
struct Machines {
    cli: Cli,
    home: tempfile::TempDir,
}

const SSH: &str = "while [ \"$1\" != -- ]; do case $1 in -L) l=${2%%:*}; ln -s \"${2#*:}\" \"$l\";; esac; shift; done\n\
    host=$2; shift 2; echo Welcome; PATH=${0%/ssh}/$host:$PATH sh -c \"$*\"; code=$?; rm -f \"$l\"; exit $code";

impl Machines {
    fn new() -> Self {
        let machines = Self { cli: Cli::new(), home: Cli::directory() };
        for dir in ["a", "b", "share", "tmp"] {
            fs::create_dir(machines.home.path().join(dir)).expect("makes");
        }
        machines.program("ssh", SSH);
        for name in ["a/findmnt", "b/findmnt"] {
            machines.program(name, "echo nfs4 nas:/srv rw,addr=nas");
        }
        machines
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.home.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("writes");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("is a program");
    }

    fn share(&self) -> std::path::PathBuf {
        self.home.path().join("share")
    }

    /// Has both write and read, and nothing is left.
    fn run(&self) -> Done {
        let clients = ["a", "b"].map(|host| format!("--client=ssh://pi@{host}{}", self.share().display()));
        let args = ["run", "share", "--size", "1MiB", "--runs", "2", "--format", "json"];
        let mut command = self.cli.command(args.into_iter().chain(clients.iter().map(String::as_str)));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.home.path().display()));
        command.env("TMPDIR", self.home.path().join("tmp"));
        let output = command.output().expect("starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let left = |dir: &Path| names(dir);
        assert_eq!(left(&self.share()), [""; 0]);
        assert_eq!(left(&self.home.path().join("tmp")), [""; 0]);
        Done { code: output.status.code().expect("ends"), out: text(output.stdout), err: text(output.stderr) }
    }
}

fn count(done: &Done, scope: Scope) -> usize {
    let found: Findings =
        serde_json::from_str(&done.out).unwrap_or_else(|e| panic!("{e}: {} {}", done.out, done.err));
    found.estimates.iter().filter(|metric| metric.scope == scope).count()
}

#[test]
fn clients_of_a_share_write_and_read_at_once_and_nothing_is_left() {
    let done = Machines::new().run();
    assert_eq!(done.code, 0, "{}", done.err);
    // The speeds of two clients and the ratio of both, in two directions.
    assert_eq!([Scope::Together, Scope::Sum].map(|scope| count(&done, scope)), [6, 2], "{}", done.out);
}

#[test]
fn a_client_that_fails_is_named_and_ends_the_run() {
    let machines = Machines::new();
    // Its files may have 512 bytes.
    machines.program("b/setsid", "ulimit -f 1; trap '' XFSZ; exec /usr/bin/setsid \"$@\"");
    let done = machines.run();
    assert_eq!(done.code, 1, "{}", done.err);
    assert!(words(&done.err).contains("fio moved 0 of 1048576 bytes"), "{}", done.err);
    assert_eq!(count(&done, Scope::Together), 0, "{}", done.out);
}

#[test]
fn another_version_of_fio_and_a_directory_on_no_share_are_refused() {
    for (program, script, why) in [
        (
            "b/fio",
            "case $1 in --version) echo fio-2.99;; *) exec /usr/bin/fio \"$@\";; esac",
            "it has fio-2.99, this machine fio-3",
        ),
        ("b/findmnt", "echo ext4 /dev/sda1 rw", "its directory is on a drive of its own"),
    ] {
        let machines = Machines::new();
        machines.program(program, script);
        let done = machines.run();
        assert_eq!(done.code, 1, "{}", done.err);
        let said = words(&done.err);
        assert!(said.contains("ssh://pi@b") && said.contains(why), "{said}");
        assert_eq!(count(&done, Scope::Together), 0);
    }
}
