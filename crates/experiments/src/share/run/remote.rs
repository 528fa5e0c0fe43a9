//! A client on another machine, by ssh. Its directory there is removed when the connection ends.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, TcpListener},
    time::{Duration, Instant},
};

use super::{
    files::{DIRS, Differs, Stop},
    sandbox::{Sandbox, failed},
};
use crate::{
    engine::Cancel,
    record::caller,
    run::RunError,
    share::Protocol,
    tools::{Output, Query, Runner, System, Talk, openssh, samba, ssh},
    units::RemoteDir,
};

/// Timeout of the other machine's answer, and of removing its files.
const BEGINS: Duration = Duration::from_secs(60);
/// Exit timeout of ssh after its last line.
const ENDS: Duration = Duration::from_secs(5);
/// Timeout of comparing files there.
const READS: Duration = Duration::from_secs(3600);

pub(super) struct Remote {
    at: RemoteDir,
    /// Name of the client's directory below `at`.
    name: String,
    keeps: Talk,
    /// Address of this machine as the other one sees it, and address of the other one; unspecified if nothing is served to it.
    pub addresses: [IpAddr; 2],
    /// Version of fio, if that serves there.
    pub fio: String,
    /// Type, source and options of the directory's filesystem.
    pub mount: String,
}

impl Remote {
    /// Connects and makes a directory for the client's files.
    pub fn start(
        at: &RemoteDir,
        name: &str,
        protocol: Protocol,
        tools: &System,
        cancel: &Cancel,
    ) -> Result<Self, RunError> {
        let name = format!("drivebench-{name}");
        let needs = if protocol == Protocol::Sftp { &openssh::CLIENT } else { &samba::CLIENT };
        let query = ssh::client(at, &name, &DIRS, needs);
        let (mut remote, connection) = Self::connect(at, name, &query, tools, cancel)?;
        let refused = |why: String| failed(&format!("the client on {}: {why}", at.host()));
        remote.addresses = addresses(&connection).map_err(refused)?;
        Ok(remote)
    }

    /// Connects by one of the queries of a client; also returns sshd's description of the connection.
    pub fn connect(
        at: &RemoteDir,
        name: String,
        query: &Query,
        tools: &System,
        cancel: &Cancel,
    ) -> Result<(Self, String), RunError> {
        let mut keeps = tools.talk(query)?;
        let since = Instant::now();
        let stop = || cancel.is_set() || since.elapsed() > BEGINS;
        let mut next = || keeps.next_line(&stop);
        while next().is_some_and(|line| line != ssh::READY) {}
        let (Some(connection), Some(fio), Some(mount)) = (next(), next(), next()) else {
            let said = keeps.end(if stop() { Duration::ZERO } else { ENDS });
            return Err(client_error(at, &said));
        };
        let addresses = [IpAddr::V4(Ipv4Addr::UNSPECIFIED); 2];
        Ok((Self { at: at.clone(), name, keeps, addresses, fio, mount }, connection))
    }

    /// Lines with the counters of that machine now.
    pub fn counters(&mut self, stop: Stop<'_>) -> Result<Vec<String>, RunError> {
        // If the program has ended, its output says why.
        let _ = self.keeps.say("\n");
        let since = Instant::now();
        let stop = || stop() || since.elapsed() > BEGINS;
        let mut lines = Vec::new();
        while let Some(line) = self.keeps.next_line(&stop) {
            if line == ssh::READY {
                return Ok(lines);
            }
            lines.push(line);
        }
        Err(client_error(&self.at, &self.keeps.end(Duration::ZERO)))
    }

    pub fn host(&self) -> &str {
        self.at.host()
    }

    /// A command that runs in the client's directory.
    pub fn in_dir(&self, program: &Query) -> Query {
        ssh::in_dir(&self.at, &self.name, program)
    }

    /// Sends a file to the client's directory.
    pub fn send_file(&self, client: &Sandbox, file: &str, tools: &System) -> Result<(), RunError> {
        let text = fs::read_to_string(client.file(file));
        let text = text.map_err(|e| failed(&format!("{file} of the client: {e}")))?;
        let mut gives = tools.talk(&ssh::give(&self.at, &self.name, file))?;
        // If the program has ended, its output says why.
        let _ = gives.say(&text);
        let said = gives.end(BEGINS);
        if said.code == Some(0) { Ok(()) } else { Err(client_error(&self.at, &said)) }
    }

    /// Removes all files of one directory there.
    pub fn clear(&self, dir: &str, tools: &System, stop: Stop<'_>) -> Result<(), RunError> {
        let said = tools.stream(&ssh::clear(&self.at, &self.name, dir), stop, &mut |_| ())?;
        if said.code == Some(0) { Ok(()) } else { Err(client_error(&self.at, &said)) }
    }

    /// How files in two directories there differ: by length, and if `read` by their bytes.
    pub fn differs(
        &self,
        dirs: [&str; 2],
        read: bool,
        tools: &System,
        stop: Stop<'_>,
    ) -> Result<Option<Differs>, RunError> {
        let query = ssh::compare(&self.at, &self.name, dirs, read).within(READS);
        let said = tools.stream(&query, stop, &mut |_| ())?;
        match said.code {
            Some(0) => Ok(None),
            Some(ssh::OTHER_LENGTHS) => Ok(Some(Differs::Length)),
            Some(ssh::OTHER_BYTES) => Ok(Some(Differs::Bytes)),
            _ => Err(client_error(&self.at, &said)),
        }
    }
}

/// The error of a client whose ssh has ended with this output.
fn client_error(at: &RemoteDir, said: &Output) -> RunError {
    failed(&format!("the client on {}: {}", at.host(), ssh::failure(at, said, caller().is_some())))
}

impl Drop for Remote {
    fn drop(&mut self) {
        // Its directory is removed when its input ends.
        self.keeps.end(BEGINS);
    }
}

/// Both addresses from SSH_CONNECTION: address and port of this machine, then of the other one.
fn addresses(connection: &str) -> Result<[IpAddr; 2], String> {
    let words: Vec<&str> = connection.split_ascii_whitespace().collect();
    let parsed = match words[..] {
        [ours, _, theirs, _] => ours.parse().ok().zip(theirs.parse().ok()),
        _ => None,
    };
    let (ours, theirs): (IpAddr, IpAddr) = parsed.ok_or_else(|| {
        "its ssh reports no address of this machine, or a link-local one: name its IPv4 address".to_owned()
    })?;
    if ours == theirs {
        return Err("it is this machine: leave out --client".to_owned());
    }
    // Through an ssh forwarder the client could not reach the server.
    match is_own(ours) {
        true => Ok([ours, theirs]),
        false => Err(format!(
            "it sees this machine as {ours}, which is not its address: the client must reach it directly, without another machine between them"
        )),
    }
}

/// Whether this machine has this address.
pub(super) fn is_own(address: IpAddr) -> bool {
    !address.is_unspecified() && !address.is_multicast() && TcpListener::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_connection() {
        let [local, other] =
            ["127.0.0.1", "192.0.2.7"].map(|text| text.parse::<IpAddr>().expect("an address"));
        assert_eq!(addresses("127.0.0.1 40000 192.0.2.7 22"), Ok([local, other]));
        let said = |connection: &str| addresses(connection).expect_err("refused");
        assert!(said("127.0.0.1 40000 127.0.0.1 22").contains("it is this machine"));
        assert!(said("192.0.2.9 40000 192.0.2.7 22").contains("which is not its address"));
        for strange in ["", "a b c d", "127.0.0.1 1 192.0.2.7", "fe80::1%eth0 1 fe80::2%eth0 22"] {
            assert!(said(strange).contains("its ssh reports no address"), "{strange}");
        }
    }
}
