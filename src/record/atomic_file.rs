//! Atomic files: written under a temporary name in the same directory, then renamed.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// A file that gets its name once it is complete. It is removed if dropped earlier.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    /// Its temporary path; `None` once it has its name.
    temporary: Option<PathBuf>,
    path: PathBuf,
}

impl AtomicFile {
    pub fn create(path: &Path) -> io::Result<Self> {
        // For a symbolic link, its destination is replaced, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.{}", std::process::id()));
        // A killed process with the same id may have left one.
        let _ = fs::remove_file(&temporary);
        let file = File::create_new(&temporary)?;
        Ok(Self { file, temporary: Some(temporary), path })
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Replaces the file at `path`. After a power cut, either the old file or the complete new one is there.
    pub fn keep(self) -> io::Result<()> {
        self.file.sync_all()?;
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = File::open(dir)?;
        self.rename()?;
        dir.sync_all()
    }

    /// Replaces the file at `path` without syncing: for files that can be rebuilt.
    pub fn rename(mut self) -> io::Result<()> {
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path)?;
        }
        self.temporary = None;
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The caller reports the error.
            let _ = fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn files_are_complete_or_absent() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        let names = || fs::read_dir(dir.path()).expect("lists").count();
        let write = |text: &str| {
            let begun = AtomicFile::create(&path).expect("begins");
            begun.file().write_all(text.as_bytes()).expect("writes");
            begun
        };
        std::mem::forget(write("half, and killed"));
        drop(write("half"));
        assert_eq!(names(), 0);
        write("old").keep().expect("keeps");
        drop(write("half"));
        assert_eq!((fs::read_to_string(&path).expect("reads").as_str(), names()), ("old", 1));
        write("new").keep().expect("keeps");
        assert_eq!((fs::read_to_string(&path).expect("reads").as_str(), names()), ("new", 1));

        let link = dir.path().join("link");
        std::os::unix::fs::symlink("file", &link).expect("a link");
        AtomicFile::create(&link).expect("begins").keep().expect("keeps");
        assert!(link.is_symlink());
        assert_eq!((fs::read_to_string(&path).expect("reads").as_str(), names()), ("", 2));
    }
}
