//! Which steps of a plan a record shows to be done, so that a run can go on where it ended.

use std::collections::BTreeSet;

use super::Event;
use crate::{
    plan::{Plan, Rule, Step},
    units::Ended,
};

/// What is already done.
#[derive(Debug, Clone, Default)]
pub struct Done {
    steps: BTreeSet<usize>,
    /// Loads that ended well, by step and target.
    loads: BTreeSet<(usize, usize)>,
    /// The last step that began.
    last: Option<usize>,
}

impl Done {
    /// Takes account of a line of the record, in their order.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Step { step, .. } => {
                self.loads.retain(|(of, _)| of != step);
                self.last = Some(*step);
            }
            Event::Outcome { step, target, outcome, .. } => {
                match outcome.ended {
                    Ended::Finished | Ended::Stopped => self.loads.insert((*step, *target)),
                    Ended::Cancelled | Ended::Failed { .. } => self.loads.remove(&(*step, *target)),
                };
            }
            Event::Errand { step, took, .. } if !took.cut_short => {
                self.steps.insert(*step);
            }
            Event::Arranged { step, .. } => {
                self.steps.insert(*step);
            }
            _ => {}
        }
    }

    /// The steps that need not be done again. What is done in a file that went with the process is done all over, from
    /// the making of the file on.
    pub fn steps(&self, plan: &Plan) -> BTreeSet<usize> {
        let mut done = self.steps.clone();
        done.extend(
            plan.measures()
                .filter(|(at, m)| {
                    // A zone measurement is many loads; that the last of them was the last tells only what came after it.
                    let ended =
                        !matches!(m.rule, Rule::Zones { .. }) || self.last.is_some_and(|last| last > *at);
                    ended && m.targets.iter().all(|&t| self.loads.contains(&(*at, t)))
                })
                .map(|(at, _)| at),
        );
        for target in 0..plan.targets.len() {
            let made = plan
                .steps
                .iter()
                .enumerate()
                .filter(|(_, s)| matches!(s, Step::Scratch { target: t, .. } if *t == target));
            let made: Vec<usize> = made.map(|(at, _)| at).collect();
            for (i, &from) in made.iter().enumerate() {
                let to = made.get(i + 1).copied().unwrap_or(plan.steps.len());
                let in_it =
                    plan.measures().filter(|(at, m)| (from..to).contains(at) && m.targets.contains(&target));
                let in_it: Vec<usize> = in_it.map(|(at, _)| at).collect();
                if in_it.iter().all(|at| done.contains(at)) {
                    done.insert(from);
                } else {
                    in_it.iter().for_each(|at| {
                        done.remove(at);
                    });
                }
            }
        }
        done
    }
}
