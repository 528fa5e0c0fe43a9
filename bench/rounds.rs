//! Coverage, time and width of the intervals of loads that are measured in rounds, on all kinds of modelled drives; how often two equal
//! drives are called different, and two that are 10 % apart.
//! `rounds [DRIVES [SEED]]`; prints a table and one line of figures.
#![allow(clippy::print_stdout)]

#[path = "mechanisms.rs"]
mod drives;

use std::error::Error;

use drivebench::{
    analyse::{
        Estimate, compare,
        rounds::{Piece, speed},
    },
    units::{KIB, MIB},
};
use drives::{Drive, Model, Random, names, on_all_cores};
use rand::{Rng, SeedableRng};

const BLOCKS: [(&str, u64); 2] = [("1M", MIB), ("4K", 4 * KIB)];
/// Loads of a suite; one of them is looked at.
const LOADS: u32 = 6;
const ROUNDS: usize = 7;
const PRECISION: f64 = 0.1;
/// Time of a piece, s; that of a slow medium with few operations a second; and the operations that end it then.
const PIECE: f64 = 1.3;
const LONG_PIECE: f64 = 8.0;
const OPERATIONS: u64 = 32;
/// Operations take at least so long, s: a mechanism acts on what moves in that time.
const COARSE: f64 = 0.001;
/// Rounds over which the truth is taken, after as many that are left out.
const TRUTH: usize = 200;
/// Means that differ by less are the same, as a logarithm.
const SAME: f64 = 0.02;

/// One drive measured.
struct Row {
    kind: usize,
    block: usize,
    estimate: Estimate,
    load_seconds: f64,
    wall_seconds: f64,
    /// Bytes per second.
    truth: f64,
    /// Whether one run of it and one of another drive are called different: one with the same long-run mean, and one that is 10 % faster;
    /// none where the other drive has another mean.
    differs: [Option<bool>; 2],
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let drives: u64 = arguments.next().map_or(Ok(200), |n| n.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(2026), |s| s.parse())?;
    let rows = measure_all(drives, seed);
    println!("{drives} modelled drives a row, seed {seed}\n");
    println!("{:<24} block  covers  half-width  load s  wall s  equal differ  10 % differ", "kind");
    let (mut covered, mut weak, mut worst) = (0, Vec::new(), 0.0);
    for (kind, name) in names().enumerate() {
        for (block, (size, _)) in BLOCKS.iter().enumerate() {
            let of_row: Vec<&Row> = rows.iter().filter(|r| (r.kind, r.block) == (kind, block)).collect();
            let covers =
                of_row.iter().filter(|r| (r.estimate.low..=r.estimate.high).contains(&r.truth)).count();
            let share = covers as f64 / of_row.len() as f64;
            let mut widths: Vec<f64> = of_row.iter().map(|r| r.estimate.half_width()).collect();
            widths.sort_by(f64::total_cmp);
            let mean = |of: fn(&Row) -> f64| of_row.iter().map(|r| of(r)).sum::<f64>() / of_row.len() as f64;
            let differ = |which: usize| {
                let known: Vec<bool> = of_row.iter().filter_map(|r| r.differs[which]).collect();
                known.iter().filter(|said| **said).count() as f64 / known.len().max(1) as f64
            };
            let equal = differ(0);
            println!(
                "{name:<24} {size:>5} {:>5.1} % {:>9.1} % {:>7.1} {:>7.1} {:>11.1} % {:>10.1} %",
                share * 100.0,
                widths[widths.len() / 2] * 100.0,
                mean(|r| r.load_seconds),
                mean(|r| r.wall_seconds),
                100.0 * equal,
                100.0 * differ(1),
            );
            worst = f64::max(worst, equal);
            covered += covers;
            if share < 0.9 {
                weak.push(format!("{name} {size}"));
            }
        }
    }
    println!("\nbelow 90 %: {}", weak.join(", "));
    let coverage = covered as f64 / rows.len() as f64 * 100.0;
    println!("rounds: figure coverage {coverage:.1} % worst_equal_differ {:.1} %", worst * 100.0);
    Ok(())
}

/// Measures every drive.
fn measure_all(drives: u64, seed: u64) -> Vec<Row> {
    on_all_cores((names().count() * BLOCKS.len()) as u64 * drives, |i| {
        let row = (i / drives) as usize;
        measure(row / BLOCKS.len(), row % BLOCKS.len(), i % drives, seed)
    })
}

/// Measures one drive as `baseline` does: seven rounds, and seven more where the interval is wider than the precision.
fn measure(kind: usize, block: usize, number: u64, seed: u64) -> Row {
    let seed = seed ^ (kind as u64) << 32 ^ number << 8 ^ block as u64;
    let random = &mut Random::seed_from_u64(seed);
    let model = Model::draw(kind, BLOCKS[block].1, random).coarse(COARSE);
    let (estimate, load_seconds, wall_seconds) = run(&model, random);
    let truth = mean(&model, random);
    let differs = [1.0, 1.1].map(|times| {
        let another = model.faster(times).another(random);
        let (other, ..) = run(&another, random);
        let [a, b] = [&estimate, &other].map(|one| compare::across_runs(one, None));
        let is_as_meant = (mean(&another, random) / truth / times).ln().abs() < SAME;
        is_as_meant.then(|| compare::ratio(&a, &b).is_some_and(|ratio| ratio.different))
    });
    Row { kind, block, estimate, load_seconds, wall_seconds, truth, differs }
}

/// The long-run mean under the same protocol, bytes per second.
fn mean(model: &Model, random: &mut Random) -> f64 {
    let alike = model.without_runs();
    let mut drive = Drive::start(&alike, random);
    let mut long = Vec::new();
    while long.len() < 2 * TRUTH {
        round(&mut drive, &alike, &mut long, random);
    }
    speed(&long[TRUTH..], PRECISION).map_or(0.0, |estimate| estimate.value)
}

/// One run: its estimate, and the seconds of the load and of all loads.
fn run(model: &Model, random: &mut Random) -> (Estimate, f64, f64) {
    let mut drive = Drive::start(model, random);
    let (mut pieces, mut wall) = (Vec::new(), 0.0);
    for count in [ROUNDS, 2 * ROUNDS] {
        while pieces.len() < count {
            wall += round(&mut drive, model, &mut pieces, random);
        }
        if speed(&pieces, PRECISION).is_some_and(|estimate| estimate.converged) {
            break;
        }
    }
    let estimate = speed(&pieces, PRECISION).unwrap_or_else(|| Estimate::unbounded(0.0, "nothing"));
    (estimate, pieces.iter().map(|piece| piece.seconds).sum(), wall)
}

/// One round: the piece of the load at a random place among those of the others. Returns how long it takes, s.
fn round(drive: &mut Drive<'_>, model: &Model, pieces: &mut Vec<Piece>, random: &mut Random) -> f64 {
    let before = random.random_range(0..LOADS);
    drive.rest(f64::from(before) * PIECE);
    let (mut operations, mut seconds) = (0, 0.0);
    while seconds < PIECE || operations < OPERATIONS && seconds < LONG_PIECE {
        seconds += drive.operate(random);
        operations += 1;
    }
    pieces.push(Piece { bytes: operations * model.block, seconds });
    drive.rest(f64::from(LOADS - 1 - before) * PIECE);
    f64::from(LOADS - 1) * PIECE + seconds
}
