//! The state of a plan during execution, which its acts share.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::{RunContext, RunError, execute::TimeLeft};
use crate::{
    conditions::BytesMoved,
    engine::Cancel,
    plan::{Plan, StepId},
    record::{ActResult, Done, Event, LoadSpeed, ProcessorUse},
    tagged::AsAny,
    tools::Runner,
};

/// Failures by target, in steps that could be started.
pub type Troubles = Vec<(usize, String)>;

pub struct Execution<'a, 'c> {
    pub planned: &'a Plan,
    /// The plan with its targets as they are now: moves and reboots change device names.
    pub plan: Plan,
    pub done: &'a Done,
    pub ctx: &'a mut RunContext<'c>,
    /// Values that acts left for later acts.
    pub held: State,
    pub(super) time: TimeLeft,
    /// Ends the present step if a person asks for it or its time is up.
    pub cancel: Cancel,
    /// The share of its own time limit that the present step may take.
    pub share: f64,
    /// Steps that were left out or cut off because their time was up.
    pub late: BTreeSet<StepId>,
    /// For each target with an open file, how many bytes from its start can be read back.
    pub readable: BTreeMap<usize, u64>,
    /// Where the file of a target begins on its device, where that is known.
    pub starts: BTreeMap<usize, u64>,
    /// Loads that had a cliff, by step and target.
    pub steps_with_cliff: BTreeSet<(StepId, usize)>,
    /// Speeds of loads that ended well.
    pub speeds: BTreeMap<(StepId, usize), LoadSpeed>,
    /// Processor time of a step's loads.
    pub processors: BTreeMap<StepId, ProcessorUse>,
    pub moved: Vec<BytesMoved>,
    /// Notes already made, to avoid repeating them.
    pub noted: BTreeSet<String>,
}

impl Execution<'_, '_> {
    pub fn emit_act(&mut self, step: StepId, target: Option<usize>, result: ActResult) -> io::Result<()> {
        // A failure also cuts work short.
        if result.cut_short && self.cancel.is_set() && result.suspended == 0.0 {
            self.late.insert(step);
        }
        let (target, at) = (target.map(|t| t as u32), self.ctx.world.date());
        self.ctx.emit(Event::Act { step, target, at, result: Box::new(result) })
    }

    pub fn note(&mut self, text: String) -> io::Result<()> {
        self.ctx.emit(Event::Note { text })
    }

    pub fn account(&mut self, target: usize, read: u64, written: u64) {
        self.moved[target].read += read;
        self.moved[target].written += written;
    }
}

/// Something that an act set up. It is released when the run ends, however it ends.
pub trait Held: AsAny {
    fn release(&mut self, runner: &dyn Runner) -> Result<(), RunError>;
}

/// Everything that acts set up, with its target.
#[derive(Default)]
pub struct State {
    held: Vec<(usize, Box<dyn Held>)>,
}

impl State {
    pub fn put(&mut self, target: usize, value: impl Held) {
        self.held.push((target, Box::new(value)));
    }

    pub fn get<T: Any>(&mut self, target: usize) -> Option<&mut T> {
        let mut on_it = self.held.iter_mut().filter(|(at, _)| *at == target);
        on_it.find_map(|(_, value)| (**value).as_any_mut().downcast_mut())
    }

    /// Releases everything of this kind.
    pub fn release<T: Any>(&mut self, runner: &dyn Runner) -> Result<(), RunError> {
        let is_kind = |(_, value): &(usize, Box<dyn Held>)| (**value).as_any().is::<T>();
        let (of_kind, others) = std::mem::take(&mut self.held).into_iter().partition::<Vec<_>, _>(is_kind);
        self.held = others;
        of_kind.into_iter().map(|(_, mut value)| value.release(runner)).fold(Ok(()), Result::and)
    }

    /// Releases everything, the last one first; returns the failures by target.
    pub fn release_all(&mut self, runner: &dyn Runner) -> Vec<(usize, String)> {
        let all = self.held.drain(..).rev();
        all.filter_map(|(at, mut value)| Some((at, value.release(runner).err()?.to_string()))).collect()
    }
}
