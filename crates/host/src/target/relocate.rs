//! Finds a target again after its drive was moved or its filesystem mounted elsewhere.

use std::path::Path;

use super::{ERASES, Kind, Target, TargetError};
use crate::inventory::{Drive, Inventory, Mount};

#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    #[error("{0} is not connected")]
    Drive(String),
    #[error("the filesystem of {drive} is not mounted: mount it at any mount point{}", command(.uuid))]
    Mount { drive: String, uuid: Option<String> },
    /// A target without a known drive.
    #[error("{0} is not there any more")]
    Changed(String),
    #[error("{source}: {}", .source.hint())]
    Target {
        #[from]
        source: TargetError,
    },
}

fn command(uuid: &Option<String>) -> String {
    uuid.as_ref().map(|uuid| format!(" (mount UUID={uuid})")).unwrap_or_default()
}

impl Inventory {
    pub fn drive(&self, identity: &str) -> Option<&Drive> {
        self.drives.iter().find(|drive| drive.identity() == identity)
    }
}

impl Target {
    /// The target as it is now: on the same drives or, where none is known, on the same filesystem.
    pub fn find_again(&self, inventory: &Inventory) -> Result<Self, NotFound> {
        let moved = match self.relocate(inventory) {
            Ok(now) if now.is_on_drives_of(self) => return Ok(now),
            moved => moved.err().filter(|_| !self.drives.is_empty()),
        };
        // A target on layers, or on no known drive, is found by its path.
        let path = self.path.to_str().unwrap_or_default();
        match Self::at(inventory, &self.given, path) {
            Ok(now) if now.is_on_drives_of(self) && now.is_on_filesystem_of(self) => Ok(now),
            _ => Err(moved.unwrap_or_else(|| {
                let mount = self.mount.as_ref();
                let on = mount.map(|m| format!("{} of {} on {}", m.filesystem, m.source, m.path));
                NotFound::Changed(on.unwrap_or_else(|| self.label()))
            })),
        }
    }

    /// As [`Target::find_again`], but its pool may lack drives now.
    pub fn find_degraded(&self, inventory: &Inventory) -> Result<Self, NotFound> {
        let path = self.path.to_str().unwrap_or_default();
        let left = || Self::at(inventory, &self.given, path).ok().filter(|now| now.is_left_of(self));
        self.find_again(inventory).or_else(|e| left().ok_or(e))
    }

    /// Whether it is the same filesystem on some of the drives of a pool.
    fn is_left_of(&self, was: &Self) -> bool {
        let is_of_it = |now: &Drive| was.drives.iter().any(|was| was.identity() == now.identity());
        was.pool.is_some()
            && was.filesystem_id.is_some()
            && self.is_on_filesystem_of(was)
            && !self.drives.is_empty()
            && self.drives.iter().all(is_of_it)
    }

    fn is_on_drives_of(&self, other: &Self) -> bool {
        // After a start the kernel may list those of a pool in another order.
        let drives = |target: &Self| {
            let mut drives: Vec<String> = target.drives.iter().map(Drive::identity).collect();
            drives.sort();
            drives
        };
        let all = self.kind != Kind::BlockDevice || self.size == other.size;
        self.kind == other.kind && all && drives(self) == drives(other)
    }

    fn is_on_filesystem_of(&self, other: &Self) -> bool {
        let ids = self.filesystem_id.zip(other.filesystem_id);
        match (&self.mount, &other.mount) {
            (Some(a), Some(b)) => {
                let same = ids.map_or(a.source == b.source, |(a, b)| a == b);
                same && (&a.filesystem, &a.root) == (&b.filesystem, &b.root)
            }
            (a, b) => a == b,
        }
    }

    /// The target at its current path: its drive found by identity, its filesystem by UUID.
    pub fn relocate(&self, inventory: &Inventory) -> Result<Self, NotFound> {
        Ok(Self::at(inventory, &self.given, &self.current_path(inventory)?)?)
    }

    fn current_path(&self, inventory: &Inventory) -> Result<String, NotFound> {
        let label = || self.drives.first().map_or_else(|| self.given.clone(), Drive::model_and_serial);
        let was = self.drives.first().ok_or_else(|| NotFound::Drive(label()))?;
        // Drives without a serial, such as virtual ones, may have the same identity.
        let same = inventory.drives.iter().filter(|drive| drive.identity() == was.identity());
        let now = same.min_by_key(|drive| drive.name != was.name).ok_or_else(|| NotFound::Drive(label()))?;
        if self.kind == Kind::BlockDevice {
            return Ok(now.node());
        }
        let missing = |uuid: Option<String>| NotFound::Mount { drive: label(), uuid };
        let mount = self.mount.as_ref().ok_or_else(|| missing(None))?;
        let mut parts = contents(was);
        let (_, at, uuid) =
            parts.find(|(device, ..)| *device == mount.device).ok_or_else(|| missing(None))?;
        // Without a UUID, the same start on the drive is the same filesystem.
        let same = |start, other| if uuid.is_some() { other == uuid } else { start == at };
        let same_mount = |m: &&Mount| {
            let mut devices = contents(now).filter(|(_, start, other)| same(*start, *other));
            devices.any(|(device, ..)| device == m.device) && m.root == mount.root
        };
        let now_mounted = inventory.mounts.iter().filter(same_mount).min_by_key(|m| m.path != mount.path);
        let now_mounted = now_mounted.ok_or_else(|| missing(uuid.cloned()))?;
        let below = self.path.strip_prefix(&mount.path).map_err(|_| missing(uuid.cloned()))?;
        Ok(Path::new(&now_mounted.path).join(below).display().to_string())
    }

    /// The whole drive below it, for reading; `None` unless it is on exactly one drive, without layers.
    pub fn whole_drive(&self) -> Option<Self> {
        let ([drive], true) = (&self.drives[..], self.layers.is_empty()) else { return None };
        Some(Self {
            kind: Kind::BlockDevice,
            path: drive.node().into(),
            mount: None,
            device: None,
            free: None,
            capacity: None,
            size: Some(drive.bytes()),
            read_only: Some(ERASES.to_owned()),
            direct_alignment: drive.logical_block.max(512),
            ..self.clone()
        })
    }
}

/// Number, first sector and filesystem's UUID of a drive (without a start) and of its partitions.
fn contents(drive: &Drive) -> impl Iterator<Item = ((u32, u32), Option<u64>, Option<&String>)> {
    let parts = drive.partitions.iter().map(|p| (p.device, Some(p.start), p.content.uuid.as_ref()));
    std::iter::once((drive.device, None, drive.content.uuid.as_ref())).chain(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{inventory::fixtures, units::Pool};

    fn target(inventory: &Inventory, name: &str, mount: Option<&str>) -> Target {
        let drive = inventory.drives.iter().find(|d| d.name == name).expect("a drive").clone();
        let mount =
            mount.map(|path| inventory.mounts.iter().find(|m| m.path == path).expect("a mount").clone());
        Target {
            given: name.to_owned(),
            kind: if mount.is_some() { Kind::Directory } else { Kind::BlockDevice },
            path: mount.as_ref().map_or(format!("/dev/{name}"), |m| format!("{}/tests", m.path)).into(),
            drives: vec![drive],
            mount,
            direct_alignment: 512,
            ..Target::default()
        }
    }

    #[test]
    fn a_drive_is_found_under_another_name_in_another_bay() {
        let mut inventory = fixtures::pi_zero().inventory();
        let was = target(&inventory, "sdc", None);
        let drive = inventory.drives.iter_mut().find(|d| d.name == "sdc").expect("there");
        (drive.name, drive.bay) = ("sdx".to_owned(), Some("1.7".to_owned()));
        assert_eq!(was.current_path(&inventory).expect("found"), "/dev/sdx");
        let twin = Drive {
            name: "sdw".to_owned(),
            ..inventory.drives.iter().find(|d| d.name == "sdx").expect("there").clone()
        };
        inventory.drives.insert(0, twin);
        assert_eq!(target(&inventory, "sdx", None).current_path(&inventory).expect("found"), "/dev/sdx");
        inventory.drives.retain(|d| !["sdx", "sdw"].contains(&d.name.as_str()));
        let error = was.current_path(&inventory).expect_err("gone").to_string();
        assert!(error.ends_with("is not connected"), "{error}");
    }

    #[test]
    fn drives_of_a_pool_may_be_listed_in_another_order() {
        let inventory = fixtures::pi_zero().inventory();
        let drives =
            |names: [&str; 2]| names.map(|name| target(&inventory, name, None).drives.remove(0)).to_vec();
        let on = |names| Target { kind: Kind::Directory, drives: drives(names), ..Target::default() };
        assert!(on(["sda", "sdb"]).is_on_drives_of(&on(["sdb", "sda"])));
        assert!(!on(["sda", "sdb"]).is_on_drives_of(&on(["sda", "sdc"])));
    }

    #[test]
    fn a_directory_is_found_where_its_filesystem_is_mounted_now() {
        let mut inventory = fixtures::pi_zero().inventory();
        let drive = inventory.drives.iter_mut().find(|d| d.name == "sda").expect("there");
        for part in &mut drive.partitions {
            part.content.uuid = Some(format!("1A2B-3C4D-{}", part.device.1));
        }
        drive.content.uuid = Some("1A2B-3C4D".to_owned());
        let was = target(&inventory, "sda", Some("/mnt/a"));
        inventory
            .mounts
            .iter_mut()
            .filter(|m| m.path == "/mnt/a")
            .for_each(|m| m.path = "/media/b".to_owned());
        assert_eq!(was.current_path(&inventory).expect("found"), "/media/b/tests");
        inventory.mounts.retain(|m| m.path != "/media/b");
        let error = was.current_path(&inventory).expect_err("not mounted").to_string();
        assert!(error.contains("mount it at any mount point (mount UUID=1A2B-3C4D"), "{error}");
    }

    #[test]
    fn a_target_without_a_known_drive_stays_on_its_filesystem() {
        let place = tempfile::tempdir().expect("a directory");
        let inventory = Inventory {
            mounts: Inventory::read(&crate::sysroot::Sysroot::live()).mounts,
            ..Inventory::default()
        };
        let was = Target::resolve(&inventory, place.path().to_str().expect("UTF-8")).expect("a target");
        assert_eq!(was.drives, []);
        assert!(was.find_again(&inventory).is_ok());
        let mount = was.mount.clone().unwrap_or_default();
        let other = Mount { filesystem: "another".to_owned(), ..mount.clone() };
        let loops = Mount { source: "/dev/loop7".to_owned(), ..mount.clone() };
        let changed = [
            Target { mount: Some(other), ..was.clone() },
            Target { mount: Some(loops), filesystem_id: None, ..was.clone() },
            Target { kind: Kind::File, ..was.clone() },
            Target { drives: fixtures::pi_zero().inventory().drives, ..was.clone() },
        ];
        for was in changed {
            assert!(was.find_again(&inventory).is_err(), "{was:?}");
        }
        assert!(was.filesystem_id.is_some() || mount.source.starts_with("/dev/"));
        let moved = Target {
            path: "/nowhere/drive".into(),
            mount: Some(Mount { path: "/nowhere".to_owned(), ..mount.clone() }),
            ..was.clone()
        };
        let error = moved.find_again(&inventory).expect_err("moved");
        assert!(matches!(error, NotFound::Changed(_)), "{error}");
        // A new name of the device doesn't make it another filesystem.
        let (id, mount) = (Some(7), Some(Mount { source: "/dev/loop7".to_owned(), ..mount }));
        let [a, b] =
            [id, Some(8)].map(|filesystem_id| Target { filesystem_id, mount: mount.clone(), ..was.clone() });
        assert!(Target { filesystem_id: id, ..was }.is_on_filesystem_of(&a) && !a.is_on_filesystem_of(&b));
    }

    #[test]
    fn what_is_left_of_a_pool_has_its_filesystem_and_no_other_drive() {
        let drives = fixtures::pi_zero().inventory().drives;
        let mount =
            Mount { path: "/mnt/pool".to_owned(), source: "/dev/md127".to_owned(), ..Mount::default() };
        let was = Target {
            drives: drives[..3].to_vec(),
            pool: Some(Pool { drives: 3, ..Pool::default() }),
            mount: Some(mount.clone()),
            filesystem_id: Some(7),
            ..Target::default()
        };
        let renamed = Mount { source: "/dev/md126".to_owned(), ..mount };
        let now = Target { drives: drives[1..3].to_vec(), mount: Some(renamed), ..was.clone() };
        assert!(now.is_left_of(&was) && was.is_left_of(&was));
        let with = |drives: &[Drive]| Target { drives: drives.to_vec(), ..now.clone() };
        for other in [with(&[]), with(&drives[2..]), Target { filesystem_id: Some(8), ..now.clone() }] {
            assert!(!other.is_left_of(&was), "{other:?}");
        }
        let unknown = Target { filesystem_id: None, ..was.clone() };
        for was in [Target { pool: None, ..was.clone() }, unknown] {
            assert!(!now.is_left_of(&was), "{was:?}");
        }
    }

    #[test]
    fn the_whole_drive_of_a_directory() {
        let inventory = fixtures::pi_zero().inventory();
        let below = target(&inventory, "sda", Some("/mnt/a")).whole_drive().expect("one drive");
        assert_eq!((below.kind, below.path.to_str()), (Kind::BlockDevice, Some("/dev/sda")));
        assert!(below.size.is_some_and(|size| size > 1 << 30) && below.mount.is_none());
    }
}
