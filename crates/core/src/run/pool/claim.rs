//! The right to erase drives: by consent, and because they are of no other pool.

use std::path::Path;

use super::{BuildError, pools};
use crate::{
    danger::{Claims, consent, erase_option},
    inventory::{Drive, Inventory},
    run::Built,
    sysroot::Sysroot,
    units::shell_word,
};

/// Claims drives to erase them, if they hold what was shown. If an earlier call for the pool `own` has `begun` to change them, they
/// may hold something else: a program that it started may still run.
///
/// Refuses drives of another pool: another drivebench may have built it since they were looked at. The log of a pool is written while
/// its drives are claimed, so one that is begun later can't have these.
pub fn claim(
    shown: &[&Drive],
    erase: &[String],
    store: &Path,
    own: Option<&str>,
    begun: bool,
) -> Result<Claims, BuildError> {
    let claims = match begun {
        true => Claims::take(Claims::lock(shown)?, erase)?,
        false => Claims::of(shown, erase)?,
    };
    let drives: Vec<&Drive> = claims.0.iter().map(|claim| claim.drive()).collect();
    in_no_pool(&drives, &Inventory::read(&Sysroot::live()), store, own)?;
    Ok(claims)
}

/// Refuses a drive of a pool other than `own`: without its table, nothing on the drive shows that it is one.
pub fn in_no_pool(
    drives: &[&Drive],
    inventory: &Inventory,
    store: &Path,
    own: Option<&str>,
) -> Result<(), BuildError> {
    let (pools, damaged) = pools(store);
    if let Some((path, why)) = damaged.first() {
        let (word, old) = (shell_word(path), shell_word(&format!("{}.old", path.display())));
        return Err(BuildError::Drives(format!(
            "{} can't be read ({why}), so the drives of this pool are not known; if it is no longer needed: mv {word} {old}",
            path.display()
        )));
    }
    let others = || pools.iter().filter(|pool| own != Some(pool.build.name.as_str()));
    let of = |drive: &&Drive| {
        let pool = others().find(|pool| pool.has(drive, inventory))?;
        let (label, name, remove) = (drive.label(), &pool.build.name, to_remove(pool, inventory));
        Some(format!(
            "{label} is a drive of the pool {name}: choose another drive, or remove the pool: {remove}"
        ))
    };
    drives.iter().find_map(of).map_or(Ok(()), |why| Err(BuildError::Drives(why)))
}

/// The command that removes a pool, with the drives of it that were changed and are plugged in.
pub fn to_remove(pool: &Built, inventory: &Inventory) -> String {
    let touched = pool.touched();
    let drives = pool.find(&touched, inventory).into_iter().flatten();
    let erase: String = drives.map(|drive| format!(" {}", erase_option(&consent(drive)))).collect();
    format!("drivebench pool destroy {}{erase}", shell_word(&pool.build.name))
}
