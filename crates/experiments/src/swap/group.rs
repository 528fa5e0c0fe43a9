//! A control group that bounds what the program may use, and all other settings of the kernel that a test of swap writes.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::undo::ControlGroup;
use crate::{
    inventory::parse_mountinfo,
    run::{Entry, Journal},
    sysroot::Sysroot,
};

/// How often a wait looks at what goes on.
pub const POLL: Duration = Duration::from_millis(20);
/// Time limit for processes to end; one that waits for its drive takes longest.
const ENDS: Duration = Duration::from_secs(60);

/// Writes a value into a file of sysfs or of a control group.
pub fn set(file: impl AsRef<Path>, value: &str) -> io::Result<()> {
    let file = file.as_ref();
    fs::write(file, value)
        .map_err(|e| io::Error::new(e.kind(), format!("{} can't be set: {e}", file.display())))
}

/// A control group, removed on drop together with its processes.
#[derive(Debug)]
pub struct Group {
    dir: PathBuf,
    entry: Option<Entry>,
}

impl Group {
    /// With so much memory and swap. `zswap` before the area, where the kernel lets a group choose.
    pub fn make(journal: &Journal, memory: u64, swap: u64, zswap: bool) -> io::Result<Self> {
        let dir = place(&Sysroot::live())?.join(name(&journal.run()));
        let entry = journal.will(ControlGroup { dir: dir.clone() })?;
        fs::create_dir(&dir)?;
        let group = Self { dir, entry: Some(entry) };
        let set = |file: &str, value: u64| set(group.dir.join(file), &value.to_string());
        set("memory.max", memory)?;
        set("memory.swap.max", swap)?;
        if !zswap && group.dir.join("memory.zswap.max").exists() {
            set("memory.zswap.max", 0)?;
        }
        Ok(group)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Time in which all its processes were stalled on memory, s.
    pub fn stalled(&self) -> Option<f64> {
        full_stalls(&fs::read_to_string(self.dir.join("memory.pressure")).ok()?)
    }

    /// Whether the kernel ended a process of it because it had no memory left.
    pub fn was_killed(&self) -> bool {
        let events = fs::read_to_string(self.dir.join("memory.events")).unwrap_or_default();
        let mut kills =
            events.lines().filter_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok());
        kills.any(|kills| kills > 0)
    }

    pub fn remove(mut self) -> io::Result<()> {
        self.clear_away()
    }

    fn clear_away(&mut self) -> io::Result<()> {
        let Some(entry) = self.entry.take() else { return Ok(()) };
        remove(&self.dir)?;
        entry.done()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The entry stays in the journal then, and the next run removes it.
        let _ = self.clear_away();
    }
}

/// The name of the group of a run.
pub fn name(run: &str) -> String {
    format!("drivebench-{run}")
}

/// Whether a path of a journal is that of a run's group.
pub fn is_of(run: &str, dir: &Path) -> bool {
    let above = place(&Sysroot::live());
    dir.file_name() == Some(name(run).as_ref()) && above.is_ok_and(|above| dir.parent() == Some(&above))
}

/// Ends what runs in a group, and removes it.
pub fn remove(dir: &Path) -> io::Result<()> {
    let until = Instant::now() + ENDS;
    loop {
        match fs::remove_dir(dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) if Instant::now() > until => return Err(e),
            Err(_) => {}
            Ok(()) => return Ok(()),
        }
        let pids = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
        for pid in pids.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        thread::sleep(POLL);
    }
}

/// Where groups are made (version 2 only), or why none can bound memory.
pub fn place(root: &Sysroot) -> io::Result<PathBuf> {
    let mounts = parse_mountinfo(&root.text("/proc/self/mountinfo").unwrap_or_default());
    if let Some(mount) = mounts.iter().find(|mount| mount.filesystem == "cgroup2") {
        let has_memory = |file: &str| {
            let controllers = root.text(&format!("{}/{file}", mount.path)).unwrap_or_default();
            controllers.split_whitespace().any(|name| name == "memory")
        };
        if has_memory("cgroup.subtree_control") {
            return Ok(mount.path.clone().into());
        }
        if has_memory("cgroup.controllers") {
            return Err(io::Error::other(format!(
                "control groups don't bound memory here yet: echo +memory > {}/cgroup.subtree_control",
                mount.path
            )));
        }
    }
    Err(io::Error::other(
        "no control group bounds memory here, so the load could take all of it: mount cgroup2 with the memory controller; on a \
         Raspberry Pi, add `cgroup_enable=memory psi=1` to the line in /boot/firmware/cmdline.txt (/boot/cmdline.txt before Debian 12) and restart",
    ))
}

/// Total full stall time of a file of the kernel's pressure stall information, s.
pub fn full_stalls(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("full "))?;
    let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    Some(total.parse::<f64>().ok()? / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_of_linux_6_1() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1750000\n";
        assert_eq!(full_stalls(text), Some(1.75));
        assert_eq!(full_stalls("some avg10=0.00 total=1\n"), None);
    }

    #[test]
    fn a_group_is_made_only_where_memory_can_be_bounded() {
        let home = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("makes");
            fs::write(path, text).expect("writes");
        };
        let root = Sysroot::at(home.path().to_owned());
        let mount = |kind: &str, at: &str| format!("30 23 0:26 / {at} rw,nosuid - {kind} {kind} rw\n");
        write("proc/self/mountinfo", &mount("cgroup2", "/sys/fs/cgroup"));
        write("sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu io pids\n");
        let why = place(&root).expect_err("memory is left out").to_string();
        assert!(why.contains("cgroup_enable=memory"), "{why}");
        write("sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu io memory pids\n");
        assert_eq!(place(&root).expect("version 2"), Path::new("/sys/fs/cgroup"));
        write("proc/self/mountinfo", &mount("cgroup", "/sys/fs/cgroup/memory"));
        place(&root).expect_err("version 1");
        assert!(!is_of("rabc", Path::new("/sys/fs/cgroup/system.slice/drivebench-rabc")));
        assert!(!is_of("rabc", Path::new("/home/drivebench-rabc")));
    }
}
