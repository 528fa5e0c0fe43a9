//! Records: one append-only file of JSON lines per run, and the store that keeps them.

mod atomic_file;
mod event;
mod imported;
mod owner;
mod reader;
mod run;
mod steps_done;
mod store;
mod summary;
mod watched;
mod writer;

pub use atomic_file::{AtomicFile, keep_new_dir, sweep_beside};
pub use event::{ActResult, End, Event, Host, How, MOST, Observation, Observed, SCHEMA, Start, When, lasts};
pub use imported::{Half, ImportOptions, Imported, ImportedLoad};
pub use owner::{PRIVATE, caller, hand_over, home, keep_for_root, lock, make_dir};
pub use reader::{MOST_GROWTH, ReadError, Reader, open_own, open_regular};
pub use run::{Flag, Load, Run, Step, Windows, suspended};
pub use steps_done::{Done, LoadSpeed, ProcessorUse};
pub use store::{Store, StoreError, is_name};
pub use summary::Summary;
pub use watched::{Answer, Between, Watched};
pub use writer::{Log, Writer};
