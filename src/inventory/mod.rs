//! What is here: machine, buses, bays, drives, filesystems. Reads a *sysroot* (`/` or a captured tree).

mod bays;
mod block_stack;
mod blocks;
mod boards;
mod bus;
mod bus_ceilings;
mod bus_limits;
mod bus_tree;
mod capture;
mod card;
mod device_path;
mod drive;
mod findings;
#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod fuzz;
mod health;
mod hubs;
mod identity;
mod lsblk;
pub(crate) mod machine;
mod media_type;
mod mounts;
mod network;
mod pcie;
mod queue_limits;
#[cfg(test)]
mod tests;
mod usb;

use serde::{Deserialize, Serialize};

use crate::sysroot::Sysroot;
use bus_tree::BusTree;

pub use bays::{BayError, Bays};
pub use block_stack::{Block, Under};
pub use bus::{Bus, BusKind, Ceiling};
pub use capture::look_around;
pub use card::Card;
pub use device_path::natural;
pub use drive::{Drive, Layer, Medium, Mount, Partition, Signature};
pub use findings::Finding;
pub use health::Prior;
pub use lsblk::LSBLK;
pub use machine::Machine;
pub use mounts::SPACE;
pub use network::NetworkPort;
pub use queue_limits::Queue;
pub use usb::Usb;

/// What is here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Inventory {
    /// The computer.
    pub machine: Machine,
    /// Links that drives and network ports share, each after the one it hangs on.
    pub buses: Vec<Bus>,
    /// Drives in the order of their buses and bays.
    pub drives: Vec<Drive>,
    /// Network ports with hardware behind them.
    pub ports: Vec<NetworkPort>,
    /// What is built on drives: md arrays, encrypted and logical volumes, btrfs over several drives.
    pub layers: Vec<Layer>,
    /// Mounted filesystems in the order they were mounted.
    pub mounts: Vec<Mount>,
    /// Paths of the partitions and files that are swapped to.
    pub swaps: Vec<String>,
}

impl Inventory {
    /// Reads what is here. What can't be read is left out.
    pub fn read(root: &Sysroot) -> Self {
        let machine = machine::read(root);
        let mut tree = BusTree::new(root, &machine);
        let (mut drives, mut layers) = blocks::read(root, &mut tree);
        let ports = network::read(root, &mut tree);
        let mounts = mounts::read(root);
        let swaps = mounts::parse_swaps(&root.text("/proc/swaps").unwrap_or_default());
        lsblk::fill(root, &mut drives, &mut layers);
        blocks::fill_from_mounts(&mut drives, &mut layers, &mounts);
        identity::mark_shared_serials(&mut drives);
        device_path::sort(&mut drives);
        let mut buses = tree.finish();
        bus_limits::mark(&mut buses, &drives, &ports);
        Self { machine, buses, drives, ports, layers, mounts, swaps }
    }

    /// The bus with this id.
    pub fn bus(&self, id: &str) -> Option<&Bus> {
        self.buses.iter().find(|bus| bus.id == id)
    }

    /// The buses between a drive or port and the processor, innermost first.
    pub fn buses_above(&self, upstream: Option<&str>) -> Vec<&Bus> {
        let mut above: Vec<&Bus> = Vec::new();
        let mut at = upstream;
        while let Some(bus) = at.and_then(|id| self.bus(id)).filter(|_| above.len() < self.buses.len()) {
            above.push(bus);
            at = bus.parent.as_deref();
        }
        above
    }
}
