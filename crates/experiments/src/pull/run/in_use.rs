//! A pool that is in use: its files are only read.

use std::{io, sync::Arc};

use super::{
    PoolUnderTest, PulledDrive, Session,
    check::{Member, is_free, member, unplug},
    detach::interrupted,
    known::{FilesInUse, Tree, choose},
    rejoin::Array,
};
use crate::{
    danger::consent,
    inventory::Inventory,
    pull::{FilesRead, PoolInUse, Pull},
    run::{BuildError, Lock},
    sysroot::Sysroot,
    target::Target,
    test_files::{FilesFound, KnownFiles, LedgerFound, Load, Outcome, verify},
};

pub struct UsedPool {
    act: Pull,
    pool: PoolInUse,
    on: Target,
    files: Arc<FilesInUse>,
    _only_run: Lock,
}

impl UsedPool {
    /// The pool of a target and the drive that is taken away; reads the files that are chosen.
    pub fn open(
        act: &Pull,
        pool: &PoolInUse,
        on: &Target,
        session: &Session<'_>,
    ) -> Result<(Self, PulledDrive, FilesRead), BuildError> {
        let (inventory, cancel) = (Inventory::read(&Sysroot::live()), session.cancel);
        let found = member(act, pool, on, &inventory)?;
        let Member { layer, drive, name } = found;
        // Held until the drive is back, and before the last check that all are there: of two runs, each would take one away.
        let only_run = Lock::of_machine(&layer.name);
        let only_run = only_run
            .map_err(|e| BuildError::Drives(format!("no drive of {} is taken away: {e}", layer.shown())))?;
        let unplug = unplug(&found, act, &inventory)?;
        let array = Array::read(layer, (drive, name), &inventory, session.runner)?;
        let tree = Tree::open(&on.path).map_err(BuildError::file(&on.path))?;
        let chosen = choose(&tree, pool.seed, cancel);
        let (files, read) = FilesInUse::read(tree, chosen, pool.bytes, cancel);
        if cancel.is_set() {
            return Err(interrupted());
        }
        if files.count() == 0 {
            let dir = on.path.display();
            return Err(BuildError::Drives(format!("{dir} has no files that can be read")));
        }
        let pulled = PulledDrive {
            drive: drive.clone(),
            unplug,
            drives: Vec::new(),
            // The drive that a person agreed to take away is the only one whose superblock may be written.
            consent: vec![consent(drive)],
            array: Some(array),
        };
        let this = Self {
            act: act.clone(),
            pool: pool.clone(),
            on: on.clone(),
            files: Arc::new(files),
            _only_run: only_run,
        };
        Ok((this, pulled, read))
    }
}

impl PoolUnderTest for UsedPool {
    fn is_in_use(&self) -> bool {
        true
    }

    fn start_load(&self) -> io::Result<Load> {
        Load::start(self.files.clone(), self.pool.seed, None)
    }

    fn check_before(&self, load: &Load, pulled: &PulledDrive) -> Result<(), BuildError> {
        let Some(array) = &pulled.array else {
            return Err(BuildError::Array("the array of the pool is not known".to_owned()));
        };
        if load.ops().iter().any(|op| op.outcome != Outcome::Done) {
            return Err(BuildError::Drives(format!(
                "with all drives there, files can't be read, or a second read differs: compare the copies of {} first \
                 (drivebench pool scrub, or mdadm --action=check)",
                array.shown
            )));
        }
        // Reading took a while, and may have made a weak drive fail.
        let inventory = Inventory::read(&Sysroot::live());
        let now = member(&self.act, &self.pool, &self.on, &inventory)?;
        is_free(&now, &inventory)?;
        if now.name != array.member || unplug(&now, &self.act, &inventory)? != pulled.unplug {
            let label = &self.pool.label;
            return Err(BuildError::Drives(format!("{label} was plugged in again meanwhile: start again")));
        }
        Ok(())
    }

    fn verify(&self) -> (FilesFound, LedgerFound) {
        (verify(&self.files), LedgerFound::default())
    }
}
