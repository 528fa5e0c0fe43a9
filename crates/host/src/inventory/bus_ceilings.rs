//! Throughput of links: from the signal rate, and from published measurements.

use super::{Bus, BusKind, Ceiling, Machine};

/// Throughput of a USB link after line coding, MB/s: none for USB up to 480 Mb/s, 8b/10b at 5 Gb/s, 128b/132b above.
pub(super) fn link_ceiling(mbps: f64) -> f64 {
    match mbps {
        mbps if mbps < 5000.0 => mbps / 8.0,
        5000.0 => mbps / 10.0,
        mbps => (mbps / 8.0 * 128.0 / 132.0).round(),
    }
}

pub(super) fn ceiling(bus: &Bus, machine: &Machine) -> Option<Ceiling> {
    let documented = |theory: f64| Ceiling { theory, practical: None, source: "documented".to_owned() };
    let measured = |theory: f64, practical: f64, place: &str| Ceiling {
        theory,
        practical: Some(practical),
        source: format!("measured by others {place}"),
    };
    match bus.kind {
        BusKind::Mmc => machine.sd_ceiling(),
        BusKind::Usb if bus.mbps == Some(480.0) && machine.usb_without_uas() => {
            Some(measured(60.0, 32.0, "on a Raspberry Pi of 2015"))
        }
        BusKind::Usb if bus.mbps == Some(480.0) => Some(measured(60.0, 40.0, "on xHCI controllers")),
        BusKind::Usb | BusKind::UsbHub => bus.mbps.map(|mbps| documented(link_ceiling(mbps))),
        BusKind::Pcie | BusKind::Sata | BusKind::Scsi => match bus.link.as_deref()? {
            "PCIe 2.0 x1" => Some(measured(500.0, 440.0, "with NVMe on a Raspberry Pi 5")),
            "PCIe 3.0 x1" => Some(measured(985.0, 850.0, "with NVMe on a Raspberry Pi 5")),
            _ => bus.mbps.map(|mbps| documented((mbps / 8.0).round())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_coding_is_subtracted() {
        assert_eq!([12.0, 480.0, 5000.0, 10_000.0].map(link_ceiling), [1.5, 60.0, 500.0, 1212.0]);
    }
}
