//! Network ports, for what they share with drives and for what a client can see of them.

use serde::{Deserialize, Serialize};

use super::{Ceiling, bus_tree::BusTree};
use crate::sysroot::Sysroot;

/// A network port with hardware behind it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkPort {
    /// The kernel's name of today: `eth0`.
    pub name: String,
    /// Whether it is radio.
    pub wireless: bool,
    /// Connected: cable and peer, or associated.
    pub connected: Option<bool>,
    /// Negotiated speed, Mb/s (10^6 bits), where told; Wi-Fi doesn't.
    pub mbps: Option<f64>,
    /// Kernel driver: `bcmgenet`, `smsc95xx`.
    pub driver: Option<String>,
    /// Hardware address.
    pub mac: Option<String>,
    /// What passes in practice.
    pub ceiling: Option<Ceiling>,
    /// The bus it hangs on, by its id; none where it hangs on the processor.
    pub upstream: Option<String>,
}

/// Reads the ports, in the order of their names.
pub(super) fn read(root: &Sysroot, tree: &mut BusTree<'_>) -> Vec<NetworkPort> {
    let mut ports = Vec::new();
    for name in root.list("/sys/class/net") {
        let Some(dir) = root.real(&format!("/sys/class/net/{name}")) else { continue };
        // Ethernet and what looks like it; bridges, tunnels and the like have no device.
        let is_ethernet = root.number::<u32>(&format!("{dir}/type")) == Some(1);
        let Some(device) = root.real(&format!("{dir}/device")).filter(|_| is_ethernet) else { continue };
        let is_there = |file: &str| root.real(&format!("{dir}/{file}")).is_some();
        let mbps = root.number(&format!("{dir}/speed")).filter(|&mbps: &i32| mbps > 0).map(f64::from);
        let driver = root.link_name(&format!("{device}/driver"));
        ports.push(NetworkPort {
            wireless: is_there("wireless") || is_there("phy80211"),
            connected: root.number::<u8>(&format!("{dir}/carrier")).map(|carrier| carrier == 1),
            ceiling: mbps.and_then(|mbps| ceiling(mbps, driver.as_deref())),
            mbps,
            driver,
            mac: root.word(&format!("{dir}/address")),
            upstream: tree.above(&device),
            name,
        });
    }
    ports
}

fn ceiling(mbps: f64, driver: Option<&str>) -> Option<Ceiling> {
    let practical = match (mbps, driver) {
        // The 3 B+: gigabit behind USB 2.
        (1000.0, Some("lan78xx")) => 224.0,
        (1000.0, _) => 940.0,
        (100.0, _) => 94.0,
        _ => return None,
    };
    let source = "measured by others".to_owned();
    Some(Ceiling { theory: mbps / 8.0, practical: Some(practical / 8.0), source })
}
