//! Files of client and server, named by numbers: made, copied, compared and removed. Work that is stopped ends with an error.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::MetadataExt,
    path::Path,
    thread,
};

use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::{
    fs::{Advice, CWD, Mode, OFlags, fadvise, openat, syncfs},
    io::Errno,
};

const PIECE: usize = 1 << 20;
/// Directories of a client: the sets of files that it puts, and what it got.
pub const DIRS: [&str; 4] = [LARGE, SMALL, SEVERAL, GOT];
pub const LARGE: &str = "large";
pub const SMALL: &str = "small";
pub const SEVERAL: &str = "several";
pub const GOT: &str = "got";

/// Returns whether work must end early.
pub type Stop<'a> = &'a (dyn Fn() -> bool + Sync);

fn go_on(stop: Stop<'_>) -> io::Result<()> {
    if stop() { Err(io::Error::other("it was interrupted")) } else { Ok(()) }
}

/// Makes files of incompressible data.
pub fn make(dir: &Path, (files, bytes): (u64, u64), seed: u64, stop: Stop<'_>) -> io::Result<()> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut piece = vec![0; PIECE];
    for number in 0..files {
        let mut file = create(dir, &number.to_string())?;
        let mut left = bytes;
        while left > 0 {
            go_on(stop)?;
            let length = left.min(PIECE as u64) as usize;
            random.fill_bytes(&mut piece[..length]);
            file.write_all(&piece[..length])?;
            left -= length as u64;
        }
    }
    Ok(())
}

/// Removes the files that exist.
pub fn clear(dir: &Path, files: u64) -> io::Result<()> {
    for number in 0..files {
        match fs::remove_file(dir.join(number.to_string())) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

/// Copies files and syncs the filesystem: in parallel if `at_once`, and with a sync of each file
/// if `to_its_end`.
pub fn put(
    from: &Path,
    to: &Path,
    files: u64,
    (at_once, to_its_end): (bool, bool),
    stop: Stop<'_>,
) -> io::Result<()> {
    each(files, at_once, &|name| {
        let (mut from, mut to) = (open_to_copy(from, name)?, create(to, name)?);
        copy(&mut from, &mut to, stop)?;
        if to_its_end { to.sync_all() } else { Ok(()) }
    })?;
    sync(to)
}

/// Opens one of the files; a link, a pipe or a file with other names in its place is refused.
pub fn open(dir: &Path, name: &str) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(CWD, dir.join(name), flags, Mode::empty()) {
        Err(Errno::LOOP | Errno::NXIO) => return Err(replaced(name)),
        opened => File::from(opened?),
    };
    let about = file.metadata()?;
    if about.is_file() && about.nlink() < 2 { Ok(file) } else { Err(replaced(name)) }
}

/// Opens a file for sequential reading, as cp does. A filesystem that does not support the hint ignores it.
pub fn open_to_copy(dir: &Path, name: &str) -> io::Result<File> {
    let file = open(dir, name)?;
    let _ = fadvise(&file, 0, None, Advice::Sequential);
    Ok(file)
}

fn replaced(name: &str) -> io::Error {
    io::Error::other(format!("file {name} was replaced by something else"))
}

/// Reads files and discards the data.
pub fn get(from: &Path, files: u64, at_once: bool, stop: Stop<'_>) -> io::Result<()> {
    each(files, at_once, &|name| copy(&mut open_to_copy(from, name)?, &mut io::sink(), stop).map(drop))
}

/// Creates a file; one that exists already is refused.
pub fn create(dir: &Path, name: &str) -> io::Result<File> {
    File::create_new(dir.join(name)).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => replaced(name),
        _ => e,
    })
}

/// Bytes of one write: few enough that work over a slow link can be stopped.
const PART: usize = 64 << 10;

/// Copies until the end and returns the number of bytes.
pub fn copy(from: &mut dyn Read, to: &mut dyn Write, stop: Stop<'_>) -> io::Result<u64> {
    let (mut piece, mut all) = (vec![0; PIECE], 0);
    loop {
        go_on(stop)?;
        match from.read(&mut piece)? {
            0 => return Ok(all),
            length => {
                for part in piece[..length].chunks(PART) {
                    go_on(stop)?;
                    to.write_all(part)?;
                }
                all += length as u64;
            }
        }
    }
}

/// Works on all files, one after the other or in parallel.
fn each(files: u64, at_once: bool, work: &(dyn Fn(&str) -> io::Result<()> + Sync)) -> io::Result<()> {
    let mut names = (0..files).map(|number| number.to_string());
    if !at_once {
        return names.try_for_each(|name| work(&name));
    }
    thread::scope(|scope| {
        let all: Vec<_> = names.map(|name| scope.spawn(move || work(&name))).collect();
        let gone = |_| Err(io::Error::other("a thread ended unexpectedly"));
        all.into_iter().try_for_each(|work| work.join().unwrap_or_else(gone))
    })
}

/// Syncs the filesystem of a directory.
pub fn sync(dir: &Path) -> io::Result<()> {
    Ok(syncfs(File::open(dir)?)?)
}

/// Drops files from the page cache.
pub fn cool(dir: &Path, files: u64) -> io::Result<()> {
    sync(dir)?;
    for number in 0..files {
        fadvise(open(dir, &number.to_string())?, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

/// How a file differs from what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Differs {
    /// Missing, or of another length.
    Length,
    /// Other bytes.
    Bytes,
}

/// How the first file that differs does so: by length, and if `read` by its bytes.
pub fn differs(a: &Path, b: &Path, files: u64, read: bool, stop: Stop<'_>) -> io::Result<Option<Differs>> {
    for number in 0..files {
        let name = number.to_string();
        let mut first = open(a, &name)?;
        let mut second = match open(b, &name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Some(Differs::Length)),
            opened => opened?,
        };
        if first.metadata()?.len() != second.metadata()?.len() {
            return Ok(Some(Differs::Length));
        }
        if read && !same(&mut first, &mut second, stop)? {
            return Ok(Some(Differs::Bytes));
        }
    }
    Ok(None)
}

/// Whether two files of one length have the same bytes.
fn same(a: &mut File, b: &mut File, stop: Stop<'_>) -> io::Result<bool> {
    let (mut of_a, mut of_b) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        go_on(stop)?;
        let length = a.read(&mut of_a)?;
        b.read_exact(&mut of_b[..length])?;
        if length == 0 || of_a[..length] != of_b[..length] {
            return Ok(length == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::mkfifoat;

    use super::*;

    #[test]
    fn files_are_copied_and_compared() {
        let on = &|| false;
        let [from, to] = ["from", "to"].map(|_| tempfile::tempdir().expect("a directory"));
        let (from, to) = (from.path(), to.path());
        for (set, at_once) in [((1, (3 << 20) + 5), false), ((12, 100), false), ((4, 2 << 20), true)] {
            make(from, set, 1, on).expect("makes");
            put(from, to, set.0, (at_once, set.0 == 12), on).expect("copies");
            cool(to, set.0).and_then(|()| get(to, set.0, at_once, on)).expect("reads");
            assert_eq!(differs(from, to, set.0, true, on).expect("compares"), None);
            for dir in [from, to] {
                clear(dir, set.0).and_then(|()| clear(dir, set.0)).expect("removes");
            }
        }
        make(from, (12, 100), 1, on).and_then(|()| put(from, to, 12, (false, false), on)).expect("makes");
        fs::write(to.join("7"), vec![0; 100]).expect("writes");
        let differs = |read| differs(from, to, 12, read, on).expect("compares");
        assert_eq!([differs(false), differs(true)], [None, Some(Differs::Bytes)]);
        fs::write(to.join("5"), "").expect("writes");
        assert_eq!(differs(true), Some(Differs::Length));
        fs::remove_file(to.join("3")).expect("removes");
        assert_eq!(differs(false), Some(Differs::Length));
    }

    #[test]
    fn what_is_put_in_place_of_a_file_is_not_used() {
        let [dir, other] = [0, 1].map(|_| tempfile::tempdir().expect("a directory"));
        make(dir.path(), (2, 10), 1, &|| false).expect("makes");
        let private = other.path().join("private");
        fs::write(&private, "secret").expect("writes");
        let own = dir.path().join("1");
        let ways: [fn(&Path, &Path) -> io::Result<()>; 3] = [
            |_, own| std::os::unix::fs::symlink("0", own),
            |_, own| Ok(mkfifoat(CWD, own, Mode::RUSR)?),
            |other, own| fs::hard_link(other, own),
        ];
        for replaced in ways {
            fs::remove_file(&own).and_then(|()| replaced(&private, &own)).expect("replaces");
            let all: [io::Result<()>; 4] = [
                cool(dir.path(), 2),
                get(dir.path(), 2, false, &|| false),
                put(dir.path(), other.path(), 2, (false, false), &|| false),
                differs(dir.path(), dir.path(), 2, true, &|| false).map(drop),
            ];
            for used in all {
                let why = used.expect_err("somebody else's file").to_string();
                assert!(why.contains("replaced"), "{why}");
            }
            clear(other.path(), 2).expect("removes");
        }
    }

    #[test]
    fn what_is_stopped_ends_with_an_error() {
        let dir = tempfile::tempdir().expect("a directory");
        let (on, off) = (&|| false, &|| true);
        make(dir.path(), (1, 100), 1, off).expect_err("stopped");
        clear(dir.path(), 1).and_then(|()| make(dir.path(), (1, 100), 1, on)).expect("makes");
        get(dir.path(), 1, false, off).expect_err("stopped");
        super::differs(dir.path(), dir.path(), 1, true, off).expect_err("stopped");
    }
}
