//! Unused bandwidth of buses and network ports.

use std::cmp::Ordering;

use super::{bottleneck::Answer, shared_links::Shared};
use crate::{
    analyse::Estimate,
    findings::Limiter,
    inventory::{Inventory, NetworkPort, Speed, Wire},
    target::Target,
    units::{Direction, capital, percent, rate},
};

/// Unused bandwidth of each shared bus that is not a limit.
pub(super) fn buses(answers: &[Answer<'_>], shared: &[Shared]) -> Vec<String> {
    let limits = |bus: &Shared| {
        answers.iter().flat_map(|a| &a.limits).any(|l| l.what == Limiter::Bus && l.name == bus.name)
    };
    shared.iter().filter(|bus| !bus.drive && !limits(bus)).filter_map(|bus| unused(bus, answers)).collect()
}

/// What the drives leave of a bus.
#[derive(Debug, PartialEq)]
enum Headroom {
    /// Bytes per second that they moved, more than is typical of the bus.
    Exceeded(f64),
    /// Bytes per second that are unused, and their share of the typical rate.
    Unused(f64, f64),
}

impl Headroom {
    /// `most`: the most that passed; `usable`: the typical rate of the bus; both in bytes per second.
    fn of(most: f64, usable: f64) -> Self {
        if most > usable { Self::Exceeded(most) } else { Self::Unused(usable - most, 1.0 - most / usable) }
    }
}

fn unused(bus: &Shared, answers: &[Answer<'_>]) -> Option<String> {
    let (usable, source) = (bus.usable()?, &bus.ceiling.as_ref()?.source);
    let passed = answers.iter().filter_map(|a| {
        let sums = a.group.at_once()?.sums(&bus.members);
        Some(sums.iter().sum::<f64>() / sums.len() as f64)
    });
    let most = passed.fold(0.0, f64::max);
    let (name, carries) = (capital(&bus.name), rate(usable));
    (most > 0.0).then(|| match Headroom::of(most, usable) {
        Headroom::Exceeded(most) => {
            format!("{name} carried {}, more than its typical {carries} ({source}).", rate(most))
        }
        Headroom::Unused(free, share) => {
            format!(
                "{name} carries about {carries} ({source}): {}, {}, is unused.",
                rate(free),
                percent(share)
            )
        }
    })
}

/// What each connected port means for clients on the network.
pub(super) fn ports(inventory: &Inventory, targets: &[Target], answers: &[Answer<'_>]) -> Vec<String> {
    let connected = inventory.ports.iter().filter(|port| port.connected != Some(false));
    let used = connected.filter_map(|port| {
        let wire = port.wire()?;
        Some((port, wire, PortUse::of(wire, answers)?))
    });
    let sentence = |(port, wire, used): (&NetworkPort, Wire<'_>, PortUse)| {
        let bus = port.bus_with(inventory, targets.iter().flat_map(|target| &target.drives));
        let bus = bus.map(|bus| {
            format!(" It is on the {} bus with the drives: what clients read crosses it twice.", bus.what())
        });
        format!("{}: {}.{}", carries(wire, port), used.words(), bus.unwrap_or_default())
    };
    used.map(sentence).collect()
}

/// What a network port carries beside what the drives move.
#[derive(Debug, PartialEq)]
enum PortUse {
    /// More in all directions; the least unused rate in bytes per second.
    Unused(f64),
    /// Less in the loads that it limits, or not surely more in those that are open.
    Limits { limited: Vec<Direction>, free: Vec<Direction>, open: Vec<Direction> },
}

impl PortUse {
    fn of(wire: Wire<'_>, answers: &[Answer<'_>]) -> Option<Self> {
        let beside = |a: &Answer<'_>| {
            let Estimate { value, low, high, .. } = a.sum;
            let drives = if a.sum.is_bounded() { Speed { value, low, high } } else { Speed::exact(value) };
            drives.beside(wire.passes(a.group.direction))
        };
        let directions = |is: Option<Ordering>| {
            answers.iter().filter(|a| beside(a) == is).map(|a| a.group.direction).collect::<Vec<_>>()
        };
        let [limited, free, open] = [Some(Ordering::Greater), Some(Ordering::Less), None].map(directions);
        let unused = answers.iter().map(|a| wire.passes(a.group.direction).value - a.sum.value);
        let least = unused.reduce(f64::min)?;
        let is_free = limited.is_empty() && open.is_empty();
        Some(if is_free { Self::Unused(least) } else { Self::Limits { limited, free, open } })
    }

    fn words(&self) -> String {
        let (limited, free, open) = match self {
            Self::Unused(least) => return format!("more than the drives; {} is unused", rate(*least)),
            Self::Limits { limited, free, open } => (limited, free, open),
        };
        let names = |directions: &[Direction]| {
            let mut names: Vec<&str> = directions.iter().map(|direction| loads(*direction)).collect();
            names.dedup();
            names.join(" and ")
        };
        let clauses =
            [(limited, "it limits ", ""), (free, "not ", ""), (open, "whether it limits ", " can't be told")];
        let clauses = clauses.iter().filter(|(directions, ..)| !directions.is_empty());
        let clauses =
            clauses.map(|(directions, before, after)| format!("{before}{}{after}", names(directions)));
        clauses.collect::<Vec<_>>().join(", ")
    }
}

fn loads(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
        Direction::Mixed { .. } => "mixed loads",
    }
}

fn carries(wire: Wire<'_>, port: &NetworkPort) -> String {
    let kind = if port.wireless { "Wi-Fi" } else { "Ethernet" };
    let speed = port.mbps.map(|mbps| format!(", {mbps} Mb/s")).unwrap_or_default();
    let port = format!("{kind} ({}{speed})", port.name);
    let [sent, received] = [Direction::Read, Direction::Write].map(|direction| wire.passes(direction).text());
    match wire {
        Wire::Typical(ceiling) => format!("{port} carries {sent} ({})", ceiling.source),
        Wire::Measured(carried) => {
            let (host, source) = (&carried.host, carried.source());
            format!("{port} carried {sent} to {host} and {received} from it ({source})")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Headroom;

    #[test]
    fn what_passed_is_less_or_more_than_the_typical_rate() {
        assert_eq!(Headroom::of(30e6, 40e6), Headroom::Unused(10e6, 0.25));
        assert_eq!(Headroom::of(44e6, 40e6), Headroom::Exceeded(44e6));
    }
}
