//! The result of a share test.

use serde::{Deserialize, Serialize};

use super::{Route, TransferKind};
use crate::{
    conditions::Core,
    plan::Plan,
    record::{MOST, Observation, Run, lasts},
    units::FASTEST,
};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ShareResult {
    /// Name and version of the server, such as `Samba 4.17.12-Debian`.
    pub server: String,
    /// Why the network alone was not measured.
    pub no_network: Option<String>,
    /// The port of this machine that leads to the client's machine, such as `eth0`.
    pub network_port: Option<String>,
    pub loads: Vec<ShareLoad>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShareLoad {
    pub kind: TransferKind,
    pub route: Route,
    /// Repetition, from 1.
    pub run: u32,
    pub bytes: u64,
    /// Time until all is on the drive, or has been read, in seconds.
    pub seconds: f64,
    /// Load of this machine's processors during the transfer.
    pub cores: Vec<Core>,
    /// Time for which drivebench was suspended, in nanoseconds; such a transfer is left out.
    pub suspended_ns: u64,
}

impl ShareLoad {
    /// Speed in bytes per second.
    pub fn speed(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

impl ShareResult {
    /// What all steps on a target found out.
    pub fn on_target<T>(run: &Run<T>, plan: &Plan, target: usize) -> Self {
        let mut all = Self::default();
        for result in plan.steps.iter().filter_map(|step| run.acts.get(&(step.id, target))?.get::<Self>()) {
            let Self { server, no_network, network_port, loads } = result.clone();
            all.loads.extend(loads);
            all.server = if all.server.is_empty() { server } else { all.server };
            all.no_network = all.no_network.or(no_network);
            all.network_port = all.network_port.or(network_port);
        }
        all
    }

    /// The transfers of this kind over this route during which drivebench was not suspended.
    pub fn undisturbed(&self, kind: TransferKind, route: Route) -> impl Iterator<Item = &ShareLoad> {
        let own = self.loads.iter().filter(move |load| (load.kind, load.route) == (kind, route));
        own.filter(|load| load.suspended_ns == 0)
    }
}

crate::kind!("shared", ShareResult as Observation);

impl Observation for ShareResult {
    fn fits(&self) -> bool {
        let fits = |load: &ShareLoad| load.speed() < FASTEST;
        self.loads
            .iter()
            .all(|load| load.seconds > 0.0 && lasts(load.seconds) && load.bytes < MOST && fits(load))
    }
}
