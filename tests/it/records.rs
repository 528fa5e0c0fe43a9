//! Records that were written once are listed, shown, compared and resumed with the same numbers. Words and labels may
//! change.

use std::{fs, io::Read, path::Path};

use crate::support::cli;
use crate::support::cli::{Cli, Done};
use rustix::process::Signal;
use serde_json::Value;

const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/records");

/// In the order of their dates.
const RUNS: [&str; 16] = [
    "rcache",
    "rcliff",
    "rcut",
    "rfailed",
    "rdisk",
    "rprotocol",
    "rsizes",
    "rbase1",
    "rbase2",
    "rpagecache",
    "rsmallfiles",
    "rspinup",
    "rtogether",
    "rbayshalf",
    "rbays",
    "rimport",
];

/// A copy of the records, and drivebench.
struct Kept {
    cli: Cli,
    store: tempfile::TempDir,
}

impl Kept {
    fn new() -> Self {
        let store = tempfile::tempdir().expect("a temporary directory");
        for name in cli::names(Path::new(RECORDS)).iter().filter(|name| name.contains(".jsonl")) {
            fs::copy(Path::new(RECORDS).join(name), store.path().join(name)).expect("copies");
        }
        Self { cli: Cli::new(), store }
    }

    fn args<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        [&["--store", self.store.path().to_str().expect("UTF-8")], args].concat()
    }

    fn run(&self, args: &[&str]) -> Done {
        self.cli.run(self.args(args))
    }

    /// The output of a command that succeeds.
    fn out(&self, args: &[&str]) -> String {
        let done = self.run(args);
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{args:?}");
        done.out
    }

    /// The estimates of a command that can write JSON, a line each.
    fn numbers(&self, args: &[&str]) -> String {
        let json = self.out(&[args, &["--format", "json"]].concat());
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let estimates = json["estimates"].as_array().expect("estimates");
        estimates.iter().map(|named| line(estimate(named).expect("an estimate"))).collect()
    }
}

/// The object with a value and both ends, at any depth.
fn estimate(json: &Value) -> Option<&Value> {
    let object = json.as_object()?;
    let is = ["value", "low", "high"].iter().all(|key| object.contains_key(*key));
    if is { Some(json) } else { object.values().find_map(estimate) }
}

/// Value, low and high to 12 digits: later digits depend on the machine's floating-point library.
fn line(estimate: &Value) -> String {
    let number = |key: &str| estimate[key].as_f64().map_or("none".to_owned(), |x| format!("{x:.11e}"));
    format!("{} {} {}\n", number("value"), number("low"), number("high"))
}

#[test]
fn they_are_listed_by_their_dates() {
    let list = Kept::new().out(&["results", "list"]);
    let runs: Vec<&str> = list.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(runs, RUNS);
}

#[test]
fn each_is_shown_with_the_same_numbers() {
    let kept = Kept::new();
    let numbers = RUNS.map(|run| {
        let text = kept.out(&["show", run]);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{run}: {text}");
        format!("{run}\n{}", kept.numbers(&["show", run]))
    });
    insta::assert_snapshot!(numbers.join("\n"));
}

#[test]
fn they_are_compared_with_the_same_numbers() {
    let kept = Kept::new();
    let pairs: [&[&str]; 8] = [
        &["rbase1", "rbase2"],
        &["rbays", "rbayshalf"],
        &["rdisk", "rcut"],
        &["rcut", "rcache"],
        &["rbase1", "rprotocol:B"],
        &["rimport:/tmp/imp/f", "rbase2"],
        &["rprotocol"],
        &["rtogether"],
    ];
    let numbers = pairs.map(|pair| {
        let args = [&["results", "compare", "--force"], pair].concat();
        assert!(!kept.out(&args).is_empty());
        format!("{}\n{}", pair.join(" "), kept.numbers(&args))
    });
    insta::assert_snapshot!(numbers.join("\n"));
}

#[test]
fn a_stopped_run_is_resumed() {
    let kept = Kept::new();
    // Unfinished records are not compressed.
    let packed = fs::File::open(kept.store.path().join("rbayshalf.jsonl.gz")).expect("opens");
    let mut before = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut before).expect("unpacks");
    fs::remove_file(kept.store.path().join("rbayshalf.jsonl.gz")).expect("removes");
    let record = kept.store.path().join("rbayshalf.jsonl");
    fs::write(&record, &before).expect("writes");
    let numbers = kept.numbers(&["show", "rbayshalf"]);

    // Three of six arrangements are done, and the drives of the fourth are not present.
    let mut running = kept.cli.start(kept.args(&["run", "bays", "--resume", "rbayshalf"]));
    assert_eq!(running.wait_for("wanted")["number"], 4);
    running.signal(Signal::INT);
    assert_eq!(running.finish(), Some(130));
    let after = fs::read(&record).expect("reads");
    assert!(after.starts_with(&before) && after.len() > before.len(), "it goes on in the same record");
    assert_eq!(kept.numbers(&["show", "rbayshalf"]), numbers);

    let again = kept.run(&["run", "bays", "--resume", "rbays"]);
    assert_eq!((again.code, again.out.as_str()), (2, ""), "what is complete is refused: {}", again.err);
}

#[test]
fn an_incomplete_last_line_changes_no_number() {
    let kept = Kept::new();
    let path = kept.store.path().join("rcut.jsonl");
    let cut = fs::read_to_string(&path).expect("reads");
    assert!(!cut.ends_with('\n'), "it ends within a line");
    let numbers = kept.numbers(&["show", "rcut"]);
    let whole = cut.rfind('\n').expect("a line") + 1;
    fs::write(&path, &cut[..whole]).expect("cuts");
    assert_eq!(kept.numbers(&["show", "rcut"]), numbers);
}

#[test]
fn history_is_the_same_from_records_and_from_the_index() {
    let kept = Kept::new();
    let history = || kept.run(&["history", "--format", "json"]).out;
    let first = history();
    assert_eq!(history(), first);
    let drives: Value = serde_json::from_str(&first).expect("JSON");
    let mut runs =
        drives.as_array().expect("drives").iter().flat_map(|one| one["runs"].as_array().expect("runs"));
    let imported = runs.find(|run| run["run"] == "rimport").expect("the import");
    assert_eq!(imported["at"], "2026-11-21T18:44:36Z", "when it was measured, not when it was imported");
}
