//! Takes a drive of a pool away while files are used, finds out what is left, and brings the drive back; and checks what a power
//! cut leaves.

mod away;
mod back;
mod content;
mod elsewhere;
mod files;
mod gone;
mod in_use;
mod ledger;
mod load;
mod noted;
mod power;
mod probes;
mod rejoin;
mod restore;
mod second;
mod site;
mod unplug;
mod watch;

use std::time::Duration;

pub use away::pull;
pub use back::put_back;
pub use files::fill;
pub use in_use::{
    Away as AwayInUse, can_pull, pull as pull_in_use, put_back as put_back_in_use, ready_to_pull,
};
pub use noted::Kept;
pub use power::{Place, PowerError, is_elsewhere, power_dir};
pub use rejoin::bring_back;
pub use restore::restore_record;
pub use site::{Away, Site};
pub use unplug::Switch;

/// How long operations may take to end: SCSI tries a command that gets no answer for half a minute, resets, and tries again.
const HANG: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(5);
