//! Settings of the kernel that a test of swap changes: all of its writes are here.

use std::{fs, io, path::Path, time::Duration};

/// How often a wait looks at what goes on.
pub const POLL: Duration = Duration::from_millis(20);

/// Writes a value into a file of sysfs or of a control group.
pub fn set(file: impl AsRef<Path>, value: &str) -> io::Result<()> {
    let file = file.as_ref();
    fs::write(file, value)
        .map_err(|e| io::Error::new(e.kind(), format!("{} can't be set: {e}", file.display())))
}

/// Makes a control group.
pub fn make_group(dir: &Path) -> io::Result<()> {
    fs::create_dir(dir)
}

/// Removes one in which nothing runs.
pub fn remove_group(dir: &Path) -> io::Result<()> {
    fs::remove_dir(dir)
}
