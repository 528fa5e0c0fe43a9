//! A request and drives for the tests of several crates.

use crate::{
    Request,
    inventory::Drive,
    tools::mkfs::Filesystem,
    units::{KIB, Layout},
};

pub fn request(layout: Layout) -> Request {
    Request {
        name: "data".to_owned(),
        layout,
        chunk: 512 * KIB,
        bitmap: true,
        filesystem: Filesystem::Ext4,
        most: None,
        uuids: ["053f7e0e-069f-b954-415c-8744bbe3e33b", "be1103c5-fb4b-476f-b7fd-09f0a4b747d6"]
            .map(str::to_owned),
    }
}

/// A stick of 205 MB.
pub fn stick(name: &str, bay: &str, serial: &str, shared_serial: bool) -> Drive {
    Drive {
        name: name.to_owned(),
        bay: Some(bay.to_owned()),
        serial: Some(serial.to_owned()),
        shared_serial,
        sectors: 400_000,
        logical_block: 512,
        ..Drive::default()
    }
}
