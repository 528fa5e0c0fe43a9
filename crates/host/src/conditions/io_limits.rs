//! Limits of control groups on the I/O of drives.

use serde::{Deserialize, Serialize};

use crate::{inventory::Drive, sysroot::Sysroot, units::rate};

/// The lowest limit of this process's control groups on reads or writes of a drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IoLimit {
    /// Kernel name of the drive.
    pub drive: String,
    pub kind: LimitKind,
    /// Bytes or operations per second.
    pub most: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    ReadBytes,
    WriteBytes,
    Reads,
    Writes,
}

impl LimitKind {
    /// All kinds with their keys in version 2 (`io.max`) and version 1 (`blkio.throttle.*_device`) of control groups.
    const ALL: [(Self, &'static str, &'static str); 4] = [
        (Self::ReadBytes, "rbps", "read_bps"),
        (Self::WriteBytes, "wbps", "write_bps"),
        (Self::Reads, "riops", "read_iops"),
        (Self::Writes, "wiops", "write_iops"),
    ];
}

impl IoLimit {
    /// The limit in words, such as `reads of vda to 10.5 MB/s`.
    pub fn describe(&self) -> String {
        let most = match self.kind {
            LimitKind::ReadBytes | LimitKind::WriteBytes => rate(self.most as f64),
            LimitKind::Reads | LimitKind::Writes => format!("{} operations a second", self.most),
        };
        let what = match self.kind {
            LimitKind::ReadBytes | LimitKind::Reads => "reads",
            LimitKind::WriteBytes | LimitKind::Writes => "writes",
        };
        format!("{what} of {} to {most}", self.drive)
    }
}

/// All limits on these drives, of the group of this process and of those above it.
pub(super) fn io_limits<'a>(root: &Sysroot, drives: impl IntoIterator<Item = &'a Drive>) -> Vec<IoLimit> {
    let groups = root.text("/proc/self/cgroup").unwrap_or_default();
    let limits_of = |drive: &Drive| {
        let device = root.word(&format!("/sys/block/{}/dev", drive.name))?;
        let one = |(kind, key, file): (LimitKind, &str, &str)| {
            let all = groups.lines().flat_map(|line| values(root, line, &device, key, file));
            Some(IoLimit { drive: drive.name.clone(), kind, most: all.min()? })
        };
        Some(LimitKind::ALL.into_iter().filter_map(one).collect::<Vec<_>>())
    };
    drives.into_iter().filter_map(limits_of).flatten().collect()
}

/// The values of one kind for a device, in a group of /proc/self/cgroup (`4:blkio:/a/b`, `0::/a/b`) and in those above it.
fn values(root: &Sysroot, group: &str, device: &str, key: &str, file: &str) -> Vec<u64> {
    let mut parts = group.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let up = std::iter::successors(Some(path.trim_end_matches('/')), |path| Some(path.rsplit_once('/')?.0));
    let line = |text: String| {
        text.lines().find_map(|line| Some(line.strip_prefix(device)?.strip_prefix(' ')?.to_owned()))
    };
    let value = |group: &str| match controllers {
        "" => {
            let line = line(root.text(&format!("/sys/fs/cgroup{group}/io.max"))?)?;
            line.split(' ').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
        }
        _ if controllers.split(',').any(|one| one == "blkio") => {
            let file = format!("/sys/fs/cgroup/blkio{group}/blkio.throttle.{file}_device");
            line(root.text(&file)?)?.trim().parse().ok()
        }
        _ => None,
    };
    up.filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures::Tree;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut tree = Tree::empty();
        tree.file("sys/block/vda/dev", "254:0\n");
        for (path, text) in files {
            tree.file(path, text);
        }
        let vda = Drive { name: "vda".to_owned(), ..Drive::default() };
        io_limits(&tree.sysroot(), [&vda]).iter().map(IoLimit::describe).collect()
    }

    #[test]
    fn the_least_of_the_own_group_and_those_above_it_holds() {
        let version_2 = [
            ("proc/self/cgroup", "0::/a/b\n"),
            (
                "sys/fs/cgroup/a/io.max",
                "8:0 rbps=1 wbps=max\n254:0 rbps=10485760 wbps=max riops=max wiops=120\n",
            ),
            ("sys/fs/cgroup/a/b/io.max", "254:0 rbps=20971520 wbps=max riops=max wiops=max\n"),
        ];
        assert_eq!(
            found(&version_2),
            ["reads of vda to 10.5 MB/s", "writes of vda to 120 operations a second"]
        );
        let version_1 = [
            ("proc/self/cgroup", "7:blkio:/t\n4:memory:/x\n0::/\n"),
            ("sys/fs/cgroup/blkio/t/blkio.throttle.read_bps_device", "254:0 10485760\n"),
        ];
        assert_eq!(found(&version_1), ["reads of vda to 10.5 MB/s"]);
        assert!(found(&[("proc/self/cgroup", "0::/\n")]).is_empty());
    }
}
