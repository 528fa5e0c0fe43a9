//! Files of systemd units, which drivebench writes after consent and removes again.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use crate::{
    record::AtomicFile,
    tools::{Output, Query, Runner},
};

pub fn write(path: &str, mode: u32, content: &[u8]) -> io::Result<()> {
    let file = AtomicFile::create(Path::new(path), mode)?;
    file.file().write_all(content)?;
    file.keep()
}

/// Removes a file that may be gone already.
pub fn remove(path: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            Err(io::Error::new(e.kind(), format!("{path}: {e}")))
        }
        _ => Ok(()),
    }
}

/// Asks systemd for something that must succeed.
pub fn ask(query: &Query, runner: &dyn Runner) -> io::Result<()> {
    succeeded(query, &runner.ask(query).map_err(io::Error::other)?)
}

pub fn succeeded(query: &Query, output: &Output) -> io::Result<()> {
    match output.code {
        Some(0) => Ok(()),
        _ => Err(io::Error::other(format!("'{query}' failed: {}", output.complaint()))),
    }
}
