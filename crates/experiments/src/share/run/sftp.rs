//! An sshd that serves files, and its client sftp.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    file_server::{Access, FileServer, Serves, write},
    sandbox::{Sandbox, failed},
};
use crate::{
    run::RunError,
    tools::{Output, Query, System, openssh},
};

pub(super) struct Sftp {
    sshd: PathBuf,
    room: PathBuf,
}

impl Sftp {
    /// Makes keys and configuration for server and client.
    pub fn prepare(
        (server, client): (&Sandbox, &Sandbox),
        serves: &Serves,
        tools: &System,
    ) -> Result<Self, RunError> {
        let key = |of: &Sandbox, name: &str| {
            of.run(&openssh::make_key(&of.room.join(name).to_string_lossy()), tools)?;
            fs::read_to_string(of.file(&format!("{name}.pub")))
                .map_err(|e| failed(&format!("the key {name} in memory: {e}")))
        };
        let (host, user) = (key(server, "hostkey")?, key(client, "key")?);
        let config = openssh::config(&server.room, &serves.at, serves.port, serves.to);
        let known = format!("{} {host}", openssh::SERVER);
        for (path, text) in [
            (server.file("conf"), config.as_str()),
            (server.file("authorized"), &user),
            (server.file("shadow"), openssh::SHADOW),
            (client.file("known"), &known),
        ] {
            write(&path, text)?;
        }
        server.run(&openssh::furnish(&server.room.join("shadow").to_string_lossy()), tools)?;
        Ok(Self { sshd: tools.find(openssh::SSHD)?, room: server.room.clone() })
    }
}

impl FileServer for Sftp {
    fn serve(&self) -> Query {
        openssh::serve(&self.sshd, &self.room.join("conf"))
    }

    fn client(&self, access: &Access<'_>) -> Query {
        let room = access.room.unwrap_or(Path::new(""));
        openssh::client((room, access.address), access.port, access.dir)
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
