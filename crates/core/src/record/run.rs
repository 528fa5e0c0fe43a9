//! A record as one value. All readers of records use it.

use std::collections::{BTreeMap, BTreeSet};

use super::{ActResult, End, Event, Imported, Start, Watched};
use crate::{
    conditions::{BytesMoved, Processors},
    plan::{Measure, Plan, StepId},
    units::{Ended, EngineInfo, Histogram, Outcome, RunStatus, Window, ZonePoint, duration},
};

/// The part of a load's windows that a reader keeps. Keeping all windows would take too much memory.
pub trait Windows {
    fn window(&mut self, zone: Option<ZonePoint>, window: &Window);
}

impl Windows for () {
    fn window(&mut self, _: Option<ZonePoint>, _: &Window) {}
}

/// The latencies of all operations of a load.
impl Windows for Histogram {
    fn window(&mut self, _: Option<ZonePoint>, window: &Window) {
        self.merge(&window.latency);
    }
}

/// A whole record. `T` keeps a part of the windows of each load.
#[derive(Debug)]
pub struct Run<T> {
    pub start: Option<Start>,
    pub plan: Option<Plan>,
    /// Steps whose loads began.
    pub steps: BTreeMap<StepId, Step<T>>,
    /// The last step whose loads began.
    pub last: Option<StepId>,
    /// Other steps that were done or skipped.
    pub acted: BTreeSet<StepId>,
    /// Results of other acts, by step and target.
    pub acts: BTreeMap<(StepId, usize), ActResult>,
    pub engines: Vec<EngineInfo>,
    pub flags: Vec<Flag>,
    /// The texts of flags: a note says nothing twice.
    noted: BTreeSet<String>,
    /// Bytes written to each target, repeated steps included.
    pub written: BTreeMap<usize, u64>,
    /// Results of another tool.
    pub imported: Option<Imported>,
    /// Answers of another machine.
    pub watched: Option<Watched>,
    /// How it ended; `None` if it is running or was cut off.
    pub end: Option<End>,
}

#[derive(Debug)]
pub struct Step<T> {
    /// The load actually run.
    pub measure: Measure,
    pub engine: Option<EngineInfo>,
    /// The load on each target, by the target's position in the plan.
    pub loads: BTreeMap<usize, Load<T>>,
    pub processors: Option<Processors>,
    /// Bytes that the drives of each target moved meanwhile, by their own counters; `None` for unknown drives.
    pub counted: BTreeMap<usize, BytesMoved>,
}

#[derive(Debug)]
pub struct Load<T> {
    pub windows: u64,
    pub kept: T,
    /// Longest time for which drivebench was suspended in one of its windows, ns.
    pub suspended_ns: u64,
    /// Its outcome; the positions of a zone measurement are summed. `None` if the record ends earlier.
    pub outcome: Option<Outcome>,
    /// The command that repeats it with fio.
    pub again: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flag {
    /// A full sentence.
    pub text: String,
    /// The target that the note is about; `None` for notes about the run.
    pub conditions_of: Option<usize>,
    /// Other programs used the drive.
    pub other_io: bool,
}

impl<T> Load<T> {
    pub fn ended(&self) -> Option<&Ended> {
        self.outcome.as_ref().map(|outcome| &outcome.ended)
    }
}

impl<T> Run<T> {
    pub fn status(&self) -> RunStatus {
        End::status(self.end.as_ref())
    }

    /// Flags and leaves out loads during which the process was suspended.
    fn leave_out(&mut self) {
        for step in self.steps.values_mut() {
            let affected = step.loads.values().map(|load| load.suspended_ns).max().filter(|ns| *ns > 0);
            let flag = affected.map(|ns| suspended(&step.measure.label, ns as f64 / 1e9));
            self.flags.extend(flag.filter(|flag| !self.flags.contains(flag)));
            step.loads.retain(|_, load| load.suspended_ns == 0);
        }
    }

    pub fn planned(&self, step: StepId) -> Option<&Measure> {
        self.plan.as_ref()?.measure(step)
    }
}

impl Run<()> {
    /// Reads a record to its end, without its windows.
    pub fn of(record: impl Iterator<Item = Event>) -> Self {
        Self::read(record, |_, _, _| ())
    }
}

impl Run<Histogram> {
    /// Reads a record to its end, with the latencies of its loads.
    pub fn with_latencies(record: impl Iterator<Item = Event>) -> Self {
        Self::read(record, |_, _, _| Histogram::default())
    }
}

impl<T: Windows> Run<T> {
    /// Reads a record to its end. `begin` creates the window reader of a load, from its step, target and measure.
    pub fn read(
        record: impl Iterator<Item = Event>,
        mut begin: impl FnMut(StepId, usize, &Measure) -> T,
    ) -> Self {
        let mut run = Self {
            start: None,
            plan: None,
            steps: BTreeMap::new(),
            last: None,
            acted: BTreeSet::new(),
            acts: BTreeMap::new(),
            engines: Vec::new(),
            flags: Vec::new(),
            noted: BTreeSet::new(),
            written: BTreeMap::new(),
            imported: None,
            watched: None,
            end: None,
        };
        record.for_each(|event| run.take(event, &mut begin));
        run.leave_out();
        run
    }

    fn take(&mut self, event: Event, begin: &mut dyn FnMut(StepId, usize, &Measure) -> T) {
        match event {
            Event::Start(start) => self.start = Some(*start),
            Event::Plan { plan } => self.plan = Some(plan),
            Event::Preflight { target, checks, .. } => {
                self.flags.extend(checks.into_iter().filter_map(|check| {
                    let other_io = check.saw_other_io();
                    let text = check.flag?;
                    self.noted.insert(text.clone());
                    Some(Flag { text, conditions_of: Some(target as usize), other_io })
                }));
                self.flags.sort();
                self.flags.dedup();
            }
            Event::Note { text, .. } => {
                if self.noted.insert(text.clone()) {
                    self.flags.push(Flag { text, conditions_of: None, other_io: false });
                }
            }
            Event::Step { step, engine, instead, .. } => {
                self.last = Some(step);
                if !self.engines.contains(&engine) {
                    self.engines.push(engine.clone());
                }
                let planned = instead.map(|m| *m).or_else(|| self.planned(step).cloned());
                if let (Some(measure), Some(begun)) = (planned, self.step(step)) {
                    // A step that was interrupted is measured again from the start.
                    begun.loads.clear();
                    begun.counted.clear();
                    begun.engine = Some(engine);
                    begun.measure = measure;
                }
            }
            Event::Window { step, target, window, .. } if window.suspended_ns > 0 => {
                if let Some(load) = self.load(step, target as usize, begin) {
                    load.suspended_ns = load.suspended_ns.max(window.suspended_ns);
                }
            }
            Event::Window { step, target, zone, window } => {
                if let Some(load) = self.load(step, target as usize, begin) {
                    load.windows += 1;
                    load.kept.window(zone, &window);
                }
            }
            Event::Outcome { step, target, outcome, again, .. } => {
                wrote(&mut self.written, target as usize, outcome.bytes_written);
                if let Some(load) = self.load(step, target as usize, begin) {
                    load.again = load.again.take().or(again);
                    let sum = load.outcome.take().map(|sum| sum.and_then(&outcome));
                    load.outcome = sum.or(Some(outcome));
                }
            }
            Event::Processors { step, did } => {
                if let Some(step) = self.step(step) {
                    step.processors = Some(did);
                }
            }
            Event::Counted { step, target, moved } => {
                if let Some(step) = self.step(step) {
                    step.counted.insert(target as usize, moved);
                }
            }
            Event::Act { step, target, result, .. } => {
                if result.cut_short {
                    self.acted.remove(&step);
                } else {
                    self.acted.insert(step);
                }
                let act = self.plan.as_ref().and_then(|plan| plan.step(step)).map(|step| &step.act);
                if result.suspended > 0.0 {
                    self.flags.extend(act.map(|act| suspended(&act.label(), result.suspended)));
                }
                let Some(target) = target.map(|target| target as usize) else { return };
                if act.is_some_and(|act| act.cost().written > 0) {
                    wrote(&mut self.written, target, result.bytes);
                }
                self.acts.insert((step, target), *result);
            }
            Event::Imported(imported) => self.imported = Some(*imported),
            Event::Watched(watched) => self.watched = Some(*watched),
            Event::Skipped { step } => {
                self.acted.insert(step);
            }
            Event::Resume { .. } => self.end = None,
            Event::End(end) => self.end = Some(end),
        }
    }

    /// The step with this id, if it has loads.
    fn step(&mut self, step: StepId) -> Option<&mut Step<T>> {
        if !self.steps.contains_key(&step) {
            let measure = self.planned(step)?.clone();
            let begun = Step {
                measure,
                engine: None,
                loads: BTreeMap::new(),
                processors: None,
                counted: BTreeMap::new(),
            };
            self.steps.insert(step, begun);
        }
        self.steps.get_mut(&step)
    }

    fn load(
        &mut self,
        step: StepId,
        target: usize,
        begin: &mut dyn FnMut(StepId, usize, &Measure) -> T,
    ) -> Option<&mut Load<T>> {
        let of = self.step(step)?;
        Some(of.loads.entry(target).or_insert_with(|| Load {
            windows: 0,
            kept: begin(step, target, &of.measure),
            suspended_ns: 0,
            outcome: None,
            again: None,
        }))
    }
}

/// The flag of a measurement during which this process was suspended.
pub fn suspended(what: &str, seconds: f64) -> Flag {
    let text = format!("drivebench did not run for {} during '{what}': that is left out.", duration(seconds));
    Flag { text, conditions_of: None, other_io: false }
}

fn wrote(written: &mut BTreeMap<usize, u64>, target: usize, bytes: u64) {
    let sum = written.entry(target).or_default();
    *sum = sum.saturating_add(bytes);
}
