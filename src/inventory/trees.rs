//! Small trees of /sys, /proc and udev's database, written by tests.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::{Inventory, Sysroot};

/// A tree in a temporary directory.
pub(crate) struct Tree {
    root: tempfile::TempDir,
}

impl Tree {
    pub(crate) fn new() -> Self {
        Self { root: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn sysroot(&self) -> Sysroot {
        Sysroot::at(self.root.path())
    }

    pub(crate) fn inventory(&self) -> Inventory {
        Inventory::read(&self.sysroot())
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn bytes(&mut self, path: &str, bytes: &[u8]) -> &mut Self {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, bytes).expect("a file");
        self
    }

    pub(crate) fn file(&mut self, path: &str, text: &str) -> &mut Self {
        self.bytes(path, text.as_bytes())
    }

    /// Several files below a directory.
    pub(crate) fn files(&mut self, below: &str, files: &[(&str, &str)]) -> &mut Self {
        for (path, text) in files {
            self.file(&format!("{below}/{path}"), text);
        }
        self
    }

    pub(crate) fn link(&mut self, path: &str, target: &str) -> &mut Self {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        symlink(target, path).expect("a link");
        self
    }

    /// A whole block device at `/sys/devices/{parent}/block/{name}`, whose `device` is `parent`.
    pub(crate) fn disk(&mut self, parent: &str, name: &str, dev: &str, sectors: u64) -> &mut Self {
        let dir = format!("sys/devices/{parent}/block/{name}");
        self.link(&format!("sys/block/{name}"), &format!("../devices/{parent}/block/{name}"));
        self.link(
            &format!("{dir}/device"),
            &format!("../../../{}", parent.rsplit('/').next().unwrap_or(parent)),
        );
        self.block(&dir, dev, sectors)
    }

    /// What every whole block device says of itself.
    pub(crate) fn block(&mut self, dir: &str, dev: &str, sectors: u64) -> &mut Self {
        let size = format!("{sectors}\n");
        self.files(
            dir,
            &[
                ("dev", &format!("{dev}\n")),
                ("size", &size),
                ("removable", "0\n"),
                ("ro", "0\n"),
                ("queue/logical_block_size", "512\n"),
                ("queue/physical_block_size", "512\n"),
                ("queue/rotational", "0\n"),
            ],
        )
    }

    /// A partition of a disk that stands in `/sys/block`.
    pub(crate) fn partition(
        &mut self,
        disk: &str,
        name: &str,
        dev: &str,
        start: u64,
        sectors: u64,
    ) -> &mut Self {
        self.files(
            &format!("sys/block/{disk}/{name}"),
            &[
                ("partition", "1\n"),
                ("dev", &format!("{dev}\n")),
                ("start", &format!("{start}\n")),
                ("size", &format!("{sectors}\n")),
            ],
        )
    }

    /// A record of udev's database.
    pub(crate) fn udev(&mut self, dev: &str, properties: &[(&str, &str)]) -> &mut Self {
        let text: String = properties.iter().map(|(key, value)| format!("E:{key}={value}\n")).collect();
        self.file(&format!("run/udev/data/b{dev}"), &format!("S:disk/by-path/x\nI:4711\n{text}G:systemd\n"))
    }
}
