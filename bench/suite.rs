//! What `drivebench run baseline --suite cdm` says, beside fio with the same eight loads on a file of the same size, in turn,
//! five rounds. The drive's own changes affect both, so ratios are compared.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

mod pairs;

use std::{path::Path, process::Command};

use drivebench::units::Direction;
use pairs::{Result, Scratch, fio, median};

const ROUNDS: usize = 5;

/// As long as a load of the suite lasts on a fast drive, s.
const SECONDS: u32 = 5;

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

/// Loads in the order of the suite.
fn loads() -> impl Iterator<Item = (&'static Row, Direction)> {
    [Direction::Read, Direction::Write].into_iter().flat_map(|way| ROWS.iter().map(move |row| (row, way)))
}

fn word(direction: Direction) -> &'static str {
    if direction == Direction::Read { "read" } else { "write" }
}

/// MB/s of every load, by the whole program.
fn ours(program: &Path, directory: &Path, store: &Path) -> Result<Vec<f64>> {
    let output = Command::new(program)
        .args(["run", "baseline", "--wait", "--suite", "cdm", "--format", "json", "--store"])
        .args([store, directory])
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let estimates = findings["estimates"].as_array().ok_or("no estimates")?;
    let speed = |(row, way): (&Row, Direction)| {
        let name = format!("{} {}", row.name, word(way));
        let of = |e: &&serde_json::Value| e["quantity"] == "throughput" && e["load"]["name"] == name.as_str();
        let value = estimates.iter().find(of).and_then(|e| e["estimate"]["value"].as_f64());
        value.map(|bytes| bytes / 1e6).ok_or(format!("{name} has no speed").into())
    };
    loads().map(speed).collect()
}

/// MB/s of one load with fio.
fn theirs(scratch: &Scratch, row: &Row, way: Direction) -> Result<f64> {
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
    let scratch = Scratch::new("suite", 1 << 30)?;
    let directory = scratch.path.parent().ok_or("no directory")?.to_owned();
    let program =
        std::env::current_exe()?.parent().and_then(Path::parent).ok_or("no build")?.join("drivebench");
    let store = directory.join(format!("suite-store-{}", std::process::id()));
    let mut rounds: Vec<Vec<(f64, f64)>> = vec![Vec::new(); loads().count()];
    for _ in 0..ROUNDS {
        let ours = ours(&program, &directory, &store)?;
        for (at, (row, way)) in loads().enumerate() {
            rounds[at].push((ours[at], theirs(&scratch, row, way)?));
        }
    }
    std::fs::remove_dir_all(&store)?;
    println!("medians of {ROUNDS} rounds in {}", directory.display());
    println!("{:<12} {:<5} {:>10} {:>10} {:>7}", "", "", "MB/s", "fio MB/s", "ratio");
    let mut worst: f64 = 0.0;
    for ((row, way), pairs) in loads().zip(&rounds) {
        let of = |pick: fn(&(f64, f64)) -> f64| median(&pairs.iter().map(pick).collect::<Vec<_>>());
        let ratio = of(|(a, b)| a / b);
        println!(
            "{:<12} {:<5} {:>10.1} {:>10.1} {ratio:>7.3}",
            row.name,
            word(way),
            of(|p| p.0),
            of(|p| p.1)
        );
        worst = worst.max((ratio - 1.0).abs());
    }
    println!("suite: figure worst_deviation {worst:.4}");
    Ok(())
}
