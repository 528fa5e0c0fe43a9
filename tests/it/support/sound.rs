//! What holds of the inventory of any machine, however damaged its files are. For tests of the crate and of its users.

use super::{Inventory, Snapshot, Sysroot};

/// Reads and checks the inventory and its findings; the JSON of both.
pub fn inventory(root: &Sysroot) -> String {
    let inventory = Inventory::read(root);
    let findings = inventory.findings();
    for mount in &inventory.mounts {
        inventory.stack_of(inventory.blocks_of(mount));
    }
    for drive in &inventory.drives {
        assert!(!drive.label().is_empty() && !drive.identity().is_empty());
        assert!(inventory.buses_above(drive.upstream.as_deref()).len() <= inventory.buses.len());
    }
    inventory.swap_drives();
    Snapshot::take(root, &inventory.drives);
    let json = serde_json::to_string(&(&inventory, findings)).expect("JSON");
    assert!(!json.chars().any(char::is_control));
    let again: (Inventory, serde_json::Value) = serde_json::from_str(&json).expect("an inventory");
    assert_eq!(again.0, Inventory { unread: Vec::new(), ..inventory });
    json
}
