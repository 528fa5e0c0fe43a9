//! Runs of experiments on modelled drives, as a run goes: planned, carried out, recorded.
#![allow(dead_code, reason = "tests and benchmarks use their part of it")]

use drivebench::{
    analyse::Rules,
    engine::{
        Cancel, Engine, EngineError, Flow,
        sim::{Board, Sim},
    },
    experiments::{Ask, Baseline, Effort, Experiment, LoadName, Values},
    inventory::{Drive, Inventory},
    plan::{Plan, Step, Task},
    record::{End, Event, How, SCHEMA, StandbyResult, Start, Store, TaskResult},
    run::{self, Seen, Site},
    target::{Kind, Target},
    units::{Caching, MIB, Power},
};

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

/// What a person asks by naming nothing but targets, with these rules.
pub fn ask(targets: Vec<Target>, rules: Rules, block: u64) -> Ask {
    Ask {
        targets,
        loads: None,
        block,
        depth: 1,
        caching: Caching::Direct,
        read_percent: 50,
        verify: false,
        seed: 1,
        engine: None,
        effort: Effort { max_bytes: rules.budget as u64 * MIB, max_seconds: 1e9, rules },
        protocol: None,
        memory: None,
        values: Values::default(),
    }
}

/// Only this load.
pub fn only(load: LoadName, ask: Ask) -> Ask {
    Ask { loads: Some(vec![load]), ..ask }
}

/// The plan that baseline makes of it.
pub fn plan(ask: &Ask) -> Result<Plan, EngineError> {
    Baseline.plan(ask).map_err(|e| EngineError::Job(e.to_string()))
}

/// The plan that an experiment makes of it.
pub fn plan_of(experiment: &dyn Experiment, ask: &Ask) -> Result<Plan, EngineError> {
    experiment.plan(ask).map_err(|e| EngineError::Job(e.to_string()))
}

/// Carries a plan out on modelled drives, one a target, and gives the events a record would hold.
pub fn carry_out(plan: &Plan, board: &Board) -> Result<Vec<Event>, EngineError> {
    let mut sim = Sim::new(board)?;
    let mut events = vec![Event::Plan { plan: plan.clone() }];
    let mut written = vec![0; plan.targets.len()];
    let mut fell = vec![false; plan.targets.len()];
    for (step, what) in plan.steps.iter().enumerate() {
        let m = match what {
            Step::Measure(m) if !plan.needs_cliff(step) || m.targets.iter().all(|&target| fell[target]) => m,
            Step::Errand(e) if !plan.needs_cliff(step) || fell[e.target] => {
                let (took, slept) = rest(&e.task);
                sim.rest(took);
                let took = TaskResult { seconds: took, slept, ..TaskResult::default() };
                events.push(Event::Errand { step, target: e.target, took });
                continue;
            }
            _ => continue,
        };
        let sites: Vec<Site> = m.targets.iter().map(|&target| Site::of(m, target, written[target])).collect();
        if sites.iter().any(|site| site.length < m.load.block) {
            continue;
        }
        events.push(Event::Step { step, engine: sim.info(), at: String::new(), instead: None });
        let mut one = Placed { sim: &mut sim, targets: &m.targets };
        let outcomes = run::measure(&mut one, m, &sites, &Cancel::default(), &mut |seen| {
            match seen {
                Seen::Window { target, zone, window } => {
                    events.push(Event::Window { step, target, zone, window: window.clone() });
                }
                Seen::Outcome { target, zone, outcome } => {
                    events.push(Event::Outcome { step, target, zone, outcome: outcome.clone(), again: None });
                }
                Seen::Progress(progress) => fell[progress.target] = progress.cliffs > 0,
            }
            Flow::Continue
        })?;
        for (site, outcome) in sites.iter().zip(&outcomes) {
            let filled = site.offset + outcome.bytes_written.min(site.length);
            written[site.target] = filled.max(written[site.target]);
        }
    }
    Ok(events)
}

/// Carries a plan out and keeps its record; `real` says that its figures are no model's.
pub fn keep(store: &Store, at: &str, plan: &Plan, board: &Board, real: bool) -> String {
    let start = |run: String| Start {
        schema: SCHEMA,
        run,
        at: at.to_owned(),
        version: "0.1.0".to_owned(),
        command: vec!["drivebench".to_owned()],
        experiment: plan.experiment.clone(),
        targets: plan.targets.iter().map(Target::label).collect(),
        inventory: Inventory::default(),
    };
    let (run, mut writer) = store.create(start).expect("a record");
    for mut event in carry_out(plan, board).expect("runs") {
        if let (Event::Step { engine, .. }, true) = (&mut event, real) {
            engine.name = "psync".to_owned();
            engine.modelled = false;
        }
        writer.append(&event).expect("appends");
    }
    writer.append(&Event::End(End { how: How::Finished, at: at.to_owned() })).expect("appends");
    run
}

/// How long an errand takes, s, and what a drive says of it that can't be told to sleep.
fn rest(task: &Task) -> (f64, Option<StandbyResult>) {
    match task {
        Task::Pause { seconds } => (*seconds, None),
        Task::Standby { patience, .. } => {
            (*patience, Some(StandbyResult { power: Power::Standby, ..StandbyResult::default() }))
        }
        Task::WriteFiles { .. } | Task::ReadFiles { .. } => unreachable!("the model has no files"),
    }
}

/// The sim's drives are the plan's targets; an engine is opened over those of one step.
struct Placed<'a> {
    sim: &'a mut Sim,
    targets: &'a [usize],
}

impl Engine for Placed<'_> {
    fn info(&self) -> drivebench::engine::EngineInfo {
        self.sim.info()
    }

    fn run(
        &mut self,
        jobs: &[drivebench::engine::Job],
        cancel: &Cancel,
        watch: &mut drivebench::engine::Watch<'_>,
    ) -> Result<Vec<drivebench::engine::Outcome>, EngineError> {
        let mut jobs = jobs.to_vec();
        jobs.iter_mut().for_each(|job| job.target = self.targets[job.target]);
        self.sim.run(&jobs, cancel, watch)
    }
}
