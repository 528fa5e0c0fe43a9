//! Files that are whole or not there: written beside, then moved into place.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// A file that gets its name when it is whole, and goes where it never is.
#[derive(Debug)]
pub(super) struct Beside {
    file: File,
    /// Where it is for now; `None` once it is in place.
    now: Option<PathBuf>,
    path: PathBuf,
}

impl Beside {
    /// Begins a file that will be at `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        // What a link leads to is meant, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
        let now = path.with_file_name(format!(".{name}.{}", std::process::id()));
        // What a killed process of the same number left is of no use.
        let _ = fs::remove_file(&now);
        let file = File::create_new(&now)?;
        Ok(Self { file, now: Some(now), path })
    }

    /// To write to.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Moves it into place, in stead of what is there.
    pub fn keep(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        if let Some(now) = &self.now {
            fs::rename(now, &self.path)?;
        }
        self.now = None;
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty());
        File::open(dir.unwrap_or(Path::new(".")))?.sync_all()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(now) = &self.now {
            // Whoever dropped it tells what went wrong.
            let _ = fs::remove_file(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn whole_or_not_there() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("file");
        let names = || fs::read_dir(dir.path()).expect("lists").count();
        let write = |text: &str| {
            let beside = Beside::create(&path).expect("begins");
            beside.file().write_all(text.as_bytes()).expect("writes");
            beside
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
        Beside::create(&link).expect("begins").keep().expect("keeps");
        assert!(link.is_symlink());
        assert_eq!((fs::read_to_string(&path).expect("reads").as_str(), names()), ("", 2));
    }
}
