//! Unused bandwidth of buses.

use super::{bottleneck::Answer, shared_links::Shared};
use crate::{
    findings::Limiter,
    units::{capital, rate},
};

/// Unused bandwidth of each shared bus that is not a limit.
pub(super) fn buses(answers: &[Answer<'_>], shared: &[Shared]) -> Vec<String> {
    let limits = |bus: &Shared| {
        answers.iter().flat_map(|a| &a.limits).any(|l| l.what == Limiter::Bus && l.name == bus.name)
    };
    shared.iter().filter(|bus| !bus.drive && !limits(bus)).filter_map(|bus| unused(bus, answers)).collect()
}

fn unused(bus: &Shared, answers: &[Answer<'_>]) -> Option<String> {
    let (usable, source) = (bus.usable()?, &bus.ceiling.as_ref()?.source);
    let passed = answers.iter().filter_map(|a| {
        let sums = a.group.at_once()?.sums(&bus.members);
        Some(sums.iter().sum::<f64>() / sums.len() as f64)
    });
    let most = passed.reduce(f64::max).filter(|most| (0.0..usable).contains(most))?;
    let (name, carries, free) = (capital(&bus.name), rate(usable), rate(usable - most));
    Some(format!("{name} carries about {carries} ({source}): {free} is unused."))
}
