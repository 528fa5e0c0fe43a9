//! The tree that everything is read from: `/`, or a capture of another machine.

mod anonymise;
pub(crate) mod archive;

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    io::Read,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use rustix::fs::statvfs;
use serde::{Deserialize, Serialize};

use self::archive::{LONGEST as LONG, Node};
use crate::units::hides;
pub use archive::{Archive, ArchiveError};

/// Limit for short files: sysfs files hold a page at most; procfs and os-release are small too.
const SHORT: u64 = 64 << 10;
/// The most symbolic links in a path; the kernel's limit.
const LINKS: u32 = 40;

/// The most that is read of a captured tree, which may be hostile: ten times a large server. Later reads find nothing.
/// A read costs [`READ`], a name or 64 bytes cost 1.
const MOST: usize = 2_000_000;
const READ: usize = 10;
const MOST_NAMES: usize = 4096;
/// The kernel's limit for paths, bytes.
const LONGEST_PATH: usize = 4096;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Space {
    /// Size, bytes.
    pub size: u64,
    /// Free for users, bytes.
    pub free: u64,
    /// Used bytes. Filesystems reserve space for root, so size minus free is more.
    pub used: u64,
}

/// Reads below a root and never outside it: `..` and absolute links are taken from the root, as in a chroot.
/// Nothing here fails: what is missing, unreadable, a loop, or not a regular file is `None` or empty.
#[derive(Debug, Clone)]
pub struct Sysroot {
    tree: Tree,
    spent: Arc<AtomicUsize>,
    recorded: Option<Arc<Mutex<BTreeSet<String>>>>,
    /// Cache of directories with links resolved: many files are read in each.
    resolved: Arc<Mutex<HashMap<String, Option<PathBuf>>>>,
}

#[derive(Debug, Clone)]
enum Tree {
    Disk(PathBuf),
    Memory(Arc<Archive>),
}

impl Sysroot {
    pub fn live() -> Self {
        Self::at("/")
    }

    /// A captured tree.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self::new(Tree::Disk(root.into()))
    }

    pub fn archive(archive: Archive) -> Self {
        Self::new(Tree::Memory(Arc::new(archive)))
    }

    fn new(tree: Tree) -> Self {
        Self { tree, spent: Arc::default(), recorded: None, resolved: Arc::default() }
    }

    /// A sysroot that records the paths that are read.
    pub fn recording(self) -> Self {
        Self { recorded: Some(Arc::default()), ..self }
    }

    pub(super) fn recorded(&self) -> BTreeSet<String> {
        self.recorded.iter().flat_map(|recorded| lock(recorded).clone()).collect()
    }

    pub fn is_live(&self) -> bool {
        matches!(&self.tree, Tree::Disk(root) if root == Path::new("/"))
    }

    /// A file's text without control characters other than line ends and tabs; what isn't UTF-8 becomes U+FFFD.
    pub fn text(&self, path: &str) -> Option<String> {
        self.read(path, SHORT).map(|bytes| printable(&bytes))
    }

    /// A file's text as [`Sysroot::text`], for the few files that may be long.
    pub fn long_text(&self, path: &str) -> Option<String> {
        self.read(path, LONG).map(|bytes| printable(&bytes))
    }

    /// A file's text that ends with a line, without a limit that could cut it.
    pub fn whole_text(&self, path: &str) -> Option<String> {
        let bytes = self.read(path, LONG).filter(|bytes| (bytes.len() as u64) < LONG)?;
        (bytes.last() == Some(&b'\n')).then(|| printable(&bytes))
    }

    /// A file's bytes, 64 KiB at most.
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.read(path, SHORT)
    }

    /// A file's text on one line, runs of white space made one space; `None` where nothing is left.
    pub fn word(&self, path: &str) -> Option<String> {
        let text = self.text(path)?.split_whitespace().collect::<Vec<_>>().join(" ");
        (!text.is_empty()).then_some(text)
    }

    /// A number alone in its file.
    pub fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.trim().parse().ok()
    }

    /// Names in a directory, sorted; empty where there is none. Names that aren't UTF-8 are left out.
    pub fn list(&self, path: &str) -> Vec<String> {
        if !self.may_read(path) {
            return Vec::new();
        }
        if let Tree::Memory(archive) = &self.tree {
            let at = self.real(path);
            let names: Vec<String> =
                at.iter().flat_map(|at| archive.names(at)).take(MOST_NAMES).cloned().collect();
            self.spend(names.len());
            return names;
        }
        let entries = self.on_disk(path).and_then(|path| fs::read_dir(path).ok());
        let names = entries.into_iter().flatten().flatten().filter_map(|e| e.file_name().into_string().ok());
        // On the live machine, a name that is left out might be in use.
        let most = if self.is_live() { usize::MAX } else { MOST_NAMES };
        let mut names: Vec<String> = names.take(most).collect();
        self.spend(names.len());
        names.sort();
        names
    }

    /// Last name of a link's target: `usb-storage` for a `driver` link.
    pub fn link_name(&self, path: &str) -> Option<String> {
        let (parent, name) = path.rsplit_once('/')?;
        let parent = self.may_read(path).then(|| self.directory(parent))??;
        let target = self.link(&parent.join(name))??;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// A path with all links followed, as seen from the root; `None` where it doesn't exist.
    pub fn real(&self, path: &str) -> Option<String> {
        let real = self.may_read(path).then(|| self.resolve(path))??;
        real.to_str().map(str::to_owned)
    }

    /// Size and free space of the filesystem at a mount point; live machine only.
    pub fn space(&self, path: &str) -> Option<Space> {
        let stat = self.is_live().then(|| statvfs(path).ok())??;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        let used = bytes(stat.f_blocks.saturating_sub(stat.f_bfree));
        Some(Space { size: bytes(stat.f_blocks), free: bytes(stat.f_bavail), used })
    }

    /// Counts and records a read. A hostile capture could otherwise take forever.
    fn may_read(&self, path: &str) -> bool {
        if let Some(recorded) = &self.recorded {
            lock(recorded).insert(path.to_owned());
        }
        self.spend(READ)
    }

    /// Adds to the cost of all reads. Returns whether the limit is not reached.
    fn spend(&self, cost: usize) -> bool {
        self.is_live() || self.spent.fetch_add(cost, Ordering::Relaxed) < MOST
    }

    pub(super) fn read(&self, path: &str, limit: u64) -> Option<Vec<u8>> {
        if !self.may_read(path) {
            return None;
        }
        if let Tree::Memory(archive) = &self.tree {
            let inside = self.resolve(path)?;
            let Node::File(bytes) = archive.node(inside.to_str()?)? else { return None };
            let bytes = &bytes[..bytes.len().min(limit as usize)];
            return self.spend(bytes.len() / 64).then(|| bytes.to_vec());
        }
        let path = self.on_disk(path)?;
        // Opening a FIFO would block, opening a device may have side effects.
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        fs::File::open(path).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
        self.spend(bytes.len() / 64).then_some(bytes)
    }

    /// Path on disk. On the live machine the kernel follows the links, which is faster.
    pub(super) fn on_disk(&self, path: &str) -> Option<PathBuf> {
        match &self.tree {
            Tree::Disk(_) if self.is_live() => Some(Path::new("/").join(path)),
            Tree::Disk(root) => Some(outside(root, &self.resolve(path)?)),
            Tree::Memory(_) => None,
        }
    }

    /// The link target of a path that has no links before its last part: `Some(None)` if it is not a link, `None` if it
    /// doesn't exist.
    fn link(&self, path: &Path) -> Option<Option<PathBuf>> {
        match &self.tree {
            Tree::Disk(root) => {
                let path = outside(root, path);
                let is_link = fs::symlink_metadata(&path).ok()?.is_symlink();
                if is_link { fs::read_link(path).ok().map(Some) } else { Some(None) }
            }
            Tree::Memory(archive) => Some(match archive.node(path.to_str()?)? {
                Node::Link(target) => Some(PathBuf::from(target)),
                _ => None,
            }),
        }
    }

    fn resolve(&self, path: &str) -> Option<PathBuf> {
        let Some((parent, name)) = path.rsplit_once('/').filter(|(_, name)| !["", ".", ".."].contains(name))
        else {
            return self.follow(path, &mut |_, _| {});
        };
        let at = self.directory(parent)?.join(name);
        match self.link(&at)? {
            None => Some(at),
            Some(_) => self.follow(path, &mut |_, _| {}),
        }
    }

    fn directory(&self, path: &str) -> Option<PathBuf> {
        if let Some(directory) = lock(&self.resolved).get(path) {
            return directory.clone();
        }
        let directory = self.follow(path, &mut |_, _| {});
        lock(&self.resolved).insert(path.to_owned(), directory.clone());
        directory
    }

    /// Follows all links in a path without leaving the root, and reports each. The result is absolute, seen from the root.
    pub(super) fn follow(&self, path: &str, on_link: &mut dyn FnMut(&Path, &Path)) -> Option<PathBuf> {
        let parts = |path: &Path| -> Vec<_> { path.iter().rev().map(|part| part.to_owned()).collect() };
        let mut pending = parts(Path::new(path));
        let mut at = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = pending.pop() {
            if part == "/" {
                at = PathBuf::from("/");
            } else if part == ".." {
                at.pop();
            } else if part != "." {
                let next = at.join(&part);
                if next.as_os_str().len() > LONGEST_PATH || !self.spend(next.as_os_str().len() / 64) {
                    return None;
                }
                if let Some(target) = self.link(&next)? {
                    links += 1;
                    if links > LINKS {
                        return None;
                    }
                    on_link(&next, &target);
                    pending.extend(parts(&target));
                } else {
                    at = next;
                }
            }
        }
        Some(at)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn outside(root: &Path, inside: &Path) -> PathBuf {
    root.join(inside.strip_prefix("/").unwrap_or(inside))
}

/// Text that is safe to print, with line ends and tabs.
pub(crate) fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|&c| !hides(c) || c == '\n' || c == '\t').collect()
}

/// Whether a text can be a serial. Some sticks report one character throughout, as `000000000000`.
pub(crate) fn is_serial(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| chars.any(|c| c != first))
}

/// Whether a serial is a placeholder, which many devices may have: consecutive characters, groups of equal ones, a small number after
/// zeros, or one that is filled up with zeros.
pub(crate) fn is_placeholder(serial: &str) -> bool {
    let follows = |a: char, b: char| {
        let (a, b) = (a.to_ascii_uppercase(), b.to_ascii_uppercase());
        matches!((a, b), ('9', '0' | 'A') | ('F', '0')) || u32::from(b) == u32::from(a) + 1
    };
    let in_order = serial.chars().zip(serial.chars().skip(1)).all(|(a, b)| follows(a, b));
    let zeros = serial.chars().take_while(|c| *c == '0').count();
    let filled = serial.chars().rev().take_while(|c| *c == '0').count();
    let groups = 1 + serial.chars().zip(serial.chars().skip(1)).filter(|(a, b)| a != b).count();
    let is_small = zeros >= 8 && serial.len() - zeros <= 3;
    serial.len() >= 6 && (in_order || is_small || filled >= 6 || serial.len() >= 3 * groups)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::inventory::fixtures::Tree;

    #[test]
    fn links_stay_inside() {
        let mut tree = Tree::empty();
        tree.file("etc/passwd", "inside\n").file("a/b/c", " two  words \n");
        tree.link("a/absolute", "/etc/passwd").link("a/up", "../../../../../../etc/passwd");
        tree.link("a/loop", "loop").link("a/dir", "/a/b").link("a/out", "/proc/self/status");
        let root = tree.sysroot();
        assert_eq!(root.word("etc/passwd").as_deref(), Some("inside"));
        assert_eq!(root.word("/a/absolute").as_deref(), Some("inside"));
        assert_eq!(root.word("a/up").as_deref(), Some("inside"));
        assert_eq!(root.word("../../etc/passwd").as_deref(), Some("inside"));
        assert_eq!(root.word("a/dir/c").as_deref(), Some("two words"));
        assert_eq!(root.real("a/dir/c").as_deref(), Some("/a/b/c"));
        assert_eq!(root.real("a/dir/../b").as_deref(), Some("/a/b"));
        assert_eq!(root.link_name("a/dir").as_deref(), Some("b"));
        assert_eq!(root.text("a/loop"), None);
        assert_eq!(root.text("a/out"), None, "a link led out of the root");
        assert_eq!(root.text("a/b"), None);
        assert_eq!(root.list("a/dir"), ["c"]);
        assert!(root.list("missing").is_empty());
    }

    #[test]
    fn output_is_bounded_and_printable() {
        let mut tree = Tree::empty();
        tree.bytes("noise", &[0xff, 0x1b, b'[', b'3', b'1', b'm', 0, b'x', b'\n']);
        tree.bytes("long", &vec![b'y'; 200_000]);
        let root = tree.sysroot();
        assert_eq!(root.text("noise").as_deref(), Some("\u{fffd}[31mx\n"));
        assert_eq!(root.text("long").map(|t| t.len()), Some(65_536));
        assert_eq!(root.long_text("long").map(|t| t.len()), Some(200_000));
        assert_eq!(root.number::<u64>("noise"), None);
    }

    #[test]
    fn a_fifo_is_not_opened() {
        let dir = tempfile::tempdir().expect("a directory");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            dir.path().join("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .expect("a fifo");
        symlink("fifo", dir.path().join("link")).expect("a link");
        let root = Sysroot::at(dir.path());
        assert_eq!(root.text("fifo"), None);
        assert_eq!(root.text("link"), None);
    }
}
