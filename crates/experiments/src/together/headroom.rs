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

fn unused(bus: &Shared, answers: &[Answer<'_>]) -> Option<String> {
    let (usable, source) = (bus.usable()?, &bus.ceiling.as_ref()?.source);
    let passed = answers.iter().filter_map(|a| {
        let sums = a.group.at_once()?.sums(&bus.members);
        Some(sums.iter().sum::<f64>() / sums.len() as f64)
    });
    let most = passed.fold(0.0, f64::max);
    let name = capital(&bus.name);
    let carries = rate(usable);
    match most {
        most if most <= 0.0 => None,
        most if most > usable => {
            Some(format!("{name} carried {}, more than its typical {carries} ({source}).", rate(most)))
        }
        _ => {
            let (free, share) = (rate(usable - most), percent(1.0 - most / usable));
            Some(format!("{name} carries about {carries} ({source}): {free}, {share}, is unused."))
        }
    }
}

/// What each connected port means for clients on the network.
pub(super) fn ports(inventory: &Inventory, targets: &[Target], answers: &[Answer<'_>]) -> Vec<String> {
    let connected = inventory.ports.iter().filter(|port| port.connected != Some(false));
    connected.filter_map(|p| port(inventory, targets, answers, p)).collect()
}

fn port(
    inventory: &Inventory,
    targets: &[Target],
    answers: &[Answer<'_>],
    port: &NetworkPort,
) -> Option<String> {
    let wire = port.wire()?;
    let what = |a: &&Answer<'_>| match a.group.direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
        Direction::Mixed { .. } => "mixed loads",
    };
    let beside = |a: &Answer<'_>| {
        let Estimate { value, low, high, .. } = a.sum;
        let drives = if a.sum.is_bounded() { Speed { value, low, high } } else { Speed::exact(value) };
        drives.beside(wire.passes(a.group.direction))
    };
    let those = |is: Option<Ordering>| answers.iter().filter(|a| beside(a) == is).collect::<Vec<_>>();
    let [limited, free, open] = [Some(Ordering::Greater), Some(Ordering::Less), None].map(those);
    let names = |those: &[&Answer<'_>]| {
        let mut names: Vec<&str> = those.iter().map(what).collect();
        names.dedup();
        names.join(" and ")
    };
    let verdict = match (&limited[..], &free[..], &open[..]) {
        ([], [], []) => return None,
        ([], free, []) => {
            let unused = free.iter().map(|a| wire.passes(a.group.direction).value - a.sum.value);
            format!("more than the drives; {} is unused", rate(unused.fold(f64::INFINITY, f64::min)))
        }
        (limited, free, open) => {
            let not = if limited.is_empty() { "it does not limit" } else { "not" };
            let said =
                [(limited, "it limits", ""), (free, not, ""), (open, "whether it limits", " can't be told")];
            let said = said.iter().filter(|(those, ..)| !those.is_empty());
            let said: Vec<String> =
                said.map(|(those, before, after)| format!("{before} {}{after}", names(those))).collect();
            said.join(", ")
        }
    };
    let mut text = format!("{}: {verdict}.", carries(wire, port));
    if let Some(bus) = port.bus_with(inventory, targets.iter().flat_map(|target| &target.drives)) {
        let bus = bus.what();
        text += &format!(
            " It is on the {bus} bus with the drives: data that clients read crosses that bus twice."
        );
    }
    Some(text)
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
