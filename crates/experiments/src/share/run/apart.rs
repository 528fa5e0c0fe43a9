//! Mounts, and where they are joined by a link a network, of their own for the server and for the client. They vanish with this program,
//! however it ends.

use std::{
    fs::File,
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    process,
    time::Duration,
};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};

use crate::{
    run::{Folder, RunError},
    tools::{
        Output, Query, Runner, System, Talk,
        namespace::{self, Ends, LEAVE, within},
    },
};

/// The first word of what keeps a network and mounts; its process follows.
const READY: &str = "drivebench-ready ";
/// Memory is mounted on the first argument, and in it the second one, which may be moved or replaced before: so it is compared
/// afterwards. Kept as long as the standard input is open, and then until clients have left if there is a sixth argument, the process that
/// uses what they have mounted.
const KEEP: &str = r#"if [ -n "$2" ]; then cd "$2" || exit; fi
mount -t tmpfs -o "mode=700,size=$3,nr_inodes=$4" drivebench "$1" || exit
if [ -n "$2" ]; then mkdir "$1/own" && mount --no-canonicalize --bind . "$1/own" || exit; fi
if [ -n "$5" ]; then ip link set lo up || exit; fi
cd / && read -r pid rest </proc/self/stat && echo "drivebench-ready $pid" || exit
cat >/dev/null
if [ -n "$6" ]; then leave "$1/mounted" "$6"; fi"#;
/// How long programs may take to begin, and to end.
const BEGINS: Duration = Duration::from_secs(30);
/// Directories that systems have. One is hidden by memory, for these programs only.
const ROOMS: [&str; 5] = ["/mnt", "/srv", "/media", "/opt", "/home"];
/// Where clients mount what they use, in their memory.
pub(super) const MOUNTED: &str = "mounted";
/// Where a directory on a drive is in the memory.
pub const OWN: &str = "own";

/// One side.
#[derive(Debug)]
pub struct Apart {
    /// Its first process.
    pub pid: u32,
    /// A directory in memory, as programs there see it.
    pub room: PathBuf,
    /// The same directory, whatever becomes of the path and the process.
    dir: File,
    keeps: Talk,
}

impl Apart {
    /// With room for so many bytes and files, and the files of `folder` in [`OWN`]; with a network of its own if it is `alone`. What ends by itself
    /// lets clients leave before.
    pub fn start(
        tools: &System,
        folder: Option<&Folder>,
        room_for: (u64, u64),
        (alone, ends): (bool, Ends),
    ) -> Result<Self, RunError> {
        let is_room = |room: &&Path| room.symlink_metadata().is_ok_and(|about| about.is_dir());
        let room = ROOMS.iter().map(Path::new).find(is_room);
        let room = room.ok_or_else(|| failed(&format!("none of {} is a directory", ROOMS.join(", "))))?;
        let path = folder.map(Folder::path).unwrap_or_default();
        let (bytes, files) = (room_for.0.to_string(), room_for.1.to_string());
        let alone_or_not = if alone { "alone" } else { "" };
        let user = if ends == Ends::ByItself { process::id().to_string() } else { String::new() };
        let args = [
            room.as_os_str(),
            path.as_os_str(),
            bytes.as_ref(),
            files.as_ref(),
            alone_or_not.as_ref(),
            user.as_ref(),
        ];
        let mut keeps = tools.talk(&namespace::apart(alone, ends, &format!("{LEAVE}{KEEP}"), &args))?;
        let said = keeps.hear(BEGINS).unwrap_or_default();
        let Some(pid) = said.strip_prefix(READY).and_then(|pid| pid.parse().ok()) else {
            return Err(failed(&format!("no network for tests: {}", keeps.end(Duration::ZERO).complaint())));
        };
        let seen =
            Path::new("/proc").join(format!("{pid}/root")).join(room.strip_prefix("/").unwrap_or(room));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = |at: &File, name: &str| openat(at, name, flags, Mode::empty()).map(File::from);
        let cannot = |e: io::Error| failed(&format!("the memory of a network for tests: {e}"));
        let dir = openat(CWD, &seen, flags, Mode::empty()).map_err(|e| cannot(e.into()))?;
        let apart = Self { pid, room: room.to_owned(), dir: dir.into(), keeps };
        if let Some(folder) = folder {
            let own = open(&apart.dir, OWN).and_then(fstat).map_err(|e| cannot(e.into()))?;
            if !folder.is(&own).map_err(cannot)? {
                return Err(failed(&format!("{} was replaced by something else", path.display())));
            }
        }
        Ok(apart)
    }

    /// A file in its memory, as this program sees it.
    pub fn file(&self, name: &str) -> PathBuf {
        Path::new("/proc/self/fd").join(self.dir.as_raw_fd().to_string()).join(name)
    }

    /// Runs a program there, which must succeed.
    pub fn run(&self, program: &Query, tools: &System) -> Result<Output, RunError> {
        succeeded(&within(self.pid, self.pid, program, tools)?, tools)
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        // The kernel ends all that runs there before its first process has ended.
        self.keeps.end(BEGINS);
    }
}

/// A program that must succeed.
pub fn succeeded(program: &Query, tools: &System) -> Result<Output, RunError> {
    let said = tools.ask(program)?;
    match said.code {
        Some(0) => Ok(said),
        _ => Err(failed(&format!("'{program}' failed: {}", said.complaint()))),
    }
}

/// Joins both by a link that carries so many bits per second each way.
pub fn join(
    (server, its): (&Apart, &str),
    (client, other): (&Apart, &str),
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
