//! `pages STORE`: runs of all experiments on modelled drives, kept in a store, for `bench/pages`. Names are long, as on a server.

#[path = "../tests/it/support/modelled.rs"]
mod modelled;

use drivebench::{
    engine::Cancel,
    experiments::{self, Request, Values},
    inventory::{Bus, BusKind, Ceiling, Drive, Inventory, Mount, NetworkPort},
    plan::Plan,
    record::{Done, Event, Store},
    target::Target,
};
use drivebench_modelled::{
    Modelled,
    sim::{Board, Cache, Model, Noise, SharedBus, Stalls, Standby, Zone},
};

const GB: u64 = 1_000_000_000;
const SIZE: u64 = 62 * GB;

/// A stick that stalls, and has a cache that lasts for a part of a load.
fn stick(write: f64, read: f64) -> Model {
    let stalls = Stalls {
        every: 64e6,
        every_variation: 0.2,
        seconds: 0.44,
        seconds_variation: 0.02,
        ..Stalls::default()
    };
    Model {
        capacity: SIZE,
        write: vec![Zone { from: 0, rate: write }],
        read: vec![Zone { from: 0, rate: read }],
        operation_seconds: 0.4e-3,
        seek_seconds: 5e-3,
        flush_seconds: 0.01,
        noise: Noise { variation: 0.05, memory: 0.5, run: 0.005 },
        stalls: vec![stalls],
        cache: Some(Cache { bytes: 400e6, free: 1.0, rate: 25e6, drain: 5e6 }),
        ..Model::default()
    }
}

fn disk() -> Model {
    Model {
        capacity: 1000 * GB,
        read: vec![Zone { from: 0, rate: 160e6 }, Zone { from: 500 * GB, rate: 90e6 }],
        write: vec![Zone { from: 0, rate: 150e6 }],
        standby: Some(Standby { after_seconds: 12.0, wake_seconds: 3.5 }),
        ..stick(1.0, 1.0)
    }
}

/// A directory on a stick in its bay, as openmediavault mounts it.
fn on_stick(at: usize) -> Target {
    let letter = char::from(b'a' + at as u8);
    let path = format!("/srv/dev-disk-by-uuid-4b1c6e0{at}-9d1f-4c27-8a57-0c1be7a1{at}f{at}2");
    let drive = Drive {
        name: format!("sd{letter}"),
        model: Some("Cruzer Blade".to_owned()),
        serial: Some(format!("4C53000{at}")),
        bus: Some("usb".to_owned()),
        controller: Some("3f980000.usb-usbv2".to_owned()),
        bay: Some(format!("1.{}", at + 1)),
        upstream: Some(format!("x-usbv2-{}", 1 + at / 2)),
        sectors: SIZE / 512,
        logical_block: 512,
        ..Drive::default()
    };
    let mount = Mount { path: path.clone(), filesystem: "ext4".to_owned(), ..Mount::default() };
    Target {
        given: path.clone(),
        path: path.into(),
        mount: Some(mount),
        drives: vec![drive],
        ..modelled::target("", SIZE, false)
    }
}

fn whole_disk() -> Target {
    let mut disk = modelled::target("WX61A54C7801", 1000 * GB, true);
    disk.drives[0].name = "sda".to_owned();
    Target { given: "/dev/sda".to_owned(), path: "/dev/sda".into(), ..disk }
}

fn memory() -> Target {
    let mount = Mount { filesystem: "tmpfs".to_owned(), ..Mount::default() };
    let given = "/dev/shm".to_owned();
    Target { given, drives: Vec::new(), mount: Some(mount), ..modelled::target("shm", GB, false) }
}

/// Two hubs on a bus whose ceiling is known, and a port on the first hub.
fn machine() -> Inventory {
    let (usb, hub) = (BusKind::Usb, BusKind::UsbHub);
    let ceiling = |practical, source: &str| {
        Some(Ceiling { theory: 60.0, practical: Some(practical), source: source.to_owned() })
    };
    let root = Bus {
        id: "x-usbv2".to_owned(),
        kind: usb,
        mbps: Some(480.0),
        ceiling: ceiling(32.0, "measured by others"),
        ..Bus::default()
    };
    let hubs = [1, 2].map(|n| Bus {
        id: format!("x-usbv2-{n}"),
        kind: hub,
        parent: Some(root.id.clone()),
        ..Bus::default()
    });
    let port = NetworkPort {
        name: "eth0".to_owned(),
        connected: Some(true),
        mbps: Some(100.0),
        ceiling: ceiling(11.75, "measured by others"),
        upstream: Some("x-usbv2-1".to_owned()),
        ..NetworkPort::default()
    };
    Inventory {
        buses: [vec![root.clone()], hubs.to_vec()].concat(),
        ports: vec![port],
        ..Inventory::default()
    }
}

/// What a person types: an experiment, its targets, and options as pairs of name and value.
fn asked(name: &str, targets: Vec<Target>, options: &[(&str, &str)]) -> Plan {
    let experiment = experiments::find(name).expect("an experiment");
    let mut values = Values::default();
    options.iter().for_each(|(name, value)| values.set(name, value));
    let ask = Request::new(experiment, targets, values).expect("a request");
    experiment.plan(&Request { memory: Some(memory()), ..ask }).expect("a plan")
}

/// A run in which people move drives as they are asked to.
fn moved(plan: &Plan, board: &Board) -> Vec<Event> {
    let boards = board.clone();
    let mut world = Modelled::new(plan, board).expect("a board").with_people(move |_, _| boards.clone());
    let mut events = vec![Event::Plan { plan: plan.clone() }];
    world.run(plan, &Done::default(), &mut events, &Cancel::default()).expect("runs");
    events
}

fn main() {
    let dir = std::env::args().nth(1).expect("the directory of the store");
    let store = Store::at(dir.into());
    let sticks = |n: usize| (0..n).map(on_stick).collect::<Vec<_>>();
    let speeds = [(2.0e6, 6.6e6), (5.5e6, 7.3e6), (8.9e6, 28.1e6), (2.4e6, 6.4e6)];
    let models = speeds.map(|(write, read)| stick(write, read));
    // What follows is written on the same day, one after the other.
    let mut hour = 0;
    let mut keep = |plan: Plan, drives: &[Model], buses: Vec<SharedBus>| {
        hour += 1;
        let board = Board { drives: drives.to_vec(), buses, seed: hour };
        let (at, events) = (format!("2026-05-01T{hour:02}:00:00Z"), moved(&plan, &board));
        modelled::keep_events(&store, &at, &plan, machine(), events);
    };
    let hubs =
        || vec![SharedBus { rate: 9e6, drives: vec![0, 1] }, SharedBus { rate: 22e6, drives: vec![2, 3] }];
    keep(asked("baseline", sticks(1), &[]), &models[..1], Vec::new());
    keep(asked("baseline", sticks(1), &[]), &models[1..2], Vec::new());
    keep(asked("baseline", sticks(2), &[("max-time", "120")]), &models[..2], Vec::new());
    keep(asked("baseline", vec![whole_disk()], &[]), &[disk()], Vec::new());
    keep(asked("baseline", sticks(3), &[("bs", "4k"), ("max-bytes", "256M")]), &models[..3], Vec::new());
    keep(asked("together", sticks(4), &[("max-time", "600")]), &models, hubs());
    keep(asked("bays", sticks(4), &[("quick", "true")]), &models, Vec::new());
    keep(asked("sizes", sticks(1), &[]), &models[2..3], Vec::new());
    keep(asked("sizes", sticks(3), &[("quick", "true")]), &models[..3], Vec::new());
    keep(asked("pagecache", sticks(1), &[]), &[models[2].clone(), Model::flat(GB, 8100e6)], Vec::new());
    keep(asked("cliff", sticks(1), &[("max-bytes", "4GiB")]), &models[1..2], Vec::new());
    keep(asked("cliff", sticks(2), &[("max-bytes", "2GiB")]), &models[1..3], Vec::new());
    keep(asked("spinup", vec![whole_disk()], &[("pause", "15")]), &[disk()], Vec::new());
    keep(asked("smallfiles", sticks(1), &[]), &models[2..3], Vec::new());
    let mut whole: Vec<Target> = (0..4).map(modelled::in_bay).collect();
    keep(asked("capacity", whole[..2].to_vec(), &[]), &models[1..3], Vec::new());
    whole.iter_mut().for_each(|target| target.drives[0].sectors = 600_000);
    keep(asked("accept", whole, &[]), &models, Vec::new());
}
