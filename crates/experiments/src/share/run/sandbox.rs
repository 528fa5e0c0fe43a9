//! Mount and network namespaces for the server and for the client. They vanish with this program,
//! however it ends.

use std::{
    fs::{self, File},
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};

use crate::{
    run::{Folder, RunError},
    tools::{
        Output, Query, Runner, System, Talk,
        namespace::{self, within},
    },
};

/// Prefix of the line in which a sandbox reports the id of its first process.
const READY: &str = "drivebench-ready ";
/// Script that keeps a sandbox until its standard input ends. It mounts tmpfs on the first argument and binds the second one in it, which the
/// caller compares afterwards, as it may have been replaced.
const KEEP: &str = r#"PATH=/usr/sbin:/usr/bin:/sbin:/bin
if [ -n "$2" ]; then cd "$2" || exit; fi
mount -t tmpfs -o "mode=700,size=$3,nr_inodes=$4" drivebench "$1" || exit
if [ -n "$2" ]; then mkdir "$1/own" && mount --no-canonicalize --bind . "$1/own" || exit; fi
if [ -n "$5" ]; then ip link set lo up || exit; fi
cd / && read -r pid rest </proc/self/stat && echo "drivebench-ready $pid" || exit
cat >/dev/null"#;
/// Timeout of a sandbox's start and of its end.
const BEGINS: Duration = Duration::from_secs(30);
/// A directory that systems have; tmpfs hides it, inside the sandbox only.
pub const ROOM: &str = "/mnt";
/// Name of the mount point of clients in their tmpfs.
pub(super) const MOUNTED: &str = "mounted";
/// Name under which a directory on a drive is bound in the tmpfs.
pub const OWN: &str = "own";

/// The namespaces of the server or of the client.
#[derive(Debug)]
pub struct Sandbox {
    /// Id of its first process.
    pub pid: u32,
    /// The tmpfs, opened, so that a replaced path does not matter.
    dir: File,
    keeps: Talk,
}

impl Sandbox {
    /// Starts a sandbox with room for so many bytes and files, with `folder` bound as [`OWN`], and with a network namespace if
    /// `alone`.
    pub fn start(
        tools: &System,
        folder: Option<&Folder>,
        room_for: (u64, u64),
        alone: bool,
    ) -> Result<Self, RunError> {
        let path = folder.map(Folder::path).unwrap_or_default();
        let (bytes, files) = (room_for.0.to_string(), room_for.1.to_string());
        let alone_or_not = if alone { "alone" } else { "" };
        let args = [ROOM.as_ref(), path.as_os_str(), bytes.as_ref(), files.as_ref(), alone_or_not.as_ref()];
        let mut keeps = tools.talk(&namespace::sandbox(alone, KEEP, &args))?;
        let said = keeps.hear(BEGINS).unwrap_or_default();
        let Some(pid) = said.strip_prefix(READY).and_then(|pid| pid.parse().ok()) else {
            return Err(failed(&format!("no network for tests: {}", keeps.end(Duration::ZERO).complaint())));
        };
        let seen = format!("/proc/{pid}/root{ROOM}");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |at: &File, name: &str| openat(at, name, flags, Mode::empty()).map(File::from);
        let cannot = |e: io::Error| failed(&format!("the memory of a network for tests: {e}"));
        let dir = openat(CWD, &seen, flags, Mode::empty()).map_err(|e| cannot(e.into()))?;
        let apart = Self { pid, dir: dir.into(), keeps };
        if let Some(folder) = folder {
            let own = open(&apart.dir, OWN).and_then(fstat).map_err(|e| cannot(e.into()))?;
            if !folder.is_same(&own).map_err(cannot)? {
                return Err(failed(&format!("{} was replaced by something else", path.display())));
            }
        }
        Ok(apart)
    }

    /// Path of a file in the tmpfs, as programs in the sandbox see it.
    pub fn inside(name: &str) -> PathBuf {
        Path::new(ROOM).join(name)
    }

    /// Path of a file in the tmpfs, as this program sees it.
    pub fn file(&self, name: &str) -> PathBuf {
        Path::new("/proc/self/fd").join(self.dir.as_raw_fd().to_string()).join(name)
    }

    /// Makes a directory in the tmpfs.
    pub fn make_dir(&self, name: &str) -> Result<(), RunError> {
        fs::create_dir(self.file(name)).map_err(|e| failed(&format!("the directory {name} in memory: {e}")))
    }

    /// Runs a program in the sandbox, which must succeed.
    pub fn run(&self, program: &Query, tools: &System) -> Result<Output, RunError> {
        succeeded(&within(self.pid, self.pid, program, tools)?, tools)
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // When the first process ends, the kernel kills all others of the namespace.
        self.keeps.end(BEGINS);
    }
}

/// Runs a program that must succeed.
pub fn succeeded(program: &Query, tools: &System) -> Result<Output, RunError> {
    let said = tools.ask(program)?;
    match said.code {
        Some(0) => Ok(said),
        _ => Err(failed(&format!("'{program}' failed: {}", said.complaint()))),
    }
}

/// Joins both sandboxes by a virtual link with this rate in bits per second each way.
pub fn join(
    (server, its): (&Sandbox, &str),
    (client, other): (&Sandbox, &str),
    rate: Option<u64>,
    tools: &System,
) -> Result<(), RunError> {
    let module = |module: &'static str| {
        move |e: RunError| {
            failed(&format!(
                "{e}; if the kernel lacks it: modprobe {module}, or restart after a kernel upgrade"
            ))
        }
    };
    succeeded(&namespace::join(("server", server.pid), ("client", client.pid)), tools)
        .map_err(module("veth"))?;
    for (side, device, address) in [(server, "server", its), (client, "client", other)] {
        side.run(&namespace::address(device, address), tools)?;
        side.run(&namespace::up(device), tools)?;
        if let Some(rate) = rate {
            side.run(&namespace::limit(device, rate), tools).map_err(module("sch_tbf"))?;
        }
    }
    Ok(())
}

pub fn failed(why: &str) -> RunError {
    RunError::Act(why.to_owned())
}
