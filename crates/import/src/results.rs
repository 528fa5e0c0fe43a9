//! Findings of an import: results of other tools in the form of drivebench's own.

use super::groups::{Group, estimate, groups, target};
use crate::{
    analyse::Estimate,
    findings::{Carrier, CarrierDrive, Column, Findings, Metric, Origin, Quantity, Table, short},
    record::{Event, Imported, ImportedLoad, Run, Start},
    units::{Percentile, count, decimal_bytes, distinct, duration, rate, shortened},
};

pub const EXPERIMENT: &str = "import";

/// Names of the targets, in the order of the file.
fn targets(imported: &Imported) -> Vec<String> {
    distinct(imported.loads.iter().map(|load| target(imported, load)))
}

fn latency(load: &ImportedLoad, percentile: Percentile) -> Option<f64> {
    load.latencies.iter().find(|(of, _)| (of - percentile.share()).abs() < 1e-9).map(|(_, seconds)| *seconds)
}

pub fn findings(record: &mut dyn Iterator<Item = Event>) -> Findings {
    let run = Run::of(record);
    let mut findings = Findings {
        run: run.start.as_ref().map(|s| s.run.clone()).unwrap_or_default(),
        experiment: EXPERIMENT.to_owned(),
        question: "what did another tool measure?".to_owned(),
        ..Findings::default()
    };
    let Some(imported) = &run.imported else {
        findings.flags.push("Nothing was imported: the record ends before its results.".to_owned());
        return findings;
    };
    findings.origin = origin(imported, &run);
    let groups = groups(imported);
    let several = targets(imported).len() > 1;
    findings.context = context(imported, &groups, run.start.as_ref(), several);
    findings.tables =
        [Some(speeds(&groups, several)), latencies(&groups, several)].into_iter().flatten().collect();
    findings.verdicts = verdicts(&groups, several);
    findings.flags = flags(imported, &groups);
    let of_a_drive = groups.iter().filter(|group| group.loads.iter().all(|load| !load.limited));
    findings.estimates = of_a_drive.flat_map(metrics).collect();
    findings
}

/// When it was measured, not when it was imported; and the drive by the name that it was given.
fn origin(imported: &Imported, run: &Run<()>) -> Origin {
    let name = imported.options.drive.clone().or(imported.drive.clone());
    let drive = name.map(|identity| CarrierDrive {
        model: Some(identity.clone()),
        identity,
        ..CarrierDrive::default()
    });
    let carrier = |target: String| Carrier {
        names: vec![target.clone()],
        describe: format!("reported by {}, {target}", imported.tool),
        drives: drive.clone().into_iter().collect(),
        target,
        ..Carrier::default()
    };
    Origin {
        at: imported.measured.clone().unwrap_or_default(),
        version: run.start.as_ref().map(|s| s.version.clone()).unwrap_or_default(),
        ended: run.status(),
        board: imported.options.board.clone().or_else(|| imported.board.clone()),
        carriers: targets(imported).into_iter().map(carrier).collect(),
        ..Origin::default()
    }
}

fn context(imported: &Imported, groups: &[Group<'_>], start: Option<&Start>, several: bool) -> Vec<String> {
    let or = |given: &Option<String>, reported: &Option<String>, what: &str| match (given, reported) {
        (Some(given), _) => format!("{what} {given} (given with --{what})"),
        (None, Some(reported)) => format!("{what} {reported}"),
        (None, None) => format!("{what} unknown"),
    };
    let drive = if several && imported.drive.is_none() {
        "several targets".to_owned()
    } else {
        let on = imported.loads.first().and_then(|l| l.on.clone());
        or(&imported.options.drive, &imported.drive.clone().or(on), "drive")
    };
    let when = imported.measured.as_ref().map_or("when is unknown".to_owned(), |at| format!("measured {at}"));
    let mut lines = vec![
        format!("{}: output of {}, {}", imported.file, imported.tool, decimal_bytes(imported.bytes)),
        [drive, or(&imported.options.board, &imported.board, "board"), when].join(" · "),
    ];
    let here = "nothing was measured here";
    lines.extend(start.map(|s| format!("imported {} · drivebench {} · {here}", s.at, s.version)));
    // As many as a page can bear; the rest is in the estimates.
    if groups.len() <= MOST_SENTENCES {
        let line = |group: &Group<'_>| {
            let on = group.loads[0].on.as_ref().filter(|on| **on != group.target);
            let on = on.map(|on| format!(", {on}")).unwrap_or_default();
            format!("{}: {}{on}", group.load.name, group.load.describe())
        };
        lines.extend(groups.iter().map(line));
    }
    lines
}

/// The most loads with a sentence each; more are summed up.
const MOST_SENTENCES: usize = 12;

fn heads(group: &Group<'_>, several: bool, run: Option<usize>) -> Vec<String> {
    // What remains of 80 columns beside the numbers.
    let most = if several { 20 } else { 34 };
    let run = run.map(|n| format!(" {n}")).unwrap_or_default();
    let name = shortened(&group.load.name, most - run.len()) + &run;
    several.then(|| short(&group.target)).into_iter().chain([name]).collect()
}

fn table(title: &str, several: bool, columns: &[(&str, bool)], rows: Vec<Vec<String>>) -> Table {
    let mut heads = Column::heads(several);
    heads.extend(columns.iter().map(|(name, right)| Column::new(name, *right)));
    Table { title: title.to_owned(), columns: heads, rows }
}

fn speeds(groups: &[Group<'_>], several: bool) -> Table {
    let row = |group: &Group<'_>| {
        let sum =
            |of: fn(&ImportedLoad) -> Option<f64>| group.loads.iter().map(|l| of(l)).sum::<Option<f64>>();
        let e = &group.estimate;
        let interval = if e.high.is_finite() { e.range(rate) } else { "none".to_owned() };
        let bytes = sum(|l| l.bytes.map(|b| b as f64)).map(|b| decimal_bytes(b as u64));
        let cells = [Some(rate(e.value)), Some(interval), bytes, sum(|l| l.seconds).map(duration)];
        let cells = cells.map(|c| c.unwrap_or_else(|| "unknown".to_owned()));
        heads(group, several, None).into_iter().chain(cells).collect()
    };
    let columns = [("speed", true), ("95 % interval", false), ("moved", true), ("time", true)];
    table("", several, &columns, groups.iter().map(row).collect())
}

fn latencies(groups: &[Group<'_>], several: bool) -> Option<Table> {
    let mut rows = Vec::new();
    for group in groups {
        for (n, load) in (1..).zip(&group.loads).filter(|(_, load)| !load.latencies.is_empty()) {
            let mut cells = heads(group, several, (group.loads.len() > 1).then_some(n));
            let cell = |of| latency(load, of).map_or("unknown".to_owned(), duration);
            cells.extend(Percentile::SHOWN.map(cell));
            rows.push(cells);
        }
    }
    let names = Percentile::SHOWN.map(Percentile::name);
    let columns: Vec<(&str, bool)> = names.iter().map(|name| (name.as_str(), true)).collect();
    (!rows.is_empty()).then(|| table("latency of one operation", several, &columns, rows))
}

fn verdicts(groups: &[Group<'_>], several: bool) -> Vec<String> {
    let alone = groups.iter().filter(|g| g.loads.len() == 1).count() as u64;
    if groups.len() > MOST_SENTENCES {
        let all = count(groups.len() as u64, "load");
        return vec![format!("{all}; {alone} of them have one run, so no interval.")];
    }
    let one = |group: &Group<'_>| {
        let (load, e) = (group.loads[0], &group.estimate);
        let on = if several { format!("{}, ", group.target) } else { String::new() };
        let (name, tool, speed) = (&group.load.name, &load.tool, rate(e.value));
        let iops = load.iops.map(|iops| format!(", {iops:.0} operations a second,")).unwrap_or_default();
        if group.loads.len() == 1 {
            return format!("{on}{name}: {speed}{iops} reported by {tool}; one run, so no interval.");
        }
        let (speed, runs) = (e.sentence(rate, ""), count(group.loads.len() as u64, "run"));
        format!("{on}{name}: {speed} over {runs}, reported by {tool}.")
    };
    groups.iter().map(one).collect()
}

fn flags(imported: &Imported, groups: &[Group<'_>]) -> Vec<String> {
    let mut flags = vec![
        "Imported, not measured: the conditions on the drive and the machine are unknown, and so is whether the load had \
         settled."
            .to_owned(),
    ];
    let mut unknown: Vec<(String, Vec<String>)> = Vec::new();
    for group in groups {
        let what = group.load.unknown().join(", ");
        match unknown.iter_mut().find(|(same, _)| *same == what) {
            _ if what.is_empty() => {}
            Some((_, names)) => names.push(group.load.name.clone()),
            None => unknown.push((what, vec![group.load.name.clone()])),
        }
    }
    for (what, names) in unknown {
        let of = match names.len() {
            1..=4 => format!("'{}'", names.join("', '")),
            n => count(n as u64, "load"),
        };
        flags.push(format!("Unknown for {of}: {what}."));
    }
    if imported.loads.iter().any(|l| l.direction.is_none()) {
        flags.push("If you know the direction, import it with --rw read or --rw write.".to_owned());
    }
    if groups.iter().any(|g| g.loads.len() > 1) {
        flags.push("Consecutive runs show how far they differ, not how far days differ.".to_owned());
    }
    flags.extend(imported.notes.iter().cloned());
    if imported.skipped_lines > 0 {
        flags.push(format!("Ignored: {} without a result.", count(imported.skipped_lines, "line")));
    }
    flags
}

fn metrics(group: &Group<'_>) -> Vec<Metric> {
    let metric = |quantity, estimate| Metric::new(&group.target, quantity, estimate).of(&group.load);
    let several = group.loads.len() > 1;
    let mut all = vec![metric(Quantity::Throughput, group.estimate.clone())];
    for (n, load) in (1..).zip(&group.loads) {
        let metric = |quantity, e| Metric { repetition: several.then_some(n), ..metric(quantity, e) };
        all.extend(several.then(|| metric(Quantity::Throughput, estimate(&[load]))));
        for of in Percentile::SHOWN {
            let reported = latency(load, of);
            let estimate =
                reported.map(|s| Estimate::unbounded(s, &format!("as {} reported, one run", load.tool)));
            all.extend(estimate.map(|e| metric(Quantity::Latency(of), e)));
        }
    }
    all
}
