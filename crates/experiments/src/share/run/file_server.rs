//! The interface of file servers and their clients, for all protocols.

use std::{
    fs::OpenOptions,
    io::Write,
    net::IpAddr,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use super::sandbox::{Sandbox, failed};
use crate::{
    record::PRIVATE,
    run::RunError,
    share::Protection,
    tools::{Output, Query},
};

/// Timeout of a server's start and of its end.
pub(super) const BEGINS: Duration = Duration::from_secs(60);
/// Name of the server's directory on tmpfs.
pub(super) const MEMORY: &str = "memory";

/// Where the server listens besides the loopback address.
pub(super) struct Serves {
    pub at: String,
    /// The only client address that is allowed; `None` in a network namespace.
    pub to: Option<IpAddr>,
    pub port: u16,
}

/// Address, directory and options of a client.
pub(super) struct Access<'a> {
    pub address: &'a str,
    pub port: u16,
    /// Directory below the server's root.
    pub dir: &'a str,
    pub protection: Option<Protection>,
    /// Directory of the client's files; empty on another machine, where it is the current directory.
    pub room: &'a str,
    /// Timeout of each answer of the server.
    pub patience: Duration,
}

impl Access<'_> {
    /// Path of a file of the client, as its programs see it.
    pub fn file(&self, name: &str) -> PathBuf {
        Path::new(self.room).join(name)
    }
}

pub(super) trait FileServer {
    /// The server program, which serves until its standard input ends.
    fn serve(&self) -> Query;

    /// A client that waits for commands on its standard input, one line at a time, until that ends. It answers `pwd` by a mark, and knows
    /// `put HERE THERE` and `get THERE HERE`.
    fn client(&self, access: &Access<'_>) -> Query;

    /// Names of files that client programs need, such as keys.
    fn client_files(&self) -> &[&str];

    fn is_mark(&self, line: &str) -> bool;

    /// Commands that put or get all files of a directory.
    fn all(&self, puts: bool, dir: &str) -> String;

    /// Why the server has ended, from its output and its log.
    fn end_reason(&self, server: &Sandbox, said: &Output) -> String;
}

/// A new file that only its owner may read.
pub(super) fn write(path: &Path, text: &str) -> Result<(), RunError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|e| failed(&format!("{}: {e}", path.display())))
}
