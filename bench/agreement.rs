//! Throughput beside fio's: sequential direct reads and writes of 4 KiB and 1 MiB on the same file, in turn, five pairs.
#![allow(clippy::print_stdout)]

mod pairs;

use drivebench::{
    engine::Flow,
    units::{Direction, MIB, Pattern, size},
};
use pairs::{Result, Scratch, fio, load, median};

const PAIRS: usize = 5;

/// Each run of a pair is cut into slices that alternate, so that a drive whose speed wanders is the same for both.
const SLICES: usize = 2;

/// A slice lasts seconds: processor and virtual machine take some tenths of one to get going, and fio has had them
/// before its clock starts.
const SLICE_SECONDS: f64 = 3.0;

/// A slice's seconds.
fn theirs(scratch: &Scratch, direction: Direction, block: u64, bytes: u64) -> Result<f64> {
    let (rw, first) = if direction == Direction::Read { ("read", 5) } else { ("write", 46) };
    let args = [
        "--ioengine=psync".to_owned(),
        format!("--rw={rw}"),
        format!("--bs={block}"),
        format!("--io_size={bytes}"),
        // It would rewrite a little of every 512 B before each write, within the time that it measures: 10 to 20 % of
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

fn ours(scratch: &Scratch, direction: Direction, block: u64, bytes: u64) -> Result<f64> {
    let load = load(direction, Pattern::Sequential, block, 1);
    Ok(scratch.run(&load, None, bytes, &mut |_| Flow::Continue)?.seconds)
}

fn main() -> Result<()> {
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
                    // Whoever goes second may find a warmer drive: take turns.
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
