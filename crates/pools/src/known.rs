//! Pools that drivebench built, marked in the inventory: the kernel knows neither that, nor which drives are missing.

use super::{
    Build,
    health::{MemberState, State},
};
use crate::{
    inventory::{Drive, Inventory, Layer},
    sysroot::Sysroot,
    units::Pool,
};

impl Build {
    /// Marks the pool among the layers. One without a device is added, if any of its drives is here.
    pub fn mark(&self, root: &Sysroot, inventory: &mut Inventory) {
        let health = self.health(root, inventory);
        let is_away = |state: &MemberState| match health.state {
            State::Stopped => *state == MemberState::Absent,
            _ => matches!(state, MemberState::Absent | MemberState::Failed | MemberState::Unused),
        };
        // It is unknown which member a drive with another serial is.
        let is_known = health.others.is_empty();
        let away = health.members.iter().enumerate().filter(|(_, state)| is_known && is_away(state));
        let absent = away.map(|(at, _)| self.name_of(at).to_owned()).collect();
        let own = |pool: Pool| Pool {
            name: Some(self.name.clone()),
            layout: Some(self.layout.name().to_owned()),
            members: self.members.len() as u64,
            ours: true,
            absent,
            ..pool
        };
        if let Some(device) = &health.device {
            let layer = inventory.layers.iter_mut().find(|layer| layer.name == device.name);
            if let Some(layer) = layer {
                layer.pool = layer.pool.take().map(own);
            }
            return;
        }
        let path = |(at, drive): (usize, Option<&Drive>)| Some(self.member_path(at, &drive?.name));
        let here: Vec<String> = self.drives(inventory).into_iter().enumerate().filter_map(path).collect();
        if here.is_empty() {
            return;
        }
        let stopped = Pool {
            kind: self.layout.name().to_owned(),
            state: State::Stopped,
            drives: self.members.len() as u64,
            degraded: (self.members.len() - here.len()) as u64,
            missing: (self.members.len() - here.len()) as u64,
            chunk: self.layout.is_striped().then_some(self.chunk),
            ..Pool::default()
        };
        inventory.layers.push(Layer {
            name: self.name.clone(),
            kind: self.layout.name().to_owned(),
            states: vec![MemberState::Unused; here.len()],
            members: here,
            pool: Some(own(stopped)),
            sectors: self.capacity,
            logical_block: 512,
            ..Layer::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Request,
        inventory::fixtures::{Tree, pools::mounted_array},
        units::{KIB, Layout},
    };

    fn build(inventory: &Inventory, names: [&str; 3]) -> Build {
        let drive = |name: &str| Drive {
            name: name.to_owned(),
            serial: Some(format!("4C53000{}", name.as_bytes()[2] - b'a' + 1)),
            sectors: 400_000,
            logical_block: 512,
            ..Drive::default()
        };
        let drives = names.map(drive);
        let request = Request {
            name: "archive".to_owned(),
            chunk: 64 * KIB,
            ..super::super::testing::request(Layout::Raid5)
        };
        let blank = Inventory { drives: inventory.drives.clone(), ..Inventory::default() };
        request.plan(&blank, &drives.each_ref()).expect("fits")
    }

    /// The sticks hold parts of the array.
    fn inventory_of(tree: &Tree) -> Inventory {
        let mut inventory = tree.inventory();
        for part in inventory.drives.iter_mut().flat_map(|drive| &mut drive.partitions) {
            part.content.uuid = Some(super::super::testing::request(Layout::Raid5).uuids[0].clone());
        }
        inventory
    }

    #[test]
    fn a_pool_of_drivebench_is_marked_with_the_drives_that_it_lacks() {
        // The second stick is unplugged.
        let tree = mounted_array("degraded", "raid5", 3, "acd");
        let mut inventory = inventory_of(&tree);
        let layers = inventory.layers.len();
        build(&inventory, ["sdd", "sdb", "sdc"]).mark(&tree.sysroot(), &mut inventory);
        assert_eq!(inventory.layers.len(), layers);
        let pool = inventory.layers[0].pool.as_ref().expect("a pool");
        assert_eq!((pool.ours, pool.name.as_deref(), pool.missing), (true, Some("archive"), 1));
        assert_eq!(pool.absent, ["4C530002"]);
        let found = inventory.findings();
        assert!(found[0].advice.contains("drivebench pool replace 4C530002 NEW"), "{}", found[0].advice);
    }

    #[test]
    fn a_pool_without_a_device_is_shown_while_a_drive_of_it_is_here() {
        let mut tree = mounted_array("degraded", "raid5", 3, "acd");
        tree.file("sys/devices/virtual/block/md127/md/uuid", "153f7e0e-069f-b954-415c-8744bbe3e33b\n");
        let mut inventory = inventory_of(&tree);
        let layers = inventory.layers.len();
        build(&inventory, ["sda", "sdb", "sdc"]).mark(&tree.sysroot(), &mut inventory);
        let pool = inventory.layers.last().and_then(|layer| layer.pool.as_ref()).expect("a pool");
        assert_eq!((inventory.layers.len(), pool.state), (layers + 1, State::Stopped));
        assert_eq!(
            (&inventory.layers[layers].members[..], &pool.absent[..]),
            (&["sda1", "sdc1"].map(str::to_owned)[..], &["4C530002".to_owned()][..])
        );
        let stopped = inventory.findings().into_iter().find(|f| f.what.contains("archive"));
        assert!(stopped.is_some_and(|f| f.advice.contains("drivebench pool status archive")));
        inventory.drives.clear();
        inventory.layers.clear();
        let gone = build(&tree.inventory(), ["sdx", "sdy", "sdz"]);
        gone.mark(&tree.sysroot(), &mut inventory);
        assert!(inventory.layers.is_empty());
    }
}
