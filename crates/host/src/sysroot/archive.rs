//! A captured tree in memory and as a tar archive.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Read, Write},
    path::{Component, Path},
};

use super::{LONGEST_PATH, Sysroot};
use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};

/// Files are truncated to this size, as when they are read from a directory.
pub(super) const LONGEST: u64 = 4 << 20;
/// Larger archives, unpacked, are refused.
const MOST_BYTES: u64 = 64 << 20;
/// The limit on depth, far above that of a large server.
const DEEPEST: usize = 64;

/// Files of `/proc` that help people to read a capture. The inventory does not use them.
const EXTRA: [&str; 8] =
    ["cmdline", "cpuinfo", "mdstat", "meminfo", "modules", "partitions", "version", "sys/kernel/hostname"];

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("not a readable tar archive: {0}")]
    Unreadable(#[from] io::Error),
    #[error("archive too large ({0})")]
    TooMuch(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    File(Vec<u8>),
    Link(String),
    Directory,
}

/// A tree of files, links and directories. Paths are absolute: `/sys/block/sda`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Archive {
    nodes: BTreeMap<String, Node>,
    names: BTreeMap<String, BTreeSet<String>>,
    /// Bytes of all paths and of the directories above them.
    path_bytes: usize,
}

impl Archive {
    /// The archive of all files that were read from a recording sysroot.
    pub fn from_recording(root: &Sysroot) -> Self {
        let mut archive = Self::default();
        EXTRA.iter().for_each(|file| archive.take(root, &format!("/proc/{file}")));
        for path in root.recorded() {
            archive.take(root, &path);
        }
        archive
    }

    fn take(&mut self, root: &Sysroot, path: &str) {
        let Some(inside) = self.take_links(root, path) else { return };
        let Some(outside) = root.on_disk(&inside) else { return };
        let Ok(metadata) = fs::metadata(&outside) else { return };
        if metadata.is_file() {
            let bytes = root.read(&inside, LONGEST).unwrap_or_default();
            self.insert(inside, Node::File(bytes));
        } else if metadata.is_dir() {
            // Directory entries carry information too: holders, members, drives.
            for name in root.list(&inside) {
                let (below, entry) = (format!("{inside}/{name}"), outside.join(&name));
                match fs::symlink_metadata(&entry) {
                    Ok(metadata) if metadata.is_dir() => self.insert(below, Node::Directory),
                    Ok(metadata) if metadata.is_symlink() => {
                        let target = fs::read_link(entry)
                            .ok()
                            .and_then(|target| target.into_os_string().into_string().ok());
                        target.into_iter().for_each(|target| self.insert(below.clone(), Node::Link(target)));
                    }
                    _ => {}
                }
            }
            self.insert(inside, Node::Directory);
        }
    }

    /// Archives the links on the way to a path. Returns where the path leads, if it exists.
    fn take_links(&mut self, root: &Sysroot, path: &str) -> Option<String> {
        let end = root.follow(path, &mut |at, target| {
            if let (Some(at), Some(target)) = (at.to_str(), target.to_str()) {
                self.insert(at.to_owned(), Node::Link(target.to_owned()));
            }
        });
        end?.to_str().filter(|path| *path != "/").map(str::to_owned)
    }

    /// Reads a tar archive, compressed by gzip or not. Nothing is unpacked to disk.
    pub fn read(reader: impl Read) -> Result<Self, ArchiveError> {
        let mut reader = io::BufReader::new(reader);
        let gzip = io::BufRead::fill_buf(&mut reader)?.starts_with(&[0x1f, 0x8b]);
        let plain: Box<dyn Read> =
            if gzip { Box::new(MultiGzDecoder::new(reader)) } else { Box::new(reader) };
        // Reading one byte more than the limit detects larger archives.
        let mut limited = plain.take(MOST_BYTES + 1);
        let archive = Self::read_tar(&mut limited);
        if limited.limit() == 0 { Err(ArchiveError::TooMuch("more than 64 MiB")) } else { archive }
    }

    fn read_tar(reader: impl Read) -> Result<Self, ArchiveError> {
        let mut archive = Self::default();
        for entry in tar::Archive::new(reader).entries()? {
            let mut entry = entry?;
            let Some(path) = inside(&entry.path()?) else { continue };
            let node = match entry.header().entry_type() {
                tar::EntryType::Regular | tar::EntryType::Continuous => {
                    let mut bytes = Vec::new();
                    entry.by_ref().take(LONGEST).read_to_end(&mut bytes)?;
                    Node::File(bytes)
                }
                tar::EntryType::Symlink => match entry.link_name()? {
                    Some(target) if target.as_os_str().len() <= LONGEST_PATH => {
                        Node::Link(target.to_string_lossy().into_owned())
                    }
                    _ => continue,
                },
                tar::EntryType::Directory => Node::Directory,
                _ => continue,
            };
            archive.insert(path, node);
            if archive.path_bytes > MOST_BYTES as usize {
                return Err(ArchiveError::TooMuch("more than 64 MiB of paths"));
            }
        }
        Ok(archive)
    }

    /// Writes a compressed tar archive. Equal trees give equal bytes.
    pub fn write(&self, writer: impl Write) -> io::Result<()> {
        let mut tar = tar::Builder::new(GzEncoder::new(writer, Compression::best()));
        for (path, node) in &self.nodes {
            let path = path.trim_start_matches('/');
            let mut header = tar::Header::new_gnu();
            header.set_mode(if *node == Node::Directory { 0o755 } else { 0o644 });
            header.set_size(0);
            match node {
                Node::File(bytes) => {
                    header.set_size(bytes.len() as u64);
                    tar.append_data(&mut header, path, &bytes[..])?;
                }
                Node::Link(target) => {
                    header.set_entry_type(tar::EntryType::Symlink);
                    tar.append_link(&mut header, path, target)?;
                }
                Node::Directory => {
                    header.set_entry_type(tar::EntryType::Directory);
                    tar.append_data(&mut header, format!("{path}/"), io::empty())?;
                }
            }
        }
        tar.into_inner()?.finish()?.flush()
    }

    pub fn add_file(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.insert(path.to_owned(), Node::File(bytes.into()));
    }

    pub fn files(&self) -> usize {
        self.nodes.values().filter(|node| matches!(node, Node::File(_))).count()
    }

    /// Content of the file at `path`.
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        match self.node(path)? {
            Node::File(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&String, &Node)> {
        self.nodes.iter()
    }

    pub(super) fn node(&self, path: &str) -> Option<&Node> {
        self.nodes.get(path)
    }

    /// Replaces or removes an entry. Entries below it stay, possibly unreachable.
    #[cfg(test)]
    pub(crate) fn damage(&mut self, path: &str, node: Option<Node>) {
        match node {
            Some(node) => drop(self.nodes.insert(path.to_owned(), node)),
            None => drop(self.nodes.remove(path)),
        }
    }

    pub(super) fn names(&self, path: &str) -> impl Iterator<Item = &String> {
        self.names.get(path).into_iter().flatten()
    }

    /// Inserts an entry and the directories above it. Existing files are not replaced by directories.
    pub(super) fn insert(&mut self, path: String, node: Node) {
        self.path_bytes += path.len();
        let mut at = path.as_str();
        while let Some((above, name)) = at.rsplit_once('/') {
            let above = if above.is_empty() { "/" } else { above };
            if !self.names.entry(above.to_owned()).or_default().insert(name.to_owned()) || above == "/" {
                break;
            }
            self.path_bytes += above.len();
            self.nodes.entry(above.to_owned()).or_insert(Node::Directory);
            at = above;
        }
        if node == Node::Directory {
            self.nodes.entry(path).or_insert(node);
        } else {
            self.nodes.insert(path, node);
        }
    }
}

/// Absolute path of an entry; `None` if it leads outside, is too deep or too long, or isn't UTF-8.
fn inside(path: &Path) -> Option<String> {
    let mut inside = String::new();
    for (depth, part) in path.components().enumerate() {
        match part {
            Component::Normal(name) if depth < DEEPEST => {
                inside.push('/');
                inside.push_str(name.to_str()?);
            }
            Component::CurDir | Component::RootDir => {}
            _ => return None,
        }
    }
    (1..=LONGEST_PATH).contains(&inside.len()).then_some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        inventory::{Inventory, fixtures},
        sysroot::Sysroot,
    };

    fn packed(archive: &Archive) -> Vec<u8> {
        let mut bytes = Vec::new();
        archive.write(&mut bytes).expect("writes");
        bytes
    }

    #[test]
    fn a_capture_gives_the_same_inventory_as_the_machine() {
        for (name, tree) in fixtures::ALL {
            let tree = tree();
            let root = tree.sysroot().recording();
            let inventory = Inventory::read(&root);
            let bytes = packed(&Archive::from_recording(&root));
            let again = Sysroot::archive(Archive::read(&bytes[..]).expect("an archive"));
            assert_eq!(Inventory::read(&again), inventory, "{name}");
        }
    }

    #[test]
    fn entries_that_lead_outside_are_left_out() {
        assert_eq!(inside(Path::new("./sys/block")).as_deref(), Some("/sys/block"));
        assert_eq!(inside(Path::new("/etc/passwd")).as_deref(), Some("/etc/passwd"));
        assert_eq!((inside(Path::new("../x")), inside(Path::new("a/../../x"))), (None, None));
        assert_eq!((inside(Path::new("/")), inside(Path::new(&"a/".repeat(99)))), (None, None));
    }

    #[test]
    fn link_loops_end_and_links_stay_inside() {
        let mut archive = Archive::default();
        archive.add_file("/etc/passwd", "inside\n");
        for (path, target) in [("/a/up", "../../../../etc/passwd"), ("/a/loop", "loop"), ("/a/all", "/")] {
            archive.insert(path.to_owned(), Node::Link(target.to_owned()));
        }
        archive.insert("/etc/passwd/x".to_owned(), Node::File(vec![1]));
        let root = Sysroot::archive(archive);
        assert_eq!(root.word("/a/up").as_deref(), Some("inside"));
        assert_eq!(root.word("/a/all/a/all/etc/passwd").as_deref(), Some("inside"));
        assert_eq!((root.text("/a/loop"), root.text("/a")), (None, None));
        assert_eq!(root.list("/a/all/a"), ["all", "loop", "up"]);
        assert_eq!(root.link_name("/a/up").as_deref(), Some("passwd"));
    }

    #[test]
    fn damaged_and_oversized_archives_are_refused() {
        assert!(Archive::read(&b"not a tar archive, however long it may be"[..]).is_err());
        let whole = packed(&Archive::from_recording(&{
            let root = fixtures::pi_zero().sysroot().recording();
            root.list("/sys/block");
            root
        }));
        assert!(Archive::read(&whole[..whole.len() / 2]).is_err(), "cut in the middle");
        let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
        let mut header = tar::Header::new_gnu();
        header.set_path("x").expect("a path");
        header.set_size(1 << 33);
        header.set_cksum();
        bomb.write_all(header.as_bytes()).expect("writes");
        for _ in 0..65 {
            bomb.write_all(&vec![0; 1 << 20]).expect("writes");
        }
        let error = Archive::read(&bomb.finish().expect("ends")[..]).expect_err("too much");
        assert!(matches!(error, ArchiveError::TooMuch(_)), "{error}");
        // Each entry has 60 directories above it, all of their own.
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for n in 0..2000 {
            let path = format!("{n:05}{}", format!("/{}", "y".repeat(60)).repeat(60));
            let mut header = tar::Header::new_gnu();
            header.set_size(0);
            tar.append_data(&mut header, path, io::empty()).expect("packs");
        }
        let bytes = tar.into_inner().and_then(GzEncoder::finish).expect("ends");
        let error = Archive::read(&bytes[..]).expect_err("too much");
        assert!(matches!(error, ArchiveError::TooMuch(_)), "{error}");
    }
}
