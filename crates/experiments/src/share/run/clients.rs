//! Clients of a share: their connections and the commands that they run.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use super::{
    file_server::{BEGINS, FileServer},
    files::{GOT, Stop},
    nfs::Mounted,
    sandbox::failed,
    setup::{ANSWERS, Setup, set_name},
};
use crate::{
    engine::Cancel,
    run::RunError,
    share::{Route, TransferKind},
    tools::{Query, Talk},
};

/// Exit timeout of a client.
const ENDS: Duration = Duration::from_secs(1);

/// A transfer that has ended.
pub(super) struct Moved {
    pub begins: Instant,
    /// When the last client had finished.
    pub ends: Instant,
    /// Output of the clients.
    pub output: String,
}

impl Setup {
    /// Runs client programs that put or get files.
    pub fn run_client_commands(
        &self,
        server: &dyn FileServer,
        (kind, route): (TransferKind, Route),
        cancel: &Cancel,
    ) -> Result<Moved, RunError> {
        // As those programs see it.
        let room = if self.remote(route).is_some() { Path::new("") } else { &self.client.room };
        let dir = room.join(if kind.puts() { set_name(kind) } else { GOT });
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
