//! The first part of all findings: what was measured, on what and how, and the flags.

use std::collections::BTreeSet;

use super::Series;
use crate::{
    findings::{Carrier, CarrierDrive, Findings, On, Origin, Spent},
    inventory::Drive,
    plan::{FileWork, Plan, Rule},
    record::{Event, How, Run},
    target::{Kind, Target},
    units::{Ended, EngineInfo, RunStatus, count, decimal_bytes, distinct, listed},
};

pub(in super::super) fn read(record: &mut dyn Iterator<Item = Event>) -> Run<Series> {
    Run::read(record, |_, _, measure| Series::new(measure))
}

/// What was measured, on what and how, and the flags; `results` adds the rest from the plan.
pub(in super::super) fn findings<T>(
    mut run: Run<T>,
    results: impl FnOnce(&mut Findings, &mut Run<T>, &Plan),
) -> Findings {
    let mut flags: Vec<String> = run.flags.iter().map(|flag| flag.text.clone()).collect();
    flags.dedup();
    flags.extend(match run.end.as_ref().map(|end| &end.how) {
        Some(How::Interrupted) => Some("Interrupted: the rest of the plan was not measured.".to_owned()),
        Some(How::Failed(why)) => {
            Some(format!("It failed, and the rest of the plan was not measured: {why}"))
        }
        _ => None,
    });
    let command = run.start.iter().filter(|_| run.plan.is_some()).map(|s| s.command.join(" "));
    let mut findings = Findings {
        run: run.start.as_ref().map(|s| s.run.clone()).unwrap_or_default(),
        modelled: is_modelled(&run),
        flags,
        reproduce: command.chain(again(&run)).collect(),
        origin: origin(&run),
        ..Findings::default()
    };
    let Some(plan) = run.plan.take() else {
        findings.flags.push("Nothing was measured: the record ends before its plan.".to_owned());
        return findings;
    };
    findings.context = context(&plan);
    findings.conditions = conditions(&run, &plan);
    findings.spent = Some(spent(&run, &plan));
    let cuts = plan.cuts.iter().filter_map(|cut| Some((plan.targets.get(cut.target as usize)?, cut)));
    let said = cuts.map(|(target, cut)| format!("{}: the file was {}.", target.given, cut.describe()));
    findings.flags.extend(said);
    findings.cut = cut(&run, &plan);
    results(&mut findings, &mut run, &plan);
    findings
}

/// What was measured. Where pools were built, each drive comes once, and then what was built of all of them.
fn context(plan: &Plan) -> Vec<String> {
    let (mut lines, mut layouts, mut most) = (Vec::new(), Vec::new(), 0);
    for (at, target) in plan.targets.iter().enumerate() {
        let Some(build) = plan.build(at) else {
            lines.push(target.describe());
            continue;
        };
        let drive = |drive: &Drive| format!("{}, {}", drive.label(), decimal_bytes(drive.bytes()));
        lines.extend(target.drives.iter().map(drive));
        if target.drives.len() > 1 {
            layouts.push(build.layout.to_string());
            most = most.max(target.drives.len() as u64);
        }
    }
    let mut lines = distinct(lines);
    lines.extend(
        (most > 0).then(|| format!("{} of these {}", listed(&distinct(layouts)), count(most, "drive"))),
    );
    lines
}

/// The loads that did not end as planned; of an unfinished run also all that has no load.
fn cut<T>(run: &Run<T>, plan: &Plan) -> Vec<(String, Option<String>)> {
    let unfinished = run.status() != RunStatus::Finished;
    let loads = run.steps.values().flat_map(|step| step.loads.iter().map(move |(at, load)| (at, step, load)));
    let early = loads.filter(|(.., load)| !load.ended().is_some_and(Ended::is_whole));
    let early = early.filter_map(|(at, step, _)| {
        Some((plan.targets.get(*at)?.given.clone(), Some(step.measure.label.clone())))
    });
    let rest = plan.targets.iter().filter(|_| unfinished).map(|target| (target.given.clone(), None));
    early.chain(rest).collect()
}

/// The fio command of each load, from its first repetition.
fn again<T>(run: &Run<T>) -> Vec<String> {
    let mut known = BTreeSet::new();
    let loads =
        run.steps.values().flat_map(|s| s.loads.iter().map(|(at, load)| (&s.measure.label, at, load)));
    let lines = loads.filter_map(|(label, at, load)| {
        let line = load.again.clone()?;
        known.insert((label, at)).then_some(line)
    });
    lines.collect()
}

fn origin<T>(run: &Run<T>) -> Origin {
    let Some(start) = &run.start else { return Origin::default() };
    let targets = run.plan.iter().flat_map(|plan| &plan.targets).enumerate();
    let measured = run.plan.iter().flat_map(|plan| run.steps.keys().filter_map(|id| plan.measure(*id)));
    let rounds = measured.filter(|m| matches!(m.rule, Rule::Round { .. })).map(|m| m.repetition);
    Origin {
        rounds: rounds.max(),
        quick: start.command.iter().any(|word| word == "--quick"),
        at: start.at.clone(),
        version: start.version.clone(),
        ended: run.status(),
        board: start.inventory.machine.board.clone(),
        host_name: start.host.name.clone(),
        machine_id: start.host.machine_id.clone(),
        kernel: start.inventory.machine.kernel.clone(),
        lab: start.inventory.machine.lab.clone(),
        suite: run.plan.as_ref().and_then(|plan| plan.suite.clone()),
        carriers: targets
            .map(|(at, target)| {
                let other_io = run.flags.iter().any(|flag| flag.other_io && flag.conditions_of == Some(at));
                let indirect = target.is_indirect(&start.inventory);
                Carrier { other_io, indirect, ..carrier(target) }
            })
            .collect(),
    }
}

/// The time under load and the bytes moved. Loads of one step run at the same time.
fn spent<T>(run: &Run<T>, plan: &Plan) -> Spent {
    let mut spent = Spent::default();
    for step in run.steps.values() {
        let outcomes = || step.loads.values().filter_map(|load| load.outcome.as_ref());
        spent.seconds += outcomes().map(|o| o.seconds).fold(0.0, f64::max);
        // A record may be damaged or edited.
        spent.read = outcomes().map(|o| o.bytes_read).fold(spent.read, u64::saturating_add);
        spent.written = outcomes().map(|o| o.bytes_written).fold(spent.written, u64::saturating_add);
    }
    let copies = plan.files().flat_map(|(step, files)| step.targets().map(move |at| (step, files, at)));
    for (step, files, at) in copies {
        let Some(act) = run.acts.get(&(step.id, at)) else { continue };
        spent.seconds += act.seconds;
        let of = if files.work == FileWork::Read { &mut spent.read } else { &mut spent.written };
        *of = of.saturating_add(act.bytes);
    }
    let used = plan.steps.iter().filter(|step| step.act.is_work());
    for act in used.flat_map(|step| step.targets().filter_map(|at| run.acts.get(&(step.id, at)))) {
        spent.seconds += act.seconds;
        spent.written = spent.written.saturating_add(act.bytes);
        let (read, written) = act.observed.as_ref().map_or((0, 0), |observed| observed.moved());
        spent.read = spent.read.saturating_add(read);
        spent.written = spent.written.saturating_add(written);
    }
    spent
}

/// Whether its drives are modelled, in this process or in the lab's virtual machine.
fn is_modelled<T>(run: &Run<T>) -> bool {
    let in_lab = run.start.as_ref().is_some_and(|start| start.inventory.machine.lab.is_some());
    in_lab || run.engines.iter().any(|engine| engine.modelled)
}

fn conditions<T>(run: &Run<T>, plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> = plan.suite.iter().map(|suite| format!("suite {suite}")).collect();
    let engine = |e: &EngineInfo| match &e.detail {
        Some(detail) => format!("engine {} ({detail})", e.name),
        None => format!("engine {}", e.name),
    };
    let mut with: Vec<String> = run.engines.iter().map(engine).collect();
    if let Some(start) = &run.start {
        let machine = &start.inventory.machine;
        with.push(format!("drivebench {}", start.version));
        with.extend(machine.linux());
        with.extend(machine.board.clone());
        with.push(start.at.clone());
    }
    if is_modelled(run) {
        with.push("virtual: a model, not a drive".to_owned());
    }
    lines.push(with.join(" · "));
    lines
}

fn carrier(target: &Target) -> Carrier {
    let drive = |drive: &Drive| CarrierDrive {
        identity: drive.identity(),
        vendor: drive.vendor.clone(),
        model: drive.model.clone(),
        serial: drive.serial.clone(),
        bytes: Some(drive.bytes()),
        bay: drive.bay.clone(),
        full_bay: drive.full_bay(),
        bus: drive.bus.clone(),
        firmware: drive.firmware.clone(),
        link_mbps: drive.link_mbps.map(|mbps| mbps as u64),
    };
    let serials = target.drives.iter().filter_map(|d| d.serial.clone());
    let identities = target.drives.iter().map(Drive::identity);
    let names = [target.given.clone(), target.path.display().to_string()];
    Carrier {
        target: target.given.clone(),
        names: names.into_iter().chain(serials).chain(identities).collect(),
        describe: target.describe(),
        on: Some(on(target)),
        drives: target.drives.iter().map(drive).collect(),
        filesystem: target.mount.as_ref().map(|mount| mount.filesystem.clone()),
        layers: target.layers.clone(),
        pool: target.pool.clone(),
        indirect: false,
        other_io: false,
    }
}

/// Whether loads on a target work in a file or on the bare device.
pub(in super::super) fn on(target: &Target) -> On {
    match target.kind {
        Kind::Directory => On::Directory,
        Kind::File => On::File,
        Kind::BlockDevice => On::Device,
    }
}
