//! Targets and drives that exist only as a model, for tests of experiments.

use crate::{
    inventory::Drive,
    plan::Plan,
    record::Event,
    target::{Kind, Target},
};
use drivebench_modelled::{
    Modelled,
    sim::{Board, Model, Zone},
};

/// The size of a stick, bytes.
pub const SIZE: u64 = 62_000_000_000;

/// A directory on a drive.
pub fn directory(name: &str) -> Target {
    let drive = Drive {
        model: Some("Model".to_owned()),
        serial: Some(name.to_owned()),
        sectors: SIZE / 512,
        ..Drive::default()
    };
    Target {
        given: name.to_owned(),
        kind: Kind::Directory,
        path: format!("/{name}").into(),
        drives: vec![drive],
        size: Some(SIZE),
        direct_alignment: 512,
        ..Target::default()
    }
}

/// A stick in one of the bays of a hub, as its device; they count from 0.
pub fn in_bay(at: usize) -> Target {
    let name = format!("sd{}", char::from(b'a' + at as u8));
    let path = format!("/dev/{name}");
    let drive = Drive {
        name,
        model: Some("Ultra".to_owned()),
        serial: Some(format!("4C53000{at}")),
        bus: Some("usb".to_owned()),
        controller: Some("3f980000.usb-usbv2".to_owned()),
        bay: Some(format!("1.{}", at + 1)),
        sectors: SIZE / 512,
        logical_block: 512,
        ..Drive::default()
    };
    Target {
        given: path.clone(),
        path: path.into(),
        drives: vec![drive],
        kind: Kind::BlockDevice,
        ..directory("")
    }
}

/// The events of a record after its start, of a plan on sticks of 20 MB/s.
pub fn carry_out(plan: &Plan) -> Vec<Event> {
    let speed = || vec![Zone { from: 0, rate: 20e6 }];
    let model = Model { capacity: SIZE, read: speed(), write: speed(), ..Model::default() };
    let drives = vec![model; plan.targets.len()];
    Modelled::events(plan, &Board { drives, buses: Vec::new(), seed: 1 }).expect("runs")
}
