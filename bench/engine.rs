//! CPU time per operation and throughput compared with fio: 4 KiB random direct reads of a 2 GiB file, `uring` at depth 64
//! and fio's io_uring with fixedbufs and registerfiles, `psync` at depth 1 and fio's psync; alternating, five pairs.
#![allow(clippy::print_stdout)]

mod pairs;

use drivebench::{
    engine::Flow,
    units::{Direction, Pattern},
};
use pairs::{Result, Scratch, cpu, fio, load, median};

const SECONDS: f64 = 8.0;
const PAIRS: usize = 5;

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

/// (CPU ratio, IOPS ratio), the medians of pairs.
fn compare(scratch: &Scratch, (name, depth): (&str, u32), fio_name: &str) -> Result<(f64, f64)> {
    let (mut cpus, mut iops) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let (a, b) = (ours(scratch, name, depth)?, theirs(scratch, fio_name, depth)?);
        println!(
            "{name:>8} {depth:>5} {:>10.0} {:>10.2} {:>10.0} {:>10.2} {:>10.3} {:>10.3}",
            a.iops,
            a.cpu * 1e6,
            b.iops,
            b.cpu * 1e6,
            a.cpu / b.cpu,
            a.iops / b.iops
        );
        cpus.push(a.cpu / b.cpu);
        iops.push(a.iops / b.iops);
    }
    Ok((median(&cpus), median(&iops)))
}

/// CPU time of fio's start: of a run with one operation, s.
fn start_up(scratch: &Scratch) -> Result<f64> {
    let before = cpu(true);
    fio(scratch, &["--rw=randread", "--bs=4k", "--io_size=4096", "--ioengine=psync"].map(str::to_owned))?;
    Ok(cpu(true) - before)
}

fn main() -> Result<()> {
    let scratch = Scratch::new("engine", 2 << 30)?;
    println!("4 KiB random direct reads of {}, {SECONDS} s each, in turn with fio", scratch.path.display());
    println!("CPU time is all that the process used; fio's start takes {:.2} s of it", start_up(&scratch)?);
    println!("  engine depth     ops/s  CPU µs/op  fio ops/s fio µs/op  CPU ratio ops ratio");
    let (uring_cpu, uring_iops) = compare(&scratch, ("uring", 64), "io_uring")?;
    let (psync_cpu, psync_iops) = compare(&scratch, ("psync", 1), "psync")?;
    println!(
        "engine: figure uring_cpu_ratio {uring_cpu:.3} psync_cpu_ratio {psync_cpu:.3} uring_iops_ratio {uring_iops:.3} psync_iops_ratio {psync_iops:.3}"
    );
    Ok(())
}
