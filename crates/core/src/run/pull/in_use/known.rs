//! Files whose content was read once, so that it is known later.

use std::{
    fs::File,
    hash::{DefaultHasher, Hasher},
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
    time::Instant,
};

use rustix::io::Errno;

use super::{
    super::files::{Checking, READ, read},
    choose::{Candidate, Chosen, State, Tree, length},
};
use crate::{
    engine::{Aligned, Cancel},
    record::ReadOnly,
};

/// A file of another program, with the hashes of its pieces.
#[derive(Debug)]
pub struct Known {
    tree: Arc<Tree>,
    path: PathBuf,
    state: State,
    pub pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy)]
pub struct Piece {
    offset: u64,
    pub length: u64,
    hash: u64,
}

/// What is found of a file or of a piece of it.
#[derive(Debug)]
pub enum Look {
    /// As it was.
    Same,
    /// Another program changed, replaced or removed it: nothing is known of it.
    Changed,
    /// It holds something else, although nothing changed it.
    Wrong,
    Failed(io::Error),
}

impl Known {
    fn of(tree: &Arc<Tree>, candidate: &Candidate, buffer: &mut Aligned) -> Result<Self, Look> {
        let Candidate { path, state, pieces } = candidate;
        let pieces = unchanged(tree, path, state, |file| {
            let piece = |&offset: &u64| {
                let length = length(state, offset);
                let bytes = read(file, offset, length, buffer)?;
                let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
                (bytes.len() as u64 == length)
                    .then(|| Piece { offset, length, hash: hash(bytes) })
                    .ok_or_else(short)
            };
            pieces.iter().map(piece).collect()
        })?;
        Ok(Self { tree: Arc::clone(tree), path: path.clone(), state: *state, pieces })
    }

    /// Reads some of its pieces again, past the page cache; `begins` is called before each.
    pub fn look(&self, pieces: &[Piece], buffer: &mut Aligned, begins: &dyn Fn()) -> Look {
        let same = unchanged(&self.tree, &self.path, &self.state, |file| {
            for piece in pieces {
                begins();
                let bytes = read(file, piece.offset, piece.length, buffer)?;
                if bytes.len() as u64 != piece.length || hash(bytes) != piece.hash {
                    return Ok(false);
                }
            }
            Ok(true)
        });
        match same {
            Ok(true) => Look::Same,
            Ok(false) => Look::Wrong,
            Err(look) => look,
        }
    }

    /// Reads a page; none if another program changed the file.
    pub fn first_page(&self) -> Option<io::Result<()>> {
        let page = |file: &File| read(file, 0, 1, &mut Aligned::new(READ)).map(drop);
        match unchanged(&self.tree, &self.path, &self.state, page) {
            Ok(()) => Some(Ok(())),
            Err(Look::Failed(e)) => Some(Err(e)),
            Err(_) => None,
        }
    }

    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.length).sum()
    }
}

/// Reads from a file, unless it is another one or differs from what it was, before or afterwards.
fn unchanged<T>(
    tree: &Tree,
    path: &Path,
    state: &State,
    work: impl FnOnce(&File) -> io::Result<T>,
) -> Result<T, Look> {
    let failed = |e: io::Error| match e.raw_os_error().map(Errno::from_raw_os_error) {
        // Gone, a link by now, below another filesystem, or leased to a program that writes to it.
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::AGAIN) => Look::Changed,
        _ => Look::Failed(e),
    };
    let file = tree.file(path).map_err(|e| match tree.about(path) {
        // Something else is there that can't be opened so, such as a directory.
        Ok(about) if State::of(&about) != *state => Look::Changed,
        _ => failed(e),
    })?;
    let is_as_it_was = || file.metadata().map(|about| State::of(&about) == *state).map_err(Look::Failed);
    if !is_as_it_was()? {
        return Err(Look::Changed);
    }
    let result = work(&file);
    if is_as_it_was()? { result.map_err(Look::Failed) } else { Err(Look::Changed) }
}

/// Whoever can make another content with the same hash can't change the file without changing its times.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// Reads all files that were chosen. Those that can't be read, or are being changed, are counted and left out.
pub fn know(tree: &Arc<Tree>, chosen: &Chosen, cancel: &Cancel) -> (Vec<Known>, ReadOnly) {
    let Chosen { files, found, more, unreadable, changing } = chosen;
    let mut about = ReadOnly {
        found: *found,
        more: *more,
        unreadable: *unreadable,
        changing: *changing,
        ..ReadOnly::default()
    };
    let mut buffer = Aligned::new(READ);
    let mut all = Vec::new();
    for candidate in files.iter().take_while(|_| !cancel.is_set()) {
        match Known::of(tree, candidate, &mut buffer) {
            Ok(known) => {
                about.files += 1;
                about.bytes += known.bytes();
                all.push(known);
            }
            Err(Look::Failed(_)) => about.unreadable += 1,
            Err(_) => about.changing += 1,
        }
    }
    (all, about)
}

/// Reads all files again.
pub fn check(files: &[Known], checking: &Arc<Checking>) {
    let mut buffer = Aligned::new(READ);
    let begins = || *checking.since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    for file in files {
        begins();
        let mut look = || file.look(&file.pieces, &mut buffer, &begins);
        let first = look();
        let was_wrong = matches!(first, Look::Wrong);
        // What is stored wrong stays wrong.
        let then = if was_wrong { look() } else { first };
        let mut found = checking.found.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(then, Look::Wrong | Look::Failed(_)) {
            found.lost_bytes += file.bytes();
        }
        match then {
            Look::Same => {
                found.whole += 1;
                found.unsteady += u64::from(was_wrong);
            }
            Look::Changed => found.changed += 1,
            Look::Wrong => found.wrong += 1,
            Look::Failed(e) => {
                found.failed += 1;
                found.error.get_or_insert(e.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, OpenOptions},
        os::unix::{
            ffi::OsStrExt,
            fs::{FileExt, symlink},
        },
        thread,
        time::Duration,
    };

    use super::{super::choose::choose, *};
    use crate::record::FilesFound;

    fn found(files: &[Known]) -> FilesFound {
        let checking = Arc::new(Checking::new());
        check(files, &checking);
        checking.found()
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
        let tree = Arc::new(Tree::open(dir).expect("opens"));
        let chosen = choose(&tree, 1 << 30, 1, &Cancel::default());
        // One is written to after it was chosen, one is gone.
        let write = |number: usize, bytes: &[u8]| {
            let file = OpenOptions::new().write(true).open(name(number)).expect("opens");
            file.write_all_at(bytes, 100).expect("writes");
        };
        write(0, b"changed");
        fs::remove_file(name(1)).expect("removes");
        let (mut files, about) = know(&tree, &chosen, &Cancel::default());
        assert_eq!((about.files, about.changing, about.unreadable, about.found), (6, 2, 0, 8));
        assert_eq!(about.bytes, files.iter().map(|file| file.state.size).sum::<u64>());
        let all = found(&files);
        assert_eq!((all.whole, all.changed, all.all()), (6, 0, 6));
        // The same bytes again, a replaced file, one that is removed, and a link.
        write(2, &[2]);
        fs::remove_file(name(3)).expect("removes");
        fs::write(name(3), vec![3; READ + 3001]).expect("writes");
        fs::remove_file(name(4)).expect("removes");
        fs::remove_file(name(5)).expect("removes");
        symlink(name(6), name(5)).expect("links");
        let all = found(&files);
        assert_eq!(
            (all.whole, all.changed, all.wrong, all.failed, all.lost_bytes),
            (2, 4, 0, 0, 0),
            "{all:?}"
        );
        // What nothing changed, and yet differs, is wrong.
        let last = files.iter_mut().find(|file| dir.join(&file.path) == name(7)).expect("is known");
        last.pieces[1].hash ^= 1;
        let lost = last.bytes();
        let all = found(&files);
        assert_eq!((all.whole, all.changed, all.wrong, all.lost_bytes), (1, 4, 1, lost));
    }

    #[test]
    fn reading_leaves_the_time_of_access() {
        let home = tempfile::tempdir_in("/var/tmp").expect("a directory on a drive");
        let path = home.path().join("file");
        fs::write(&path, "some").expect("writes");
        thread::sleep(Duration::from_secs(4));
        let before = fs::metadata(&path).and_then(|about| about.accessed()).expect("a time");
        let tree = Arc::new(Tree::open(home.path()).expect("opens"));
        let (files, _) = know(&tree, &choose(&tree, 1 << 20, 1, &Cancel::default()), &Cancel::default());
        assert_eq!((found(&files).whole, files.len()), (1, 1));
        assert_eq!(fs::metadata(&path).and_then(|about| about.accessed()).expect("a time"), before);
    }
}
