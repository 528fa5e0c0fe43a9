//! Lines in the system's configuration: added and removed atomically, with a copy of the file as it was.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, FlockOperation, flock};

use crate::{
    pool::config::{self, Lines},
    record::AtomicFile,
};

/// The copy of a file before its first change for a pool.
fn copy_of(file: &Path, name: &str) -> PathBuf {
    let mut copy = file.as_os_str().to_owned();
    copy.push(format!(".before-drivebench-{name}"));
    copy.into()
}

/// Held while a file is read and replaced: the lines of a drivebench that does so at the same time would be lost.
fn turn() -> io::Result<File> {
    let etc = File::open("/etc")?;
    flock(&etc, FlockOperation::LockExclusive)?;
    Ok(etc)
}

/// Adds the lines of a pool to a file; a file that does not exist is made.
pub(super) fn add(name: &str, lines: &Lines) -> io::Result<()> {
    let _turn = turn()?;
    let path = Path::new(&lines.file);
    let text = read(path)?;
    let with = lines.add(name, text.as_deref().unwrap_or_default()).ok_or_else(|| taken(name))?;
    if let Some(text) = &text {
        write(&copy_of(path, name), text, mode(path)?)?;
    }
    write(path, &with, mode(path).unwrap_or(0o644))
}

/// Whether the lines of a pool can be added, as far as that is known before.
pub fn can_keep(name: &str, lines: &Lines) -> io::Result<()> {
    let path = Path::new(&lines.file);
    let text = read(path)?;
    lines.add(name, text.as_deref().unwrap_or_default()).ok_or_else(|| taken(name))?;
    let dir = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dir = dir.parent().unwrap_or(Path::new("/"));
    Ok(rustix::fs::access(dir, Access::WRITE_OK | Access::EXEC_OK)?)
}

fn taken(name: &str) -> io::Error {
    io::Error::other(format!("it has lines of a pool {name} already"))
}

/// Removes the lines of a pool, and the copy.
pub(super) fn remove(name: &str, file: &Path) -> io::Result<()> {
    let _turn = turn()?;
    let copy = copy_of(file, name);
    let text = read(file)?.unwrap_or_default();
    let missing =
        |mark| io::Error::other(format!("the line '{mark}' is missing: remove those of the pool by hand"));
    match config::without(name, &text).map_err(missing)? {
        // It was made for these lines.
        Some(without) if without.is_empty() && !copy.exists() => fs::remove_file(file)?,
        Some(without) => write(file, &without, mode(file)?)?,
        None => {}
    }
    match fs::remove_file(copy) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
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
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let file = AtomicFile::create(&path, mode)?;
    file.file().write_all(text.as_bytes())?;
    // Not less the umask: others read this file.
    file.file().set_permissions(fs::Permissions::from_mode(mode))?;
    file.keep()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_byte_identical_afterwards_and_keeps_its_mode() {
        let dir = tempfile::tempdir().expect("a directory");
        for (at, before) in [Some("a\nb"), Some(""), None].into_iter().enumerate() {
            let path = dir.path().join(format!("fstab{at}"));
            if let Some(text) = before {
                fs::write(&path, text).expect("writes");
                fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
            }
            let file = path.to_str().expect("UTF-8").to_owned();
            add("data", &Lines { file, lines: vec!["ours".to_owned()] }).expect("adds");
            assert!(fs::read_to_string(&path).expect("reads").contains("\nours\n"));
            remove("data", &path).expect("removes");
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), before);
            assert!(before.is_none() || mode(&path).expect("a mode") == 0o640);
        }
        // Not twice, nor where it could not be removed again.
        let lines = Lines {
            file: dir.path().join("fstab1").to_str().expect("UTF-8").to_owned(),
            lines: vec!["ours".to_owned()],
        };
        can_keep("data", &lines).expect("it can be written");
        add("data", &lines).expect("adds");
        assert!(can_keep("data", &lines).is_err() && add("data", &lines).is_err());
        fs::write(&lines.file, "# drivebench pool data: begin\nours\n").expect("writes");
        remove("data", Path::new(&lines.file)).expect_err("its end is missing");
        assert!(copy_of(Path::new(&lines.file), "data").exists());
        fs::write(&lines.file, "").expect("writes");
        remove("data", Path::new(&lines.file)).expect("removes the copy");
        fs::write(&lines.file, [0xff]).expect("writes");
        can_keep("data", &lines).expect_err("it is no text");
        // Killed after the copy, before the lines.
        let path = dir.path().join("fstab0");
        fs::copy(&path, copy_of(&path, "data")).expect("copies");
        remove("data", &path).expect("removes");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("a\nb"));
        assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), 2, "no copies stay");
    }
}
