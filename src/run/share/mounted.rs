//! What a client has mounted of a server: nothing of it was in the client's memory before.

use std::path::PathBuf;

use super::{
    super::RunError,
    apart::{Apart, MOUNTED, succeeded},
};
use crate::tools::{Query, System, namespace::within};

/// Where clients mount what they use, as their programs see it.
pub(super) fn at(client: &Apart) -> PathBuf {
    client.room.join(MOUNTED)
}

/// Mounted until this is dropped.
pub(super) struct Mounted<'a> {
    client: &'a Apart,
    unmount: Option<Query>,
    tools: &'a System,
}

impl<'a> Mounted<'a> {
    /// From the network of a process.
    pub fn mount(
        client: &'a Apart,
        network: u32,
        (mount, unmount): (&Query, &Query),
        tools: &'a System,
    ) -> Result<Self, RunError> {
        let inside = |query: &Query| within(network, client.pid, query, tools);
        let unmount = inside(unmount)?;
        succeeded(&inside(mount)?, tools)?;
        Ok(Mounted { client, unmount: Some(unmount), tools })
    }

    /// Where it is, as this program sees it.
    pub fn dir(&self) -> PathBuf {
        self.client.file(MOUNTED)
    }

    pub fn unmount(mut self) -> Result<(), RunError> {
        self.unmount.take().map_or(Ok(()), |unmount| succeeded(&unmount, self.tools).map(drop))
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
