//! Files that root installs for systemd: the timer of `check`, and a series of restarts.

use std::{fmt, fs, io, path::Path};

use crate::tools::{Output, Query, Runner, systemctl};

/// Whether any of these files is there.
pub fn is_any(files: &[&str]) -> bool {
    files.iter().any(|path| Path::new(path).symlink_metadata().is_ok())
}

/// Disables a unit, and removes its files, of which the first is the unit's own. All is tried; the first error is returned.
pub fn remove(unit: &str, files: &[&str], runner: &dyn Runner) -> io::Result<()> {
    let mut done = Vec::new();
    // Its links are found by its file.
    if Path::new(files[0]).exists() {
        done.push(asked(&systemctl::disable(unit), runner));
    }
    done.extend(files.iter().map(|path| remove_one(path)));
    done.push(asked(&systemctl::daemon_reload(), runner));
    done.into_iter().collect()
}

/// Removes a file that may be gone already.
pub fn remove_one(path: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(io::Error::new(e.kind(), format!("{path}: {e}")))
        }
        _ => Ok(()),
    }
}

/// Asks systemd for something that must succeed.
pub fn asked(query: &Query, runner: &dyn Runner) -> io::Result<()> {
    succeeded(query, &runner.ask(query).map_err(io::Error::other)?)
}

/// The complaint of a command that failed.
pub fn succeeded(command: &impl fmt::Display, output: &Output) -> io::Result<()> {
    match output.code {
        Some(0) => Ok(()),
        _ => Err(io::Error::other(format!("'{command}' failed: {}", output.complaint()))),
    }
}
