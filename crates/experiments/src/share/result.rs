//! The result of a share test, and what it says of the network for other experiments.

use serde::{Deserialize, Serialize};

use super::{Route, SHARE, ShareTest, TransferKind};
use crate::{
    analyse::{Estimate, repeat},
    conditions::Core,
    inventory::{Carried, Inventory, NetworkPort},
    plan::Plan,
    record::{MOST, Observation, Run, Store, StoreError, lasts},
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

/// A network whose interval is wider than this share of its speed is not known.
const WIDEST: f64 = 0.2;

/// Adds to the connected network ports of this machine what the network behind each carried in the newest run of share that
/// measured it with this port at this speed.
pub fn learn_networks(store: &Store, inventory: &mut Inventory) -> Result<(), StoreError> {
    /// The most runs that are read.
    const NEWEST: usize = 64;
    let (runs, _) = store.list()?;
    for run in runs.iter().rev().filter(|run| run.experiment == SHARE.name).take(NEWEST) {
        let is_unknown = |port: &NetworkPort| {
            port.connected != Some(false) && port.mac.is_some() && port.carried.is_none()
        };
        if !inventory.ports.iter().any(is_unknown) {
            break;
        }
        // A record that can't be read tells nothing.
        let Ok(events) = store.open(&run.run) else { continue };
        let mut record = Run::of(events);
        if let Some(start) = &mut record.start {
            start.run.clone_from(&run.run);
        }
        let Some(measured) = network_port(&record) else { continue };
        // Speeds that the link can't have are left out: an earlier run may have plausible ones.
        let is_possible = measured.measured().is_some();
        let is_same = |port: &&mut NetworkPort| {
            is_possible && is_unknown(port) && (&port.mac, port.mbps) == (&measured.mac, measured.mbps)
        };
        if let Some(port) = inventory.ports.iter_mut().find(is_same) {
            port.carried = measured.carried;
        }
    }
    Ok(())
}

/// The network port that the run used, with what the network behind it carried: in each direction the fastest transfer by its lower end.
pub(super) fn network_port(run: &Run<()>) -> Option<NetworkPort> {
    let (start, plan) = (run.start.as_ref()?, run.plan.as_ref()?);
    plan.acts::<ShareTest>().find_map(|(step, act)| {
        let client = act.client.as_ref()?;
        let shared = &ShareResult::on_target(run, plan, step.targets().next()?);
        let port =
            start.inventory.ports.iter().find(|port| Some(&port.name) == shared.network_port.as_ref())?;
        let fastest = |puts: bool| {
            // If clients got more, the programs of iperf3 are slower than the network.
            let of = |route: Route| {
                let kinds = act.kinds().filter(move |kind| kind.puts() == puts);
                kinds.filter_map(move |kind| speed(shared, kind, route))
            };
            let carried = of(Route::Network).max_by(|a, b| a.low.total_cmp(&b.low))?;
            let is_fastest = !of(Route::Whole).any(|got| got.low > carried.high);
            (is_fastest && carried.high - carried.low <= WIDEST * carried.value).then_some(carried.value)
        };
        let carried = Carried {
            run: start.run.clone(),
            at: start.at.clone(),
            host: client.host().to_owned(),
            incoming: fastest(true)?,
            outgoing: fastest(false)?,
        };
        Some(NetworkPort { carried: Some(carried), ..port.clone() })
    })
}

/// One repetition has no interval, and is not used.
fn speed(shared: &ShareResult, kind: TransferKind, route: Route) -> Option<Estimate> {
    let speeds: Vec<f64> = shared.undisturbed(kind, route).map(ShareLoad::speed).collect();
    repeat::typical(&speeds).filter(Estimate::is_bounded)
}
