//! `run boot --now`, with a systemctl that says what one has said.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use crate::support::cli::{Cli, Done, words};

const MANAGER: &str = include_str!("../fixtures/systemctl/manager-252.txt");

/// A directory with a `systemctl` that says this of itself.
fn systemctl(manager: &str) -> tempfile::TempDir {
    let dir = Cli::directory();
    let path = dir.path().join("systemctl");
    let script = format!("#!/bin/sh\ncat <<'E'\n{manager}E\n");
    fs::write(&path, script).expect("writes");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("may be run");
    dir
}

fn of_machine() -> String {
    MANAGER.replace("SecurityStartTimestampMonotonic=0", "SecurityStartTimestampMonotonic=2351920000")
}

fn run(cli: &Cli, bin: &Path, args: &[&str]) -> Done {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = cli.command(args);
    command.env("PATH", format!("{}:{path}", bin.display()));
    let output = command.output().expect("drivebench starts");
    Done {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn a_boot_is_recorded_and_shown_again() {
    let (cli, bin) = (Cli::new(), systemctl(&of_machine()));
    let plan = run(&cli, bin.path(), &["run", "boot", "--now", "--plan"]);
    if plan.err.contains("its drive is not known") {
        return;
    }
    assert_eq!(plan.code, 0, "{}", plan.err);
    assert!(plan.out.contains("changes: nothing") && !cli.store().exists(), "{}", plan.out);
    let done = run(&cli, bin.path(), &["run", "boot", "--now", "--wait"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let said = words(&done.out);
    assert!(said.contains(" in 39:13, from kernel start until startup finished"), "{}", done.out);
    assert!(done.err.contains("Saved as ") && done.err.contains("drivebench run boot --now"), "{}", done.err);
    let name = cli.run_name();
    assert_eq!(cli.run(["show", &name]).out, done.out);
    let csv = cli.run(["results", "export", &name]).out;
    assert!(csv.contains("boot: userspace"), "{csv}");
    assert!(cli.run(["results"]).out.contains("39:13 boot"));
    // The same boot again is no other boot.
    let again = run(&cli, bin.path(), &["run", "boot", "--now", "--wait"]);
    assert_eq!((again.code, again.out.contains("Boots of this machine")), (0, false), "{}", again.out);
}

#[test]
fn what_is_no_finished_boot_is_refused_before_anything_is_recorded() {
    let cli = Cli::new();
    let starting = of_machine()
        .replace("SystemState=running", "SystemState=starting")
        .replace("FinishTimestampMonotonic=2352714142", "FinishTimestampMonotonic=0");
    let refused = |manager: &str| {
        let bin = systemctl(manager);
        let done = run(&cli, bin.path(), &["run", "boot", "--now"]);
        assert_eq!(done.code, 2, "{}", done.err);
        words(&done.err)
    };
    let all = [&starting, MANAGER, "Version=252\n"].map(refused);
    if all[0].contains("its drive is not known") {
        return;
    }
    insta::assert_snapshot!(all.join("\n"));
    assert!(!cli.store().exists());
}

#[test]
fn which_boot_must_be_said() {
    let cli = Cli::new();
    let place = Cli::directory();
    let here = place.path().to_str().expect("UTF-8");
    for (args, said) in
        [(&["run", "boot"][..], "--now records"), (&["run", "boot", "--now", here], "leave the target out")]
    {
        let done = cli.run(args);
        assert!(done.code == 2 && words(&done.err).contains(said), "{}", done.err);
    }
}
