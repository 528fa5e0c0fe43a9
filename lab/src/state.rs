//! The temporary directory of a running machine.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use rustix::fs::{FlockOperation, flock};

/// The directory of a machine, removed on drop. After a crash, the next machine's start removes it.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    /// Locked while the directory is in use.
    _lock: File,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl State {
    /// A new directory with a short path, because paths of sockets are limited.
    pub fn new() -> io::Result<Self> {
        let user = rustix::process::getuid().as_raw();
        let all = std::env::temp_dir().join(format!("drivebench-lab-{user}"));
        fs::create_dir_all(&all)?;
        // One at a time: a cleanup must not remove a directory that was created but not locked yet.
        let turn = File::create(all.join("lock"))?;
        flock(&turn, FlockOperation::LockExclusive)?;
        sweep(&all)?;
        let path = all.join(format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir_all(&path)?;
        let lock = File::create(path.join("lock"))?;
        flock(&lock, FlockOperation::LockExclusive)?;
        Ok(Self { path, _lock: lock })
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // If this fails, the next start removes it.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes directories of machines that ended without removing them.
fn sweep(all: &Path) -> io::Result<()> {
    for entry in fs::read_dir(all)? {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        let held = File::open(path.join("lock"))
            .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err());
        if !held {
            fs::remove_dir_all(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_of_a_crash_are_removed_and_running_machines_kept() {
        let first = State::new().unwrap();
        let left = first.path().with_file_name(format!("{}-left", std::process::id()));
        fs::create_dir(&left).unwrap();
        File::create(left.join("socket")).unwrap();
        let second = State::new().unwrap();
        assert!(first.path().is_dir() && second.path().is_dir() && !left.exists());
        let gone = first.path().to_owned();
        drop(first);
        assert!(!gone.exists());
    }
}
