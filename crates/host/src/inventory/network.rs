//! Network ports: buses that they share with drives, and the throughput that clients get.

use serde::{Deserialize, Serialize};

use super::{Bus, BusKind, Ceiling, Drive, Inventory, hubs_and_buses::Topology};
use crate::sysroot::Sysroot;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkPort {
    pub name: String,
    pub wireless: bool,
    /// Connected: cable and peer, or associated.
    pub connected: Option<bool>,
    /// Negotiated speed, Mb/s (10^6 bits), where reported; Wi-Fi drivers don't.
    pub mbps: Option<f64>,
    pub driver: Option<String>,
    pub mac: Option<String>,
    pub ceiling: Option<Ceiling>,
    /// Id of the bus above; none if it is connected to the processor.
    pub upstream: Option<String>,
    /// Measured throughput of the network behind it; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carried: Option<Carried>,
}

/// Throughput of a network port and the network behind it, without files, measured by an earlier run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carried {
    /// The run that measured it.
    pub run: String,
    /// When that run began, as RFC 3339.
    pub at: String,
    /// The machine at the other end.
    pub host: String,
    /// Speed from that machine to this one, bytes per second.
    pub incoming: f64,
    /// Speed from this machine to that one, bytes per second.
    pub outgoing: f64,
}

impl NetworkPort {
    /// What the network behind it carried; `None` if that was not measured, or is more than the link can carry.
    pub fn measured(&self) -> Option<&Carried> {
        let most = self.mbps.map_or(f64::INFINITY, |mbps| mbps / 8.0 * 1e6);
        let fits = |speed: f64| speed > 0.0 && speed <= most;
        self.carried.as_ref().filter(|carried| fits(carried.incoming) && fits(carried.outgoing))
    }

    /// The innermost USB bus that it shares with one of these drives: what clients read or write crosses it twice.
    pub fn bus_with<'a, 'd>(
        &self,
        inventory: &'a Inventory,
        drives: impl IntoIterator<Item = &'d Drive>,
    ) -> Option<&'a Bus> {
        let above = |upstream: &Option<String>| inventory.buses_above(upstream.as_deref());
        let of_drives: Vec<&Bus> = drives.into_iter().flat_map(|drive| above(&drive.upstream)).collect();
        let is_shared = |bus: &&Bus| of_drives.iter().any(|other| other.id == bus.id);
        above(&self.upstream).into_iter().filter(|bus| bus.kind == BusKind::Usb).find(is_shared)
    }
}

impl Carried {
    /// `iperf3, r7 of 2026-11-27`.
    pub fn source(&self) -> String {
        format!("iperf3, {} of {}", self.run, self.at.get(..10).unwrap_or(&self.at))
    }
}

pub(super) fn read(root: &Sysroot, topology: &mut Topology<'_>) -> Vec<NetworkPort> {
    let mut ports = Vec::new();
    for name in root.list("/sys/class/net") {
        let Some(dir) = root.real(&format!("/sys/class/net/{name}")) else { continue };
        // Type 1 is Ethernet. Bridges and tunnels have no device.
        let is_ethernet = root.number::<u32>(&format!("{dir}/type")) == Some(1);
        let Some(device) = root.real(&format!("{dir}/device")).filter(|_| is_ethernet) else { continue };
        let exists = |file: &str| root.real(&format!("{dir}/{file}")).is_some();
        let mbps = root.number(&format!("{dir}/speed")).filter(|&mbps: &i32| mbps > 0).map(f64::from);
        let driver = root.link_name(&format!("{device}/driver"));
        ports.push(NetworkPort {
            wireless: exists("wireless") || exists("phy80211"),
            connected: root.number::<u8>(&format!("{dir}/carrier")).map(|carrier| carrier == 1),
            ceiling: mbps.and_then(|mbps| ceiling(mbps, driver.as_deref())),
            mbps,
            driver,
            mac: root.word(&format!("{dir}/address")),
            upstream: topology.above(&device),
            carried: None,
            name,
        });
    }
    ports
}

fn ceiling(mbps: f64, driver: Option<&str>) -> Option<Ceiling> {
    let practical = match (mbps, driver) {
        // Raspberry Pi 3 B+: gigabit Ethernet behind USB 2.
        (1000.0, Some("lan78xx")) => 224.0,
        (1000.0, _) => 940.0,
        (100.0, _) => 94.0,
        _ => return None,
    };
    let source = "measured by others".to_owned();
    Some(Ceiling { theory: mbps / 8.0, practical: Some(practical / 8.0), source })
}
