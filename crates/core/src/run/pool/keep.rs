//! Lines in the system's configuration: added and removed atomically.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::Access;

use crate::{
    pool::config::{self, Lines},
    record::{AtomicFile, sweep_beside},
};

/// Adds the lines of a pool to a file, which is created if needed. `Lock::of_configuration` keeps another drivebench from losing
/// them, here and in `take_out`.
pub(super) fn insert(name: &str, lines: &Lines) -> io::Result<()> {
    let path = Path::new(&lines.file);
    let text = read(path)?;
    let with = lines.add(name, text.as_deref().unwrap_or_default()).ok_or_else(|| taken(name))?;
    write(path, &with, mode(path).unwrap_or(0o644))
}

/// Checks whether the lines of a pool could be added.
pub fn can_keep(name: &str, lines: &Lines) -> io::Result<()> {
    let path = Path::new(&lines.file);
    lines.add(name, &read(path)?.unwrap_or_default()).ok_or_else(|| taken(name))?;
    let dir = followed(path);
    let dir = dir.parent().unwrap_or(Path::new("/"));
    Ok(rustix::fs::access(dir, Access::WRITE_OK | Access::EXEC_OK)?)
}

fn taken(name: &str) -> io::Error {
    io::Error::other(format!(
        "it has lines of a pool {name} already: if there is no such pool, remove the lines between its marks"
    ))
}

/// Removes the lines of a pool.
pub(super) fn take_out(name: &str, file: &Path) -> io::Result<()> {
    // If nothing is written below, nothing else removes what killed processes left.
    sweep_beside(&followed(file));
    let text = read(file)?.unwrap_or_default();
    let missing =
        |mark| io::Error::other(format!("the line '{mark}' is missing: remove those of the pool by hand"));
    match config::without(name, &text).map_err(missing)? {
        // It was made for the lines, as units are; fstab is on every system.
        Some(rest) if rest.is_empty() && !file.ends_with("fstab") && !file.is_symlink() => {
            fs::remove_file(file)?
        }
        Some(rest) => write(file, &rest, mode(file)?)?,
        None => {}
    }
    // A power cut must not bring back what no log names any more.
    File::open(followed(file).parent().unwrap_or(Path::new("/")))?.sync_all()
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        text => text.map(Some),
    }
}

fn mode(path: &Path) -> io::Result<u32> {
    Ok(path.metadata()?.permissions().mode() & 0o7777)
}

/// The whole file or the old one, also after a power cut. A link is followed: `/etc/fstab` may be one.
fn write(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let file = AtomicFile::create(&followed(path), mode)?;
    file.file().write_all(text.as_bytes())?;
    // Whatever the umask: others read this file.
    file.file().set_permissions(fs::Permissions::from_mode(mode))?;
    file.keep()
}

/// Where a link leads.
fn followed(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_as_before_afterwards_and_keeps_its_mode() {
        let dir = tempfile::tempdir().expect("a directory");
        for (at, before) in [Some("a\nb\n"), Some("c\n"), None].into_iter().enumerate() {
            let path = dir.path().join(format!("fstab{at}"));
            if let Some(text) = before {
                fs::write(&path, text).expect("writes");
                fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
            }
            let file = path.to_str().expect("UTF-8").to_owned();
            insert("data", &Lines { file, lines: vec!["ours".to_owned()] }).expect("adds");
            assert!(fs::read_to_string(&path).expect("reads").contains("\nours\n"));
            take_out("data", &path).expect("removes");
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), before);
            assert!(before.is_none() || mode(&path).expect("a mode") == 0o640);
        }
        // Not twice, nor where it could not be removed again.
        let lines = Lines {
            file: dir.path().join("fstab1").to_str().expect("UTF-8").to_owned(),
            lines: vec!["ours".to_owned()],
        };
        can_keep("data", &lines).expect("it can be written");
        insert("data", &lines).expect("adds");
        assert!(can_keep("data", &lines).is_err() && insert("data", &lines).is_err());
        fs::write(&lines.file, "# drivebench pool data: begin\nours\n").expect("writes");
        take_out("data", Path::new(&lines.file)).expect_err("its end is missing");
        fs::write(&lines.file, [0xff]).expect("writes");
        can_keep("data", &lines).expect_err("it is no text");
        // Killed while it was written.
        let path = dir.path().join("fstab0");
        fs::write(dir.path().join(".fstab0.4194999.0"), "half").expect("writes");
        take_out("data", &path).expect("removes");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("a\nb\n"));
        assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), 2, "nothing else stays");
    }

    #[test]
    fn pools_that_are_removed_in_the_order_in_which_they_were_made_leave_nothing() {
        for before in [Some("a\nb\n"), None] {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("mdadm.conf");
            if let Some(text) = before {
                fs::write(&path, text).expect("writes");
            }
            let file = path.to_str().expect("UTF-8").to_owned();
            let lines = Lines { file, lines: vec!["ours".to_owned()] };
            let pools = ["one", "two", "three"];
            pools.iter().for_each(|name| insert(name, &lines).expect("adds"));
            pools.iter().for_each(|name| take_out(name, &path).expect("removes"));
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), before);
            let left = usize::from(before.is_some());
            assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), left);
        }
    }
}
