//! A note in the undo journal while an output has temporary names, so that `cleanup` finds what a kill leaves of it.

use std::{io, path::Path};

use super::journal::{Entry, Journal, TemporaryOutput};
use crate::record::Unnamed;

/// The journals of outputs have the number of the process in their names.
const NAME: &str = "output-";

/// Struck out when dropped, unless something with a temporary name is left.
#[derive(Debug)]
pub struct OutputNote {
    output: Unnamed,
    entry: Option<Entry>,
}

impl OutputNote {
    /// Before a file, or a directory of these files, is written. Where there is no store, or it can't be written, nothing
    /// is noted: the output is more important. Nor is one whose directory can't be opened: it gets no temporary name.
    pub fn begin<'a>(store: &Path, path: &Path, files: impl IntoIterator<Item = &'a String>) -> Option<Self> {
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Without links, so that the journal knows the filesystem.
        let path = above.canonicalize().ok()?.join(path.file_name()?);
        let files: Vec<String> = files.into_iter().cloned().collect();
        let output = Unnamed::at(&path, &files).ok().filter(|_| store.is_dir())?;
        let journal = Journal::open(store, &format!("{NAME}{}", std::process::id()));
        let entry = journal.will(TemporaryOutput { path, files }).ok()?;
        Some(Self { output, entry: Some(entry) })
    }
}

impl Drop for OutputNote {
    fn drop(&mut self) {
        let gone = || match self.output.temporaries(std::process::id()) {
            Ok(left) => left.is_empty(),
            // The directory was removed.
            Err(e) => e.kind() == io::ErrorKind::NotFound,
        };
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

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn an_output_is_noted_without_links_and_only_where_it_can_be_written() {
        let home = tempfile::tempdir().expect("a directory");
        let real = home.path().canonicalize().expect("is there");
        let (store, link) = (real.join("store"), real.join("link"));
        fs::create_dir(real.join("dir")).and_then(|()| symlink("dir", &link)).expect("creates");
        assert!(OutputNote::begin(&store, &link.join("x.tar"), None).is_none());
        assert!(!store.exists(), "no store is made for it");
        fs::create_dir(&store).and_then(|()| fs::write(real.join("file"), "")).expect("creates");
        for missing in ["no/x.tar", "file/x.tar"] {
            assert!(OutputNote::begin(&store, &real.join(missing), None).is_none(), "{missing}");
        }
        assert!(!store.join("journals").exists());

        let note = OutputNote::begin(&store, &link.join("x.tar"), None).expect("is noted");
        let journals = || fs::read_dir(store.join("journals")).expect("lists").flatten();
        let text = fs::read_to_string(journals().next().expect("one").path()).expect("reads");
        assert!(text.contains("dir/x.tar") && !text.contains("link/"), "{text}");
        drop(note);
        assert_eq!(journals().count(), 0);
        let note = OutputNote::begin(&store, &link.join("x.tar"), None).expect("is noted");
        fs::remove_dir(real.join("dir")).expect("removes");
        drop(note);
        assert_eq!(journals().count(), 0, "nothing is left with the directory");
    }
}
