//! The kernel's NFS server on a network of our own, and the kernel's client of it.

use std::{fs, path::PathBuf};

use super::{
    super::RunError,
    apart::{Apart, OWN, failed, succeeded},
    file_server::BEGINS,
};
use crate::{
    record::Negotiated,
    sysroot::Sysroot,
    tools::{
        Query, System, Talk,
        namespace::{beside, within},
        nfs,
    },
};

/// The directory on the drive, as it is shared without `sync`.
pub(super) const ASYNC: &str = "async";
/// Where the client mounts what it uses, in its memory.
const MOUNTED: &str = "nfs";

/// From this version of Linux on, which versions of NFS are served is set for each network.
const OLDEST: (u32, u32) = (5, 2);

/// Refuses a kernel that is too old.
pub(super) fn is_recent(root: &Sysroot) -> Result<(), String> {
    let release = root.word("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(['.', '-']).map_while(|number| number.parse::<u32>().ok());
    match numbers.next().zip(numbers.next()) {
        Some(numbers) if numbers >= OLDEST => Ok(()),
        _ => Err(format!("NFS needs Linux 5.2 or later, not '{release}'")),
    }
}

pub(super) fn prepare((server, client): (&Apart, &Apart), tools: &System) -> Result<(), RunError> {
    let dirs = [server.room.clone(), server.room.join(OWN), server.room.join(ASYNC)];
    let [room, own, again] = dirs.map(|dir| dir.display().to_string());
    let furnished = server.run(&nfs::furnish(&room, &own, &again), tools);
    furnished.map_err(|e| failed(&format!("{e}; {own} is the directory that is shared")))?;
    client.run(&nfs::furnish_client(&mounted_at(client)), tools).map(drop)
}

/// Where the client has it, as its programs see it.
fn mounted_at(client: &Apart) -> String {
    client.room.join(MOUNTED).display().to_string()
}

/// Serves until it is ended, or this program ends, however it does.
pub(super) fn serve(server: &Apart, tools: &System) -> Result<Talk, RunError> {
    let mut serves = tools.talk(&beside(server.pid, &nfs::serve(), tools)?)?;
    match serves.hear(BEGINS) {
        Ok(line) if line == nfs::READY => Ok(serves),
        _ => Err(failed(&format!("the kernel's NFS server: {}", serves.end(BEGINS).complaint()))),
    }
}

/// Mounts a directory of the server for a client: nothing of it is in that one's memory.
pub(super) fn mount<'a>(
    client: &'a Apart,
    (network, address): (u32, &str),
    dir: &str,
    tools: &'a System,
) -> Result<Mounted<'a>, RunError> {
    let at = mounted_at(client);
    let inside = |query: &Query| within(network, client.pid, query, tools);
    let unmount = inside(&nfs::unmount(&at))?;
    succeeded(&inside(&nfs::mount(address, dir, &at))?, tools)?;
    Ok(Mounted { client, unmount: Some(unmount), tools })
}

/// What a client has mounted, until this is dropped.
pub(super) struct Mounted<'a> {
    client: &'a Apart,
    unmount: Option<Query>,
    tools: &'a System,
}

impl Mounted<'_> {
    /// Where it is, as this program sees it.
    pub fn dir(&self) -> PathBuf {
        self.client.file(MOUNTED)
    }

    pub fn unmount(mut self) -> Result<(), RunError> {
        self.unmount.take().map_or(Ok(()), |unmount| succeeded(&unmount, self.tools).map(drop))
    }

    /// As the kernel says. Identities are those that the client names (`sys`): nothing is protected.
    pub fn negotiated(&self) -> Option<Negotiated> {
        let mounts = fs::read_to_string(format!("/proc/{}/mounts", self.client.pid)).ok()?;
        let dialect = nfs::negotiated(&mounts, &mounted_at(self.client))?;
        let none = || "none".to_owned();
        Some(Negotiated { dialect, signing: none(), encryption: none() })
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // After an error, which is said instead.
        if let Some(unmount) = self.unmount.take() {
            let _ = succeeded(&unmount, self.tools);
        }
    }
}
