//! What the record of any experiment holds, gathered from its lines.

use std::collections::BTreeMap;

use super::{
    Experiment,
    load_summary::{Run, Series},
};
use crate::{
    analyse::{Estimate, repeat},
    findings::{Carrier, Findings, Origin},
    inventory::Drive,
    plan::{Measure, Plan, StepId},
    record::{ActResult, End, Event, How, Start},
    target::Target,
    units::{Ended, EngineInfo},
};

/// What a record holds.
#[derive(Default)]
pub(super) struct Gathered {
    pub start: Option<Start>,
    pub plan: Option<Plan>,
    /// What was really measured, by step.
    pub measured: BTreeMap<StepId, Measure>,
    /// What became of each load, by step and target.
    pub series: BTreeMap<(StepId, usize), Series>,
    end: Option<End>,
    /// What came of other acts, by step and target.
    pub acts: BTreeMap<(StepId, usize), ActResult>,
    engines: Vec<EngineInfo>,
    /// How each load is repeated with fio: of its repetitions the first, by its label and target.
    again: Vec<((String, usize), String)>,
    flags: Vec<String>,
}

/// Between the drives of one target, as in its label.
const JOINT: &str = " + ";

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
                self.measured = plan.measures().map(|(step, m)| (step.id, m.clone())).collect();
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
                let target = target as usize;
                if let Some(m) = self.measured.get(&step) {
                    let series = self.series.entry((step, target)).or_insert_with(|| Series::new(m));
                    series.window(zone, &window);
                }
            }
            Event::Outcome { step, target, outcome, again, .. } => {
                let target = target as usize;
                if let (Some(line), Some(m)) = (again, self.measured.get(&step)) {
                    let load = (m.label.clone(), target);
                    if !self.again.iter().any(|(known, _)| *known == load) {
                        self.again.push((load, line));
                    }
                }
                if let Some(s) = self.series.get_mut(&(step, target)) {
                    s.outcome(outcome);
                }
            }
            Event::End(end) => {
                self.flags.extend((end.how == How::Interrupted).then(|| STOPPED.to_owned()));
                self.end = Some(end);
            }
            Event::Act { step, target: Some(target), result, .. } => {
                self.acts.insert((step, target as usize), *result);
            }
            Event::Resume(_) => {
                self.flags.retain(|flag| flag != STOPPED);
                self.end = None;
            }
            Event::Act { .. } | Event::Skipped { .. } | Event::Processors { .. } | Event::Imported(_) => {}
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
            let speeds = group.speeds();
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
        let again = self.again.iter().map(|(_, line)| line.clone());
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
            reproduce: command.filter(|_| self.plan.is_some()).chain(again).collect(),
            estimates: Vec::new(),
            origin: self.origin(),
        }
    }

    fn origin(&self) -> Origin {
        let targets = self.plan.iter().flat_map(|plan| &plan.targets);
        let Some(start) = &self.start else { return Origin::default() };
        Origin {
            at: start.at.clone(),
            version: start.version.clone(),
            ended: How::of(self.end.as_ref()).to_owned(),
            board: start.inventory.machine.board.clone(),
            lab: start.inventory.machine.lab.is_some(),
            carriers: targets.filter_map(carrier).collect(),
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

impl Group<'_> {
    /// How fast the runs were that nothing ended early, bytes per second.
    pub fn speeds(&self) -> Vec<f64> {
        let whole = |r: &&Run| matches!(r.ended, Some(Ended::Finished | Ended::Stopped));
        self.runs.iter().filter(whole).map(|r| r.estimate.value).collect()
    }
}

/// Labels of the loads, each once, in order.
pub fn labels<'a>(groups: &'a [Group<'_>]) -> Vec<&'a str> {
    let mut labels: Vec<&str> = Vec::new();
    for group in groups {
        if !labels.contains(&group.measure.label.as_str()) {
            labels.push(&group.measure.label);
        }
    }
    labels
}

/// What carries a target, where that is known.
fn carrier(target: &Target) -> Option<Carrier> {
    let joined = |of: &dyn Fn(&Drive) -> Option<String>| {
        let told: Option<Vec<String>> = target.drives.iter().map(of).collect();
        told.map(|told| told.join(JOINT))
    };
    let [first, others @ ..] = &target.drives[..] else { return None };
    Some(Carrier {
        target: target.given.clone(),
        drive: joined(&|drive| Some(drive.identity()))?,
        vendor: joined(&|drive| drive.vendor.clone()),
        model: joined(&|drive| drive.model.clone()),
        serial: joined(&|drive| drive.serial.clone()),
        bytes: others.is_empty().then(|| first.bytes()),
        bay: joined(&|drive| drive.bay.clone()),
        bus: joined(&|drive| drive.bus.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Kind;

    #[test]
    fn what_all_drives_of_a_target_tell_is_joined() {
        let drive = |serial: &str, bay: Option<&str>| Drive {
            model: Some("Cruzer".to_owned()),
            serial: Some(serial.to_owned()),
            bay: bay.map(str::to_owned),
            sectors: 8,
            ..Drive::default()
        };
        let target = |drives| Target {
            given: "/mnt/a".to_owned(),
            kind: Kind::Directory,
            path: "/mnt/a".into(),
            drives,
            layers: vec![],
            mount: None,
            free: None,
            capacity: None,
            size: None,
            read_only: None,
            uses: vec![],
            direct_alignment: 512,
        };
        assert_eq!(carrier(&target(vec![])), None);
        let one = carrier(&target(vec![drive("4C01", Some("1.1"))])).expect("a drive");
        assert_eq!((one.target.as_str(), one.drive.as_str(), one.bytes), ("/mnt/a", "4C01+8", Some(4096)));
        assert_eq!((one.bay.as_deref(), one.vendor), (Some("1.1"), None));
        let two = carrier(&target(vec![drive("4C01", Some("1.1")), drive("4C02", None)])).expect("drives");
        assert_eq!((two.drive.as_str(), two.bytes), ("4C01+8 + 4C02+8", None));
        assert_eq!((two.model.as_deref(), two.bay), (Some("Cruzer + Cruzer"), None));
    }
}
