//! The arguments of `drivebench pool`.

use std::path::PathBuf;

use clap::{
    Args as Group, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};

use crate::{
    tools::mkfs::Filesystem,
    units::{Layout, parse_size},
};

#[derive(Debug, Group)]
pub struct Pool {
    #[command(subcommand)]
    pub action: PoolAction,
}

#[derive(Debug, Subcommand)]
pub enum PoolAction {
    /// Build a pool. All data on its drives is lost
    #[command(after_help = EXAMPLES)]
    Create(Create),
    /// Show pools: whether they are complete, and what to do if not
    Status {
        /// Only this pool
        name: Option<String>,
    },
    /// Remove a pool. All its data is lost
    Destroy {
        /// Its name
        name: String,
        /// A drive whose content may be lost, by serial; for each drive of the pool
        #[arg(long, value_name = "SERIAL")]
        erase: Vec<String>,
        /// Remove it although drives are not plugged in; these keep their part
        #[arg(long)]
        missing: bool,
    },
    /// Replace a drive of a pool by another one
    #[command(after_help = REPLACE)]
    Replace(Replace),
    /// Compare the copies or the parity of a pool
    Scrub {
        /// Its name
        name: String,
    },
}

const REPLACE: &str = "\
While OLD works, it is copied, and the pool stays protected. If OLD is missing
or has failed, NEW is filled from the others. The pool can be used meanwhile.
If this command is stopped, the copy goes on; the same command waits for it.
A drive that was unplugged and is back takes its own place: name it as OLD and as NEW.
If it has newer data than the pool, it is refused.";

#[derive(Debug, Group)]
pub struct Replace {
    /// The drive of the pool: by bay, serial or path
    pub old: String,

    /// The whole drive that takes its place: by bay, serial or path
    pub new: String,

    /// NEW by serial: its content is lost
    #[arg(long, value_name = "SERIAL")]
    pub erase: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  drivebench pool create --layout raid1 bay:1.2 bay:1.3 --plan
  drivebench pool create --layout raid1 bay:1.2 bay:1.3 --mount /srv/data \\
    --erase 4C530002 --erase 4C530003

It shows what is on the drives and what results, and changes nothing before each
drive was named with --erase, or its serial typed.";

#[derive(Debug, Group)]
pub struct Create {
    /// linear, raid0, raid1, raid5, raid6 or raid10
    #[arg(long, hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(Layout::ALL.map(Layout::name)).map(|name| Layout::of_name(&name).unwrap_or(Layout::Linear)))]
    pub layout: Layout,

    /// Whole drives: by bay, serial or path
    #[arg(required = true, value_name = "DRIVE")]
    pub drives: Vec<String>,

    /// Name of the pool
    #[arg(long, default_value = "pool")]
    pub name: String,

    /// Bytes that are on one drive before the next follows
    #[arg(long, value_name = "SIZE", default_value = "512k", value_parser = |text: &str| parse_size(text).map_err(|e| e.to_string()))]
    pub chunk: u64,

    /// Filesystem: ext4, xfs or btrfs
    #[arg(long, default_value = "ext4", hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(Filesystem::ALL.map(Filesystem::name)).map(|name| Filesystem::of_name(&name).unwrap_or(Filesystem::Ext4)))]
    pub fs: Filesystem,

    /// Mount it on this empty directory
    #[arg(long, value_name = "DIR")]
    pub mount: Option<PathBuf>,

    /// Mount it at every boot, too: lines in /etc/fstab and mdadm.conf, or a systemd unit for linear
    #[arg(long, requires = "mount")]
    pub keep: bool,

    /// internal: after a crash, and for a drive that was away, only what changed is copied. none: faster writes
    #[arg(long, default_value = "internal", hide_possible_values = true, value_parser = ["internal", "none"])]
    pub bitmap: String,

    /// A drive whose content may be lost, by serial; for each drive
    #[arg(long, value_name = "SERIAL")]
    pub erase: Vec<String>,

    /// Show what would be done, and change nothing
    #[arg(long)]
    pub plan: bool,
}
