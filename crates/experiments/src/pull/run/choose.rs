//! The files of a pool in use, in the order in which they are chosen to be read.

use std::{
    ffi::OsStr,
    fs::{File, Metadata},
    io,
    os::{
        fd::AsRawFd,
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use rand::{SeedableRng, seq::SliceRandom};
use rustix::{
    fs::{CWD, Dir, Mode, OFlags, ResolveFlags, openat, openat2},
    io::Errno,
};

use crate::{engine::Cancel, test_files::Random};

/// The most entries of directories that are looked at.
const LOOKED_AT: u64 = 200_000;
/// A file that changed this recently may change again within the same tick of the clock that its times have, s.
const QUIET: i64 = 3;

/// A file as it was when it was chosen or read: what any change of its content changes, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    device: u64,
    inode: u64,
    pub size: u64,
    /// When its content or its inode was changed: programs can't set it.
    changed: (i64, i64),
}

impl State {
    pub fn new(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
            size: about.size(),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }
}

/// The directory whose files are read, opened once. Whatever its users do meanwhile, nothing outside of it is opened, and nothing of another
/// filesystem.
#[derive(Debug)]
pub struct Tree {
    dir: File,
}

impl Tree {
    /// `dir` has no links in it, so that it is the one that was looked at.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self { dir: openat2(CWD, dir, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?.into() })
    }

    /// Opens a regular file for reading, past the page cache, without waiting, and so that its time of access stays. A link, a pipe or a
    /// device that was put there is not opened.
    pub fn file(&self, below: &Path) -> io::Result<File> {
        let found = self.opened(below, OFlags::PATH | OFlags::NOFOLLOW)?;
        if !found.metadata()?.is_file() {
            return Err(Errno::LOOP.into());
        }
        let path = format!("/proc/self/fd/{}", found.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::NONBLOCK | OFlags::NOATIME | OFlags::CLOEXEC;
        Ok(openat(CWD, &path, flags, Mode::empty())?.into())
    }

    /// Metadata of a path, without following a link.
    pub fn about(&self, below: &Path) -> io::Result<Metadata> {
        self.opened(below, OFlags::PATH | OFlags::NOFOLLOW)?.metadata()
    }

    fn opened(&self, below: &Path, flags: OFlags) -> Result<File, Errno> {
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        Ok(openat2(&self.dir, below, flags | OFlags::CLOEXEC, Mode::empty(), within)?.into())
    }
}

/// Finds the files of a directory that are not being changed, in an order that follows from their names and the seed. Links are not
/// followed.
pub fn choose(tree: &Tree, seed: u64, cancel: &Cancel) -> Vec<(PathBuf, State)> {
    let mut files = walk(tree, cancel);
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    files.shuffle(&mut Random::seed_from_u64(seed));
    files
}

fn walk(tree: &Tree, cancel: &Cancel) -> Vec<(PathBuf, State)> {
    let (mut files, mut looked) = (Vec::new(), 0);
    let mut pending = vec![PathBuf::from(".")];
    while let Some(at) = pending.pop() {
        let dir = tree.opened(&at, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOATIME);
        let Ok(entries) = dir.and_then(Dir::read_from) else { continue };
        for entry in entries.map_while(Result::ok) {
            if looked == LOOKED_AT || cancel.is_set() {
                return files;
            }
            looked += 1;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let path = at.join(OsStr::from_bytes(name));
            let Ok(about) = tree.about(&path) else { continue };
            if about.is_dir() {
                pending.push(path);
            } else if about.is_file() && about.len() > 0 && is_quiet(&about) {
                files.push((path, State::new(&about)));
            }
        }
    }
    files
}

fn is_quiet(about: &Metadata) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() as i64);
    about.ctime() <= now - QUIET
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, time::Duration};

    use super::*;

    /// Waits until files that were just made count as quiet.
    fn settle() {
        std::thread::sleep(Duration::from_secs(QUIET as u64 + 1));
    }

    #[test]
    fn files_are_chosen_by_name_and_seed_and_no_link_is_followed() {
        let home = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        let (dir, other) = (home.path().join("pool"), home.path().join("other"));
        for path in [&dir.join("a/b"), &other] {
            fs::create_dir_all(path).expect("creates");
        }
        let hostile: [&[u8]; 5] = [b"\xff\xfe", b"a\nb", b"\x1b[2J", b"-rf *", b" .. "];
        for (at, name) in hostile.iter().enumerate() {
            fs::write(dir.join("a").join(OsStr::from_bytes(name)), vec![1; 1000 + at]).expect("writes");
        }
        for number in 0..40 {
            fs::write(dir.join(format!("a/b/{number}")), vec![2; 10_000]).expect("writes");
        }
        fs::write(dir.join("empty"), "").expect("writes");
        fs::write(other.join("secret"), "3").expect("writes");
        symlink(&other, dir.join("directory")).expect("links");
        symlink(other.join("secret"), dir.join("file")).expect("links");
        symlink(".", dir.join("a/loop")).expect("links");
        rustix::fs::mknodat(CWD, dir.join("pipe"), rustix::fs::FileType::Fifo, Mode::RWXU, 0)
            .expect("a pipe");
        let tree = Tree::open(&dir).expect("opens");
        let all = |seed: u64| choose(&tree, seed, &Cancel::default());
        assert!(all(1).is_empty(), "they may still be changed");
        settle();
        let every = all(1);
        assert_eq!(every.len(), 45);
        assert!(every.iter().all(|(path, _)| path.starts_with("./a")));
        assert_eq!(every, all(1));
        assert_ne!(every, all(2));
    }

    #[test]
    fn nothing_outside_of_the_directory_is_opened() {
        let home = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        let (dir, other) = (home.path().join("pool"), home.path().join("other"));
        for path in [dir.join("a"), other.join("a")] {
            fs::create_dir_all(&path).expect("creates");
            fs::write(path.join("file"), "1").expect("writes");
        }
        let tree = Tree::open(&dir).expect("opens");
        assert!(tree.file(Path::new("a/file")).is_ok());
        // A user puts a link where a directory was.
        fs::rename(dir.join("a"), dir.join("b")).expect("renames");
        symlink("../other/a", dir.join("a")).expect("links");
        let refused = |path: &str| tree.file(Path::new(path)).expect_err("refuses").raw_os_error();
        assert_eq!(refused("a/file"), Some(Errno::LOOP.raw_os_error()));
        assert_eq!(refused("a"), Some(Errno::LOOP.raw_os_error()));
        assert_eq!(refused("../other/a/file"), Some(Errno::XDEV.raw_os_error()));
        assert!(tree.about(Path::new("a")).is_ok_and(|about| about.is_symlink()));
        assert!(Tree::open(&dir.join("a")).is_err(), "a link is another directory");
        // The directory that was opened is read, whatever is at its path now.
        fs::rename(&dir, home.path().join("moved")).expect("renames");
        symlink("other", &dir).expect("links");
        assert!(tree.file(Path::new("b/file")).is_ok());
        assert!(Tree::open(&dir).is_err());
    }
}
