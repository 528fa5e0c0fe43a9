//! A server and its clients.

use std::{
    cell::Cell,
    fs, io,
    net::{IpAddr, TcpListener},
    path::PathBuf,
    process, thread,
    time::{Duration, Instant},
};

use super::{
    apart::{Apart, OWN, failed, join},
    errands::{self, GOT, LARGE, SEVERAL, SMALL},
    file_server::{Access, BEGINS, FileServer, MEMORY, OTHER_LOGIN, Other, Serves, write},
    nfs::{self, ASYNC},
    remote::Remote,
    sftp::Sftp,
    smb::Smb,
};
use crate::{
    engine::Cancel,
    run::{Folder, RunError},
    share::{Errand, Part, Protocol, ShareTest, Via},
    sysroot::Sysroot,
    tools::{
        Query, System, Talk,
        namespace::{Ends, within},
    },
};

/// Addresses for documentation and tests: no network has them.
pub(super) const SERVER: &str = "192.0.2.1";
const CLIENT: &str = "192.0.2.2";
/// Of a server with a network of its own.
const PORT: u16 = 4450;
/// Of servers everywhere.
const SMB_PORT: u16 = 445;
const NFS_PORT: u16 = 2049;
pub(super) const POLL: Duration = Duration::from_millis(50);
/// How long a client may take to be connected, or to end.
pub(super) const ANSWERS: Duration = Duration::from_secs(10);
/// How long a client may take at most: so long, and eight times what the link, or one of this rate, takes for the bytes.
const LEAST: Duration = Duration::from_secs(600);
const SLOW_LINK: u64 = 8_000_000;
/// Files of the server, and of a client, besides those that are moved.
const OTHERS: u64 = 10_000;
const OTHER_BYTES: u64 = 32 << 20;

/// How clients use the server.
pub(super) enum Speaks {
    /// By programs that are told what to move.
    Told(Box<dyn FileServer>),
    /// As a filesystem that is mounted, of smbd.
    Cifs(Smb),
    /// The same of the kernel.
    Nfs,
}

impl Speaks {
    /// The program that serves.
    fn server(&self) -> Option<&dyn FileServer> {
        match self {
            Self::Told(server) => Some(server.as_ref()),
            Self::Cifs(server) => Some(server),
            Self::Nfs => None,
        }
    }
}

/// They end in this order: who uses the server on another machine ends once that has ended.
pub(super) struct Site {
    pub(super) act: ShareTest,
    pub(super) tools: System,
    pub(super) speaks: Speaks,
    serves: Option<Talk>,
    pub(super) server: Apart,
    pub(super) client: Apart,
    remote: Option<Remote>,
    /// The client on another machine has the files that it puts.
    is_equipped: bool,
    port: u16,
    /// The name of the directory on the drive.
    folder: String,
    /// How often blocks were read at random: those of each time are others.
    pub(super) draws: Cell<u64>,
}

impl Site {
    pub fn start(
        (on_drive, of_client): (Option<&Folder>, Option<&Folder>),
        act: &ShareTest,
        cancel: &Cancel,
    ) -> Result<Self, RunError> {
        let tools = &System::default();
        let (bytes, files) = (act.held() + OTHER_BYTES, act.most_files() + OTHERS);
        let start = |at| Remote::start(at, &random()?, act.protocol, tools, cancel);
        let remote = act.client.as_ref().map(start).transpose()?;
        let ends = if act.mounted { Ends::ByItself } else { Ends::WithUs };
        let server = Apart::start(tools, on_drive, (bytes, files), (remote.is_none(), ends))?;
        let client = Apart::start(tools, of_client, (bytes + act.kept(), 3 * files), (true, ends))?;
        let serves = match &remote {
            None => {
                let [its, other] = [SERVER, CLIENT].map(|address| format!("{address}/30"));
                join((&server, &its), (&client, &other), act.rate, tools)?;
                Serves { at: SERVER.to_owned(), to: None, port: PORT }
            }
            Some(Remote { addresses: [ours, theirs], .. }) => {
                let port = free_port(*ours).map_err(|e| failed(&e))?;
                Serves { at: ours.to_string(), to: Some(*theirs), port }
            }
        };
        let cannot = |e: io::Error| failed(&format!("files in memory: {e}"));
        fs::create_dir(server.file(MEMORY)).map_err(cannot)?;
        fs::create_dir(client.file(GOT)).map_err(cannot)?;
        let stop = || cancel.is_set();
        for (seed, errand) in act.errands().filter(|errand| errand.puts()).enumerate() {
            let dir = client.file(set_name(errand));
            fs::create_dir(&dir)
                .and_then(|()| errands::make(&dir, act.set(errand), seed as u64, &stop))
                .map_err(cannot)?;
        }
        let both = (&server, &client);
        let speaks = match act.protocol {
            Protocol::Smb => {
                let smb = Smb::prepare(both, &serves, (&random()?, act), tools)?;
                match act.mounted {
                    true => smb.furnish_client(&client, tools).map(|()| Speaks::Cifs(smb))?,
                    false => Speaks::Told(Box::new(smb)),
                }
            }
            Protocol::Sftp => Speaks::Told(Box::new(Sftp::prepare(both, &serves, tools)?)),
            Protocol::Nfs => nfs::prepare(both, tools).map(|()| Speaks::Nfs)?,
        };
        if let (Some(remote), Some(server)) = (&remote, speaks.server()) {
            server.client_files().iter().try_for_each(|file| remote.give(&client, file, tools))?;
        }
        if let Some(login) = &act.login {
            let given = super::login(login).map_err(|e| failed(&e))?;
            write(&client.file(OTHER_LOGIN), &given).map_err(cannot)?;
        }
        let name =
            on_drive.and_then(|folder| Some(folder.path().file_name()?.to_string_lossy().into_owned()));
        let folder = name.unwrap_or_default();
        let port = if act.protocol == Protocol::Nfs { NFS_PORT } else { serves.port };
        let is_equipped = remote.is_none();
        Ok(Self {
            act: act.clone(),
            tools: System::default(),
            speaks,
            serves: None,
            server,
            client,
            remote,
            is_equipped,
            port,
            folder,
            draws: Cell::new(0),
        })
    }

    /// Gives a client on another machine the files that it puts later.
    fn equip(&self, server: &dyn FileServer, cancel: &Cancel) -> Result<(), RunError> {
        for errand in self.act.errands().filter(|errand| errand.puts()) {
            let (dir, count) = (set_name(errand), self.act.set(errand).0);
            let (source, shared) = (self.client.file(dir), self.server.file(MEMORY));
            let cannot = |e: io::Error| failed(&format!("files for the client: {e}"));
            errands::put(&source, &shared, count, (false, false), &|| cancel.is_set()).map_err(cannot)?;
            let via = Via::Without(Part::Drive);
            self.tell(server, (errand, via), &[server.all(false, dir)], cancel)?;
            errands::clear(&shared, count).map_err(cannot)?;
        }
        Ok(())
    }

    /// A server that has just started, and served once: its first transfers may be slower.
    pub fn restart(&mut self, cancel: &Cancel) -> Result<(), RunError> {
        if let Some(mut serves) = self.serves.take() {
            serves.end(BEGINS);
        }
        self.serves = Some(match self.speaks.server() {
            Some(server) => self.answering(server, cancel)?,
            None => nfs::serve(&self.server, &self.tools)?,
        });
        if let (false, Some(server)) = (self.is_equipped, self.speaks.server()) {
            self.equip(server, cancel)?;
            self.is_equipped = true;
        }
        for errand in [Errand::Put, Errand::Get] {
            self.time((errand, Via::Whole), false, cancel)?;
        }
        Ok(())
    }

    /// A server that has just started, and answers.
    fn answering(&self, server: &dyn FileServer, cancel: &Cancel) -> Result<Talk, RunError> {
        let serve = within(self.server.pid, self.server.pid, &server.serve(), &self.tools)?;
        let mut serves = self.tools.talk(&serve)?;
        let since = Instant::now();
        let query = self.client(server, Via::Whole, ANSWERS, false)?;
        let called = self.called(Via::Whole, &query);
        while let Err(e) = self.connected(server, &query, &called, &|| cancel.is_set()) {
            if serves.has_ended() {
                let last = server.last_words(&self.server, &serves.end(Duration::ZERO));
                return Err(failed(&format!("{} has ended: {last}", self.act.protocol.server())));
            }
            if cancel.is_set() || since.elapsed() > BEGINS {
                return Err(match self.remote.as_ref().map(|remote| remote.addresses[0]) {
                    Some(address) => failed(&format!(
                        "the server, port {} of {address}, is not reached; is there a firewall? {e}",
                        self.port,
                    )),
                    None => e,
                });
            }
            thread::sleep(POLL);
        }
        Ok(serves)
    }

    /// The client on another machine, if this way begins there.
    pub fn remote(&self, via: Via) -> Option<&Remote> {
        self.remote.as_ref().filter(|_| via.has(Part::Link))
    }

    /// The network in which this way begins, and the address of the server there.
    pub fn place(&self, via: Via) -> (u32, String) {
        // Of the machine itself.
        if let Some(at) = self.act.existing.as_ref().filter(|_| via == Via::Existing) {
            return (process::id(), at.host().to_owned());
        }
        // A link without a limit is not left out by another one.
        match (self.remote(via), via.has(Part::Link) || !self.act.has_link()) {
            (Some(remote), _) => (self.client.pid, remote.addresses[0].to_string()),
            (None, true) => (self.client.pid, SERVER.to_owned()),
            (None, false) => (self.server.pid, "127.0.0.1".to_owned()),
        }
    }

    /// A client that waits for commands, from where this way begins.
    pub fn client(
        &self,
        server: &dyn FileServer,
        via: Via,
        patience: Duration,
        tells: bool,
    ) -> Result<Query, RunError> {
        let remote = self.remote(via);
        let (network, address) = self.place(via);
        let query = server.client(&Access { patience, tells, ..self.access(via, &address) });
        match remote {
            Some(remote) => Ok(remote.in_dir(&query)),
            None => Ok(within(network, self.client.pid, &query, &self.tools)?),
        }
    }

    /// What a client uses, that goes this way to an address.
    pub fn access<'b>(&'b self, via: Via, address: &'b str) -> Access<'b> {
        let existing = self.act.existing.as_ref().filter(|_| via == Via::Existing);
        let usual = match self.act.protocol {
            Protocol::Smb => SMB_PORT,
            Protocol::Nfs | Protocol::Sftp => NFS_PORT,
        };
        Access {
            address,
            port: existing.map_or(self.port, |at| at.port().unwrap_or(usual)),
            dir: dir_of(via),
            protection: self.act.protection.filter(|_| via.has(Part::Protection)),
            room: self.remote(via).is_none().then_some(&self.client.room),
            patience: ANSWERS,
            tells: false,
            existing: existing.map(|at| Other {
                at,
                folder: self.folder.clone(),
                has_login: self.act.login.is_some(),
            }),
        }
    }

    /// What a client is called in messages.
    pub fn called(&self, via: Via, query: &Query) -> String {
        match (self.remote(via), &self.act.client) {
            (Some(_), Some(at)) => format!("{} on {}", self.act.client_name(), at.host()),
            _ => format!("'{query}'"),
        }
    }

    /// Where the files of the share are, as this program sees them.
    pub fn files(&self, via: Via) -> PathBuf {
        self.server.file(if via.has(Part::Drive) { OWN } else { MEMORY })
    }

    /// How long clients may take.
    pub fn longest(&self, errand: Errand) -> Duration {
        let bits = self.act.moved(errand).saturating_mul(8).saturating_mul(8);
        LEAST + Duration::from_secs(bits / self.act.rate.unwrap_or(SLOW_LINK).min(SLOW_LINK))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // Before the networks and mounts that it uses.
        if let Some(mut serves) = self.serves.take() {
            serves.end(BEGINS);
        }
    }
}

/// A port of an address of this machine, on which nobody listens.
pub(super) fn free_port(address: IpAddr) -> Result<u16, String> {
    let free = TcpListener::bind((address, 0)).and_then(|listener| listener.local_addr());
    free.map(|at| at.port()).map_err(|e| format!("no free port of {address}: {e}"))
}

/// The directory of the server, as it is shared.
pub(super) fn dir_of(via: Via) -> &'static str {
    match (via.has(Part::Drive), via.has(Part::Sync)) {
        (true, true) => OWN,
        (true, false) => ASYNC,
        (false, _) => MEMORY,
    }
}

/// The directory of the client with the files of an errand.
pub(super) fn set_name(errand: Errand) -> &'static str {
    match errand {
        Errand::Put | Errand::Get | Errand::ReadRandom => LARGE,
        Errand::PutSmall | Errand::GetSmall => SMALL,
        Errand::PutSeveral | Errand::GetSeveral => SEVERAL,
    }
}

/// For a password, which nobody is told, and which is gone with the server; and for a name.
fn random() -> Result<String, RunError> {
    let uuid = Sysroot::live().word("/proc/sys/kernel/random/uuid");
    uuid.ok_or_else(|| failed("the kernel gives no random number"))
}
