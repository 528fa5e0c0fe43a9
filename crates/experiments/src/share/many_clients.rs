//! The act of many clients: each has a directory on a share that is there, and fio writes and reads in all of them at once.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{act::LEAST_BYTES, run};
use crate::{
    plan::{Act, Changes, Cost, Needs, Step, Uncounted},
    record::{ActResult, MOST, Observation, lasts},
    run::{Execution, RunError, Troubles},
    units::{FASTEST, RemoteDir, count, decimal_bytes},
};

/// Its targets are the directories of the clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ManyClients {
    pub clients: Vec<RemoteDir>,
    /// Size of each client's file in bytes.
    pub bytes: u64,
    pub rounds: u32,
}

/// What one client did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientResult {
    /// Type and source of the share, and version of fio, such as `nfs4 192.168.1.5:/srv, fio-3.33`.
    pub about: String,
    pub loads: Vec<ClientLoad>,
    /// Why it ended early.
    pub failed: Option<String>,
}

/// A file that was written or read while the other clients did the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientLoad {
    /// Round, from 1.
    pub round: u32,
    pub writes: bool,
    pub bytes: u64,
    /// Time until all is on the share, or has been read, in seconds.
    pub seconds: f64,
    /// How busy the client's machine was.
    pub client: Busy,
    /// How busy this machine was; empty if it is not the server.
    pub server: Busy,
}

/// The busiest processor of a machine as one of its parts.
pub const PROCESSOR: &str = "a processor";

/// The busiest processor, each drive and each link, as shares of the time or of the link's speed: at least, and at most.
pub type Busy = BTreeMap<String, [f64; 2]>;

impl ClientLoad {
    /// Speed in bytes per second.
    pub fn speed(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }

    pub fn is_plausible(&self) -> bool {
        let mut shares = self.client.values().chain(self.server.values()).flatten();
        lasts(self.seconds)
            && self.seconds > 0.0
            && self.bytes < MOST
            && self.speed() < FASTEST
            && shares.all(|share| (0.0..=1.0).contains(share))
    }
}

crate::kind!("share.many_clients", ManyClients as Act);

impl Act for ManyClients {
    fn label(&self) -> String {
        "share".to_owned()
    }

    fn cost(&self) -> Cost {
        // One round is not counted.
        let moved = self.bytes.saturating_mul(u64::from(self.rounds) + 1);
        Cost { written: moved, read: moved, seconds: None }
    }

    fn changes(&self) -> Changes {
        Changes::OwnFiles
    }

    fn describe(&self) -> Option<String> {
        let (bytes, rounds) = (decimal_bytes(self.bytes), count(u64::from(self.rounds), "round"));
        Some(format!(
            "fio on all clients at once, in directories of their own there (not contacted for a plan): write {bytes}, and read it; {rounds} after one that does not count"
        ))
    }

    fn check(&self) -> Result<(), String> {
        let fits = (LEAST_BYTES..=1 << 40).contains(&self.bytes) && (1..=100).contains(&self.rounds);
        if fits { Ok(()) } else { Err("needs --size 1MiB to 1TiB and --runs 1 to 100".to_owned()) }
    }

    fn is_work(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        // Other programs of this machine matter only if it serves, and are then observed.
        Needs { measures_nothing: true, finds_target: true, uncounted: Uncounted::All, ..Needs::default() }
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        let since = run.ctx.world.seconds();
        let mut results = vec![ClientResult::default(); self.clients.len()];
        let watcher = &mut *run.ctx.watcher;
        let mut says = |text: &str| watcher.waits(text);
        let done = run::with_clients(self, &mut results, run.ctx.world.journal(), &run.cancel, &mut says);
        // All of them measure at the same time.
        let seconds = (run.ctx.world.seconds() - since) / self.clients.len() as f64;
        let mut troubles = Troubles::new();
        for (target, result) in step.targets().zip(results) {
            troubles.extend(result.failed.clone().map(|why| (target, why)));
            let bytes = result.loads.iter().map(|load| load.bytes).sum();
            let (cut_short, observed) = (done.is_err() || result.failed.is_some(), Some(result.into()));
            let result = ActResult { seconds, bytes, cut_short, observed, ..ActResult::default() };
            run.emit_act(step.id, Some(target), result)?;
        }
        done.map(|()| troubles)
    }
}

crate::kind!("share.client", ClientResult as Observation);

impl Observation for ClientResult {
    fn fits(&self) -> bool {
        self.loads.iter().all(ClientLoad::is_plausible)
    }
}
