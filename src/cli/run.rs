//! `drivebench run`: plan, show, measure, report.

use std::{
    io::{self, IsTerminal},
    iter,
    path::PathBuf,
    process::ExitCode,
};

use anyhow::anyhow;

use super::{
    check::gate,
    cleanup,
    errors::Usage,
    options::{Options, Run},
    output::Output,
    pool,
    progress::Show,
    signals::Signals,
    stored,
};
use crate::{
    danger::erasable,
    engine::Cancel,
    experiments::{
        self, ERASE, Request, Values,
        pool_commands::{PoolCommand, is_pool_command},
    },
    inventory::Inventory,
    plan::Plan,
    record::{self, Done, End, Event, Host, How, SCHEMA, Start, Store, StoreError},
    report::{Format, json},
    run::{self, Local, Lock, LockError, Locks, RunContext},
    sysroot::Sysroot,
    target::Target,
    units::{Histogram, shell_word},
};

pub(super) fn run(args: &Run, store: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let Run { experiment, values, options: args } = args;
    let store = stored::store(store)?;
    // Before planning, because leftovers may take the space that the run needs.
    if !args.plan {
        run::sweep(store.dir()).iter().for_each(|one| output.note(&cleanup::describe(one)));
    }
    let inventory = pool::here(Some(store.dir()), output);
    let resumed = args.resume.iter().cloned().collect::<Vec<_>>();
    let resumed = stored::names(&store, &resumed)?.pop();
    let plan = match &resumed {
        Some(run) => {
            let (plan, done) = unfinished(experiment.name, run, &store.unfinished(run)?, &store)?;
            if args.plan { remaining(run, &plan, &done, &inventory)? } else { plan }
        }
        None => {
            let resolve = |given: &String| (experiment.targets.resolve)(&inventory, given);
            let targets = args.targets.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
            let twice = |(at, target): &(usize, &Target)| {
                targets[..*at].iter().any(|t| (experiment.targets.is_same)(t, target))
            };
            if let Some((_, target)) = targets.iter().enumerate().find(twice) {
                return Err(Usage(format!("{} is named twice", target.path.display())).into());
            }
            let ask = Request::new(experiment, targets, values.clone())?;
            let plan = experiment.plan(&Request { memory: Target::in_memory(&inventory), ..ask })?;
            run::movable(&plan, &inventory, store.dir())?;
            plan
        }
    };
    if args.plan {
        match args.format {
            Format::Json => output.result(&json(&plan.to_json()))?,
            _ => output.plan(&plan.describe())?,
        }
        if let Err(e) = plan.require(&inventory, store.dir()) {
            output.warn(&format!("as things are, it is refused: {e}"));
        }
        let drives = plan.erased();
        let in_use = drives.iter().filter_map(|drive| erasable(&inventory, inventory.drive(drive)?).err());
        in_use.for_each(|e| output.warn(&format!("as things are, it is refused: {e}")));
        return Ok(ExitCode::SUCCESS);
    }
    plan.require(&inventory, store.dir())?;
    let erase = values.typed(&ERASE).unwrap_or_default();
    let erase = pool::consent_to(&plan, erase, None, &inventory, store.dir(), output)?;
    ask_consent(&plan, values, output)?;
    let task = Task { before: plan.brief(), resumed, ..Task::new(plan, erase) };
    carry_out(args, task, inventory, &store, output)
}

/// Takes the consents that acts ask for besides that to erase drives: a word that an option names, or that is typed.
fn ask_consent(plan: &Plan, values: &Values, output: &Output) -> anyhow::Result<()> {
    for consent in plan.steps.iter().filter_map(|step| step.act.consent()) {
        let option = format!("--{} {}", consent.option, shell_word(&consent.word));
        match values.text(consent.option) {
            Some(words) if words.split(',').chain([words]).any(|word| word == consent.word) => continue,
            None if io::stdin().is_terminal() => {}
            _ => return Err(Usage(format!("to {}, add {option}", consent.act)).into()),
        }
        consent.warnings.iter().for_each(|line| output.note(line));
        output.ask_consent(&consent.act, &consent.word)?;
    }
    Ok(())
}

/// A plan that is to be carried out and recorded.
pub(super) struct Task {
    plan: Plan,
    /// Printed before the run starts.
    before: String,
    /// The run to resume.
    resumed: Option<String>,
    /// The serials of drives that may be erased.
    erase: Vec<String>,
}

impl Task {
    /// `erase`: the serials of the drives that may be erased.
    pub fn new(plan: Plan, erase: Vec<String>) -> Self {
        Self { plan, before: String::new(), resumed: None, erase }
    }
}

/// The plan of a run and its finished steps.
fn unfinished(
    experiment: &str,
    run: &str,
    record: &record::Run<Histogram>,
    store: &Store,
) -> anyhow::Result<(Plan, Done)> {
    if let Some(name) = record.start.as_ref().map(|s| &s.experiment).filter(|name| *name != experiment) {
        let resume = stored::command(store, &format!("run {name} --resume {run}"));
        return Err(Usage(format!("{run} is a run of {name}: {resume}")).into());
    }
    let Some(plan) = &record.plan else {
        return Err(Usage(format!("{run} ended before its plan was saved: start a new run")).into());
    };
    if plan.acts::<PoolCommand>().next().is_some() {
        return Err(Usage(format!("{run} has steps that change a pool: start a new run")).into());
    }
    let done = Done::of(record, plan);
    if done.steps.len() >= plan.steps.len() {
        return Err(StoreError::Complete(run.to_owned()).into());
    }
    Ok((plan.clone(), done))
}

/// The remaining steps of a run. Refuses to measure other drives than before, or to fill one.
fn remaining(run: &str, plan: &Plan, done: &Done, inventory: &Inventory) -> anyhow::Result<Plan> {
    let mut left = done.left(plan);
    let moves = plan.arrangements().next().is_some();
    for (at, target) in left.targets.iter_mut().enumerate() {
        // The pool is built again.
        if plan.is_found_by_act(at) {
            continue;
        }
        let found = match plan.accepts_missing_drives() {
            true => target.find_degraded(inventory),
            false => target.find_again(inventory),
        };
        match found {
            Ok(now) => *target = now,
            // The run waits until they are in their bays.
            Err(_) if moves => {}
            Err(e) => {
                let path = target.path.display();
                let lost = match plan.accepts_missing_drives() {
                    true => {
                        "; a filesystem that can't be mounted any more (dmesg says why) has lost all that was acknowledged"
                    }
                    false => "",
                };
                return Err(anyhow!("{run} can't be continued in {path}: {e}{lost}"));
            }
        }
    }
    experiments::still_fits(&left)?;
    Ok(left)
}

/// Carries a plan out, records it, and shows what was found.
pub(super) fn carry_out(
    args: &Options,
    task: Task,
    mut inventory: Inventory,
    store: &Store,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let Task { mut plan, mut before, resumed, erase } = task;
    let experiment = plan.experiment.clone();
    let sysroot = &Sysroot::live();
    let signals = Signals::listen()?;
    let cancel = signals.cancel();
    let locks = lock(&plan, args.wait, store, &cancel, output);
    if let (Err(_), Some(code)) = (&locks, signals.code()) {
        return Ok(ExitCode::from(code));
    }
    let _locks = locks?;
    let targets = plan.targets.iter().map(|t| format!("{} ({})", t.path.display(), t.label())).collect();
    let host = run::host(sysroot);
    let (name, mut writer, first, done) = match resumed {
        None => {
            let start = |run| Start { targets, host, ..start(run, &experiment, inventory.clone()) };
            let (name, writer) = store.create(start)?;
            (name, writer, Event::Plan { plan: plan.clone() }, Done::default())
        }
        Some(name) => {
            // While this waited for the drives, the run may have gone on elsewhere.
            let (record, writer) = store.reopen(&name)?;
            let done;
            (plan, done) = unfinished(&experiment, &name, &record, store)?;
            inventory = pool::here(Some(store.dir()), output);
            let left = remaining(&name, &plan, &done, &inventory)?.describe();
            let (all, so_far) = (plan.steps.len(), done.steps.len());
            before = format!("Continuing {name}: {so_far} of {all} steps are done. Left:\n{left}");
            let resume = Event::Resume { at: run::now(), version: env!("CARGO_PKG_VERSION").to_owned() };
            (name, writer, resume, done)
        }
    };
    if !args.events {
        output.lines(&before);
    }
    let mut show = Show::new(output, &plan, args.events);
    let mut world = Local::new(sysroot, &plan.targets, store.dir(), &name).erasing(erase);
    let mut setting = RunContext {
        run: &name,
        world: &mut world,
        inventory: &inventory,
        store: store.dir(),
        log: &mut writer,
        watcher: &mut show,
        cancel: &cancel,
    };
    let carried = setting.emit(first).and_then(|()| run::execute(&plan, &done, &mut setting));
    // If the record can't be written, it gets no end event. Earlier lines stay.
    let ended = carried.and_then(|how| {
        setting.emit(Event::End(End { how: how.clone(), at: run::now() }))?;
        setting.log.sync()?;
        Ok(how)
    });
    let how = ended.map_err(|e| {
        let show = stored::command(store, &format!("show {name}"));
        anyhow!("the record of {name} can't be written: {e}; `{show}` shows what was saved")
    })?;
    let findings = stored::findings(store, &name)
        .map_err(|e| anyhow!("the record of {name} can't be read, measure again: {e}"))?;
    if how == How::Finished {
        stored::pack(store, &name, output);
    }
    let resume = stored::command(store, &format!("run {experiment} --resume {name}"));
    let without = how == How::TimeUp && findings.estimates.is_empty();
    if args.events {
        show.line(&serde_json::json!({ "event": "findings", "findings": findings }));
        if let Some(e) = show.incomplete() {
            let show = stored::command(store, &format!("show {name}"));
            return Err(anyhow!("the events can't be written: {e}; `{show}` shows the results"));
        }
    } else {
        output.note("");
        stored::show(store, &findings, (args.format, args.explain), output)?;
        // A command on a pool is begun anew: the log of the pool knows how far it came.
        if how != How::Finished && !without && !is_pool_command(&experiment) {
            output.command(&resume, Some("continues it"));
        }
    }
    // A gate that could not be measured is undecided.
    let failure = args.judged.map_or(ExitCode::FAILURE, |_| ExitCode::from(gate::UNDECIDED));
    Ok(match how {
        How::Failed(why) => {
            output.error(&anyhow!("{why}"), None);
            failure
        }
        // The flags say why.
        How::TimeUp if without => {
            let why = format!("no result: the time was up before there was one; `{resume}` continues it");
            output.error(&why, None);
            failure
        }
        How::Interrupted => ExitCode::from(signals.code().unwrap_or(1)),
        How::Finished | How::TimeUp => match args.judged {
            Some(purpose) => {
                let (sentences, code) = gate::judged(&findings, purpose);
                sentences.iter().for_each(|sentence| output.note(sentence));
                ExitCode::from(code)
            }
            None => ExitCode::SUCCESS,
        },
    })
}

/// Locks every drive of the plan, each once.
fn lock(
    plan: &Plan,
    wait: bool,
    store: &Store,
    cancel: &Cancel,
    output: &Output,
) -> Result<Vec<Lock>, LockError> {
    let locks = Locks::open(store.dir())?;
    let mut keys: Vec<(String, String)> = plan.targets.iter().flat_map(Target::lock_keys).collect();
    keys.sort();
    keys.dedup_by(|a, b| a.0 == b.0);
    let take = |(identity, label): &(String, String)| match locks.take(identity, label) {
        Err(busy @ LockError::Busy(_)) if wait => {
            output.note(&format!("{busy}; waiting for it."));
            locks.wait(identity, label, || cancel.is_set())
        }
        other => other,
    };
    keys.iter().map(take).collect()
}

/// The start of a run now, by this command line, without targets and host.
pub(super) fn start(run: String, experiment: &str, inventory: Inventory) -> Start {
    let args = std::env::args_os().skip(1).map(|a| shell_word(&a));
    Start {
        schema: SCHEMA,
        run,
        at: run::now(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: iter::once("drivebench".to_owned()).chain(args).collect(),
        experiment: experiment.to_owned(),
        targets: Vec::new(),
        host: Host::default(),
        inventory,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Kind;
    use crate::{
        experiments::{BAYS, Effort, Values},
        inventory::{Drive, fixtures},
    };

    #[test]
    fn a_plan_that_moves_drives_counts_the_moves() {
        let inventory = fixtures::pi_zero().inventory();
        let plan = |names: &[&str], max_bytes: u64| {
            let target = |name: &&str| Target {
                given: format!("/dev/{name}"),
                kind: Kind::BlockDevice,
                path: format!("/dev/{name}").into(),
                drives: inventory.drives.iter().filter(|d| d.name == *name).cloned().collect(),
                direct_alignment: 512,
                ..Target::default()
            };
            let targets = names.iter().map(target).collect();
            let ask = Request::new(&BAYS, targets, Values::default()).expect("no protocol");
            let effort = Effort { max_bytes, ..ask.effort };
            let ask = Request { effort, ..ask };
            BAYS.plan(&ask).expect("plans").describe()
        };
        insta::assert_snapshot!(
            [plan(&["sda", "sdb", "sdc", "sdd"], 3 << 30), plan(&["sda", "sdc"], 3 << 30)].join("----\n")
        );
    }

    fn target(path: &str, kind: Kind) -> Target {
        let drive = Drive {
            name: "sda".to_owned(),
            model: Some("WDC WD10JPVX".to_owned()),
            serial: Some("WX61".to_owned()),
            rotational: true,
            sectors: 1_953_525_168,
            ..Drive::default()
        };
        Target {
            given: path.to_owned(),
            kind,
            path: path.into(),
            size: (kind == Kind::BlockDevice).then(|| drive.bytes()),
            drives: vec![drive],
            free: Some(500_000_000_000),
            direct_alignment: 512,
            ..Target::default()
        }
    }

    fn shown(experiment: &str, kind: Kind, path: &str) -> String {
        use clap::Parser;
        let typed = ["drivebench", "run", experiment, "--plan", path];
        let super::super::args::Command::Run(run) = super::super::args::Args::parse_from(typed).command
        else {
            panic!("it runs")
        };
        let ask = Request::new(run.experiment, vec![target(path, kind)], run.values).expect("fits");
        run.experiment.plan(&ask).expect("plans").describe()
    }

    #[test]
    fn plans_of_single_experiments() {
        insta::assert_snapshot!(
            [shown("cliff", Kind::Directory, "/mnt/a"), shown("spinup", Kind::BlockDevice, "/dev/sda"),]
                .join("\n")
        );
    }
}
