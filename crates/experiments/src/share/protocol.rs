//! Protocols of file servers.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    Smb,
    Nfs,
    Sftp,
}

impl Protocol {
    pub fn name(self) -> &'static str {
        match self {
            Self::Smb => "SMB",
            Self::Nfs => "NFS",
            Self::Sftp => "SFTP",
        }
    }

    /// The program that serves.
    pub fn server(self) -> &'static str {
        match self {
            Self::Smb => "smbd",
            Self::Nfs => "nfsd",
            Self::Sftp => "sshd",
        }
    }
}
