//! Files of other programs whose content was read once, so that it is known later.

use std::{
    ffi::OsStr,
    fs::{File, Metadata},
    hash::{DefaultHasher, Hasher},
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

use crate::{
    engine::{Aligned, Cancel},
    pull::FilesRead,
    test_files::{FileLook, KnownFiles, READ, Random, read},
};

/// A file, with the hash of its beginning, so that a few large files don't stand for all.
#[derive(Debug)]
struct KnownFile {
    path: PathBuf,
    state: State,
    hash: u64,
}

impl KnownFile {
    /// Bytes that are read of it.
    fn length(&self) -> u64 {
        self.state.size.min(READ as u64)
    }
}

/// Known files below a directory.
#[derive(Debug)]
pub struct FilesInUse {
    tree: Tree,
    files: Vec<KnownFile>,
}

impl FilesInUse {
    /// Reads the beginnings of files in their order, at most `bytes` of all. Files that can't be read, or are being changed, are left out.
    pub fn read(tree: Tree, chosen: Vec<(PathBuf, State)>, bytes: u64, cancel: &Cancel) -> (Self, FilesRead) {
        let mut about = FilesRead::default();
        let mut buffer = Aligned::new(READ);
        let mut known = Self { tree, files: Vec::new() };
        for (path, state) in chosen.into_iter().take_while(|_| !cancel.is_set()) {
            let file = KnownFile { path, state, hash: 0 };
            let length = file.length();
            if !known.files.is_empty() && about.bytes + length > bytes {
                break;
            }
            if let Ok(hash) = known.unchanged(&file, |opened| hash(opened, length, &mut buffer)) {
                about.bytes += length;
                known.files.push(KnownFile { hash, ..file });
            }
        }
        about.files = known.files.len() as u64;
        (known, about)
    }

    /// Reads from a file, unless it is another one or differs from what it was, before or afterwards.
    fn unchanged<T>(
        &self,
        KnownFile { path, state, .. }: &KnownFile,
        work: impl FnOnce(&File) -> io::Result<T>,
    ) -> Result<T, FileLook> {
        let failed = |e: io::Error| match e.raw_os_error().map(Errno::from_raw_os_error) {
            // Gone, a link by now, below another filesystem, or leased to a program that writes to it.
            Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::AGAIN) => {
                FileLook::Changed
            }
            _ => FileLook::Failed(e),
        };
        let file = self.tree.file(path).map_err(failed)?;
        let is_as_it_was =
            || file.metadata().map(|about| State::new(&about) == *state).map_err(FileLook::Failed);
        if !is_as_it_was()? {
            return Err(FileLook::Changed);
        }
        let result = work(&file);
        if is_as_it_was()? { result.map_err(FileLook::Failed) } else { Err(FileLook::Changed) }
    }
}

impl KnownFiles for FilesInUse {
    fn count(&self) -> usize {
        self.files.len()
    }

    fn bytes(&self, number: usize) -> u64 {
        self.files[number].length()
    }

    fn look(&self, number: usize, buffer: &mut Aligned) -> FileLook {
        let file = &self.files[number];
        let same = self.unchanged(file, |opened| Ok(hash(opened, file.length(), buffer)? == file.hash));
        same.map_or_else(|look| look, |is_same| Ok(is_same).into())
    }

    fn look_at_piece(&self, number: usize, _: &mut Random, buffer: &mut Aligned) -> (u64, FileLook) {
        (self.bytes(number), self.look(number, buffer))
    }
}

/// A hash of the beginning of a file, which may end early. Whoever can make another content with the same hash can't change the file without
/// changing its times.
fn hash(file: &File, length: u64, buffer: &mut Aligned) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    hasher.write(read(file, 0, length, buffer)?);
    Ok(hasher.finish())
}

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
    use std::{
        fs::{self, OpenOptions},
        os::unix::{
            ffi::OsStrExt,
            fs::{FileExt, symlink},
        },
        sync::Arc,
        thread,
        time::Duration,
    };

    use super::*;
    use crate::test_files::{Load, Outcome, verify};

    fn known(tree: Tree, bytes: u64) -> Arc<FilesInUse> {
        let chosen = choose(&tree, 1, &Cancel::default());
        Arc::new(FilesInUse::read(tree, chosen, bytes, &Cancel::default()).0)
    }

    #[test]
    fn files_that_other_programs_change_are_never_called_wrong() {
        let home = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        let dir = home.path();
        let name = |number: usize| dir.join(std::ffi::OsStr::from_bytes(&[b'a' + number as u8, 0xff, b'\n']));
        for number in 0..8 {
            fs::write(name(number), vec![number as u8; READ + 1000 * number + 1]).expect("writes");
        }
        thread::sleep(Duration::from_secs(4));
        let tree = Tree::open(dir).expect("opens");
        let chosen = choose(&tree, 1, &Cancel::default());
        // One is written to after it was chosen, one is gone.
        let write = |number: usize, bytes: &[u8]| {
            let file = OpenOptions::new().write(true).open(name(number)).expect("opens");
            file.write_all_at(bytes, 100).expect("writes");
        };
        write(0, b"changed");
        fs::remove_file(name(1)).expect("removes");
        let (files, about) = FilesInUse::read(tree, chosen, 1 << 30, &Cancel::default());
        let mut files = Arc::new(files);
        assert_eq!((about.files, about.bytes), (6, 6 * READ as u64));
        let all = verify(&files);
        assert_eq!((all.whole, all.changed, all.all()), (6, 0, 6));
        // The same bytes again, a replaced file, one that is removed, and a link.
        write(2, &[2]);
        fs::remove_file(name(3)).expect("removes");
        fs::write(name(3), vec![3; READ + 3001]).expect("writes");
        fs::remove_file(name(4)).expect("removes");
        fs::remove_file(name(5)).expect("removes");
        symlink(name(6), name(5)).expect("links");
        let all = verify(&files);
        assert_eq!(
            (all.whole, all.changed, all.wrong, all.failed, all.lost_bytes),
            (2, 4, 0, 0, 0),
            "{all:?}"
        );
        // What nothing changed, and yet differs, is wrong.
        let number = files.files.iter().position(|file| dir.join(&file.path) == name(7)).expect("is known");
        Arc::get_mut(&mut files).expect("no thread has them").files[number].hash ^= 1;
        let lost = files.bytes(number);
        let all = verify(&files);
        assert_eq!((all.whole, all.changed, all.wrong, all.lost_bytes), (1, 4, 1, lost));
    }

    #[test]
    fn of_large_files_the_begin_is_read() {
        let home = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        for number in 0..40 {
            fs::write(home.path().join(number.to_string()), vec![1; 3 * READ + 1]).expect("writes");
        }
        thread::sleep(Duration::from_secs(4));
        let tree = Tree::open(home.path()).expect("opens");
        let chosen = choose(&tree, 1, &Cancel::default());
        let (files, about) = FilesInUse::read(tree, chosen, 32 * READ as u64, &Cancel::default());
        assert_eq!((about.files, about.bytes), (32, 32 * READ as u64));
        assert_eq!((files.bytes(0), verify(&Arc::new(files)).whole), (READ as u64, 32));
    }

    #[test]
    fn reading_leaves_the_time_of_access() {
        let home = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        let path = home.path().join("file");
        fs::write(&path, "some").expect("writes");
        thread::sleep(Duration::from_secs(4));
        let before = fs::metadata(&path).and_then(|about| about.accessed()).expect("a time");
        let tree = Tree::open(home.path()).expect("opens");
        let files = known(tree, 1 << 20);
        assert_eq!((verify(&files).whole, files.count()), (1, 1));
        assert_eq!(fs::metadata(&path).and_then(|about| about.accessed()).expect("a time"), before);
    }

    #[test]
    fn pieces_are_read_until_their_files_are_gone() {
        let home = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        for name in ["a", "b"] {
            fs::write(home.path().join(name), vec![7; 3 * READ]).expect("writes");
        }
        thread::sleep(Duration::from_secs(4));
        let files = known(Tree::open(home.path()).expect("opens"), 1 << 30);
        let load = Load::start(files.clone(), 1, None).expect("starts");
        while load.ops().len() < 5 {
            thread::yield_now();
        }
        for name in ["a", "b"] {
            fs::remove_file(home.path().join(name)).expect("removes");
        }
        while Arc::strong_count(&files) > 1 {
            thread::yield_now();
        }
        let (ops, hanging) = load.end();
        assert!(hanging.is_empty() && ops.len() >= 5);
        assert!(ops.iter().all(|op| op.outcome == Outcome::Done && !op.write && op.bytes == READ as u64));
    }
}

#[cfg(test)]
mod tree_tests {
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
