//! Evidence from the store: of each drive that is here the newest runs and the oldest, worked out from their records.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    advise::Evidence,
    analyse::Estimate,
    experiments::{self, Experiment},
    findings::{Findings, Named},
    inventory::{Drive, Inventory},
    plan::{Measure, Plan, StepId},
    record::{Brief, Event, Reader, Start, Store},
    target::Target,
    units::EngineInfo,
};

/// Experiments whose numbers answers rest on.
const EVIDENCE_EXPERIMENTS: [&str; 4] = ["baseline", "together", "cliff", "spinup"];
/// Of each drive and experiment so many of the newest runs, for how it is, and of the oldest, for how it was.
const NEWEST: usize = 3;
const OLDEST: usize = 2;
/// Most records that are read, and most bytes of them as they are kept: about a second's work on a PC.
pub(super) const MOST: usize = 24;
const MOST_BYTES: u64 = 10_000_000;

/// What the store holds for this machine.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub evidence: Vec<Evidence>,
    /// Runs in the store.
    pub kept: usize,
    /// Runs that were read.
    pub read: usize,
    /// Records that could not be read, with why.
    pub unreadable: Vec<String>,
}

/// Reads what bears on drives that are here.
pub(super) fn gather(store: &Store, inventory: &Inventory) -> anyhow::Result<Gathered> {
    let (briefs, bad) = store.list()?;
    let mut gathered = Gathered { kept: briefs.len(), ..Gathered::default() };
    gathered.unreadable.extend(bad.iter().map(ToString::to_string));
    let here: BTreeSet<String> = inventory.drives.iter().map(Drive::identity).collect();
    let mut bytes = 0u64;
    for run in chosen(&briefs, &here) {
        // The first is read however large it is.
        bytes = bytes.saturating_add(store.size(run));
        if bytes > MOST_BYTES && gathered.read > 0 {
            break;
        }
        let read = store.open(run).map_err(|e| e.to_string()).and_then(read);
        match read {
            Ok(evidence) => gathered.evidence.extend(evidence),
            Err(why) => gathered.unreadable.push(why),
        }
        gathered.read += 1;
    }
    Ok(gathered)
}

/// The runs to read; in turn the newest of each drive and experiment, the oldest, the newest but one, up to the most.
pub(super) fn chosen<'a>(briefs: &'a [Brief], here: &BTreeSet<String>) -> Vec<&'a str> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Brief>> = BTreeMap::new();
    for brief in briefs.iter().filter(|b| EVIDENCE_EXPERIMENTS.contains(&b.experiment.as_str())) {
        for drive in brief.written.keys().filter(|drive| here.contains(*drive)) {
            groups.entry((drive, &brief.experiment)).or_default().push(brief);
        }
    }
    let newest = |i: usize| move |runs: &Vec<&'a Brief>| runs.iter().rev().nth(i).copied();
    let oldest = |i: usize| move |runs: &Vec<&'a Brief>| runs.get(i).copied();
    let mut chosen: Vec<&str> = Vec::new();
    let mut take = |pick: &dyn Fn(&Vec<&'a Brief>) -> Option<&'a Brief>| {
        for brief in groups.values().filter_map(pick) {
            if chosen.len() < MOST && !chosen.contains(&brief.run.as_str()) {
                chosen.push(&brief.run);
            }
        }
    };
    for i in 0..NEWEST.max(OLDEST) {
        if i < NEWEST {
            take(&newest(i));
        }
        if i < OLDEST {
            take(&oldest(i));
        }
    }
    chosen
}

/// What a record tells beside its findings.
#[derive(Default)]
struct Seen {
    start: Option<Start>,
    plan: Option<Plan>,
    /// What each step really did, and by which engine.
    done: BTreeMap<StepId, (Measure, EngineInfo)>,
    /// The longest operation of each step on each target, ns.
    longest: BTreeMap<(StepId, usize), u64>,
}

impl Seen {
    fn take(&mut self, event: &Event) {
        match event {
            Event::Start(start) => self.start = Some((**start).clone()),
            Event::Plan { plan } => self.plan = Some(plan.clone()),
            Event::Step { step, engine, instead, .. } => {
                let planned = self.plan.as_ref().and_then(|plan| plan.measure(*step));
                let measure = instead.as_deref().or(planned).cloned();
                self.done.extend(measure.map(|m| (*step, (m, engine.clone()))));
                self.longest.retain(|(of, _), _| of != step);
            }
            Event::Window { step, target, window, .. } => {
                let longest = self.longest.entry((*step, *target as usize)).or_default();
                *longest = window.latency.max().unwrap_or(0).max(*longest);
            }
            _ => {}
        }
    }
}

/// The evidence in one record.
fn read(mut reader: Reader) -> Result<Vec<Evidence>, String> {
    let Some(Event::Start(start)) = reader.next() else {
        return Err("a record does not begin with its start".to_owned());
    };
    let Some(experiment) = experiments::find(&start.experiment) else {
        return Err(format!(
            "{} is a run of '{}', which this drivebench doesn't know",
            start.run, start.experiment
        ));
    };
    let first = Event::Start(start);
    Ok(from_events(experiment, std::iter::once(first).chain(reader.by_ref())))
}

fn from_events(experiment: &dyn Experiment, events: impl Iterator<Item = Event>) -> Vec<Evidence> {
    let mut seen = Seen::default();
    let findings = experiment.findings(&mut events.inspect(|event| seen.take(event)));
    let Some((start, plan)) = seen.start.as_ref().zip(seen.plan.as_ref()) else { return Vec::new() };
    let record = Record { start, plan, seen: &seen, findings: &findings };
    let mut all: Vec<Evidence> = (0..plan.targets.len()).flat_map(|at| record.of_target(at)).collect();
    if experiment.name() == "together" {
        all.extend(record.at_once());
    }
    all
}

struct Record<'a> {
    start: &'a Start,
    plan: &'a Plan,
    seen: &'a Seen,
    findings: &'a Findings,
}

impl Record<'_> {
    /// What is the same of all evidence of these targets.
    fn about(&self, target: &str, targets: &[Target]) -> Evidence {
        let mut evidence = Evidence {
            run: self.start.run.clone(),
            at: self.start.at.clone(),
            experiment: self.start.experiment.clone(),
            modelled: self.findings.modelled,
            board: self.start.inventory.machine.board.clone(),
            target: target.to_owned(),
            ..Evidence::default()
        };
        for target in targets {
            evidence.layers.extend(target.layers.iter().cloned());
            for drive in &target.drives {
                evidence.drives.push(drive.identity());
                evidence.bays.push(drive.full_bay());
            }
        }
        evidence
    }

    /// What must be alike beside the load.
    fn way(&self, target: &Target, measure: &Measure, engine: &EngineInfo) -> String {
        let protocol = self.plan.protocol.iter().map(|p| format!(", protocol {p}")).collect::<String>();
        let cold = if measure.cold { ", cold" } else { "" };
        let through: String = target.layers.iter().map(|layer| format!(", {layer}")).collect();
        format!("{:?}, {}{through}{protocol}{cold}", target.kind, engine.name)
    }

    /// One for each load on one target alone, and one for what belongs to no load.
    fn of_target(&self, at: usize) -> Vec<Evidence> {
        let target = &self.plan.targets[at];
        let about = self.about(&target.given, std::slice::from_ref(target));
        let own: Vec<&Named> = self.findings.estimates.iter().filter(|n| n.target == target.given).collect();
        let mut all: Vec<Evidence> = Vec::new();
        let mut labels: Vec<&str> = Vec::new();
        for (step, (measure, engine)) in &self.seen.done {
            let word = measure.label.split(' ').next().unwrap_or_default();
            // What is said of writing in cliff is of its one load, however that is labelled.
            let label = if self.start.experiment == "cliff" { "write" } else { word };
            let alone = self.plan.step(*step).is_some_and(|s| s.on == [at as u32]);
            if !alone || labels.contains(&label) {
                continue;
            }
            let begins = |n: &&&Named| n.name.strip_prefix(label).is_some_and(|rest| rest.starts_with(' '));
            let mut estimates: Vec<Named> = own.iter().filter(begins).map(|n| (**n).clone()).collect();
            if estimates.is_empty() {
                continue;
            }
            labels.push(label);
            let same = |(_, (m, _)): &(&StepId, &(Measure, EngineInfo))| m.label == measure.label;
            let steps = self.seen.done.iter().filter(same);
            let longest = steps.filter_map(|(s, _)| self.seen.longest.get(&(*s, at))).max();
            estimates.extend(longest.map(|ns| longest_of(target, label, *ns)));
            all.push(Evidence {
                load: Some(measure.load.clone()),
                way: self.way(target, measure, engine),
                estimates,
                ..about.clone()
            });
        }
        let claimed = |n: &&&Named| labels.iter().any(|l| n.name.starts_with(&format!("{l} ")));
        let rest: Vec<Named> = own.iter().filter(|n| !claimed(n)).map(|n| (**n).clone()).collect();
        if self.start.experiment == "spinup" && !rest.is_empty() {
            all.push(Evidence { estimates: rest, ..about });
        }
        all
    }

    /// What several targets did at once, by load.
    fn at_once(&self) -> Vec<Evidence> {
        let mut all: Vec<Evidence> = Vec::new();
        let mut labels: Vec<&str> = Vec::new();
        let on = |step: &StepId| self.plan.step(*step).map(|s| s.on.as_slice()).unwrap_or_default();
        for (_, (measure, engine)) in self.seen.done.iter().filter(|(step, _)| on(step).len() > 1) {
            let label = measure.label.split(' ').next().unwrap_or_default();
            let begins = |n: &&Named| {
                let sum = ["sum", "sum alone", "limit"];
                n.name.strip_prefix(label).is_some_and(|rest| sum.contains(&rest.trim_start()))
            };
            let estimates: Vec<Named> = self.findings.estimates.iter().filter(begins).cloned().collect();
            if estimates.is_empty() || labels.contains(&label) {
                continue;
            }
            labels.push(label);
            // The sum is of all that took this load, which the largest set is.
            let takers = self.seen.done.iter().filter(|(_, (m, _))| m.label.split(' ').next() == Some(label));
            let Some((largest, _)) = takers.max_by_key(|(step, _)| on(step).len()) else { continue };
            let targets: Vec<Target> =
                on(largest).iter().filter_map(|&t| self.plan.targets.get(t as usize)).cloned().collect();
            let way = targets.first().map(|t| self.way(t, measure, engine)).unwrap_or_default();
            all.push(Evidence {
                load: Some(measure.load.clone()),
                at_once: true,
                way,
                estimates,
                ..self.about("all", &targets)
            });
        }
        all
    }
}

/// The longest that one operation took, which another run may exceed.
fn longest_of(target: &Target, label: &str, ns: u64) -> Named {
    let value = ns as f64 / 1e9;
    let how = "the longest seen".to_owned();
    let estimate = Estimate { value, low: value, high: f64::INFINITY, how, converged: false };
    Named::new(&target.given, format!("{label} longest"), "s", estimate)
}
