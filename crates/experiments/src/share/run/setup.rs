//! A server, its clients, and how they are reached.

use std::{
    io,
    net::{IpAddr, TcpListener},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use super::{
    file_server::{Access, BEGINS, FileServer, MEMORY, Serves},
    files::{self, GOT, LARGE, SEVERAL, SMALL},
    nfs::{self, ASYNC},
    remote::Remote,
    sandbox::{OWN, ROOM, Sandbox, failed, join},
    sftp::Sftp,
    smb::Smb,
};
use crate::{
    engine::Cancel,
    run::{self, Folder, RunError},
    share::{Part, Protocol, Route, ShareTest, TransferKind},
    tools::{Query, System, Talk, namespace::within},
};

/// Addresses for documentation (RFC 5737), which no network has.
pub(super) const SERVER: &str = "192.0.2.1";
const CLIENT: &str = "192.0.2.2";
/// Port of a server in a network namespace.
const PORT: u16 = 4450;
const NFS_PORT: u16 = 2049;
pub(super) const POLL: Duration = Duration::from_millis(50);
/// Timeout of a client's connection and of its end.
pub(super) const ANSWERS: Duration = Duration::from_secs(10);
/// Timeout of a transfer: this long, plus eight times what the link, or one of `SLOW_LINK` bits per second, needs.
const LEAST: Duration = Duration::from_secs(600);
const SLOW_LINK: u64 = 8_000_000;
/// Number and bytes of files besides those that are transferred.
const OTHERS: u64 = 10_000;
const OTHER_BYTES: u64 = 32 << 20;

/// Fields are dropped in this order: the server ends before a client on another machine does.
pub(super) struct Setup {
    pub(super) act: ShareTest,
    pub(super) tools: System,
    /// The server that client programs use; `None` where clients mount NFS.
    pub(super) programs: Option<Box<dyn FileServer>>,
    serves: Option<Talk>,
    pub(super) server: Sandbox,
    pub(super) client: Sandbox,
    remote: Option<Remote>,
    port: u16,
}

impl Setup {
    pub fn start(folder: &Folder, act: &ShareTest, cancel: &Cancel) -> Result<Self, RunError> {
        let tools = &System::default();
        let (bytes, files) = (act.held() + OTHER_BYTES, act.most_files() + OTHERS);
        let start = |at| Remote::start(at, &run::uuid()?, act.protocol, tools, cancel);
        let remote = act.client.as_ref().map(start).transpose()?;
        let server = Sandbox::start(tools, Some(folder), (bytes, files), remote.is_none())?;
        let client = Sandbox::start(tools, None, (bytes + act.kept(), 3 * files), true)?;
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
        server.make_dir(MEMORY)?;
        client.make_dir(GOT)?;
        for (seed, kind) in act.kinds().filter(|kind| kind.puts()).enumerate() {
            let name = set_name(kind);
            client.make_dir(name)?;
            files::make(&client.file(name), act.set(kind), seed as u64, &|| cancel.is_set())
                .map_err(|e| failed(&format!("files in memory: {e}")))?;
        }
        let both = (&server, &client);
        let programs: Option<Box<dyn FileServer>> = match act.protocol {
            Protocol::Smb => Some(Box::new(Smb::prepare(both, &serves, &run::uuid()?, tools)?)),
            Protocol::Sftp => Some(Box::new(Sftp::prepare(both, &serves, tools)?)),
            Protocol::Nfs => nfs::prepare(both, tools).map(|()| None)?,
        };
        if let (Some(remote), Some(server)) = (&remote, &programs) {
            server.client_files().iter().try_for_each(|file| remote.send_file(&client, file, tools))?;
        }
        let port = if act.protocol == Protocol::Nfs { NFS_PORT } else { serves.port };
        Ok(Self {
            act: act.clone(),
            tools: System::default(),
            programs,
            serves: None,
            server,
            client,
            remote,
            port,
        })
    }

    /// Sends the files that a client on another machine will put.
    fn equip(&self, server: &dyn FileServer, cancel: &Cancel) -> Result<(), RunError> {
        for kind in self.act.kinds().filter(|kind| kind.puts()) {
            let (dir, count) = (set_name(kind), self.act.set(kind).0);
            let (source, shared) = (self.client.file(dir), self.server.file(MEMORY));
            let cannot = |e: io::Error| failed(&format!("files for the client: {e}"));
            files::put(&source, &shared, count, (false, false), &|| cancel.is_set()).map_err(cannot)?;
            let route = Route::Without(Part::Drive);
            self.send_commands(server, (kind, route), &[server.all(false, dir)], cancel)?;
            files::clear(&shared, count).map_err(cannot)?;
        }
        Ok(())
    }

    /// Restarts the server and warms it up by one put and one get.
    pub fn restart(&mut self, cancel: &Cancel) -> Result<(), RunError> {
        let is_first = self.serves.is_none();
        if let Some(mut serves) = self.serves.take() {
            serves.end(BEGINS);
        }
        self.serves = Some(match &self.programs {
            Some(server) => self.answering(server.as_ref(), cancel)?,
            None => nfs::serve(&self.server, &self.tools)?,
        });
        if let (true, Some(server)) = (is_first && self.remote.is_some(), &self.programs) {
            self.equip(server.as_ref(), cancel)?;
        }
        for kind in [TransferKind::Put, TransferKind::Get] {
            self.time((kind, Route::Whole), (0, false), cancel)?;
        }
        Ok(())
    }

    /// Starts the server and waits until it answers.
    fn answering(&self, server: &dyn FileServer, cancel: &Cancel) -> Result<Talk, RunError> {
        let serve = within(self.server.pid, self.server.pid, &server.serve(), &self.tools)?;
        let mut serves = self.tools.talk(&serve)?;
        let since = Instant::now();
        let query = self.client(server, Route::Whole, ANSWERS)?;
        let called = self.called(Route::Whole, &query);
        while let Err(e) = self.connected(server, &query, &called, &|| cancel.is_set()) {
            if serves.has_ended() {
                let last = server.end_reason(&self.server, &serves.end(Duration::ZERO));
                return Err(failed(&format!("the {} server has ended: {last}", self.act.protocol.name())));
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

    /// The client on another machine, if this route begins there.
    pub fn remote(&self, route: Route) -> Option<&Remote> {
        self.remote.as_ref().filter(|_| route.has(Part::Link))
    }

    /// The process in whose network namespace this route begins, and the address of the server there.
    pub fn place(&self, route: Route) -> (u32, String) {
        // An unlimited link is never left out.
        match (self.remote(route), route.has(Part::Link) || !self.act.has_link()) {
            (Some(remote), _) => (self.client.pid, remote.addresses[0].to_string()),
            (None, true) => (self.client.pid, SERVER.to_owned()),
            (None, false) => (self.server.pid, "127.0.0.1".to_owned()),
        }
    }

    /// The client program of this route, which waits for commands.
    pub fn client(
        &self,
        server: &dyn FileServer,
        route: Route,
        patience: Duration,
    ) -> Result<Query, RunError> {
        let remote = self.remote(route);
        let (network, address) = self.place(route);
        let query = server.client(&Access { patience, ..self.access(route, &address) });
        match remote {
            Some(remote) => Ok(remote.in_dir(&query)),
            None => Ok(within(network, self.client.pid, &query, &self.tools)?),
        }
    }

    /// Address, directory and options of a client on this route.
    pub fn access<'b>(&'b self, route: Route, address: &'b str) -> Access<'b> {
        Access {
            address,
            port: self.port,
            dir: dir_of(route),
            protection: self.act.protection.filter(|_| route.has(Part::Protection)),
            room: self.room(route),
            patience: ANSWERS,
        }
    }

    /// Directory of the client's files, as its programs see it.
    pub fn room(&self, route: Route) -> &'static str {
        if self.remote(route).is_some() { "" } else { ROOM }
    }

    /// Name of a client in messages.
    pub fn called(&self, route: Route, query: &Query) -> String {
        match (self.remote(route), &self.act.client) {
            (Some(_), Some(at)) => format!("the {} client on {}", self.act.protocol.name(), at.host()),
            _ => format!("'{query}'"),
        }
    }

    /// Directory of the shared files, as this program sees it.
    pub fn files(&self, route: Route) -> PathBuf {
        self.server.file(if route.has(Part::Drive) { OWN } else { MEMORY })
    }

    /// Timeout of a transfer.
    pub fn longest(&self, kind: TransferKind) -> Duration {
        let bits = self.act.moved(kind).saturating_mul(8).saturating_mul(8);
        LEAST + Duration::from_secs(bits / self.act.rate.unwrap_or(SLOW_LINK).min(SLOW_LINK))
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        // The server ends before the namespaces that it uses.
        if let Some(mut serves) = self.serves.take() {
            serves.end(BEGINS);
        }
    }
}

/// A free port of an address of this machine.
pub(super) fn free_port(address: IpAddr) -> Result<u16, String> {
    let free = TcpListener::bind((address, 0)).and_then(|listener| listener.local_addr());
    free.map(|at| at.port()).map_err(|e| format!("no free port of {address}: {e}"))
}

/// Name of the shared directory of a route.
pub(super) fn dir_of(route: Route) -> &'static str {
    match (route.has(Part::Drive), route.has(Part::Sync)) {
        (true, true) => OWN,
        (true, false) => ASYNC,
        (false, _) => MEMORY,
    }
}

/// Name of the client's directory with the files of a transfer.
pub(super) fn set_name(kind: TransferKind) -> &'static str {
    match kind {
        TransferKind::Put | TransferKind::Get => LARGE,
        TransferKind::PutSmall | TransferKind::GetSmall => SMALL,
        TransferKind::PutSeveral | TransferKind::GetSeveral => SEVERAL,
    }
}
