//! Network ports: buses that they share with drives, and the throughput that clients get.

use serde::{Deserialize, Serialize};

use super::{Ceiling, hubs_and_buses::Topology};
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
    /// What a network behind it carried, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carried: Option<Carried>,
}

/// Bytes per second that went through a network port and the network behind it, without files, as an earlier run measured them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Carried {
    /// The run, and when it began, as RFC 3339.
    pub run: String,
    pub at: String,
    /// The machine at the other end.
    pub host: String,
    /// From that machine to this one.
    pub received: f64,
    /// From this machine to that one.
    pub sent: f64,
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
