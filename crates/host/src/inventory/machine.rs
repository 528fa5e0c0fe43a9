//! The computer: board, kernel, processors, memory, temperature and throttling; and facts about boards that the kernel doesn't report.
//! Boards are recognised by `compatible`, never by revision.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Ceiling;
use crate::sysroot::{Sysroot, printable};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Machine {
    /// Scenario of the lab, where this is a virtual machine with modelled drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lab: Option<String>,
    /// Board or product name, where reported: `Raspberry Pi Zero 2 W Rev 1.0`.
    pub board: Option<String>,
    /// `compatible` names in the device tree, most specific first: `raspberrypi,4-model-b`.
    pub compatible: Vec<String>,
    /// System on chip, `bcm2711`, or the processor's name.
    pub soc: Option<String>,
    pub kernel: Option<String>,
    /// Architecture as in `uname -m`.
    pub arch: Option<String>,
    /// Distribution, from os-release's PRETTY_NAME.
    pub system: Option<String>,
    /// Processors online.
    pub cpus: Option<u32>,
    /// Memory, bytes.
    pub memory: Option<u64>,
    pub governor: Option<String>,
    /// Hottest thermal zone, degrees Celsius.
    pub temperature: Option<f64>,
    /// `get_throttled` bits of the Raspberry Pi firmware, where available.
    pub throttled: Option<u32>,
    /// Current limit of all USB ports together, mA, where known.
    pub usb_budget_ma: Option<u32>,
}

/// Placeholder product names of unnamed boards.
const PLACEHOLDERS: [&str; 5] = [
    "To Be Filled By O.E.M.",
    "System Product Name",
    "System manufacturer",
    "Default string",
    "Not Specified",
];

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

pub(super) fn read(root: &Sysroot) -> Machine {
    let compatible = compatible(root);
    Machine {
        lab: lab(root),
        board: board(root),
        soc: soc(root, &compatible),
        compatible,
        kernel: root.word("/proc/sys/kernel/osrelease"),
        arch: root.word("/proc/sys/kernel/arch"),
        system: system(root),
        cpus: root.word("/sys/devices/system/cpu/online").map(|list| count_list(&list)).filter(|n| *n > 0),
        memory: memory(root, "MemTotal"),
        governor: governor(root),
        temperature: temperature(root),
        throttled: throttled(root),
        usb_budget_ma: None,
    }
}

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

    /// `Linux 6.12.9 x86_64`, as far as it is known.
    pub fn linux(&self) -> Option<String> {
        let words: Vec<&str> = self.kernel.iter().chain(&self.arch).map(String::as_str).collect();
        (!words.is_empty()).then(|| format!("Linux {}", words.join(" ")))
    }
}

/// The lab passes the scenario on the kernel's command line.
fn lab(root: &Sysroot) -> Option<String> {
    let line = root.text("/proc/cmdline")?;
    line.split_whitespace().find_map(|word| word.strip_prefix("lab.scenario=").map(str::to_owned))
}

fn compatible(root: &Sysroot) -> Vec<String> {
    let bytes = root.bytes("/proc/device-tree/compatible").unwrap_or_default();
    bytes.split(|byte| *byte == 0).map(printable).filter(|name| !name.is_empty()).collect()
}

/// The chip is the last name in the device tree; on PCs the processor's model name.
fn soc(root: &Sysroot, compatible: &[String]) -> Option<String> {
    if let Some((_, chip)) = compatible.last().and_then(|name| name.split_once(',')) {
        return Some(chip.to_owned());
    }
    let text = root.text("/proc/cpuinfo")?;
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'))?.1;
    Some(name.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn board(root: &Sysroot) -> Option<String> {
    if let Some(model) = root.word("/proc/device-tree/model") {
        return Some(model);
    }
    let named = |text: &String| !PLACEHOLDERS.contains(&text.as_str());
    let dmi = |file: &str| root.word(&format!("/sys/class/dmi/id/{file}")).filter(named);
    let product = dmi("product_name")?;
    Some(match dmi("sys_vendor") {
        Some(vendor) if !product.starts_with(&vendor) => format!("{vendor} {product}"),
        _ => product,
    })
}

fn system(root: &Sysroot) -> Option<String> {
    let text = root.text("/etc/os-release").or_else(|| root.text("/usr/lib/os-release"))?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches(['"', '\'']).to_owned())
}

/// Number of entries in a kernel list such as `0-3,6`.
fn count_list(list: &str) -> u32 {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    list.split(',').filter_map(|part| range(part.trim())).fold(0, u32::saturating_add)
}

/// A line of `/proc/meminfo`, bytes.
pub fn memory(root: &Sysroot, key: &str) -> Option<u64> {
    let text = root.text("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

pub(super) fn governor(root: &Sysroot) -> Option<String> {
    let policies = "/sys/devices/system/cpu/cpufreq";
    let governor = |policy: String| root.word(&format!("{policies}/{policy}/scaling_governor"));
    let governors: BTreeSet<String> = root.list(policies).into_iter().filter_map(governor).collect();
    (!governors.is_empty()).then(|| Vec::from_iter(governors).join(", "))
}

/// The hottest thermal zone, degrees Celsius. Missing sensors read as impossible values.
pub(crate) fn temperature(root: &Sysroot) -> Option<f64> {
    let zones = "/sys/class/thermal";
    let names = root.list(zones).into_iter().filter(|name| name.starts_with("thermal_zone"));
    let temperatures = names.filter_map(|zone| root.number::<i32>(&format!("{zones}/{zone}/temp")));
    let hottest = temperatures.filter(|milli| (-50_000..200_000).contains(milli)).max();
    hottest.map(|milli| f64::from(milli) / 1000.0)
}

/// The Raspberry Pi firmware's `get_throttled`, hexadecimal. The node differs by board; the driver links to it.
pub(crate) fn throttled(root: &Sysroot) -> Option<u32> {
    let driver = "/sys/bus/platform/drivers/raspberrypi-firmware";
    let mut nodes: Vec<String> = root.list(driver).iter().map(|node| format!("{driver}/{node}")).collect();
    nodes.push("/sys/devices/platform/soc/soc:firmware".to_owned());
    match nodes.iter().find_map(|node| root.word(&format!("{node}/get_throttled"))) {
        Some(text) => u32::from_str_radix(text.trim_start_matches("0x"), 16).ok(),
        None => undervoltage_alarm(root),
    }
}

/// Mainline kernels report one bit of it: undervoltage since their last poll.
fn undervoltage_alarm(root: &Sysroot) -> Option<u32> {
    let sensors = "/sys/class/hwmon";
    let mut dirs = root.list(sensors).into_iter().map(|name| format!("{sensors}/{name}"));
    let pi = dirs.find(|dir| root.word(&format!("{dir}/name")).as_deref() == Some("rpi_volt"))?;
    root.number::<u32>(&format!("{pi}/in0_lcrit_alarm")).map(|alarm| (alarm & 1) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures::Tree;

    #[test]
    fn counts_cpu_lists() {
        assert_eq!(count_list("0-3"), 4);
        assert_eq!(count_list("0"), 1);
        assert_eq!(count_list("0-1,4,6-7"), 5);
        assert_eq!(count_list("3-1,x,"), 0);
        assert_eq!(count_list("0-4294967295,0-4294967294"), u32::MAX);
    }

    #[test]
    fn what_is_unknown_of_a_machine_is_none() {
        let unknown = read(&Tree::empty().sysroot());
        assert_eq!((unknown.linux(), unknown.cpus, unknown.memory), (None, None, None));
        let json = serde_json::to_value(&unknown).expect("JSON");
        for field in ["kernel", "arch", "cpus", "memory"] {
            assert_eq!(json[field], serde_json::Value::Null, "{field}");
        }
        let known = r#"{"kernel":"6.12.9","memory":512}"#;
        let known: Machine = serde_json::from_str(known).expect("a record");
        assert_eq!((known.linux().as_deref(), known.memory), (Some("Linux 6.12.9"), Some(512)));
    }

    #[test]
    fn a_lab_machine_is_recognised() {
        let mut tree = Tree::empty();
        tree.file("proc/cmdline", "quiet lab.scenario=pi-zero,8-times-as-fast console=ttyS0\n");
        assert_eq!(lab(&tree.sysroot()).as_deref(), Some("pi-zero,8-times-as-fast"));
        tree.file("proc/cmdline", "quiet root=/dev/sda2\n");
        assert_eq!(lab(&tree.sysroot()), None);
    }

    #[test]
    fn the_vendor_of_a_pc_is_not_repeated() {
        let mut tree = Tree::empty();
        tree.files("sys/class/dmi/id", &[("product_name", "HP ProLiant\n"), ("sys_vendor", "HP\n")]);
        assert_eq!(board(&tree.sysroot()).as_deref(), Some("HP ProLiant"));
        tree.files(
            "sys/class/dmi/id",
            &[("product_name", "NUC7i5BNH\n"), ("sys_vendor", "Intel Corporation\n")],
        );
        assert_eq!(board(&tree.sysroot()).as_deref(), Some("Intel Corporation NUC7i5BNH"));
        tree.file("sys/class/dmi/id/product_name", "To Be Filled By O.E.M.\n");
        assert_eq!(board(&tree.sysroot()), None);
        tree.bytes("proc/device-tree/model", b"Raspberry Pi 4 Model B Rev 1.4\0");
        assert_eq!(board(&tree.sysroot()).as_deref(), Some("Raspberry Pi 4 Model B Rev 1.4"));
    }

    #[test]
    fn impossible_temperatures_are_left_out() {
        let mut tree = Tree::empty();
        assert_eq!(temperature(&tree.sysroot()), None);
        tree.files(
            "sys/class/thermal",
            &[
                ("thermal_zone0/temp", "48312\n"),
                ("thermal_zone1/temp", "51000\n"),
                ("thermal_zone2/temp", "-274000\n"),
                ("thermal_zone3/temp", "2147483647\n"),
                ("cooling_device0/temp", "99000\n"),
            ],
        );
        assert_eq!(temperature(&tree.sysroot()), Some(51.0));
    }

    #[test]
    fn different_governors_are_all_listed() {
        let mut tree = Tree::empty();
        assert_eq!(governor(&tree.sysroot()), None);
        tree.files(
            "sys/devices/system/cpu/cpufreq",
            &[
                ("policy0/scaling_governor", "ondemand\n"),
                ("policy4/scaling_governor", "performance\n"),
                ("policy5/scaling_governor", "ondemand\n"),
            ],
        );
        assert_eq!(governor(&tree.sysroot()).as_deref(), Some("ondemand, performance"));
    }

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
