//! What the record of any experiment holds, gathered from its lines.

use std::collections::BTreeMap;

use super::{
    Experiment,
    series::{Run, Series},
};
use crate::{
    analyse::{Estimate, repeat},
    findings::Findings,
    inventory::Target,
    plan::{Measure, Plan},
    record::{End, Event, How, Start, Took},
    units::{Ended, EngineInfo},
};

/// What a record holds.
#[derive(Default)]
pub(super) struct Gathered {
    pub start: Option<Start>,
    pub plan: Option<Plan>,
    /// What was really measured, by step.
    pub measured: BTreeMap<usize, Measure>,
    /// What became of each load, by step and target.
    pub series: BTreeMap<(usize, usize), Series>,
    /// What errands took, with step and target.
    pub errands: Vec<(usize, usize, Took)>,
    engines: Vec<EngineInfo>,
    again: Vec<String>,
    flags: Vec<String>,
}

const STOPPED: &str = "Stopped by hand: what the plan holds beyond this was not measured.";

/// All runs of one load on one target.
pub(super) struct Group<'a> {
    /// Position of the target in the plan.
    pub at: usize,
    pub target: &'a Target,
    pub measure: Measure,
    /// Over all runs.
    pub estimate: Estimate,
    pub runs: Vec<Run>,
}

impl Gathered {
    /// Reads a record to its end. `also` is shown each line, for what an experiment alone must know.
    pub fn read(record: &mut dyn Iterator<Item = Event>, mut also: impl FnMut(&Event)) -> Self {
        let mut held = Self::default();
        for event in record {
            also(&event);
            held.take(event);
        }
        held
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Start(start) => self.start = Some(*start),
            Event::Plan { plan } => {
                self.measured = plan.measures().map(|(at, m)| (at, m.clone())).collect();
                self.plan = Some(plan);
            }
            Event::Preflight { checks, .. } => {
                self.flags.extend(checks.into_iter().filter_map(|c| c.flag));
                self.flags.sort();
                self.flags.dedup();
            }
            Event::Step { step, engine, instead, .. } => {
                // A step that was cut short before is measured all over.
                self.series.retain(|(of, _), _| *of != step);
                self.measured.extend(instead.map(|m| (step, *m)));
                if !self.engines.contains(&engine) {
                    self.engines.push(engine);
                }
            }
            Event::Note { text, .. } if self.flags.contains(&text) => {}
            Event::Note { text, .. } => self.flags.push(text),
            Event::Window { step, target, zone, window } => {
                if let Some(m) = self.measured.get(&step) {
                    let series = self.series.entry((step, target)).or_insert_with(|| Series::new(m));
                    series.window(zone, &window);
                }
            }
            Event::Outcome { step, target, outcome, again, .. } => {
                self.again.extend(again.filter(|line| !self.again.contains(line)));
                if let Some(s) = self.series.get_mut(&(step, target)) {
                    s.outcome(outcome);
                }
            }
            Event::End(End { how: How::Interrupted, .. }) => {
                self.flags.push(STOPPED.to_owned());
            }
            Event::Errand { step, target, took } => self.errands.push((step, target, took)),
            Event::Resume(_) => self.flags.retain(|flag| flag != STOPPED),
            Event::Arranged { .. }
            | Event::Scratch { .. }
            | Event::Processors { .. }
            | Event::Imported(_)
            | Event::End(_) => {}
        }
    }

    /// Runs of the same load in blocks of the same size on the same target belong together, in the order of the plan's targets; loads labelled
    /// `without` are left out.
    pub fn groups<'a>(&mut self, plan: &'a Plan, without: &str) -> Vec<Group<'a>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for ((step, at), series) in std::mem::take(&mut self.series) {
            let Some(measure) = self.measured.get(&step).filter(|m| m.label != without) else { continue };
            let Some(target) = plan.targets.get(at) else { continue };
            let run = series.finish(measure);
            let same = |g: &&mut Group<'_>| {
                g.at == at && (&g.measure.label, g.measure.load.block) == (&measure.label, measure.load.block)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.runs.push(run),
                None => {
                    let estimate = run.estimate.clone();
                    groups.push(Group { at, target, measure: measure.clone(), estimate, runs: vec![run] });
                }
            }
        }
        groups.sort_by_key(|group| group.at);
        for group in &mut groups {
            let whole = |r: &&Run| matches!(r.ended, Some(Ended::Finished | Ended::Stopped));
            let speeds: Vec<f64> = group.runs.iter().filter(whole).map(|r| r.estimate.value).collect();
            if let (true, Some(mean)) = (speeds.len() > 1, repeat::mean(&speeds)) {
                group.estimate = mean;
            }
        }
        groups
    }

    /// Findings that say what was measured, on what and how, and what was flagged; the experiment adds what it means.
    pub fn findings(&self, experiment: &dyn Experiment) -> Findings {
        let mut flags = self.flags.clone();
        if self.plan.is_none() {
            flags.push("Nothing was measured: the record ends before its plan.".to_owned());
        }
        let command = self.start.iter().map(|s| s.command.join(" "));
        Findings {
            run: self.start.as_ref().map(|s| s.run.clone()).unwrap_or_default(),
            experiment: experiment.name().to_owned(),
            question: experiment.question().to_owned(),
            modelled: self.engines.iter().any(|e| e.modelled),
            context: self.plan.as_ref().map(|plan| self.context(plan)).unwrap_or_default(),
            tables: Vec::new(),
            figures: Vec::new(),
            verdicts: Vec::new(),
            flags,
            reproduce: command.filter(|_| self.plan.is_some()).chain(self.again.iter().cloned()).collect(),
            estimates: Vec::new(),
        }
    }

    fn context(&self, plan: &Plan) -> Vec<String> {
        let mut lines: Vec<String> = plan.targets.iter().map(Target::describe).collect();
        if let Some(protocol) = &plan.protocol {
            lines.push(format!("protocol {protocol}, to the letter"));
        }
        let engine = |e: &EngineInfo| match &e.detail {
            Some(detail) => format!("engine {} ({detail})", e.name),
            None => format!("engine {}", e.name),
        };
        let mut with: Vec<String> = self.engines.iter().map(engine).collect();
        if let Some(start) = &self.start {
            let machine = &start.inventory.machine;
            with.push(format!("drivebench {}", start.version));
            with.push(format!("Linux {} {}", machine.kernel, machine.arch));
            with.extend(machine.board.clone());
            with.extend(machine.lab.as_ref().map(|scenario| format!("lab {scenario}")));
            with.push(start.at.clone());
        }
        if self.engines.iter().any(|e| e.modelled) {
            with.push("virtual: a model, not a drive".to_owned());
        }
        lines.push(with.join(" · "));
        lines
    }
}
