//! `watch-boot` of this machine, by loopback, which never stops answering.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use crate::support::cli::{Cli, words};
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn a_machine_that_does_not_restart_is_said_so_and_nothing_is_kept() {
    let cli = Cli::new();
    let done = cli.run(["watch-boot", "--for", "1s", "--http-port", "1", "127.0.0.1"]);
    assert_eq!((done.code, done.out.as_str()), (1, ""), "{}", done.err);
    let said = words(&done.err);
    for part in ["127.0.0.1 answers. Restart it now.", "127.0.0.1 was not seen to restart within 1"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(cli.run(["results"]).err.contains("No results"));
}

#[test]
fn an_interrupt_ends_it() {
    let cli = Cli::new();
    let mut command = cli.command(["watch-boot", "--http-port", "1", "127.0.0.1"]);
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map(|l| l.expect("reads"));
    assert!(lines.any(|line| line.contains("Restart it now")));
    let pid = Pid::from_raw(child.id() as i32).expect("a process");
    kill_process(pid, Signal::INT).expect("is there");
    assert_eq!(child.wait().expect("ends").code(), Some(130));
}

#[test]
fn bad_input_is_refused() {
    let cli = Cli::new();
    for args in [
        &["watch-boot"][..],
        &["watch-boot", "--for", "0", "127.0.0.1"],
        &["watch-boot", "--services", "ftp", "127.0.0.1"],
        &["watch-boot", "--ssh-port", "70000", "127.0.0.1"],
    ] {
        let done = cli.run(args);
        assert!(done.code == 2 && done.err.starts_with("error: "), "{args:?} {}", done.err);
    }
}
