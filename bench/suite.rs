//! What `drivebench run baseline` says of each load of the suite `cdm`, beside fio with the same load, in turn, five rounds.
//! Both read the same file: a hypervisor or a drive may have the one cached and not the other. Writes go to a new
//! file each time, filled just before, as drivebench writes to no file of others. The drive's own changes affect both, so ratios are compared;
//! fio against itself shows how much of a ratio is the drive.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

mod pairs;

use std::{path::Path, process::Command};

use drivebench::units::Direction;
use pairs::{Result, Scratch, fio, median};

const ROUNDS: usize = 5;

/// As long as a load of the suite lasts on a fast drive, s.
const SECONDS: u32 = 3;

/// The file's size in the suite.
const BYTES: u64 = 1 << 30;

struct Row {
    name: &'static str,
    block: u64,
    depth: u32,
    order: &'static str,
}

const ROWS: [Row; 4] = [
    Row { name: "SEQ1M Q8T1", block: 1 << 20, depth: 8, order: "" },
    Row { name: "SEQ1M Q1T1", block: 1 << 20, depth: 1, order: "" },
    Row { name: "RND4K Q32T1", block: 4096, depth: 32, order: "rand" },
    Row { name: "RND4K Q1T1", block: 4096, depth: 1, order: "rand" },
];

/// The suite with one load of it each, in its order: with all in one run, fio would follow each only after the whole run.
fn suites() -> Vec<String> {
    let mut parts = include_str!("../suites/cdm.toml").split("[[loads]]");
    let head = parts.next().unwrap_or_default();
    parts
        .map(|load| format!("{head}[[loads]]{load}").replace("name = \"cdm\"", "name = \"cdm-one\""))
        .collect()
}

/// Loads in the order of the suite.
fn loads() -> impl Iterator<Item = (&'static Row, Direction)> {
    [Direction::Read, Direction::Write].into_iter().flat_map(|way| ROWS.iter().map(move |row| (row, way)))
}

fn word(direction: Direction) -> &'static str {
    if direction == Direction::Read { "read" } else { "write" }
}

/// MB/s of one load, by the whole program.
fn ours(program: &Path, suite: &Path, target: &Path, store: &Path) -> Result<f64> {
    let output = Command::new(program)
        .args(["run", "baseline", "--wait", "--format", "json", "--suite"])
        .arg(suite)
        .arg("--store")
        .args([store, target])
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let estimates = findings["estimates"].as_array().ok_or("no estimates")?;
    let mut speeds = estimates.iter().filter(|e| e["quantity"] == "throughput");
    match (speeds.next().and_then(|e| e["estimate"]["value"].as_f64()), speeds.next()) {
        (Some(bytes), None) => Ok(bytes / 1e6),
        _ => Err(format!("not one speed in {estimates:?}").into()),
    }
}

/// MB/s of one load with fio.
fn theirs(read: &Scratch, row: &Row, way: Direction) -> Result<f64> {
    let written = if way == Direction::Write { Some(Scratch::new("suite-written", BYTES)?) } else { None };
    let scratch = written.as_ref().unwrap_or(read);
    let engine = if row.depth == 1 { "psync" } else { "io_uring" };
    let args = [
        format!("--ioengine={engine}"),
        format!("--rw={}{}", row.order, word(way)),
        format!("--bs={}", row.block),
        format!("--iodepth={}", row.depth),
        "--time_based".to_owned(),
        format!("--runtime={SECONDS}"),
        "--norandommap=1".to_owned(),
        // By default fio rewrites a part of every 512 B before each write, within the measured time.
        "--scramble_buffers=0".to_owned(),
    ];
    let fields = fio(scratch, &args)?;
    let first = if way == Direction::Read { 5 } else { 46 };
    let (kib, milliseconds): (f64, f64) = (fields[first].parse()?, fields[first + 3].parse()?);
    Ok(kib * 1024.0 / milliseconds / 1e3)
}

fn main() -> Result<()> {
    let scratch = Scratch::new("suite", BYTES)?;
    let directory = scratch.path.parent().ok_or("no directory")?.to_owned();
    let program =
        std::env::current_exe()?.parent().and_then(Path::parent).ok_or("no build")?.join("drivebench");
    // Removed on errors, too.
    let own = tempfile::tempdir_in(&directory)?;
    let (store, suite) = (own.path().join("store"), own.path().join("suite.toml"));
    let mut rounds: Vec<Vec<[f64; 3]>> = vec![Vec::new(); loads().count()];
    for round in 0..ROUNDS {
        for (at, ((row, way), text)) in loads().zip(suites()).enumerate() {
            std::fs::write(&suite, text)?;
            let target = if way == Direction::Read { &scratch.path } else { &directory };
            let mut speeds = [0.0; 3];
            // Each is first in a third of the rounds.
            for turn in 0..3 {
                let who = (turn + round) % 3;
                speeds[who] = match who {
                    0 => ours(&program, &suite, target, &store)?,
                    _ => theirs(&scratch, row, way)?,
                };
            }
            rounds[at].push(speeds);
        }
    }
    println!("medians of {ROUNDS} rounds in {}", directory.display());
    println!("{:<12} {:<5} {:>10} {:>10} {:>7} {:>8}", "", "", "MB/s", "fio MB/s", "ratio", "fio/fio");
    let mut worst: f64 = 0.0;
    for ((row, way), pairs) in loads().zip(&rounds) {
        let of = |pick: fn(&[f64; 3]) -> f64| median(&pairs.iter().map(pick).collect::<Vec<_>>());
        let (own, fio) = (of(|p| p[0]), of(|p| p[1]));
        let (ratio, control) = (of(|p| p[0] / p[1]), of(|p| p[2] / p[1]));
        println!("{:<12} {:<5} {own:>10.1} {fio:>10.1} {ratio:>7.3} {control:>8.3}", row.name, word(way));
        worst = worst.max((ratio - 1.0).abs());
    }
    println!("suite: figure worst_deviation {worst:.4}");
    Ok(())
}
