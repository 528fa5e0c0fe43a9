//! `fuzz [NAME] [--times N]`: a million damaged inputs of each parser of foreign bytes, or of one.
//!
//! The inputs are the same each time, so a failure is found again by its number. Its input is kept in the directory for temporary
//! files: reduce it, and keep it as `tests/fixtures/fuzz/WHAT.NAME`.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

#[path = "../tests/it/support/fuzz.rs"]
mod fuzz;

use std::{
    fs,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

/// Processor time of one input, longer than any takes on a slow board.
const LONGEST: Duration = Duration::from_secs(5);

/// The processor time of this thread: other programs don't make an input slow.
fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let (mut wanted, mut times) = (None, 1_000_000);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--times" => times = args.next().ok_or("--times needs a number")?.parse()?,
            _ => wanted = Some(arg),
        }
    }
    let mut targets = fuzz::targets();
    if let Some(wanted) = &wanted {
        targets.retain(|target| target.name == wanted);
    }
    if targets.is_empty() {
        return Err("no such parser".into());
    }
    let (mut inputs, mut failures) = (0u64, 0u64);
    println!("parser       inputs  accepted   seconds     longest");
    for target in &targets {
        for sample in target.samples() {
            target.read(sample);
        }
        let (started, mut accepted, mut longest) = (Instant::now(), 0u64, Duration::ZERO);
        for n in 0..times {
            let input = target.input(n);
            let begun = processor_time();
            let outcome = catch_unwind(AssertUnwindSafe(|| target.read(&input)));
            let took = processor_time() - begun;
            accepted += u64::from(matches!(outcome, Ok(true)));
            longest = longest.max(took);
            if outcome.is_err() || took > LONGEST {
                failures += 1;
                let kept = std::env::temp_dir().join(format!("drivebench-fuzz-{n}.{}", target.name));
                fs::write(&kept, &input)?;
                println!("{} fails at input {n} after {took:.1?}: {}", target.name, kept.display());
            }
        }
        inputs += times;
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{:<10} {times:>8} {accepted:>9} {seconds:>9.1} {:>8.1} ms",
            target.name,
            longest.as_secs_f64() * 1e3
        );
        std::io::stdout().flush()?;
    }
    println!("fuzz: {failures} failures in {inputs} inputs");
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
