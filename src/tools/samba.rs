//! smbd, pdbedit, smbclient and smbstatus: a server of our own, and its client.

use std::{path::Path, time::Duration};

use serde_json::Value;

use super::{Output, Query, Tool};

const WITHOUT_SERVER: &str = "without it, nothing can be shared";
pub const SMBD: Tool = Tool { name: "smbd", package: "samba", without: WITHOUT_SERVER };
const SMBSTATUS: Tool =
    Tool { name: "smbstatus", package: "samba", without: "without it, what was negotiated is not known" };
pub const PDBEDIT: Tool = Tool { name: "pdbedit", package: "samba", without: WITHOUT_SERVER };
pub const SMBCLIENT: Tool =
    Tool { name: "smbclient", package: "smbclient", without: "without it, no client can be measured" };
/// It runs smbclient, whose lines else come all at its end.
const STDBUF: Tool =
    Tool { name: "stdbuf", package: "coreutils", without: "without it, no client can be measured" };

/// A large file over a slow link.
const LIMIT: Duration = Duration::from_secs(3600);

/// Serves in the foreground. It ends all of its process group when it is told to end.
pub fn serve(config: &str) -> Query {
    Query::new(SMBD, ["--foreground", "--no-process-group", "--configfile", config])
}

/// Its version: `Version 4.17.12-Debian`.
pub fn version() -> Query {
    Query::new(SMBD, ["--version"])
}

/// A share as a client sees it.
#[derive(Debug)]
pub struct Mounted<'a> {
    /// `//ADDRESS/NAME`.
    pub share: String,
    pub port: u16,
    /// The file with user and password.
    pub login: &'a Path,
    /// What it insists on: `sign`, `encrypt` or `off`.
    pub protection: &'a str,
}

impl Mounted<'_> {
    /// Commands of the client. The line that [`is_mark`] knows comes before them and after them.
    pub fn client(&self, commands: &str) -> Query {
        let commands = format!("pwd; {commands}; pwd");
        let all = self.args().into_iter().chain(["--command".to_owned(), commands]);
        Query::new(STDBUF, all).within(LIMIT)
    }

    /// The client that waits for commands on its standard input.
    pub fn client_that_stays(&self) -> Query {
        Query::new(STDBUF, self.args())
    }

    fn args(&self) -> Vec<String> {
        [
            "--output=L",
            SMBCLIENT.name,
            &self.share,
            "--port",
            &self.port.to_string(),
            "--authentication-file",
            &self.login.to_string_lossy(),
            &format!("--client-protection={}", self.protection),
        ]
        .map(str::to_owned)
        .to_vec()
    }
}

/// The answer to `pwd`.
pub fn is_mark(line: &str) -> bool {
    line.contains("Current directory is")
}

/// Adds a user, whose password is read twice from standard input.
pub fn add_user(config: &str, user: &str) -> Query {
    Query::new(PDBEDIT, ["--configfile", config, "--create", "--password-from-stdin", "--user", user])
}

/// Connections of the server, as JSON.
pub fn connections(config: &str) -> Query {
    Query::new(SMBSTATUS, ["--configfile", config, "--json"])
}

/// Dialect, signing and encryption of the first connection.
pub fn negotiated(output: &Output) -> Option<[String; 3]> {
    let status: Value = serde_json::from_str(&output.stdout).ok()?;
    let session = status.get("sessions")?.as_object()?.values().next()?;
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let cipher = |what: &str| match [&session[what]["cipher"], &session[what]["degree"]].map(text) {
        [cipher, _] if matches!(cipher.as_str(), "" | "-") => "none".to_owned(),
        [cipher, degree] => [cipher, degree].join(", "),
    };
    Some([text(&session["session_dialect"]), cipher("signing"), cipher("encryption")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        let login = Path::new("/mnt/login");
        let share = "//192.0.2.1/drive".to_owned();
        let mounted = Mounted { share, port: 4450, login, protection: "sign" };
        assert_eq!(
            mounted.client("put 0").to_string(),
            "stdbuf --output=L smbclient //192.0.2.1/drive --port 4450 --authentication-file /mnt/login \
             --client-protection=sign --command 'pwd; put 0; pwd'"
        );
        assert!(
            is_mark(r"Current directory is \\192.0.2.1\drive\")
                && !is_mark("NT_STATUS_OBJECT_NAME_NOT_FOUND")
        );
        assert_eq!(connections("/mnt/conf").to_string(), "smbstatus --configfile /mnt/conf --json");
    }

    /// Shortened from what Samba 4.17.12 said.
    #[test]
    fn what_was_negotiated_is_read() {
        let text = r#"{"version": "4.17.12-Debian", "sessions": {"741898554": {"session_id": "741898554", "username": "root",
            "session_dialect": "SMB3_11", "encryption": {"cipher": "-", "degree": "none"},
            "signing": {"cipher": "AES-128-GMAC", "degree": "partial"}}}, "tcons": {}}"#;
        let output = |stdout: &str| Output { code: Some(0), stdout: stdout.to_owned(), ..Output::default() };
        let agreed = negotiated(&output(text)).expect("a session");
        assert_eq!(agreed, ["SMB3_11", "AES-128-GMAC, partial", "none"]);
        for nothing in ["", "{}", r#"{"sessions": {}}"#, r#"{"sessions": []}"#] {
            assert_eq!(negotiated(&output(nothing)), None);
        }
    }
}
