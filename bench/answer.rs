//! Error, coverage and cost of drivebench's method on drives of known speed, compared with common methods.
//! `answer [DRIVES [SEED]]`; prints a table and one line of figures.
#![allow(clippy::print_stdout)]

#[path = "answer_drives.rs"]
mod drives;
#[path = "answer_methods.rs"]
mod methods;
#[path = "../tests/support/modelled.rs"]
mod modelled;

use std::{
    error::Error,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use drivebench::{analyse::Rules, engine::EngineError, units::MIB};
use methods::{Answer, Method, Steadystate};

/// The number of kinds of drives with promised results.
const PROMISED: usize = 6;
/// Positions in [`methods`] of the methods in the figures.
const OWN: usize = 0;
const REFERENCE: usize = 3;

fn methods() -> Vec<(&'static str, Method)> {
    vec![
        ("drivebench", Method::Adaptive(Rules::standard())),
        ("drivebench, never gives up", Method::Adaptive(Rules { give_up: None, ..Rules::standard() })),
        ("drivebench --quick", Method::Adaptive(Rules::quick())),
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
    number: u64,
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
    let drives: u64 = arguments.next().map_or(Ok(1000), |n| n.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(2026), |s| s.parse())?;
    let rows = measure_all(drives, seed)?;
    let names = methods();
    let mut worths = Vec::new();
    println!("{drives} modelled drives a kind, seed {seed}; errors and intervals against the known truth\n");
    for (kind, title) in drives::KINDS.iter().enumerate() {
        let rows: Vec<&Row> = rows.iter().filter(|r| r.kind == kind).collect();
        println!("{title:<27}     MiB        s  median|e| 95th|e|  covers  wrongly converged  converged");
        let of_kind: Vec<Worth> = (0..names.len()).map(|m| worth(&rows, m)).collect();
        for ((name, _), w) in names.iter().zip(&of_kind) {
            let share = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{:.1} %", x * 100.0));
            println!(
                "  {name:<26} {:>6.0} {:>8.1} {:>7.2} % {:>6.1} % {:>8} {:>18} {:>10}",
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
    let own: Vec<&Worth> = worths[..PROMISED].iter().map(|w| &w[OWN]).collect();
    let reference: Vec<&Worth> = worths[..PROMISED].iter().map(|w| &w[REFERENCE]).collect();
    let ratio = |of: fn(&Worth) -> f64| {
        own.iter().zip(&reference).map(|(a, b)| of(a) / of(b)).sum::<f64>() / PROMISED as f64
    };
    println!(
        "answer: figure min_coverage {:.1} % max_wrongly_converged {:.1} % mean_bytes_ratio {:.3} mean_time_ratio {:.3}",
        own.iter().filter_map(|w| w.coverage).fold(1.0, f64::min) * 100.0,
        own.iter().filter_map(|w| w.wrong).fold(0.0, f64::max) * 100.0,
        ratio(|w| w.bytes),
        ratio(|w| w.seconds),
    );
    Ok(())
}

/// Measures every drive by every method, on all cores; the result doesn't depend on their number.
fn measure_all(drives: u64, seed: u64) -> Result<Vec<Row>, EngineError> {
    let next = AtomicU64::new(0);
    let kinds = drives::KINDS.len() as u64;
    let work = || {
        let methods = methods();
        let mut rows = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= drives * kinds {
                return Ok(rows);
            }
            let (kind, number) = ((i % kinds) as usize, i / kinds);
            let subject = drives::draw(kind, number, seed);
            let answers = methods
                .iter()
                .zip(1u64..)
                .map(|((_, method), m)| method.measure(&subject, seed ^ (i << 8) ^ (m << 56)));
            let answers = answers.collect::<Result<_, _>>()?;
            rows.push(Row { kind, number, truth: subject.truth, answers });
        }
    };
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    let all: Result<Vec<Vec<Row>>, EngineError> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut rows: Vec<Row> = all?.into_iter().flatten().collect();
    rows.sort_by_key(|r| (r.kind, r.number));
    Ok(rows)
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
        wrong: given.then(|| count(&|c| !c.0 && c.1) / n),
        converged: answers.iter().filter(|(a, _)| a.converged).count() as f64 / n,
    }
}
