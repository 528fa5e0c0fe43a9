//! `run share` on this machine: a server and a client on networks of their own, which need root.

#[path = "support/cli.rs"]
mod cli;

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use cli::{Cli, names, words};
use drivebench::findings::{Findings, Scope};
use rustix::process::geteuid;

const SMALL: [&str; 10] =
    ["run", "share", "--wait", "--rate", "10Mb", "--size", "2MiB", "--files", "20", "--runs"];

/// Processes whose command line has all of these words.
fn running(parts: &[&str]) -> usize {
    let all = fs::read_dir("/proc").expect("lists").flatten();
    let lines = all.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| parts.iter().all(|part| line.contains(part))).count()
}

fn speed(found: &Findings, load: &str, scope: Scope) -> f64 {
    let is = |m: &&drivebench::findings::Metric| {
        m.scope == scope && m.load.as_ref().is_some_and(|l| l.name.starts_with(load))
    };
    let metric = found.estimates.iter().find(is);
    metric.unwrap_or_else(|| panic!("no {load:?}, {scope:?} in {found:#?}")).estimate.value
}

#[test]
fn a_slow_link_limits_and_nothing_is_left() {
    let (cli, dir) = (Cli::new(), Cli::directory());
    let path = dir.path().to_str().expect("UTF-8");
    let done = cli.run(SMALL.into_iter().chain(["2", "--format", "json", path]));
    if !geteuid().is_root() {
        assert!(done.code == 2 && words(&done.err).contains("needs root"), "{}", done.err);
        return;
    }
    assert_eq!(done.code, 0, "{}", done.err);
    let found: Findings = serde_json::from_str(&done.out).expect("findings");
    for load in ["put 2.10", "get 2.10", "put 524", "get 524"] {
        let client = speed(&found, load, Scope::Client);
        assert!(client < speed(&found, load, Scope::WithoutLink) / 2.0, "{found:#?}");
        assert!(client < 1.3e6, "ten megabits are 1.25 MB/s: {client}");
        let verdict = found.verdicts.iter().find(|v| v.starts_with(load)).expect("a verdict");
        assert!(verdict.contains("The link limits"), "{verdict}");
    }
    assert!(found.context[0].contains("SMB3") && found.context[0].contains("Samba 4"), "{:?}", found.context);
    assert_eq!(names(dir.path()), [""; 0]);
    assert_eq!(running(&["smbd", "/conf"]), 0);
}

#[test]
fn a_killed_run_leaves_no_server() {
    if !geteuid().is_root() {
        return;
    }
    let (cli, dir) = (Cli::new(), Cli::directory());
    let path = dir.path().to_str().expect("UTF-8");
    let mut run = cli.command(SMALL.into_iter().chain(["3", path])).spawn().expect("starts");
    let since = Instant::now();
    let is_big = |path: &Path| path.metadata().is_ok_and(|about| about.len() > 0);
    let has_files = || {
        let dirs = fs::read_dir(dir.path()).expect("lists").flatten();
        dirs.into_iter().any(|entry| is_big(&entry.path().join("0")))
    };
    while !has_files() {
        assert!(since.elapsed() < Duration::from_secs(120), "nothing was put");
        thread::sleep(Duration::from_millis(20));
    }
    run.kill().and_then(|()| run.wait()).expect("ends");
    let since = Instant::now();
    while running(&["smbd", "/conf"]) > 0 {
        assert!(since.elapsed() < Duration::from_secs(30), "the server goes on");
        thread::sleep(Duration::from_millis(20));
    }
    let done = cli.run(["cleanup"]);
    assert!(done.code == 0 && words(&done.out).contains("Removed"), "{}{}", done.out, done.err);
    assert_eq!(names(dir.path()), [""; 0]);
}
