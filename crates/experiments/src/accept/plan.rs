//! The options and the plan of accept.

use super::{
    super::{Declared, Opt, PlanError, Request, shared_options as shared, whole_drives::check_each},
    act::{CoverPart, Pass, WholeDrive},
};
use crate::{
    inventory::Drive,
    plan::{Plan, Steps},
    stamped::random_seed,
    units::MIB,
};

/// The stamps of an earlier run must not pass for those of this one.
const SEED: Opt<u64> = shared::SEED.without_default("Seed of the stamps [default: a new one]");

pub(super) const OPTIONS: &[&dyn Declared] = &[&shared::ERASE, &SEED];

/// A part that was not finished is done again when a run is resumed.
const PARTS: u64 = 64;
const LEAST_PART: u64 = 64 * MIB;

pub(super) fn plan(ask: &Request) -> Result<Plan, PlanError> {
    check_each("accept erases", &ask.targets, LEAST_PART)?;
    let drive = |drive: &Drive| WholeDrive {
        identity: drive.identity(),
        bytes: drive.bytes(),
        assumed: assumed_rate(drive),
    };
    let drives: Vec<WholeDrive> = ask.targets.iter().map(|target| drive(&target.drives[0])).collect();
    let least = drives.iter().map(|drive| drive.bytes).min().unwrap_or_default();
    let parts = (least / LEAST_PART).clamp(1, PARTS) as u32;
    let seed = match ask.values.typed(&SEED) {
        Some(seed) => seed,
        None => random_seed().map_err(|e| {
            PlanError::Options(format!("the kernel has no random numbers: {e}; add --seed N"))
        })?,
    };
    let on: Vec<usize> = (0..drives.len()).collect();
    let mut steps = Steps::default();
    // All is written before anything is verified, so that no cache can answer for the drive.
    for pass in [Pass::Write, Pass::Verify] {
        for part in 0..parts {
            steps.add(&on, CoverPart { pass, part, parts, drives: drives.clone(), seed });
        }
    }
    Ok(Plan { limit: None, engine: None, ..ask.planned(steps) })
}

/// The least speed to expect of a kind of drive, bytes per second: a fair USB 2.0 stick or card, a disk, and an SSD on a slow link.
fn assumed_rate(drive: &Drive) -> f64 {
    let own = match drive.bus.as_deref() {
        Some("mmc") => 10e6,
        Some("usb") if drive.removable => 10e6,
        _ if drive.rotational => 100e6,
        _ => 200e6,
    };
    // Half of its link: 30 MB/s of USB 2.0.
    drive.link_mbps.map_or(own, |mbps| own.min(mbps * 1e6 / 8.0 / 2.0).max(1e6))
}
