//! What clients are told to move, and how they are connected.

use std::{
    path::Path,
    process, thread,
    time::{Duration, Instant},
};

use super::{
    apart::failed,
    errands::{self, Stop},
    file_server::{BEGINS, FileServer},
    mounted::{self, Mounted},
    nfs,
    site::{ANSWERS, POLL, Site, Speaks},
};
use crate::{
    engine::Cancel,
    run::RunError,
    share::{Errand, Negotiated, Via},
    tools::{Output, Query, Talk, ToolError, namespace, samba},
};

/// How long a client that has said its last words may take to end.
const ENDS: Duration = Duration::from_secs(1);

/// What clients did.
pub(super) struct Moved<'a> {
    pub begins: Instant,
    /// The last of them was done.
    pub ends: Instant,
    /// What they said.
    pub said: String,
    /// What they still have mounted.
    pub mounted: Option<Mounted<'a>>,
}

impl Site {
    /// Programs that are told what to move, with their files in a directory as they see it.
    pub fn told(
        &self,
        server: &dyn FileServer,
        (errand, via): (Errand, Via),
        dir: &Path,
        cancel: &Cancel,
    ) -> Result<Moved<'_>, RunError> {
        let puts = errand.puts();
        let commands: Vec<String> = match errand.is_small() {
            true => vec![server.all(puts, &dir.to_string_lossy())],
            false => (0..self.act.set(errand).0).map(|number| one(puts, dir, number)).collect(),
        };
        self.tell(server, (errand, via), &commands, cancel)
    }

    /// This program, where the directory of the server was just mounted.
    pub fn mounted(
        &self,
        (errand, via): (Errand, Via),
        dir: &Path,
        stop: Stop<'_>,
    ) -> Result<Moved<'_>, RunError> {
        let mounted = self.mount(via)?;
        let there = mounted.dir();
        let (from, to) = if errand.puts() { (dir, there.as_path()) } else { (there.as_path(), dir) };
        let (files, at_once) = (self.act.set(errand).0, errand.has_several_clients());
        let begins = Instant::now();
        // Closing a file writes what is left of it, and says nothing if that fails: by NFS it is synced before; of SMB that would store it, too, and
        // syncing the filesystem tells (Linux 5.8).
        let to_its_end = errand.puts() && matches!(self.speaks, Speaks::Nfs);
        errands::put(from, to, files, (at_once, to_its_end), stop)
            .map_err(|e| self.cannot((errand, via), &e))?;
        Ok(Moved { begins, ends: Instant::now(), said: String::new(), mounted: Some(mounted) })
    }

    pub fn mount(&self, via: Via) -> Result<Mounted<'_>, RunError> {
        let (network, address) = self.place(via);
        let access = self.access(via, &address);
        let dir = mounted::at(&self.client);
        let (mount, unmount) = match &self.speaks {
            Speaks::Cifs(smb) => {
                let unmount = [false, true].map(|failed| samba::unmount(&dir, process::id(), failed));
                (smb.mount(&self.client, &access), unmount)
            }
            Speaks::Nfs => {
                (nfs::mount(&self.client, &access), [namespace::unmount(&dir), namespace::unmount(&dir)])
            }
            Speaks::Told(_) => return Err(failed("what is told what to move mounts nothing")),
        };
        Mounted::mount(&self.client, network, (&mount, &unmount), &self.tools).map_err(|e| match e {
            RunError::Tool(ToolError::Slow { seconds, .. }) => failed(&format!(
                "the server did not answer a client that mounts its directory within {seconds} s"
            )),
            e => e,
        })
    }

    /// Some kernels keep the connection until a second later: with that, the next client would be told to wait.
    pub fn unmount(&self, mounted: Mounted<'_>, via: Via) -> Result<(), RunError> {
        mounted.unmount()?;
        let smb = match &self.speaks {
            Speaks::Cifs(smb) if via != Via::Existing => smb,
            _ => return Ok(()),
        };
        let since = Instant::now();
        while smb.has_clients(&self.server, &self.tools)? {
            if since.elapsed() > BEGINS {
                return Err(failed("the connection of a client that has unmounted the share does not end"));
            }
            thread::sleep(POLL);
        }
        Ok(())
    }

    /// A client for each of these commands. All are connected before any begins.
    pub fn tell(
        &self,
        server: &dyn FileServer,
        (errand, via): (Errand, Via),
        commands: &[String],
        cancel: &Cancel,
    ) -> Result<Moved<'_>, RunError> {
        let longest = self.longest(errand);
        let query = self.client(server, via, longest, false)?;
        let called = self.called(via, &query);
        let gone = |_| failed(&format!("{called} has ended, or does not answer"));
        let connected = commands.iter().map(|_| self.connected(server, &query, &called, &|| cancel.is_set()));
        let mut all: Vec<Talk> = connected.collect::<Result<_, _>>()?;
        let begins = Instant::now();
        for (client, commands) in all.iter_mut().zip(commands) {
            client.say(&format!("{commands}pwd\n")).map_err(gone)?;
            client.says_no_more();
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
        Ok(Moved { begins, ends, said, mounted: None })
    }

    /// A client that waits for commands: it is connected once it answers.
    pub fn connected(
        &self,
        server: &dyn FileServer,
        query: &Query,
        called: &str,
        stop: Stop<'_>,
    ) -> Result<Talk, RunError> {
        let mut client = self.tools.talk(query)?;
        // If it has ended, it does not answer.
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
            // It was ended here.
            true if is_late => format!("no answer within {} s", BEGINS.as_secs()),
            // smbclient says on its standard output why it ends.
            true if !last.is_empty() => last,
            _ => said.complaint(),
        };
        Err(failed(&format!("{called} failed: {why}")))
    }

    /// What server and client say of a connection.
    pub fn negotiated(&self) -> Option<Negotiated> {
        let looks = |server: &dyn FileServer| {
            let looks = server.looks().map(|query| self.server.run(&query, &self.tools)).transpose();
            looks.map(Option::unwrap_or_default)
        };
        let server = match &self.speaks {
            Speaks::Told(server) => server.as_ref(),
            Speaks::Cifs(smb) => {
                let mounted = self.mount(Via::Whole).ok()?;
                let said = looks(smb);
                self.unmount(mounted, Via::Whole).ok()?;
                return smb.negotiated(&said.ok()?, &Output::default());
            }
            Speaks::Nfs => {
                let _mounted = self.mount(Via::Whole).ok()?;
                return nfs::negotiated(&self.client);
            }
        };
        let query = self.client(server, Via::Whole, ANSWERS, true).ok()?;
        let mut client = self.connected(server, &query, "", &|| false).ok()?;
        let looks = looks(server);
        let client = client.end(ANSWERS);
        server.negotiated(&looks.ok()?, &client)
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
