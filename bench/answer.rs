//! Error, coverage and cost of drivebench's method on drives of known speed, compared with common methods.
//! `answer [DRIVES [SEED]]`; prints a table of methods, one of drivebench's two claims, and one line of figures.
#![allow(clippy::print_stdout)]

#[path = "answer_claims.rs"]
mod claims;
#[path = "answer_drives.rs"]
mod drives;
#[path = "mechanisms.rs"]
mod mechanisms;
#[path = "answer_methods.rs"]
mod methods;
#[path = "../tests/it/support/modelled.rs"]
mod modelled;

use std::error::Error;

use claims::{Claim, LEVELS};
use drivebench::{analyse::Rules, engine::EngineError, units::MIB};
use methods::{Answer, Method, Steadystate};

/// The number of kinds of drives with promised results.
const PROMISED: usize = 6;
/// Positions in [`methods`] of the methods in the figures.
const OWN: usize = 0;
const REFERENCE: usize = 3;

fn methods() -> Vec<(&'static str, Method)> {
    const ANY_TIME: f64 = 1e9;
    let stubborn = Rules { give_up: None, ..Rules::standard() };
    vec![
        ("drivebench", Method::Adaptive(Rules::standard(), ANY_TIME)),
        ("drivebench, never gives up", Method::Adaptive(stubborn, ANY_TIME)),
        ("drivebench --quick", Method::Adaptive(Rules::quick(), ANY_TIME)),
        ("3 runs of 1 GiB", Method::Runs { runs: 3, mib: 1024 }),
        ("10 runs of 1 GiB", Method::Runs { runs: 10, mib: 1024 }),
        ("naive, sequential", Method::Naive),
        ("fio steadystate bw:10%", Method::Fio(Steadystate::Deviation(0.10))),
        ("fio bw_slope:0.3%", Method::Fio(Steadystate::Slope(0.003))),
        ("SNIA rounds", Method::Snia),
    ]
}

/// One drive measured by all methods.
struct Row {
    kind: usize,
    truth: f64,
    answers: Vec<Answer>,
}

/// The results of a method on one kind of drives.
struct Worth {
    bytes: f64,
    seconds: f64,
    median: f64,
    worst: f64,
    coverage: Option<f64>,
    wrong: Option<f64>,
    converged: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let drives: u64 = arguments.next().map_or(Ok(100), |n| n.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(2026), |s| s.parse())?;
    let kinds = drives::KINDS.len();
    let rows: Vec<Row> = measure_all(kinds, drives, |kind, number| measure(kind, number, seed))
        .into_iter()
        .collect::<Result<_, _>>()?;
    let names = methods();
    let mut worths = Vec::new();
    println!("{drives} modelled drives a kind, seed {seed}; errors and intervals against the known truth\n");
    for (kind, title) in drives::KINDS.iter().enumerate() {
        let rows: Vec<&Row> = rows.iter().filter(|r| r.kind == kind).collect();
        println!("{title:<27}     MiB        s  median|e| 95th|e|  covers  wrong if converged  converged");
        let of_kind: Vec<Worth> = (0..names.len()).map(|m| worth(&rows, m)).collect();
        for ((name, _), w) in names.iter().zip(&of_kind) {
            let share = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{:.1} %", x * 100.0));
            println!(
                "  {name:<26} {:>6.0} {:>8.1} {:>7.2} % {:>6.1} % {:>8} {:>19} {:>10}",
                w.bytes / MIB as f64,
                w.seconds,
                w.median * 100.0,
                w.worst * 100.0,
                share(w.coverage),
                share(w.wrong),
                share(Some(w.converged)),
            );
        }
        println!();
        worths.push(of_kind);
    }
    let (wrong, covers) = print_claims(drives, seed);
    let own: Vec<&Worth> = worths[..PROMISED].iter().map(|w| &w[OWN]).collect();
    let reference: Vec<&Worth> = worths[..PROMISED].iter().map(|w| &w[REFERENCE]).collect();
    let ratio = |of: fn(&Worth) -> f64| {
        own.iter().zip(&reference).map(|(a, b)| of(a) / of(b)).sum::<f64>() / PROMISED as f64
    };
    println!(
        "answer: figure min_coverage {:.1} % max_wrong_if_sustained {:.1} % min_span_coverage {:.1} % mean_bytes_ratio {:.3} mean_time_ratio {:.3}",
        own.iter().filter_map(|w| w.coverage).fold(1.0, f64::min) * 100.0,
        wrong * 100.0,
        covers * 100.0,
        ratio(|w| w.bytes),
        ratio(|w| w.seconds),
    );
    Ok(())
}

/// The table of both claims; gives the worst share of wrong claims of any kind, and the least coverage of spans.
fn print_claims(drives: u64, seed: u64) -> (f64, f64) {
    let kinds = claims::kinds();
    let all: Vec<Claim> =
        measure_all(kinds.len(), drives, |kind, number| claims::measure(kind, number, seed))
            .into_iter()
            .flatten()
            .collect();
    println!(
        "said: sustained speeds said, and how many of those are wrong; covers: spans where it isn't said (%)"
    );
    println!("half-widths are medians (%); MiB and s are means, the last s is that of three runs of 1 GiB\n");
    let (mut worst, mut least) = (0.0, 1.0);
    for (level, (name, _)) in claims::levels().iter().enumerate().take(LEVELS) {
        println!(
            "| {name} | said | wrong if said | half-width | covers | half-width | MiB | s | s of 3 GiB |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
        for (kind, title) in kinds.iter().enumerate() {
            let of: Vec<&Claim> = all.iter().filter(|c| (c.kind, c.level) == (kind, level)).collect();
            let (cells, wrong, covers) = claims::row(&of);
            println!("| {title} | {cells} |");
            worst = f64::max(worst, wrong.unwrap_or(0.0));
            least = f64::min(least, covers.unwrap_or(1.0));
        }
        println!();
    }
    (worst, least)
}

/// Measures one drive by every method.
fn measure(kind: usize, number: u64, seed: u64) -> Result<Row, EngineError> {
    let subject = drives::draw(kind, number, seed);
    let i = number * drives::KINDS.len() as u64 + kind as u64;
    let answers = methods()
        .iter()
        .zip(1u64..)
        .map(|((_, method), m)| method.measure(&subject, seed ^ (i << 8) ^ (m << 56)))
        .collect::<Result<_, _>>()?;
    Ok(Row { kind, truth: subject.truth, answers })
}

/// Measures every drive, in the order of kinds and numbers.
fn measure_all<T: Send>(kinds: usize, drives: u64, measure: impl Fn(usize, u64) -> T + Sync) -> Vec<T> {
    mechanisms::on_all_cores(kinds as u64 * drives, |i| measure((i / drives) as usize, i % drives))
}

fn worth(rows: &[&Row], method: usize) -> Worth {
    let n = rows.len().max(1) as f64;
    let answers: Vec<(&Answer, f64)> = rows.iter().map(|r| (&r.answers[method], r.truth)).collect();
    let mut errors: Vec<f64> = answers.iter().map(|(a, truth)| (a.value / truth - 1.0).abs()).collect();
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| errors.get(((errors.len() as f64 * share) as usize).min(errors.len() - 1)).copied();
    let covers: Vec<(bool, bool)> = answers
        .iter()
        .filter_map(|(a, truth)| a.interval.map(|(low, high)| (low <= *truth && *truth <= high, a.converged)))
        .collect();
    let given = !covers.is_empty();
    let count = |of: &dyn Fn(&(bool, bool)) -> bool| covers.iter().filter(|c| of(c)).count() as f64;
    Worth {
        bytes: answers.iter().map(|(a, _)| a.bytes).sum::<f64>() / n,
        seconds: answers.iter().map(|(a, _)| a.seconds).sum::<f64>() / n,
        median: at(0.5).unwrap_or(f64::NAN),
        worst: at(0.95).unwrap_or(f64::NAN),
        coverage: given.then(|| count(&|c| c.0) / covers.len() as f64),
        wrong: Some(count(&|c| !c.0 && c.1) / count(&|c| c.1)).filter(|share| share.is_finite()),
        converged: answers.iter().filter(|(a, _)| a.converged).count() as f64 / n,
    }
}
