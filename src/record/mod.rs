//! What happened: one append-only file a run, JSON lines, and the store that keeps them.

mod atomic_file;
mod event;
mod imported;
mod progress;
mod reader;
mod store;
mod summary;
mod writer;

pub use atomic_file::AtomicFile;
pub use event::{End, Event, How, Resume, SCHEMA, StandbyResult, Start, TaskResult, When};
pub use imported::{Half, Imported, Said, Told};
pub use progress::Done;
pub use reader::{ReadError, Reader};
pub use store::{Store, StoreError};
pub use summary::Brief;
pub use writer::Writer;
