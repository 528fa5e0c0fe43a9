//! smbd, pdbedit, smbclient and smbstatus: a server of our own, and its client.

use std::{ffi::OsStr, path::Path, time::Duration};

use serde_json::Value;

use super::{Output, Query, Tool};

const WITHOUT_SERVER: &str = "without it, nothing can be shared";
pub const SMBD: Tool = Tool { name: "smbd", package: "samba", without: WITHOUT_SERVER };
pub const SMBSTATUS: Tool =
    Tool { name: "smbstatus", package: "samba", without: "without it, what was negotiated is not known" };
pub const PDBEDIT: Tool = Tool { name: "pdbedit", package: "samba", without: WITHOUT_SERVER };
pub const SMBCLIENT: Tool =
    Tool { name: "smbclient", package: "smbclient", without: "without it, no client can be measured" };
/// It runs smbclient, whose lines else come all at its end.
pub const STDBUF: Tool =
    Tool { name: "stdbuf", package: "coreutils", without: "without it, no client can be measured" };

/// All that are needed.
pub const TOOLS: [Tool; 5] = [SMBD, SMBSTATUS, PDBEDIT, SMBCLIENT, STDBUF];

/// Serves in the foreground, until its standard input ends.
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
    /// Where [`SMBCLIENT`] is.
    pub program: &'a Path,
    /// Its configuration, instead of the system's.
    pub config: &'a Path,
    /// `//ADDRESS/NAME`.
    pub share: String,
    pub port: u16,
    /// The file with user and password.
    pub login: &'a Path,
    /// What it insists on: `sign`, `encrypt` or `off`.
    pub protection: &'a str,
    /// For each answer of the server; all but the last one wait for those before.
    pub patience: Duration,
}

impl Mounted<'_> {
    /// A client that waits for commands on its standard input, one line at a time, until that ends.
    pub fn client(&self) -> Query {
        let port = self.port.to_string();
        let protection = format!("--client-protection={}", self.protection);
        let timeout = format!("--timeout={}", self.patience.as_secs());
        let args: [&OsStr; 11] = [
            "--output=L".as_ref(),
            self.program.as_ref(),
            self.share.as_ref(),
            "--configfile".as_ref(),
            self.config.as_ref(),
            "--port".as_ref(),
            port.as_ref(),
            "--authentication-file".as_ref(),
            self.login.as_ref(),
            protection.as_ref(),
            timeout.as_ref(),
        ];
        Query::new(STDBUF, args)
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

/// Major and minor number of a version such as `Version 4.17.12-Debian`.
pub fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim().strip_prefix("Version ")?.split(['.', '-']).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
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
        let share = "//192.0.2.1/drive".to_owned();
        let [program, config, login] = ["/bin/smbclient", "/mnt/conf", "/mnt/login"].map(Path::new);
        let patience = Duration::from_secs(600);
        let mounted = Mounted { program, config, share, port: 4450, login, protection: "sign", patience };
        assert_eq!(
            mounted.client().to_string(),
            "stdbuf --output=L /bin/smbclient //192.0.2.1/drive --configfile /mnt/conf --port 4450 --authentication-file /mnt/login \
             --client-protection=sign --timeout=600"
        );
        assert!(
            is_mark(r"Current directory is \\192.0.2.1\drive\")
                && !is_mark("NT_STATUS_OBJECT_NAME_NOT_FOUND")
        );
        assert_eq!(connections("/mnt/conf").to_string(), "smbstatus --configfile /mnt/conf --json");
    }

    #[test]
    fn versions_have_two_numbers() {
        let all = ["Version 4.17.12-Debian\n", "Version 4.9-rc1", "4.17", "Version x"];
        assert_eq!(all.map(numbers), [Some((4, 17)), Some((4, 9)), None, None]);
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
