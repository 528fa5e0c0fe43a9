//! Advice from the inventory and earlier results: where to boot from, swap and keep data, which layout, what limits,
//! health, and which upgrades help. Pure: no disk, no network, no clock.

mod boot;
mod commands;
mod context;
mod data;
mod evidence;
#[cfg(test)]
mod fit_tests;
mod health;
mod layout;
#[cfg(test)]
mod layout_tests;
mod limits;
mod network_link;
#[cfg(test)]
mod pool_tests;
mod sentences;
mod shared;
mod swap;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod upgrades;

use serde::Serialize;

use crate::inventory::Inventory;
use context::{Context, comparable, counting};

pub use evidence::Evidence;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    Boot,
    Swap,
    Data,
    Layout,
    Limits,
    Health,
    /// Which upgrades would help.
    Money,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sure {
    /// From runs of drives that are here.
    Measured,
    /// From the inventory, or from runs with a step that was not measured.
    Inferred,
    /// Published measurements on other machines, or documentation of makers or the kernel.
    Published,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    pub topic: Topic,
    pub says: String,
    /// Reasons and caveats: whole sentences, with a unit for every figure.
    pub because: Vec<String>,
    /// The runs behind it, by their names.
    pub rests_on: Vec<String>,
    /// The loads of those runs, in a few words each.
    pub loads: Vec<String>,
    pub sure: Sure,
    /// Some of those runs are of modelled drives.
    #[serde(rename = "virtual")]
    pub modelled: bool,
    /// Something is wrong: it comes first.
    pub problem: bool,
    /// The command that would settle it, without the program's name.
    pub decide: Option<String>,
}

/// Answers in the order of the topics. Evidence of drives that are not here is left out, and so is that of modelled drives,
/// except on a machine of the lab.
pub fn advise(inventory: &Inventory, evidence: &[Evidence]) -> Vec<Answer> {
    let runs = counting(inventory, evidence);
    let evidence = comparable(&runs);
    let context = Context { inventory, runs: &runs, evidence: &evidence };
    if context.drives().is_empty() {
        return vec![Answer::new(Topic::Data, Sure::Unknown, "No drives found: connect one first.")];
    }
    let topics: [fn(&Context<'_>) -> Vec<Answer>; 7] = [
        boot::answers,
        swap::answers,
        data::answers,
        layout::answers,
        limits::answers,
        health::answers,
        upgrades::answers,
    ];
    topics.iter().flat_map(|answers| answers(&context)).map(|answer| answer.finish(&context)).collect()
}

impl Answer {
    fn new(topic: Topic, sure: Sure, says: impl Into<String>) -> Self {
        Self {
            topic,
            says: says.into(),
            because: Vec::new(),
            rests_on: Vec::new(),
            loads: Vec::new(),
            sure,
            modelled: false,
            problem: false,
            decide: None,
        }
    }

    fn because(mut self, why: impl IntoIterator<Item = String>) -> Self {
        self.because.extend(why);
        self
    }

    /// On a run whose load is not what the answer is about, such as that of a network.
    fn rests_on_run(mut self, run: Option<&str>) -> Self {
        self.rests_on
            .extend(run.filter(|run| self.rests_on.iter().all(|other| other != run)).map(str::to_owned));
        self
    }

    fn rests_on<'a>(mut self, runs: impl IntoIterator<Item = &'a Evidence>) -> Self {
        for one in runs {
            for run in one.pooled_with.iter().chain([&one.run]) {
                self = self.rests_on_run(Some(run));
            }
            self.loads.extend(one.load_in_words().filter(|load| !self.loads.contains(load)));
        }
        self
    }

    fn decide(mut self, command: Option<String>) -> Self {
        self.decide = command;
        self
    }

    fn problem(mut self) -> Self {
        self.problem = true;
        self
    }

    /// Adds where its runs were made, if not here. Of an import too little is known for more than an inference.
    fn finish(mut self, context: &Context<'_>) -> Self {
        let behind = |is: fn(&Evidence) -> bool| context.any_run(&self.rests_on, is);
        self.modelled = behind(|e| e.modelled);
        if self.sure == Sure::Measured && behind(Evidence::is_import) {
            self.sure = Sure::Inferred;
        }
        self.because.extend(context.elsewhere(&self.rests_on));
        self
    }
}
