//! Filesystems from lsblk's output in an archive, used where udev's database has none.

use std::collections::HashMap;

use serde::Deserialize;

use super::{Drive, Layer, Signature, blocks::contents_mut, mounts::parse_device};
use crate::sysroot::Sysroot;

/// Path of lsblk's output in an archive.
pub const LSBLK: &str = "/drivebench/lsblk.json";

#[derive(Deserialize)]
struct Output {
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

pub(super) fn fill(root: &Sysroot, drives: &mut [Drive], layers: &mut [Layer]) {
    let contents = root.long_text(LSBLK).map(|text| parse(&text)).unwrap_or_default();
    for (device, _, content) in contents_mut(drives, layers) {
        if let Some(more) = contents.get(&device).filter(|_| content.filesystem.is_none()) {
            *content = Signature { block_size: content.block_size, ..more.clone() };
        }
    }
}

fn parse(text: &str) -> HashMap<(u32, u32), Signature> {
    let mut contents = HashMap::new();
    let mut pending =
        serde_json::from_str::<Output>(text).map(|output| output.blockdevices).unwrap_or_default();
    while let Some(device) = pending.pop() {
        if let Some(number) = device.number.as_deref().and_then(parse_device) {
            let Device { fstype: filesystem, label, uuid, .. } = device;
            contents.insert(number, Signature { filesystem, label, uuid, block_size: None });
        }
        pending.extend(device.children);
    }
    contents
}

#[cfg(test)]
mod tests {
    use crate::inventory::fixtures;

    /// From lsblk 2.38.1 on a virtual machine, its drive renamed.
    const OUTPUT: &str = r#"{
   "blockdevices": [
      {"name":"sda", "maj:min":"8:0", "fstype":null, "label":null, "uuid":null,
         "children": [
            {"name":"sda1", "maj:min":"8:1", "fstype":"ext4", "label":"old", "uuid":"2b1c0ffe-0000-4000-8000-00000000abcd"}
         ]
      }
   ]
}"#;

    #[test]
    fn lsblk_is_used_where_udev_has_no_filesystem() {
        let mut tree = fixtures::pi_zero();
        tree.file("drivebench/lsblk.json", OUTPUT);
        let label = |tree: &fixtures::Tree| {
            let inventory = tree.inventory();
            let sda = inventory.drives.iter().find(|drive| drive.name == "sda").expect("sda");
            sda.partitions[0].content.label.clone()
        };
        assert_eq!(label(&tree).as_deref(), Some("media 1"), "from udev");
        tree.file("run/udev/data/b8:1", "");
        assert_eq!(label(&tree).as_deref(), Some("old"));
        tree.file("drivebench/lsblk.json", "{");
        assert_eq!(label(&tree), None);
    }
}
