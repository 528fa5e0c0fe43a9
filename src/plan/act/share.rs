//! Move files between a client and a share.

use serde::{Deserialize, Serialize};

use crate::units::{count, decimal_bytes};

/// A client puts files on a share and gets them, as it is and with parts of the way left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShareTest {
    /// Of the link between client and server, bits per second; none without a limit.
    pub rate: Option<u64>,
    /// Bytes of the large file.
    pub bytes: u64,
    /// Small files, and bytes of each.
    pub files: u64,
    pub small: u64,
    /// Repetitions of all.
    pub runs: u32,
}

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Errand {
    Put,
    Get,
    PutSmall,
    GetSmall,
}

/// What is between the client and the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// All of it.
    Whole,
    /// The share is in memory.
    WithoutDrive,
    /// The client is on the server.
    WithoutLink,
    /// Both.
    WithoutBoth,
    /// No client: the server's own programs use the files.
    Drive,
}

impl Errand {
    pub const ALL: [Self; 4] = [Self::Put, Self::Get, Self::PutSmall, Self::GetSmall];

    pub fn puts(self) -> bool {
        matches!(self, Self::Put | Self::PutSmall)
    }

    pub fn is_small(self) -> bool {
        matches!(self, Self::PutSmall | Self::GetSmall)
    }
}

impl Via {
    pub const ALL: [Self; 5] =
        [Self::Whole, Self::WithoutDrive, Self::WithoutLink, Self::WithoutBoth, Self::Drive];

    pub fn has_drive(self) -> bool {
        matches!(self, Self::Whole | Self::WithoutLink | Self::Drive)
    }

    pub fn has_link(self) -> bool {
        matches!(self, Self::Whole | Self::WithoutDrive)
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Whole => "all of it",
            Self::WithoutDrive => "without the drive",
            Self::WithoutLink => "without the link",
            Self::WithoutBoth => "without both",
            Self::Drive => "drive alone",
        }
    }
}

impl ShareTest {
    /// `put 64.0 MB`.
    pub fn name(&self, errand: Errand) -> String {
        let verb = if errand.puts() { "put" } else { "get" };
        match errand.is_small() {
            true => format!("{verb} {} of {}", count(self.files, "file"), decimal_bytes(self.small)),
            false => format!("{verb} {}", decimal_bytes(self.bytes)),
        }
    }

    pub fn moved(&self, errand: Errand) -> u64 {
        if errand.is_small() { self.files.saturating_mul(self.small) } else { self.bytes }
    }

    /// Bytes of all files that are there at a time.
    pub fn held(&self) -> u64 {
        self.bytes.saturating_add(self.moved(Errand::PutSmall))
    }

    /// Refuses what can't be done, as a damaged or edited record may contain.
    pub fn check(&self) -> Result<(), String> {
        const MOST: u64 = 1 << 40;
        let fits = (1..=MOST).contains(&self.bytes)
            && (1..=100_000).contains(&self.files)
            && (1..=MOST).contains(&self.small)
            && (1..=100).contains(&self.runs)
            && self.rate.is_none_or(|rate| (1_000..=1 << 40).contains(&rate));
        if fits { Ok(()) } else { Err("shares files of sizes that make no sense".to_owned()) }
    }

    pub fn describe(&self) -> String {
        let link =
            self.rate.map_or_else(String::new, |rate| format!(" over a link of {} Mb/s", rate as f64 / 1e6));
        format!(
            "smbd with a configuration of its own, and a client on a network of their own{link}: {}; with and without the drive and the link, {}",
            Errand::ALL.map(|errand| self.name(errand)).join(", "),
            count(u64::from(self.runs), "time")
        )
    }
}
