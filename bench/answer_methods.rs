//! Methods to measure a drive: drivebench's own and common ones for comparison.

use drivebench::{
    analyse::{Estimate, Rules, repeat},
    engine::{Cancel, Engine, EngineError, Flow, Job},
    experiments::{BASELINE, LoadName},
    findings::Claim,
    record::Event,
    units::{Caching, Direction, Extent, Load, MIB, Pattern, Window},
};
use drivebench_modelled::sim::{Board, Model, Sim};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{drives::Subject, modelled};

/// A method.
pub enum Method {
    /// drivebench, with the most seconds it may take.
    Adaptive(Rules, f64),
    /// Whole runs of so many MiB each and Student's interval.
    Runs { runs: usize, mib: u64 },
    /// Samples of 0.5 s treated as independent, Student's interval, stopped as soon as it is narrow enough.
    Naive,
    /// fio's steadystate over 30 samples of 1 s.
    Fio(Steadystate),
    /// SNIA's performance test: rounds of a minute until five of them agree.
    Snia,
}

/// fio's `steadystate=`.
pub enum Steadystate {
    /// `bw:10%`: no sample is farther from the mean.
    Deviation(f64),
    /// `bw_slope:0.3%`: the slope per second.
    Slope(f64),
}

/// The result of a method.
pub struct Answer {
    pub value: f64,
    /// Absent where the method gives none.
    pub interval: Option<(f64, f64)>,
    pub bytes: f64,
    pub seconds: f64,
    pub converged: bool,
    /// Whether it claims what the drive sustains, not what it did over a span.
    pub sustained: bool,
}

impl Method {
    /// Measures a fresh copy of the drive; `seed` decides what happens during it.
    pub fn measure(&self, subject: &Subject, seed: u64) -> Result<Answer, EngineError> {
        match self {
            Self::Adaptive(rules, seconds) => measure(subject, rules, *seconds, seed),
            Self::Runs { runs, mib } => fixed(subject, *runs, *mib, seed),
            Self::Naive => sampled(subject, 3072 * MIB, 0.5, seed, naive),
            Self::Fio(rule) => sampled(subject, 3072 * MIB, 1.0, seed, |rates| steadystate(rule, rates)),
            Self::Snia => sampled(subject, 1 << 38, 60.0, seed, snia),
        }
    }
}

/// drivebench's own method, as in a run: plan, execute, record, and read the findings from the record.
/// A write in blocks of 1 MiB, the unit of the study; on disks that rotate a read of the whole device.
fn measure(subject: &Subject, rules: &Rules, seconds: f64, seed: u64) -> Result<Answer, EngineError> {
    let target = modelled::target("model", subject.model.capacity, subject.rotates);
    let load = if subject.rotates { LoadName::Read } else { LoadName::Write };
    let mut asked = modelled::only(load, modelled::ask(vec![target], rules.clone(), MIB));
    asked.effort.max_seconds = seconds;
    let board = Board { drives: vec![subject.model.clone()], buses: Vec::new(), seed };
    let record = modelled::carry_out(&modelled::plan(&asked)?, &board)?;
    let (mut bytes, mut seconds) = (0, 0.0);
    for event in &record {
        if let Event::Outcome { outcome, .. } = event {
            bytes += outcome.bytes_read + outcome.bytes_written;
            seconds += outcome.seconds;
        }
    }
    let findings = BASELINE.findings(&mut record.into_iter());
    Ok(findings.estimates.first().map_or_else(nothing, |n| {
        let answer = answer(&n.estimate, bytes as f64, seconds);
        Answer { sustained: n.claim() == Some(Claim::Sustained), ..answer }
    }))
}

fn fixed(subject: &Subject, runs: usize, mib: u64, seed: u64) -> Result<Answer, EngineError> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut rates = Vec::new();
    let mut seconds = 0.0;
    for i in 0..runs {
        let mut model = subject.model.clone();
        if let Some(cache) = &mut model.cache {
            // Between runs the cache had time to drain, at least partly.
            cache.free = if i == 0 { 1.0 } else { random.random() };
        }
        let took = run(&mut open(&model, random.random())?, 0, mib * MIB, |_| Flow::Continue)?;
        rates.push((mib * MIB) as f64 / took);
        seconds += took;
    }
    let estimate = repeat::mean(&rates);
    Ok(estimate.map_or_else(nothing, |e| answer(&e, (runs as u64 * mib * MIB) as f64, seconds)))
}

/// The verdict of a rule on the rates so far: whether it stops, and the result.
struct Verdict {
    content: bool,
    value: f64,
    interval: Option<(f64, f64)>,
}

/// One long run in samples of `interval` seconds until `rule` stops.
fn sampled(
    subject: &Subject,
    most: u64,
    interval: f64,
    seed: u64,
    rule: impl Fn(&[f64]) -> Option<Verdict>,
) -> Result<Answer, EngineError> {
    let mut rates = Vec::new();
    let (mut bytes, mut last, mut seconds) = (0.0, 0.0, 0.0);
    let mut found = None;
    run(&mut open(&subject.model, seed)?, 0, most, |w| {
        let until = w.to_ns as f64 / 1e9;
        while found.is_none() && (rates.len() + 1) as f64 * interval <= until {
            let at = (rates.len() + 1) as f64 * interval;
            let moved = bytes + w.bytes as f64 * (at - seconds) / (until - seconds);
            rates.push((moved - last) / interval);
            last = moved;
            found = rule(&rates).filter(|v| v.content).map(|v| (v, moved, at));
        }
        bytes += w.bytes as f64;
        seconds = until;
        flow(found.is_some() || interval >= 60.0 && rates.len() >= 25)
    })?;
    // A run that ends before the rule stops still has a mean.
    let plain = || Verdict { content: false, value: bytes / seconds, interval: None };
    let (verdict, bytes, seconds) = match found {
        Some(found) => found,
        None => (rule(&rates).unwrap_or_else(plain), bytes, seconds),
    };
    Ok(Answer {
        value: verdict.value,
        interval: verdict.interval,
        bytes,
        seconds,
        converged: verdict.content,
        sustained: verdict.content,
    })
}

fn naive(rates: &[f64]) -> Option<Verdict> {
    let e = repeat::mean(rates)?;
    let content = rates.len() >= 10 && e.high - e.value <= 0.05 * e.value;
    Some(Verdict { content, value: e.value, interval: Some((e.low, e.high)) })
}

fn steadystate(rule: &Steadystate, rates: &[f64]) -> Option<Verdict> {
    let window = last(rates, 30)?;
    let value = window.iter().sum::<f64>() / 30.0;
    let content = match rule {
        Steadystate::Deviation(most) => window.iter().all(|r| (r - value).abs() < most * value),
        Steadystate::Slope(most) => slope(window).abs() < most * value,
    };
    Some(Verdict { content, value, interval: None })
}

/// Highest less lowest within 20 % of the mean, and the line's ends within 10 %.
fn snia(rates: &[f64]) -> Option<Verdict> {
    let window = last(rates, 5)?;
    let e = repeat::mean(window)?;
    let spread =
        window.iter().copied().fold(f64::MIN, f64::max) - window.iter().copied().fold(f64::MAX, f64::min);
    let content = spread <= 0.2 * e.value && slope(window).abs() * 4.0 <= 0.1 * e.value;
    Some(Verdict { content, value: e.value, interval: content.then_some((e.low, e.high)) })
}

fn last(rates: &[f64], n: usize) -> Option<&[f64]> {
    rates.len().checked_sub(n).map(|from| &rates[from..])
}

/// Least squares, per sample.
fn slope(y: &[f64]) -> f64 {
    let middle = (y.len() - 1) as f64 / 2.0;
    let (mut up, mut down) = (0.0, 0.0);
    for (i, y) in y.iter().enumerate() {
        let x = i as f64 - middle;
        up += x * y;
        down += x * x;
    }
    up / down
}

fn open(model: &Model, seed: u64) -> Result<Sim, EngineError> {
    Sim::new(&Board { drives: vec![model.clone()], seed, ..Board::default() })
}

/// A sequential write of `bytes` from `offset` on; returns its seconds.
fn run(
    sim: &mut Sim,
    offset: u64,
    bytes: u64,
    mut watch: impl FnMut(&Window) -> Flow,
) -> Result<f64, EngineError> {
    let load = Load::new(Direction::Write, Pattern::Sequential, MIB, Caching::Direct, 1);
    let job = Job { target: 0, load, extent: Extent { offset, length: bytes }, begin: 0, bytes, window: MIB };
    let outcomes = sim.run(&[job], &Cancel::default(), &mut |_, w| watch(w))?;
    Ok(outcomes.iter().map(|o| o.seconds).sum())
}

/// How long one of its runs takes to write so many bytes in order, s.
pub fn seconds_of(subject: &Subject, bytes: u64, seed: u64) -> Result<f64, EngineError> {
    run(&mut open(&subject.model, seed)?, 0, bytes, |_| Flow::Continue)
}

fn flow(stop: bool) -> Flow {
    if stop { Flow::Stop } else { Flow::Continue }
}

fn answer(e: &Estimate, bytes: f64, seconds: f64) -> Answer {
    let (interval, sustained) = (Some((e.low, e.high)), e.converged);
    Answer { value: e.value, interval, bytes, seconds, converged: e.converged, sustained }
}

fn nothing() -> Answer {
    Answer { value: 0.0, interval: None, bytes: 0.0, seconds: 0.0, converged: false, sustained: false }
}
