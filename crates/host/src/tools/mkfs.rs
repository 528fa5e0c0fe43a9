//! mkfs: makes a filesystem.

use std::time::Duration;

use super::{Change, Content, Tool};

/// Time limit of mkfs. It writes a sixtieth of the pool, which takes hours for disks of 16 TB on a slow port.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

const EXT4: Tool = Tool { name: "mkfs.ext4", package: "e2fsprogs" };
const XFS: Tool = Tool { name: "mkfs.xfs", package: "xfsprogs" };
const BTRFS: Tool = Tool { name: "mkfs.btrfs", package: "btrfs-progs" };

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Filesystem {
    Ext4,
    Xfs,
    Btrfs,
}

/// How data is striped below a filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// Chunk size, bytes.
    pub chunk: u64,
    /// The members that hold data in a stripe.
    pub data_members: u64,
}

impl Filesystem {
    pub const ALL: [Self; 3] = [Self::Ext4, Self::Xfs, Self::Btrfs];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|filesystem| filesystem.name() == name)
    }

    /// Whether fsck at boot does anything for it.
    pub const fn is_checked_at_boot(self) -> bool {
        matches!(self, Self::Ext4)
    }

    /// The longest label, bytes.
    pub const fn longest_label(self) -> usize {
        match self {
            Self::Ext4 => 16,
            Self::Xfs => 12,
            Self::Btrfs => 255,
        }
    }

    /// Makes it on the device at `path`, without discarding what is there: a forced TRIM has destroyed sticks. ext4 is
    /// initialised completely, because its background initialisation disturbs measurements.
    pub fn make(self, path: &str, label: &str, uuid: &str, stripe: Option<Stripe>) -> Change<Content> {
        let mut args: Vec<String> = Vec::new();
        let tool = match self {
            Self::Ext4 => {
                let mut extended = "nodiscard,lazy_itable_init=0,lazy_journal_init=0".to_owned();
                if let Some(Stripe { chunk, data_members }) = stripe {
                    let blocks = chunk / 4096;
                    extended += &format!(",stride={blocks},stripe_width={}", blocks * data_members);
                }
                args.extend(["-F", "-b", "4096", "-U", uuid, "-E", &extended].map(str::to_owned));
                EXT4
            }
            Self::Xfs => {
                if let Some(Stripe { chunk, data_members }) = stripe {
                    args.extend(["-d".to_owned(), format!("su={chunk},sw={data_members}")]);
                }
                args.extend(["-f", "-K", "-m"].map(str::to_owned));
                args.push(format!("uuid={uuid}"));
                XFS
            }
            // btrfs takes no stripe geometry of the device below.
            Self::Btrfs => {
                args.extend(["-f", "-K", "-U", uuid].map(str::to_owned));
                BTRFS
            }
        };
        args.extend(["-q", "-L", label].map(str::to_owned));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        Change::new(tool, &args, path).within(LIMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stripe_is_in_the_units_of_each_filesystem() {
        let stripe = Some(Stripe { chunk: 512 << 10, data_members: 3 });
        let uuid = "be1103c5-fb4b-476f-b7fd-09f0a4b747d6";
        let lines = Filesystem::ALL.map(|fs| fs.make("/dev/md/p", "data", uuid, stripe).to_string());
        let plain = Filesystem::Ext4.make("/dev/mapper/p", "data", uuid, None).to_string();
        insta::assert_snapshot!(lines.join("\n") + "\n" + &plain);
    }
}
