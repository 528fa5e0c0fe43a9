//! dmsetup: joins drives one after the other.

use super::{Change, Content, Query, State, Tool};

const DMSETUP: Tool = Tool { name: "dmsetup", package: "dmsetup" };

/// Part of a mapping; positions and lengths in sectors of 512 bytes.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Segment {
    pub start: u64,
    pub sectors: u64,
    /// The path of the device that holds it, from its first sector.
    pub device: String,
}

impl Segment {
    /// The table of devices one after the other, each whole.
    pub fn in_line<'a>(devices: impl IntoIterator<Item = (&'a str, u64)>) -> Vec<Self> {
        let mut start = 0;
        let segment = |(device, sectors): (&str, u64)| {
            let segment = Self { start, sectors, device: device.to_owned() };
            start += sectors;
            segment
        };
        devices.into_iter().map(segment).collect()
    }

    /// A line of a table of `dmsetup`.
    pub fn line(&self) -> String {
        format!("{} {} linear {} 0", self.start, self.sectors, self.device)
    }
}

/// Makes the mapping `name` of these segments.
pub fn create(name: &str, uuid: &str, table: &[Segment]) -> Change<Content> {
    let lines: Vec<String> = table.iter().map(Segment::line).collect();
    let concise = format!("{name},{uuid},,rw,{}", lines.join(","));
    let devices = table.iter().map(|segment| segment.device.as_str());
    Change::of(Query::new(DMSETUP, ["create", "--concise", &concise]), devices)
}

/// Removes the mapping `name`, whose device is at `path`. What is stored stays.
pub fn remove(name: &str, path: &str) -> Change<State> {
    Change::of(Query::new(DMSETUP, ["remove", "--retry", name]), [path])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The table of the first post.
    #[test]
    fn the_odd_sector_of_the_third_stick_is_used() {
        let table = Segment::in_line([
            ("/dev/sda", 121_077_760),
            ("/dev/sdb", 121_077_760),
            ("/dev/sdc", 121_077_761),
            ("/dev/sdd", 483_321_640),
        ]);
        let lines: Vec<String> = table.iter().map(Segment::line).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        0 121077760 linear /dev/sda 0
        121077760 121077760 linear /dev/sdb 0
        242155520 121077761 linear /dev/sdc 0
        363233281 483321640 linear /dev/sdd 0
        ");
    }

    #[test]
    fn command_lines() {
        let table = Segment::in_line([("/dev/sda", 10), ("/dev/sdb", 11)]);
        let create = create("pool", "DRIVEBENCH-1", &table);
        assert_eq!(create.devices(), ["/dev/sda", "/dev/sdb"]);
        insta::assert_snapshot!(
            format!("{create}\n{}", remove("pool", "/dev/mapper/pool")),
            @r"
        dmsetup create --concise 'pool,DRIVEBENCH-1,,rw,0 10 linear /dev/sda 0,10 11 linear /dev/sdb 0'
        dmsetup remove --retry pool
        "
        );
    }

    proptest! {
        #[test]
        fn segments_touch_and_do_not_overlap(sizes in prop::collection::vec(1u64..1 << 40, 1..9)) {
            let table = Segment::in_line(sizes.iter().map(|size| ("/dev/sda", *size)));
            let mut end = 0;
            for segment in &table {
                prop_assert_eq!(segment.start, end);
                end += segment.sectors;
            }
            prop_assert_eq!(end, sizes.iter().sum::<u64>());
        }
    }
}
