//! Coverage, time and width of the intervals of short spans, on all kinds of modelled drives.
//! `spans [DRIVES [SEED]]`; prints a table and one line of figures.
#![allow(clippy::print_stdout)]

#[path = "mechanisms.rs"]
mod drives;

use std::error::Error;

use drivebench::{
    analyse::{End, Estimate, Span, SpanRules},
    engine::{WINDOW_PILOT, WINDOW_SECONDS},
    units::{KIB, MIB, Window},
};
use drives::{Drive, Model, Random, names, on_all_cores};
use rand::SeedableRng;

const BLOCKS: [(&str, u64); 2] = [("1M", MIB), ("4K", 4 * KIB)];
/// Runs that the expected mean is taken over.
const TRUTH: u32 = 40;

/// One drive measured.
struct Row {
    kind: usize,
    block: usize,
    estimate: Estimate,
    seconds: f64,
    /// Bytes per second.
    truth: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let drives: u64 = arguments.next().map_or(Ok(200), |n| n.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(2026), |s| s.parse())?;
    let rows = measure_all(drives, seed);
    println!("{drives} modelled drives a row, seed {seed}\n");
    println!("{:<24} block  covers  seconds  half-width  no upper end  no interval", "kind");
    let (mut least, mut all, mut covered) = (f64::INFINITY, 0, 0);
    for (kind, name) in names().enumerate() {
        for (block, (size, _)) in BLOCKS.iter().enumerate() {
            let of_row = rows.iter().filter(|r| (r.kind, r.block) == (kind, block));
            let (given, without): (Vec<&Row>, Vec<&Row>) = of_row.partition(|r| r.estimate.low > 0.0);
            let covers =
                given.iter().filter(|r| (r.estimate.low..=r.estimate.high).contains(&r.truth)).count();
            let share = covers as f64 / given.len() as f64;
            let mut widths: Vec<f64> = given.iter().map(|r| r.estimate.half_width()).collect();
            widths.sort_by(f64::total_cmp);
            println!(
                "{name:<24} {size:>5} {:>5.0} % {:>8.1} {:>8.1} % {:>13} {:>12}",
                share * 100.0,
                given.iter().chain(&without).map(|r| r.seconds).sum::<f64>() / drives as f64,
                widths.get(widths.len() / 2).unwrap_or(&f64::NAN) * 100.0,
                given.iter().filter(|r| r.estimate.high.is_infinite()).count(),
                without.len(),
            );
            least = least.min(share);
            all += given.len();
            covered += covers;
        }
    }
    println!(
        "\nspans: figure coverage {:.1} % min_coverage {:.1} % mean_seconds {:.1}",
        covered as f64 / all as f64 * 100.0,
        least * 100.0,
        rows.iter().map(|r| r.seconds).sum::<f64>() / rows.len() as f64,
    );
    Ok(())
}

/// Measures every drive.
fn measure_all(drives: u64, seed: u64) -> Vec<Row> {
    on_all_cores((names().count() * BLOCKS.len()) as u64 * drives, |i| {
        let row = (i / drives) as usize;
        measure(row / BLOCKS.len(), row % BLOCKS.len(), i % drives, seed)
    })
}

/// Measures one drive as `baseline` does, with the rule's standard limits.
fn measure(kind: usize, block: usize, number: u64, seed: u64) -> Row {
    let seed = seed ^ (kind as u64) << 32 ^ number << 8 ^ block as u64;
    let random = &mut Random::seed_from_u64(seed);
    let model = Model::draw(kind, BLOCKS[block].1, random);
    let mut drive = Drive::start(&model, random);
    let mut span = Span::new(&SpanRules::standard());
    let (mut join, mut pilot, mut at_ns) = (1, Vec::new(), 0);
    loop {
        let seconds: f64 = (0..join).map(|_| drive.operate(random)).sum();
        let to_ns = at_ns + (seconds * 1e9).round() as u64;
        let window =
            Window { from_ns: at_ns, to_ns, bytes: model.block * join, ops: join, ..Window::default() };
        at_ns = to_ns;
        if span.push(&window).stops() {
            break;
        }
        if join == 1 {
            pilot.push(seconds);
            join = joined(&mut pilot);
        }
    }
    let done = span.finish(End::Complete);
    let truth = model.over(done.seconds, TRUTH, random) * MIB as f64;
    Row { kind, block, estimate: done.estimate, seconds: done.seconds, truth }
}

/// How many operations the engines join to a window after these: one until enough were seen.
fn joined(pilot: &mut [f64]) -> u64 {
    if pilot.len() as u64 != WINDOW_PILOT {
        return 1;
    }
    pilot.sort_by(f64::total_cmp);
    let joined = (WINDOW_SECONDS / pilot[pilot.len() / 2]).ceil().max(1.0);
    (joined as u64).next_power_of_two()
}
