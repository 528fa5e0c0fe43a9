//! The link to clients: the fastest network port that is connected.

use super::{context::Context, shared::clients};
use crate::{
    inventory::{Bus, BusKind, Carried, Ceiling, Drive, NetworkPort, Speed, Wire},
    units::Direction,
};

/// The network port that clients use.
pub(super) struct NetworkLink<'a> {
    pub port: &'a NetworkPort,
    wire: Wire<'a>,
}

impl<'a> NetworkLink<'a> {
    /// None where nothing is connected, or where the speed isn't known, as with Wi-Fi that was not measured. If no port was measured, what they are
    /// known for says nothing of the way to a client that was.
    pub fn of(context: &Context<'a>) -> Option<Self> {
        let known = context.inventory.ports.iter().filter(|port| port.connected == Some(true));
        let known = known.filter_map(|port| Some(Self { port, wire: port.wire()? }));
        let known: Vec<Self> = known.collect();
        let client_is_measured = clients(context).is_some_and(|clients| clients.is_elsewhere);
        if client_is_measured && known.iter().all(|link| link.measured().is_none()) {
            return None;
        }
        known.into_iter().max_by(|a, b| a.most().total_cmp(&b.most()))
    }

    /// What it carries of data that drives read, or are written; bytes per second.
    pub fn passes(&self, reads: bool) -> Speed {
        self.wire.passes(if reads { Direction::Read } else { Direction::Write })
    }

    /// In the direction in which it carries more, bytes per second.
    pub fn most(&self) -> f64 {
        self.passes(true).value.max(self.passes(false).value)
    }

    /// `11.8 MB/s`, or in both directions where it was measured.
    pub fn text(&self) -> String {
        let [sent, received] = [true, false].map(|reads| self.passes(reads).text());
        match self.wire {
            Wire::Typical(_) => sent,
            Wire::Measured(_) => format!("{sent} to clients and {received} from them"),
        }
    }

    /// What limits if it does: `Ethernet`, or the whole way that was measured.
    pub fn called(&self) -> String {
        match self.wire {
            Wire::Typical(_) => self.kind().to_owned(),
            Wire::Measured(carried) => format!("the network to {}", carried.host),
        }
    }

    /// Who says so.
    pub fn source(&self) -> String {
        match self.wire {
            Wire::Typical(ceiling) => ceiling.source.clone(),
            Wire::Measured(carried) => carried.source(),
        }
    }

    /// Both ends of the way, if it was measured.
    pub fn measured(&self) -> Option<&'a Carried> {
        match self.wire {
            Wire::Typical(_) => None,
            Wire::Measured(carried) => Some(carried),
        }
    }

    /// The run that measured it.
    pub fn run(&self) -> Option<&'a str> {
        self.measured().map(|carried| carried.run.as_str())
    }

    pub fn kind(&self) -> &'static str {
        if self.port.wireless { "Wi-Fi" } else { "Ethernet" }
    }

    /// The USB bus that it shares with one of the drives; client data then crosses it twice.
    pub fn shared_with(&self, context: &Context<'a>, drives: &[&Drive]) -> Option<&'a Bus> {
        self.port.bus_with(context.inventory, drives.iter().copied())
    }
}

/// What a bus carries, bytes per second.
pub(super) fn usable(bus: &Bus) -> Option<f64> {
    bus.ceiling.as_ref().map(Ceiling::usable).filter(|passes| *passes > 0.0)
}

/// The slowest bus that all these drives share, with what it carries, bytes per second.
pub(super) fn narrowest<'a>(context: &Context<'a>, drives: &[&Drive]) -> Option<(&'a Bus, f64)> {
    let below = |drive: &&Drive, bus: &Bus| {
        context.inventory.buses_above(drive.upstream.as_deref()).iter().any(|b| b.id == bus.id)
    };
    let common = context.inventory.buses.iter().filter(|bus| drives.iter().all(|d| below(d, bus)));
    let common = common.filter_map(|bus| Some((bus, usable(bus)?)));
    // Of equals the outermost, which comes first.
    common.reduce(|best, other| if other.1 < best.1 { other } else { best }).filter(|_| !drives.is_empty())
}

/// A bus in a sentence: `the USB2 bus`, `hub 1.2`.
pub(super) fn called(bus: &Bus) -> String {
    match bus.kind {
        BusKind::UsbHub => bus.what(),
        BusKind::Usb => format!("the {} bus", bus.what()),
        BusKind::Mmc => "the SD slot".to_owned(),
        BusKind::Pcie if bus.chip.is_some() => format!("the {}", bus.what()),
        BusKind::Pcie => "the PCIe link".to_owned(),
        BusKind::Sata | BusKind::Scsi => format!("the {} controller", bus.what()),
    }
}
