//! What lsblk told of filesystems when a machine was captured, for where udev's database tells nothing.

use std::collections::HashMap;

use serde::Deserialize;

use super::{Drive, Layer, Signature, mounts::parse_device};
use crate::sysroot::Sysroot;

/// Where an archive keeps it.
pub const LSBLK: &str = "/drivebench/lsblk.json";

#[derive(Deserialize)]
struct Answer {
    blockdevices: Vec<Device>,
}

#[derive(Deserialize)]
struct Device {
    #[serde(rename = "maj:min")]
    number: Option<String>,
    fstype: Option<String>,
    label: Option<String>,
    uuid: Option<String>,
    #[serde(default)]
    children: Vec<Device>,
}

/// Fills in what stands on block devices.
pub(super) fn fill(root: &Sysroot, drives: &mut [Drive], layers: &mut [Layer]) {
    let told = root.long_text(LSBLK).map(|text| parse(&text)).unwrap_or_default();
    if told.is_empty() {
        return;
    }
    let parts = drives.iter_mut().flat_map(|drive| {
        let parts = drive.partitions.iter_mut().map(|part| (part.device, &mut part.content));
        parts.chain([(drive.device, &mut drive.content)])
    });
    for (device, content) in parts.chain(layers.iter_mut().map(|layer| (layer.device, &mut layer.content))) {
        if let Some(more) = told.get(&device).filter(|_| content.filesystem.is_none()) {
            *content = Signature { block_size: content.block_size, ..more.clone() };
        }
    }
}

fn parse(text: &str) -> HashMap<(u32, u32), Signature> {
    let mut told = HashMap::new();
    let mut waiting =
        serde_json::from_str::<Answer>(text).map(|answer| answer.blockdevices).unwrap_or_default();
    while let Some(device) = waiting.pop() {
        if let Some(number) = device.number.as_deref().and_then(parse_device) {
            let Device { fstype: filesystem, label, uuid, .. } = device;
            told.insert(number, Signature { filesystem, label, uuid, block_size: None });
        }
        waiting.extend(device.children);
    }
    told
}

#[cfg(test)]
mod tests {
    use crate::inventory::fixtures;

    /// From lsblk 2.38.1 on a virtual machine, its drive renamed.
    const ANSWER: &str = r#"{
   "blockdevices": [
      {"name":"sda", "maj:min":"8:0", "fstype":null, "label":null, "uuid":null,
         "children": [
            {"name":"sda1", "maj:min":"8:1", "fstype":"ext4", "label":"old", "uuid":"2b1c0ffe-0000-4000-8000-00000000abcd"}
         ]
      }
   ]
}"#;

    #[test]
    fn where_udev_is_silent_lsblk_speaks() {
        let mut tree = fixtures::pi_zero();
        tree.file("drivebench/lsblk.json", ANSWER);
        let label = |tree: &fixtures::Tree| {
            let inventory = tree.inventory();
            let sda = inventory.drives.iter().find(|drive| drive.name == "sda").expect("sda");
            sda.partitions[0].content.label.clone()
        };
        assert_eq!(label(&tree).as_deref(), Some("media 1"), "udev knows");
        tree.file("run/udev/data/b8:1", "");
        assert_eq!(label(&tree).as_deref(), Some("old"));
        tree.file("drivebench/lsblk.json", "{");
        assert_eq!(label(&tree), None);
    }
}
