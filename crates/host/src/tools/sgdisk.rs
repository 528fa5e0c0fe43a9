//! sgdisk: makes a GPT with one partition. (parted waits for udev, which waits until the claim of the drive ends.)

use super::{Change, Content, Query, Tool};

const SGDISK: Tool = Tool { name: "sgdisk", package: "gdisk" };

/// Makes a GPT on the drive at `path`, with one partition of these sectors of 512 bytes for an array.
pub fn partition(path: &str, name: &str, start: u64, sectors: u64, logical_block: u32) -> Change<Content> {
    // sgdisk counts in the drive's logical blocks.
    let blocks = |sectors: u64| sectors * 512 / u64::from(logical_block.max(512));
    let (first, last) = (blocks(start), blocks(start + sectors) - 1);
    let args = [
        "--clear".to_owned(),
        "--set-alignment=1".to_owned(),
        format!("--new=1:{first}:{last}"),
        // Linux RAID.
        "--typecode=1:fd00".to_owned(),
        format!("--change-name=1:{name}"),
        path.to_owned(),
    ];
    Change::of(Query::new(SGDISK, args), [path])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_in_blocks_of_the_drive() {
        insta::assert_snapshot!(
            [
                partition("/dev/sda", "data-1", 2048, 120_999_936, 512),
                partition("/dev/sdb", "data-2", 2048, 120_999_936, 4096),
            ]
            .map(|change| change.to_string())
            .join("\n"),
            @r"
        sgdisk --clear --set-alignment=1 --new=1:2048:121001983 --typecode=1:fd00 --change-name=1:data-1 /dev/sda
        sgdisk --clear --set-alignment=1 --new=1:256:15125247 --typecode=1:fd00 --change-name=1:data-2 /dev/sdb
        "
        );
    }
}
