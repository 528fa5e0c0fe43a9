//! Whether the processors were the limit.

use crate::conditions::Processors;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Level {
    Idle,
    Busy,
    Limit,
}

/// Whether the processors limit, and the evidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct ProcessorLoad {
    pub level: Level,
    /// Words with `{}` for the share.
    pub sign: &'static str,
    /// A share of the time.
    pub share: f64,
}

/// A core this busy is fully used.
const FULL: f64 = 0.95;

impl ProcessorLoad {
    /// From the means over these repetitions of so many loads; `None` where nothing was recorded.
    pub fn of(did: &[Processors], loads: usize) -> Option<Self> {
        let did: Vec<&Processors> = did.iter().filter(|p| p.seconds > 0.0 && !p.cores.is_empty()).collect();
        if did.is_empty() {
            return None;
        }
        let mean =
            |share: &dyn Fn(&Processors) -> f64| did.iter().map(|p| share(p)).sum::<f64>() / did.len() as f64;
        let of_time =
            |seconds: fn(&Processors) -> Option<f64>| mean(&|p| seconds(p).unwrap_or(0.0) / p.seconds);
        let busiest = mean(&|p| p.cores.iter().map(|c| c.busy).fold(0.0, f64::max));
        let least = mean(&|p| p.cores.iter().map(|c| c.busy).fold(1.0, f64::min));
        let interrupts = mean(&|p| p.cores.iter().map(|c| c.interrupts).fold(0.0, f64::max));
        // Interrupts leave too little time only where a core is fully used.
        let interrupts = if busiest >= FULL { interrupts } else { 0.0 };
        // The kernel counts whole periods of the quota, so the sum may exceed the time by part of one.
        let throttled = of_time(|p| p.throttled).min(1.0);
        let worked = of_time(|p| p.worked) / loads.max(1) as f64;
        const NEVER: f64 = f64::INFINITY;
        // What shows it, its share, and the shares from which on the processors may contribute, and limit.
        let signs = [
            ("a processor quota throttled drivebench for {} of the time", throttled, 0.02, 0.1),
            ("a load waited for a processor for {} of the time", of_time(|p| p.waited), 0.08, 0.2),
            ("each load used a processor for {} of the time", worked, NEVER, 0.85),
            ("interrupts took {} of a core", interrupts, 0.25, 0.5),
            ("the least busy core was {} busy", least, FULL, NEVER),
        ];
        let limits =
            signs.iter().find(|(_, share, _, limit)| share >= limit).map(|sign| (Level::Limit, sign));
        let contributes =
            || signs.iter().find(|(_, share, busy, _)| share >= busy).map(|sign| (Level::Busy, sign));
        let (level, sign, share) = match limits.or_else(contributes) {
            Some((level, (sign, share, ..))) => (level, *sign, *share),
            // Another program may use one core.
            None if busiest >= FULL => (Level::Idle, signs[4].0, least),
            None => (Level::Idle, "the busiest core was {} busy", busiest),
        };
        Some(Self { level, sign, share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::Core;

    fn level(cores: &[(f64, f64)], worked: f64, waited: f64, throttled: f64) -> Level {
        let cores = cores.iter().map(|&(busy, interrupts)| Core { busy, interrupts }).collect();
        let did = Processors {
            seconds: 10.0,
            cores,
            worked: Some(worked),
            waited: Some(waited),
            throttled: Some(throttled),
        };
        ProcessorLoad::of(&[did], 2).expect("recorded").level
    }

    #[test]
    fn a_processor_limits_if_loads_wait_for_it() {
        assert_eq!(level(&[(0.3, 0.1), (0.2, 0.0)], 3.0, 0.1, 0.0), Level::Idle);
        assert_eq!(
            level(&[(1.0, 0.0), (0.2, 0.0)], 3.0, 0.1, 0.0),
            Level::Idle,
            "another program, another core"
        );
        assert_eq!(level(&[(1.0, 0.0)], 3.0, 0.5, 0.0), Level::Busy, "busy, but no load waited");
        assert_eq!(level(&[(0.5, 0.0)], 3.0, 1.0, 0.0), Level::Busy);
        assert_eq!(level(&[(1.0, 0.0)], 3.0, 8.0, 0.0), Level::Limit);
        assert_eq!(level(&[(0.4, 0.0)], 3.0, 0.0, 4.0), Level::Limit);
        assert_eq!(level(&[(0.98, 0.7), (0.1, 0.0)], 3.0, 0.0, 0.0), Level::Limit);
        assert_eq!(level(&[(1.0, 0.0), (1.0, 0.0)], 19.0, 0.0, 0.0), Level::Limit);
        assert_eq!(ProcessorLoad::of(&[Processors::default()], 2), None);
    }
}
