//! Whether the processors were the limit.

use crate::conditions::Processors;

/// Processor load over several repetitions, as means.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Strain {
    /// The busiest core's busy share.
    pub busiest: f64,
    /// The largest share of a core that interrupts took.
    pub interrupts: f64,
    /// The least busy core's busy share.
    least: f64,
    /// The share of time that the longest-waiting load waited for a processor.
    waited: Option<f64>,
    /// The share of time that a quota throttled drivebench.
    throttled: Option<f64>,
    /// The share of time that each load used a processor.
    worked: Option<f64>,
}

/// Whether the processors were the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Idle,
    Busy,
    Limit,
}

/// How much the processors limit, and the number that shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ProcessorLoad {
    pub level: Level,
    pub sign: Sign,
    /// What the sign says, as a share of the time.
    pub share: f64,
}

/// What shows how much the processors limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// A quota throttled drivebench.
    Throttled,
    /// A load waited for a processor.
    Waited,
    /// Each load used a processor.
    Worked,
    /// A core was busy with interrupts.
    Interrupts,
    /// The busiest core was busy.
    BusiestCore,
    /// The least busy core was busy.
    LeastBusyCore,
}

/// A core this busy is fully used.
const FULL: f64 = 0.95;
/// A core with this share of interrupts has little time for anything else.
const INTERRUPTS: f64 = 0.5;

impl Strain {
    /// The means over these repetitions of so many loads; `None` where nothing was recorded.
    pub fn of(did: &[Processors], loads: usize) -> Option<Self> {
        let did: Vec<&Processors> = did.iter().filter(|p| p.seconds > 0.0 && !p.cores.is_empty()).collect();
        if did.is_empty() {
            return None;
        }
        let n = did.len() as f64;
        let mean = |of: &dyn Fn(&Processors) -> f64| did.iter().map(|p| of(p)).sum::<f64>() / n;
        let mean_share = |of: &dyn Fn(&Processors) -> Option<f64>| {
            let shares: Option<Vec<f64>> = did.iter().map(|p| Some(of(p)? / p.seconds)).collect();
            Some(shares?.iter().sum::<f64>() / n)
        };
        let loads = loads.max(1) as f64;
        Some(Self {
            busiest: mean(&|p| p.cores.iter().map(|c| c.busy).fold(0.0, f64::max)),
            interrupts: mean(&|p| p.cores.iter().map(|c| c.interrupts).fold(0.0, f64::max)),
            least: mean(&|p| p.cores.iter().map(|c| c.busy).fold(1.0, f64::min)),
            waited: mean_share(&|p| p.waited),
            // The kernel counts whole periods of the quota, so the sum may exceed the time by part of one.
            throttled: mean_share(&|p| p.throttled).map(|share| share.min(1.0)),
            worked: mean_share(&|p| p.worked).map(|share| share / loads),
        })
    }

    pub fn load(&self) -> ProcessorLoad {
        let [throttle, wait, work] =
            [self.throttled, self.waited, self.worked].map(Option::unwrap_or_default);
        let interrupts = if self.busiest >= FULL { self.interrupts } else { 0.0 };
        let (level, sign, share) = match self {
            _ if throttle >= 0.1 => (Level::Limit, Sign::Throttled, throttle),
            _ if wait >= 0.2 => (Level::Limit, Sign::Waited, wait),
            _ if work >= 0.85 => (Level::Limit, Sign::Worked, work),
            _ if interrupts >= INTERRUPTS => (Level::Limit, Sign::Interrupts, interrupts),
            _ if self.least >= FULL => (Level::Busy, Sign::LeastBusyCore, self.least),
            _ if throttle >= 0.02 => (Level::Busy, Sign::Throttled, throttle),
            _ if wait >= 0.08 => (Level::Busy, Sign::Waited, wait),
            _ if interrupts >= INTERRUPTS / 2.0 => (Level::Busy, Sign::Interrupts, interrupts),
            _ if self.busiest >= FULL => (Level::Idle, Sign::LeastBusyCore, self.least),
            _ => (Level::Idle, Sign::BusiestCore, self.busiest),
        };
        ProcessorLoad { level, sign, share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::Core;

    fn level(cores: &[(f64, f64)], worked: f64, waited: f64, throttled: f64) -> Level {
        let cores = cores.iter().map(|&(busy, interrupts)| Core { busy, interrupts, iowait: 0.0 }).collect();
        let did = Processors {
            seconds: 10.0,
            cores,
            worked: Some(worked),
            waited: Some(waited),
            throttled: Some(throttled),
        };
        Strain::of(&[did], 2).expect("recorded").load().level
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
        assert_eq!(Strain::of(&[Processors::default()], 2), None);
        let spare = Strain { busiest: 1.0, least: 0.2, ..Strain::default() };
        let load = ProcessorLoad { level: Level::Idle, sign: Sign::LeastBusyCore, share: 0.2 };
        assert_eq!(spare.load(), load);
    }
}
