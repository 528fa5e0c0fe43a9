//! Takes a drive of a pool that is in use away while its files are read, and finds out whether they are whole.

use std::{
    io,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    array::{Array, Other},
    check::{Member, is_free, member, unplug as how},
    choose::{Tree, choose},
    known::{Known, check, know},
    reader::Reader,
};
use rustix::fs::Dir;

use crate::{
    engine::Cancel,
    inventory::{Drive, Inventory},
    plan::PullInUse,
    record::{FilesFound, Probe, Pulled},
    run::{
        Watcher,
        journal::Journal,
        lock::Lock,
        pool::BuildError,
        pull::{
            HANG, POLL,
            away::settings,
            files::empty_cache,
            gone::{Gone, interrupted},
            load::{SAMPLE, sample, sum},
            probes::probe,
            site::{checked, within},
            unplug::Unplug,
            watch::{self, Watch},
        },
    },
    sysroot::Sysroot,
    target::Target,
    tools::{
        Runner,
        mdadm::{self, MemberFlags},
    },
};

/// A pool in use without one of its drives.
#[derive(Debug)]
pub struct Away {
    pub act: PullInUse,
    pub gone: Gone,
    pub array: Array,
    tree: Arc<Tree>,
    pub files: Arc<Vec<Known>>,
    _only: Lock,
}

impl Away {
    /// Reads all files again, past the page cache.
    pub fn look(&self) -> FilesFound {
        let files = Arc::clone(&self.files);
        checked(files.len() as u64, move |checking| check(&files, checking))
    }
}

/// Reads files, takes the drive away, reads them again, and checks all of them. Once the drive is away there are no errors: it has to be
/// brought back.
pub fn pull(
    target: &Target,
    act: &PullInUse,
    (journal, runner): (&Journal, &dyn Runner),
    cancel: &Cancel,
    watcher: &mut dyn Watcher,
) -> Result<(Pulled, Away), BuildError> {
    let inventory = Inventory::read(&Sysroot::live());
    let found = member(act, target, &inventory)?;
    // Held until the drive is back, and before the last check that all are there: of two runs, each would take one away.
    let only = only_run(&found)?;
    let unplug = how(&found, act, &inventory)?;
    let array = array(&found, &inventory, runner)?;
    let tree = Arc::new(Tree::open(&target.path).map_err(BuildError::file(&target.path))?);
    let (files, about) = know(&tree, &choose(&tree, act.bytes, act.seed, cancel), cancel);
    if cancel.is_set() {
        return Err(interrupted());
    }
    if files.is_empty() {
        return Err(BuildError::Drives(format!("{} has no files that can be read", target.path.display())));
    }
    let files = Arc::new(files);
    let root = Sysroot::live();
    let bitmap = found.layer.pool.as_ref().and_then(|pool| pool.bitmap);
    let mut pulled = Pulled {
        name: found.drive.name.clone(),
        settings: settings(found.drive, &root, bitmap),
        read: Some(about),
        ..Pulled::default()
    };
    let begun = Instant::now();
    let reader = Reader::start(&files, act.seed).map_err(failed)?;
    let seconds = Duration::from_secs_f64(act.seconds);
    while begun.elapsed() < seconds && !cancel.is_set() {
        thread::sleep(POLL);
    }
    if cancel.is_set() {
        return Err(interrupted());
    }
    if reader.had_trouble() {
        return Err(BuildError::Drives(format!(
            "files can't be read, or hold something else when they are read again, with all drives there: compare the copies of {} first \
             (drivebench pool scrub, or mdadm --action=check)",
            found.layer.shown()
        )));
    }
    // Reading took a while, and may have made a weak drive fail.
    let inventory_now = Inventory::read(&root);
    let now = member(act, target, &inventory_now)?;
    is_free(&now, &inventory_now)?;
    if now.name != found.name || how(&now, act, &inventory_now)? != unplug {
        return Err(BuildError::Drives(format!("{} was plugged in again meanwhile: start again", act.label)));
    }
    let gone = Gone::will(journal, found.drive, unplug)?;
    let mut watch = Watch::of(Some((array.name.clone(), found.name.to_owned())), &gone.drive.name);
    let away = Away { act: act.clone(), gone, array, tree, files, _only: only };
    let log_from = watch::kernel_now();
    let still = || others_work(&away.array, &away.act.status, &root);
    let shown = away.array.shown.clone();
    let re_add = |why: &dyn std::fmt::Display| {
        format!(
            "{why}. If {shown} lacks it then: mdadm /dev/{} --re-add MEMBER, which `drivebench list` shows",
            away.array.name
        )
    };
    let answer = away
        .gone
        .leave(&members(&found, &inventory), &still, cancel, &mut |text| watcher.asks(text))
        .map_err(|e| match e {
            BuildError::Drives(why) => BuildError::Drives(re_add(&why)),
            e => e,
        })?;
    let zero = Instant::now();
    while zero.elapsed() < seconds && !cancel.is_set() && away.array.lost(&root).is_empty() {
        watch.look(zero);
        thread::sleep(POLL);
    }
    let end = Instant::now();
    let (ops, hanging) = reader.end(HANG);
    away.gone.has_left(answer).map_err(|e| BuildError::Array(re_add(&e)))?;
    watch.look(zero);
    (pulled.before, pulled.away) = (sum(&ops, &[], begun, zero), sum(&ops, &hanging, zero, end));
    pulled.sample = sample(&ops, zero, SAMPLE);
    // Who wants the end wants the drive back first.
    if cancel.is_set() {
        let (array, cleanup) = (&away.array.name, journal.cleanup());
        watcher.waits(&match away.gone.unplug {
            Unplug::Software { .. } => {
                format!(
                    "Bringing the drive back. A second Ctrl-C ends the run at once: then `{cleanup}`, and mdadm /dev/{array} --re-add MEMBER, \
                     which `drivebench list` shows"
                )
            }
            Unplug::Hand => format!(
                "The run ends once the drive is back. A second Ctrl-C ends it without: then plug the drive in, and mdadm /dev/{array} \
                 --re-add MEMBER, which `drivebench list` shows"
            ),
        });
    } else if away.array.lost(&root).is_empty() {
        pulled.probes = probes(&away, false);
        let _ = within(HANG, empty_cache);
        pulled.probes.extend(probes(&away, true));
        pulled.files = away.look();
    }
    pulled.kernel = watch::messages(runner, log_from, &away.gone.drive.name);
    pulled.moments = watch.moments(&ops, &pulled.kernel, zero);
    let inventory = Inventory::read(&root);
    if let Some(pool) =
        inventory.pools().find(|(layer, _)| layer.name == away.array.name).map(|(_, pool)| pool)
    {
        (pulled.state, pulled.missing) = (pool.state, pool.missing);
    }
    pulled.lost = !away.array.lost(&root).is_empty();
    Ok((pulled, away))
}

fn failed(e: io::Error) -> BuildError {
    BuildError::Array(e.to_string())
}

/// Refuses while another run may have a drive of the array away.
fn only_run(found: &Member<'_>) -> Result<Lock, BuildError> {
    let failed =
        |e: io::Error| BuildError::Drives(format!("no drive of {} is taken away: {e}", found.layer.shown()));
    Lock::of_machine(&found.layer.name).map_err(failed)
}

/// What is needed to give the drive back to its array, and to no other.
fn array(found: &Member<'_>, inventory: &Inventory, runner: &dyn Runner) -> Result<Array, BuildError> {
    let path = format!("/dev/{}", found.name);
    let said = runner.ask(&mdadm::examine(&path))?;
    let unknown = |why: String| BuildError::Array(format!("the superblock of {path} can't be read: {why}"));
    let superblock = mdadm::superblock(&said).map_err(unknown)?;
    let superblock = superblock.ok_or_else(|| unknown("it has none".to_owned()))?;
    let root = Sysroot::live();
    let file = |member: &str, of: &str| format!("/sys/block/{}/md/dev-{member}/{of}", found.layer.name);
    let slot = |member: &str| root.number(&file(member, "slot"));
    let others = found.layer.members.iter().filter(|name| *name != found.name);
    let other = |name: &String| {
        let drives = inventory.drives_of_block(name);
        Other {
            name: name.clone(),
            slot: slot(name),
            label: drives.first().map_or_else(|| name.clone(), |drive| drive.label()),
        }
    };
    let part = found.drive.partitions.iter().find(|part| part.name == found.name);
    let state = root.word(&file(found.name, "state"));
    let is = |flag: &str| state.as_ref().is_some_and(|state| state.split(',').any(|word| word == flag));
    Ok(Array {
        name: found.layer.name.clone(),
        shown: found.layer.shown(),
        member: found.name.to_owned(),
        uuid: superblock.uuid,
        start: part.map(|part| part.start),
        slot: slot(found.name),
        flags: MemberFlags { write_mostly: is("write_mostly"), failfast: is("failfast") },
        others: others.map(other).collect(),
    })
}

/// While a person is waited for, another drive may fail: without this one, files would be lost.
fn others_work(array: &Array, status: &str, root: &Sysroot) -> Result<(), BuildError> {
    match array.lost(root)[..] {
        [label, ..] => Err(BuildError::Array(format!(
            "{label} of {} has failed meanwhile: don't pull another drive. Replace that one first (`{status}` shows it)",
            array.shown
        ))),
        [] => Ok(()),
    }
}

/// The drives of the pool.
fn members<'i>(found: &Member<'i>, inventory: &'i Inventory) -> Vec<Option<&'i Drive>> {
    found.layer.members.iter().flat_map(|name| inventory.drives_of_block(name)).map(Some).collect()
}

/// What still works: only what reads.
fn probes(away: &Away, cold: bool) -> Vec<Probe> {
    let (tree, files) = (Arc::clone(&away.tree), Arc::clone(&away.files));
    vec![
        // So that its time of access stays.
        probe("ls", cold, move || {
            Dir::new(tree.dir(Path::new(""))?)?.try_for_each(|entry| Ok(entry.map(drop)?))
        }),
        probe("read", cold, move || files.iter().find_map(Known::first_page).unwrap_or(Ok(()))),
    ]
}
