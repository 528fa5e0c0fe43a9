//! Lines in the system's configuration: added and removed atomically, with a copy of the file as it was.

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
    run::lock::Lock,
    units::shell_word,
};

/// The copy of a file before its first change for a pool.
fn copy_of(file: &Path, name: &str) -> PathBuf {
    let mut copy = file.as_os_str().to_owned();
    copy.push(format!(".before-drivebench-{name}"));
    copy.into()
}

/// Adds the lines of a pool to a file, which is created if needed. A lock keeps another drivebench from losing them.
pub(super) fn add(name: &str, lines: &Lines) -> io::Result<()> {
    let _turn = Lock::of_configuration()?;
    insert(name, lines)
}

fn insert(name: &str, lines: &Lines) -> io::Result<()> {
    let path = Path::new(&lines.file);
    let text = read(path)?;
    let with = lines.add(name, text.as_deref().unwrap_or_default()).ok_or_else(|| taken(name))?;
    if let Some(text) = &text {
        let copy = begun(&copy_of(path, name), text, mode(path)?)?;
        // Nothing is replaced, and no link is followed.
        copy.keep_new()?;
    }
    write(path, &with, mode(path).unwrap_or(0o644))
}

/// Checks whether the lines of a pool could be added.
pub fn can_keep(name: &str, lines: &Lines) -> io::Result<()> {
    let path = Path::new(&lines.file);
    lines.add(name, &read(path)?.unwrap_or_default()).ok_or_else(|| taken(name))?;
    let copy = copy_of(path, name);
    if copy.symlink_metadata().is_ok() {
        let (copy, to) = (shell_word(&copy), shell_word(&format!("{}.old", copy.display())));
        let why = format!("its copy would replace {copy}; to keep that: mv --no-clobber {copy} {to}");
        return Err(io::Error::other(why));
    }
    let dir = followed(path);
    let dir = dir.parent().unwrap_or(Path::new("/"));
    Ok(rustix::fs::access(dir, Access::WRITE_OK | Access::EXEC_OK)?)
}

fn taken(name: &str) -> io::Error {
    io::Error::other(format!(
        "it has lines of a pool {name} already: if there is no such pool, remove the lines between its marks"
    ))
}

/// Removes the lines of a pool, and the copy.
pub(super) fn remove(name: &str, file: &Path) -> io::Result<()> {
    let _turn = Lock::of_configuration()?;
    take_out(name, file)
}

fn take_out(name: &str, file: &Path) -> io::Result<()> {
    let copy = copy_of(file, name);
    // If nothing is written below, nothing else removes what killed processes left.
    [&followed(file), &copy].into_iter().for_each(|path| sweep_beside(path));
    let text = read(file)?.unwrap_or_default();
    let missing =
        |mark| io::Error::other(format!("the line '{mark}' is missing: remove those of the pool by hand"));
    match config::without(name, &text).map_err(missing)? {
        // It was made for the lines, as units are.
        Some(rest) if rest.is_empty() => fs::remove_file(file)?,
        Some(rest) => write(file, &rest, mode(file)?)?,
        None => {}
    }
    match fs::remove_file(&copy) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    // A power cut must not bring back what no log names any more.
    for path in [followed(file), copy] {
        File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()?;
    }
    Ok(())
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
    begun(&followed(path), text, mode)?.keep()
}

/// Where a link leads.
fn followed(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// A file that has no name yet.
fn begun(path: &Path, text: &str, mode: u32) -> io::Result<AtomicFile> {
    let file = AtomicFile::create(path, mode)?;
    file.file().write_all(text.as_bytes())?;
    // Whatever the umask: others read this file.
    file.file().set_permissions(fs::Permissions::from_mode(mode))?;
    Ok(file)
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
        assert!(copy_of(Path::new(&lines.file), "data").exists());
        fs::write(&lines.file, "c\n").expect("writes");
        take_out("data", Path::new(&lines.file)).expect("removes the copy");
        fs::write(&lines.file, [0xff]).expect("writes");
        can_keep("data", &lines).expect_err("it is no text");
        // Killed after the copy, before the lines, and while either was written.
        let path = dir.path().join("fstab0");
        fs::copy(&path, copy_of(&path, "data")).expect("copies");
        for half in [".fstab0.4194999.0", ".fstab0.before-drivebench-data.4194999.0"] {
            fs::write(dir.path().join(half), "half").expect("writes");
        }
        take_out("data", &path).expect("removes");
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("a\nb\n"));
        assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), 2, "no copies stay");
    }

    #[test]
    fn pools_that_are_removed_in_the_order_in_which_they_were_made_leave_nothing() {
        for before in [Some("a\nb\n"), None] {
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("fstab");
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
            assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), left, "no copies stay");
        }
    }

    #[test]
    fn a_file_with_the_name_of_the_copy_is_not_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("fstab");
        fs::write(&path, "a\n").expect("writes");
        let lines = Lines { file: path.to_str().expect("UTF-8").to_owned(), lines: vec!["ours".to_owned()] };
        let (copy, elsewhere) = (copy_of(&path, "data"), dir.path().join("elsewhere"));
        fs::write(&elsewhere, "of others").expect("writes");
        let refused = || {
            let why = can_keep("data", &lines).expect_err("it would be replaced").to_string();
            assert!(why.contains(&format!("mv --no-clobber {0} {0}.old", copy.display())), "{why}");
            insert("data", &lines).expect_err("it would be replaced");
            assert_eq!(fs::read_to_string(&path).expect("reads"), "a\n");
            assert_eq!(fs::read_to_string(&elsewhere).expect("reads"), "of others");
        };
        std::os::unix::fs::symlink(&elsewhere, &copy).expect("links");
        refused();
        fs::remove_file(&copy).expect("removes");
        std::os::unix::fs::symlink(dir.path().join("nowhere"), &copy).expect("links");
        refused();
        fs::remove_file(&copy).expect("removes");
        fs::write(&copy, "of others").expect("writes");
        refused();
        assert_eq!(fs::read_to_string(&copy).expect("reads"), "of others");
        can_keep("other", &lines).expect("its copy has another name");
    }
}
