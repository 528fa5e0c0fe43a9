//! Throughput beside fio's: sequential direct reads and writes of 4 KiB and 1 MiB on the same file, in turn, five pairs.
#![allow(clippy::print_stdout)]

mod pairs;

use drivebench::{
    engine::Flow,
    units::{Direction, Pattern, size},
};
use pairs::{Result, Scratch, fio, load, median};

const PAIRS: usize = 5;

fn theirs(scratch: &Scratch, direction: Direction, block: u64) -> Result<f64> {
    let (rw, first) = if direction == Direction::Read { ("read", 5) } else { ("write", 46) };
    let args = ["--ioengine=psync".to_owned(), format!("--rw={rw}"), format!("--bs={block}")];
    let fields = fio(scratch, &args)?;
    let (kib, milliseconds): (f64, f64) = (fields[first].parse()?, fields[first + 3].parse()?);
    Ok(kib * 1024.0 / milliseconds * 1e3)
}

fn ours(scratch: &Scratch, direction: Direction, block: u64) -> Result<f64> {
    let load = load(direction, Pattern::Sequential, block, 1);
    let outcome = scratch.run(&load, None, scratch.size, &mut |_| Flow::Continue)?;
    Ok((outcome.bytes_read + outcome.bytes_written) as f64 / outcome.seconds)
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
            for pair in 0..PAIRS {
                // Whoever goes second may find a warmer drive: take turns.
                let (a, b) = if pair % 2 == 0 {
                    let a = ours(&scratch, direction, block)?;
                    (a, theirs(&scratch, direction, block)?)
                } else {
                    let b = theirs(&scratch, direction, block)?;
                    (ours(&scratch, direction, block)?, b)
                };
                println!("{:>6} {name:>6} {:>10.1} {:>10.1} {:>7.4}", size(block), a / 1e6, b / 1e6, a / b);
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
