//! A share that another server serves already.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::protocol::Protocol;
use crate::units::RemoteDir;

/// `smb://HOST[:PORT]/SHARE[/DIR]` or `nfs://HOST[:PORT]/DIR`. Nothing in it can act as an option of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
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
        match self.protocol {
            Protocol::Smb => path.split_once('/').map(|(share, rest)| (share.to_owned(), rest.to_owned())),
            Protocol::Nfs | Protocol::Sftp => None,
        }
        .unwrap_or((String::new(), path))
    }
}

impl FromStr for Existing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = || "write it as smb://HOST[:PORT]/SHARE[/DIR] or nfs://HOST[:PORT]/DIR".to_owned();
        let (scheme, rest) = text.split_once("://").ok_or_else(shape)?;
        let protocol = match scheme {
            "smb" => Protocol::Smb,
            "nfs" => Protocol::Nfs,
            _ => return Err(shape()),
        };
        if rest.split('/').next().is_some_and(|host| host.contains('@')) {
            return Err("it has a user: name a file with user and password, with --login".to_owned());
        }
        let at: RemoteDir = format!("ssh://{rest}")
            .parse()
            .map_err(|e: String| if e.starts_with("write it as") { shape() } else { e })?;
        if at.host().contains(':') {
            return Err("its host is an address of IPv6: name its IPv4 address, or its name".to_owned());
        }
        // These characters would end the name in mount options.
        if at.dir().contains([',', '"', ';']) {
            return Err("its directory has one of , \" ;".to_owned());
        }
        if at.dir().split('/').any(|name| matches!(name, "." | "..")) {
            return Err("its directory has '.' or '..': write it without them".to_owned());
        }
        Ok(Self { protocol, at })
    }
}

impl fmt::Display for Existing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.to_string();
        let scheme = if self.protocol == Protocol::Nfs { "nfs" } else { "smb" };
        write!(f, "{scheme}{}", at.trim_start_matches("ssh"))
    }
}

impl TryFrom<String> for Existing {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Existing> for String {
    fn from(share: Existing) -> Self {
        share.to_string()
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
        for (text, why) in [
            ("data", "write it as"),
            ("ssh://nas/data", "write it as"),
            ("smb://nas", "write it as"),
            ("smb://pi:secret@nas/data", "it has a user"),
            ("smb://pi@nas/data", "it has a user"),
            ("smb://[::1]/data", "IPv6"),
            ("smb://-o/data", "its host"),
            ("smb://nas/a,guest", "its directory"),
            ("smb://nas/a'b", "its directory"),
            ("nfs://nas/a\nb", "its directory"),
            ("smb://nas/data/../a", "its directory"),
        ] {
            let refused = text.parse::<Existing>().expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
