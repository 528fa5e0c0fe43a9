//! How the record of an import is read: what other tools told, side by side with what drivebench measures.

use std::collections::BTreeMap;

use super::table_cells::{column, short};
use crate::{
    analyse::{Estimate, repeat},
    findings::{Carrier, Findings, Named, Origin, Table},
    record::{End, Event, How, Imported, Start, Told},
    units::{Caching, KIB, count, decimal_bytes, duration, rate, size},
};

/// The experiment that such records name.
pub const NAME: &str = "import";

/// One load on one target, with its repetitions where the file has some.
pub(super) struct Group<'a> {
    pub target: String,
    /// What it is called in estimates, unique on its target.
    pub name: String,
    pub loads: Vec<&'a Told>,
    pub estimate: Estimate,
}

/// What a load was measured on, as far as anyone says.
fn target(imported: &Imported, load: &Told) -> String {
    let said = imported.said.drive.as_ref().or(load.on.as_ref()).or(imported.drive.as_ref());
    said.cloned().unwrap_or_else(|| imported.file.clone())
}

/// Names of the targets, in the order of the file.
pub(super) fn targets(imported: &Imported) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in imported.loads.iter().map(|load| target(imported, load)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Loads with their repetitions, in the order of the file.
pub(super) fn groups(imported: &Imported) -> Vec<Group<'_>> {
    let mut groups: Vec<(String, Vec<&Told>)> = Vec::new();
    for load in &imported.loads {
        let on = target(imported, load);
        let same = |(target, loads): &&mut (String, Vec<&Told>)| {
            *target == on && load.same_as.is_some() && loads.iter().all(|l| l.same_as == load.same_as)
        };
        match groups.iter_mut().find(same) {
            Some((_, loads)) => loads.push(load),
            None => groups.push((on, vec![load])),
        }
    }
    let names = names(&groups);
    let named = groups.into_iter().zip(names);
    named.map(|((target, loads), name)| Group { target, name, estimate: estimate(&loads), loads }).collect()
}

/// What groups are called: by fio's name for their load, as drivebench's own loads are called. Where a target has more of
/// one name, it is left to the one that drivebench measures unasked, and the others say who told them, and if need be
/// how they differ.
fn names(groups: &[(String, Vec<&Told>)]) -> Vec<String> {
    let mut names = vec![String::new(); groups.len()];
    let mut rivals: BTreeMap<(&str, String), Vec<(usize, &Told)>> = BTreeMap::new();
    for (at, (target, loads)) in groups.iter().enumerate() {
        rivals.entry((target, loads[0].label())).or_default().push((at, loads[0]));
    }
    for ((_, label), mut rivals) in rivals {
        let usual = rivals.iter().filter(|(_, load)| usual(load)).count();
        if let Some(at) = rivals
            .iter()
            .position(|(_, load)| usual == 1 && self::usual(load))
            .or((rivals.len() == 1).then_some(0))
        {
            names[rivals.remove(at).0] = label.clone();
        }
        // Each way of naming that tells some of them apart; the last one counts.
        let ways: [fn(&Told) -> String; 2] = [by, in_full];
        let mut unnamed = rivals;
        for way in ways {
            let mut alike: BTreeMap<String, Vec<(usize, &Told)>> = BTreeMap::new();
            unnamed.drain(..).for_each(|(at, load)| alike.entry(way(load)).or_default().push((at, load)));
            for (name, of_it) in alike {
                match &of_it[..] {
                    [(at, _)] => names[*at] = format!("{label} ({name})"),
                    _ => unnamed.extend(of_it),
                }
            }
        }
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        unnamed.sort_by_key(|(at, _)| *at);
        for (at, load) in unnamed {
            let number = numbers.entry(by(load)).or_default();
            *number += 1;
            names[at] = format!("{label} ({}) #{number}", by(load));
        }
    }
    names
}

/// Whether it is what drivebench would have measured unasked.
fn usual(load: &Told) -> bool {
    let by_itself = !matches!(load.name.as_deref(), Some("rewrite" | "reread" | "cached reads"));
    let asked = (load.block, load.depth, load.jobs, load.caching);
    by_itself && asked == (Some(4 * KIB), Some(1), Some(1), Some(Caching::Direct))
}

/// The name of the job or test, or else of the tool.
fn by(load: &Told) -> String {
    load.name.clone().unwrap_or_else(|| load.tool.clone())
}

fn in_full(load: &Told) -> String {
    let caching = load.caching.map(|c| c.words().to_owned());
    let depth = load.depth.map(|d| format!("depth {d}"));
    let jobs = load.jobs.filter(|j| *j > 1).map(|j| format!("{j} jobs"));
    let differs = [load.block.map(size), depth, jobs, caching];
    [by(load)].into_iter().chain(differs.into_iter().flatten()).collect::<Vec<_>>().join(", ")
}

fn estimate(loads: &[&Told]) -> Estimate {
    let speeds: Vec<f64> = loads.iter().map(|l| l.speed).collect();
    let tool = loads.first().map(|l| l.tool.clone()).unwrap_or_default();
    match repeat::mean(&speeds).filter(|_| speeds.len() > 1) {
        Some(mean) => Estimate { how: format!("{}, as {tool} told", mean.how), ..mean },
        None => Estimate::unbounded(
            speeds.first().copied().unwrap_or_default(),
            &format!("as {tool} told, one run"),
        ),
    }
}

/// Percentiles that drivebench shows of its own loads.
const PERCENTILES: [(&str, f64); 3] = [("50th", 0.5), ("99th", 0.99), ("99.99th", 0.9999)];

fn latency(load: &Told, share: f64) -> Option<f64> {
    load.latencies.iter().find(|(of, _)| (of - share).abs() < 1e-9).map(|(_, seconds)| *seconds)
}

/// What a record of an import shows.
pub(super) fn findings(record: &mut dyn Iterator<Item = Event>) -> Findings {
    let (mut start, mut imported, mut end) = (None::<Start>, None::<Imported>, None::<End>);
    for event in record {
        match event {
            Event::Start(s) => start = Some(*s),
            Event::Imported(i) => imported = Some(*i),
            Event::End(e) => end = Some(e),
            _ => {}
        }
    }
    let mut findings = Findings {
        run: start.as_ref().map(|s| s.run.clone()).unwrap_or_default(),
        experiment: NAME.to_owned(),
        question: "what did another tool tell?".to_owned(),
        ..Findings::default()
    };
    let Some(imported) = imported else {
        findings.flags.push("Nothing was kept: the record ends before what was imported.".to_owned());
        return findings;
    };
    findings.origin = origin(&imported, start.as_ref(), end.as_ref());
    let groups = groups(&imported);
    let several = targets(&imported).len() > 1;
    findings.context = context(&imported, &groups, start.as_ref(), several);
    findings.tables =
        [Some(speeds(&groups, several)), latencies(&groups, several)].into_iter().flatten().collect();
    findings.verdicts = verdicts(&groups, several);
    findings.flags = flags(&imported, &groups);
    findings.estimates = groups.iter().flat_map(named).collect();
    findings
}

/// When it was measured, not when it was imported; and the drive by the name that it was given.
fn origin(imported: &Imported, start: Option<&Start>, end: Option<&End>) -> Origin {
    let drive = imported.said.drive.as_ref().or(imported.drive.as_ref());
    let carrier = |target: String| {
        Some(Carrier { target, drive: drive?.clone(), model: drive.cloned(), ..Carrier::default() })
    };
    Origin {
        at: imported.measured.clone().unwrap_or_default(),
        version: start.map(|s| s.version.clone()).unwrap_or_default(),
        ended: How::of(end).to_owned(),
        board: imported.said.board.clone().or_else(|| imported.board.clone()),
        lab: false,
        carriers: targets(imported).into_iter().filter_map(carrier).collect(),
    }
}

fn context(imported: &Imported, groups: &[Group<'_>], start: Option<&Start>, several: bool) -> Vec<String> {
    let or = |said: &Option<String>, told: &Option<String>, what: &str| match (said, told) {
        (Some(said), _) => format!("{what} {said}, said by hand"),
        (None, Some(told)) => format!("{what} {told}, as told"),
        (None, None) => format!("{what} unknown"),
    };
    let drive = if several && imported.drive.is_none() {
        "several targets".to_owned()
    } else {
        let on = imported.loads.first().and_then(|l| l.on.clone());
        or(&imported.said.drive, &imported.drive.clone().or(on), "drive")
    };
    let when = imported.measured.as_ref().map_or("when is unknown".to_owned(), |at| format!("measured {at}"));
    let mut lines = vec![
        format!("{}: output of {}, {}", imported.file, imported.tool, decimal_bytes(imported.bytes)),
        [drive, or(&imported.said.board, &imported.board, "board"), when].join(" · "),
    ];
    lines.extend(
        start.map(|s| format!("imported {} · drivebench {} · nothing was measured here", s.at, s.version)),
    );
    // As many as a page can bear; the rest is in the estimates.
    if groups.len() <= MOST_SENTENCES {
        let line = |group: &Group<'_>| {
            let load = group.loads[0];
            let on = load
                .on
                .as_ref()
                .filter(|on| **on != group.target)
                .map(|on| format!(", {on}"))
                .unwrap_or_default();
            format!("{}: {}{on}", group.name, load.describe())
        };
        lines.extend(groups.iter().map(line));
    }
    lines
}

/// More loads than this are told of together.
const MOST_SENTENCES: usize = 12;

fn heads(group: &Group<'_>, several: bool, run: Option<usize>) -> Vec<String> {
    // What remains of 80 columns beside the numbers.
    let most = if several { 20 } else { 34 };
    let run = run.map(|n| format!(" {n}")).unwrap_or_default();
    let mut name = group.name.clone() + &run;
    if name.chars().count() > most {
        name = format!("{}…{run}", name.chars().take(most - 1 - run.len()).collect::<String>());
    }
    several.then(|| short(&group.target)).into_iter().chain([name]).collect()
}

fn table(title: &str, several: bool, columns: &[(&str, bool)], rows: Vec<Vec<String>>) -> Table {
    let target = several.then_some(("target", false));
    let columns = target
        .iter()
        .chain(&[("", false)])
        .chain(columns)
        .map(|(name, right)| column(name, *right))
        .collect();
    Table { title: title.to_owned(), columns, rows }
}

fn speeds(groups: &[Group<'_>], several: bool) -> Table {
    let row = |group: &Group<'_>| {
        let sum = |of: fn(&Told) -> Option<f64>| group.loads.iter().map(|l| of(l)).sum::<Option<f64>>();
        let e = &group.estimate;
        let interval = match e.high.is_finite() {
            true => format!("{}–{}", rate(e.low).trim_end_matches(" MB/s"), rate(e.high)),
            false => "none".to_owned(),
        };
        let bytes = sum(|l| l.bytes.map(|b| b as f64)).map(|b| decimal_bytes(b as u64));
        let cells = [Some(rate(e.value)), Some(interval), bytes, sum(|l| l.seconds).map(duration)];
        let cells = cells.map(|c| c.unwrap_or_else(|| "unknown".to_owned()));
        heads(group, several, None).into_iter().chain(cells).collect()
    };
    let columns = [("speed", true), ("95 % interval", false), ("moved", true), ("time", true)];
    table("", several, &columns, groups.iter().map(row).collect())
}

fn latencies(groups: &[Group<'_>], several: bool) -> Option<Table> {
    let rows: Vec<Vec<String>> = groups
        .iter()
        .flat_map(|group| group.loads.iter().enumerate().map(move |(n, load)| (group, n, load)))
        .filter(|(_, _, load)| !load.latencies.is_empty())
        .map(|(group, n, load)| {
            let mut cells = heads(group, several, (group.loads.len() > 1).then_some(n + 1));
            let cell = |share| latency(load, share).map_or("unknown".to_owned(), duration);
            cells.extend(PERCENTILES.map(|(_, share)| cell(share)));
            cells
        })
        .collect();
    let columns = PERCENTILES.map(|(name, _)| (name, true));
    (!rows.is_empty()).then(|| table("latency of one operation, as told", several, &columns, rows))
}

fn verdicts(groups: &[Group<'_>], several: bool) -> Vec<String> {
    let alone = groups.iter().filter(|g| g.loads.len() == 1).count() as u64;
    if groups.len() > MOST_SENTENCES {
        let all = groups.len() as u64;
        return vec![format!(
            "{}, as told; {alone} of them once only, so without interval.",
            count(all, "load")
        )];
    }
    let one = |group: &Group<'_>| {
        let (load, e) = (group.loads[0], &group.estimate);
        let on = if several { format!("{}, ", group.target) } else { String::new() };
        let (name, tool, speed) = (&group.name, &load.tool, rate(e.value));
        let iops = load.iops.map(|iops| format!(", {iops:.0} operations a second,")).unwrap_or_default();
        match group.loads.len() as u64 {
            1 => format!("{on}{name}: {speed}{iops} as {tool} told; one run, so no interval."),
            n => {
                let (low, high, runs) = (rate(e.low), rate(e.high), count(n, "run"));
                format!("{on}{name}: {speed} (95 %: {low} to {high}) over {runs} that {tool} told of.")
            }
        }
    };
    groups.iter().map(one).collect()
}

fn flags(imported: &Imported, groups: &[Group<'_>]) -> Vec<String> {
    let mut flags = vec![
        "Imported, not measured: what the drive, the machine and others on it did meanwhile is not known, nor whether \
         the load had settled."
            .to_owned(),
    ];
    let mut unknown: Vec<(String, Vec<String>)> = Vec::new();
    for group in groups {
        let what = group.loads[0].unknown().join(", ");
        match unknown.iter_mut().find(|(same, _)| *same == what) {
            _ if what.is_empty() => {}
            Some((_, names)) => names.push(group.name.clone()),
            None => unknown.push((what, vec![group.name.clone()])),
        }
    }
    for (what, names) in unknown {
        let of = if names.len() > 4 {
            count(names.len() as u64, "load")
        } else {
            format!("'{}'", names.join("', '"))
        };
        flags.push(format!("Unknown of {of}: {what}."));
    }
    if imported.loads.iter().any(|l| l.direction.is_none()) {
        flags.push("Import it with --rw read or --rw write where you know which it was.".to_owned());
    }
    if groups.iter().any(|g| g.loads.len() > 1) {
        flags.push("Runs one after the other tell how far they differ, nothing of another day.".to_owned());
    }
    flags.extend(imported.notes.iter().cloned());
    if imported.left > 0 {
        flags.push(format!("Left alone: {} of the file without a result.", count(imported.left, "line")));
    }
    flags
}

fn named(group: &Group<'_>) -> Vec<Named> {
    let name = |what: &str, unit: &str, estimate: Estimate| Named {
        target: group.target.clone(),
        name: format!("{} {what}", group.name),
        unit: unit.to_owned(),
        estimate,
        bytes: None,
    };
    let mut all = vec![name("throughput", "B/s", group.estimate.clone())];
    for (n, load) in group.loads.iter().enumerate() {
        let of = if group.loads.len() > 1 { format!(", run {}", n + 1) } else { String::new() };
        if group.loads.len() > 1 {
            all.push(name(&format!("throughput{of}"), "B/s", estimate(&[load])));
        }
        for (label, share) in PERCENTILES {
            let told = latency(load, share);
            let estimate = told.map(|s| Estimate::unbounded(s, &format!("as {} told, one run", load.tool)));
            all.extend(estimate.map(|e| name(&format!("latency {label}{of}"), "s", e)));
        }
    }
    all
}
