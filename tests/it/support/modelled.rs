//! Runs of experiments on modelled drives, as a run goes: planned, carried out, recorded.
#![allow(dead_code, reason = "tests and benchmarks use their part of it")]

use drivebench::{
    analyse::Rules,
    conditions::BytesMoved,
    engine::EngineError,
    experiments::{BASELINE, Effort, Experiment, LoadName, Request, Values},
    inventory::{Drive, Inventory},
    plan::Plan,
    record::{End, Event, How, Log, SCHEMA, Start, Store},
    target::{Kind, Target},
    units::{Caching, MIB},
};
use drivebench_modelled::{Modelled, sim::Board};

/// A directory on a drive that exists only as a model; a whole device where it rotates.
pub fn target(name: &str, capacity: u64, rotates: bool) -> Target {
    let drive = Drive {
        model: Some("Model".to_owned()),
        serial: Some(name.to_owned()),
        rotational: rotates,
        sectors: capacity / 512,
        ..Drive::default()
    };
    Target {
        given: name.to_owned(),
        kind: if rotates { Kind::BlockDevice } else { Kind::Directory },
        path: format!("/{name}").into(),
        drives: vec![drive],
        size: Some(capacity),
        direct_alignment: 512,
        ..Target::default()
    }
}

/// A stick in one of the bays of a hub, as its device; they count from 0.
pub fn in_bay(at: usize) -> Target {
    const SIZE: u64 = 62_000_000_000;
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
        ..target("", SIZE, false)
    }
}

/// What a person asks by naming nothing but targets, with these rules.
pub fn ask(targets: Vec<Target>, rules: Rules, block: u64) -> Request {
    // A load of one's own, not a suite.
    let mut values = Values::default();
    values.set("bs", &block.to_string());
    Request {
        targets,
        loads: None,
        block,
        depth: 1,
        caching: Caching::Direct,
        read_percent: 50,
        verify: false,
        seed: 1,
        engine: None,
        effort: Effort { max_bytes: rules.budget * MIB, max_seconds: 1e9, rules },
        suite: None,
        memory: None,
        values,
    }
}

/// Only this load.
pub fn only(load: LoadName, ask: Request) -> Request {
    Request { loads: Some(vec![load]), ..ask }
}

/// The plan that baseline makes of it.
pub fn plan(ask: &Request) -> Result<Plan, EngineError> {
    BASELINE.plan(ask).map_err(|e| EngineError::Job(e.to_string()))
}

/// The plan that an experiment makes of it.
pub fn plan_of(experiment: &Experiment, ask: &Request) -> Result<Plan, EngineError> {
    experiment.plan(ask).map_err(|e| EngineError::Job(e.to_string()))
}

/// Carries a plan out on modelled drives, one a target, and gives the events a record holds after its start.
pub fn carry_out(plan: &Plan, board: &Board) -> Result<Vec<Event>, EngineError> {
    Modelled::events(plan, board)
}

/// Carries a plan out and keeps its record; `real` says that its figures are no model's.
pub fn keep(store: &Store, at: &str, plan: &Plan, board: &Board, real: bool) -> String {
    let mut events = carry_out(plan, board).expect("runs");
    for event in &mut events {
        if let (Event::Step { engine, .. }, true) = (event, real) {
            engine.name = "psync".to_owned();
            engine.modelled = false;
        }
    }
    keep_events(store, at, plan, Inventory::default(), events)
}

/// Keeps a record of these events on a machine.
pub fn keep_events(store: &Store, at: &str, plan: &Plan, inventory: Inventory, events: Vec<Event>) -> String {
    let start = |run: String| Start {
        schema: SCHEMA,
        run,
        at: at.to_owned(),
        version: "0.1.0".to_owned(),
        command: vec!["drivebench".to_owned()],
        experiment: plan.experiment.clone(),
        targets: plan.targets.iter().map(Target::label).collect(),
        host: Default::default(),
        inventory,
    };
    let (run, mut writer) = store.create(start).expect("a record");
    let end = Event::End(End { how: How::Finished, at: at.to_owned() });
    events.iter().chain([&end]).for_each(|event| writer.append(event).expect("appends"));
    run
}

/// With counters of the drives that show a part of what each load read and wrote.
pub fn counted(events: &[Event], read: u64, written: u64) -> Vec<Event> {
    let with = |event: &Event| match event {
        Event::Outcome { step, target, outcome, .. } => {
            let moved =
                BytesMoved { read: outcome.bytes_read / read, written: outcome.bytes_written / written };
            vec![event.clone(), Event::Counted { step: *step, target: *target, moved }]
        }
        _ => vec![event.clone()],
    };
    events.iter().flat_map(with).collect()
}
