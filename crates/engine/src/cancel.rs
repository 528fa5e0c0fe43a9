//! What ends a load early: a person, or a deadline.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Ends loads and waits: cheap to clone, safe to set from a signal handler.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
    deadline: Option<Deadline>,
}

/// A clock that counts from some moment.
#[derive(Debug, Clone)]
pub enum Clock {
    Real(Instant),
    /// Virtual time, ns.
    Modelled(Arc<AtomicU64>),
}

#[derive(Debug, Clone)]
struct Deadline {
    clock: Clock,
    at_ns: u64,
    /// How long operations in flight may still take.
    grace_ns: u64,
}

impl Clock {
    pub fn now_ns(&self) -> u64 {
        match self {
            Self::Real(since) => since.elapsed().as_nanos() as u64,
            Self::Modelled(now) => now.load(Ordering::Relaxed),
        }
    }
}

impl Cancel {
    /// The most that operations in flight may take after a deadline, s, and as a share of the time before it.
    const GRACE: f64 = 1.0;
    const GRACE_SHARE: f64 = 0.1;

    pub fn from_flag(flag: Arc<AtomicBool>) -> Self {
        Self { flag, deadline: None }
    }

    /// The same, and everything ends within `seconds` from now. The last of them are the grace for what is in flight.
    #[must_use]
    pub fn within(&self, seconds: f64, clock: Clock) -> Self {
        let grace = (seconds * Self::GRACE_SHARE).min(Self::GRACE);
        let [at, grace_ns] = [seconds - grace, grace].map(|s| (s.max(0.0) * 1e9) as u64);
        let at_ns = clock.now_ns().saturating_add(at);
        Self { flag: Arc::clone(&self.flag), deadline: Some(Deadline { clock, at_ns, grace_ns }) }
    }

    pub fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// A person ended it, or the time is up.
    pub fn is_set(&self) -> bool {
        self.is_asked() || self.left() == Some(0.0)
    }

    /// A person ended it.
    pub fn is_asked(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Seconds to the deadline.
    pub fn left(&self) -> Option<f64> {
        let deadline = self.deadline.as_ref()?;
        Some(deadline.at_ns.saturating_sub(deadline.clock.now_ns()) as f64 / 1e9)
    }

    /// A person ended it, or the grace after the deadline is over, too.
    pub fn is_over(&self) -> bool {
        let late =
            |deadline: &Deadline| deadline.clock.now_ns() >= deadline.at_ns.saturating_add(deadline.grace_ns);
        self.is_asked() || self.deadline.as_ref().is_some_and(late)
    }

    /// How long operations in flight may still take once it is set; `asked` is the grace after a person's request.
    pub(super) fn grace(&self, asked: Duration) -> Duration {
        match &self.deadline {
            Some(deadline) if !self.is_asked() => Duration::from_nanos(deadline.grace_ns).max(asked),
            _ => asked,
        }
    }

    /// The deadline and the end of its grace in modelled time, ns.
    pub fn modelled(&self) -> Option<(u64, u64)> {
        let deadline = self.deadline.as_ref()?;
        matches!(deadline.clock, Clock::Modelled(_))
            .then(|| (deadline.at_ns, deadline.at_ns.saturating_add(deadline.grace_ns)))
    }
}
