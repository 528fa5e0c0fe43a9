//! The kernel's NFS server on a network of our own, and the kernel's client of it.

use std::path::PathBuf;

use super::{
    file_server::{Access, BEGINS},
    sandbox::{MOUNTED, OWN, ROOM, Sandbox, failed, succeeded},
};
use crate::{
    run::RunError,
    tools::{
        Query, System, Talk,
        namespace::{self, beside, within},
        nfs,
    },
};

/// Name of the second export of the directory, without `sync`.
pub(super) const ASYNC: &str = "async";

pub(super) fn prepare((server, client): (&Sandbox, &Sandbox), tools: &System) -> Result<(), RunError> {
    let [own, again] = [OWN, ASYNC].map(|dir| format!("{ROOM}/{dir}"));
    let furnished = server.run(&nfs::furnish(ROOM, &own, &again), tools);
    furnished.map_err(|e| failed(&format!("{e}; {own} is the directory that is shared")))?;
    client.run(&nfs::furnish_client(&Sandbox::inside(MOUNTED)), tools).map(drop)
}

/// Starts the server, which ends with this program, however it ends.
pub(super) fn serve(server: &Sandbox, tools: &System) -> Result<Talk, RunError> {
    let mut serves = tools.talk(&beside(server.pid, &nfs::serve(), tools)?)?;
    match serves.hear(BEGINS) {
        Ok(line) if line == nfs::READY => Ok(serves),
        _ => Err(failed(&format!("the kernel's NFS server: {}", serves.end(BEGINS).complaint()))),
    }
}

/// A share that a client has mounted with an empty page cache, unmounted on drop.
pub(super) struct Mounted<'a> {
    client: &'a Sandbox,
    unmount: Option<Query>,
    tools: &'a System,
}

impl<'a> Mounted<'a> {
    /// Mounts a directory of the server from the network namespace of a process.
    pub fn mount(
        client: &'a Sandbox,
        network: u32,
        access: &Access<'_>,
        tools: &'a System,
    ) -> Result<Self, RunError> {
        let at = Sandbox::inside(MOUNTED);
        let mount = nfs::mount((access.address, access.port), access.dir, &at);
        let inside = |query: &Query| within(network, client.pid, query, tools);
        let unmount = inside(&namespace::unmount(&at))?;
        succeeded(&inside(&mount)?, tools)?;
        Ok(Mounted { client, unmount: Some(unmount), tools })
    }

    /// The mount point, as this program sees it.
    pub fn dir(&self) -> PathBuf {
        self.client.file(MOUNTED)
    }

    pub fn unmount(mut self) -> Result<(), RunError> {
        self.unmount.take().map_or(Ok(()), |unmount| succeeded(&unmount, self.tools).map(drop))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // The error that led here is reported instead.
        if let Some(unmount) = self.unmount.take() {
            let _ = succeeded(&unmount, self.tools);
        }
    }
}
