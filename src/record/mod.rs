//! What happened: one append-only file a run, JSON lines, and the store that keeps them.

mod done;
mod event;
mod reader;
mod store;
mod wear;
mod writer;

pub use done::Done;
pub use event::{End, Event, How, Resume, SCHEMA, Start, Took, When};
pub use reader::{ReadError, Reader};
pub use store::{Brief, Store, StoreError};
pub use writer::Writer;
