//! Unused bandwidth of buses and network ports.

use std::cmp::Ordering;

use super::{bottleneck::Answer, shared_links::Shared};
use crate::{
    analyse::Estimate,
    findings::Limiter,
    inventory::{Inventory, NetworkPort, Speed, Wire},
    target::Target,
    units::{Direction, capital, rate},
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

/// What each connected port means for clients on the network.
pub(super) fn ports(inventory: &Inventory, targets: &[Target], answers: &[Answer<'_>]) -> Vec<String> {
    let connected = inventory.ports.iter().filter(|port| port.connected != Some(false));
    let sentence = |port: &NetworkPort| {
        let wire = port.wire()?;
        let bus = port.bus_with(inventory, targets.iter().flat_map(|target| &target.drives));
        let bus = bus.map(|bus| {
            format!(" It is on the {} bus with the drives: what clients read crosses it twice.", bus.what())
        });
        let limits = limits(wire, answers)?;
        Some(format!("{}: {limits}.{}", carries(wire, port), bus.unwrap_or_default()))
    };
    connected.filter_map(sentence).collect()
}

/// Which loads of the drives a network port limits for clients.
fn limits(wire: Wire<'_>, answers: &[Answer<'_>]) -> Option<String> {
    let beside = |a: &Answer<'_>| {
        let Estimate { value, low, high, .. } = a.sum;
        let drives = if a.sum.is_bounded() { Speed { value, low, high } } else { Speed::exact(value) };
        drives.beside(wire.passes(a.group.direction))
    };
    let names = |is: Option<Ordering>| {
        let mut names: Vec<&str> =
            answers.iter().filter(|a| beside(a) == is).map(|a| loads(a.group.direction)).collect();
        names.dedup();
        (!names.is_empty()).then(|| names.join(" and "))
    };
    let unused = answers.iter().map(|a| wire.passes(a.group.direction).value - a.sum.value);
    let least = unused.reduce(f64::min)?;
    Some(match (names(Some(Ordering::Greater)), names(None)) {
        (Some(limited), _) => format!("it limits {limited}"),
        (None, Some(open)) => format!("it may limit {open}"),
        (None, None) => format!("more than the drives; {} is unused", rate(least)),
    })
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
