//! Where data is on the members of a pool, and how much fits.

use crate::units::{Layout, MIB};

/// Sectors of a MiB. Partitions start and end at multiples of it, as erase blocks, physical blocks and chunks do.
const ALIGNMENT: u64 = MIB / 512;

/// The partition of a member, in sectors of 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Part {
    pub start: u64,
    pub sectors: u64,
}

/// The partitions of an array, and where data starts on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    pub parts: Vec<Part>,
    /// Start of the data on a partition, bytes.
    pub data_offset: u64,
    /// What each member contributes, bytes; `None` where members may differ.
    pub size: Option<u64>,
    /// Capacity of the array, sectors of 512 bytes.
    pub capacity: u64,
}

/// A thousandth in whole MiB, within these limits in MiB; returns sectors.
fn thousandth(sectors: u64, least: u64, most: u64) -> u64 {
    (sectors / 1000 / ALIGNMENT).clamp(least, most) * ALIGNMENT
}

/// The partition on a drive. A thousandth of the drive, up to 100 MiB, stays free at its end, because a replacement of the same
/// capacity may be some sectors shorter.
fn part(drive: u64) -> Part {
    // The last MiB has the second copy of the partition table.
    let end = drive.saturating_sub(ALIGNMENT + thousandth(drive, 1, 100)) / ALIGNMENT * ALIGNMENT;
    Part { start: ALIGNMENT, sectors: end.saturating_sub(ALIGNMENT) }
}

/// The geometry of an md array over drives of these sizes; `chunk` in bytes. `None` if a drive is too small.
pub fn of_array(layout: Layout, drives: &[u64], chunk: u64) -> Option<Geometry> {
    let mut parts: Vec<Part> = drives.iter().map(|drive| part(*drive)).collect();
    let least = parts.iter().map(|part| part.sectors).min()?;
    if layout.is_redundant() {
        // Equal partitions: what is left on larger drives stays usable.
        parts.iter_mut().for_each(|part| part.sectors = least);
    }
    // Room for the superblock, the bitmap, and later changes of the layout.
    let offset = thousandth(least, 1, 128);
    let step = (chunk / 512).max(ALIGNMENT);
    let data: Vec<u64> = parts.iter().map(|part| part.sectors.saturating_sub(offset) / step * step).collect();
    // Minimum data of a member; mdadm has minimums of its own.
    const LEAST: u64 = 32 * ALIGNMENT;
    data.iter().all(|sectors| *sectors >= LEAST).then(|| Geometry {
        data_offset: offset * 512,
        size: layout.is_redundant().then(|| data.iter().copied().min().unwrap_or(0) * 512),
        capacity: layout.capacity(&data, chunk / 512),
        parts,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_replacement_some_sectors_shorter_still_fits() {
        let drives = [121_077_760, 121_077_760, 121_077_761];
        let array = of_array(Layout::Raid5, &drives, 512 << 10).expect("fits");
        assert_eq!(array.parts[0], Part { start: 2048, sectors: 120_952_832 });
        let shorter = of_array(Layout::Raid5, &[121_077_760 - 100_000], 512 << 10).expect("fits");
        assert!(shorter.parts[0].sectors + 2 * 100_000 > array.parts[0].sectors);
        assert!(121_077_760 - (array.parts[0].start + array.parts[0].sectors) > 100_000);
    }

    proptest! {
        #[test]
        fn partitions_are_aligned_and_leave_room_for_both_tables(
            drives in prop::collection::vec(1u64 << 17..1 << 36, 2..9),
            layout in prop::sample::select(&Layout::ALL[1..]),
            chunk in 12u32..24,
        ) {
            let chunk = 1u64 << chunk;
            let Some(array) = of_array(layout, &drives, chunk) else {
                prop_assert!(drives.iter().any(|drive| *drive < (64 << 20) / 512 + 2 * chunk / 512));
                return Ok(());
            };
            for (part, drive) in array.parts.iter().zip(&drives) {
                prop_assert_eq!(part.start % 2048 + part.sectors % 2048, 0);
                prop_assert!(part.start + part.sectors + 34 < *drive);
                let size = array.size.unwrap_or(part.sectors * 512 - array.data_offset);
                prop_assert!(array.data_offset + size <= part.sectors * 512);
            }
            prop_assert_eq!(array.capacity * 512 % (if layout.is_striped() { chunk } else { 512 }), 0);
        }
    }
}
