//! Buses and hubs as values: links between the processor and each drive or network port, and what they carry.

use serde::{Deserialize, Serialize};

/// A link that may be shared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bus {
    /// An address that outlives a boot: `0000:01:00.0-usbv3`, `fe340000.mmc`; hubs add their port.
    pub id: String,
    /// What kind of link it is.
    pub kind: BusKind,
    /// The chip, where it has a name people know: `VL805`, `RP1`.
    pub chip: Option<String>,
    /// How it hangs on what is above it, where that has grades of its own: `PCIe 2.0 x1`.
    pub link: Option<String>,
    /// What it carries in one direction, Mb/s (10^6 bits), less the line code for PCIe.
    pub mbps: Option<f64>,
    /// The bus above, by its id; none where it hangs on the processor.
    pub parent: Option<String>,
    /// The kernel's name of today: `usb1`, `1-1`.
    pub device: Option<String>,
    /// Whether a hub has a supply of its own, by its own word.
    pub self_powered: Option<bool>,
    /// What can pass at most.
    pub ceiling: Option<Ceiling>,
    /// What hangs on it could together ask for more than it carries; `None` where that isn't known.
    pub limits: Option<bool>,
}

/// Kinds of links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BusKind {
    /// PCI Express, from the processor to a chip with ports of its own.
    #[default]
    Pcie,
    /// A USB root hub: all ports of one speed of one controller.
    Usb,
    /// A USB hub, outside or on the board.
    UsbHub,
    /// A SATA controller; each port is a link of its own.
    Sata,
    /// A SAS or SCSI controller.
    Scsi,
    /// An SD or eMMC host.
    Mmc,
}

impl Bus {
    /// What it is: `USB3`, `VL805`, `hub 1.2`.
    pub fn what(&self) -> String {
        match self.kind {
            BusKind::Usb if self.mbps >= Some(5000.0) => "USB3",
            BusKind::Usb => "USB2",
            BusKind::UsbHub => return format!("hub {}", self.id.rsplit('-').next().unwrap_or_default()),
            BusKind::Pcie => self.chip.as_deref().unwrap_or("PCIe link"),
            BusKind::Sata => "SATA",
            BusKind::Scsi => "SCSI",
            BusKind::Mmc => "SD",
        }
        .to_owned()
    }

    /// Where its controller is: `0000:01:00.0`.
    pub fn address(&self) -> &str {
        let version = self.id.find("-usbv");
        version.map_or(self.id.as_str(), |end| &self.id[..end])
    }
}

/// The most a link can carry, MB/s (10^6 bytes).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ceiling {
    /// By its signal, less the line code.
    pub theory: f64,
    /// What has been seen to pass.
    pub practical: Option<f64>,
    /// Where the figures come from: documented, measured by others, inferred.
    pub source: String,
}
