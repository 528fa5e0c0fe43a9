//! One measurement: loads from one start, each stopped when its rule says that it is enough.

use super::zones;
use crate::{
    analyse::{Adaptive, Estimate},
    engine::{Cancel, Engine, EngineError, Flow, Job, Outcome},
    plan::{Measure, Rule},
    units::{Extent, Place, Window},
};

/// A target as the engine sees it: engines are opened over the sites in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// Position of the target in the plan.
    pub target: usize,
    /// The part that may be touched.
    pub extent: Extent,
}

/// How far a load has come.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress<'a> {
    /// Position of the target in the plan.
    pub target: usize,
    /// What is measured.
    pub measure: &'a Measure,
    /// Bytes moved.
    pub bytes: u64,
    /// Seconds since the start.
    pub seconds: f64,
    /// Speed of the last window, bytes per second.
    pub speed: f64,
    /// What is known so far, where the rule estimates while it runs.
    pub estimate: Option<Estimate>,
    /// Stalls seen so far.
    pub stalls: usize,
    /// Cliffs seen so far.
    pub cliffs: usize,
}

/// What can be seen of a measurement while it runs.
#[derive(Debug)]
pub enum Seen<'a> {
    /// A window closed.
    Window {
        /// Position of the target in the plan.
        target: usize,
        /// The position on the disk, in a zone measurement.
        zone: Option<Place>,
        /// The window.
        window: &'a Window,
    },
    /// How far it has come, after that window.
    Progress(Progress<'a>),
    /// A load ended.
    Outcome {
        /// Position of the target in the plan.
        target: usize,
        /// The position on the disk, in a zone measurement.
        zone: Option<Place>,
        /// What it did.
        outcome: &'a Outcome,
    },
}

/// Shown everything; says whether to go on.
pub type Show<'a> = dyn FnMut(Seen<'_>) -> Flow + 'a;

/// Runs a measurement and returns the outcomes in the order of `sites`.
///
/// # Errors
/// Where the engine refuses; an operation that fails is an outcome.
pub fn measure(
    engine: &mut dyn Engine,
    m: &Measure,
    sites: &[Site],
    cancel: &Cancel,
    show: &mut Show<'_>,
) -> Result<Vec<Outcome>, EngineError> {
    match &m.rule {
        Rule::Zones { precision, seconds } => {
            zones::measure(engine, m, (*precision, *seconds), sites, cancel, show)
        }
        Rule::Fixed { bytes, seconds } => {
            let most = seconds.unwrap_or(f64::INFINITY);
            let rule =
                &mut |_, w: &Window| Enough { stop: w.to_ns as f64 / 1e9 >= most, ..Enough::default() };
            run(engine, m, sites, *bytes, cancel, show, rule)
        }
        Rule::Adaptive { rules, seconds, .. } | Rule::Again { rules, seconds, .. } => {
            let bytes = match m.rule {
                Rule::Adaptive { bytes, .. } => bytes,
                _ => {
                    sites.iter().map(|site| site.extent.length).min().unwrap_or(0) / m.load.block
                        * m.load.block
                }
            };
            let mut rule: Vec<Adaptive> = sites.iter().map(|_| Adaptive::new(rules)).collect();
            run(engine, m, sites, bytes, cancel, show, &mut |at, window| {
                let decided = rule[at].push(window).stops();
                Enough {
                    stop: decided || window.to_ns as f64 / 1e9 >= *seconds,
                    estimate: rule[at].progress(),
                    stalls: rule[at].stalls_seen(),
                    cliffs: rule[at].cliffs_seen(),
                }
            })
        }
    }
}

/// What a rule says after a window.
#[derive(Default)]
struct Enough {
    stop: bool,
    estimate: Option<Estimate>,
    stalls: usize,
    cliffs: usize,
}

fn run(
    engine: &mut dyn Engine,
    m: &Measure,
    sites: &[Site],
    bytes: u64,
    cancel: &Cancel,
    show: &mut Show<'_>,
    rule: &mut dyn FnMut(usize, &Window) -> Enough,
) -> Result<Vec<Outcome>, EngineError> {
    let job = |(at, site): (usize, &Site)| Job {
        target: at,
        load: m.load.clone(),
        extent: site.extent,
        bytes,
        window: m.window(),
    };
    let jobs: Vec<Job> = sites.iter().enumerate().map(job).collect();
    let mut moved = vec![0; sites.len()];
    let outcomes = engine.run(&jobs, cancel, &mut |at, window| {
        let target = sites[at].target;
        let shown = show(Seen::Window { target, zone: None, window });
        moved[at] += window.bytes;
        let enough = rule(at, window);
        let progress = Progress {
            target,
            measure: m,
            bytes: moved[at],
            seconds: window.to_ns as f64 / 1e9,
            speed: window.bytes as f64 / window.seconds(),
            estimate: enough.estimate,
            stalls: enough.stalls,
            cliffs: enough.cliffs,
        };
        let watched = show(Seen::Progress(progress));
        if enough.stop || [shown, watched].contains(&Flow::Stop) { Flow::Stop } else { Flow::Continue }
    })?;
    for (site, outcome) in sites.iter().zip(&outcomes) {
        show(Seen::Outcome { target: site.target, zone: None, outcome });
    }
    Ok(outcomes)
}
