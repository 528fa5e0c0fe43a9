//! `results compare` on records of modelled drives: two runs, drives of one run, and runs that differ.

use crate::support::cli::{Cli, words};
use crate::support::modelled::{self, ask, only, plan, target};
use drivebench::{
    analyse::Rules,
    experiments::{LoadName, Request},
    record::Store,
    target::Target,
};
use drivebench_modelled::sim::{Board, Model, Noise, Zone};

fn stick(read: f64) -> Model {
    Model {
        capacity: 62_000_000_000,
        write: vec![Zone { from: 0, rate: 2e6 }],
        read: vec![Zone { from: 0, rate: read }],
        noise: Noise { variation: 0.03, memory: 0.5, run: 0.003 },
        ..Model::default()
    }
}

fn reads(names: &[&str], rules: Rules) -> Request {
    let targets: Vec<Target> = names.iter().map(|n| target(n, 62_000_000_000, false)).collect();
    only(LoadName::Read, ask(targets, rules, 4096))
}

/// Keeps a run of these reads on modelled drives; `real` marks it as measured on real drives.
fn keep(cli: &Cli, at: &str, ask: &Request, speeds: &[f64], seed: u64, real: bool) -> String {
    let board = Board { drives: speeds.iter().map(|&s| stick(s)).collect(), buses: vec![], seed };
    modelled::keep(&Store::at(cli.store()), at, &plan(ask).expect("plans"), &board, real)
}

const SPRING: &str = "2026-05-01T10:00:00Z";
const AUTUMN: &str = "2026-11-21T10:00:00Z";

/// The output of a comparison, with fixed names.
fn compared(cli: &Cli, args: &[&str], runs: &[&str]) -> String {
    let done = cli.run([&["results", "compare"], args].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.lines().all(|l| l.chars().count() <= 80), "{}", done.out);
    let names = ["runA", "runB", "runC"];
    runs.iter().zip(names).fold(done.out, |out, (run, name)| out.replace(run, name))
}

#[test]
fn the_same_drive_months_ago() {
    let cli = Cli::new();
    let one = reads(&["4C530001"], Rules::standard());
    let then = keep(&cli, SPRING, &one, &[6.6e6], 1, true);
    let now = keep(&cli, AUTUMN, &one, &[5.9e6], 2, true);
    let again = keep(&cli, AUTUMN, &one, &[6.68e6], 3, true);
    let same = cli.run(["results", "compare", &then, &then]);
    assert!(same.code == 2 && same.err.contains("is named twice"), "{}", same.err);
    insta::assert_snapshot!(
        [
            compared(&cli, &[&then, &now], &[&then, &now]),
            // More bytes would not help: two runs of one drive differ by 1 %.
            compared(&cli, &[&then, &again], &[&then, &again]),
        ]
        .join("----\n")
    );
}

#[test]
fn the_drives_of_one_run_and_of_two() {
    let cli = Cli::new();
    let three = reads(&["A", "B", "C"], Rules::quick());
    let run = keep(&cli, SPRING, &three, &[6.6e6, 7.26e6, 6.9e6], 1, true);
    let other = keep(&cli, AUTUMN, &reads(&["D"], Rules::quick()), &[6.6e6], 2, true);
    let moved = keep(&cli, AUTUMN, &reads(&["C", "A"], Rules::quick()), &[6.9e6, 6.6e6], 3, true);
    insta::assert_snapshot!(
        [
            compared(&cli, &[&run], &[&run]),
            compared(&cli, &[&format!("{run}:B"), &other], &[&run, &other]),
            compared(&cli, &[&format!("{run}:B"), &format!("{run}:C")], &[&run]),
            compared(&cli, &[&run, &moved], &[&run, &moved]),
        ]
        .join("----\n")
    );
}

#[test]
fn differences_between_runs_are_flagged_and_unlike_loads_refused() {
    let cli = Cli::new();
    let one = reads(&["A"], Rules::quick());
    let real = keep(&cli, SPRING, &one, &[6.6e6], 1, true);
    let model = keep(&cli, AUTUMN, &one, &[6.6e6], 1, false);
    let large = Request { block: 1 << 20, ..one };
    let large = keep(&cli, AUTUMN, &large, &[19e6], 1, true);
    let refused = cli.run(["results", "compare", &real, &large]);
    assert_eq!((refused.code, refused.out.as_str()), (2, ""));
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("report");
    let report = cli.run(["report", &real, &large, "--out", out.to_str().expect("UTF-8")]);
    assert_eq!(report.code, 0, "{}", report.err);
    assert!(report.err.contains("are not compared: the loads of"), "{}", report.err);
    insta::assert_snapshot!(
        [
            compared(&cli, &[&real, &model], &[&real, &model]),
            refused.err.replace(&real, "runA").replace(&large, "runB"),
            compared(&cli, &["--force", &real, &large], &[&real, &large]),
        ]
        .join("----\n")
    );
}

#[test]
fn impossible_comparisons_are_refused() {
    let cli = Cli::new();
    let run = keep(&cli, SPRING, &reads(&["A", "B"], Rules::quick()), &[6.6e6, 6.6e6], 1, true);
    let alone = keep(&cli, AUTUMN, &reads(&["D"], Rules::quick()), &[6.6e6], 2, true);
    let refused = |args: &[&str]| {
        let done = cli.run([&["results", "compare"], args].concat());
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{args:?}");
        done.err
            .replace(&run, "runA")
            .replace(&alone, "runB")
            .replace(&*cli.store().to_string_lossy(), "STORE")
    };
    insta::assert_snapshot!(
        [
            refused(&[&alone]),
            refused(&[&run, &alone]),
            refused(&[&format!("{run}:E"), &alone]),
            refused(&["r999"]).split_whitespace().collect::<Vec<_>>().join(" "),
        ]
        .join("----\n")
    );
}

#[test]
fn several_runs_are_shown_with_their_names() {
    let cli = Cli::new();
    let runs = [1, 2].map(|seed| keep(&cli, SPRING, &reads(&["A"], Rules::quick()), &[6.6e6], seed, true));
    let done = cli.run(["show", &runs[0], &runs[1]]);
    assert_eq!(done.code, 0, "{}", done.err);
    for run in &runs {
        assert!(done.out.lines().any(|line| line.starts_with(&format!("{run}: baseline, "))), "{}", done.out);
    }
    let one = cli.run(["show", &runs[0]]);
    assert!(!one.out.contains(&runs[0]), "{}", one.out);
}

#[test]
fn a_run_is_not_compared_with_itself() {
    let cli = Cli::new();
    let run = keep(&cli, SPRING, &reads(&["A"], Rules::quick()), &[6.6e6], 1, true);
    let same = cli.run(["results", "compare", &run, &format!("{run}:A")]);
    assert!(same.code == 2 && same.err.contains("with itself"), "{}", same.err);
}

#[test]
fn a_run_among_packs_of_its_model() {
    let (cli, packs) = (Cli::new(), Cli::directory());
    let at = |name: &str| packs.path().join(name).to_str().expect("UTF-8").to_owned();
    let speeds = [4.1e6, 6.6e6, 6.7e6, 6.4e6, 6.5e6, 6.8e6, 6.6e6, 6.5e6];
    let keep = |n: usize| {
        let serial = format!("4C53000{n}");
        keep(&cli, SPRING, &reads(&[&serial], Rules::quick()), &speeds[n..=n], n as u64, true)
    };
    let runs: Vec<String> = (0..speeds.len()).map(keep).collect();
    std::fs::write(at("notes.txt"), "no pack").expect("writes");
    let none = cli.run(["results", "compare", &runs[0], &at("")]);
    assert_eq!((none.code, none.out.as_str()), (2, ""), "{}", none.err);
    assert!(!cli.store().join("pseudonyms.key").exists(), "comparing makes no key");
    for run in &runs {
        let done = cli.run(["results", "pack", run, "--out", &at(run)]);
        assert_eq!(done.code, 0, "{}", done.err);
    }
    let mut changed = std::fs::read(at(&runs[7])).expect("a pack");
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    std::fs::write(at(&runs[7]), changed).expect("writes");
    let done = cli.run(["results", "compare", &runs[0], &at("")]);
    assert_eq!(done.code, 0, "{}", done.err);
    let text = format!("{}----\n{}", done.out, words(&done.err));
    let text = text.replace(&runs[0], "runA").replace(&runs[7], "runB").replace(&at(""), "PACKS/");
    insta::assert_snapshot!(text);
    let json = cli.run(["results", "compare", &runs[0], &at(""), "--format", "json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let slower = &json["estimates"][0];
    assert_eq!(
        (&slower["quantity"], &slower["estimate"]["value"]),
        (&"slower_peers".into(), &0.0.into()),
        "{json}"
    );
    let forced = cli.run(["results", "compare", &runs[0], &at(""), "--force"]);
    assert_eq!(forced.code, 2, "{}", forced.err);
}
