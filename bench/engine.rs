//! CPU time per operation and throughput: 4 KiB random direct reads of a 2 GiB file, in turn, five rounds. `uring` at depth 64
//! beside a bare ring that waits for one completion as it does, one that waits for 16, fio's io_uring with fixedbufs and
//! registerfiles, and the whole program with this load; `psync` at depth 1 beside fio's. Ratios are of the first of each
//! group to the others.
#![allow(clippy::print_stdout, clippy::disallowed_methods)]

mod bare_ring;
mod pairs;

use std::{fs, path::Path, process::Command};

use bare_ring::Batch;
use drivebench::{
    engine::Flow,
    units::{Direction, Pattern},
};
use pairs::{Result, Scratch, cpu, fio, load, median};

const SECONDS: f64 = 8.0;
const ROUNDS: usize = 5;

/// Operations per second, and CPU time per operation in s.
struct Run {
    iops: f64,
    cpu: f64,
}

fn ours(scratch: &Scratch, engine: &str, depth: u32) -> Result<Run> {
    let load = load(Direction::Read, Pattern::Random, 4096, depth);
    let before = cpu(false);
    let outcome = scratch.run(&load, Some(engine), u64::MAX / 8192 * 4096, &mut |now| match now as f64
        >= SECONDS * 1e9
    {
        true => Flow::Stop,
        false => Flow::Continue,
    })?;
    let ops = outcome.ops as f64;
    Ok(Run { iops: ops / outcome.seconds, cpu: (cpu(false) - before) / ops })
}

fn theirs(scratch: &Scratch, engine: &str, depth: u32) -> Result<Run> {
    let mut args: Vec<String> =
        ["--rw=randread", "--bs=4k", "--norandommap=1", "--time_based=1"].map(str::to_owned).into();
    args.extend([
        format!("--ioengine={engine}"),
        format!("--iodepth={depth}"),
        format!("--runtime={SECONDS}"),
    ]);
    if engine == "io_uring" {
        args.extend(["--fixedbufs=1".to_owned(), "--registerfiles=1".to_owned()]);
    }
    let before = cpu(true);
    let fields = fio(scratch, &args)?;
    let spent = cpu(true) - before;
    let (kib, milliseconds): (f64, f64) = (fields[5].parse()?, fields[8].parse()?);
    let ops = kib / 4.0;
    Ok(Run { iops: ops / milliseconds * 1e3, cpu: spent / ops })
}

/// The whole program: `drivebench run baseline` with this load only, from its start to the packed record.
fn program(scratch: &Scratch) -> Result<Run> {
    let program = std::env::current_exe()?;
    let program = program.parent().and_then(Path::parent).ok_or("no build")?.join("drivebench");
    // Removed on errors, too.
    let own = tempfile::tempdir_in(scratch.path.parent().ok_or("no directory")?)?;
    let (place, suite) = (own.path().join("store"), own.path().join("suite.toml"));
    let text = "name = \"engine\"\nabout = \"one load\"\nsource = \"bench/engine\"\n\n[[loads]]\nlabel = \"load\"\n\
         rw = \"randread\"\nblock = \"4KiB\"\ndepth = 64\ncaching = \"direct\"\nsize = \"2GiB\"\n";
    fs::write(&suite, text)?;
    let before = cpu(true);
    let output = Command::new(program)
        .args(["run", "baseline", "--wait", "--format", "json", "--store"])
        .arg(&place)
        .arg("--suite")
        .args([&suite, &scratch.path])
        .output()?;
    let spent = cpu(true) - before;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let mut all = findings["estimates"].as_array().ok_or("no estimates")?.iter();
    let speed = all.find(|e| e["quantity"] == "throughput").ok_or("no speed")?;
    let rate = speed["estimate"]["value"].as_f64().ok_or("no value")?;
    let bytes = speed["bytes"].as_f64().ok_or("no bytes")?;
    Ok(Run { iops: rate / 4096.0, cpu: spent / (bytes / 4096.0) })
}

fn bare(scratch: &Scratch, wait: usize, most: usize) -> Result<Run> {
    let before = cpu(false);
    let (ops, seconds) = bare_ring::reads(&scratch.path, scratch.size, 64, Batch { wait, most }, SECONDS)?;
    Ok(Run { iops: ops as f64 / seconds, cpu: (cpu(false) - before) / ops as f64 })
}

type Way<'a> = (&'static str, &'a dyn Fn() -> Result<Run>);

/// Runs all in turn and prints the medians; returns (CPU ratio, ratio of operations per second) of the first to each other.
fn compare(ways: &[Way<'_>]) -> Result<Vec<(f64, f64)>> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(ways.iter().map(|(_, run)| run()).collect::<Result<Vec<_>>>()?);
    }
    let of = |pick: &dyn Fn(&[Run]) -> f64| median(&rounds.iter().map(|r| pick(r)).collect::<Vec<_>>());
    let mut ratios = Vec::new();
    for (at, (name, _)) in ways.iter().enumerate() {
        let cpu = of(&|runs| runs[0].cpu / runs[at].cpu);
        let iops = of(&|runs| runs[0].iops / runs[at].iops);
        let (own_iops, own_cpu) = (of(&|runs| runs[at].iops), of(&|runs| runs[at].cpu) * 1e6);
        println!("{name:<16} {own_iops:>10.0} {own_cpu:>10.3} {cpu:>10.3} {iops:>10.3}");
        ratios.push((cpu, iops));
    }
    Ok(ratios)
}

/// CPU time of fio's start: of a run with one operation, s.
fn start_up(scratch: &Scratch) -> Result<f64> {
    let before = cpu(true);
    fio(scratch, &["--rw=randread", "--bs=4k", "--io_size=4096", "--ioengine=psync"].map(str::to_owned))?;
    Ok(cpu(true) - before)
}

fn main() -> Result<()> {
    let scratch = Scratch::new("engine", 2 << 30)?;
    println!(
        "4 KiB random direct reads of {}, {SECONDS} s each, in turn, {ROUNDS} rounds",
        scratch.path.display()
    );
    println!("CPU time is all that the process used; fio's start takes {:.2} s of it", start_up(&scratch)?);
    println!("{:<16} {:>10} {:>10} {:>10} {:>10}", "", "ops/s", "CPU µs/op", "CPU ratio", "ops ratio");
    let queued = compare(&[
        ("uring, depth 64", &|| ours(&scratch, "uring", 64)),
        ("bare ring, 1", &|| bare(&scratch, 1, 8)),
        ("bare ring, 16", &|| bare(&scratch, 16, 16)),
        ("fio io_uring", &|| theirs(&scratch, "io_uring", 64)),
        ("whole program", &|| program(&scratch)),
    ])?;
    let single = compare(&[
        ("psync, depth 1", &|| ours(&scratch, "psync", 1)),
        ("fio psync", &|| theirs(&scratch, "psync", 1)),
    ])?;
    println!(
        "engine: figure uring_cpu_ratio {:.3} uring_bare_cpu_ratio {:.3} uring_bare16_cpu_ratio {:.3} psync_cpu_ratio {:.3} uring_iops_ratio {:.3} psync_iops_ratio {:.3}",
        queued[3].0, queued[1].0, queued[2].0, single[1].0, queued[3].1, single[1].1
    );
    Ok(())
}
