//! One measurement: loads that start together, each stopped by its rule.

use super::zones;
use crate::{
    analyse::{Adaptive, End, Estimate},
    engine::{Cancel, Engine, Flow, Job, Outcome, Outcomes},
    plan::{Measure, Rule},
    units::{Ended, Extent, Window, ZonePoint},
};

/// A target of a measurement. Engines are opened over the sites in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// Position of the target in the plan.
    pub target: usize,
    pub extent: Extent,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Progress<'a> {
    pub target: usize,
    pub measure: &'a Measure,
    pub bytes: u64,
    /// Seconds since the start.
    pub seconds: f64,
    /// Speed of the last window, bytes per second.
    pub speed: f64,
    /// The adaptive rule's estimate so far; after the load's end, the final estimate.
    pub estimate: Option<Estimate>,
    pub stalls: usize,
    pub cliffs: usize,
}

#[derive(Debug)]
pub enum Seen<'a> {
    Window {
        target: usize,
        /// The position on the disk, in a zone measurement.
        zone: Option<ZonePoint>,
        window: &'a Window,
    },
    /// The progress after that window, and once more at the end of the load.
    Progress(Progress<'a>),
    Outcome {
        target: usize,
        zone: Option<ZonePoint>,
        outcome: &'a Outcome,
    },
}

/// Receives every event; returns whether to continue.
pub type Show<'a> = dyn FnMut(Seen<'_>) -> Flow + 'a;

/// Runs a measurement and returns the outcomes in the order of `sites`. A failed operation is an outcome, not an error.
pub fn measure(
    engine: &mut dyn Engine,
    m: &Measure,
    sites: &[Site],
    cancel: &Cancel,
    show: &mut Show<'_>,
) -> Outcomes {
    match &m.rule {
        Rule::Zones { precision, seconds } => {
            zones::measure(engine, m, (*precision, *seconds), sites, cancel, show)
        }
        Rule::Fixed { bytes, seconds } => {
            let limit = Limit { seconds: seconds.unwrap_or(f64::INFINITY), adaptive: Vec::new() };
            run(engine, m, sites, *bytes, cancel, show, limit)
        }
        Rule::Adaptive { rules, seconds, .. } | Rule::Again { rules, seconds, .. } => {
            let bytes = match m.rule {
                Rule::Adaptive { bytes, .. } => bytes,
                _ => {
                    sites.iter().map(|site| site.extent.length).min().unwrap_or(0) / m.load.block
                        * m.load.block
                }
            };
            let adaptive = sites.iter().map(|_| Adaptive::new(rules)).collect();
            run(engine, m, sites, bytes, cancel, show, Limit { seconds: *seconds, adaptive })
        }
    }
}

/// When the loads of a measurement stop.
struct Limit {
    seconds: f64,
    /// The adaptive rule of each load; none if the amount is fixed.
    adaptive: Vec<Adaptive>,
}

impl Limit {
    /// Whether the load at this position stops after this window.
    fn reached(&mut self, at: usize, window: &Window) -> bool {
        let decided = self.adaptive.get_mut(at).is_some_and(|rule| rule.push(window).stops());
        decided || window.to_ns as f64 / 1e9 >= self.seconds
    }

    /// The estimate, stalls and cliffs of a running load as of the last look; of an ended load, as analysis of the record
    /// gives them.
    fn seen(&self, at: usize, ended: Option<&Ended>) -> (Option<Estimate>, usize, usize) {
        match (self.adaptive.get(at), ended) {
            (None, _) => (None, 0, 0),
            (Some(rule), None) => (rule.progress(), rule.stalls_seen(), rule.cliffs_seen()),
            (Some(rule), Some(ended)) => {
                let done = rule.finish(End::of(Some(ended)));
                (Some(done.estimate), done.stalls.each.len(), done.cliffs.len())
            }
        }
    }
}

fn run(
    engine: &mut dyn Engine,
    m: &Measure,
    sites: &[Site],
    bytes: u64,
    cancel: &Cancel,
    show: &mut Show<'_>,
    mut limit: Limit,
) -> Outcomes {
    let job = |(at, site): (usize, &Site)| Job {
        target: at,
        load: m.load.clone(),
        extent: site.extent,
        bytes,
        window: m.window(),
    };
    let jobs: Vec<Job> = sites.iter().enumerate().map(job).collect();
    let progress = |limit: &Limit, at: usize, moved: (u64, f64, f64), ended: Option<&Ended>| {
        let (bytes, seconds, speed) = moved;
        let (estimate, stalls, cliffs) = limit.seen(at, ended);
        Progress { target: sites[at].target, measure: m, bytes, seconds, speed, estimate, stalls, cliffs }
    };
    let mut moved = vec![0; sites.len()];
    let outcomes = engine.run(&jobs, cancel, &mut |at, window| {
        let shown = show(Seen::Window { target: sites[at].target, zone: None, window });
        moved[at] += window.bytes;
        let stop = limit.reached(at, window);
        let now = (moved[at], window.to_ns as f64 / 1e9, window.bytes as f64 / window.seconds());
        let watched = show(Seen::Progress(progress(&limit, at, now, None)));
        if stop || [shown, watched].contains(&Flow::Stop) { Flow::Stop } else { Flow::Continue }
    })?;
    for (at, (site, outcome)) in sites.iter().zip(&outcomes).enumerate() {
        let bytes = outcome.bytes_read + outcome.bytes_written;
        let end = (bytes, outcome.seconds, bytes as f64 / outcome.seconds);
        show(Seen::Progress(progress(&limit, at, end, Some(&outcome.ended))));
        show(Seen::Outcome { target: site.target, zone: None, outcome });
    }
    Ok(outcomes)
}
