//! Many processes on one store: no run is lost, and every error is true.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use crate::support::cli::{Cli, names, words};
use crate::support::faultfs::FaultFs;
use rustix::process::Signal;

/// A short run on a directory.
fn short(place: &str) -> [&str; 8] {
    ["run", "baseline", "--rw", "write", "--max-bytes", "1M", "--bs=64k", place]
}

#[test]
fn a_run_in_progress_is_not_removed_and_copies_are_no_runs_of_their_own() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    let place = fs.path().to_str().expect("UTF-8");
    let mut running = cli.start(["run", "baseline", "--rw", "write", "--max-time", "10m", place]);
    running.wait_for("progress");
    let name = cli.run_name();
    let refused = cli.run(["results", "rm", &name]);
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(words(&refused.err).contains(&format!("{name} is in use")), "{}", refused.err);
    running.signal(Signal::INT);
    assert_eq!(running.finish(), Some(130));
    assert!(cli.record().lines().last().is_some_and(|line| line.contains("interrupted")));

    let [own, copy] = [name.as_str(), "rcopy"].map(|run| cli.store().join(format!("{run}.jsonl")));
    fs::copy(&own, &copy).expect("copies");
    let list = cli.run(["results"]).out;
    assert!(list.contains(&format!("copy of {name}")) && list.matches("copy of").count() == 1, "{list}");
    // The name of the file counts.
    let shown = cli.run(["show", "rcopy", "--format", "json"]);
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(shown.out.contains("\"rcopy\"") && !shown.out.contains(&format!("\"{name}\"")), "{}", shown.out);
    let mut resumed = cli.start(["run", "baseline", "--resume", "rcopy"]);
    resumed.wait_for("progress");
    let refused = cli.run(["results", "rm", "rcopy"]);
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert_eq!(cli.run(["results", "rm", &name]).code, 0, "the other is not the one that goes on");
    resumed.signal(Signal::INT);
    assert_eq!(resumed.finish(), Some(130));
    let list = cli.run(["results"]).out;
    assert!(list.contains("rcopy") && !list.contains("copy of"), "now it is the only one: {list}");
    assert_eq!(cli.run(["results", "rm", "rcopy"]).code, 0);
    assert_eq!(names(fs.path()), [""; 0]);
}

#[test]
fn a_file_that_several_import_at_once_is_stored_once() {
    let cli = Cli::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/import/fio-3.33-several.json");
    let codes: Vec<i32> = thread::scope(|scope| {
        let imports: Vec<_> = (0..6).map(|_| scope.spawn(|| cli.run(["import", file]).code)).collect();
        imports.into_iter().map(|import| import.join().expect("ends")).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    cli.run_name();
}

/// What a process may say while others work in the same store: each is true when it is said.
fn is_true(error: &str) -> bool {
    let known =
        ["there is no run", "is in use: another drivebench", "is being measured by another drivebench"];
    known.iter().any(|what| error.contains(what))
}

/// Twenty processes that run, list, show, export, report and remove; `DRIVEBENCH_TEST_SECONDS` makes it longer.
#[test]
fn twenty_processes_in_one_store_make_no_untrue_error() {
    let seconds = std::env::var("DRIVEBENCH_TEST_SECONDS").ok().and_then(|s| s.parse().ok());
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let (cli, memory) = (Cli::new(), tempfile::tempdir_in("/dev/shm").expect("a directory in memory"));
    // Each writer has a filesystem of its own, so that most runs are not refused.
    let places: Vec<FaultFs> = (0..4).map(|_| FaultFs::mount()).collect();
    let reports = memory.path();
    let counted = thread::scope(|scope| {
        let worker = |n: usize| {
            let (cli, places) = (&cli, &places);
            move || {
                let (mut calls, mut refused, mut wrong) = (0, 0, Vec::new());
                for round in 0.. {
                    let listed = cli.run(["results"]).out;
                    let runs: Vec<&str> = listed
                        .lines()
                        .filter_map(|line| line.split(' ').next())
                        .filter(|word| word.starts_with('r') && *word != "run")
                        .collect();
                    let run = runs.get(round % runs.len().max(1)).copied().unwrap_or("rnone");
                    let out = reports.join(format!("{n}-{round}"));
                    let out = out.to_str().expect("UTF-8");
                    let place = places[n % places.len()].path().to_str().expect("UTF-8");
                    let done = match n % 5 {
                        0 | 1 => cli.run(short(place)),
                        2 => cli.run(["show", run]),
                        3 => cli.run(["report", "--out", out, run]),
                        _ if round % 3 == 0 => cli.run(["results", "rm", run]),
                        _ => cli.run(["results", "export", "--format", "csv"]),
                    };
                    calls += 2;
                    let error = words(&done.err);
                    let fine = done.code == 0 || is_true(&error);
                    refused += u32::from(done.code != 0);
                    if !fine {
                        wrong.push(format!("process {n}, exit code {}: {error}", done.code));
                    }
                    if round >= 3 && Instant::now() >= until {
                        break;
                    }
                }
                (calls, refused, wrong)
            }
        };
        let threads: Vec<_> = (0..20).map(|n| scope.spawn(worker(n))).collect();
        threads.into_iter().map(|thread| thread.join().expect("ends")).collect::<Vec<_>>()
    });
    let wrong: Vec<&String> = counted.iter().flat_map(|(.., wrong)| wrong).collect();
    let (calls, refused) = counted.iter().fold((0, 0), |(a, b), (c, d, _)| (a + c, b + d));
    assert!(wrong.is_empty(), "{calls} calls, {refused} refused: {wrong:#?}");
    eprintln!("{calls} calls, {refused} refused");
    // Each run that is left is whole.
    let left = cli.run(["results", "export", "--format", "csv"]);
    assert_eq!(left.code, 0, "{}", left.err);
    let odd = names(&cli.store()).into_iter().filter(|name| {
        let known =
            name.ends_with(".jsonl.gz") || name.ends_with(".jsonl") || name == "index" || name == "journals";
        !known
    });
    assert_eq!(odd.collect::<Vec<_>>(), [""; 0], "no leftovers");
}
