//! Transfers of clients: their connections and commands, times, and a comparison of the data that arrived.

use std::{
    io, iter,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    file_server::{BEGINS, FileServer},
    files::{self, Differs, GOT, Stop},
    nfs::Mounted,
    sandbox::failed,
    setup::{ANSWERS, Setup, free_port, set_name},
};
use crate::{
    conditions::ProcessorWatch,
    engine::{Cancel, Pulse},
    run::RunError,
    share::{Route, ShareLoad, TransferKind},
    sysroot::Sysroot,
    tools::{
        Query, Runner, Talk, ToolError, ip, iperf3,
        namespace::{SETPRIV, within},
    },
};

/// Exit timeout of a client.
const ENDS: Duration = Duration::from_secs(1);

/// Exit timeout of a server that was killed.
const SERVER_ENDS: Duration = Duration::from_secs(5);
/// Most bytes of iperf3's report, which has a few thousand.
const REPORT: usize = 1 << 20;

/// A transfer that has ended.
pub(super) struct Moved {
    pub begins: Instant,
    /// When the last client had finished.
    pub ends: Instant,
    /// Output of the clients.
    pub output: String,
}

impl Setup {
    /// Times a transfer and compares the data: by length, and if `read` by its bytes.
    pub fn time(
        &self,
        (kind, route): (TransferKind, Route),
        (run, read): (u32, bool),
        cancel: &Cancel,
    ) -> Result<ShareLoad, RunError> {
        let stop = || cancel.is_set();
        let cannot = |e: io::Error| self.cannot((kind, route), &e);
        let (is_alone, files) = (route == Route::Server, self.files(route));
        self.ready(kind, &files).map_err(cannot)?;
        if let Some(remote) = self.remote(route).filter(|_| !kind.puts()) {
            remote.clear(GOT, &self.tools, &stop)?;
        }
        let mounts = self.programs.is_none() && !is_alone;
        let mounted = mounts.then(|| self.mount(route)).transpose()?;
        let root = Sysroot::live();
        let (watch, since) = (ProcessorWatch::begin(&root), Instant::now());
        let pulse = Pulse::since(since);
        let mut moved = match &self.programs {
            Some(server) if !is_alone => self.run_client_commands(server.as_ref(), (kind, route), cancel)?,
            _ => {
                let there = mounted.as_ref().map_or_else(|| files.clone(), Mounted::dir);
                self.copy((kind, route), &there, &stop).map_err(cannot)?
            }
        };
        // A transfer ends when its data is on the drive.
        if kind.puts() && !is_alone {
            files::sync(&files).map_err(cannot)?;
            moved.ends = Instant::now();
        }
        let cores = watch.end(&root, since.elapsed().as_secs_f64()).cores;
        let at_ns = |moment: Instant| (moment - since).as_nanos() as u64;
        let suspended_ns = pulse.missed(at_ns(moved.begins), at_ns(moved.ends));
        mounted.map_or(Ok(()), Mounted::unmount)?;
        self.compare((kind, route), &moved.output, read, &stop)?;
        let seconds = (moved.ends - moved.begins).as_secs_f64();
        Ok(ShareLoad { kind, route, run, bytes: self.act.moved(kind), seconds, cores, suspended_ns })
    }

    fn what(&self, kind: TransferKind, route: Route) -> String {
        format!("{}, {}", self.act.name(kind), self.act.route_name(route))
    }

    fn cannot(&self, (kind, route): (TransferKind, Route), e: &io::Error) -> RunError {
        failed(&format!("{}: {e}", self.what(kind, route)))
    }

    /// Prepares the directories and drops the files from the page cache, except those on tmpfs.
    fn ready(&self, kind: TransferKind, files: &Path) -> io::Result<()> {
        let (count, most) = (self.act.set(kind).0, self.act.most_files());
        if kind.puts() {
            return files::clear(files, most).and_then(|()| files::sync(files));
        }
        files::clear(&self.client.file(GOT), most)?;
        files::cool(files, count)
    }

    /// Copies or reads files from this process: of the mounted share, or without a client.
    fn copy(&self, (kind, route): (TransferKind, Route), there: &Path, stop: Stop<'_>) -> io::Result<Moved> {
        let (count, at_once) = (self.act.set(kind).0, kind.has_several_clients());
        // Closing a file writes what is left of it, and says nothing if that fails.
        let to_its_end = route != Route::Server;
        let begins = Instant::now();
        match route {
            _ if kind.puts() => {
                files::put(&self.client.file(set_name(kind)), there, count, (at_once, to_its_end), stop)?;
            }
            Route::Server => files::get(there, count, at_once, stop)?,
            _ => files::put(there, &self.client.file(GOT), count, (at_once, false), stop)?,
        }
        Ok(Moved { begins, ends: Instant::now(), output: String::new() })
    }

    /// Compares what arrived with the original.
    fn compare(
        &self,
        (kind, route): (TransferKind, Route),
        output: &str,
        read: bool,
        stop: Stop<'_>,
    ) -> Result<(), RunError> {
        let cannot = |e: io::Error| self.cannot((kind, route), &e);
        let source = self.client.file(set_name(kind));
        let remote = self.remote(route).filter(|_| !kind.puts());
        let differs = if route == Route::Server && !kind.puts() {
            // What was read there is not kept.
            None
        } else if let Some(remote) = remote {
            remote.differs([set_name(kind), GOT], read, &self.tools, stop)?
        } else {
            let came = if kind.puts() { self.files(route) } else { self.client.file(GOT) };
            files::differs(&source, &came, self.act.set(kind).0, read, stop).map_err(cannot)?
        };
        let what = self.what(kind, route);
        match differs {
            None => Ok(()),
            Some(Differs::Length) => {
                let why = format!("{what}: not all data arrived: {output}");
                Err(failed(why.trim_end_matches([' ', ':'])))
            }
            Some(Differs::Bytes) => {
                Err(RunError::WrongData(format!("{what}: the data that arrived is not what was sent")))
            }
        }
    }

    /// Runs client programs that put or get files.
    pub fn run_client_commands(
        &self,
        server: &dyn FileServer,
        (kind, route): (TransferKind, Route),
        cancel: &Cancel,
    ) -> Result<Moved, RunError> {
        // As those programs see it.
        let dir = Path::new(self.room(route)).join(if kind.puts() { set_name(kind) } else { GOT });
        let puts = kind.puts();
        let commands: Vec<String> = match kind.is_small() {
            true => vec![server.all(puts, &dir.to_string_lossy())],
            false => (0..self.act.set(kind).0).map(|number| one(puts, &dir, number)).collect(),
        };
        self.send_commands(server, (kind, route), &commands, cancel)
    }

    /// Mounts the directory of the server by NFS.
    pub fn mount(&self, route: Route) -> Result<Mounted<'_>, RunError> {
        let (network, address) = self.place(route);
        Mounted::mount(&self.client, network, &self.access(route, &address), &self.tools)
    }

    /// Starts a client for each of these commands; all are connected before any begins.
    pub fn send_commands(
        &self,
        server: &dyn FileServer,
        (kind, route): (TransferKind, Route),
        commands: &[String],
        cancel: &Cancel,
    ) -> Result<Moved, RunError> {
        let longest = self.longest(kind);
        let query = self.client(server, route, longest)?;
        let called = self.called(route, &query);
        let gone = |_| failed(&format!("{called} has ended, or does not answer"));
        let connected = commands.iter().map(|_| self.connected(server, &query, &called, &|| cancel.is_set()));
        let mut all: Vec<Talk> = connected.collect::<Result<_, _>>()?;
        let begins = Instant::now();
        for (client, commands) in all.iter_mut().zip(commands) {
            client.say(&format!("{commands}pwd\n")).map_err(gone)?;
            client.close_stdin();
        }
        let (mut said, mut ends, mut all_done) = (String::new(), begins, Vec::new());
        let stop = || cancel.is_set() || begins.elapsed() > longest;
        for client in &mut all {
            all_done.push(loop {
                match client.next_line(&stop) {
                    Some(line) if server.is_mark(&line) => break true,
                    Some(line) => said.extend([line.trim(), " "]),
                    None => break false,
                }
            });
            ends = Instant::now();
        }
        for (mut client, is_done) in all.into_iter().zip(all_done) {
            let output = client.end(if cancel.is_set() { Duration::ZERO } else { ANSWERS });
            if !is_done || output.code != Some(0) {
                let late = begins.elapsed() > longest;
                let why = if late { "it took too long".to_owned() } else { output.complaint() };
                return Err(failed(&format!("{called} failed: {said}{why}")));
            }
        }
        Ok(Moved { begins, ends, output: said })
    }

    /// Starts a client and waits until it answers.
    pub fn connected(
        &self,
        server: &dyn FileServer,
        query: &Query,
        called: &str,
        stop: Stop<'_>,
    ) -> Result<Talk, RunError> {
        let mut client = self.tools.talk(query)?;
        // A client that has ended does not answer.
        let _ = client.say("pwd\n");
        let since = Instant::now();
        let late = || stop() || since.elapsed() > BEGINS;
        let mut last = String::new();
        while let Some(line) = client.next_line(&late) {
            if server.is_mark(&line) {
                return Ok(client);
            }
            if !line.trim().is_empty() {
                last = line;
            }
        }
        let is_late = late();
        let said = client.end(if is_late { Duration::ZERO } else { ENDS });
        let why = match said.stderr.trim().is_empty() {
            // It was ended here, after the timeout.
            true if is_late => format!("no answer within {} s", BEGINS.as_secs()),
            // smbclient writes its reason to standard output.
            true if !last.is_empty() => last,
            _ => said.complaint(),
        };
        Err(failed(&format!("{called} failed: {why}")))
    }

    /// The network port by which the server reaches a client on another machine, by the kernel's routes.
    pub fn network_port(&self) -> Option<String> {
        let [ours, theirs] = self.remote(Route::Network)?.addresses;
        let said = self.tools.ask(&ip::route(theirs, ours)).ok()?;
        ip::port(&said.stdout).map(str::to_owned)
    }

    /// Runs iperf3 in the direction of a transfer with as many streams as clients; an error is the reason why it can't.
    pub fn carried(&self, (kind, run): (TransferKind, u32), cancel: &Cancel) -> Result<ShareLoad, String> {
        let failed = |e: ToolError| e.to_string();
        let remote = self.remote(Route::Network).ok_or("no client is on another machine")?;
        let address = remote.addresses[0];
        let program = self.tools.find(iperf3::IPERF3).map_err(failed)?;
        let setpriv = self.tools.find(SETPRIV).map_err(failed)?;
        let port = free_port(address)?;
        let serve = iperf3::serve(&setpriv, &program, address, port);
        let serve = within(self.server.pid, self.server.pid, &serve, &self.tools).map_err(failed)?;
        let mut serves = self.tools.talk(&serve).map_err(failed)?;
        let since = Instant::now();
        let stop = || cancel.is_set() || since.elapsed() > BEGINS;
        let mut lines = iter::from_fn(|| serves.next_line(&stop));
        if !lines.any(|line| line.starts_with(iperf3::READY)) {
            let said = serves.end(if stop() { Duration::ZERO } else { BEGINS });
            return Err(format!("iperf3 does not serve here: {}", said.complaint()));
        }
        let streams = if kind.has_several_clients() { self.act.set(kind).0 } else { 1 };
        let client = remote.in_dir(&iperf3::client(address, port, streams, kind.puts()));
        let mut report = String::new();
        let mut hear = |line: &str| {
            if report.len() + line.len() < REPORT {
                report.extend([line, "\n"]);
            }
        };
        let begins = Instant::now();
        let pulse = Pulse::since(begins);
        let said = self.tools.stream(&client, &|| cancel.is_set(), &mut hear);
        let suspended_ns = pulse.missed(0, begins.elapsed().as_nanos() as u64);
        serves.end(SERVER_ENDS);
        // iperf3 also writes errors to its report.
        let carried = said.map_err(failed).and_then(|said| match report.trim().is_empty() {
            true => Err(said.complaint()),
            false => iperf3::received(&report),
        });
        let (bytes, seconds) = carried.map_err(|why| {
            format!("iperf3 on {}, which uses port {port} of {address}: {why}", remote.host())
        })?;
        // iperf3 times itself.
        Ok(ShareLoad { kind, route: Route::Network, run, bytes, seconds, cores: Vec::new(), suspended_ns })
    }
}

/// Commands that put or get one file.
fn one(puts: bool, dir: &Path, number: u64) -> String {
    let here = dir.join(number.to_string());
    match puts {
        true => format!("put {} {number}\n", here.display()),
        false => format!("get {number} {}\n", here.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_number_on_both_sides() {
        let dir = Path::new("/mnt/large");
        assert_eq!(one(true, dir, 0), "put /mnt/large/0 0\n");
        assert_eq!(one(false, dir, 3), "get 3 /mnt/large/3\n");
    }
}
