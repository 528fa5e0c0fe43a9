//! Brings a drive back to its pool, and checks all files again.

use std::{thread, time::Instant};

use super::{
    HANG,
    load::{Load, SAMPLE, sample, sum},
    rejoin::{BY_ITSELF, PROGRESS, health, joins, returns},
    second::pull_second,
    site::{Away, Site, THIRDS, cool, known, look},
};
use crate::{
    conditions::bytes_written,
    danger::Claims,
    engine::Cancel,
    inventory::{Drive, Inventory},
    pool::health::{Health, MemberState},
    record::Back,
    run::pool::{BuildError, Built, Commands, PoolLog, exists, filled, scrub},
    sysroot::Sysroot,
    tools::{
        Change, State as Kernel,
        mdadm::{self, Without},
        mount, udevadm,
    },
};

/// Brings the drive back; after that the pool is whole again, or the result says why not. `asks` receives what a person has to do.
pub fn put_back(
    site: &Site<'_>,
    away: &mut Away,
    cancel: &Cancel,
    asks: &mut dyn FnMut(&str),
) -> Result<Back, BuildError> {
    let zero = Instant::now();
    let member = away.act.member as usize;
    let drive = returns(&mut away.gone, site.runner, cancel, asks)?;
    let mut back =
        Back { name: drive.name.clone(), appeared: zero.elapsed().as_secs_f64(), ..Back::default() };
    let here = Instant::now();
    let (mut log, built) = known(site)?;
    let is_back =
        |health: &Health| matches!(health.members[member], MemberState::InSync | MemberState::Filling);
    let until = Instant::now() + BY_ITSELF;
    while !back.by_itself && Instant::now() < until && built.build.layout.is_redundant() {
        back.by_itself = is_back(&health(&built));
        thread::sleep(PROGRESS);
    }
    let begun = if back.by_itself { here } else { Instant::now() };
    let healed = if built.build.layout.is_redundant() {
        again(site, away, &built, &mut log, &mut back, cancel, asks)
    } else {
        restart(site, &built, &mut log, &mut back.commands)
    };
    match healed {
        // With a second pull it is known already.
        Ok(()) => back.healed = back.healed.or(Some(begun.elapsed().as_secs_f64())),
        Err(e) => {
            back.healed = None;
            back.refused.push(e.to_string());
        }
    }
    cool(site.dir);
    (back.files, back.ledger) = look(site.dir, away);
    let now = health(&built);
    back.state = now.state;
    if back.healed.is_some() && built.build.layout.is_redundant() {
        let inventory = Inventory::read(&Sysroot::live());
        let mut says = |_: &str| ();
        let mut commands = Commands { runner: site.runner, says: &mut says, exists: &exists };
        match scrub(&built, &inventory, &mut log, &mut commands, &mut |_| ()) {
            Ok(differ) => back.mismatches = Some(differ),
            Err(e) => back.refused.push(e.to_string()),
        }
    }
    Ok(back)
}

/// Gives the drive to its array again, and waits until it is filled while files are used.
fn again(
    site: &Site<'_>,
    away: &Away,
    built: &Built,
    log: &mut PoolLog,
    back: &mut Back,
    cancel: &Cancel,
    asks: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    let inventory = Inventory::read(&Sysroot::live());
    let drive =
        inventory.drive(&away.act.drive).ok_or_else(|| BuildError::Drives("it is gone again".to_owned()))?;
    let root = Sysroot::live();
    let device = built.build.device(&root, &inventory);
    let device = device.ok_or_else(|| BuildError::Array(format!("{} is not active", built.build.name)))?;
    log.found(&device.path());
    // Of one that was taken back by itself, the begin was not seen.
    let written_before = bytes_written(&root, &drive.name).filter(|_| !back.by_itself);
    let load = Load::start(site.dir, away.act.tree, &away.ledger, away.act.most / THIRDS, None).ok();
    let from = Instant::now();
    let mut added = Ok(());
    if !back.by_itself {
        added = joins(site, &away.act, built, &device.path(), drive, &mut back.refused, &mut back.commands);
    }
    let filled = match (&away.act.second, load) {
        (Some(second), Some(load)) if added.is_ok() => {
            pull_second(site, (away, second), built, (load, from), back, cancel, asks)
        }
        (_, load) => {
            let filled = added.and_then(|()| filled(&built.build, None, cancel));
            let to = Instant::now();
            if let Some(load) = load {
                let (ops, hanging) = load.end(HANG);
                back.during = sum(&ops, &hanging, from, to);
                back.sample = sample(&ops, from, SAMPLE);
            }
            filled
        }
    };
    let size = built.build.size.unwrap_or(0).max(1);
    let written =
        bytes_written(&root, &drive.name).zip(written_before).map(|(now, before)| now.saturating_sub(before));
    back.copied = written.map(|bytes| bytes as f64 / size as f64);
    filled
}

/// Stops a pool without copies and starts it again with all its drives, since it takes none back.
fn restart(
    site: &Site<'_>,
    built: &Built,
    log: &mut PoolLog,
    says: &mut Vec<String>,
) -> Result<(), BuildError> {
    let build = &built.build;
    let mut say = |command: &str| says.push(command.to_owned());
    let mut commands = Commands { runner: site.runner, says: &mut say, exists: &exists };
    // What udev made of the drive that came back may be an array of its own.
    for _ in 0..3 {
        let inventory = Inventory::read(&Sysroot::live());
        let Some(device) = build.device(&Sysroot::live(), &inventory) else { break };
        log.found(&device.path());
        for mounted in device.mounts(&inventory).into_iter().rev() {
            let plain: Change<Kernel> = mount::unmount(&device.path(), &mounted.path);
            if commands.alter(&plain, log).is_err() {
                commands.alter(&mount::unmount_lazily(&device.path(), &mounted.path), log)?;
            }
        }
        commands.alter(&build.stop(&device.path()), log)?;
        let _ = site.runner.ask(&udevadm::settle());
    }
    let inventory = Inventory::read(&Sysroot::live());
    let drives: Vec<&Drive> = build
        .drives(&inventory)
        .into_iter()
        .collect::<Option<_>>()
        .ok_or_else(|| BuildError::Drives("not all of its drives are here".to_owned()))?;
    if build.layout.is_mapped() {
        let claims = Claims::take(Claims::lock(&drives)?, site.erase)?;
        let paths: Vec<String> = drives.iter().map(|drive| drive.node()).collect();
        commands.erase(&build.change(crate::pool::Step::Join, &paths), &claims)?;
    } else {
        commands.alter(&mdadm::assemble(&build.path(), &build.uuids[0], Without::None), log)?;
    }
    commands.appears(&build.path())?;
    let _ = site.runner.ask(&udevadm::settle());
    commands.alter(&mount::mount(&build.path(), build.filesystem.name(), &site.dir.to_string_lossy()), log)
}
