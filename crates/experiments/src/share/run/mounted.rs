//! What a client has mounted of a server: nothing of it was in the client's memory before.

use std::path::PathBuf;

use super::apart::{Apart, MOUNTED, succeeded};
use crate::run::RunError;
use crate::tools::{Query, System, namespace::within};

/// Where clients mount what they use, as their programs see it.
pub(super) fn at(client: &Apart) -> PathBuf {
    client.room.join(MOUNTED)
}

/// Mounted until this is dropped.
pub(super) struct Mounted<'a> {
    client: &'a Apart,
    /// Once all went well, and after an error.
    unmount: Option<[Query; 2]>,
    tools: &'a System,
}

impl<'a> Mounted<'a> {
    /// From the network of a process.
    pub fn mount(
        client: &'a Apart,
        network: u32,
        (mount, unmount): (&Query, &[Query; 2]),
        tools: &'a System,
    ) -> Result<Self, RunError> {
        let inside = |query: &Query| within(network, client.pid, query, tools);
        let unmount = [inside(&unmount[0])?, inside(&unmount[1])?];
        succeeded(&inside(mount)?, tools)?;
        Ok(Mounted { client, unmount: Some(unmount), tools })
    }

    /// Where it is, as this program sees it.
    pub fn dir(&self) -> PathBuf {
        self.client.file(MOUNTED)
    }

    pub fn unmount(mut self) -> Result<(), RunError> {
        self.unmount.take().map_or(Ok(()), |[unmount, _]| succeeded(&unmount, &self.tools).map(drop))
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // The error is said instead of this one.
        if let Some([_, after_error]) = self.unmount.take() {
            let _ = succeeded(&after_error, &self.tools);
        }
    }
}
