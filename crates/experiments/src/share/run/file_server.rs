//! What servers of files and their clients have in common, whatever they speak.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    net::IpAddr,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use super::apart::Apart;
use crate::{
    record::PRIVATE,
    share::{Existing, Negotiated, Protection},
    tools::{Output, Query},
};

/// How long a server may take to answer, and to end.
pub(super) const BEGINS: Duration = Duration::from_secs(60);
/// The directory of the server that is in memory.
pub(super) const MEMORY: &str = "memory";

/// Where the server listens, besides on the address of its own machine alone.
pub(super) struct Serves {
    pub at: String,
    /// All that may use it; none if nothing else is on its network.
    pub to: Option<IpAddr>,
    pub port: u16,
}

/// What a client uses.
pub(super) struct Access<'a> {
    pub address: &'a str,
    pub port: u16,
    /// Of the server, below its directory.
    pub dir: &'a str,
    pub protection: Option<Protection>,
    /// With the files of the client; none on another machine, where that is the current directory.
    pub room: Option<&'a Path>,
    /// For each answer of the server; all but the last one wait for those before.
    pub patience: Duration,
    /// It says how it is connected.
    pub tells: bool,
    /// Of another server, instead of ours.
    pub existing: Option<Other<'a>>,
}

/// A share of another server.
pub(super) struct Other<'a> {
    pub at: &'a Existing,
    /// Our directory in it.
    pub folder: String,
    /// The client has a user and a password for it.
    pub has_login: bool,
}

/// The client's file with these.
pub(super) const OTHER_LOGIN: &str = "login-existing";

impl Access<'_> {
    /// A file of the client, as its programs see it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.room.unwrap_or(Path::new("")).join(name)
    }
}

pub(super) trait FileServer {
    /// Serves until its standard input ends.
    fn serve(&self) -> Query;

    /// A client that waits for commands on its standard input, one line at a time, until that ends. It answers `pwd` by a mark, and knows
    /// `put HERE THERE` and `get THERE HERE`.
    fn client(&self, access: &Access<'_>) -> Query;

    /// Files of the client that its programs need, besides those that are moved.
    fn client_files(&self) -> &[&str];

    fn is_mark(&self, line: &str) -> bool;

    /// Commands that put or get all files of a directory.
    fn all(&self, puts: bool, dir: &str) -> String;

    /// Why the server has ended, which said this.
    fn last_words(&self, server: &Apart, said: &Output) -> String;

    /// What tells how clients are connected, asked on the server's side.
    fn looks(&self) -> Option<Query>;

    /// From what [`Self::looks`] and a client that tells said.
    fn negotiated(&self, server: &Output, client: &Output) -> Option<Negotiated>;
}

/// A new file that only its owner may read.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path)?.write_all(text.as_bytes())
}
