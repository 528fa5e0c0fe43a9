//! mount and umount.

use super::{Change, State, Tool};

const WITHOUT: &str = "without it, nothing can be mounted";
const MOUNT: Tool = Tool { name: "mount", package: "mount", without: WITHOUT };
const UMOUNT: Tool = Tool { name: "umount", package: "mount", without: WITHOUT };

/// Mounts the filesystem on the device at `path` on a directory.
pub fn mount(path: &str, filesystem: &str, dir: &str) -> Change<State> {
    Change::of(super::Query::new(MOUNT, ["-t", filesystem, path, dir]), [path])
}

/// Unmounts what is mounted from the device at `path` on a directory.
pub fn unmount(path: &str, dir: &str) -> Change<State> {
    Change::of(super::Query::new(UMOUNT, [dir]), [path])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        assert_eq!(mount("/dev/md/p", "ext4", "/mnt/p").to_string(), "mount -t ext4 /dev/md/p /mnt/p");
        assert_eq!(unmount("/dev/md/p", "/mnt/a b").to_string(), "umount '/mnt/a b'");
    }
}
