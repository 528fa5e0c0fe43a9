//! An sshd that serves files, and its client sftp.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    file_server::{Access, FileServer, Serves, write},
    sandbox::{ROOM, Sandbox, failed},
};
use crate::{
    run::RunError,
    tools::{Output, Query, System, openssh},
};

pub(super) struct Sftp {
    sshd: PathBuf,
}

impl Sftp {
    /// Makes keys and configuration for server and client.
    pub fn prepare(
        (server, client): (&Sandbox, &Sandbox),
        serves: &Serves,
        tools: &System,
    ) -> Result<Self, RunError> {
        let key = |of: &Sandbox, name: &str| {
            of.run(&openssh::make_key(&Sandbox::inside(name).to_string_lossy()), tools)?;
            fs::read_to_string(of.file(&format!("{name}.pub")))
                .map_err(|e| failed(&format!("the key {name} in memory: {e}")))
        };
        let (host, user) = (key(server, "hostkey")?, key(client, "key")?);
        let config = openssh::config(Path::new(ROOM), &serves.at, serves.port, serves.to);
        let known = format!("{} {host}", openssh::SERVER);
        for (path, text) in [
            (server.file("conf"), config.as_str()),
            (server.file("authorized"), &user),
            (server.file("shadow"), openssh::SHADOW),
            (client.file("known"), &known),
        ] {
            write(&path, text)?;
        }
        server.run(&openssh::furnish(&Sandbox::inside("shadow").to_string_lossy()), tools)?;
        Ok(Self { sshd: tools.find(openssh::SSHD)? })
    }
}

impl FileServer for Sftp {
    fn serve(&self) -> Query {
        openssh::serve(&self.sshd, &Sandbox::inside("conf"))
    }

    fn client(&self, access: &Access<'_>) -> Query {
        openssh::client((Path::new(access.room), access.address), access.port, access.dir)
    }

    fn client_files(&self) -> &[&str] {
        &["key", "known"]
    }

    fn is_mark(&self, line: &str) -> bool {
        openssh::is_mark(line)
    }

    fn all(&self, puts: bool, dir: &str) -> String {
        let verb = if puts { "put" } else { "get" };
        format!("lcd {dir}\n{verb} *\n")
    }

    fn end_reason(&self, _: &Sandbox, said: &Output) -> String {
        said.complaint()
    }
}
