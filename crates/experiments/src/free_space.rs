//! The space that stays free on a filesystem, and scratch files that are smaller because of it.

use crate::{
    plan::{Cut, CutBy, WantedFile},
    target::Target,
    units::MIB,
};

/// Left free for other programs where the filesystem isn't small.
const RESERVE: u64 = 1024 * MIB;
/// FAT counts a file's bytes in 32 bits.
const FAT_FILE: u64 = (4 << 30) - 1;
/// The largest block: a file has as many as fit.
const BLOCK: u64 = 16 * MIB;

/// What is left free for other programs: 5 % of the filesystem, at least 1 GiB, but at most half of a small one.
pub(super) fn reserve(target: &Target) -> u64 {
    target.capacity.map_or(RESERVE, |capacity| (capacity / 20).max(RESERVE.min(capacity / 2)))
}

/// The largest file that the target's filesystem allows, where that is a limit.
pub(super) fn largest_file(target: &Target) -> Option<u64> {
    let filesystem = target.mount.as_ref()?.filesystem.as_str();
    ["vfat", "msdos"].contains(&filesystem).then_some(FAT_FILE)
}

/// The files that are smaller than asked, because no more fits.
pub(super) fn cuts(targets: &[Target], files: &[WantedFile]) -> Vec<Cut> {
    let cut = |file: &WantedFile| {
        let WantedFile { target: at, bytes, asked } = *file;
        let target = targets.get(at)?;
        let limits = |limit: u64| limit < asked && bytes <= limit && limit - bytes < BLOCK;
        let kept = reserve(target);
        let by = match (target.free, largest_file(target)) {
            (Some(free), _) if limits(free.saturating_sub(kept)) => CutBy::FreeSpace { free, kept },
            (_, Some(most)) if limits(most) => {
                CutBy::LargestFile { filesystem: target.mount.as_ref()?.filesystem.clone() }
            }
            _ => return None,
        };
        Some(Cut { target: at as u32, asked, bytes, by })
    };
    files.iter().filter_map(cut).collect()
}
