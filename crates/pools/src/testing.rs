//! A request for the tests of several crates.

use crate::{
    Request,
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
