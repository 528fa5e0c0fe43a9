//! Whether a target has room for a load, and allows it.

use super::request::{PlanError, Request};
use crate::{
    plan::{Act, Plan},
    target::{Kind, Target},
    units::{Caching, Load, MIB},
};

/// Left free for other programs.
const RESERVE: u64 = 64 * MIB;

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
            let room = fits(target, first)?;
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
    let room = free.saturating_sub(RESERVE);
    if room < needed {
        return Err(PlanError::NoSpace { path: target.path.clone(), free, needed, reserve: RESERVE });
    }
    Ok(room)
}

/// Whether what is left of a plan fits on its targets as they are now.
pub fn still_fits(left: &Plan) -> Result<(), PlanError> {
    for (at, target) in left.targets.iter().enumerate() {
        let held = left.steps.iter().filter(|step| step.is_on(at)).map(|step| match &step.act {
            Act::ScratchFile(file) => file.bytes,
            Act::Files(files) => files.set.bytes(),
            Act::Load(m) if m.load.writes() => m.reach,
            _ => 0,
        });
        if let Some(needed) = held.max().filter(|bytes| *bytes > 0) {
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
