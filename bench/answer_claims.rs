//! The two claims, a speed that is sustained and one over a span, on drives of all mechanisms.

use drivebench::{
    analyse::{Adaptive, Rules},
    units::{Ended, MIB, Window},
};
use rand::SeedableRng;

use crate::{
    drives::Subject,
    mechanisms::{Drive, Model, Random, names},
    methods::{self, Method},
};

/// Runs that the expected mean over a span is taken from.
const RUNS: u32 = 20;
/// Most time of a load, s: in a run of two, and of the six of `baseline`.
const SECONDS: [f64; LEVELS] = [900.0, 3600.0, 1200.0];
pub const LEVELS: usize = 3;
/// The level at which bytes are not limited, as of reads.
const UNLIMITED: usize = 2;
/// Three runs of 1 GiB.
const USUAL: u64 = 3 * 1024;

/// One drive measured at one level, and what was claimed.
pub struct Claim {
    pub kind: usize,
    pub level: usize,
    /// Whether it is said that the speed is sustained; otherwise it is that of the span.
    pub sustained: bool,
    /// Of spans of reads nothing: they are judged by the other levels, and by `spans`.
    pub holds: Option<bool>,
    pub half_width: f64,
    pub bytes: f64,
    pub seconds: f64,
    /// The time of three runs of 1 GiB.
    pub usual: f64,
}

pub fn levels() -> [(&'static str, Rules); LEVELS] {
    let reads = Rules { budget: 1 << 20, give_up: None, ..Rules::thorough() };
    [("default", Rules::standard()), ("--thorough, writes", Rules::thorough()), ("--thorough, reads", reads)]
}

/// The kinds of `answer_drives.rs`, then those of `mechanisms.rs`.
pub fn kinds() -> Vec<&'static str> {
    crate::drives::KINDS.into_iter().chain(names().skip(SHARED)).collect()
}

/// The first kinds of both are the same mechanisms.
const SHARED: usize = 9;

/// Measures drive `number` of a kind at each level.
pub fn measure(kind: usize, number: u64, seed: u64) -> Vec<Claim> {
    match kind.checked_sub(crate::drives::KINDS.len()) {
        Some(mechanism) => mechanism_claims(kind, mechanism + SHARED, number, seed),
        None => modelled_claims(kind, number, seed),
    }
}

/// As a run measures it: planned, carried out, recorded, read back.
fn modelled_claims(kind: usize, number: u64, seed: u64) -> Vec<Claim> {
    let subject: Subject = crate::drives::draw(kind, number, seed);
    let seed = seed ^ (kind as u64) << 32 ^ number << 8;
    let usual = methods::seconds_of(&subject, USUAL * MIB, seed).unwrap_or(f64::NAN);
    let claim = |(level, (_, rules)): (usize, (&str, Rules))| {
        let answer = Method::Adaptive(rules, SECONDS[level]).measure(&subject, seed ^ level as u64).ok()?;
        let (low, high) = answer.interval?;
        let truth = match answer.sustained || subject.rotates {
            true => Some(subject.truth),
            false if level == UNLIMITED => None,
            false => {
                let runs = (1..=u64::from(RUNS)).filter_map(|run| {
                    methods::seconds_of(&subject, answer.bytes as u64, seed ^ run << 40).ok()
                });
                Some(answer.bytes * f64::from(RUNS) / runs.sum::<f64>())
            }
        };
        Some(Claim {
            kind,
            level,
            sustained: answer.sustained,
            holds: truth.map(|truth| (low..=high).contains(&truth)),
            half_width: (high - low) / 2.0 / answer.value,
            bytes: answer.bytes,
            seconds: answer.seconds,
            usual,
        })
    };
    levels().into_iter().enumerate().filter_map(claim).collect()
}

/// As the rule measures it, in blocks of 1 MiB.
fn mechanism_claims(kind: usize, mechanism: usize, number: u64, seed: u64) -> Vec<Claim> {
    let random = &mut Random::seed_from_u64(seed ^ (mechanism as u64) << 32 ^ number << 8);
    let model = Model::draw(mechanism, MIB, random);
    let mut sustained = None;
    let mut drive = Drive::start(&model, random);
    let usual = (0..USUAL).map(|_| drive.operate(random)).sum();
    let mut all = Vec::new();
    for (level, (_, rules)) in levels().into_iter().enumerate() {
        let mut drive = Drive::start(&model, random);
        let mut rule = Adaptive::new(&rules, SECONDS[level]);
        let (mut at_ns, mut bytes) = (0, 0);
        while bytes < rules.budget * MIB && (at_ns as f64) < SECONDS[level] * 1e9 {
            let to_ns = at_ns + (drive.operate(random) * 1e9).round() as u64;
            let window = Window { from_ns: at_ns, to_ns, bytes: MIB, ops: 1, ..Window::default() };
            (at_ns, bytes) = (to_ns, bytes + MIB);
            if rule.push(&window).stops() {
                break;
            }
        }
        let done = rule.finish(Some(&Ended::Finished));
        let estimate = done.estimate;
        let truth = match estimate.converged {
            true => Some(*sustained.get_or_insert_with(|| model.sustained(random))),
            false if level == UNLIMITED => None,
            false => Some(model.over(done.seconds, RUNS, random)),
        };
        all.push(Claim {
            kind,
            level,
            sustained: estimate.converged,
            holds: truth.map(|truth| (estimate.low..=estimate.high).contains(&(truth * MIB as f64))),
            half_width: estimate.half_width(),
            bytes: bytes as f64,
            seconds: done.seconds,
            usual,
        });
    }
    all
}

/// One row of the table, and its share of wrong claims that a speed is sustained, and of spans that hold.
pub fn row(of: &[&Claim]) -> (String, Option<f64>, Option<f64>) {
    let (said, spans): (Vec<&Claim>, Vec<&Claim>) = of.iter().partition(|claim| claim.sustained);
    let share = |of: &[&Claim]| {
        let judged: Vec<bool> = of.iter().filter_map(|claim| claim.holds).collect();
        let holds = judged.iter().filter(|holds| **holds).count() as f64;
        (!judged.is_empty()).then(|| holds / judged.len() as f64)
    };
    let (wrong, covers) = (share(&said).map(|holds| 1.0 - holds), share(&spans));
    let mean = |value: fn(&Claim) -> f64| of.iter().map(|c| value(c)).sum::<f64>() / of.len() as f64;
    let median = |of: &[&Claim]| {
        let mut widths: Vec<f64> = of.iter().map(|c| c.half_width).collect();
        widths.sort_by(f64::total_cmp);
        widths.get(widths.len() / 2).copied()
    };
    let cell = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{:.1}", x * 100.0));
    let said_share = said.len() as f64 / of.len() as f64;
    let cells = [
        cell(Some(said_share)),
        cell(wrong),
        cell(median(&said)),
        cell(covers),
        cell(median(&spans)),
        format!("{:.0}", mean(|c| c.bytes) / MIB as f64),
        format!("{:.0}", mean(|c| c.seconds)),
        format!("{:.0}", mean(|c| c.usual)),
    ];
    (cells.join(" | "), wrong, covers)
}
