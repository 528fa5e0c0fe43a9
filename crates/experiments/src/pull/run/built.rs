//! A pool that the run built: files are written to it, and the ledger of writes is compared.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::fs::syncfs;

use super::{PoolUnderTest, PulledDrive, detach::Unplug, empty_cache, rejoin::Array};
use crate::{
    danger::Claims,
    engine::Cancel,
    inventory::{Drive, Inventory},
    plan::BuildPool,
    pool::Step,
    pull::{BuiltPool, Pull},
    run::{BuildError, Built, Commands, PoolLog, Wait, exists, filled, scrub},
    sysroot::Sysroot,
    target::Target,
    test_files::{FilesFound, HANG, Ledger, LedgerFound, Load, TreeFiles, Writes, verify, within},
    tools::{Change, Runner, State, System, mdadm, mount, udevadm},
};

/// The parts of what may be written: before, while the drive is away, and until it is back.
const PARTS: u64 = 3;

pub struct PoolOfRun {
    pool: BuiltPool,
    built: Built,
    /// Where it is mounted.
    dir: PathBuf,
    store: PathBuf,
    /// The drives that may be erased: their serials.
    erase: Vec<String>,
    tools: System,
    files: Arc<TreeFiles>,
    ledger: Arc<Mutex<Ledger>>,
}

impl PoolOfRun {
    /// The pool of a target and the drive that is taken away, with the first writes of the ledger.
    pub fn open(
        act: &Pull,
        pool: &BuiltPool,
        build: Option<&BuildPool>,
        (on, erase, store): (&Target, &[String], &Path),
    ) -> Result<(Self, PulledDrive), BuildError> {
        let (name, tools) = (build.map(|build| build.name.as_str()).unwrap_or_default(), System::default());
        let built = PoolLog::open(store, name).map_err(BuildError::NoLog)?.1;
        let (root, build, at) = (Sysroot::live(), &built.build, pool.member as usize);
        let inventory = Inventory::read(&root);
        // By its place and its identity: an edited record may name another drive of the machine.
        let found = build.drives(&inventory).get(at).copied().flatten();
        let found = found.filter(|drive| drive.identity() == act.drive);
        let drive = found.ok_or_else(|| {
            let (identity, number) = (&act.drive, at + 1);
            BuildError::Drives(format!(
                "the drive {identity} is not here, or is not drive {number} of {name}"
            ))
        })?;
        let device = build.device(&root, &inventory).filter(|_| build.layout.is_redundant());
        let layer =
            inventory.layers.iter().find(|layer| Some(&layer.name) == device.as_ref().map(|d| &d.name));
        let member = build.member_path(at, &drive.name);
        let array = layer.map(|layer| Array::read(layer, (drive, &member), &inventory, &tools));
        let pulled = PulledDrive {
            unplug: Unplug::find(&inventory, drive, act.by)?,
            drive: drive.clone(),
            drives: build.drives(&inventory).into_iter().flatten().cloned().collect(),
            array: array.transpose()?,
            consent: erase.to_vec(),
        };
        let failed = |e: io::Error| BuildError::Array(format!("files can't be used on the pool: {e}"));
        let ledger = Ledger::begin(&on.path, pool.tree.seed).map_err(failed)?;
        let this = Self {
            pool: pool.clone(),
            dir: on.path.clone(),
            store: store.to_owned(),
            erase: erase.to_vec(),
            tools,
            files: Arc::new(TreeFiles::new(&on.path, pool.tree)),
            ledger: Arc::new(Mutex::new(ledger)),
            built,
        };
        Ok((this, pulled))
    }

    fn log(&self) -> Result<PoolLog, BuildError> {
        Ok(PoolLog::open(&self.store, &self.built.build.name).map_err(BuildError::NoLog)?.0)
    }
}

impl PoolUnderTest for PoolOfRun {
    fn start_load(&self) -> io::Result<Load> {
        let (dir, ledger) = (self.dir.clone(), Arc::clone(&self.ledger));
        let writes = Writes { dir, ledger, most: self.most_written(), log: None };
        Load::start(self.files.clone(), self.pool.tree.seed, Some(writes))
    }

    fn most_written(&self) -> u64 {
        self.pool.most / PARTS
    }

    /// Also drops dirty pages that can't be written.
    fn drop_caches(&self) {
        let dir = self.dir.clone();
        let _ = within(HANG, move || {
            let _lost = File::open(dir).and_then(|dir| Ok(syncfs(dir)?));
            empty_cache()
        });
    }

    fn verify(&self) -> (FilesFound, LedgerFound) {
        let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (verify(&self.files), ledger.verify(&self.dir, HANG * 4))
    }

    fn restart(&self, commands: &mut Vec<String>) -> Result<(), BuildError> {
        let (build, mut log, root) = (&self.built.build, self.log()?, Sysroot::live());
        let mut says = |command: &str| commands.push(command.to_owned());
        let mut commands = Commands { runner: &self.tools, says: &mut says, exists: &exists };
        // What udev made of the drive that came back may be an array of its own.
        for _ in 0..3 {
            let inventory = Inventory::read(&root);
            let Some(device) = build.device(&root, &inventory) else { break };
            log.found(&device.path());
            for mounted in device.mounts(&inventory).into_iter().rev() {
                let plain: Change<State> = mount::unmount(&device.path(), &mounted.path);
                if commands.alter(&plain, &log).is_err() {
                    commands.alter(&mount::unmount_lazily(&device.path(), &mounted.path), &log)?;
                }
            }
            commands.alter(&build.stop(&device.path()), &log)?;
            let _ = self.tools.ask(&udevadm::settle());
        }
        let inventory = Inventory::read(&root);
        let drives: Option<Vec<&Drive>> = build.drives(&inventory).into_iter().collect();
        let drives = drives.ok_or_else(|| BuildError::Drives("not all of its drives are here".to_owned()))?;
        if build.layout.is_mapped() {
            let claims = Claims::take(Claims::lock(&drives)?, &self.erase)?;
            let paths: Vec<String> = drives.iter().map(|drive| drive.node()).collect();
            commands.erase(&build.change(Step::Join, &paths), &claims)?;
        } else {
            commands.alter(&mdadm::assemble(&build.path(), &build.uuids[0], false), &log)?;
        }
        commands.appears(&build.path())?;
        let _ = self.tools.ask(&udevadm::settle());
        let dir = self.dir.to_string_lossy();
        commands.alter(&mount::mount(&build.path(), build.filesystem.name(), &dir), &log)
    }

    fn compare(&self, cancel: &Cancel) -> Result<Option<u64>, BuildError> {
        // The kernel may be at the end of filling still.
        filled(&self.built.build, None, cancel)?;
        let mut log = self.log()?;
        let mut commands = Commands { runner: &self.tools, says: &mut |_| (), exists: &exists };
        scrub(&self.built, &mut log, &mut commands, &mut Wait { shows: &mut |_| (), cancel }).map(Some)
    }
}
