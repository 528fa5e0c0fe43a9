//! A note in the undo journal while an output has temporary names, so that `cleanup` finds what a kill leaves of it.

use std::path::{Path, PathBuf};

use super::journal::{Entry, Journal, Undo};
use crate::record::temporaries;

/// The journals of outputs have the number of the process in their names.
const NAME: &str = "output-";

/// Struck out when dropped, unless something with a temporary name is left.
#[derive(Debug)]
pub struct OutputNote {
    path: PathBuf,
    files: Vec<String>,
    entry: Option<Entry>,
}

impl OutputNote {
    /// Before a file, or a directory of these files, is written. Where the store can't be written nothing is noted: the
    /// output is more important.
    pub fn begin<'a>(store: &Path, path: &Path, files: impl IntoIterator<Item = &'a String>) -> Self {
        let path = std::path::absolute(path).unwrap_or(path.to_owned());
        let files: Vec<String> = files.into_iter().cloned().collect();
        let journal = Journal::open(store, &format!("{NAME}{}", std::process::id()));
        let entry = journal.will(Undo::Output { path: path.clone(), files: files.clone() }).ok();
        Self { path, files, entry }
    }
}

impl Drop for OutputNote {
    fn drop(&mut self) {
        let gone =
            || temporaries(&self.path, &self.files, std::process::id()).is_ok_and(|left| left.is_empty());
        if let Some(entry) = self.entry.take_if(|_| gone()) {
            // Otherwise the next cleanup does it.
            let _ = entry.done();
        }
    }
}

/// The process that noted an output in the journal of this name.
pub(super) fn process(journal: &str) -> Option<u32> {
    journal.strip_prefix(NAME)?.parse().ok()
}
