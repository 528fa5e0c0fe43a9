//! Whether a target has room for a load, and allows it; scratch files that are smaller because of the space that stays free.

use super::request::{PlanError, Request};
use crate::{
    plan::{Cut, CutBy, Plan, WantedFile},
    target::{Kind, Target},
    units::{Caching, Load, MIB},
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

/// How far into the target the loads may reach.
pub fn reach(target: &Target, ask: &Request, writes: bool) -> Result<u64, PlanError> {
    let (block, wanted) = (ask.block, ask.effort.max_bytes);
    if wanted < block {
        return Err(PlanError::Budget { bytes: wanted, block });
    }
    let whole_blocks = |bytes: u64| bytes / block * block;
    match target.kind {
        Kind::Directory => {
            let first = (ask.effort.rules.first * MIB).min(wanted);
            let room = fits(target, first)?.min(largest_file(target).unwrap_or(u64::MAX));
            Ok(whole_blocks(wanted.min(room)).max(block))
        }
        Kind::File | Kind::BlockDevice if writes => Err(would_erase(target)),
        Kind::File | Kind::BlockDevice => {
            let held = whole_blocks(target.size.unwrap_or(0));
            if held == 0 { Err(too_small(target, block)) } else { Ok(held) }
        }
    }
}

/// Whether `needed` bytes fit into the directory, and how many would.
pub fn fits(target: &Target, needed: u64) -> Result<u64, PlanError> {
    if let Some(why) = &target.read_only {
        return Err(PlanError::NotWritable { path: target.path.clone(), why: why.clone() });
    }
    // A filesystem may not report its free space; running out ends the load cleanly.
    let Some(free) = target.free else { return Ok(u64::MAX) };
    let reserve = reserve(target);
    let room = free.saturating_sub(reserve);
    if room < needed {
        return Err(PlanError::NoSpace { path: target.path.clone(), free, needed, reserve });
    }
    Ok(room)
}

/// Whether what is left of a plan fits on its targets as they are now.
pub fn still_fits(left: &Plan) -> Result<(), PlanError> {
    for (at, target) in left.targets.iter().enumerate().filter(|(at, _)| left.build(*at).is_none()) {
        let space = left.steps.iter().filter(|step| step.is_on(at)).map(|step| step.act.space());
        if let Some(needed) = space.max().filter(|bytes| *bytes > 0) {
            fits(target, needed)?;
        }
    }
    Ok(())
}

pub fn too_small(target: &Target, block: u64) -> PlanError {
    PlanError::TooSmall { path: target.path.clone(), bytes: target.size.unwrap_or(0), block }
}

/// Direct I/O moves whole blocks of the drive.
pub fn aligned(target: &Target, load: &Load) -> Result<(), PlanError> {
    let unit = u64::from(target.direct_alignment);
    if load.caching == Caching::Direct && unit > 0 && load.block % unit != 0 {
        return Err(PlanError::Alignment { path: target.path.clone(), block: load.block, unit });
    }
    Ok(())
}

/// The refusal to overwrite data that is not drivebench's own.
pub fn would_erase(target: &Target) -> PlanError {
    let what = if target.kind == Kind::File { "what is in it".to_owned() } else { target.label() };
    PlanError::WouldErase { path: target.path.clone(), what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Values, inventory::Mount, plan::Steps};

    const GIB: u64 = 1 << 30;

    fn directory(capacity: u64, free: u64) -> Target {
        Target { capacity: Some(capacity), free: Some(free), direct_alignment: 512, ..Target::default() }
    }

    fn asked(target: Target, bytes: u64) -> Request {
        let mut values = Values::default();
        values.set("max-bytes", &bytes.to_string());
        Request::new(&crate::CLIFF, vec![target], values).expect("a request")
    }

    #[test]
    fn five_percent_and_a_gibibyte_stay_free_but_half_of_a_small_filesystem() {
        let kept = |capacity| reserve(&directory(capacity, 0));
        assert_eq!([100 * GIB, 20 * GIB, 4 * GIB, 2 * GIB].map(kept), [5 * GIB, GIB, GIB, GIB]);
        assert_eq!(kept(200 * MIB), 100 * MIB);
        assert_eq!(reserve(&Target::default()), GIB);
        let refused = fits(&directory(100 * GIB, 5 * GIB), MIB).expect_err("too full").to_string();
        assert!(refused.contains("5.37 GB stays free") && refused.contains("free some space"), "{refused}");
        assert_eq!(fits(&directory(200 * MIB, 180 * MIB), MIB).expect("room"), 80 * MIB);
    }

    #[test]
    fn a_file_that_was_cut_says_by_how_much_and_why() {
        let cut = |target: Target| {
            let ask = asked(target, 32 * GIB);
            let bytes = reach(&ask.targets[0], &ask, true).expect("fits");
            let mut steps = Steps::default();
            steps.add_file(0, bytes, ask.effort.max_bytes);
            cuts(&ask.targets, steps.files()).into_iter().next()
        };
        let space = cut(directory(100 * GIB, 8 * GIB + 12_345)).expect("cut");
        let by = CutBy::FreeSpace { free: 8 * GIB + 12_345, kept: 5 * GIB };
        assert_eq!(space, Cut { target: 0, asked: 32 * GIB, bytes: 3 * GIB, by });
        let mount = Mount { filesystem: "vfat".to_owned(), ..Mount::default() };
        let fat = cut(Target { mount: Some(mount), ..directory(100 * GIB, 90 * GIB) }).expect("cut");
        assert!(matches!(fat.by, CutBy::LargestFile { .. }) && fat.bytes < 4 * GIB, "{fat:?}");
        assert_eq!(cut(directory(100 * GIB, 90 * GIB)), None);
    }
}
