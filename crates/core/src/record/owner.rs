//! Owner, permissions and locks of the store's files. With `sudo`, they belong to the user who called it.

use std::{
    env,
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, fchown},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

/// Files in the store can be read by their owner only: they hold serials and paths.
pub const PRIVATE: u32 = 0o600;

/// The user and group who called `sudo`.
pub fn caller() -> Option<(u32, u32)> {
    let id = |name: &str| env::var(name).ok()?.parse::<u32>().ok();
    let uid = id("SUDO_UID").filter(|uid| *uid != 0 && rustix::process::geteuid().is_root())?;
    Some((uid, id("SUDO_GID")?))
}

/// The home directory of the user who called `sudo`, or else of this user.
pub fn home() -> Option<PathBuf> {
    let of_caller = || home_of(caller()?.0, &fs::read_to_string("/etc/passwd").ok()?);
    let own = || env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    of_caller().or_else(own)
}

fn home_of(uid: u32, passwd: &str) -> Option<PathBuf> {
    let mut users = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let user = users.find(|fields| fields.get(2).and_then(|id| id.parse().ok()) == Some(uid))?;
    user.get(5).map(PathBuf::from).filter(|home| home.is_absolute())
}

/// The target of a path that goes through links to a directory of another user than `uid`. Root must not write there on behalf of `uid`.
pub(super) fn leads_elsewhere(path: &Path, uid: u32) -> Option<PathBuf> {
    let existing = path.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    match existing.canonicalize() {
        Ok(real) if real == existing || real.metadata().is_ok_and(|about| about.uid() == uid) => None,
        Ok(real) => Some(real),
        Err(_) => Some(existing.read_link().unwrap_or_else(|_| existing.to_owned())),
    }
}

/// Creates a directory for its owner only, and those above it.
pub fn make_dir(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_dir(above)?;
    match DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        made => made.and_then(|()| hand_over(&File::open(path)?, &File::open(above)?)),
    }
}

/// Gives what root created in a directory of the user who called `sudo` to that user.
pub fn hand_over(file: &File, dir: &File) -> io::Result<()> {
    match caller() {
        Some((uid, gid)) if dir.metadata()?.uid() == uid => fchown(file, Some(uid), Some(gid)),
        _ => Ok(()),
    }
}

/// Takes a file back from the user who called `sudo`.
pub fn keep_for_root(file: &File) -> io::Result<()> {
    match caller() {
        Some(_) => fchown(file, Some(0), Some(0)),
        None => Ok(()),
    }
}

/// Locks a file or directory while it is open, if the filesystem supports locks; the error is `WouldBlock`.
pub fn lock(file: &File) -> io::Result<()> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(io::Error::new(io::ErrorKind::WouldBlock, "another program uses it")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_of_a_user_is_read_from_the_list_of_users() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\n\nbad:x\nada:x:1000:1000:Ada,,,:/home/ada:/bin/sh\nx:x:7:7::rel:\n";
        assert_eq!(home_of(1000, passwd), Some(PathBuf::from("/home/ada")));
        assert_eq!((home_of(7, passwd), home_of(1, passwd)), (None, None));
    }

    #[test]
    fn links_to_directories_of_others_are_not_followed() {
        let dir = tempfile::tempdir().expect("a directory");
        let (own, link) = (dir.path().canonicalize().expect("is there"), dir.path().join("link"));
        let uid = rustix::process::geteuid().as_raw();
        assert_eq!(leads_elsewhere(&own.join("a/b"), uid + 1), None, "without a link, it is where it says");
        for (to, user, elsewhere) in [
            (own.as_path(), uid, None),
            (&own, uid + 1, Some(own.clone())),
            (Path::new("/nowhere"), uid, Some("/nowhere".into())),
        ] {
            std::os::unix::fs::symlink(to, &link).expect("links");
            assert_eq!(leads_elsewhere(&link.join("a"), user), elsewhere, "{to:?}");
            fs::remove_file(&link).expect("removes");
        }
    }
}
