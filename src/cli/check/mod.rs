//! `drivebench check`: whether each drive is as fast and as sound as before.

pub(super) mod args;
pub(super) mod gate;
mod known;
#[cfg(test)]
mod tests;
mod timer;
mod words;

use std::{collections::BTreeMap, fs::File, io, path::PathBuf, process::ExitCode, thread, time::Duration};

use anyhow::anyhow;
use rustix::{
    fs::{Access, access},
    io::Errno,
    process::geteuid,
};
use serde_json::{Value, json};

use super::{
    args::ListFormat,
    errors::{USAGE, Usage},
    output::Output,
    pool,
    progress::Show,
    results::day,
    run::start,
    signals::Signals,
    stored,
};
use crate::{
    conditions::{self, Snapshot, check_before},
    experiments::{
        Request, Values,
        check::{CHECK, Decision, Probe, Skipped, decide},
    },
    inventory::{Drive, Inventory, Medium, natural_order},
    plan::Plan,
    record::{End, Event, Start, Store},
    report,
    run::{self, Local, Lock, LockError, Locks, RunContext, Watcher},
    sysroot::Sysroot,
    target::{Kind, Target, TargetError},
    tools::{Runner, System, hdparm, smartctl, user_command},
    units::{Power, distinct},
};
use args::Check;
use known::{Checks, SavedChecks};

/// How long the I/O counters of drives are watched for other load.
const WATCHED: Duration = Duration::from_secs(2);
/// Time limit of the `--on-change` command.
const COMMAND: Duration = Duration::from_secs(60);
/// The schema of the JSON, which rises with incompatible changes.
const SCHEMA: u32 = 1;

/// A drive of this machine, and the result of its check.
struct Checked {
    drive: Drive,
    decisions: Vec<Decision>,
    /// Whether its alarms differ from those of the last check.
    changed: bool,
}

pub(super) fn check(args: &Check, store: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let store = stored::store(store)?;
    if args.remove {
        return timer::remove(output);
    }
    if let Some(every) = args.install {
        return timer::install(every, args.on_change.as_ref(), args.yes_install, &store, output);
    }
    if let Some(purpose) = args.purpose {
        return gate::gate(purpose, &args.drives, &Some(store.dir().to_owned()), output);
    }
    let mut inventory = pool::here(Some(store.dir()), output);
    let drives = named(&args.drives, &inventory)?;
    if args.accept {
        return accept(&drives, &store, output);
    }
    let runner = System::default();
    let in_use = in_use(&drives, &inventory);
    let locks = Locks::open(store.dir())?;
    let mut ready = Ready::default();
    for drive in drives {
        // Unlike opening it, this wakes no disk.
        let why = match access(drive.node(), Access::READ_OK) {
            Err(Errno::ACCESS) => Some(Skipped::NotPermitted),
            _ if in_use.contains(&drive.name) => Some(Skipped::InUse),
            _ => asleep(&drive, args.wake, &runner),
        };
        match why {
            Some(why) => ready.skipped.push((drive, why)),
            None => ready.add(drive, args.wake, &mut inventory, &locks, &runner)?,
        }
    }
    let denied = ready.skipped.iter().any(|(_, why)| *why == Skipped::NotPermitted);
    let nothing = ready.targets.is_empty() && ready.broken.is_empty();
    let mut run = None;
    if !ready.targets.is_empty() {
        let (name, interrupted) = measured(ready.targets, inventory, &store, output)?;
        if let Some(code) = interrupted {
            return Ok(ExitCode::from(code));
        }
        run = Some(name);
    }
    drop(ready.locks);
    let mut known = SavedChecks::read(&store)?;
    let mut all = decided(run.as_deref(), ready.broken, &store, &mut known)?;
    all.extend(ready.skipped.into_iter().map(|(drive, why)| Checked {
        drive,
        decisions: vec![Decision::Skipped { why }],
        changed: false,
    }));
    all.sort_by(|a, b| natural_order(&a.drive.name, &b.drive.name));
    let document = document(run.as_deref(), &all);
    let told = match args.on_change.as_ref().filter(|_| all.iter().any(|one| one.changed)) {
        Some(command) => run_on_change(command, &document, &runner),
        None => Ok(()),
    };
    // Else the next check reports the change again.
    if told.is_ok() && !nothing {
        known.save(&store)?;
    }
    match args.format {
        ListFormat::Json => output.result(&report::json(&document))?,
        ListFormat::Text => show(&all, output)?,
    }
    if run.is_some() && !geteuid().is_root() {
        output.note("With sudo, error counters are read too, and sleeping disks are recognised.");
    }
    if let Err(e) = told {
        output.error(&e, None);
        return Ok(ExitCode::from(USAGE));
    }
    Ok(match all.iter().flat_map(|one| &one.decisions).any(|one| one.alarm().is_some()) {
        true => ExitCode::FAILURE,
        // Nothing at all could be looked at.
        false if nothing && denied => ExitCode::from(USAGE),
        false => ExitCode::SUCCESS,
    })
}

/// The drives that a check can read, and those that it can't.
#[derive(Default)]
struct Ready {
    targets: Vec<Target>,
    locks: Vec<Lock>,
    /// Drives that can't be opened, though this user may.
    broken: Vec<Probe>,
    skipped: Vec<(Drive, Skipped)>,
}

impl Ready {
    /// Reads the health of a drive, and locks it.
    fn add(
        &mut self,
        drive: Drive,
        wake: bool,
        inventory: &mut Inventory,
        locks: &Locks,
        runner: &dyn Runner,
    ) -> anyhow::Result<()> {
        match File::open(drive.node()) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                self.skipped.push((drive, Skipped::NotPermitted));
                return Ok(());
            }
            Err(e) => {
                let (at, error) = (run::now(), Some(format!("it can't be opened: {e}")));
                self.broken.push(Probe { at, drive, error, ..Probe::default() });
                return Ok(());
            }
            Ok(_) => {}
        }
        let health = smartctl::read(&drive, runner, wake).1;
        for own in inventory.drives.iter_mut().filter(|own| own.name == drive.name) {
            own.health.get_or_insert_with(|| health.clone());
        }
        let target = Target::resolve(inventory, &drive.node())?;
        let keys = target.lock_keys();
        match keys.iter().map(|(identity, label)| locks.take(identity, label)).collect::<Result<Vec<_>, _>>()
        {
            Ok(taken) => {
                self.locks.extend(taken);
                self.targets.push(target);
            }
            Err(LockError::Busy(_)) => self.skipped.push((drive, Skipped::Measured)),
            Err(e) => return Err(e.into()),
        }
        Ok(())
    }
}

/// The drives that were named, or all with a medium. A directory stands for the drives below it.
fn named(names: &[String], inventory: &Inventory) -> anyhow::Result<Vec<Drive>> {
    if names.is_empty() {
        let all = inventory.hardware(inventory.drives.iter().filter(|drive| drive.sectors > 0));
        return Ok(all.into_iter().cloned().collect());
    }
    let mut drives: Vec<Drive> = Vec::new();
    for name in names {
        let found = drives_at(name, inventory)?;
        if found.is_empty() {
            return Err(Usage(format!("{name} is not on a known drive")).into());
        }
        drives.extend(found);
    }
    Ok(distinct(drives))
}

/// The drives below what is named. Without the right to read a drive, it can still be named.
pub(super) fn drives_at(name: &str, inventory: &Inventory) -> Result<Vec<Drive>, TargetError> {
    match Target::resolve(inventory, name) {
        Err(TargetError::Permission { .. }) => {
            Ok(inventory.drives.iter().filter(|drive| drive.node() == name).cloned().collect())
        }
        found => Ok(found?.drives),
    }
}

/// The names of drives that other programs use now.
fn in_use(drives: &[Drive], inventory: &Inventory) -> Vec<String> {
    let root = Sysroot::live();
    let earlier = Snapshot::take(&root, drives);
    thread::sleep(WATCHED);
    let now = Snapshot::take(&root, drives);
    let is_used = |drive: &&Drive| {
        let drives = vec![(*drive).clone()];
        let target = Target { drives, kind: Kind::BlockDevice, ..Target::default() };
        check_before(inventory, &target, &earlier, &now).iter().any(conditions::Check::saw_other_io)
    };
    drives.iter().filter(is_used).map(|drive| drive.name.clone()).collect()
}

/// Why a disk is not checked now: it is asleep, or it isn't known whether it is.
fn asleep(drive: &Drive, wake: bool, runner: &dyn Runner) -> Option<Skipped> {
    let spins = match drive.medium {
        Medium::Rotating => true,
        Medium::Flash => false,
        // Sticks say that they rotate, too.
        Medium::Unknown => drive.rotational && !drive.removable && drive.has_hardware(),
    };
    if wake || !spins {
        return None;
    }
    let maybe = |because: String| Some(Skipped::MaybeAsleep { because });
    match runner.ask(&hdparm::power(&drive.node())) {
        Err(e) => maybe(e.to_string()),
        Ok(output) if hdparm::denied(&output) => maybe("its power state needs root".to_owned()),
        Ok(output) => match hdparm::parse_power(&output) {
            Power::Awake => None,
            Power::Standby => Some(Skipped::Asleep),
            Power::Unknown => maybe("it does not report its power state".to_owned()),
        },
    }
}

/// A watcher that shows no progress.
struct Quiet;

impl Watcher for Quiet {}

/// Measures these drives and keeps a record: the name of the run, and the exit code if a signal ended it.
fn measured(
    targets: Vec<Target>,
    inventory: Inventory,
    store: &Store,
    output: &Output,
) -> anyhow::Result<(String, Option<u8>)> {
    let sysroot = &Sysroot::live();
    let plan: Plan = CHECK.plan(&Request::new(&CHECK, targets, Values::default())?)?;
    let signals = Signals::listen()?;
    let cancel = signals.cancel();
    let targets = plan.targets.iter().map(|t| format!("{} ({})", t.path.display(), t.label())).collect();
    let host = run::host(sysroot);
    let begun = Start { targets, host, ..start(String::new(), CHECK.name, inventory.clone()) };
    // In memory, so that no write to a drive is part of its measurement.
    let mut events: Vec<Event> = Vec::new();
    let (mut live, mut quiet) = (Show::new(output, &plan, false), Quiet);
    let mut world = Local::new(sysroot, &plan.targets, store.dir(), CHECK.name);
    let mut setting = RunContext {
        run: CHECK.name,
        world: &mut world,
        inventory: &inventory,
        store: store.dir(),
        log: &mut events,
        watcher: if output.live { &mut live } else { &mut quiet },
        cancel: &cancel,
    };
    setting.emit(Event::Plan { plan: plan.clone() })?;
    let how = run::execute(&plan, &Default::default(), &mut setting)?;
    setting.emit(Event::End(End { how, at: run::now() }))?;
    let name = store.keep(|run| Start { run, ..begun }, &events)?;
    stored::pack(store, &name, output);
    Ok((name, signals.code()))
}

/// The decisions on each drive of this check and on `broken` ones, with what the next check has to know.
fn decided(
    run: Option<&str>,
    broken: Vec<Probe>,
    store: &Store,
    known: &mut SavedChecks,
) -> anyhow::Result<Vec<Checked>> {
    if run.is_none() && broken.is_empty() {
        return Ok(Vec::new());
    }
    let mut checks = Checks::read(store)?;
    let mut probes = broken;
    probes.extend(run.map(|run| checks.probes(run).to_vec()).unwrap_or_default());
    let mut all = Vec::new();
    for probe in probes {
        let drive = known.drives.entry(probe.drive.identity()).or_default();
        let past = checks.before(&probe, drive);
        let decisions = decide(&probe, &past);
        let changed = drive.update(&probe, &past, &decisions);
        all.push(Checked { drive: probe.drive, decisions, changed });
    }
    Ok(all)
}

/// Makes the newest check of each drive the reference.
fn accept(drives: &[Drive], store: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    let mut known = SavedChecks::read(store)?;
    let mut checks = Checks::read(store)?;
    let mut accepted = 0;
    for drive in drives {
        let identity = drive.identity();
        match checks.newest(&identity) {
            Some(probe) => {
                known.drives.entry(identity).or_default().accept(&probe);
                accepted += 1;
                let day = day(&probe.at);
                output.note(&format!(
                    "{}: the check of {day} ({}) is now the reference.",
                    drive.label(),
                    probe.run
                ));
            }
            None => output.note(&format!("{}: no complete check yet.", drive.label())),
        }
    }
    known.save(store)?;
    match accepted {
        0 => Err(Usage("nothing was accepted: check the drives first".to_owned()).into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// The alarms of each drive after its last check, in words, by its identity.
pub(super) fn alarms(store: &Store) -> io::Result<BTreeMap<String, Vec<String>>> {
    let known = SavedChecks::read(store)?.drives.into_iter();
    Ok(known.map(|(identity, drive)| (identity, drive.alarms.iter().map(words::alarm).collect())).collect())
}

fn show(all: &[Checked], output: &Output) -> io::Result<()> {
    let name = |one: &Checked| format!("{} {}", one.drive.name, one.drive.label());
    let width = all.iter().map(|one| name(one).chars().count()).max().unwrap_or(0);
    let line = |one: &Checked| format!("{:width$}  {}\n", name(one), words::line(&one.decisions));
    output.result(&all.iter().map(line).collect::<String>())
}

fn document(run: Option<&str>, all: &[Checked]) -> Value {
    let drive = |one: &Checked| {
        json!({
            "name": one.drive.name,
            "label": one.drive.label(),
            "identity": one.drive.identity(),
            "attention": one.decisions.iter().any(|one| one.alarm().is_some()),
            "changed": one.changed,
            "decisions": one.decisions,
            "text": words::line(&one.decisions),
        })
    };
    json!({
        "schema": SCHEMA,
        "drivebench": env!("CARGO_PKG_VERSION"),
        "at": run::now(),
        "run": run,
        "drives": all.iter().map(drive).collect::<Vec<_>>(),
    })
}

/// Runs the `--on-change` command with the result of a check on its standard input.
fn run_on_change(command: &str, document: &Value, system: &System) -> anyhow::Result<()> {
    let mut talk = system.talk(&user_command(command))?;
    // The command need not read its input.
    let _ = talk.say(&report::json(document));
    talk.close_stdin();
    let output = talk.end(COMMAND);
    match output.code {
        Some(0) => Ok(()),
        _ => Err(anyhow!("the --on-change command failed: {}", output.complaint())),
    }
}
