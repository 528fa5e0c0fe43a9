//! Takes a drive of a pool that is in use away, while files on it are read, and brings it back. Nothing is written to files.

mod array;
mod away;
mod back;
mod check;
mod choose;
mod known;
mod reader;

pub use away::{Away, pull};
pub use back::put_back;
pub use check::{can_pull, ready_to_pull};
