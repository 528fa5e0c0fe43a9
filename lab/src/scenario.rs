//! Scenario files: a machine, its drives in their bays, and shared buses.

use std::{fs, path::Path};

use drivebench_modelled::sim::{Board, Model, SharedBus, Zone};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Bytes of a sector.
pub const SECTOR: u64 = 512;

/// A machine with modelled drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name: the name of its file.
    #[serde(default)]
    pub name: String,
    /// Its description, in one line.
    pub title: String,
    /// The machine that is emulated.
    #[serde(default)]
    pub machine: Machine,
    /// What it boots.
    #[serde(default)]
    pub guest: Guest,
    /// Its memory, MiB; a raspi3b always has 1024.
    #[serde(default = "memory_mib")]
    pub memory_mib: u32,
    /// Its processors; a raspi3b always has 4. On a host with two cores one is best: the emulation of USB uses the
    /// other.
    #[serde(default = "processors")]
    pub processors: u32,
    /// Its processor does an instruction in 2 to the power of this many nanoseconds, whatever the host does; without it, as fast as the host can. Of a q35
    /// with one processor.
    #[serde(default)]
    pub icount: Option<u8>,
    /// Generation of its USB ports, 2 or 3.
    #[serde(default = "usb")]
    pub usb: u8,
    /// Speed factor of the drives and buses.
    #[serde(default = "one")]
    pub speed: f64,
    /// The random seed.
    #[serde(default)]
    pub seed: u64,
    /// With systemd: the drive that it boots from, counted from 0; without it, it boots from a disk that is no model.
    #[serde(default)]
    pub root: Option<usize>,
    /// The USB port of a network card, of a machine that is joined with another one: what goes through it crosses the bus there, as that of drives does.
    #[serde(default)]
    pub network: Option<String>,
    /// Ceilings that drives share.
    #[serde(default, rename = "bus")]
    pub buses: Vec<Ceiling>,
    /// Its drives.
    #[serde(default, rename = "drive")]
    pub drives: Vec<Drive>,
}

/// The machine that is emulated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Machine {
    /// A PC.
    #[default]
    Q35,
    /// A Raspberry Pi 3 Model B.
    Raspi3b,
}

/// What a machine boots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Guest {
    /// The lab's own init with its root in memory: it starts in seconds, and forgets everything when it ends.
    #[default]
    Lab,
    /// Debian with systemd on a disk of its own, so that it can be rebooted.
    Systemd,
}

/// A bus that all drives below a port share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Its name in messages.
    pub name: String,
    /// All USB bays whose port path begins with this; empty: all of them.
    #[serde(default)]
    pub bays: String,
    /// Bytes per second.
    pub rate: f64,
}

/// A modelled drive in a bay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// USB: the port path, `1.3` for port 3 of the hub in port 1 (hubs are there where paths need them); others: any
    /// name.
    pub bay: String,
    /// How it is attached.
    #[serde(default)]
    pub attach: Attach,
    /// Its vendor, up to 8 characters.
    #[serde(default)]
    pub vendor: String,
    /// Its product name, up to 16 characters.
    pub product: String,
    /// Its serial number, up to 20 characters; it need not be unique.
    pub serial: String,
    /// It reports that it rotates.
    #[serde(default)]
    pub rotates: bool,
    /// Claimed sectors of 512 bytes.
    pub sectors: u64,
    /// Real sectors, if fewer.
    pub real_sectors: Option<u64>,
    /// A filesystem on it.
    pub filesystem: Option<Filesystem>,
    /// Speeds, stalls, cache, faults: bytes, bytes per second and seconds; its capacity comes from the sectors.
    pub model: Model,
}

/// How a drive is attached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attach {
    /// USB mass storage, bulk-only transport.
    #[default]
    UsbStorage,
    /// USB attached SCSI.
    Uas,
    /// SATA.
    Sata,
    /// NVMe.
    Nvme,
    /// An SD card in a slot; its size must be a power of two.
    Sd,
}

impl Attach {
    /// Whether its bay is a USB port.
    pub fn usb(self) -> bool {
        matches!(self, Self::UsbStorage | Self::Uas)
    }

    /// The kernel's modules for it, besides those of USB, which each guest has.
    pub(crate) fn modules(self) -> &'static [&'static str] {
        match self {
            Self::UsbStorage | Self::Uas => &[],
            Self::Sata => &["ahci"],
            Self::Nvme => &["nvme"],
            Self::Sd => &["mmc_block", "sdhci_pci"],
        }
    }
}

/// An ext4 filesystem made before the machine starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filesystem {
    /// Its label; it is mounted on `/mnt/LABEL`.
    pub label: String,
}

impl Default for Scenario {
    /// A PC without drives.
    fn default() -> Self {
        Self {
            name: String::new(),
            title: String::new(),
            machine: Machine::default(),
            guest: Guest::default(),
            memory_mib: memory_mib(),
            processors: processors(),
            icount: None,
            usb: usb(),
            speed: one(),
            seed: 0,
            root: None,
            network: None,
            buses: Vec::new(),
            drives: Vec::new(),
        }
    }
}

fn memory_mib() -> u32 {
    512
}

fn processors() -> u32 {
    1
}

fn usb() -> u8 {
    2
}

fn one() -> f64 {
    1.0
}

/// Why a scenario can't be used.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// The file can't be read.
    #[error("{0}: {1}")]
    Read(String, #[source] std::io::Error),
    /// It is not a valid scenario file.
    #[error("{0}: {1}")]
    Parse(String, #[source] Box<toml::de::Error>),
    /// A value is invalid.
    #[error("{0}: {1}")]
    Sense(String, String),
}

/// Faster than any bus, bytes per second.
const NETWORK: f64 = 1e10;

impl Scenario {
    /// Reads a scenario file.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|e| ScenarioError::Read(name.clone(), e))?;
        Self::parse(&name, &text)
    }

    /// Reads the text of a scenario; `name` is for messages.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        let mut scenario: Self =
            toml::from_str(text).map_err(|e| ScenarioError::Parse(name.to_owned(), Box::new(e)))?;
        if scenario.name.is_empty() {
            scenario.name = Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        }
        for drive in &mut scenario.drives {
            drive.model.capacity = drive.sectors.saturating_mul(SECTOR);
            drive.model.real_capacity = drive.real_sectors.map(|n| n.saturating_mul(SECTOR));
        }
        scenario.check().map_err(|why| ScenarioError::Sense(name.to_owned(), why))?;
        Ok(scenario)
    }

    /// The same scenario with drives and buses `factor` times as fast.
    pub fn faster(mut self, factor: f64) -> Self {
        self.speed *= factor;
        self
    }

    /// The drives as `sim` models, with `speed` applied, and after them the network card: it moves bytes as fast as its bus does.
    pub fn board(&self) -> Board {
        let fast = vec![Zone { from: 0, rate: NETWORK }];
        let card = Model { capacity: u64::MAX, read: fast.clone(), write: fast, ..Model::default() };
        let models = self.drives.iter().map(|d| d.model.faster(self.speed));
        let drives = models.chain(self.network.is_some().then_some(card)).collect();
        let all = self.drives.iter().map(|d| self.bus_of(d));
        let all: Vec<_> = all.chain(self.network.iter().map(|port| self.bus_at(port))).collect();
        let buses = self.buses.iter().enumerate().map(|(i, ceiling)| {
            let on = all.iter().enumerate().filter(|(_, bus)| **bus == Some(i)).map(|(n, _)| n);
            SharedBus { rate: ceiling.rate * self.speed, drives: on.collect() }
        });
        Board { drives, buses: buses.collect(), seed: self.seed }
    }

    fn bus_of(&self, drive: &Drive) -> Option<usize> {
        if drive.attach.usb() { self.bus_at(&drive.bay) } else { None }
    }

    /// The bus of a USB port: of the buses that contain it, the one with the longest path.
    fn bus_at(&self, port: &str) -> Option<usize> {
        let within = |c: &Ceiling| c.bays.is_empty() || is_within(port, &c.bays);
        let buses = self.buses.iter().enumerate().filter(|(_, c)| within(c));
        buses.max_by_key(|(_, c)| c.bays.len()).map(|(i, _)| i)
    }

    /// The USB ports in which something is.
    pub(crate) fn usb_ports(&self) -> impl Iterator<Item = &str> {
        let drives = self.drives.iter().filter(|d| d.attach.usb()).map(|d| d.bay.as_str());
        drives.chain(self.network.as_deref())
    }

    /// Checks all values.
    fn check(&self) -> Result<(), String> {
        let fits = |what: &str, text: &str, most: usize| match text {
            _ if text.len() > most => Err(format!("{what} {text:?} is longer than {most} characters")),
            _ if text.chars().all(|c| c.is_ascii_graphic() || c == ' ') && !text.contains(',') => Ok(()),
            _ => Err(format!("{what} {text:?} has a character that is not allowed")),
        };
        if !(0.001..=1000.0).contains(&self.speed) {
            return Err(format!("speed must be 0.001 to 1000, not {}", self.speed));
        }
        if !matches!(self.usb, 2 | 3) {
            return Err(format!("usb must be 2 or 3, not {}", self.usb));
        }
        if !(128..=8192).contains(&self.memory_mib) || !(1..=8).contains(&self.processors) {
            return Err("memory_mib must be 128 to 8192, and processors 1 to 8".to_owned());
        }
        if self.icount.is_some_and(|shift| shift > 10 || self.processors != 1 || self.machine != Machine::Q35)
        {
            return Err("icount must be 0 to 10, and is of a q35 with one processor".to_owned());
        }
        if self.machine == Machine::Raspi3b && self.guest == Guest::Systemd {
            return Err("a raspi3b has no guest with systemd".to_owned());
        }
        if let Some(root) = self.root {
            if self.guest != Guest::Systemd || self.drives.get(root).is_none_or(|d| d.filesystem.is_some()) {
                return Err(format!(
                    "drive {root} can't be the root: that needs systemd, and a drive without a filesystem"
                ));
            }
        }
        for ceiling in &self.buses {
            if !(ceiling.rate.is_finite() && ceiling.rate > 0.0) {
                return Err(format!(
                    "the rate of bus {:?} must be above 0, not {}",
                    ceiling.name, ceiling.rate
                ));
            }
        }
        for (i, drive) in self.drives.iter().enumerate() {
            let at = |why: String| format!("drive {} in bay {:?}: {why}", drive.serial, drive.bay);
            fits("vendor", &drive.vendor, 8).map_err(at)?;
            fits("product", &drive.product, 16).map_err(at)?;
            fits("serial", &drive.serial, 20).map_err(at)?;
            if let Some(filesystem) = &drive.filesystem {
                fits("label", &filesystem.label, 16).map_err(at)?;
                if filesystem.label.is_empty() || filesystem.label.contains(['/', ' ', '.']) {
                    return Err(at(format!("label {:?} can't name a directory", filesystem.label)));
                }
            }
            if drive.attach.usb() && !is_usb_port(&drive.bay) {
                return Err(at("a USB bay is a path of ports 1 to 8, like 1.3".to_owned()));
            }
            if self.machine == Machine::Raspi3b && !drive.attach.usb() {
                return Err(at("a raspi3b has USB bays only".to_owned()));
            }
            if drive.sectors == 0 || drive.sectors > u64::MAX / SECTOR / 2 {
                return Err(at(format!("sectors can't be {}", drive.sectors)));
            }
            if drive.real_sectors.is_some_and(|real| real > drive.sectors) {
                return Err(at("real_sectors can't be more than sectors".to_owned()));
            }
            if drive.attach == Attach::Sd && !drive.sectors.is_power_of_two() {
                return Err(at("an emulated SD card's size must be a power of two".to_owned()));
            }
            if self.drives[..i].iter().any(|d| d.bay == drive.bay) {
                return Err(at("the bay is taken".to_owned()));
            }
            let hub = |other: &Drive| other.bay.strip_prefix(&drive.bay).is_some_and(|r| r.starts_with('.'));
            if drive.attach.usb() && self.drives.iter().any(|d| d.attach.usb() && hub(d)) {
                return Err(at("a hub for other drives is in this bay".to_owned()));
            }
            drive.model.check().map_err(at)?;
        }
        if let Some(port) = &self.network {
            let is_free = !self.drives.iter().any(|d| is_within(&d.bay, port) || is_within(port, &d.bay));
            if !is_usb_port(port) || !is_free || self.machine != Machine::Q35 || self.guest != Guest::Lab {
                return Err(format!(
                    "network must be a free USB port of a q35 without systemd, not {port:?}"
                ));
            }
        }
        for (i, bus) in self.buses.iter().enumerate() {
            if self.drives.iter().all(|drive| self.bus_of(drive) != Some(i)) {
                let (name, bays) = (&bus.name, &bus.bays);
                return Err(format!(
                    "bus {name:?} limits nothing: it is the nearest bus of no USB drive (bays {bays:?})"
                ));
            }
        }
        Ok(())
    }
}

/// A path of ports 1 to 8, like `1.3`.
fn is_usb_port(path: &str) -> bool {
    path.split('.').all(|port| matches!(port.parse(), Ok(1..=8)))
}

/// Whether it is this port, or one of a hub there.
fn is_within(port: &str, above: &str) -> bool {
    port.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"
        title = "Two sticks and a disk"
        [[bus]]
        name = "all of USB"
        rate = 35e6
        [[bus]]
        name = "hub 1"
        bays = "1"
        rate = 12e6
        [[drive]]
        bay = "1.1"
        vendor = "SanDisk"
        product = "Cruzer Blade"
        serial = "A1"
        sectors = 121077761
        model = { read = [{ from = 0, rate = 6.6e6 }], write = [{ from = 0, rate = 2e6 }] }
        [[drive]]
        bay = "10.1"
        product = "DataTraveler"
        serial = "A1"
        sectors = 1000
        real_sectors = 500
        model = { read = [{ from = 0, rate = 6.6e6 }], write = [{ from = 0, rate = 2e6 }] }
        [[drive]]
        bay = "ata"
        attach = "sata"
        product = "Disk"
        serial = "D"
        sectors = 1000
        model = { read = [{ from = 0, rate = 6.6e6 }], write = [{ from = 0, rate = 2e6 }] }
    "#;

    fn refused(from: &str, to: &str) -> String {
        let text = TWO.replacen("10.1", "2.1", 1);
        assert!(text.contains(from), "{from}");
        Scenario::parse("two.toml", &text.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn drives_share_the_nearest_bus() {
        let scenario = Scenario::parse("two.toml", &TWO.replacen("10.1", "2.1", 1)).unwrap();
        let board = scenario.clone().faster(2.0).board();
        let buses: Vec<_> = board.buses.iter().map(|b| (b.rate, b.drives.clone())).collect();
        assert_eq!(buses, [(70e6, vec![1]), (24e6, vec![0])]);
        assert_eq!(board.drives[0].capacity, 121_077_761 * 512);
        assert_eq!(board.drives[1].real_capacity, Some(500 * 512));
        assert_eq!(board.drives[0].write[0].rate, 4e6);
        let scenario = Scenario { network: Some("1.2".to_owned()), ..scenario };
        let board = scenario.board();
        assert_eq!((board.drives.len(), &board.buses[1].drives[..]), (4, &[0, 3][..]), "after the drives");
    }

    #[test]
    fn invalid_scenarios_are_refused_with_drive_and_reason() {
        insta::assert_snapshot!(
            [
                refused("bay = \"2.1\"", "bay = \"1.9\""),
                refused("bay = \"2.1\"", "bay = \"1.1\""),
                refused("bay = \"2.1\"", "bay = \"1\""),
                refused("sectors = 121077761", "sectors = 0"),
                refused("real_sectors = 500", "real_sectors = 5000"),
                refused("attach = \"sata\"", "attach = \"sd\""),
                refused("rate = 2e6", "rate = 0"),
                refused("rate = 35e6", "rate = -1"),
                refused("bays = \"1\"", "bays = \"1.\""),
                refused("bays = \"1\"", "bays = \"3\""),
                refused("bays = \"1\"", "bays = \"\""),
                refused("Cruzer Blade", "Cruzer Blade, the second"),
                refused("Cruzer Blade", "A,B"),
                refused("title", "machine = \"raspi3b\"\ntitle"),
                refused("title", "machine = \"raspi3b\"\nguest = \"systemd\"\ntitle"),
                refused("title", "usb = 4\ntitle"),
                refused("title", "network = \"1\"\ntitle"),
                refused("title", "network = \"1.1\"\ntitle"),
                refused("title", "network = \"1.1.1\"\ntitle"),
                refused("title", "network = \"1.9\"\ntitle"),
                refused("title", "guest = \"systemd\"\nnetwork = \"1.2\"\ntitle"),
                refused("title", "speeed = 4\ntitle"),
            ]
            .join("\n")
        );
    }
}
