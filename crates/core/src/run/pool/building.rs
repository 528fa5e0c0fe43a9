//! The commands that build a pool and prepare drives for it, each noted in the log before and after.

use std::path::Path;

use super::{BuildError, Commands, FOR_RUNS, PoolLog, claim::claim, keep, log::Line};
use crate::{
    danger::{Claimed, Claims},
    engine::Cancel,
    inventory::Drive,
    pool::{Build, Step, config::Lines},
    record::make_dir,
    tools::mount,
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
            keep::add(&build.name, lines).map_err(BuildError::file(&lines.file))?;
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
