//! When another machine answered while it started.

use serde::{Deserialize, Serialize};

use super::event::lasts;
use crate::units::Service;

/// The answers of a machine. Times are seconds since the watch began.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Watched {
    pub host: String,
    pub address: String,
    /// Whether it answered pings; otherwise only TCP connections were tried.
    pub by_ping: bool,
    /// When a person reported that the order was given or the power was on.
    pub ordered: Option<f64>,
    /// When it stopped answering; `None` if it did not answer from the start, or never stopped.
    pub stopped: Option<Between>,
    /// Its first answers after that, in order.
    pub answers: Vec<Answer>,
    pub services: Vec<Service>,
    /// When the watch ended.
    pub ended: f64,
}

/// A moment between two attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Between {
    pub after: f64,
    pub at: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub service: Service,
    #[serde(flatten)]
    pub when: Between,
}

impl Watched {
    pub fn answer(&self, service: Service) -> Option<Between> {
        self.answers.iter().find(|answer| answer.service == service).map(|answer| answer.when)
    }

    /// Whether all services that were waited for have answered.
    pub fn is_complete(&self) -> bool {
        self.services.iter().all(|service| self.answer(*service).is_some())
    }

    pub(super) fn fits(&self) -> bool {
        let between = self.stopped.iter().copied().chain(self.answers.iter().map(|answer| answer.when));
        let times = between.flat_map(|between| [between.after, between.at]);
        times.chain(self.ordered).chain([self.ended]).all(lasts)
    }
}
