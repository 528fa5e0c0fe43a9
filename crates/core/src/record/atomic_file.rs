//! Atomic files: written without a name or under a temporary one in the same directory, then named.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Write},
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    path::Path,
};

use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, linkat, mkdirat, openat, renameat,
        renameat_with, statat, unlinkat,
    },
    io::Errno,
};

use super::owner::{hand_over, lock};

/// A file that gets its name once it is complete, and disappears if dropped earlier. A link of that name is replaced, not followed.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    /// Open, so that it can't be replaced meanwhile.
    dir: File,
    name: OsString,
    /// Where the filesystem can't hold files without a name.
    temporary: Option<OsString>,
}

impl AtomicFile {
    /// `mode` are the rights of the file, less the umask. Only regular files and links are replaced.
    pub fn create(path: &Path, mode: u32) -> io::Result<Self> {
        let (dir, name) = place(path)?;
        let kind = statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW)
            .map(|there| FileType::from_raw_mode(there.st_mode));
        if kind.is_ok_and(|kind| !matches!(kind, FileType::RegularFile | FileType::Symlink)) {
            let why = format!("{} is not a regular file", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Self::begin(dir, name, mode)
    }

    /// Writes a file, also over a power cut.
    pub fn write(path: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
        let mut file = Self::create(path, mode)?;
        file.file.write_all(content)?;
        file.keep()
    }

    fn begin(dir: File, name: OsString, mode: u32) -> io::Result<Self> {
        let (file, temporary) = match without_name(&dir, mode) {
            Some(file) => (file, None),
            None => {
                sweep_of(&dir, &name);
                let (file, temporary) = free(&name, |temporary| {
                    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                    Ok(openat(&dir, temporary, flags, Mode::from_raw_mode(mode))?)
                })?;
                (File::from(file), Some(temporary))
            }
        };
        // A sweep leaves locked files alone.
        let _ = lock(&file);
        hand_over(&file, &dir)?;
        Ok(Self { file, dir, name, temporary })
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Replaces the file of that name. After a power cut, either the old file or the complete new one is there.
    pub fn keep(self) -> io::Result<()> {
        self.file.sync_all()?;
        let dir = self.dir.try_clone()?;
        self.rename()?;
        dir.sync_all()
    }

    /// Names the file if the name is free; else the error is `AlreadyExists`. Returns the file, still locked.
    pub fn keep_new(mut self) -> io::Result<File> {
        self.file.sync_all()?;
        let (dir, file) = (self.dir.try_clone()?, self.file.try_clone()?);
        match &self.temporary {
            None => linkat(CWD, own_path(&file), &dir, &self.name, AtFlags::SYMLINK_FOLLOW)?,
            Some(temporary) => rename_new(&dir, temporary, &self.name)?,
        }
        self.temporary = None;
        // A failure leaves nothing behind.
        dir.sync_all().inspect_err(|_| {
            let _ = unlinkat(&dir, &self.name, AtFlags::empty());
        })?;
        Ok(file)
    }

    /// Replaces the file of that name without syncing: for files that can be rebuilt.
    pub fn rename(mut self) -> io::Result<()> {
        let Self { file, dir, name, .. } = &self;
        if self.temporary.is_none() {
            let link =
                |temporary: &OsStr| Ok(linkat(CWD, own_path(file), dir, temporary, AtFlags::SYMLINK_FOLLOW)?);
            self.temporary = Some(free(name, link)?.1);
        }
        if let Some(temporary) = &self.temporary {
            renameat(&self.dir, temporary, &self.dir, &self.name)?;
        }
        self.temporary = None;
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The caller reports the error.
            let _ = unlinkat(&self.dir, temporary, AtFlags::empty());
        }
    }
}

/// Creates a directory of files. Nothing is replaced: the error is `AlreadyExists`. A kill may leave a part of it.
pub fn keep_new_dir(path: &Path, files: &[(String, String)]) -> io::Result<()> {
    if let Some((name, _)) = files.iter().find(|(name, _)| Path::new(name).file_name() != Some(name.as_ref()))
    {
        return Err(io::Error::other(format!("{name} is not a file name")));
    }
    let (above, name) = place(path)?;
    mkdirat(&above, &name, Mode::from_raw_mode(0o777))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = File::from(openat(&above, &name, flags, Mode::empty())?);
    hand_over(&dir, &above)?;
    let write = |(name, text): &(String, String)| {
        let file = AtomicFile::begin(dir.try_clone()?, name.into(), 0o666)?;
        file.file().write_all(text.as_bytes())?;
        file.keep_new().map(drop)
    };
    files.iter().try_for_each(write).and_then(|()| above.sync_all()).inspect_err(|_| {
        // What can't be removed is reported with the error of writing it.
        for (file, _) in files {
            let _ = unlinkat(&dir, file.as_str(), AtFlags::empty());
        }
        let _ = unlinkat(&above, &name, AtFlags::REMOVEDIR);
    })
}

/// Removes what killed processes left beside a file while they wrote it.
pub fn sweep_beside(path: &Path) {
    if let Ok((dir, name)) = place(path) {
        sweep_of(&dir, &name);
    }
}

/// Removes what killed processes left under temporary names for `name`.
fn sweep_of(dir: &File, name: &OsStr) {
    let entries = Dir::read_from(dir).into_iter().flatten().flatten();
    let is_left = |found: &str| left_for(found).is_some_and(|left_for| left_for == name);
    for entry in entries {
        let Some(found) = entry.file_name().to_str().ok().filter(|found| is_left(found)) else { continue };
        // The next sweep tries again.
        let _ = remove_left(dir, found.as_ref());
    }
}

/// Removes a file of this user, unless it is in use.
fn remove_left(dir: &File, name: &OsStr) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let open = File::from(openat(dir, name, flags, Mode::empty())?);
    let about = open.metadata()?;
    if about.uid() != rustix::process::geteuid().as_raw() || !about.is_file() {
        return Err(io::Error::other("it belongs to another user, or is no file"));
    }
    lock(&open)?;
    Ok(unlinkat(dir, name, AtFlags::empty())?)
}

/// The directory that a path is in, open so that it can't be replaced meanwhile, and its name there.
fn place(path: &Path) -> io::Result<(File, OsString)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok((openat(CWD, above, flags, Mode::empty())?.into(), name))
}

/// Renames in a directory unless something has the new name.
fn rename_new(dir: &File, old: &OsStr, new: &OsStr) -> io::Result<()> {
    match renameat_with(dir, old, dir, new, RenameFlags::NOREPLACE) {
        // Filesystems without this flag, such as NFS.
        Err(Errno::INVAL | Errno::NOSYS) => match statat(dir, new, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => Ok(renameat(dir, old, dir, new)?),
        },
        renamed => Ok(renamed?),
    }
}

/// A file that no kill can leave behind; not on every filesystem, nor without procfs, which gives it its name.
fn without_name(dir: &File, mode: u32) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = File::from(openat(dir, ".", flags, Mode::from_raw_mode(mode)).ok()?);
    Path::new(&own_path(&file)).exists().then_some(file)
}

fn own_path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Makes something under a temporary name that is free. A killed process with the same id may have left some.
fn free<T>(name: &OsStr, make: impl Fn(&OsStr) -> io::Result<T>) -> io::Result<(T, OsString)> {
    for number in 0u32.. {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}.{number}", std::process::id()));
        match make(&temporary) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && number < 1000 => {}
            made => return Ok((made?, temporary)),
        }
    }
    unreachable!("the loop ends by returning")
}

/// The name for which a temporary one stands, if the process that made it is gone.
pub(super) fn left_for(temporary: &str) -> Option<&str> {
    let (name, process) = of_temporary(temporary)?;
    // Process ids are used again: another program may have this one by now.
    let program = |process: &str| fs::read(format!("/proc/{process}/comm")).ok();
    let lives = program(process).is_some_and(|name| Some(name) == program("self"));
    (!lives).then_some(name)
}

/// The name for which a temporary one stands, and the id of the process that made it.
fn of_temporary(temporary: &str) -> Option<(&str, &str)> {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (rest, last) = temporary.strip_prefix('.')?.rsplit_once('.')?;
    let (name, process) = rest.rsplit_once('.')?;
    (number(process) && number(last)).then_some((name, process))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// As on filesystems that can't hold files without a name.
    fn with_name(mut begun: AtomicFile) -> AtomicFile {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let make = |name: &OsStr| Ok(openat(&begun.dir, name, flags, Mode::RUSR)?);
        let (file, temporary) = free(&begun.name, make).expect("creates");
        (begun.file, begun.temporary) = (File::from(file), Some(temporary));
        begun
    }

    #[test]
    fn files_are_complete_or_absent() {
        for named in [false, true] {
            let home = tempfile::tempdir().expect("a directory");
            let path = home.path().join("file");
            let names = || fs::read_dir(home.path()).expect("lists").count();
            let read = || fs::read_to_string(&path).expect("reads");
            let write = |text: &str| {
                let begun = AtomicFile::create(&path, 0o600).expect("begins");
                let begun = if named { with_name(begun) } else { begun };
                assert_eq!(names() - usize::from(path.exists()), usize::from(named), "a kill leaves nothing");
                begun.file().write_all(text.as_bytes()).expect("writes");
                begun
            };
            drop(write("half"));
            assert_eq!(names(), 0);
            write("old").keep_new().expect("keeps");
            drop(write("half"));
            assert_eq!(write("new").keep_new().expect_err("it exists").kind(), io::ErrorKind::AlreadyExists);
            assert_eq!((read().as_str(), names()), ("old", 1));
            write("new").keep().expect("keeps");
            assert_eq!((read().as_str(), names()), ("new", 1));
        }
    }

    #[test]
    fn a_file_whose_directory_cannot_be_synced_is_not_kept() {
        for named in [false, true] {
            let home = tempfile::tempdir().expect("a directory");
            let begun = AtomicFile::create(&home.path().join("file"), 0o600).expect("begins");
            let mut begun = if named { with_name(begun) } else { begun };
            // Names can be made in it, but it can't be synced.
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            begun.dir = File::from(openat(CWD, home.path(), flags, Mode::empty()).expect("opens"));
            begun.keep_new().expect_err("it isn't synced");
            assert_eq!(fs::read_dir(home.path()).expect("lists").count(), 0, "named: {named}");
        }
    }

    #[test]
    fn a_temporary_name_that_is_taken_is_left_alone() {
        let home = tempfile::tempdir().expect("a directory");
        let process = std::process::id().to_string();
        let other = home.path().join(format!(".file.{process}.0"));
        fs::write(&other, "mine").expect("writes");
        AtomicFile::create(&home.path().join("file"), 0o644).expect("begins").keep().expect("keeps");
        assert_eq!(fs::read_to_string(&other).expect("is left alone"), "mine");
        let name = other.file_name().expect("a name").to_string_lossy();
        assert_eq!(of_temporary(&name), Some(("file", &*process)));
        for name in ["file.1.0", ".file.1", ".file.1.x", ".file..1", ".1.1"] {
            assert_eq!(of_temporary(name), None, "{name}");
        }
    }

    #[test]
    fn what_a_killed_process_left_goes_when_the_same_is_written_again() {
        let home = tempfile::tempdir().expect("a directory");
        let at = |name: &str| home.path().join(name);
        let files = [("a.html".to_owned(), "a".to_owned()), ("b.svg".to_owned(), "b".to_owned())];
        keep_new_dir(&at("report"), &files).expect("keeps");
        assert!(at("report/a.html").exists() && at("report/b.svg").exists());
        assert_eq!(
            keep_new_dir(&at("report"), &files).expect_err("is there").kind(),
            io::ErrorKind::AlreadyExists
        );
        let twice = [&files[..], &files[..1]].concat();
        assert!(keep_new_dir(&at("half"), &twice).is_err() && !at("half").exists());

        // No process has this number.
        fs::write(at(".file.4194999.0"), "half").expect("writes");
        let lives = format!(".file.{}.0", std::process::id());
        fs::write(at(&lives), "of a process that lives").expect("writes");
        fs::write(at(".file.1.0"), "of one whose number another program has").expect("writes");
        let held = fs::File::create(at(".file.4194998.0")).expect("creates");
        lock(&held).expect("locks");
        sweep_beside(&at("file"));
        let left = [".file.4194999.0", ".file.1.0", &lives, ".file.4194998.0"].map(|name| at(name).exists());
        assert_eq!(left, [false, false, true, true]);
    }

    #[test]
    fn planted_links_are_not_followed_and_directories_stay_the_same() {
        let home = tempfile::tempdir().expect("a directory");
        let at = |name: &str| home.path().join(name);
        fs::write(at("victim"), "keep").expect("writes");
        for to in ["victim", "nothing"] {
            let link = at("link");
            std::os::unix::fs::symlink(to, &link).expect("a link");
            let begin = || AtomicFile::create(&link, 0o600).expect("begins");
            assert_eq!(begin().keep_new().expect_err("it exists").kind(), io::ErrorKind::AlreadyExists);
            begin().keep().expect("keeps");
            assert!(link.symlink_metadata().expect("there").is_file());
            assert_eq!(link.metadata().expect("there").permissions().mode() & 0o777, 0o600);
            fs::remove_file(&link).expect("removes");
        }
        assert!(!at("nothing").exists());
        assert_eq!(fs::read_to_string(at("victim")).expect("reads"), "keep");
        fs::create_dir(at("dir")).expect("creates");
        assert!(AtomicFile::create(&at("dir"), 0o600).is_err());
        let begun = AtomicFile::create(&at("dir/file"), 0o600).expect("begins");
        fs::rename(at("dir"), at("moved")).expect("moves");
        fs::create_dir(at("dir")).expect("creates");
        begun.keep().expect("keeps");
        assert!(at("moved/file").exists() && !at("dir/file").exists());
    }
}
