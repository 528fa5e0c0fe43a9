//! The right to erase drives, by consent and because they are of no other pool, and the commands that build a pool and
//! prepare drives for it, each noted in the log before and after.

use std::path::Path;

use super::{BuildError, Built, Commands, FOR_RUNS, PoolLog, keep, log::Line, pools};
use crate::{
    danger::{Claimed, Claims, consent, erase_option},
    engine::Cancel,
    inventory::{Drive, Inventory},
    pool::{Build, Step, config::Lines},
    record::make_dir,
    run::lock::Lock,
    sysroot::Sysroot,
    tools::mount,
    units::shell_word,
};

/// Claims drives as they were shown, and begins the log of a pool of them: from here on it must be removed, whatever happens.
pub fn begin(
    build: &Build,
    shown: &[&Drive],
    erase: &[String],
    store: &Path,
) -> Result<(Claims, PoolLog), BuildError> {
    let claims = claim(shown, erase, store, None, false)?;
    let log = PoolLog::begin(store, build).map_err(BuildError::NoLog)?;
    Ok((claims, log))
}

/// A pool that is being built, or a drive that is being prepared for one.
pub struct Building<'a, 'c, C> {
    pub build: &'a Build,
    /// The paths of the members' drives, in their order; only those that the steps need.
    pub drives: &'a [String],
    pub claims: &'a C,
    pub log: &'a mut PoolLog,
    pub commands: &'a mut Commands<'c>,
    pub cancel: &'a Cancel,
}

impl<C: Claimed> Building<'_, '_, C> {
    /// Joins the drives. [`Self::complete`] comes next.
    pub fn join(&mut self) -> Result<(), BuildError> {
        let steps = self.build.steps();
        self.perform(steps.into_iter().filter(|step| *step != Step::Format))
    }

    /// Makes the filesystem, mounts it, and adds it to the system's configuration.
    pub fn complete(&mut self, dir: Option<&Path>, keep: &[Lines]) -> Result<(), BuildError> {
        self.perform([Step::Format])?;
        let Self { build, log, commands, .. } = self;
        if let Some(dir) = dir {
            log.append(&Line::Mount { dir: dir.to_owned() })?;
            // From here on its removal is in the log.
            if dir.starts_with(FOR_RUNS) {
                make_dir(dir).map_err(BuildError::file(dir))?;
            }
            let mount = mount::mount(&build.path(), build.filesystem.name(), &dir.to_string_lossy());
            commands.alter(&mount, log)?;
        }
        for lines in keep {
            (commands.says)(&format!("adding to {}: {}", lines.file, lines.lines.join("; ")));
            log.append(&Line::Configure { file: lines.file.clone().into() })?;
            let in_turn = Lock::of_configuration().and_then(|_turn| keep::insert(&build.name, lines));
            in_turn.map_err(BuildError::file(&lines.file))?;
        }
        if !keep.is_empty() {
            commands.reload();
        }
        log.append(&Line::Finished)
    }

    /// Does these steps, one after the other. Once drives are wiped, udev may look at them.
    pub fn perform(&mut self, steps: impl IntoIterator<Item = Step>) -> Result<(), BuildError> {
        let mut wiped = false;
        for step in steps {
            if self.cancel.is_set() {
                return Err(BuildError::Array("interrupted".to_owned()));
            }
            let wipes = matches!(step, Step::Wipe(_));
            if wiped && !wipes {
                self.claims.settle(self.commands.runner).map_err(BuildError::Drives)?;
            }
            wiped = wipes;
            self.log.append(&Line::Will { step })?;
            self.commands.erase(&self.build.change(step, self.drives), self.claims)?;
            match step {
                Step::Partition(at) => {
                    self.commands.appears(&self.build.member_path(at, &self.drives[at]))?
                }
                Step::Join => self.commands.appears(&self.build.path())?,
                _ => {}
            }
        }
        Ok(())
    }
}

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
