//! Move files between clients and a share.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Existing, Protocol, Shared, run};
use crate::{
    inventory::Inventory,
    plan::{Act, Changes, Cost, Needs, Step, Uncounted},
    record::ActResult,
    run::{Execution, RunError, Troubles, stays},
    sysroot::Sysroot,
    target::Target,
    units::{RemoteDir, count, decimal_bytes, duration},
};

/// Clients put files on a share and get them, as it is and with parts of the way left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShareTest {
    /// Of the link between client and server, bits per second; none without a limit.
    pub rate: Option<u64>,
    /// What they are moved by.
    #[serde(default)]
    pub protocol: Protocol,
    /// By the kernel's client of SMB, not by a program of its own; NFS has no other one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mounted: bool,
    /// Where clients are, and their files; on this machine if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<RemoteDir>,
    /// The same directory, as another server shares it: files are got from that, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing: Option<Existing>,
    /// The file with the user and the password for that; a guest if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<PathBuf>,
    /// What clients insist on.
    pub protection: Option<Protection>,
    /// Where clients have their files; in memory if none.
    pub client_dir: Option<PathBuf>,
    /// Bytes of the large file. Several clients at once share them.
    pub bytes: u64,
    /// Small files, and bytes of each.
    pub files: u64,
    pub small: u64,
    /// At once, after one alone.
    pub clients: u32,
    /// What the network to another machine carries is measured by iperf3, where both have that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub also_network: bool,
    /// Repetitions of all.
    pub runs: u32,
}

/// What protects messages of SMB against changes, or against readers, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    Signing,
    Encryption,
}

/// What clients do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Errand {
    Put,
    Get,
    /// Blocks of the large file, one after the other: only of a share that is mounted.
    ReadRandom,
    PutSmall,
    GetSmall,
    PutSeveral,
    GetSeveral,
}

/// What is between the files of the server and those of the client, and can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Else the share is in memory.
    Drive,
    /// Else the server says that files are stored before they are on the drive.
    Sync,
    /// Else the client is in the server's own network, on the server's machine.
    Link,
    /// Else messages are as they are.
    Protection,
    /// Else the files of the client are in memory.
    ClientDrive,
}

/// The way that files take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// All of it.
    Whole,
    Without(Part),
    /// Without all parts but the protocol.
    WithoutAll,
    /// By the other server, without the link.
    Existing,
    /// Bytes between both machines, without files or file servers.
    Network,
    /// No client: the server's own programs use the files.
    Server,
}

impl Errand {
    const ALL: [Self; 7] = [
        Self::Put,
        Self::Get,
        Self::ReadRandom,
        Self::PutSmall,
        Self::GetSmall,
        Self::PutSeveral,
        Self::GetSeveral,
    ];

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

impl Via {
    pub fn has(self, part: Part) -> bool {
        match self {
            Self::Whole => true,
            Self::Without(left_out) => left_out != part,
            Self::WithoutAll => false,
            Self::Existing => part != Part::Link,
            Self::Network => part == Part::Link,
            Self::Server => part == Part::Drive,
        }
    }
}

/// Random reads: how many, and bytes of each.
const RANDOM: (u64, u64) = (256, 4096);

impl ShareTest {
    pub fn errands(&self) -> impl Iterator<Item = Errand> + use<> {
        let (several, mounted) = (self.clients > 1, self.is_mounted());
        Errand::ALL.into_iter().filter(move |errand| {
            (several || !errand.has_several_clients()) && (mounted || *errand != Errand::ReadRandom)
        })
    }

    /// Clients see the share as a filesystem.
    pub fn is_mounted(&self) -> bool {
        self.mounted || self.protocol == Protocol::Nfs
    }

    /// The program, or the filesystem of the kernel, that clients use.
    pub fn client_name(&self) -> &'static str {
        match self.protocol {
            Protocol::Smb if self.mounted => "cifs",
            Protocol::Smb => "smbclient",
            Protocol::Nfs => "nfs",
            Protocol::Sftp => "sftp",
        }
    }

    /// A link on this machine without a limit is its memory, as is the way without it.
    pub fn has_link(&self) -> bool {
        self.rate.is_some() || self.client.is_some()
    }

    /// The parts that there are.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        let sync = (self.protocol == Protocol::Nfs).then_some(Part::Sync);
        let link = self.has_link().then_some(Part::Link);
        let protection = self.protection.map(|_| Part::Protection);
        let client = self.client_dir.as_ref().map(|_| Part::ClientDrive);
        [Part::Drive].into_iter().chain(sync).chain(link).chain(protection).chain(client)
    }

    pub fn ways(&self) -> impl Iterator<Item = Via> {
        let without = self.parts().map(Via::Without);
        let apart = self.parts().filter(|part| *part != Part::Sync);
        let all = (apart.count() > 1).then_some(Via::WithoutAll);
        let existing = self.existing.as_ref().map(|_| Via::Existing);
        let network = self.also_network.then_some(Via::Network);
        [Via::Whole].into_iter().chain(without).chain(all).chain(existing).chain(network).chain([Via::Server])
    }

    /// Whether files take this way: what is got waits for nothing to be stored.
    pub fn goes(&self, errand: Errand, via: Via) -> bool {
        match via {
            Via::Without(Part::Sync) => errand.puts(),
            // Blocks stay in the client's memory.
            Via::Without(Part::ClientDrive) => errand != Errand::ReadRandom,
            Via::Existing => !errand.puts(),
            // It knows no files.
            Via::Network => !errand.is_small() && errand != Errand::ReadRandom,
            _ => true,
        }
    }

    /// `put 64.0 MB`.
    pub fn name(&self, errand: Errand) -> String {
        let verb = if errand.puts() { "put" } else { "get" };
        let (files, bytes) = self.set(errand);
        match files {
            _ if errand == Errand::ReadRandom => {
                let (blocks, bytes) = self.blocks();
                format!("read {blocks} random blocks of {}", decimal_bytes(bytes))
            }
            1 => format!("{verb} {}", decimal_bytes(bytes)),
            _ if errand.is_small() => {
                format!("{verb} {} of {}", count(files, "file"), decimal_bytes(bytes))
            }
            _ => format!("{verb} {} by each of {files} clients", decimal_bytes(bytes)),
        }
    }

    /// The same above a column of a table.
    pub fn short_name(&self, errand: Errand) -> String {
        let (files, verb) = (self.set(errand).0, if errand.puts() { "put" } else { "get" });
        match files {
            _ if errand == Errand::ReadRandom => "random reads".to_owned(),
            1 => self.name(errand),
            _ if errand.is_small() => format!("{verb} {}", count(files, "file")),
            _ => format!("{verb} by {files} clients"),
        }
    }

    /// How many files, and bytes of each.
    pub fn set(&self, errand: Errand) -> (u64, u64) {
        match errand {
            Errand::Put | Errand::Get | Errand::ReadRandom => (1, self.bytes),
            Errand::PutSmall | Errand::GetSmall => (self.files, self.small),
            Errand::PutSeveral | Errand::GetSeveral => {
                let clients = u64::from(self.clients);
                (clients, (self.bytes / clients).max(1))
            }
        }
    }

    /// How many blocks are read at random, and bytes of each: not more than the file has.
    pub fn blocks(&self) -> (u64, u64) {
        let (blocks, bytes) = RANDOM;
        (blocks.min(self.bytes / bytes).max(1), bytes.min(self.bytes))
    }

    pub fn moved(&self, errand: Errand) -> u64 {
        let (pieces, bytes) = if errand == Errand::ReadRandom { self.blocks() } else { self.set(errand) };
        pieces.saturating_mul(bytes)
    }

    /// How long all that goes over the link takes at least, s.
    fn over_link(&self) -> Option<f64> {
        let rate = self.rate? as f64;
        // Once more after each start of the server.
        let warm = self.moved(Errand::Put).saturating_add(self.moved(Errand::Get));
        let moved = self.ways().filter(|via| via.has(Part::Link)).flat_map(|via| {
            self.errands().filter(move |errand| self.goes(*errand, via)).map(|errand| self.moved(errand))
        });
        let bytes = moved.fold(warm, u64::saturating_add);
        Some(8.0 * bytes as f64 * f64::from(self.runs) / rate)
    }

    /// The largest number of files: one set is there at a time.
    pub fn most_files(&self) -> u64 {
        self.errands().map(|errand| self.set(errand).0).max().unwrap_or(0)
    }

    /// Bytes of the largest set of files.
    pub fn held(&self) -> u64 {
        self.bytes.max(self.moved(Errand::PutSmall))
    }

    /// The same on a drive, where a file takes whole clusters, which may be large.
    pub fn on_disk(&self) -> u64 {
        const CLUSTER: u64 = 128 << 10;
        let small = self.files.saturating_mul(self.small.next_multiple_of(CLUSTER));
        self.bytes.saturating_add(u64::from(self.clients) * CLUSTER).max(small)
    }

    /// Of the files that clients put, one set of each kind.
    pub fn kept(&self) -> u64 {
        let sets = self.errands().filter(|errand| errand.puts()).map(|errand| self.moved(errand));
        sets.fold(0, u64::saturating_add)
    }

    /// It takes as long as the link and the drive need.
    pub fn repetition_cost(&self) -> Cost {
        // The server's drive, and the client's: of each way, and once more after each start of the server.
        let times = |part| 1 + self.ways().filter(|via| via.has(part)).count() as u64;
        let of_client = if self.client_dir.is_some() { 2 * times(Part::ClientDrive) } else { 0 };
        let moved = self.kept().saturating_mul(times(Part::Drive) + of_client);
        Cost { written: moved, read: moved, seconds: None }
    }

    /// What a part is called.
    pub fn part(&self, part: Part) -> &'static str {
        match part {
            Part::Drive => "the drive",
            Part::Sync => "the export's sync",
            Part::Link if self.client.is_some() => "the network",
            Part::Link => "the link",
            Part::Protection if self.protection == Some(Protection::Encryption) => "encryption",
            Part::Protection => "signing",
            Part::ClientDrive => "the client's drive",
        }
    }

    pub fn way(&self, via: Via) -> String {
        match via {
            Via::Whole => "all of the way".to_owned(),
            Via::Without(part) => format!("without {}", self.part(part)),
            Via::WithoutAll => "without all of these".to_owned(),
            Via::Existing => "your share".to_owned(),
            Via::Network => "the network alone".to_owned(),
            Via::Server => "the drive alone".to_owned(),
        }
    }
}

#[cfg(test)]
impl ShareTest {
    /// One client, and one file of each size.
    pub(super) fn least() -> Self {
        Self {
            rate: None,
            protocol: Protocol::Smb,
            mounted: false,
            client: None,
            existing: None,
            login: None,
            protection: None,
            client_dir: None,
            bytes: 1 << 20,
            files: 1,
            small: 1,
            clients: 1,
            also_network: false,
            runs: 1,
        }
    }
}

#[typetag::serde(name = "share")]
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
            (Some(at), _) => format!("on {at} (a plan does not ask it)"),
            (None, Some(rate)) => {
                format!("on a network of their own over a link of {} Mb/s", rate as f64 / 1e6)
            }
            (None, None) => "on a network of their own".to_owned(),
        };
        let ways: Vec<String> = self.ways().map(|via| self.way(via)).collect();
        let errands: Vec<String> = self.errands().map(|errand| self.name(errand)).collect();
        let client =
            self.client_dir.as_ref().map(|dir| format!("; the client's files are in {}", dir.display()));
        let existing = self.existing.as_ref().map(|at| format!("; what is got comes from {at}, too"));
        let over_link = self
            .over_link()
            .map(|seconds| format!("; what goes over the link takes {} or more", duration(seconds)));
        let full = self.errands().filter(|errand| self.goes(*errand, Via::Network)).count();
        let network = self.also_network.then(|| {
            format!(
                "; if both machines have iperf3, it fills the network for 3 s, {} in each repetition",
                count(full as u64, "time")
            )
        });
        // They end in turn, unless all are killed at once.
        let clients = match self.mounted {
            true => {
                "clients that mount it (end the run by Ctrl-C: Linux 6.1 may crash if all of its processes are killed at once)"
            }
            false => "clients",
        };
        Some(format!(
            "{} with a configuration of its own, and {clients} {link}: {}; each with {}; {}{}{}{}{}",
            self.protocol.server(),
            errands.join(", "),
            ways.join(", "),
            count(u64::from(self.runs), "time"),
            client.unwrap_or_default(),
            existing.unwrap_or_default(),
            over_link.unwrap_or_default(),
            network.unwrap_or_default()
        ))
    }

    fn check(&self) -> Result<(), String> {
        const MOST: u64 = 1 << 40;
        let fits = (1..=MOST).contains(&self.bytes)
            && (1..=100_000).contains(&self.files)
            && (1..=MOST).contains(&self.small)
            && (1..=64).contains(&self.clients)
            && (1..=100).contains(&self.runs)
            && self.rate.is_none_or(|rate| (1_000..=1 << 40).contains(&rate))
            && !(self.also_network && self.client.is_none())
            && !(self.rate.is_some() && self.client.is_some())
            && !(self.mounted && self.client.is_some())
            && self.existing.as_ref().is_none_or(|at| at.protocol == self.protocol && self.client.is_none())
            && !(self.protocol == Protocol::Nfs && self.client.is_some())
            && (self.protocol == Protocol::Smb || self.protection.is_none() && !self.mounted);
        if fits { Ok(()) } else { Err("shares files in a way that makes no sense".to_owned()) }
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

    fn require(&self, on: &Target, inventory: &Inventory) -> Result<(), String> {
        run::possible(&Sysroot::live(), &on.path, self)?;
        match &self.client_dir {
            Some(dir) => {
                let dir = Target::resolve(inventory, &dir.to_string_lossy()).map_err(|e| e.to_string())?;
                run::on_another(&dir, on)
            }
            None => Ok(()),
        }
    }

    fn sets_up(&self) -> bool {
        true
    }

    fn perform(&self, run: &mut Execution<'_, '_>, step: &Step) -> Result<Troubles, RunError> {
        run.ctx.watcher.begins(step);
        for target in step.targets() {
            run.held.release::<run::Session>(run.ctx.world.runner())?;
            let on = &run.plan.targets[target];
            let shared = match (run.ctx.world.system(), stays(on)) {
                (None, _) => Shared { server: "Samba".to_owned(), ..Shared::default() },
                (_, Err(source)) => return Err(RunError::Folder { dir: on.path.clone(), source }),
                (Some(_), Ok(())) => {
                    run.ctx.watcher.waits(&format!("{}: starting a server and a client", on.given));
                    let journal = run.ctx.world.journal();
                    let (session, shared) = run::Session::start((target, on), self, journal, &run.cancel)?;
                    run.held.put(target, session);
                    shared
                }
            };
            run.emit_act(
                step.id,
                Some(target),
                ActResult { observed: Some(shared.into()), ..ActResult::default() },
            )?;
        }
        Ok(Troubles::new())
    }
}
