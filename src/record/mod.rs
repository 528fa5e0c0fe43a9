//! What happened: one append-only file a run, JSON lines, and the store that keeps them.

mod brief;
mod done;
mod event;
mod imported;
mod reader;
mod store;
mod writer;

pub use brief::Brief;
pub use done::Done;
pub use event::{End, Event, How, Resume, SCHEMA, Slept, Start, Took, When};
pub use imported::{Half, Imported, Said, Told};
pub use reader::{ReadError, Reader};
pub use store::{Store, StoreError};
pub use writer::Writer;
