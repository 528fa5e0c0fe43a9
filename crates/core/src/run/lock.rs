//! A lock per drive: two runs on one drive would disturb each other.

use std::{
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::{MetadataExt, PermissionsExt},
    },
    path::Path,
    time::{Duration, Instant},
};

use rustix::{
    fs::{CWD, Mode, OFlags, fchown, mkdirat, openat},
    io::Errno,
    path::Arg,
    process::{Uid, geteuid},
};

use crate::record::lock;

/// Directories in which every user may make one, in the order in which they are tried.
const PLACES: [&str; 2] = ["/run/lock", "/tmp"];
/// Only root can make files here, so no other user can hold a lock of these files.
const OF_ROOT: &str = "/run";
/// How long another drivebench may change the configuration of the system.
const TURN: Duration = Duration::from_secs(10);
/// How often a waiting run checks whether the drive is free.
const POLL: Duration = Duration::from_millis(200);

/// The directory of a user's locks. No other user can open it, so no other user can hold a lock.
#[derive(Debug)]
pub struct Locks {
    dir: OwnedFd,
    owner: u32,
}

/// Locks a drive while this value lives; ends with the process.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{0} is being measured by another drivebench")]
    Busy(String),
    #[error("can't check whether another run measures the drive: {0}")]
    System(#[from] io::Error),
}

impl Locks {
    /// The locks of this user, or of the user who called sudo. If no other directory is possible, they are in the store.
    pub fn open(store: &Path) -> Result<Self, LockError> {
        let caller = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
        let owner = caller.filter(|_| geteuid().is_root()).unwrap_or(geteuid().as_raw());
        let own = |place: &str| private(&Path::new(place).join(format!("drivebench-{owner}")), owner).ok();
        if let Some(dir) = PLACES.into_iter().filter(|place| is_shared(place)).find_map(own) {
            return Ok(Self { dir, owner });
        }
        fs::create_dir_all(store)?;
        Ok(Self { dir: private(&store.join("locks"), owner)?, owner })
    }

    /// Locks the drive with this identity; `label` names it in messages.
    pub fn take(&self, identity: &str, label: &str) -> Result<Lock, LockError> {
        self.wait(identity, label, || true)
    }

    /// Like [`take`](Self::take), but waits while another run measures the drive, until `give_up` returns true.
    pub fn wait(&self, identity: &str, label: &str, give_up: impl Fn() -> bool) -> Result<Lock, LockError> {
        let lock = Lock::of_file(&self.dir, file_name(identity), self.owner, give_up)?;
        lock.ok_or_else(|| LockError::Busy(label.to_owned()))
    }
}

impl Lock {
    /// Held while files of the system's configuration are read and replaced; needs root.
    pub(super) fn of_configuration() -> io::Result<Self> {
        Self::in_turn(&Path::new(OF_ROOT).join("drivebench-configuration.lock"), TURN)
    }

    /// Locks a resource that only one run on the machine may use: an array, by its kernel name, while a drive of it may be away; or
    /// swap. Needs root.
    pub fn of_machine(name: &str) -> io::Result<Self> {
        Self::in_turn(&Path::new(OF_ROOT).join(format!("drivebench-{name}.lock")), Duration::ZERO)
    }

    fn in_turn(path: &Path, limit: Duration) -> io::Result<Self> {
        let until = Instant::now() + limit;
        let lock = Self::of_file(CWD, path, geteuid().as_raw(), || Instant::now() >= until)?;
        let path = path.display();
        lock.ok_or_else(|| {
            io::Error::other(format!("another drivebench has locked {path}: try again when it has ended"))
        })
    }

    /// Locks a file, which is made if it is missing, and waits for it until `give_up` returns true.
    fn of_file(
        dir: impl AsFd,
        path: impl Arg,
        owner: u32,
        give_up: impl Fn() -> bool,
    ) -> io::Result<Option<Self>> {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(dir, path, flags, Mode::RUSR | Mode::WUSR)?);
        give(&file, owner);
        while lock(&file).is_err() {
            if give_up() {
                return Ok(None);
            }
            std::thread::sleep(POLL);
        }
        Ok(Some(Self { _file: file }))
    }
}

/// A directory like `/tmp`: anybody may create files, and only their owners remove them.
fn is_shared(place: &str) -> bool {
    fs::metadata(place).is_ok_and(|about| about.is_dir() && about.permissions().mode() & 0o1777 == 0o1777)
}

/// Opens the directory that only `owner` can use, and creates it first if it is missing. Another user may have taken
/// its name.
fn private(path: &Path, owner: u32) -> io::Result<OwnedFd> {
    let made = match mkdirat(CWD, path, Mode::RWXU) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(e) => return Err(e.into()),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = File::from(openat(CWD, path, flags, Mode::empty())?);
    if made {
        give(&dir, owner);
    }
    let about = dir.metadata()?;
    match about.uid() == owner && about.permissions().mode() & 0o077 == 0 {
        true => Ok(dir.into()),
        false => Err(io::Error::other(format!("{} is also accessible to other users", path.display()))),
    }
}

/// Files that root makes for a user belong to that user.
fn give(file: &File, owner: u32) {
    if geteuid().is_root() && owner != 0 {
        // Where this fails, the user's own runs can't open it, and say so.
        let _ = fchown(file, Some(Uid::from_raw(owner)), None);
    }
}

/// An identity may contain any character.
fn file_name(identity: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "+-@.".contains(c) { c } else { '_' };
    let start: String = identity.chars().map(plain).take(100).collect();
    format!("{start}-{:08x}.lock", crc32fast::hash(identity.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn locks(dir: &Path) -> Locks {
        let owner = geteuid().as_raw();
        Locks { dir: private(dir, owner).expect("private"), owner }
    }

    #[test]
    fn a_second_run_is_refused_until_the_first_ends() {
        let home = tempfile::tempdir().expect("a directory");
        let [mine, other] = [(); 2].map(|()| locks(&home.path().join("locks")));
        let first = mine.take("4C53/0001", "Cruzer Blade 4C530001").expect("free");
        let refused = other.take("4C53/0001", "Cruzer Blade 4C530001").expect_err("taken").to_string();
        assert_eq!(refused, "Cruzer Blade 4C530001 is being measured by another drivebench");
        other.take("4C53_0001", "another drive with nearly the same name").expect("free");
        assert!(other.wait("4C53/0001", "it", || true).is_err());
        drop(first);
        // A program that another test starts has a copy of the file until it has become that program.
        let until = Instant::now() + Duration::from_secs(60);
        other.wait("4C53/0001", "it", || Instant::now() > until).expect("free again");
    }

    #[test]
    fn the_configuration_is_changed_by_one_at_a_time_and_no_one_waits_forever() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("configuration.lock");
        let first = Lock::in_turn(&path, Duration::ZERO).expect("free");
        let mode = fs::metadata(&path).expect("is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "no other user can open it");
        let refused = Lock::in_turn(&path, Duration::ZERO).expect_err("taken").to_string();
        let shown = path.display();
        assert_eq!(refused, format!("another drivebench has locked {shown}: try again when it has ended"));
        drop(first);
        Lock::in_turn(&path, Duration::from_secs(60)).expect("free again");
        // A link of another user leads elsewhere.
        symlink(&path, home.path().join("link")).expect("links");
        Lock::in_turn(&home.path().join("link"), Duration::ZERO).expect_err("a link");
    }

    /// The socket of earlier versions filled its queue after 128 checks, and the next check hung.
    #[test]
    fn waiting_looks_as_often_as_needed() {
        let home = tempfile::tempdir().expect("a directory");
        let [mine, other] = [(); 2].map(|()| locks(&home.path().join("locks")));
        let _held = mine.take("A", "A").expect("free");
        assert!((0..1000).all(|_| matches!(other.take("A", "A"), Err(LockError::Busy(_)))));
    }

    #[test]
    fn a_directory_that_others_can_use_is_not_used() {
        let home = tempfile::tempdir().expect("a directory");
        let me = geteuid().as_raw();
        let open = home.path().join("open");
        fs::create_dir(&open).expect("creates");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).expect("opens");
        let link = home.path().join("link");
        fs::create_dir(home.path().join("elsewhere")).expect("creates");
        symlink(home.path().join("elsewhere"), &link).expect("links");
        for taken in [&open, &link] {
            assert!(private(taken, me).is_err(), "{taken:?}");
        }
        // The directory of another user.
        drop(private(&home.path().join("own"), me).expect("creates"));
        assert!(private(&home.path().join("own"), me + 1).is_err());
    }
}
