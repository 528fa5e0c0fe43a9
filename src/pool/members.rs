//! Which drive is which member of a pool, also where serial numbers are missing or shared.

use super::{Build, Member, health::digits};
use crate::inventory::{Drive, Inventory};

impl Member {
    /// Whether the drive has the member's serial and size. Others may have them, too.
    pub fn resembles(&self, drive: &Drive) -> bool {
        serial_and_size(&self.identity) == serial_and_size(&drive.identity())
    }
}

/// An identity without the bay, which it has while the serial is not unique.
fn serial_and_size(identity: &str) -> &str {
    let size = identity.rfind('+').unwrap_or(0);
    identity[size..].find('@').map_or(identity, |at| &identity[..size + at])
}

impl Build {
    /// The drives of the members. A drive that holds something else is none, although its serial says so.
    pub fn drives<'a>(&self, inventory: &'a Inventory) -> Vec<Option<&'a Drive>> {
        let members: Vec<(&Member, bool)> = self.members.iter().map(|member| (member, false)).collect();
        self.drives_of(&members, inventory)
    }

    /// The drives of these members, each drive once. Of a member whose preparation was only begun (true), the drive may
    /// still hold what it held before.
    pub fn drives_of<'a>(
        &self,
        members: &[(&Member, bool)],
        inventory: &'a Inventory,
    ) -> Vec<Option<&'a Drive>> {
        let mut found: Vec<Option<&Drive>> = vec![None; members.len()];
        // First those that are where they were, then those whose serials have become shared or are it no more.
        for in_place in [true, false] {
            for (at, (member, begun)) in members.iter().enumerate() {
                let free = |drive: &&Drive| !found.iter().flatten().any(|other| other.name == drive.name);
                let is = |drive: &&Drive| {
                    free(drive)
                        && member.resembles(drive)
                        && match in_place {
                            true => drive.identity() == member.identity && self.fits(member, drive, *begun),
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

    /// Whether nothing speaks against this drive, whose identity is that of the member. The next stick without a serial in
    /// a bay, or one with the same serial, isn't the member if it holds something else.
    fn fits(&self, member: &Member, drive: &Drive, begun: bool) -> bool {
        let is_blank = drive.content.filesystem.is_none() && drive.partitions.is_empty();
        // What a drive of a linear pool shows may be from the middle of a file.
        let may_show_anything = begun || self.layout.is_mapped();
        is_blank || self.shows(member, drive) || (may_show_anything && drive.unique_id().is_some())
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
        pool::tests::request,
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
        assert_eq!(names(&build, &[a.clone(), b.clone()]), ["sda", "sdb"], "both are blank");
        let ours = |drive: &Drive| holding(drive.clone(), "linux_raid_member", &build.uuids[0]);
        assert_eq!(names(&build, &[ours(&a), holding(b.clone(), "vfat", "67E3-17ED")]), ["sda", "none"]);
        // They have changed places.
        let swapped = [ours(&stick("sdx", "1.2", None, false)), ours(&stick("sdy", "1.1", None, false))];
        assert_eq!(names(&build, &swapped), ["sdy", "sdx"]);
        // Another array's member.
        let other = holding(b, "linux_raid_member", "153f7e0e-069f-b954-415c-8744bbe3e33b");
        assert_eq!(names(&build, &[ours(&a), other]), ["sda", "none"]);
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
        let begun: Vec<(&Member, bool)> = build.members.iter().map(|member| (member, true)).collect();
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
