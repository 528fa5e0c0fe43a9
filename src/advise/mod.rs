//! Advice: from what is here and what was measured, where to boot from, swap and keep data, which layout, what limits,
//! what ails, what would be wasted money. Pure: no disk, no network, no clock.

mod boot;
mod commands;
mod context;
mod data;
mod evidence;
mod health;
mod layout;
mod limits;
mod network_link;
mod published;
mod regression;
mod sentences;
mod swap;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod upgrades;

use serde::Serialize;

use crate::inventory::Inventory;
use context::Ground;

pub use evidence::Evidence;

/// What an answer is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Where to boot from.
    Boot,
    /// Where to swap.
    Swap,
    /// Where to keep data.
    Data,
    /// What to build from the drives.
    Layout,
    /// What limits.
    Limits,
    /// What ails, and what has become slower.
    Health,
    /// What would help, and what would be wasted money.
    Money,
}

/// How sure an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sure {
    /// It rests on runs of drives that are here.
    Measured,
    /// It follows from what is here, or from runs by a step that was not measured itself.
    Inferred,
    /// Others measured it on their machines, or the makers and the kernel document it.
    Published,
    /// It is not known.
    Unknown,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// What it is about.
    pub topic: Topic,
    /// The answer: a sentence or two.
    pub says: String,
    /// Why, and what to mind: whole sentences, a unit beside every figure.
    pub because: Vec<String>,
    /// The runs it rests on, by their names.
    pub rests_on: Vec<String>,
    /// How sure it is.
    pub sure: Sure,
    /// Some of those runs are of modelled drives.
    #[serde(rename = "virtual")]
    pub modelled: bool,
    /// The command that would decide it, or make it surer.
    pub decide: Option<String>,
}

/// Answers in the order of the topics. Evidence of drives that are not here is left out, and so is that of modelled drives,
/// except on a machine of the lab.
pub fn advise(inventory: &Inventory, evidence: &[Evidence]) -> Vec<Answer> {
    let ground = Ground::new(inventory, evidence);
    let topics = [boot::answers, swap::answers, data::answers, layout::answers, limits::answers];
    let topics =
        topics.into_iter().chain([health::answers as fn(&Ground<'_>) -> Vec<Answer>, upgrades::answers]);
    topics.flat_map(|answers| answers(&ground)).map(|answer| answer.finish(&ground)).collect()
}

impl Answer {
    fn new(topic: Topic, sure: Sure, says: impl Into<String>) -> Self {
        let (because, rests_on) = (Vec::new(), Vec::new());
        Self { topic, says: says.into(), because, rests_on, sure, modelled: false, decide: None }
    }

    fn because(mut self, why: impl IntoIterator<Item = String>) -> Self {
        self.because.extend(why);
        self
    }

    fn rests_on<'a>(mut self, runs: impl IntoIterator<Item = &'a Evidence>) -> Self {
        for one in runs {
            if !self.rests_on.contains(&one.run) {
                self.rests_on.push(one.run.clone());
            }
        }
        self
    }

    fn decide(mut self, command: Option<String>) -> Self {
        self.decide = command;
        self
    }

    /// Says where its runs were made, where that wasn't here.
    fn finish(mut self, ground: &Ground<'_>) -> Self {
        self.modelled = ground.all().any(|e| e.modelled && self.rests_on.contains(&e.run));
        self.because.extend(ground.elsewhere(&self.rests_on));
        self
    }
}
