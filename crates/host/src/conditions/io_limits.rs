//! Limits of control groups on the I/O of drives.

use crate::{sysroot::Sysroot, units::rate};

/// What is limited, and the keys for it in version 2 (`io.max`) and version 1 (`blkio.throttle.*_device`) of control groups.
const KINDS: [(&str, &str, &str); 4] = [
    ("reads", "rbps", "read_bps"),
    ("writes", "wbps", "write_bps"),
    ("reads", "riops", "read_iops"),
    ("writes", "wiops", "write_iops"),
];

/// The lowest limits of the group of this process and of those above it on a drive, such as `reads of vda to 10.5 MB/s`.
pub(super) fn io_limits(root: &Sysroot, drive: &str) -> Vec<String> {
    let groups = root.text("/proc/self/cgroup").unwrap_or_default();
    let Some(device) = root.word(&format!("/sys/block/{drive}/dev")) else { return Vec::new() };
    let limit = |(what, key, file): (&str, &str, &str)| {
        let most = groups.lines().flat_map(|line| values(root, line, &device, key, file)).min()?;
        let most =
            if key.ends_with("bps") { rate(most as f64) } else { format!("{most} operations a second") };
        Some(format!("{what} of {drive} to {most}"))
    };
    KINDS.into_iter().filter_map(limit).collect()
}

/// The values of one kind for a device, in a group of /proc/self/cgroup (`4:blkio:/a/b`, `0::/a/b`) and in those above it.
fn values(root: &Sysroot, group: &str, device: &str, key: &str, file: &str) -> Vec<u64> {
    let mut parts = group.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let up = std::iter::successors(Some(path.trim_end_matches('/')), |path| Some(path.rsplit_once('/')?.0));
    let line = |file: String| {
        let text = root.text(&file)?;
        text.lines().find_map(|line| Some(line.strip_prefix(device)?.strip_prefix(' ')?.to_owned()))
    };
    let value = |group: &str| match controllers {
        "" => {
            let limits = line(format!("/sys/fs/cgroup{group}/io.max"))?;
            limits.split(' ').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
        }
        "blkio" => {
            line(format!("/sys/fs/cgroup/blkio{group}/blkio.throttle.{file}_device"))?.trim().parse().ok()
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
        io_limits(&tree.sysroot(), "vda")
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
