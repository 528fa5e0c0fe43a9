//! Rotating disks are faster at the outer tracks, so they are measured at equally spaced positions.

use super::measure::{Progress, Seen, Show, Site};
use crate::{
    analyse::Zones,
    engine::{Cancel, Ended, Engine, EngineError, Flow, Job, Outcome},
    plan::Measure,
    units::Extent,
};

/// Measures the site of the `at`th target position by position until the rule is satisfied; the outcome sums the
/// positions.
pub(super) fn measure(
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
