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
    /// For a symbolic link, its destination is replaced or created, not the link.
    pub fn create(path: &Path) -> io::Result<Self> {
        /// As many links as the kernel follows.
        const LINKS: usize = 40;
        let mut path = path.to_owned();
        for _ in 0..LINKS {
            let Ok(to) = fs::read_link(&path) else { break };
            path.set_file_name("");
            path.push(to);
        }
        Self::create_itself(path)
    }

    /// Replaces a symbolic link itself. Only regular files and links are replaced.
    pub fn create_itself(path: PathBuf) -> io::Result<Self> {
        if fs::symlink_metadata(&path).is_ok_and(|there| !there.is_file() && !there.is_symlink()) {
            let why = format!("{} is not a regular file", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
        // A killed process with the same id may have left some, and others may have such names.
        for number in 0u32.. {
            let temporary = path.with_file_name(format!(".{name}.{}.{number}", std::process::id()));
            match File::create_new(&temporary) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && number < 1000 => {}
                file => return Ok(Self { file: file?, temporary: Some(temporary), path }),
            }
        }
        unreachable!("the loop ends by returning")
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
        drop(write("half"));
        assert_eq!(names(), 0);
        let other = dir.path().join(format!(".file.{}.0", std::process::id()));
        fs::write(&other, "mine").expect("writes");
        write("new").keep().expect("keeps");
        assert_eq!(fs::read_to_string(&other).expect("is left alone"), "mine");
        fs::remove_file(&other).and_then(|()| fs::remove_file(&path)).expect("removes");
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
        fs::remove_file(&path).expect("removes");
        AtomicFile::create(&link).expect("begins").keep().expect("keeps");
        assert!(link.is_symlink() && path.is_file(), "the destination of a dangling link is created");
    }
}
