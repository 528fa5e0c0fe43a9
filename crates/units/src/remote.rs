//! A directory on another machine.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::hides;

/// A directory on another machine, as `ssh://[USER@]HOST[:PORT]/DIR`. Nothing in it is an option of `ssh` or an order to a shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RemoteDir {
    user: Option<String>,
    host: String,
    port: Option<u16>,
    dir: String,
}

impl RemoteDir {
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// A name or an address; one of IPv6 without its brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Absolute, and the same between single quotes in any shell.
    pub fn dir(&self) -> &str {
        &self.dir
    }
}

impl FromStr for RemoteDir {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shape = || "write it as ssh://[USER@]HOST[:PORT]/DIR".to_owned();
        let (at, dir) =
            text.strip_prefix("ssh://").and_then(|rest| rest.split_once('/')).ok_or_else(shape)?;
        let dir = dir.trim_end_matches('/');
        if dir.is_empty() {
            return Err(shape());
        }
        // Shells other than POSIX's read some of them between single quotes, too.
        if dir.contains(|c| hides(c) || "'\\!".contains(c)) {
            return Err("its directory has control characters, or one of ' \\ !".to_owned());
        }
        let (user, at) = at.rsplit_once('@').map_or((None, at), |(user, at)| (Some(user), at));
        let (host, port) = match at.strip_prefix('[').and_then(|at| at.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or_else(shape)?)),
            None => at.split_once(':').map_or((at, None), |(host, port)| (host, Some(port))),
        };
        let is_address = at.starts_with('[');
        let fits = |text: &str, others: &str| {
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
            !text.is_empty() && !text.starts_with('-') && text.chars().all(is_allowed)
        };
        if !fits(host, if is_address { ":." } else { "-._" }) {
            return Err("its host is not the name or the address of a machine".to_owned());
        }
        if user.is_some_and(|user| !fits(user, "-._+@")) {
            return Err("its user is not the name of a user".to_owned());
        }
        let port = port.map(|port| match port.parse() {
            Ok(port @ 1_u16..) => Ok(port),
            _ => Err("its port is not a number from 1 to 65535".to_owned()),
        });
        let port = port.transpose()?;
        Ok(Self { user: user.map(str::to_owned), host: host.to_owned(), port, dir: format!("/{dir}") })
    }
}

impl fmt::Display for RemoteDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, host, port, dir } = self;
        let user = user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        write!(f, "ssh://{user}{host}{port}{dir}")
    }
}

impl TryFrom<String> for RemoteDir {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<RemoteDir> for String {
    fn from(dir: RemoteDir) -> Self {
        dir.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_back() {
        for text in [
            "ssh://nas/srv/ledgers",
            "ssh://pi@192.168.1.7:2222/home/pi/a b",
            "ssh://[fe80::1]:22/srv",
            "ssh://a@example.org@nas.local/~/$HOME",
        ] {
            let dir: RemoteDir = text.parse().expect(text);
            assert_eq!(dir.to_string(), text);
            let json = serde_json::to_string(&dir).expect("JSON");
            assert_eq!(
                (json.as_str(), serde_json::from_str(&json).ok()),
                (&*format!("\"{text}\""), Some(dir))
            );
        }
        let dir: RemoteDir = "ssh://pi@[::1]:2222/a/".parse().expect("reads");
        assert_eq!((dir.user(), dir.host(), dir.port(), dir.dir()), (Some("pi"), "::1", Some(2222), "/a"));
    }

    #[test]
    fn nothing_in_it_is_an_option_or_an_order() {
        for (text, why) in [
            ("/srv/ledgers", "write it as"),
            ("ssh://nas", "write it as"),
            ("ssh://nas/", "write it as"),
            ("ssh://nas//", "write it as"),
            ("ssh://[::1]2222/a", "write it as"),
            ("ssh://-oProxyCommand=reboot/a", "its host"),
            ("ssh://pi@-v/a", "its host"),
            ("ssh:///a", "its host"),
            ("ssh://na s/a", "its host"),
            ("ssh://nas\n/a", "its host"),
            ("ssh://$(reboot)/a", "its host"),
            ("ssh://[nas/a", "its host"),
            ("ssh://[-v]/a", "its host"),
            ("ssh://-l@nas/a", "its user"),
            ("ssh://@nas/a", "its user"),
            ("ssh://a b@nas/a", "its user"),
            ("ssh://::1/a", "its host"),
            ("ssh://nas:0/a", "its port"),
            ("ssh://nas:/a", "its port"),
            ("ssh://nas:65536/a", "its port"),
            ("ssh://nas/a'b", "its directory"),
            ("ssh://nas/a\\b", "its directory"),
            ("ssh://nas/a!b", "its directory"),
            ("ssh://nas/a\nb", "its directory"),
            ("ssh://nas/a\u{202e}b", "its directory"),
        ] {
            let refused = text.parse::<RemoteDir>().expect_err(text);
            assert!(refused.starts_with(why), "{text}: {refused}");
            serde_json::from_value::<RemoteDir>(text.into()).expect_err(text);
        }
    }
}
