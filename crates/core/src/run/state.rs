//! State that acts set up for later acts on the same target, such as a swap area in use.

use std::any::Any;

use super::RunError;
use crate::{tagged::AsAny, tools::Runner};

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
