//! Consent to the pools that a run builds, before anything is measured.

use std::path::Path;

use super::{ask, describe, in_no_pool, say};
use crate::{
    cli::{errors::Usage, output::Output},
    danger::Claims,
    inventory::{Drive, Inventory},
    plan::Plan,
    run,
};

/// Shows the drives that a plan erases and takes the consent to each; returns their serials. Refuses, before anything is
/// changed, what can't be built.
pub(in crate::cli) fn consent_to(
    plan: &Plan,
    erase: Vec<String>,
    inventory: &Inventory,
    store: &Path,
    output: &Output,
) -> anyhow::Result<Vec<String>> {
    let mut drives: Vec<&Drive> = Vec::new();
    for (at, build) in plan.builds() {
        let (_, of) =
            run::can_build(build, &plan.targets[at].path, inventory).map_err(|e| Usage(e.to_string()))?;
        for drive in of {
            if drives.iter().all(|other| other.name != drive.name) {
                drives.push(drive);
            }
        }
    }
    if drives.is_empty() {
        return Ok(Vec::new());
    }
    in_no_pool(&drives, store)?;
    say(output, &format!("This erases:\n{}", describe(&drives)));
    let typed = ask(&drives, &erase, output)?;
    let erase = [erase, typed].concat();
    // Each is claimed again when it is changed.
    Claims::take(Claims::lock(&drives)?, &erase)?;
    Ok(erase)
}
