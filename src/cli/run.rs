//! `drivebench run`: plan, show, measure, report.

use std::{path::PathBuf, process::ExitCode};

use super::{
    Output, Usage,
    args::{Options, Run},
    bay,
    progress::Show,
    results,
    signals::Signals,
};
use crate::{
    analyse::Rules,
    experiments::{Ask, Effort, Experiment, Own},
    inventory::{Inventory, Kind, Sysroot, Target},
    plan::{Plan, Protocol, Rule, Step},
    record::{End, Event, How, SCHEMA, Start, Store},
    report::{Format, render},
    run::{self, Lock, Setting},
    units::{Caching, MIB, aim, decimal_bytes, duration, size},
};

pub(super) fn run(args: &Run, store: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let Run { experiment, options: args } = args;
    let store = results::store(store)?;
    let sysroot = Sysroot::live();
    let inventory = bay::here(output);
    let resolve = |given: &String| Target::resolve(&inventory, given);
    let targets = args.targets.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
    let ask = ask(args, targets, *experiment)?;
    let plan = experiment.plan(&ask)?;
    let before = describe(&plan);
    if args.plan {
        let text = match Format::from(args.format) {
            Format::Json => serde_json::to_string_pretty(&plan)? + "\n",
            _ => before,
        };
        output.result(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    carry_out(args, *experiment, plan, (inventory, &sysroot), &store, output, &before)
}

fn carry_out(
    args: &Options,
    experiment: &dyn Experiment,
    plan: Plan,
    (inventory, sysroot): (Inventory, &Sysroot),
    store: &Store,
    output: &Output,
    before: &str,
) -> anyhow::Result<ExitCode> {
    let signals = Signals::listen()?;
    let cancel = signals.cancel();
    let locks = lock(&plan, args.wait, &cancel, output);
    if let (Err(_), Some(code)) = (&locks, signals.code()) {
        return Ok(ExitCode::from(code));
    }
    let _locks = locks?;
    // Now that no other run can be at work there.
    for target in plan.targets.iter().filter(|t| t.kind == Kind::Directory) {
        output.swept(run::sweep_directory(&target.path));
    }
    let begin = |run: String| Start {
        schema: SCHEMA,
        run,
        at: run::now(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: command(),
        experiment: experiment.name().to_owned(),
        targets: plan.targets.iter().map(|t| format!("{} ({})", t.path.display(), t.label())).collect(),
        inventory: inventory.clone(),
    };
    let (name, mut writer) = store.create(begin)?;
    if !args.events {
        before.lines().for_each(|line| output.note(line));
    }
    let mut show = Show::new(output, &plan, args.events);
    let mut setting = Setting {
        inventory: &inventory,
        sysroot,
        run: &name,
        store: store.dir(),
        writer: &mut writer,
        watcher: &mut show,
        cancel: &cancel,
    };
    let carried =
        setting.emit(Event::Plan { plan: plan.clone() }).and_then(|()| run::execute(&plan, &mut setting));
    let how = match carried {
        Ok(how) => how,
        // Without a record there is no end to write either; what was written before is all there is.
        Err(e) => anyhow::bail!(
            "the record of {name} can't be written on: {e}; `drivebench results show {name}` shows what was kept"
        ),
    };
    let end = Event::End(End { how: how.clone(), at: run::now() });
    setting.emit(end)?;
    setting.writer.sync()?;
    let code = match &how {
        How::Finished => ExitCode::SUCCESS,
        How::Interrupted => ExitCode::from(signals.code().unwrap_or(1)),
        How::Failed(_) => ExitCode::FAILURE,
    };
    let findings = results::findings(store, &name)?;
    if how == How::Finished {
        if let Err(e) = store.pack(&name) {
            output.note(&format!("The record stays as it is, unpacked: {e}."));
        }
    }
    let shown = if args.events {
        show.line(&serde_json::json!({ "event": "findings", "findings": findings }));
        Ok(())
    } else {
        output.note("");
        output.result(&render(&findings, Format::from(args.format), output.style))
    };
    // A reader that has seen enough, as `| head` has, doesn't change how the run went.
    shown.or_else(|e| if e.kind() == std::io::ErrorKind::BrokenPipe { Ok(()) } else { Err(e) })?;
    if !args.events {
        output.note(&format!("Kept as {name} · `drivebench results show {name}` shows it again."));
    }
    if let How::Failed(why) = how {
        output.error(&anyhow::anyhow!("{why}"), None);
    }
    Ok(code)
}

fn ask(args: &Options, targets: Vec<Target>, experiment: &dyn Experiment) -> anyhow::Result<Ask> {
    let loads = args.rw.clone();
    if let Some(twice) =
        loads.iter().flatten().enumerate().find(|(at, l)| loads.iter().flatten().take(*at).any(|o| o == *l))
    {
        return Err(Usage(format!("--rw names '{}' twice", twice.1.name())).into());
    }
    let protocol = args.protocol.as_deref().map(Protocol::find).transpose()?;
    let (rules, minutes) = match (args.quick, args.thorough) {
        (true, _) => (Rules::quick(), 10.0),
        (_, true) => (Rules::thorough(), 120.0),
        _ => (Rules::standard(), 30.0),
    };
    // No drive holds more than 2^60 bytes, and sums of less don't overflow.
    let max_bytes =
        args.max_bytes.or(experiment.max_bytes()).unwrap_or(rules.budget as u64 * MIB).min(1 << 60);
    let rules = Rules {
        precision: args.precision.unwrap_or(rules.precision),
        budget: max_bytes.div_ceil(MIB) as usize,
        ..rules
    };
    let effort =
        Effort { max_bytes, max_seconds: args.max_time.map_or(minutes * 60.0, |t| t.as_secs_f64()), rules };
    Ok(Ask {
        targets,
        loads,
        block: args.bs.unwrap_or(experiment.block()),
        depth: args.iodepth.unwrap_or(1),
        caching: args.caching.map_or(Caching::Direct, Caching::from),
        read_percent: args.rwmixread.unwrap_or(50),
        verify: args.verify,
        seed: args.seed.unwrap_or(1),
        engine: args.engine.map(|e| e.name().to_owned()),
        effort,
        protocol,
        own: Own {
            runs: args.runs,
            files: args.files,
            size: args.size,
            largest: args.largest,
            pause: args.pause.map(|time| time.as_secs_f64()),
        },
    })
}

/// Claims every drive of the plan for measuring, each once.
fn lock(
    plan: &Plan,
    wait: bool,
    cancel: &crate::engine::Cancel,
    output: &Output,
) -> anyhow::Result<Vec<Lock>> {
    let mut keys: Vec<(String, String)> = plan.targets.iter().flat_map(Target::lock_keys).collect();
    keys.sort();
    keys.dedup_by(|a, b| a.0 == b.0);
    let take = |(identity, label): &(String, String)| match Lock::take(identity, label) {
        Err(busy) if wait => {
            output.note(&format!("{busy}; waiting for it."));
            Lock::wait(identity, label, || cancel.is_set())
        }
        other => other,
    };
    Ok(keys.iter().map(take).collect::<Result<_, _>>()?)
}

/// The command line, so that it can be typed again.
fn command() -> Vec<String> {
    let quote = |arg: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
        if !arg.is_empty() && arg.chars().all(plain) {
            arg
        } else {
            format!("'{}'", arg.replace('\'', "'\\''"))
        }
    };
    let args = std::env::args_os().skip(1).map(|a| quote(a.to_string_lossy().into_owned()));
    std::iter::once("drivebench".to_owned()).chain(args).collect()
}

/// What will be done, to which drive, and what it costs at most.
fn describe(plan: &Plan) -> String {
    let mut lines = Vec::new();
    for (at, target) in plan.targets.iter().enumerate() {
        lines.push(target.describe());
        for step in &plan.steps {
            let m = match step {
                Step::Measure(m) if m.targets.contains(&at) && m.repetition == 1 => m,
                Step::Errand(e) if e.target == at && e.repetition == 1 => {
                    let same = plan.errands().filter(|(_, o)| o.label == e.label && o.target == at);
                    let times = match same.count() {
                        0 | 1 => String::new(),
                        n => format!(", {n} times"),
                    };
                    lines.push(format!("  {}: {}{times}", e.label, e.task.describe()));
                    continue;
                }
                _ => continue,
            };
            let runs = plan.measures().filter(|(_, o)| o.label == m.label && o.targets.contains(&at)).count();
            let until = match &m.rule {
                Rule::Fixed { bytes, .. } if runs > 1 => format!("{}, {runs} runs", size(*bytes)),
                Rule::Fixed { bytes, .. } => size(*bytes),
                Rule::Adaptive { rules, .. } if rules.w_min == Rules::UNTIL_CLIFF => {
                    "until it slows down for good".to_owned()
                }
                Rule::Again { .. } => "if it slowed down".to_owned(),
                Rule::Adaptive { rules, .. } => {
                    format!("until ±{} is sure", aim(rules.precision))
                }
                Rule::Zones { .. } => "at 17 to 65 positions".to_owned(),
            };
            lines.push(format!("  {}: {}, {until}", m.label, m.load.describe()));
        }
        let cost = plan.cost(at);
        let written = if cost.written > 0 {
            format!("at most {} written", decimal_bytes(cost.written))
        } else {
            "nothing written".to_owned()
        };
        let time = match cost.seconds {
            Some(seconds) => format!("at most {}", duration(seconds)),
            None => "as long as it takes".to_owned(),
        };
        lines.push(format!("  {written} · {time} · nothing erased"));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Drive;

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
            layers: Vec::new(),
            mount: None,
            free: Some(500_000_000_000),
            capacity: None,
            read_only: None,
            uses: Vec::new(),
            direct_alignment: 512,
        }
    }

    fn shown(experiment: &str, kind: Kind, path: &str) -> String {
        use clap::Parser;
        let typed = ["drivebench", "run", experiment, "--plan", path];
        let super::super::args::Command::Run(run) = super::super::args::Args::parse_from(typed).command
        else {
            panic!("it runs")
        };
        let ask = ask(&run.options, vec![target(path, kind)], run.experiment).expect("fits");
        describe(&run.experiment.plan(&ask).expect("plans"))
    }

    #[test]
    fn plans_of_single_experiments() {
        insta::assert_snapshot!(
            [
                shown("cliff", Kind::Directory, "/mnt/a"),
                shown("cliff", Kind::BlockDevice, "/dev/sda"),
                shown("spinup", Kind::BlockDevice, "/dev/sda"),
            ]
            .join("\n")
        );
    }
}
