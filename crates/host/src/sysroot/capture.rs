//! Archives every file that was read from a recording sysroot.

use std::fs;

use super::{
    Archive, Sysroot,
    archive::{LONGEST, Node},
};

/// Files of `/proc` that help people to read a capture. The inventory does not use them.
const EXTRA: [&str; 8] =
    ["cmdline", "cpuinfo", "mdstat", "meminfo", "modules", "partitions", "version", "sys/kernel/hostname"];

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
}
