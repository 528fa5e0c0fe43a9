//! Takes a drive of a pool away while files are used, finds out what is left, and brings the drive back.

mod away;
mod back;
mod content;
mod files;
mod ledger;
mod load;
mod probes;
mod site;
mod unplug;
mod watch;

pub use away::pull;
pub use back::put_back;
pub use files::fill;
pub use site::{Away, Site};
pub use unplug::Switch;
