//! What clients got from a share.

use serde::{Deserialize, Serialize};

use super::{Errand, Via};
use crate::{
    conditions::Core,
    record::{MOST, Observation, lasts},
    units::{FASTEST, is_zero},
};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shared {
    /// Such as `Samba 4.17.12-Debian`.
    pub server: String,
    /// As the server says of a client's connection.
    pub negotiated: Option<Negotiated>,
    /// Why it was not measured what the network alone carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_network: Option<String>,
    /// The port of this machine behind which the client's machine is, such as `eth0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_port: Option<String>,
    pub loads: Vec<ShareLoad>,
}

/// What client and server agreed upon.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Negotiated {
    /// Such as `SMB3_11`.
    pub dialect: String,
    /// Such as `AES-128-GMAC, partial`, which is only of the messages that open a session.
    pub signing: String,
    pub encryption: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShareLoad {
    pub errand: Errand,
    pub via: Via,
    /// The repetition, from 1 on.
    pub run: u32,
    pub bytes: u64,
    /// Until all is on the drive, or has been read.
    pub seconds: f64,
    /// The processors of the machine meanwhile: of server and client, where both are on one.
    #[serde(default)]
    pub cores: Vec<Core>,
    /// For how long this program did not run meanwhile, ns: such a load is left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suspended_ns: u64,
}

impl ShareLoad {
    /// Bytes per second.
    pub fn speed(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }
}

impl Shared {
    /// Together with what a later step found out.
    pub fn and(mut self, later: &Self) -> Self {
        self.loads.extend(later.loads.iter().cloned());
        let words = |own: &mut Option<String>, later: &Option<String>| *own = own.take().or(later.clone());
        words(&mut self.no_network, &later.no_network);
        words(&mut self.network_port, &later.network_port);
        self.negotiated = self.negotiated.or(later.negotiated.clone());
        if self.server.is_empty() {
            self.server.clone_from(&later.server);
        }
        self
    }

    /// What was moved so, without what took longer because this program did not run.
    pub fn undisturbed(&self, errand: Errand, via: Via) -> impl Iterator<Item = &ShareLoad> {
        let own = self.loads.iter().filter(move |load| (load.errand, load.via) == (errand, via));
        own.filter(|load| load.suspended_ns == 0)
    }
}

#[typetag::serde(name = "shared")]
impl Observation for Shared {
    fn fits(&self) -> bool {
        let fits = |load: &ShareLoad| load.speed() < FASTEST;
        self.loads
            .iter()
            .all(|load| load.seconds > 0.0 && lasts(load.seconds) && load.bytes < MOST && fits(load))
    }
}
