//! The act of share: clients move files between themselves and a share of the target.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{ShareLoad, ShareResult, run};
use crate::{
    inventory::Inventory,
    plan::{Act, Changes, Cost, Needs, Step, Uncounted},
    record::ActResult,
    run::{Execution, RunError, Troubles, stays},
    sysroot::Sysroot,
    target::Target,
    units::{RemoteDir, count, decimal_bytes},
};

/// Clients put files on a share and get them, over the whole route and with parts of it left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShareTest {
    /// Link rate in bits per second; `None` means unlimited.
    pub rate: Option<u64>,
    /// Protocol of server and clients.
    pub protocol: Protocol,
    /// The machine of the clients and their directory there; `None` means this machine.
    pub client: Option<RemoteDir>,
    /// Protection of messages that clients insist on.
    pub protection: Option<Protection>,
    /// Size of the large file in bytes. Several clients at once share it between them.
    pub bytes: u64,
    /// Number of small files.
    pub files: u64,
    /// Size of a small file in bytes.
    pub small: u64,
    /// Number of clients at once, after one alone.
    pub clients: u32,
    /// Repetitions of all transfers.
    pub runs: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    Smb,
    Nfs,
    Sftp,
}

impl Protocol {
    pub fn name(self) -> &'static str {
        match self {
            Self::Smb => "SMB",
            Self::Nfs => "NFS",
            Self::Sftp => "SFTP",
        }
    }
}

/// Protection of SMB messages: signing against changes, encryption also against readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    Signing,
    Encryption,
}

/// What clients transfer, and in which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferKind {
    Put,
    Get,
    PutSmall,
    GetSmall,
    PutSeveral,
    GetSeveral,
}

/// A part of the route between the files of the server and those of the client that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The drive. When left out, the share is on tmpfs.
    Drive,
    /// The export's sync. When left out, the server confirms writes before they are on the drive.
    Sync,
    /// The link. When left out, the client is in the server's own network namespace.
    Link,
    /// Signing or encryption.
    Protection,
}

/// The route that files take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Route {
    Whole,
    Without(Part),
    /// Without all parts except the protocol.
    WithoutAll,
    /// Bytes between both machines by iperf3, without files or file servers.
    Network,
    /// The files as programs on the server use them, without a client.
    Server,
}

impl TransferKind {
    const ALL: [Self; 6] =
        [Self::Put, Self::Get, Self::PutSmall, Self::GetSmall, Self::PutSeveral, Self::GetSeveral];

    pub fn puts(self) -> bool {
        matches!(self, Self::Put | Self::PutSmall | Self::PutSeveral)
    }

    pub fn is_small(self) -> bool {
        matches!(self, Self::PutSmall | Self::GetSmall)
    }

    pub fn has_several_clients(self) -> bool {
        matches!(self, Self::PutSeveral | Self::GetSeveral)
    }
}

impl Route {
    pub fn has(self, part: Part) -> bool {
        match self {
            Self::Whole => true,
            Self::Without(left_out) => left_out != part,
            Self::WithoutAll => false,
            Self::Network => part == Part::Link,
            Self::Server => part == Part::Drive,
        }
    }
}

/// Size of the smallest large file in bytes.
pub const LEAST_BYTES: u64 = 1 << 20;

impl ShareTest {
    pub fn kinds(&self) -> impl Iterator<Item = TransferKind> + use<> {
        let several = self.clients > 1;
        TransferKind::ALL.into_iter().filter(move |kind| several || !kind.has_several_clients())
    }

    /// Whether there is a link that can be left out. An unlimited link on this machine is only memory.
    pub fn has_link(&self) -> bool {
        self.rate.is_some() || self.client.is_some()
    }

    /// The parts that this test can leave out.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        let sync = (self.protocol == Protocol::Nfs).then_some(Part::Sync);
        let link = self.has_link().then_some(Part::Link);
        let protection = self.protection.map(|_| Part::Protection);
        [Part::Drive].into_iter().chain(sync).chain(link).chain(protection)
    }

    /// The routes in the order of their transfers.
    pub fn routes(&self) -> impl Iterator<Item = Route> {
        let mut routes = vec![Route::Whole];
        routes.extend(self.parts().map(Route::Without));
        if self.parts().filter(|part| *part != Part::Sync).count() > 1 {
            routes.push(Route::WithoutAll);
        }
        routes.extend(self.client.iter().map(|_| Route::Network));
        routes.push(Route::Server);
        routes.into_iter()
    }

    /// Whether a transfer takes this route.
    pub fn applies(&self, kind: TransferKind, route: Route) -> bool {
        match route {
            Route::Without(Part::Sync) => kind.puts(),
            // iperf3 has no small files.
            Route::Network => !kind.is_small(),
            _ => true,
        }
    }

    /// `put 64.0 MB`.
    pub fn name(&self, kind: TransferKind) -> String {
        let verb = if kind.puts() { "put" } else { "get" };
        let (files, bytes) = self.set(kind);
        match files {
            1 => format!("{verb} {}", decimal_bytes(bytes)),
            _ if kind.is_small() => format!("{verb} {}", count(files, "file")),
            _ => format!("{verb} by {files} clients"),
        }
    }

    /// Number of files in a transfer, and their size in bytes.
    pub fn set(&self, kind: TransferKind) -> (u64, u64) {
        match kind {
            TransferKind::Put | TransferKind::Get => (1, self.bytes),
            TransferKind::PutSmall | TransferKind::GetSmall => (self.files, self.small),
            TransferKind::PutSeveral | TransferKind::GetSeveral => {
                let clients = u64::from(self.clients);
                (clients, self.bytes / clients)
            }
        }
    }

    /// Bytes of a transfer.
    pub fn moved(&self, kind: TransferKind) -> u64 {
        let (files, bytes) = self.set(kind);
        files.saturating_mul(bytes)
    }

    /// Largest number of files in a transfer; one set exists at a time.
    pub fn most_files(&self) -> u64 {
        self.kinds().map(|kind| self.set(kind).0).max().unwrap_or(0)
    }

    /// Size of the largest set of files in bytes.
    pub fn held(&self) -> u64 {
        self.bytes.max(self.moved(TransferKind::PutSmall))
    }

    /// Space of the largest set on a drive in bytes, where a file takes whole clusters.
    pub fn on_disk(&self) -> u64 {
        const CLUSTER: u64 = 128 << 10;
        let small = self.files.saturating_mul(self.small.next_multiple_of(CLUSTER));
        self.bytes.saturating_add(u64::from(self.clients) * CLUSTER).max(small)
    }

    /// Size in bytes of one set of each kind that clients put.
    pub fn kept(&self) -> u64 {
        let sets = self.kinds().filter(|kind| kind.puts()).map(|kind| self.moved(kind));
        sets.fold(0, u64::saturating_add)
    }

    /// The name of a part.
    pub fn part(&self, part: Part) -> &'static str {
        match part {
            Part::Drive => "the drive",
            Part::Sync => "the export's sync",
            Part::Link if self.client.is_some() => "the network",
            Part::Link => "the link",
            Part::Protection if self.protection == Some(Protection::Encryption) => "encryption",
            Part::Protection => "signing",
        }
    }

    pub fn route_name(&self, route: Route) -> String {
        match route {
            Route::Whole => "the whole route".to_owned(),
            Route::Without(part) => format!("without {}", self.part(part)),
            Route::WithoutAll => "without all of these".to_owned(),
            Route::Network => "the network alone".to_owned(),
            Route::Server => "the drive alone".to_owned(),
        }
    }
}

crate::kind!("share", ShareTest as Act);

impl Act for ShareTest {
    fn label(&self) -> String {
        "share".to_owned()
    }

    fn cost(&self) -> Cost {
        Cost { seconds: None, ..Cost::default() }
    }

    fn changes(&self) -> Changes {
        Changes::OwnFiles
    }

    fn describe(&self) -> Option<String> {
        let link = match (&self.client, self.rate) {
            (Some(at), _) => format!("on {at} (not contacted for a plan)"),
            (None, Some(rate)) => {
                format!("on a network of their own over a link of {} Mb/s", rate as f64 / 1e6)
            }
            (None, None) => "on a network of their own".to_owned(),
        };
        let kinds: Vec<String> = self.kinds().map(|kind| self.name(kind)).collect();
        let routes: Vec<String> = self.routes().map(|route| self.route_name(route)).collect();
        let protocol = self.protocol.name();
        let mut parts = vec![
            format!(
                "an {protocol} server with a configuration of its own, and clients {link}: {}",
                kinds.join(", ")
            ),
            format!("each over {}", routes.join(", ")),
            count(u64::from(self.runs), "time"),
        ];
        if self.client.is_some() {
            parts.push("if both machines have iperf3, it fills the network for 3 s at a time".to_owned());
        }
        Some(parts.join("; "))
    }

    fn check(&self) -> Result<(), String> {
        const MOST: u64 = 1 << 40;
        if self.client.is_some() && self.protocol == Protocol::Nfs {
            let why = "a client on another machine can't mount anything: leave out --client, or name --protocol smb or sftp";
            return Err(why.to_owned());
        }
        if self.protection.is_some() && self.protocol != Protocol::Smb {
            return Err("--protection works with SMB only: leave out --protection, or --protocol".to_owned());
        }
        let fits = (LEAST_BYTES..=MOST).contains(&self.bytes)
            && (1..=100_000).contains(&self.files)
            && (1..=MOST).contains(&self.small)
            && (1..=64).contains(&self.clients)
            && (1..=100).contains(&self.runs)
            && self.rate.is_none_or(|rate| (1_000..=1 << 40).contains(&rate))
            && !(self.client.is_some() && self.rate.is_some());
        if fits { Ok(()) } else { Err("shares files of impossible sizes or numbers".to_owned()) }
    }

    fn space(&self) -> u64 {
        self.on_disk()
    }

    fn is_work(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        // A server and its filesystem write more than the files that are counted.
        Needs { uncounted: Uncounted::Target, ..Needs::default() }
    }

    fn require(&self, _: &Target, _: &Inventory, _: &Path) -> Result<(), String> {
        run::check_prerequisites(&Sysroot::live(), self)
    }

    fn sets_up(&self) -> bool {
        true
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        for target in step.targets() {
            run.held.release::<run::Session>(run.ctx.world.runner())?;
            let on = &run.plan.targets[target];
            stays(on).map_err(|source| RunError::Folder { dir: on.path.clone(), source })?;
            run.ctx.watcher.waits(&format!("{}: starting a server and a client", on.given));
            let journal = run.ctx.world.journal();
            let (session, shared) = run::Session::start((target, on), self, journal, &run.cancel)?;
            run.held.put(target, session);
            run.emit_act(
                step.id,
                Some(target),
                ActResult { observed: Some(shared.into()), ..ActResult::default() },
            )?;
        }
        Ok(Troubles::new())
    }
}

/// One repetition of all transfers over all routes, with the server and the clients that the step before it started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShareRepetition {
    /// Number of the repetition, from 1.
    pub run: u32,
    /// The test that is repeated.
    pub test: ShareTest,
}

crate::kind!("share.repetition", ShareRepetition as Act);

impl Act for ShareRepetition {
    fn label(&self) -> String {
        "share repetition".to_owned()
    }

    /// Its time depends on the link and the drive.
    fn cost(&self) -> Cost {
        // Each route, and once more after each start of the server.
        let times = 1 + self.test.routes().filter(|route| route.has(Part::Drive)).count() as u64;
        let moved = self.test.kept().saturating_mul(times);
        Cost { written: moved, read: moved, seconds: None }
    }

    fn changes(&self) -> Changes {
        Changes::OwnFiles
    }

    fn is_work(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        self.test.needs()
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        for target in step.targets() {
            let since = run.ctx.world.seconds();
            let (session, watcher) = (run.held.get::<run::Session>(target), &mut *run.ctx.watcher);
            let given = &run.plan.targets[target].given;
            let mut says = |text: &str| watcher.waits(&format!("{given}: {text}"));
            let session = session.ok_or_else(|| RunError::Act("there is no server".to_owned()))?;
            let mut shared = ShareResult::default();
            let done = session.repetition(self.run, &mut shared, &run.cancel, &mut says);
            let done = done.map_err(|e| run::ended(e, &run.cancel));
            let seconds = run.ctx.world.seconds() - since;
            let is_written = |load: &&ShareLoad| load.kind.puts() && load.route.has(Part::Drive);
            let written = shared.loads.iter().filter(is_written).map(|load| load.bytes).sum::<u64>();
            // Once more after the start of the server.
            let bytes = written.saturating_add(self.test.moved(TransferKind::Put));
            run.account(target, bytes, bytes);
            // What was measured until it ended is kept.
            let (cut_short, observed) = (done.is_err(), Some(shared.into()));
            let result = ActResult { seconds, bytes, cut_short, observed, ..ActResult::default() };
            run.emit_act(step.id, Some(target), result)?;
            done?;
        }
        Ok(Troubles::new())
    }
}
