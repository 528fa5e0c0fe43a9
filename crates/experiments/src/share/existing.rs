//! A share that another server serves already.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::protocol::Protocol;
use crate::units::RemoteDir;

/// `smb://HOST[:PORT]/SHARE[/DIR]` or `nfs://HOST[:PORT]/DIR`. Nothing in it can act as an option of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Existing {
    pub protocol: Protocol,
    at: RemoteDir,
}

impl Existing {
    pub fn host(&self) -> &str {
        self.at.host()
    }

    pub fn port(&self) -> Option<u16> {
        self.at.port()
    }

    /// Share and path of a directory in it; NFS has only a path.
    pub fn below(&self, name: &str) -> (String, String) {
        let path = format!("{}/{name}", self.at.dir().trim_start_matches('/'));
        let share = if self.protocol == Protocol::Smb { path.split_once('/') } else { None };
        let (share, path) = share.unwrap_or(("", &path));
        (share.to_owned(), path.to_owned())
    }

    /// Whether it has no user and no address of IPv6, and nothing in its directory ends the name in mount options or leads out of it.
    pub fn is_safe(&self) -> bool {
        let dir = self.at.dir();
        self.at.user().is_none()
            && !self.at.host().contains(':')
            && !dir.contains([',', '"', ';'])
            && !dir.split('/').any(|name| matches!(name, "." | ".."))
    }
}

impl FromStr for Existing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = || {
            "write it as smb://HOST[:PORT]/SHARE[/DIR] or nfs://HOST[:PORT]/DIR, without a user (name a file with --login), an address of IPv6, . or .. or any of , \" ;".to_owned()
        };
        let (protocol, rest) = match text.split_once("://") {
            Some(("smb", rest)) => (Protocol::Smb, rest),
            Some(("nfs", rest)) => (Protocol::Nfs, rest),
            _ => return Err(shape()),
        };
        let at = format!("ssh://{rest}").parse().map_err(|_| shape())?;
        let share = Self { protocol, at };
        if share.is_safe() { Ok(share) } else { Err(shape()) }
    }
}

impl fmt::Display for Existing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.to_string();
        let scheme = if self.protocol == Protocol::Nfs { "nfs" } else { "smb" };
        write!(f, "{scheme}{}", at.trim_start_matches("ssh"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_back_and_says_where_a_directory_is() {
        for (text, share, path) in [
            ("smb://nas/data", "data", "x"),
            ("smb://192.168.1.7:4450/my data/a/b", "my data", "a/b/x"),
            ("nfs://localhost/srv/data", "", "srv/data/x"),
        ] {
            let at: Existing = text.parse().expect(text);
            assert_eq!(at.to_string(), text);
            assert_eq!(at.below("x"), (share.to_owned(), path.to_owned()));
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for text in [
            "data",
            "ssh://nas/data",
            "smb://nas",
            "smb://pi:secret@nas/data",
            "smb://pi@nas/data",
            "smb://[::1]/data",
            "smb://-o/data",
            "smb://nas/a,guest",
            "smb://nas/a'b",
            "nfs://nas/a\nb",
            "smb://nas/data/../a",
        ] {
            let refused = text.parse::<Existing>().expect_err(text);
            assert!(refused.contains("write it as") && !refused.contains("secret"), "{text}: {refused}");
        }
    }
}
