//! The link to clients: the fastest network port that is connected.

use super::{context::Context, shared::clients};
use crate::{
    inventory::{Bus, BusKind, Carried, Ceiling, Drive, NetworkPort},
    units::rate,
};

/// The network port that clients use.
pub(super) struct NetworkLink<'a> {
    pub port: &'a NetworkPort,
    /// What limits if it does: `Ethernet`, or the whole way that was measured.
    pub called: String,
    /// Speeds of what drives read and of what they are written, bytes per second.
    passes: [f64; 2],
    /// `11.8 MB/s`, or in both directions where it was measured.
    pub text: String,
    pub source: String,
    /// Both ends of the way, and the run, if it was measured.
    pub measured: Option<&'a Carried>,
}

impl<'a> NetworkLink<'a> {
    /// None where nothing is connected, or where the speed isn't known, as with Wi-Fi that was not measured. If no port was measured, what they are
    /// known for says nothing of the way to a client that was.
    pub fn of(context: &Context<'a>) -> Option<Self> {
        let known = context.inventory.ports.iter().filter(|port| port.connected == Some(true));
        let known: Vec<Self> = known.filter_map(Self::new).collect();
        let client_is_measured = clients(context).is_some_and(|clients| clients.is_elsewhere);
        if client_is_measured && known.iter().all(|link| link.measured.is_none()) {
            return None;
        }
        known.into_iter().max_by(|a, b| a.most().total_cmp(&b.most()))
    }

    fn new(port: &'a NetworkPort) -> Option<Self> {
        if let Some(carried) = port.measured() {
            let passes = [carried.outgoing, carried.incoming];
            let [sent, received] = passes.map(rate);
            let text = format!("{sent} to clients and {received} from them");
            let called = format!("the network to {}", carried.host);
            return Some(Self {
                port,
                called,
                passes,
                text,
                source: carried.source(),
                measured: Some(carried),
            });
        }
        let ceiling = port.ceiling.as_ref()?;
        let (called, passes, source) = (kind(port).to_owned(), ceiling.usable(), ceiling.source.clone());
        Some(Self { port, called, passes: [passes; 2], text: rate(passes), source, measured: None })
    }

    /// What it carries of data that drives read, or are written; bytes per second.
    pub fn passes(&self, reads: bool) -> f64 {
        self.passes[usize::from(!reads)]
    }

    /// In the direction in which it carries more, bytes per second.
    pub fn most(&self) -> f64 {
        self.passes[0].max(self.passes[1])
    }

    /// The run that measured it.
    pub fn run(&self) -> Option<&'a str> {
        self.measured.map(|carried| carried.run.as_str())
    }

    /// That client data crosses a USB bus twice, where one of these drives is on the bus of the port.
    pub fn crosses_twice(&self, context: &Context<'a>, drives: &[&Drive]) -> Option<String> {
        let bus = self.port.bus_with(context.inventory, drives.iter().copied())?;
        let (kind, half) = (kind(self.port), rate(usable(bus)? / 2.0));
        Some(format!(
            "{kind} is on {} with the drives: client data crosses it twice, {half} at most.",
            called(bus)
        ))
    }
}

fn kind(port: &NetworkPort) -> &'static str {
    if port.wireless { "Wi-Fi" } else { "Ethernet" }
}

/// What a bus carries, bytes per second.
pub(super) fn usable(bus: &Bus) -> Option<f64> {
    bus.ceiling.as_ref().map(Ceiling::usable).filter(|passes| *passes > 0.0)
}

/// The slowest bus that all these drives share, with what it carries, bytes per second.
fn narrowest<'a>(context: &Context<'a>, drives: &[&Drive]) -> Option<(&'a Bus, f64)> {
    let below = |drive: &&Drive, bus: &Bus| {
        context.inventory.buses_above(drive.upstream.as_deref()).iter().any(|b| b.id == bus.id)
    };
    let common = context.inventory.buses.iter().filter(|bus| drives.iter().all(|d| below(d, bus)));
    let common = common.filter_map(|bus| Some((bus, usable(bus)?)));
    // Among equals the outermost, which comes first.
    common.reduce(|best, other| if other.1 < best.1 { other } else { best }).filter(|_| !drives.is_empty())
}

/// The speed that no drives could exceed here: that of the network, as `link` is called and carries, or of the slowest shared bus.
pub(super) fn cap(
    context: &Context<'_>,
    drives: &[&Drive],
    link: Option<(f64, String)>,
) -> Option<(f64, String)> {
    let bus = narrowest(context, drives).map(|(bus, passes)| (passes, called(bus)));
    link.into_iter().chain(bus).reduce(|first, other| if other.0 < first.0 { other } else { first })
}

/// A bus in a sentence: `the USB2 bus`, `hub 1.2`.
fn called(bus: &Bus) -> String {
    match bus.kind {
        BusKind::UsbHub => bus.what(),
        BusKind::Usb => format!("the {} bus", bus.what()),
        BusKind::Mmc => "the SD slot".to_owned(),
        BusKind::Pcie if bus.chip.is_some() => format!("the {}", bus.what()),
        BusKind::Pcie => "the PCIe link".to_owned(),
        BusKind::Sata | BusKind::Scsi => format!("the {} controller", bus.what()),
    }
}
