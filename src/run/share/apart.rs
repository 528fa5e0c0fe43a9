//! A network and mounts of their own for the server and for the client, joined by a link. They vanish with this program, however it ends.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{
    run::RunError,
    tools::{
        Output, Query, Runner, System, Talk,
        namespace::{self, within},
    },
};

/// The first line of what keeps a network and mounts.
const READY: &str = "drivebench: ready";
/// Memory is mounted on the directory, and kept as long as the standard input is open.
const KEEP: &str = r#"mount -t tmpfs -o mode=700 drivebench "$1" && ip link set lo up && echo "drivebench: ready" && exec cat >/dev/null"#;
/// How long programs may take to begin.
const BEGINS: Duration = Duration::from_secs(30);
/// Directories that every system has; one that the target is not below is hidden by memory, for these programs only.
const ROOMS: [&str; 5] = ["/media", "/srv", "/opt", "/mnt", "/home"];

/// One side.
#[derive(Debug)]
pub struct Apart {
    /// Its first process.
    pub pid: u32,
    /// A directory in memory, as programs there see it.
    pub room: PathBuf,
    _keeps: Talk,
}

impl Apart {
    pub fn start(tools: &System, beside: &Path) -> Result<Self, RunError> {
        let room = ROOMS.iter().map(Path::new).find(|room| room.is_dir() && !beside.starts_with(room));
        let room = room.ok_or_else(|| failed("no directory could be used for memory"))?;
        let mut keeps = tools.talk(&namespace::apart(KEEP, &[&room.to_string_lossy()]))?;
        if keeps.hear(BEGINS).ok().as_deref() != Some(READY) {
            return Err(failed(&format!("no network for tests: {}", keeps.end(Duration::ZERO).complaint())));
        }
        let pid = first_of(keeps.id()).ok_or_else(|| failed("its first process is not known"))?;
        Ok(Self { pid, room: room.to_owned(), _keeps: keeps })
    }

    /// A file in its memory, as this program sees it.
    pub fn file(&self, name: &str) -> PathBuf {
        let room = self.room.strip_prefix("/").unwrap_or(&self.room);
        Path::new("/proc").join(self.pid.to_string()).join("root").join(room).join(name)
    }

    /// Runs a program there, which must succeed.
    pub fn run(&self, program: &Query, tools: &System) -> Result<Output, RunError> {
        succeeded(&within(self.pid, self.pid, program), tools)
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
    succeeded(&namespace::join(("server", server.pid), ("client", client.pid)), tools)?;
    for (side, device, address) in [(server, "server", its), (client, "client", other)] {
        side.run(&namespace::address(device, address), tools)?;
        side.run(&namespace::up(device), tools)?;
        if let Some(rate) = rate {
            side.run(&namespace::limit(device, rate), tools)?;
        }
    }
    Ok(())
}

pub fn failed(why: &str) -> RunError {
    RunError::Share(why.to_owned())
}

/// The only child of a process, once it is there.
fn first_of(pid: u32) -> Option<u32> {
    let since = Instant::now();
    let children = || -> io::Result<Option<u32>> {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
        Ok(text.split_whitespace().next().and_then(|pid| pid.parse().ok()))
    };
    while since.elapsed() < BEGINS {
        match children() {
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            found => return found.ok().flatten(),
        }
    }
    None
}
