//! A filesystem in memory with faults that tests set: I/O errors, no space, short transfers, no direct I/O, and
//! operations that hang until they are released. One flat directory. It needs /dev/fuse and, unless run as root,
//! `fusermount3`; where they are missing, tests fail and say so.
#![allow(dead_code, reason = "a benchmark uses its part of it")]

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    time::{Duration, UNIX_EPOCH},
};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, WriteFlags,
};
use rustix::fs::OFlags;

/// What goes wrong; nothing by default.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Reads that touch this range fail with EIO.
    pub eio_reads: Option<Range<u64>>,
    /// Writes that touch this range fail with EIO.
    pub eio_writes: Option<Range<u64>>,
    /// `fsync` fails with EIO.
    pub eio_fsync: bool,
    /// So many bytes can be stored in all; the next gets ENOSPC.
    pub space: Option<u64>,
    /// So many bytes are said to be free, true or not; 1 TiB if nothing is said.
    pub free: Option<u64>,
    /// Transfers move at most so many bytes.
    pub short: Option<u32>,
    /// Files opened from now on bypass the kernel's cache, which would take a short pread for the end of the file.
    /// Not for io_uring: Linux 6.18 continues short transfers of such files by itself, at the wrong offset.
    pub uncached: bool,
    /// Direct opens and direct transfers fail with EINVAL.
    pub no_direct: bool,
    /// Reads and writes hang until [`FaultFs::release`].
    pub hold: bool,
    /// So does reserving space, which isn't supported otherwise.
    pub hold_reserving: bool,
    /// So does creating a file.
    pub hold_creating: bool,
    /// So does asking for attributes.
    pub hold_looking: bool,
}

/// The mounted filesystem; unmounted when dropped.
pub struct FaultFs {
    session: Option<BackgroundSession>,
    state: Arc<Shared>,
    directory: tempfile::TempDir,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    held: Condvar,
}

#[derive(Default)]
struct State {
    faults: Faults,
    nodes: Vec<Node>,
    held: Vec<Operation>,
}

type Operation = Box<dyn FnOnce(&mut State) + Send>;

#[derive(Default)]
struct Node {
    name: Option<String>,
    size: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE as usize]>>,
}

const PAGE: u64 = 4096;
/// Nothing is cached, so that faults and sizes hold at once.
const TTL: Duration = Duration::ZERO;

impl FaultFs {
    /// Mounts an empty filesystem.
    pub fn mount() -> Self {
        Self::mount_as(MountOption::RW)
    }

    /// Mounts an empty filesystem that can't be written.
    pub fn mount_read_only() -> Self {
        Self::mount_as(MountOption::RO)
    }

    fn mount_as(mode: MountOption) -> Self {
        let directory = tempfile::tempdir().expect("a directory to mount on");
        let state = Arc::new(Shared::default());
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("faultfs".to_owned()), mode];
        let session = fuser::spawn_mount(Fs(state.clone()), directory.path(), &config).unwrap_or_else(|e| {
            panic!("this test needs FUSE: apt install fuse3, and access to /dev/fuse ({e})");
        });
        Self { session: Some(session), state, directory }
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The path of a file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Changes what goes wrong from now on.
    pub fn set(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.state.lock().faults);
    }

    /// Waits until so many operations hang.
    pub fn wait_until_held(&self, operations: usize) {
        let state = self.state.lock();
        drop(self.state.held.wait_while(state, |state| state.held.len() < operations).expect("unpoisoned"));
    }

    /// How many operations hang.
    pub fn held(&self) -> usize {
        self.state.lock().held.len()
    }

    /// Lets operations that hang, and later ones, go on.
    pub fn release(&self) {
        let mut state = self.state.lock();
        let faults = &mut state.faults;
        (faults.hold, faults.hold_reserving, faults.hold_creating, faults.hold_looking) = Default::default();
        for operation in std::mem::take(&mut state.held) {
            operation(&mut state);
        }
    }

    /// Flips all bits of one stored byte.
    pub fn flip(&self, name: &str, offset: u64) {
        let mut state = self.state.lock();
        let node = state.nodes.iter_mut().find(|node| node.name.as_deref() == Some(name)).expect("the file");
        let page = node.pages.get_mut(&(offset / PAGE)).expect("a stored byte");
        page[(offset % PAGE) as usize] ^= 0xff;
    }
}

impl FaultFs {
    /// Unmounts it; its empty mount point stays.
    pub fn unmount(&mut self) {
        self.release();
        // Detached: threads that an engine left behind may still hold a file. Dropping the session does the same by
        // fusermount3 for those who aren't root.
        let _ = rustix::mount::unmount(self.directory.path(), rustix::mount::UnmountFlags::DETACH);
        self.session.take();
    }
}

impl Drop for FaultFs {
    fn drop(&mut self) {
        self.unmount();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("unpoisoned")
    }

    /// Does it, or keeps it for later.
    fn act(&self, operation: impl FnOnce(&mut State) + Send + 'static) {
        self.act_unless(|faults| faults.hold, operation);
    }

    /// Does it, or keeps it for later if `hold` says so.
    fn act_unless(&self, hold: fn(&Faults) -> bool, operation: impl FnOnce(&mut State) + Send + 'static) {
        let mut state = self.lock();
        if hold(&state.faults) {
            state.held.push(Box::new(operation));
            self.held.notify_all();
        } else {
            operation(&mut state);
        }
    }
}

impl Node {
    fn read(&self, offset: u64, len: u64) -> Vec<u8> {
        let end = (offset + len).min(self.size);
        let mut data = Vec::with_capacity(len as usize);
        let mut at = offset;
        while at < end {
            let (page, from) = (at / PAGE, at % PAGE);
            let n = (PAGE - from).min(end - at);
            match self.pages.get(&page) {
                Some(page) => data.extend_from_slice(&page[from as usize..(from + n) as usize]),
                None => data.resize(data.len() + n as usize, 0),
            }
            at += n;
        }
        data
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let from = (at % PAGE) as usize;
            let n = (PAGE as usize - from).min(data.len() - done);
            let page = self.pages.entry(at / PAGE).or_insert_with(|| Box::new([0; PAGE as usize]));
            page[from..from + n].copy_from_slice(&data[done..done + n]);
            done += n;
        }
        self.size = self.size.max(offset + data.len() as u64);
    }

    fn resize(&mut self, size: u64) {
        self.pages.split_off(&size.div_ceil(PAGE));
        if let Some(page) = self.pages.get_mut(&(size / PAGE)) {
            page[(size % PAGE) as usize..].fill(0);
        }
        self.size = size;
    }
}

impl State {
    fn attr(&self, ino: INodeNo) -> Option<FileAttr> {
        let directory = ino == INodeNo::ROOT;
        let node = if directory { None } else { Some(self.nodes.get(index(ino)?)?) };
        let size = node.map_or(0, |node| node.size);
        Some(FileAttr {
            ino,
            size,
            blocks: node.map_or(0, |node| node.pages.len() as u64 * 8),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if directory { FileType::Directory } else { FileType::RegularFile },
            perm: if directory { 0o755 } else { 0o644 },
            nlink: if directory { 2 } else { 1 },
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            rdev: 0,
            flags: 0,
            blksize: 4096,
        })
    }

    fn find(&self, name: &OsStr) -> Option<INodeNo> {
        let at = self.nodes.iter().position(|node| node.name.as_deref().map(OsStr::new) == Some(name))?;
        Some(INodeNo(at as u64 + 2))
    }

    fn stored(&self) -> u64 {
        self.nodes.iter().map(|node| node.pages.len() as u64 * PAGE).sum()
    }

    /// How many bytes of a transfer move, or why none does.
    fn allow(&self, flags: OpenFlags, bad: &Option<Range<u64>>, offset: u64, len: u64) -> Result<u64, Errno> {
        let direct = is_direct(flags.0);
        if direct && self.faults.no_direct {
            return Err(Errno::EINVAL);
        }
        if bad.as_ref().is_some_and(|bad| offset < bad.end && bad.start < offset + len) {
            return Err(Errno::EIO);
        }
        Ok(len.min(self.faults.short.map_or(u64::MAX, u64::from)))
    }

    fn open_flags(&self) -> FopenFlags {
        if self.faults.uncached { FopenFlags::FOPEN_DIRECT_IO } else { FopenFlags::empty() }
    }

    fn read(&self, ino: INodeNo, flags: OpenFlags, offset: u64, len: u64) -> Result<Vec<u8>, Errno> {
        let len = self.allow(flags, &self.faults.eio_reads, offset, len)?;
        let node = index(ino).and_then(|at| self.nodes.get(at)).ok_or(Errno::ENOENT)?;
        Ok(node.read(offset, len))
    }

    fn write(&mut self, ino: INodeNo, flags: OpenFlags, offset: u64, data: &[u8]) -> Result<u32, Errno> {
        let mut len = self.allow(flags, &self.faults.eio_writes, offset, data.len() as u64)?;
        let stored = self.stored();
        let node = index(ino).and_then(|at| self.nodes.get_mut(at)).ok_or(Errno::ENOENT)?;
        if let Some(space) = self.faults.space {
            // What is stored already can be written again.
            let known =
                (0..len.div_ceil(PAGE)).filter(|i| node.pages.contains_key(&(offset / PAGE + i))).count();
            len = len.min(space.saturating_sub(stored) + known as u64 * PAGE);
            if len == 0 {
                return Err(Errno::ENOSPC);
            }
        }
        node.write(offset, &data[..len as usize]);
        Ok(len as u32)
    }
}

fn index(ino: INodeNo) -> Option<usize> {
    usize::try_from(ino.0).ok()?.checked_sub(2)
}

fn is_direct(flags: i32) -> bool {
    flags & OFlags::DIRECT.bits() as i32 != 0
}

struct Fs(Arc<Shared>);

impl Filesystem for Fs {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let state = self.0.lock();
        match state.find(name).and_then(|ino| state.attr(ino)) {
            Some(attr) => reply.entry(&TTL, &attr, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.0.act_unless(
            |faults| faults.hold_looking,
            move |state| match state.attr(ino) {
                Some(attr) => reply.attr(&TTL, &attr),
                None => reply.error(Errno::ENOENT),
            },
        );
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<fuser::TimeOrNow>,
        _: Option<fuser::TimeOrNow>,
        _: Option<std::time::SystemTime>,
        _: Option<FileHandle>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut state = self.0.lock();
        if let (Some(size), Some(at)) = (size, index(ino)) {
            if let Some(node) = state.nodes.get_mut(at) {
                node.resize(size);
            }
        }
        match state.attr(ino) {
            Some(attr) => reply.attr(&TTL, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn create(&self, _: &Request, _: INodeNo, name: &OsStr, _: u32, _: u32, flags: i32, reply: ReplyCreate) {
        let name = Some(name.to_string_lossy().into_owned());
        self.0.act_unless(
            |faults| faults.hold_creating,
            move |state| {
                if is_direct(flags) && state.faults.no_direct {
                    return reply.error(Errno::EINVAL);
                }
                state.nodes.push(Node { name, ..Node::default() });
                let ino = INodeNo(state.nodes.len() as u64 + 1);
                match state.attr(ino) {
                    Some(attr) => {
                        reply.created(&TTL, &attr, Generation(0), FileHandle(0), state.open_flags())
                    }
                    None => reply.error(Errno::ENOENT),
                }
            },
        );
    }

    fn open(&self, _: &Request, _: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let state = self.0.lock();
        if is_direct(flags.0) && state.faults.no_direct {
            return reply.error(Errno::EINVAL);
        }
        reply.opened(FileHandle(0), state.open_flags());
    }

    fn unlink(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let mut state = self.0.lock();
        match state.find(name).and_then(index) {
            Some(at) => {
                state.nodes[at] = Node::default();
                reply.ok();
            }
            None => reply.error(Errno::ENOENT),
        }
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.0.act(move |state| match state.read(ino, flags, offset, u64::from(size)) {
            Ok(data) => reply.data(&data),
            Err(e) => reply.error(e),
        });
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let data = data.to_vec();
        self.0.act(move |state| match state.write(ino, flags, offset, &data) {
            Ok(n) => reply.written(n),
            Err(e) => reply.error(e),
        });
    }

    fn fallocate(&self, _: &Request, _: INodeNo, _: FileHandle, _: u64, _: u64, _: i32, reply: ReplyEmpty) {
        self.0.act_unless(|faults| faults.hold_reserving, |_| reply.error(Errno::EOPNOTSUPP));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.0.act(move |state| if state.faults.eio_fsync { reply.error(Errno::EIO) } else { reply.ok() });
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let state = self.0.lock();
        let named = state.nodes.iter().zip(2..).filter_map(|(node, ino)| Some((node.name.clone()?, ino)));
        for (at, (name, ino)) in named.enumerate().skip(offset as usize) {
            if reply.add(INodeNo(ino), at as u64 + 1, FileType::RegularFile, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let state = self.0.lock();
        let free = state.faults.free.unwrap_or(1 << 40) / PAGE;
        reply.statfs(free + state.stored() / PAGE, free, free, 1000, 1000, PAGE as u32, 255, PAGE as u32);
    }
}
