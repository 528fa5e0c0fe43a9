//! Which drive is which member of a pool, also where serial numbers are missing or shared.

use super::{Build, Member, health::digits};
use crate::inventory::{Drive, Inventory, name_in, without_bay};

impl Member {
    /// Whether the drive has the member's serial and size, which other drives may have, too.
    pub fn resembles(&self, drive: &Drive) -> bool {
        without_bay(&self.identity) == without_bay(&drive.identity())
    }
}

/// What the drive of a member may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// The pool: a drive without it is not in the pool, whatever its serial.
    Pool,
    /// The pool, or nothing: what building left is being removed.
    PoolOrNothing,
    /// Anything: its preparation is not finished.
    Anything,
}

impl Build {
    /// How a member is named in a command: by its serial, or its identity where the serial is not its own.
    pub fn name_of(&self, at: usize) -> &str {
        let identity = &self.members[at].identity;
        let name = name_in(identity);
        let named = self.members.iter().filter(|member| name_in(&member.identity) == name).count();
        if named == 1 && without_bay(identity) == identity { name } else { identity }
    }

    /// The drives of the members of a complete pool. A drive that holds something else or nothing is not a member.
    pub fn drives<'a>(&self, inventory: &'a Inventory) -> Vec<Option<&'a Drive>> {
        let members: Vec<(&Member, Holds)> =
            self.members.iter().map(|member| (member, Holds::Pool)).collect();
        self.drives_of(&members, inventory)
    }

    /// The drives of these members, each drive once.
    pub fn drives_of<'a>(
        &self,
        members: &[(&Member, Holds)],
        inventory: &'a Inventory,
    ) -> Vec<Option<&'a Drive>> {
        let mut found: Vec<Option<&Drive>> = vec![None; members.len()];
        // First the drives that are where they were, then those whose serials have become shared or unique.
        for in_place in [true, false] {
            for (at, (member, holds)) in members.iter().enumerate() {
                let free = |drive: &&Drive| !found.iter().flatten().any(|other| other.name == drive.name);
                let is = |drive: &&Drive| {
                    free(drive)
                        && member.resembles(drive)
                        && match in_place {
                            true => drive.identity() == member.identity && self.fits(member, drive, *holds),
                            false => self.shows(member, drive),
                        }
                };
                if found[at].is_none() {
                    found[at] = inventory.drives.iter().find(is);
                }
            }
        }
        found
    }

    /// Whether a drive with the member's identity may be the member. Another stick without a serial in the same bay, or with the
    /// same serial, isn't the member if it holds something else.
    fn fits(&self, member: &Member, drive: &Drive, holds: Holds) -> bool {
        // What a drive of a linear pool shows may be from the middle of a file, or nothing.
        let holds = if self.layout.is_mapped() { Holds::Anything } else { holds };
        let is_blank = || drive.content.filesystem.is_none() && drive.partitions.is_empty();
        self.shows(member, drive)
            || match holds {
                Holds::Pool => false,
                Holds::PoolOrNothing => is_blank(),
                Holds::Anything => is_blank() || drive.unique_id().is_some(),
            }
    }

    /// Whether the drive itself shows that it is of this pool: by UUIDs, by its partition, or because it is in use.
    fn shows(&self, member: &Member, drive: &Drive) -> bool {
        let contents = drive.partitions.iter().map(|part| &part.content).chain([&drive.content]);
        let mut uuids = contents.filter_map(|content| content.uuid.as_deref());
        let is_partition = match (member.part, &drive.partitions[..]) {
            (Some(part), [one]) => {
                (one.start, one.sectors) == (part.start, part.sectors) && one.content.filesystem.is_none()
            }
            _ => false,
        };
        uuids.any(|uuid| self.uuids.iter().any(|own| digits(own) == digits(uuid)))
            || is_partition
            || (self.layout.is_mapped() && !drive.holders.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        inventory::{Partition, Signature},
        testing::request,
        units::Layout,
    };

    fn stick(name: &str, bay: &str, serial: Option<&str>, shared: bool) -> Drive {
        Drive {
            name: name.to_owned(),
            bay: Some(bay.to_owned()),
            serial: serial.map(str::to_owned),
            shared_serial: shared,
            sectors: 400_000,
            logical_block: 512,
            ..Drive::default()
        }
    }

    fn holding(mut drive: Drive, filesystem: &str, uuid: &str) -> Drive {
        let (filesystem, uuid) = (Some(filesystem.to_owned()), Some(uuid.to_owned()));
        let content = Signature { filesystem, uuid, ..Signature::default() };
        let name = format!("{}1", drive.name);
        drive.partitions = vec![Partition { name, start: 2048, content, ..Partition::default() }];
        drive
    }

    fn here(drives: &[Drive]) -> Inventory {
        Inventory { drives: drives.to_vec(), ..Inventory::default() }
    }

    fn names(build: &Build, drives: &[Drive]) -> Vec<String> {
        let inventory = here(drives);
        let name = |drive: Option<&Drive>| drive.map_or("none".to_owned(), |drive| drive.name.clone());
        build.drives(&inventory).into_iter().map(name).collect()
    }

    fn raid1(drives: [&Drive; 2]) -> Build {
        request(Layout::Raid1).plan(&Inventory::default(), &drives).expect("fits")
    }

    #[test]
    fn another_stick_without_a_serial_in_the_bay_of_a_member_is_not_the_member() {
        let [a, b] = [stick("sda", "1.1", None, false), stick("sdb", "1.2", None, false)];
        let build = raid1([&a, &b]);
        assert_eq!(names(&build, &[a.clone(), b.clone()]), ["none", "none"], "both are blank");
        let ours = |drive: &Drive| holding(drive.clone(), "linux_raid_member", &build.uuids[0]);
        assert_eq!(names(&build, &[ours(&a), holding(b.clone(), "vfat", "67E3-17ED")]), ["sda", "none"]);
        // They have changed places.
        let swapped = [ours(&stick("sdx", "1.2", None, false)), ours(&stick("sdy", "1.1", None, false))];
        assert_eq!(names(&build, &swapped), ["sdy", "sdx"]);
        // Another array's member.
        let other = holding(b, "linux_raid_member", "153f7e0e-069f-b954-415c-8744bbe3e33b");
        assert_eq!(names(&build, &[ours(&a), other]), ["sda", "none"]);
    }

    /// A drive that lost its partition is lost to its pool, though it is plugged in.
    #[test]
    fn a_blank_drive_is_a_member_only_while_a_pool_is_built_or_removed() {
        let [a, b] = [stick("sda", "1.1", Some("S"), false), stick("sdb", "1.2", Some("T"), false)];
        let build = raid1([&a, &b]);
        let ours = holding(a, "linux_raid_member", &build.uuids[0]);
        let other = holding(b.clone(), "vfat", "67E3-17ED");
        let found = |drive: &Drive, holds: Holds| {
            let inventory = here(&[ours.clone(), drive.clone()]);
            let members: Vec<(&Member, Holds)> = build.members.iter().map(|member| (member, holds)).collect();
            let found = build.drives_of(&members, &inventory);
            assert!(found[0].is_some());
            found[1].is_some()
        };
        let all = [Holds::Pool, Holds::PoolOrNothing, Holds::Anything];
        assert_eq!(all.map(|holds| found(&b, holds)), [false, true, true]);
        assert_eq!(all.map(|holds| found(&other, holds)), [false, false, true]);
        let linear = request(Layout::Linear).plan(&Inventory::default(), &[&ours, &b]).expect("fits");
        assert_eq!(names(&linear, &[ours.clone(), b]), ["sda", "sdb"], "nothing on them shows it");
    }

    #[test]
    fn a_member_is_named_by_its_serial_where_that_is_its_own() {
        let [a, b] = [stick("sda", "1.1", Some("S+1"), false), stick("sdb", "1.2", Some("T"), false)];
        let build = raid1([&a, &b]);
        assert_eq!([build.name_of(0), build.name_of(1)], ["S+1", "T"]);
        let [a, b] = [stick("sda", "1.1", Some("S"), true), stick("sdb", "1.2", Some("S"), true)];
        let build = raid1([&a, &b]);
        assert_eq!([build.name_of(0), build.name_of(1)], ["S+400000@1.1", "S+400000@1.2"]);
        let alone = raid1([&a, &stick("sdb", "1.2", Some("T"), false)]);
        assert_eq!(alone.name_of(0), "S+400000@1.1", "another drive may have the serial");
    }

    #[test]
    fn a_stick_with_the_serial_of_a_member_changes_nothing() {
        let [a, b] = [stick("sda", "1.1", Some("S"), false), stick("sdb", "1.2", Some("T"), false)];
        let build = raid1([&a, &b]);
        let ours = |drive: Drive| holding(drive, "linux_raid_member", &build.uuids[0]);
        let twin = holding(stick("sdc", "1.3", Some("S"), true), "exfat", "1234-5678");
        let shared = ours(stick("sda", "1.1", Some("S"), true));
        assert_eq!(names(&build, &[twin.clone(), shared, ours(b.clone())]), ["sda", "sdb"]);
        // Without the member, the twin has its identity.
        let alone = Drive { shared_serial: false, ..twin };
        assert_eq!(names(&build, &[alone.clone(), ours(b.clone())]), ["none", "sdb"]);
        // What was begun may be anything.
        let begun: Vec<(&Member, Holds)> =
            build.members.iter().map(|member| (member, Holds::Anything)).collect();
        let inventory = here(&[alone, ours(b)]);
        assert!(build.drives_of(&begun, &inventory).iter().all(Option::is_some));
    }

    #[test]
    fn of_two_members_with_one_serial_the_one_that_is_left_is_still_known() {
        let [a, b] = [stick("sda", "1.1", Some("S"), true), stick("sdb", "1.2", Some("S"), true)];
        let build = raid1([&a, &b]);
        let left = holding(stick("sdb", "1.2", Some("S"), false), "linux_raid_member", &build.uuids[0]);
        let found = names(&build, &[left]);
        assert_eq!(found.iter().filter(|name| *name == "sdb").count(), 1, "{found:?}");
    }
}
