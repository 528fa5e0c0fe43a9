//! Unused bandwidth of buses and network ports.

use super::{bottleneck::Answer, shared_links::Shared};
use crate::{
    findings::Limiter,
    inventory::{BusKind, Carried, Ceiling, Inventory, NetworkPort},
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
    let wire = Wire::of(port)?;
    let what = |a: &&Answer<'_>| match a.group.direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
        Direction::Mixed { .. } => "mixed loads",
    };
    let (below, above): (Vec<&Answer<'_>>, Vec<&Answer<'_>>) =
        answers.iter().partition(|a| a.sum.value > wire.passes(a.group.direction));
    let names = |those: &[&Answer<'_>]| {
        let mut names: Vec<&str> = those.iter().map(what).collect();
        names.dedup();
        names.join(" and ")
    };
    let verdict = match (&below[..], &above[..]) {
        ([], []) => return None,
        (limited, []) => format!("it limits {}", names(limited)),
        ([], free) => {
            let unused = free.iter().map(|a| wire.passes(a.group.direction) - a.sum.value);
            format!("more than the drives; {} is unused", rate(unused.fold(f64::INFINITY, f64::min)))
        }
        (limited, free) => format!("it limits {}, not {}", names(limited), names(free)),
    };
    let mut text = format!("{}: {verdict}.", wire.carries(port));
    let mine = inventory.buses_above(port.upstream.as_deref());
    let common = mine.iter().find(|bus| {
        let above = |upstream| inventory.buses_above(upstream).iter().any(|b| b.id == bus.id);
        bus.kind == BusKind::Usb
            && targets.iter().flat_map(|t| &t.drives).any(|d| above(d.upstream.as_deref()))
    });
    if let Some(bus) = common {
        let bus = bus.what();
        text += &format!(
            " It is on the {bus} bus with the drives: data that clients read crosses that bus twice."
        );
    }
    Some(text)
}

/// What clients are reached by.
enum Wire<'a> {
    /// A port, and what is known of its kind.
    Typical(&'a Ceiling),
    /// The network behind the port to one machine.
    Measured(&'a Carried),
}

impl<'a> Wire<'a> {
    fn of(port: &'a NetworkPort) -> Option<Self> {
        // More than its link carries is none of its own.
        let most = port.mbps.map_or(f64::INFINITY, |mbps| mbps / 8.0 * 1e6);
        let fits = |speed: f64| speed > 0.0 && speed <= most;
        let measured = port.carried.as_ref().filter(|carried| fits(carried.received) && fits(carried.sent));
        measured.map(Self::Measured).or_else(|| port.ceiling.as_ref().map(Self::Typical))
    }

    /// What a client gets of data that drives read, or are written; bytes per second.
    fn passes(&self, direction: Direction) -> f64 {
        match (self, direction) {
            (Self::Typical(ceiling), _) => ceiling.practical.unwrap_or(ceiling.theory) * 1e6,
            (Self::Measured(carried), Direction::Read) => carried.sent,
            (Self::Measured(carried), Direction::Write) => carried.received,
            (Self::Measured(carried), Direction::Mixed { .. }) => carried.sent.min(carried.received),
        }
    }

    fn carries(&self, port: &NetworkPort) -> String {
        let kind = if port.wireless { "Wi-Fi" } else { "Ethernet" };
        let speed = port.mbps.map(|mbps| format!(", {mbps} Mb/s")).unwrap_or_default();
        let port = format!("{kind} ({}{speed})", port.name);
        match self {
            Self::Typical(ceiling) => {
                format!("{port} carries {} ({})", rate(self.passes(Direction::Read)), ceiling.source)
            }
            Self::Measured(Carried { run, at, host, received, sent }) => {
                let day = at.get(..10).unwrap_or(at);
                format!(
                    "{port} carried {} to {host} and {} from it (iperf3, {run} of {day})",
                    rate(*sent),
                    rate(*received)
                )
            }
        }
    }
}
