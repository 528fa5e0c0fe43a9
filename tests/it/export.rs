//! `results export`: rows of modelled runs for other programs, and writing of files.

use std::{fs, io::Read};

use crate::support::cli::{Cli, Done, names, words};
use crate::support::modelled;
use crate::support::modelled::{ask, only, plan, target};
use drivebench::{analyse::Rules, experiments::LoadName, record::Store};
use drivebench_modelled::sim::{Board, Model, Noise, Zone};

const SPRING: &str = "2026-05-01T10:00:00Z";
const AUTUMN: &str = "2026-11-21T10:00:00Z";

/// Keeps a run that reads modelled sticks of this speed.
fn keep(cli: &Cli, at: &str, sticks: &[&str], read: f64) -> String {
    let stick = Model {
        capacity: 62_000_000_000,
        write: vec![Zone { from: 0, rate: 2e6 }],
        read: vec![Zone { from: 0, rate: read }],
        noise: Noise { variation: 0.03, memory: 0.5, run: 0.003 },
        ..Model::default()
    };
    let targets = sticks.iter().map(|n| target(n, 62_000_000_000, false)).collect();
    let plan = plan(&only(LoadName::Read, ask(targets, Rules::quick(), 4096))).expect("plans");
    let board = Board { drives: sticks.iter().map(|_| stick.clone()).collect(), buses: vec![], seed: 1 };
    modelled::keep(&Store::at(cli.store()), at, &plan, &board, false)
}

fn export(cli: &Cli, args: &[&str]) -> Done {
    cli.run([&["results", "export"], args].concat())
}

/// The column `name` of CSV.
fn column(csv: &str, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let at = reader.headers().expect("a head").iter().position(|n| n == name).expect("the column");
    let mut found: Vec<String> = reader.records().map(|r| r.expect("a row")[at].to_owned()).collect();
    found.dedup();
    found
}

#[test]
fn rows_and_metrics() {
    let cli = Cli::new();
    let old = keep(&cli, SPRING, &["4C530001"], 6.6e6);
    let new = keep(&cli, AUTUMN, &["4C530001", "4C530002"], 6.6e6);
    let shown = |args: &[&str]| {
        let done = export(&cli, args);
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{args:?}");
        done.out.replace(&old, "runA").replace(&new, "runB")
    };
    insta::assert_snapshot!("rows", [shown(&[]), shown(&[&old, "--format", "json"])].join("----\n"));
    insta::assert_snapshot!("metrics", shown(&["--format", "openmetrics"]));
}

#[test]
fn runs_are_chosen_by_name_or_by_filter() {
    let cli = Cli::new();
    let old = keep(&cli, SPRING, &["4C530001"], 6.6e6);
    let new = keep(&cli, AUTUMN, &["S6PUNX01"], 6.6e6);
    let cases: [(&[&str], &[&str]); 5] = [
        (&[], &[&old, &new]),
        (&[&new, &old], &[&new, &old]),
        (&["--since", "2026-06-01"], &[&new]),
        (&["--drive", "4c53"], &[&old]),
        (&["--experiment", "sizes"], &[]),
    ];
    for (args, runs) in cases {
        let done = export(&cli, args);
        assert_eq!(done.code, 0, "{args:?}: {}", done.err);
        assert_eq!(column(&done.out, "run"), runs, "{args:?}");
        assert_eq!(done.err.is_empty(), !runs.is_empty(), "{args:?}: {}", done.err);
    }
}

#[test]
fn last_is_the_newest_run_wherever_a_run_is_named() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let old = keep(&cli, SPRING, &["4C530001"], 6.6e6);
    let new = keep(&cli, AUTUMN, &["S6PUNX01", "S6PUNX02"], 6.6e6);
    assert_eq!(column(&export(&cli, &["last"]).out, "run"), [new.as_str()]);
    assert_eq!(export(&cli, &["last", &new]).code, 2);
    let out = |args: &[&str]| {
        let done = cli.run(args);
        assert_eq!(done.code, 0, "{args:?}: {}", done.err);
        done.out
    };
    assert_eq!(out(&["show", "last"]), out(&["show", &new]));
    assert_eq!(out(&["results", "compare", "last"]), out(&["results", "compare", &new]));
    let listed: serde_json::Value =
        serde_json::from_str(&out(&["results", "--format", "json", "--drive", "S6"])).expect("JSON");
    assert_eq!((&listed[0]["run"], &listed[0]["quick"]), (&new.as_str().into(), &false.into()), "{listed}");
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    // A report that can be published.
    let page = place.path().join("page");
    out(&["report", "--anonymise", "--out", page.to_str().expect("UTF-8")]);
    let page = fs::read_to_string(page.join("report.html")).expect("a page");
    assert!(page.contains(&new) && !page.contains("S6PUNX"), "{page}");
    out(&["results", "rm", "last"]);
    assert_eq!(out(&["show", "last"]), out(&["show", &old]));
}

#[test]
fn invalid_arguments_are_refused() {
    let cli = Cli::new();
    let run = keep(&cli, SPRING, &["4C530001"], 6.6e6);
    let refused = |args: &[&str]| {
        let done = export(&cli, args);
        assert_eq!(done.out, "", "{args:?}");
        let err = words(&done.err).replace(&run, "runA");
        format!("{} {}\n", done.code, err.replace(&*cli.store().to_string_lossy(), "STORE"))
    };
    insta::assert_snapshot!(
        [
            refused(&[&run, &run]),
            refused(&[&run, "r999"]),
            refused(&[&run, "--since", "2026-06-01"]),
            refused(&["--format", "xlsx"]),
        ]
        .concat()
    );
}

#[test]
fn a_full_output_is_an_error() {
    let cli = Cli::new();
    keep(&cli, SPRING, &["4C530001"], 6.6e6);
    let (code, said) = into_full(&cli);
    assert!(code == 1 && said.contains("No space left on device"), "{code}: {said}");
}

/// The exit code and the error where standard output is full.
fn into_full(cli: &Cli) -> (i32, String) {
    let out = fs::OpenOptions::new().write(true).open("/dev/full").expect("opens");
    let done = cli.command(["results", "export"]).stdout(out).output().expect("starts");
    (done.status.code().expect("not killed"), String::from_utf8(done.stderr).expect("UTF-8"))
}

#[test]
fn records_that_cannot_be_read_are_named_and_the_rest_is_written() {
    let cli = Cli::new();
    let good = keep(&cli, SPRING, &["4C530001"], 6.6e6);
    let bad = keep(&cli, AUTUMN, &["4C530002"], 6.6e6);
    let unknown = keep(&cli, AUTUMN, &["4C530003"], 6.6e6);
    let path = |run: &str| cli.store().join(format!("{run}.jsonl"));
    let text = |run: &str| fs::read_to_string(path(run)).expect("reads");
    let renamed = text(&unknown).replace("\"baseline\"", "\"levitation\"");
    fs::write(path(&unknown), renamed).expect("writes");
    fs::write(cli.store().join("garbage.jsonl"), "nonsense\n").expect("writes");
    let mut lines: Vec<String> = text(&bad).lines().map(str::to_owned).collect();
    let half = lines.len() / 2;
    lines[half].truncate(5);
    fs::write(path(&bad), lines.join("\n")).expect("writes");

    let done = export(&cli, &[]);
    assert_eq!(done.code, 1);
    assert_eq!(column(&done.out, "run").first(), Some(&good));
    for said in [
        format!(
            "{bad} is damaged, and only a part of it was read. The record is damaged at line {}",
            half + 1
        ),
        format!("Skipped {unknown}: {unknown} is a run of 'levitation'"),
        "garbage.jsonl is not a record of drivebench".to_owned(),
    ] {
        assert!(words(&done.err).contains(&said), "{said}: {}", done.err);
    }
    assert!(!done.out.contains(&unknown));
    let place = Cli::directory();
    let added = export(&cli, &["--dataset", place.path().join("data").to_str().expect("UTF-8")]);
    assert_eq!(added.code, 1);
    assert!(
        words(&added.err).contains("1 run added, 3 unfinished or unreadable runs left out"),
        "{}",
        added.err
    );
    let site = place.path().join("site");
    let done = cli.run(["report".as_ref(), "--site".as_ref(), site.as_os_str()]);
    assert_eq!(done.code, 0, "{}", done.err);
    let page = fs::read_to_string(site.join("index.html")).expect("a page");
    for said in [page, cli.run(["history"]).err] {
        for record in ["garbage.jsonl", &unknown, &bad] {
            assert!(said.contains("Left out: ") && said.contains(record), "{record}: {said}");
        }
    }
    assert_eq!(export(&cli, &[&good]).code, 0, "what isn't asked for may be broken");
}

#[test]
fn a_dataset_grows_by_the_runs_that_it_lacks() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let dir = place.path().join("data");
    let add = || {
        let done = export(&cli, &["--dataset", dir.to_str().expect("UTF-8")]);
        assert_eq!((done.code, done.out.as_str()), (0, ""), "{}", done.err);
    };
    let old = keep(&cli, SPRING, &["4C530001"], 6.6e6);
    let cut = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/records/rcut.jsonl");
    fs::copy(cut, cli.store().join("rcut.jsonl")).expect("copies");
    add();
    let part = |run: &str, month: &str, time: &str| {
        dir.join(format!("month={month}/machine=unknown/part-{run}-{time}.csv.gz"))
    };
    let path = part(&old, "2026-05", "20260501T100000Z");
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(&path).expect("a file"))
        .read_to_string(&mut text)
        .expect("CSV");
    assert_eq!(text, export(&cli, &[&old]).out);
    // What is there is not written again, and runs that were removed stay.
    fs::write(&path, "mine").expect("writes");
    assert_eq!(cli.run(["results", "rm", &old]).code, 0);
    let new = keep(&cli, AUTUMN, &["4C530001"], 6.6e6);
    add();
    add();
    assert_eq!(fs::read_to_string(&path).expect("a file"), "mine");
    assert!(part(&new, "2026-11", "20261121T100000Z").exists());
    let mut months = names(&dir);
    months.sort();
    assert_eq!(months, ["month=2026-05", "month=2026-11"]);
    assert_eq!(export(&cli, &["--dataset", "x", "--format", "json"]).code, 2);
    assert_eq!(export(&cli, &["--dataset", path.to_str().expect("UTF-8")]).code, 2, "a file");
    let whole = fs::read_to_string(cut).expect("a record");
    // A run whose time was up counts, too.
    let (lines, _) = whole.rsplit_once('\n').expect("lines");
    let end = "{\"event\":\"end\",\"how\":\"time_up\",\"at\":\"2024-05-15T18:07:07Z\"}";
    fs::write(cli.store().join("rcut.jsonl"), format!("{lines}\n{end}\n")).expect("writes");
    add();
    assert!(part("rcut", "2024-05", "20240515T180607Z").exists());
    fs::remove_dir_all(dir.join("month=2024-05")).expect("removes");
    // What can't be read is named and leaves no other out.
    let (start, rest) = whole.split_once('\n').expect("lines");
    let start = start.replacen("\"experiment\":\"baseline\"", "\"experiment\":\"later\"", 1);
    fs::write(cli.store().join("rcut.jsonl"), format!("{start}\n{rest}")).expect("writes");
    let next = keep(&cli, AUTUMN, &["4C530001"], 6.6e6);
    let done = export(&cli, &["--dataset", dir.to_str().expect("UTF-8")]);
    assert!(done.code == 1 && done.err.contains("Skipped rcut: "), "{}", done.err);
    assert!(part(&next, "2026-11", "20261121T100000Z").exists());
}
