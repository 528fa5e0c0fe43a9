//! smbd, pdbedit and smbclient: a server of its own, and its client.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Query, Tool};

pub const SMBD: Tool = Tool { name: "smbd", package: "samba" };
pub const PDBEDIT: Tool = Tool { name: "pdbedit", package: "samba" };
pub const SMBCLIENT: Tool = Tool { name: "smbclient", package: "smbclient" };
/// Runs smbclient with unbuffered output; without it all lines arrive at the end.
pub const STDBUF: Tool = Tool { name: "stdbuf", package: "coreutils" };

/// The programs that a client needs.
pub const CLIENT: [Tool; 2] = [SMBCLIENT, STDBUF];
/// All programs that are needed.
pub const TOOLS: [Tool; 4] = [SMBD, PDBEDIT, SMBCLIENT, STDBUF];

/// Serves in the foreground, until its standard input ends.
pub fn serve(config: &str) -> Query {
    Query::new(SMBD, ["--foreground", "--no-process-group", "--configfile", config])
}

/// Prints the version of the server: `Version 4.17.12-Debian`.
pub fn version() -> Query {
    Query::new(SMBD, ["--version"]).within(Duration::from_secs(60))
}

/// A share as a client sees it.
#[derive(Debug)]
pub struct Share {
    /// `//ADDRESS/NAME`.
    pub name: String,
    pub port: u16,
    /// File with user and password.
    pub login: PathBuf,
    /// The protection that it insists on: `sign`, `encrypt` or `off`.
    pub protection: &'static str,
}

impl Share {
    /// A client that reads commands line by line from its standard input until that ends. `patience` limits each answer of the server;
    /// all but the last one wait for those before. `config` replaces the system's configuration.
    pub fn client(&self, (program, config): (&Path, &Path), patience: Duration) -> Query {
        let port = self.port.to_string();
        let protection = format!("--client-protection={}", self.protection);
        let timeout = format!("--timeout={}", patience.as_secs());
        let args: [&OsStr; 11] = [
            "--output=L".as_ref(),
            program.as_ref(),
            self.name.as_ref(),
            "--configfile".as_ref(),
            config.as_ref(),
            "--port".as_ref(),
            port.as_ref(),
            protection.as_ref(),
            timeout.as_ref(),
            "--authentication-file".as_ref(),
            self.login.as_ref(),
        ];
        Query::new(STDBUF, args)
    }
}

/// Whether a line is the answer to `pwd`.
pub fn is_mark(line: &str) -> bool {
    line.contains("Current directory is")
}

/// Adds a user, whose password is read twice from standard input.
pub fn add_user(config: &str, user: &str) -> Query {
    Query::new(PDBEDIT, ["--configfile", config, "--create", "--password-from-stdin", "--user", user])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        let name = "//192.0.2.1/drive".to_owned();
        let [program, config] = ["/bin/smbclient", "/mnt/conf"].map(Path::new);
        let login = "/mnt/login".into();
        let patience = Duration::from_secs(600);
        let share = Share { name, port: 4450, login, protection: "sign" };
        assert_eq!(
            share.client((program, config), patience).to_string(),
            "stdbuf --output=L /bin/smbclient //192.0.2.1/drive --configfile /mnt/conf --port 4450 --client-protection=sign --timeout=600 \
             --authentication-file /mnt/login"
        );
        assert!(
            is_mark(r"Current directory is \\192.0.2.1\drive\")
                && !is_mark("NT_STATUS_OBJECT_NAME_NOT_FOUND")
        );
    }
}
