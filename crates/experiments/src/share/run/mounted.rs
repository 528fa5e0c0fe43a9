//! A mount of the share by a client, with an empty page cache.

use std::path::PathBuf;

use super::sandbox::{MOUNTED, Sandbox, succeeded};
use crate::run::RunError;
use crate::tools::{Query, System, namespace::within};

/// The mount point, as client programs see it.
pub(super) fn at(client: &Sandbox) -> PathBuf {
    client.room.join(MOUNTED)
}

/// A mounted share, unmounted on drop.
pub(super) struct Mounted<'a> {
    client: &'a Sandbox,
    /// Commands that unmount, after success and after an error.
    unmount: Option<[Query; 2]>,
    tools: &'a System,
}

impl<'a> Mounted<'a> {
    /// Mounts the share from the network namespace of a process.
    pub fn mount(
        client: &'a Sandbox,
        network: u32,
        (mount, unmount): (&Query, &[Query; 2]),
        tools: &'a System,
    ) -> Result<Self, RunError> {
        let inside = |query: &Query| within(network, client.pid, query, tools);
        let unmount = [inside(&unmount[0])?, inside(&unmount[1])?];
        succeeded(&inside(mount)?, tools)?;
        Ok(Mounted { client, unmount: Some(unmount), tools })
    }

    /// The mount point, as this program sees it.
    pub fn dir(&self) -> PathBuf {
        self.client.file(MOUNTED)
    }

    pub fn unmount(mut self) -> Result<(), RunError> {
        self.unmount.take().map_or(Ok(()), |[unmount, _]| succeeded(&unmount, self.tools).map(drop))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // The error that led here is reported instead.
        if let Some([_, after_error]) = self.unmount.take() {
            let _ = succeeded(&after_error, self.tools);
        }
    }
}
