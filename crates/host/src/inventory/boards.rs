//! Facts about boards that the kernel doesn't report. Boards are recognised by `compatible`, never by revision.

use super::{Ceiling, Machine};

/// Current limit of all USB ports of a Raspberry Pi together, mA, as documented; the Pi 5's depends on its supply.
const USB_BUDGET: [(&str, u32); 8] = [
    ("2-model-b", 1200),
    ("3-model-b", 1200),
    ("3-model-b-plus", 1200),
    ("3-model-a-plus", 1200),
    ("4-model-b", 1200),
    ("400", 1200),
    ("5-model-b", 600),
    ("500", 600),
];

impl Machine {
    /// A Raspberry Pi's model as in `compatible`: `4-model-b`.
    fn raspberry(&self) -> Option<&str> {
        self.compatible.iter().find_map(|name| name.strip_prefix("raspberrypi,"))
    }

    /// Current limit of all USB ports together, mA, where known. `supply_5a`: the power supply delivers 5 A.
    pub(super) fn usb_budget(&self, supply_5a: bool) -> Option<u32> {
        let model = self.raspberry()?;
        let (_, budget) = USB_BUDGET.iter().find(|(name, _)| *name == model)?;
        Some(if supply_5a && *budget == 600 { 1600 } else { *budget })
    }

    /// Throughput of its SD slot, MB/s.
    pub(super) fn sd_ceiling(&self) -> Option<Ceiling> {
        self.raspberry()?;
        let (theory, practical, source) = match self.soc.as_deref()? {
            "bcm2835" | "bcm2836" | "bcm2837" => (25.0, None, "inferred"),
            "bcm2711" => (50.0, None, "documented"),
            "bcm2712" => (104.0, Some(90.0), "measured by others"),
            _ => return None,
        };
        Some(Ceiling { theory, practical, source: source.to_owned() })
    }

    /// Whether the kernel never uses UAS: this USB host has no scatter-gather.
    pub fn usb_without_uas(&self) -> bool {
        matches!(self.soc.as_deref(), Some("bcm2835" | "bcm2836" | "bcm2837"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pi(model: &str, soc: &str) -> Machine {
        Machine {
            compatible: vec![format!("raspberrypi,{model}"), format!("brcm,{soc}")],
            soc: Some(soc.to_owned()),
            ..Machine::default()
        }
    }

    #[test]
    fn limits_of_raspberry_pi_models() {
        assert_eq!(pi("4-model-b", "bcm2711").usb_budget(true), Some(1200));
        assert_eq!(pi("5-model-b", "bcm2712").usb_budget(false), Some(600));
        assert_eq!(pi("5-model-b", "bcm2712").usb_budget(true), Some(1600));
        assert_eq!(pi("model-zero-2-w", "bcm2837").usb_budget(true), None);
        assert_eq!(pi("5-model-b", "bcm2712").sd_ceiling().map(|c| c.theory), Some(104.0));
        assert_eq!(Machine::default().sd_ceiling(), None);
        assert!(pi("3-model-b", "bcm2837").usb_without_uas() && !pi("400", "bcm2711").usb_without_uas());
    }
}
