//! A plan while it is carried out: what its acts share.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use super::RunContext;
use crate::{
    conditions::BytesMoved,
    plan::{Plan, StepId},
    record::{ActResult, Done, Event},
};

/// What went wrong on which target, where the step itself could be done.
pub(super) type Troubles = Vec<(usize, String)>;

/// A plan while it is carried out.
pub(super) struct Execution<'a, 'c> {
    pub planned: &'a Plan,
    /// The same with the targets where they are now: they move, and are called otherwise after a reboot.
    pub plan: Plan,
    pub done: &'a Done,
    pub ctx: &'a mut RunContext<'c>,
    /// Of each target whose file is open, how many bytes from its start can be read back.
    pub readable: BTreeMap<usize, u64>,
    /// Loads that fell off a cliff, by step and target.
    pub fell: BTreeSet<(StepId, usize)>,
    /// What was moved on each target.
    pub moved: Vec<BytesMoved>,
    /// Notes that are made once.
    pub noted: BTreeSet<String>,
}

impl Execution<'_, '_> {
    /// Records what came of an act.
    pub fn emit_act(&mut self, step: StepId, target: Option<usize>, result: ActResult) -> io::Result<()> {
        let (target, at) = (target.map(|t| t as u32), self.ctx.world.date());
        self.ctx.emit(Event::Act { step, target, at, result: Box::new(result) })
    }

    /// Records something a reader of the result must know.
    pub fn note(&mut self, target: Option<usize>, text: String) -> io::Result<()> {
        self.ctx.emit(Event::Note { target: target.map(|t| t as u32), text })
    }

    /// Takes account of what was moved on a target.
    pub fn account(&mut self, target: usize, read: u64, written: u64) {
        self.moved[target].read += read;
        self.moved[target].written += written;
    }
}
