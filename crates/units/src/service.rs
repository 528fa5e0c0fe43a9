//! Services of another machine that answer while it starts.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A service that answers after a start, in the usual order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Service {
    /// A ping, or a TCP connection, which may also be refused.
    Network,
    /// The banner of a server for ssh.
    Ssh,
    /// Any response of a web server.
    Http,
}

impl Service {
    pub fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Ssh => "ssh",
            Self::Http => "http",
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Service {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Network, Self::Ssh, Self::Http];
        all.into_iter().find(|one| one.name() == text).ok_or("there are network, ssh, http".to_owned())
    }
}
