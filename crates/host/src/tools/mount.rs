//! mount and umount.

use std::time::Duration;

use super::{Change, State, Tool};

/// Mounting may repair a journal or read a large disk's bitmaps; unmounting writes what is in memory, to slow sticks too.
const LIMIT: Duration = Duration::from_secs(3600);

const MOUNT: Tool = Tool { name: "mount", package: "mount" };
const UMOUNT: Tool = Tool { name: "umount", package: "mount" };

/// Mounts the filesystem on the device at `path` on a directory.
pub fn mount(path: &str, filesystem: &str, dir: &str) -> Change<State> {
    Change::of(super::Query::new(MOUNT, ["-t", filesystem, path, dir]), [path]).within(LIMIT)
}

/// Unmounts what is mounted from the device at `path` on a directory.
pub fn unmount(path: &str, dir: &str) -> Change<State> {
    Change::of(super::Query::new(UMOUNT, [dir]), [path]).within(LIMIT)
}

/// Unmounts at once, although the filesystem is in use or hangs: the kernel completes it when it is no longer in use.
pub fn unmount_lazily(path: &str, dir: &str) -> Change<State> {
    Change::of(super::Query::new(UMOUNT, ["--lazy", dir]), [path])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        assert_eq!(mount("/dev/md/p", "ext4", "/mnt/p").to_string(), "mount -t ext4 /dev/md/p /mnt/p");
        assert_eq!(unmount("/dev/md/p", "/mnt/a b").to_string(), "umount '/mnt/a b'");
        assert_eq!(unmount_lazily("/dev/md/p", "/mnt/p").to_string(), "umount --lazy /mnt/p");
    }
}
