//! Inventory: machine, buses, bays, drives, filesystems, read from a *sysroot* (`/` or a captured tree).

mod bays;
mod block_stack;
mod blocks;
mod bus;
mod card;
mod device_path;
mod drive;
mod findings;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
#[cfg(test)]
mod fuzz;
mod hubs_and_buses;
mod identity;
pub mod machine;
mod mounts;
mod network;
mod pools;
#[cfg(test)]
mod tests;
mod usb;

use serde::{Deserialize, Serialize};

use crate::sysroot::Sysroot;
use hubs_and_buses::Topology;

pub use bays::{BayError, Bays};
pub use block_stack::{Block, BlockStack};
pub use bus::{Bus, BusKind, Ceiling};
pub use card::Card;
pub use device_path::natural_order;
pub use drive::{Drive, Layer, Medium, Mount, Partition, Queue, Signature};
pub use findings::{Code, Finding};
pub use identity::{name_in, without_bay};
pub use machine::Machine;
pub use mounts::{SYSTEM_MOUNTS, deepest, live_mounts, parse_mountinfo};
pub use network::{Carried, NetworkPort};
pub use pools::{in_array, work};
pub use usb::Usb;

/// Machine, buses, drives, network ports and filesystems.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Inventory {
    pub machine: Machine,
    /// Links that drives and network ports share, each after the one above it.
    pub buses: Vec<Bus>,
    /// Drives, sorted by bus and bay.
    pub drives: Vec<Drive>,
    pub ports: Vec<NetworkPort>,
    /// Layers on drives: md arrays, encrypted and logical volumes, btrfs on several drives, ZFS, loop devices.
    pub layers: Vec<Layer>,
    /// Mounted filesystems, in mount order.
    pub mounts: Vec<Mount>,
    /// Paths of swap partitions and files.
    pub swaps: Vec<String>,
    /// Files that list what uses the drives, and could not be read completely. Not saved.
    #[serde(skip)]
    pub unread: Vec<String>,
}

impl Inventory {
    /// Reads the inventory. What can't be read is left out.
    pub fn read(root: &Sysroot) -> Self {
        let mut machine = machine::read(root);
        let supply_5a = root.bytes("/proc/device-tree/chosen/power/usb_max_current_enable");
        machine.usb_budget_ma = machine.usb_budget(supply_5a == Some(vec![0, 0, 0, 1]));
        let mut topology = Topology::new(root, &machine);
        let (drives, layers) = blocks::read(root, &mut topology);
        let ports = network::read(root, &mut topology);
        let (mounts, swaps, unread) = mounts::read(root);
        let buses = topology.buses;
        let mut inventory = Self { machine, buses, drives, ports, layers, mounts, swaps, unread };
        block_stack::add_loops(root, &mut inventory);
        let Self { drives, layers, mounts, .. } = &mut inventory;
        layers.extend(blocks::read_zfs(root, drives, mounts));
        blocks::fill_from_mounts(drives, layers, mounts);
        identity::mark_shared_serials(drives);
        device_path::sort(drives);
        bus::mark_limits(&mut inventory);
        pools::fill(root, &mut inventory);
        inventory
    }
}
