//! What happened: one append-only file a run, JSON lines, and the store that keeps them.

mod event;
mod reader;
mod store;
mod wear;
mod writer;

pub use event::{End, Event, How, SCHEMA, Slept, Start, Took, When};
pub use reader::{ReadError, Reader};
pub use store::{Brief, Store, StoreError};
pub use writer::Writer;
