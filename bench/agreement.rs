//! Throughput compared with fio: sequential direct reads and writes of 4 KiB and 1 MiB on the same file, in turn, five pairs.
#![allow(clippy::print_stdout)]

mod pairs;

use std::process::Command;

use drivebench::{
    engine::Flow,
    units::{Direction, MIB, Pattern, size},
};
use pairs::{Result, Scratch, fio, load, median};

const PAIRS: usize = 5;

/// Each run of a pair is split into alternating slices, so that slow changes of the drive's speed affect both equally.
const SLICES: usize = 4;

/// A slice lasts seconds: processor and virtual machine need some 0.1 s to warm up, and fio has had that time
/// before its clock starts.
const SLICE_SECONDS: f64 = 1.5;

/// The seconds of a slice with fio.
fn theirs(scratch: &Scratch, direction: Direction, block: u64, bytes: u64) -> Result<f64> {
    let (rw, first) = if direction == Direction::Read { ("read", 5) } else { ("write", 46) };
    let args = [
        "--ioengine=psync".to_owned(),
        format!("--rw={rw}"),
        format!("--bs={block}"),
        format!("--io_size={bytes}"),
        // By default fio rewrites a part of every 512 B before each write, within the measured time: 10 to 20 % of
        // a 1 MiB write at 2 GB/s.
        "--scramble_buffers=0".to_owned(),
    ];
    let fields = fio(scratch, &args)?;
    let (kib, milliseconds): (u64, f64) = (fields[first].parse()?, fields[first + 3].parse()?);
    if kib * 1024 != bytes {
        return Err(format!("fio moved {kib} KiB of {bytes} B").into());
    }
    Ok(milliseconds / 1e3)
}

/// The seconds of a slice with drivebench, in a separate process as with fio: the position of the buffer in memory decides how many pieces a request
/// of 1 MiB becomes (a factor of 2 in speed here), and it is fixed within a process.
#[allow(clippy::disallowed_methods)]
fn ours(scratch: &Scratch, direction: Direction, block: u64, bytes: u64) -> Result<f64> {
    let output = Command::new(std::env::current_exe()?)
        .arg(SLICE)
        .arg(&scratch.path)
        .args([scratch.size, u64::from(direction == Direction::Read), block, bytes].map(|n| n.to_string()))
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// The first argument of a process that runs one slice, and prints its seconds.
const SLICE: &str = "--slice";

fn slice(args: &[String]) -> Result<()> {
    let [path, numbers @ ..] = args else { return Err("no path".into()) };
    let numbers = numbers.iter().map(|n| n.parse()).collect::<std::result::Result<Vec<u64>, _>>()?;
    let &[size, read, block, bytes] = numbers.as_slice() else { return Err("four numbers expected".into()) };
    let direction = if read == 1 { Direction::Read } else { Direction::Write };
    let load = load(direction, Pattern::Sequential, block, 1);
    println!(
        "{}",
        Scratch::existing(path.into(), size)?.run(&load, None, bytes, &mut |_| Flow::Continue)?.seconds
    );
    Ok(())
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|first| first == SLICE) {
        return slice(&args[1..]);
    }
    let scratch = Scratch::new("agreement", 1 << 30)?;
    println!("sequential direct, depth 1, over {}, in turn with fio's psync", scratch.path.display());
    println!("{:>6} {:>6} {:>10} {:>10} {:>7}", "block", "", "MB/s", "fio MB/s", "ratio");
    let mut worst: f64 = 0.0;
    let mut figures = String::new();
    for (direction, name) in [(Direction::Read, "read"), (Direction::Write, "write")] {
        for block in [4096, 1 << 20] {
            let mut ratios = Vec::new();
            let pilot = ours(&scratch, direction, block, scratch.size / 8)?;
            let bytes = (SLICE_SECONDS / pilot * (scratch.size / 8) as f64) as u64 / MIB * MIB;
            for _ in 0..PAIRS {
                let (mut a, mut b) = (0.0, 0.0);
                for slice in 0..SLICES {
                    // The second run may find a warmer drive, so they alternate.
                    if slice % 2 == 0 {
                        a += ours(&scratch, direction, block, bytes)?;
                        b += theirs(&scratch, direction, block, bytes)?;
                    } else {
                        b += theirs(&scratch, direction, block, bytes)?;
                        a += ours(&scratch, direction, block, bytes)?;
                    }
                }
                let speed = |seconds: f64| (SLICES as u64 * bytes) as f64 / seconds / 1e6;
                let (a, b) = (speed(a), speed(b));
                println!("{:>6} {name:>6} {a:>10.1} {b:>10.1} {:>7.4}", size(block), a / b);
                ratios.push(a / b);
            }
            let ratio = median(&ratios);
            worst = worst.max((ratio - 1.0).abs());
            figures
                .push_str(&format!(" {name}_{}_ratio {ratio:.4}", if block == 4096 { "4k" } else { "1m" }));
        }
    }
    println!("agreement: figure worst_deviation {worst:.4}{figures}");
    Ok(())
}
