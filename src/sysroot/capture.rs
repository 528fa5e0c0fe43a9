//! Takes every file that was read of a watched sysroot into an archive.

use std::fs;

use super::{
    Archive, Sysroot,
    archive::{LONGEST, Node},
};

impl Archive {
    /// All that was asked of `root` since it is watched, with the links on the way.
    pub fn of(root: &Sysroot) -> Self {
        let mut archive = Self::default();
        for path in root.asked() {
            archive.take(root, &path);
        }
        archive
    }

    fn take(&mut self, root: &Sysroot, path: &str) {
        let Some(inside) = self.take_links(root, path) else { return };
        let Some(outside) = root.on_disk(&inside) else { return };
        let Ok(about) = fs::metadata(&outside) else { return };
        if about.is_file() {
            let bytes = root.read(&inside, LONGEST).unwrap_or_default();
            self.insert(inside, Node::File(bytes));
        } else if about.is_dir() {
            // Names in a directory are facts of their own: holders, members, drives.
            for name in root.list(&inside) {
                let (below, entry) = (format!("{inside}/{name}"), outside.join(&name));
                match fs::symlink_metadata(&entry) {
                    Ok(about) if about.is_dir() => self.insert(below, Node::Directory),
                    Ok(about) if about.is_symlink() => self.take_link(&below, &entry),
                    _ => {}
                }
            }
            self.insert(inside, Node::Directory);
        }
    }

    /// Takes the links on the way to a path, and the path itself where it is one that leads nowhere.
    fn take_links(&mut self, root: &Sysroot, path: &str) -> Option<String> {
        let mut links = Vec::new();
        let end = root.follow(path, &mut |at, target| links.push((at.to_owned(), target.to_owned())));
        for (at, target) in links {
            if let (Some(at), Some(target)) = (at.to_str(), target.to_str()) {
                self.insert(at.to_owned(), Node::Link(target.to_owned()));
            }
        }
        end?.to_str().filter(|path| *path != "/").map(str::to_owned)
    }

    fn take_link(&mut self, path: &str, entry: &std::path::Path) {
        if let Some(target) = fs::read_link(entry).ok().and_then(|target| target.to_str().map(str::to_owned))
        {
            self.insert(path.to_owned(), Node::Link(target));
        }
    }
}
