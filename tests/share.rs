//! `run share` on this machine: a server and a client on networks of their own, which need root.

#[path = "support/cli.rs"]
mod cli;

use std::{
    fs,
    path::Path,
    process::Child,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use cli::{Cli, names, words};
use drivebench::findings::{Findings, Scope};
use rustix::process::geteuid;

const SMALL: [&str; 10] =
    ["run", "share", "--wait", "--rate", "10Mb", "--size", "2MiB", "--files", "20", "--runs"];

/// Servers are found by their command lines: one test has some at a time.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

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

/// Without root nothing is shared, and that is said; true if so.
fn is_refused_without_root(cli: &Cli, path: &str) -> bool {
    if geteuid().is_root() {
        return false;
    }
    let done = cli.run(SMALL.into_iter().chain(["1", path]));
    assert!(done.code == 2 && words(&done.err).contains("needs root"), "{}", done.err);
    true
}

#[test]
fn a_slow_link_limits_and_nothing_is_left() {
    let _turn = turn();
    let (cli, dir) = (Cli::new(), Cli::directory());
    let path = dir.path().to_str().expect("UTF-8");
    if is_refused_without_root(&cli, path) {
        return;
    }
    let done = cli.run(SMALL.into_iter().chain(["3", "--format", "json", path]));
    assert_eq!(done.code, 0, "{}", done.err);
    let found: Findings = serde_json::from_str(&done.out).expect("findings");
    for load in ["put 2.10", "get 2.10", "put 524", "get 524"] {
        let client = speed(&found, load, Scope::Client);
        assert!(client < speed(&found, load, Scope::WithoutLink) / 2.0, "{found:#?}");
        assert!(client < 1.3e6, "ten megabits are 1.25 MB/s: {client}");
        let verdict = found.verdicts.iter().find(|v| v.starts_with(load)).expect("a verdict");
        assert!(verdict.contains("The link limits"), "{verdict}");
    }
    let context = found.context.join(" ");
    assert!(context.contains("SMB3") && context.contains("Samba 4"), "{context}");
    assert_eq!(names(dir.path()), [""; 0]);
    assert_eq!(running(&["smbd", "/conf"]), 0);
}

#[test]
fn what_clients_insist_on_is_what_the_server_says() {
    let _turn = turn();
    let (cli, above) = (Cli::new(), Cli::directory());
    // Of a name that would be a command, or a setting, if it were one.
    let dir = above.path().join("a b;c%S \"[drive]\npath = /");
    fs::create_dir(&dir).expect("makes");
    // Another filesystem.
    let client = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
    let [path, files] =
        [&dir, &client.path().to_path_buf()].map(|dir| dir.to_str().expect("UTF-8").to_owned());
    if is_refused_without_root(&cli, &path) {
        return;
    }
    let args = ["1", "--client-protection", "encrypt", "--client-dir", &files, "--format", "json"];
    let done = cli.run(SMALL.into_iter().chain(args).chain([path.as_str()]));
    assert_eq!(done.code, 0, "{}", done.err);
    let found: Findings = serde_json::from_str(&done.out).expect("findings");
    let context = found.context.join(" ");
    assert!(context.contains("encryption AES") && context.contains("full"), "{context}");
    for scope in [Scope::WithoutProtection, Scope::WithoutClientDrive, Scope::WithoutAll] {
        assert!(speed(&found, "get 2.10", scope) > 0.0);
    }
    // One run has no interval.
    assert!(found.verdicts.iter().all(|v| v.contains("can't be told")), "{:#?}", found.verdicts);
    assert_eq!((names(&dir), names(client.path())), (vec![], vec![]));
}

#[test]
fn a_client_directory_that_is_missing_or_on_the_shared_drive_is_refused_before_anything_is_changed() {
    let (cli, dir) = (Cli::new(), Cli::directory());
    let path = dir.path().to_str().expect("UTF-8");
    let refused = |client: &str| {
        let done = cli.run(SMALL.into_iter().chain(["1", "--client-dir", client, path]));
        assert_eq!((done.code, names(dir.path())), (2, vec![]), "{}", done.err);
        words(&done.err)
    };
    assert!(refused("/nowhere").contains("/nowhere"));
    let same = refused(path);
    assert!(
        same.contains(if geteuid().is_root() { "filesystem that is shared" } else { "needs root" }),
        "{same}"
    );
}

/// Waits until a client has put the large file.
fn until_something_is_put(run: &mut Child, dir: &Path) {
    let since = Instant::now();
    let is_big = |path: &Path| path.metadata().is_ok_and(|about| about.len() > 0);
    let has_files = || {
        let dirs = fs::read_dir(dir).expect("lists").flatten();
        dirs.into_iter().any(|entry| is_big(&entry.path().join("0")))
    };
    while !has_files() {
        assert!(run.try_wait().expect("is ours").is_none(), "it has ended");
        assert!(since.elapsed() < Duration::from_secs(120), "nothing was put");
        thread::sleep(Duration::from_millis(20));
    }
}

fn until_no_server_is_left() {
    let since = Instant::now();
    while running(&["smbd", "/conf"]) > 0 {
        assert!(since.elapsed() < Duration::from_secs(30), "the server goes on");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let _turn = turn();
    let (cli, dir) = (Cli::new(), Cli::directory());
    let path = dir.path().to_str().expect("UTF-8");
    if is_refused_without_root(&cli, path) {
        return;
    }
    let mut run = cli.command(SMALL.into_iter().chain(["3", path])).spawn().expect("starts");
    until_something_is_put(&mut run, dir.path());
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("is there");
    assert!(!run.wait().expect("ends").success());
    assert_eq!((names(dir.path()), running(&["smbd", "/conf"])), (vec![], 0));
}

#[test]
fn a_killed_run_leaves_no_server() {
    let _turn = turn();
    let (cli, dir) = (Cli::new(), Cli::directory());
    let path = dir.path().to_str().expect("UTF-8");
    if is_refused_without_root(&cli, path) {
        return;
    }
    let mut run = cli.command(SMALL.into_iter().chain(["3", path])).spawn().expect("starts");
    until_something_is_put(&mut run, dir.path());
    run.kill().and_then(|()| run.wait()).expect("ends");
    until_no_server_is_left();
    let done = cli.run(["cleanup"]);
    assert!(done.code == 0 && words(&done.out).contains("Removed"), "{}{}", done.out, done.err);
    assert_eq!(names(dir.path()), [""; 0]);
}
