//! One measurement: loads that start together, each stopped by its rule.

use crate::{
    analyse::{Adaptive, Estimate, Zones},
    engine::{Cancel, Engine, EngineError, Flow, Job, Outcome, Outcomes},
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
    /// The rule's estimate so far; after the load's end, the final estimate.
    pub estimate: Option<Estimate>,
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
    let (bytes, seconds, rule) = match &m.rule {
        Rule::Zones { precision, seconds } => {
            let zones = |(at, site)| measure_zones(engine, m, (*precision, *seconds), at, site, cancel, show);
            return sites.iter().enumerate().map(zones).collect();
        }
        Rule::Fixed { bytes, seconds } => (*bytes, seconds.unwrap_or(f64::INFINITY), None),
        Rule::Adaptive { rules, bytes, seconds } => (*bytes, *seconds, Some(Adaptive::new(rules, *seconds))),
        Rule::Round { bytes, longest, .. } => (*bytes, *longest, None),
        Rule::Again { rules, seconds, .. } => {
            let shortest = sites.iter().map(|site| site.extent.length).min().unwrap_or(0);
            let bytes = shortest / m.load.block * m.load.block;
            (bytes, *seconds, Some(Adaptive::of_fast_part(rules, *seconds)))
        }
    };
    // The rule of each load; none if the amount is fixed.
    let mut rules: Vec<Adaptive> = sites.iter().filter_map(|_| rule.clone()).collect();
    let job = |(target, site): (usize, &Site)| Job {
        target,
        load: m.load.clone(),
        extent: site.extent,
        begin: m.begin(site.extent),
        bytes,
        window: m.window(),
    };
    let jobs: Vec<Job> = sites.iter().enumerate().map(job).collect();
    let progress = |at: usize, moved: (u64, f64, f64), seen: (Option<Estimate>, usize)| {
        let ((bytes, seconds, speed), (estimate, cliffs)) = (moved, seen);
        let target = sites[at].target;
        Seen::Progress(Progress { target, measure: m, bytes, seconds, speed, estimate, cliffs })
    };
    let mut moved = vec![0; sites.len()];
    // A round lasts from its first operation on, which may be late on a busy machine.
    let mut first = vec![None; sites.len()];
    let is_enough = |moved: u64, seconds_so_far: f64| {
        let enough = Rule::OPERATIONS * m.load.block;
        matches!(m.rule, Rule::Round { seconds, .. } if seconds_so_far >= seconds && moved >= enough)
    };
    let outcomes = engine.run(&jobs, cancel, &mut |at, window| {
        let shown = show(Seen::Window { target: sites[at].target, zone: None, window });
        moved[at] += window.bytes;
        let elapsed = window.to_ns as f64 / 1e9;
        let rule = rules.get_mut(at).filter(|_| window.suspended_ns == 0);
        let decided = rule.is_some_and(|rule| rule.push(window).stops());
        let now = (moved[at], elapsed, window.bytes as f64 / window.seconds());
        let watched = show(progress(at, now, seen(rules.get(at), None)));
        let since = *first[at].get_or_insert(window.from_ns);
        let decided = decided || is_enough(moved[at], (window.to_ns - since) as f64 / 1e9);
        let stop = decided || elapsed >= seconds || [shown, watched].contains(&Flow::Stop);
        if stop { Flow::Stop } else { Flow::Continue }
    })?;
    for (at, (site, outcome)) in sites.iter().zip(&outcomes).enumerate() {
        let bytes = outcome.bytes_read + outcome.bytes_written;
        let end = (bytes, outcome.seconds, bytes as f64 / outcome.seconds);
        let ended = Some(&outcome.ended);
        let rule = rules.get(at).filter(|_| !m.load.lacks_fsync(ended));
        show(progress(at, end, seen(rule, ended)));
        show(Seen::Outcome { target: site.target, zone: None, outcome });
    }
    Ok(outcomes)
}

/// The estimate and cliffs of a running load as of the last look; of an ended load, as analysis of the record gives them.
fn seen(rule: Option<&Adaptive>, ended: Option<&Ended>) -> (Option<Estimate>, usize) {
    let Some(rule) = rule else { return (None, 0) };
    if ended.is_none() {
        return rule.progress();
    }
    let done = rule.finish(ended);
    (Some(done.estimate), done.cliffs.len())
}

/// Measures the site of the `at`th target position by position until the rule is satisfied, because rotating disks are faster at
/// the outer tracks. The outcome sums the positions.
fn measure_zones(
    engine: &mut dyn Engine,
    m: &Measure,
    (precision, seconds): (f64, f64),
    at: usize,
    site: &Site,
    cancel: &Cancel,
    show: &mut Show<'_>,
) -> Result<Outcome, EngineError> {
    let mut zones = Zones::new(precision);
    let mut total = Outcome::nothing(Ended::Finished);
    loop {
        let places = zones.next(site.extent.length, m.load.block);
        if places.is_empty() {
            return Ok(total);
        }
        for place in places {
            let length = Zones::SEGMENT.min(site.extent.length - place.offset) / m.load.block * m.load.block;
            let job = Job {
                begin: 0,
                target: at,
                load: m.load.clone(),
                extent: Extent { offset: place.offset, length },
                bytes: length,
                window: m.window(),
            };
            let zone = Some(place);
            let moved = total.bytes_read;
            let mut bytes = 0;
            let outcomes = engine.run(&[job], cancel, &mut |_, window| {
                if window.suspended_ns == 0 {
                    zones.push(place, window);
                }
                bytes += window.bytes;
                let shown = show(Seen::Window { target: site.target, zone, window });
                show(Seen::Progress(Progress {
                    target: site.target,
                    measure: m,
                    bytes: moved + bytes,
                    seconds: total.seconds + window.to_ns as f64 / 1e9,
                    speed: window.bytes as f64 / window.seconds(),
                    estimate: zones.finish().map(|z| z.estimate),
                    cliffs: 0,
                }));
                shown
            })?;
            for outcome in outcomes {
                let shown = show(Seen::Outcome { target: site.target, zone, outcome: &outcome });
                total = total.and_then(&outcome);
                if total.ended != Ended::Finished || shown == Flow::Stop {
                    return Ok(total);
                }
            }
            if total.seconds >= seconds {
                total.ended = Ended::Stopped;
                return Ok(total);
            }
        }
    }
}
