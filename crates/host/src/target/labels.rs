//! Names of a target: labels, a one-line description, and lock keys.

use super::{Kind, Target};
use crate::inventory::{Drive, Medium, Mount};
use crate::units::{Pool, decimal_bytes};

impl Target {
    /// Its pool, or the labels of its drives; if none is known, its filesystem and path.
    pub fn label(&self) -> String {
        if let Some(pool) = &self.pool {
            return pool.describe();
        }
        if self.drives.is_empty() {
            let on = self.mount.as_ref().map(|m| format!("{} ", m.filesystem)).unwrap_or_default();
            return format!("{on}{}", self.path.display());
        }
        self.drive_labels()
    }

    fn drive_labels(&self) -> String {
        self.drives.iter().map(Drive::label).collect::<Vec<_>>().join(" + ")
    }

    pub fn describe(&self) -> String {
        let mut about = vec![self.path.display().to_string()];
        if !self.layers.is_empty() {
            about.push(format!("through {}", self.layers.join(", ")));
        }
        match self.kind {
            Kind::Directory => {
                about.extend(self.mount.as_ref().map(|m| m.filesystem.clone()));
                about.extend(self.free.map(|free| format!("{} free", decimal_bytes(free))));
            }
            Kind::File => about.extend(self.size.map(|size| format!("a file of {}", decimal_bytes(size)))),
            Kind::BlockDevice => about.push("block device".to_owned()),
        }
        let label = match &self.drives[..] {
            [] if self.is_memory() => "memory".to_owned(),
            // On another machine.
            [] if self.mount.is_none() => return about.join(", "),
            [] => "no drive known".to_owned(),
            _ if self.pool.is_some() => self.pool.iter().map(|pool| self.on_pool(pool)).collect(),
            [drive] => format!("{}, {}", drive.label(), decimal_bytes(drive.bytes())),
            _ => self.label(),
        };
        format!("{label} ({})", about.join(", "))
    }

    /// `raid5 of 3 drives (degraded: 1 of 3 drives missing): Cruzer Blade ...`.
    fn on_pool(&self, pool: &Pool) -> String {
        let state = match pool.is_quiet() {
            true => String::new(),
            false => format!(" ({})", pool.state_in_words(None)),
        };
        format!("{}{state}: {}", pool.describe(), self.drive_labels())
    }

    /// Keys that two runs must not lock at once, as (identity, label): each drive; where none is known, each layer, or
    /// the filesystem, whatever directory of it was named.
    pub fn lock_keys(&self) -> Vec<(String, String)> {
        let own = |key: String| (key, self.label());
        match (&self.drives[..], &self.layers[..], &self.mount) {
            ([], [], Some(Mount { device: (major, minor), .. })) => vec![own(format!("{major}:{minor}"))],
            ([], [], None) => vec![own(self.path.display().to_string())],
            ([], layers, _) => layers.iter().cloned().map(own).collect(),
            (drives, ..) => drives.iter().map(|d| (d.identity(), d.label())).collect(),
        }
    }

    /// Whether all of its drives rotate. Where the media type is unknown, the `rotational` flag counts.
    pub fn rotates(&self) -> bool {
        let rotates = |d: &Drive| match d.medium {
            Medium::Unknown => d.rotational,
            medium => medium == Medium::Rotating,
        };
        !self.drives.is_empty() && self.drives.iter().all(rotates)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::inventory::{Inventory, Layer, Mount};

    fn target() -> Target {
        Target {
            given: "/mnt/a".to_owned(),
            kind: Kind::Directory,
            path: PathBuf::from("/mnt/a"),
            drives: vec![Drive {
                name: "sda".to_owned(),
                model: Some("Cruzer Blade".to_owned()),
                serial: Some("4C530001".to_owned()),
                bay: Some("1.1".to_owned()),
                bus: Some("usb".to_owned()),
                sectors: 121_077_760,
                rotational: true,
                ..Drive::default()
            }],
            layers: vec![],
            pool: None,
            mount: Some(Mount { filesystem: "ext4".to_owned(), ..Mount::default() }),
            filesystem_id: None,
            device: None,
            free: Some(41_000_000_000),
            capacity: None,
            size: None,
            read_only: None,
            uses: Vec::new(),
            direct_alignment: 512,
        }
    }

    #[test]
    fn describes_each_kind_of_target() {
        let bare = Target { drives: vec![], ..target() };
        let twins = Target {
            drives: [target().drives, target().drives].concat(),
            layers: vec!["md0".to_owned()],
            ..target()
        };
        let file = Target { kind: Kind::File, size: Some(1 << 30), ..target() };
        let device = Target { kind: Kind::BlockDevice, path: PathBuf::from("/dev/sda"), ..target() };
        let pool = Pool {
            kind: "raid1".to_owned(),
            layout: Some("raid1".to_owned()),
            members: 3,
            drives: 3,
            degraded: 1,
            missing: 1,
            ..Pool::default()
        };
        let pool = Target { pool: Some(pool), ..twins.clone() };
        assert_eq!(pool.label(), "raid1 of 3 drives");
        assert_eq!(pool.lock_keys().len(), 2, "the drives are locked");
        let lines = [target(), bare.clone(), twins, pool, file, device].map(|t| t.describe());
        insta::assert_snapshot!(lines.join("\n"));
        assert_eq!(bare.lock_keys(), [("0:0".to_owned(), "ext4 /mnt/a".to_owned())]);
        let other = Target { path: "/mnt/a/below".into(), ..bare.clone() };
        assert_eq!(other.lock_keys()[0].0, bare.lock_keys()[0].0, "two directories of one filesystem");
        let image = |mount| Target { layers: vec!["loop0".to_owned()], mount, ..bare.clone() };
        assert_eq!(image(None).lock_keys()[0].0, image(bare.mount.clone()).lock_keys()[0].0);
        let inventory = Inventory {
            layers: vec![Layer { name: "loop0".to_owned(), kind: "loop".to_owned(), ..Layer::default() }],
            ..Inventory::default()
        };
        let fuse = Mount { filesystem: "fuse.bindfs".to_owned(), ..Mount::default() };
        let indirect = [target(), image(None), Target { mount: Some(fuse), ..target() }];
        assert_eq!(indirect.map(|target| target.is_indirect(&inventory)), [false, true, true]);
        let stick = Drive { medium: Medium::Flash, ..target().drives[0].clone() };
        assert!(target().rotates() && !bare.rotates());
        assert!(!Target { drives: vec![stick], ..target() }.rotates(), "though the rotational flag is set");
    }
}
