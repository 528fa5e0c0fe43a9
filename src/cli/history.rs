//! `drivebench history`: the runs of each drive over time, and how the speed of each load changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde::Serialize;

use super::{
    args::{History, ListFormat},
    check,
    digest::{self, Conditions, Digest, DriveRun, Speed},
    output::Output,
    pool,
    results::{day, short_date},
    stored,
};
use crate::{
    analyse::{ChangePoint, Estimate, change_point},
    findings::{Column, Table},
    inventory::Drive,
    record::{Store, Summary},
    report::{self, Style},
    run,
    units::{Direction, Pattern, percent, rate, shortened},
};

/// The heads of the table of runs.
pub(super) const HEADS: [&str; 4] = ["run", "when (UTC)", "experiment", "result (read / write)"];

/// The runs of one drive, oldest first.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct DriveHistory {
    pub identity: String,
    /// Model and serial, as the newest run has them.
    pub drive: String,
    /// The machine that the newest run was on: its name and board.
    pub machine: String,
    /// Data that it lost in a test, in words.
    pub lost: Option<String>,
    pub runs: Vec<Entry>,
    pub loads: Vec<Series>,
}

/// One run of a drive.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Entry {
    pub run: String,
    pub at: String,
    pub experiment: String,
    pub suite: Option<String>,
    pub numbers: Vec<String>,
    pub place: Conditions,
    /// What differs from the place of the run before.
    pub changed: Vec<Changed>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Changed {
    pub what: String,
    pub from: String,
    pub to: String,
}

/// The speeds of one load in runs of one experiment with one suite.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Series {
    pub experiment: String,
    pub suite: Option<String>,
    pub load: String,
    pub direction: Option<Direction>,
    pub pattern: Option<Pattern>,
    pub points: Vec<Point>,
    pub change: Option<SpeedChange>,
}

/// A change of a load's speed, at the first run at the new one. It happened after one run and until another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct SpeedChange {
    pub since: String,
    pub after: String,
    pub until: String,
    /// The new speed as a multiple of the old one.
    pub ratio: Estimate,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Point {
    pub run: String,
    pub at: String,
    pub speed: Estimate,
}

/// The conditions that changed between two runs. A run on the bare device does not change the filesystem.
fn changes(before: &Conditions, now: &Conditions) -> Vec<Changed> {
    let changed = now.iter().filter_map(|(what, to)| Some((what, before.get(what)?, to)));
    let changed = changed.filter(|(_, from, to)| from != to);
    changed
        .map(|(what, from, to)| Changed { what: what.clone(), from: from.clone(), to: to.clone() })
        .collect()
}

pub(super) fn history(args: &History, store: &Option<PathBuf>, output: &Output) -> anyhow::Result<ExitCode> {
    let store = stored::store(store)?;
    let mut named = None;
    if let Some(asked) = &args.drive {
        let inventory = pool::here(Some(store.dir()), output);
        named = match asked.starts_with('/') || Path::new(asked).exists() {
            true => Some(check::drives_at(asked, &inventory)?),
            false => inventory.drives.iter().find(|drive| drive.name == *asked).map(|one| vec![one.clone()]),
        };
    }
    let identities = named.map(|drives| drives.iter().map(Drive::identity).collect::<BTreeSet<_>>());
    let part = args.drive.as_ref().map(|text| text.to_lowercase());
    let is_asked = |one: &DriveHistory| match (&identities, &part) {
        (Some(identities), _) => identities.contains(&one.identity),
        (None, Some(part)) => {
            [&one.identity, &one.drive].iter().any(|name| name.to_lowercase().contains(part))
        }
        (None, None) => true,
    };
    let (drives, unreadable) = read(&store)?;
    let mut drives: Vec<DriveHistory> = drives.into_values().collect();
    drives.retain(is_asked);
    unreadable.iter().for_each(|why| output.note(&format!("Left out: {why}.")));
    if args.format == ListFormat::Json {
        output.result(&report::json(&drives))?;
    } else if drives.is_empty() {
        let which = if args.drive.is_some() { "No runs on a matching drive" } else { "No runs" };
        output.note(&format!("{which} in {}.", store.dir().display()));
    }
    if args.format == ListFormat::Text {
        let now = run::now();
        let texts: Vec<String> = drives.iter().map(|one| text(one, &now, output.style)).collect();
        output.result(&texts.join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The history of each drive in the store, and why records can't be read. Copies of runs are left out.
pub(super) fn read(store: &Store) -> anyhow::Result<(BTreeMap<String, DriveHistory>, Vec<String>)> {
    let mut drives: BTreeMap<String, DriveHistory> = BTreeMap::new();
    let (runs, bad) = digest::list(store)?;
    let mut unreadable: Vec<String> = bad.iter().map(ToString::to_string).collect();
    for run in runs.into_iter().filter(|run| run.copy_of.is_none()) {
        let digest = Digest::of_listed(store, &run);
        if let Some(why) = digest.unreadable {
            unreadable.push(format!("{}: {why}", run.run));
            continue;
        }
        let run = Summary { at: digest.at, ..run };
        for own in digest.drives {
            drives.entry(own.identity.clone()).or_default().add(&run, digest.suite.as_deref(), own);
        }
    }
    drives.values_mut().for_each(DriveHistory::find_changes);
    Ok((drives, unreadable))
}

/// Days from one time to another; infinite where one is no time.
pub(super) fn days(from: &str, to: &str) -> f64 {
    let time = |text| humantime::parse_rfc3339_weak(text).ok();
    let (Some(from), Some(to)) = (time(from), time(to)) else { return f64::INFINITY };
    let seconds = to.duration_since(from).map_or_else(|e| -e.duration().as_secs_f64(), |d| d.as_secs_f64());
    seconds / 86_400.0
}

impl Entry {
    /// The cells of its row after the name.
    pub(super) fn cells(&self, now: &str) -> Vec<String> {
        let marks = self.changed.iter().map(mark);
        let result = self.numbers.iter().take(2).cloned().chain(marks).collect::<Vec<_>>().join(", ");
        vec![short_date(&self.at, now), origin(&self.experiment, self.suite.as_deref()), result]
    }
}

impl DriveHistory {
    pub(super) fn name(&self) -> &str {
        if self.drive.is_empty() { &self.identity } else { &self.drive }
    }

    /// Adds the results of a run.
    fn add(&mut self, run: &Summary, suite: Option<&str>, own: DriveRun) {
        let (suite, experiment) = (suite.map(str::to_owned), run.experiment.clone());
        let (run, at) = (run.run.clone(), run.at.clone());
        for Speed { load, direction, pattern, estimate: speed } in own.speeds {
            let same =
                |one: &&mut Series| (&one.experiment, &one.suite, &one.load) == (&experiment, &suite, &load);
            let point = Point { run: run.clone(), at: at.clone(), speed };
            match self.loads.iter_mut().find(same) {
                // One point for a run: of several directories, the first counts.
                Some(series) if series.points.last().is_some_and(|last| last.run == run) => {}
                Some(series) => series.points.push(point),
                None => self.loads.push(Series {
                    experiment: experiment.clone(),
                    suite: suite.clone(),
                    load,
                    direction,
                    pattern,
                    points: vec![point],
                    change: None,
                }),
            }
        }
        (self.identity, self.drive, self.machine) = (own.identity, own.drive, own.machine);
        self.lost = own.lost.or(self.lost.take());
        let before = self.runs.last().map(|entry| entry.place.clone()).unwrap_or_default();
        let changed = changes(&before, &own.place);
        // What is unknown counts as unchanged.
        let place = before.into_iter().chain(own.place).collect();
        self.runs.push(Entry { run, at, experiment, suite, numbers: own.numbers, place, changed });
    }

    /// Looks for a change in the speed of each load.
    fn find_changes(&mut self) {
        for series in &mut self.loads {
            let points = &series.points;
            let run = |point: &Point| (days(&points[0].at, &point.at), point.speed.clone());
            let found = change_point(&points.iter().map(run).collect::<Vec<_>>());
            series.change = found.map(|ChangePoint { first, range: [earliest, latest], ratio }| {
                let [since, after, until] = [first, earliest - 1, latest].map(|at| points[at].at.clone());
                SpeedChange { since, after, until, ratio }
            });
        }
    }
}

impl Series {
    /// When and by how much its speed changed, in a sentence.
    pub fn change_in_words(&self) -> Option<String> {
        let SpeedChange { since, after, until, ratio } = self.change.as_ref()?;
        let [since, after, until] = [since, after, until].map(|at| day(at));
        let ends =
            [after, until].map(|day| day.strip_prefix(since.get(..5).unwrap_or_default()).unwrap_or(day));
        let (sign, how) = if ratio.value < 1.0 { (-1.0, "slower") } else { (1.0, "faster") };
        let mut by = [ratio.low, ratio.high].map(|ratio| sign * (ratio - 1.0));
        by.sort_by(f64::total_cmp);
        let by = Estimate::between(sign * (ratio.value - 1.0), by, "").with_ends(percent);
        let (load, from) = (&self.load, origin(&self.experiment, self.suite.as_deref()));
        Some(format!("{load} ({from}): {how} by {by} since {since} ({} to {})", ends[0], ends[1]))
    }
}

/// The runs of a drive, and below them the loads that were measured more than once. `now` is the time, as RFC 3339.
fn text(one: &DriveHistory, now: &str, style: Style) -> String {
    let rows = one.runs.iter().map(|entry| [vec![entry.run.clone()], entry.cells(now)].concat());
    let columns = Column::all(HEADS.map(|name| (name, false)));
    let title = one.name().to_owned();
    let runs = report::table(&Table { title, columns, rows: rows.collect() }, style);
    let several = one.loads.iter().filter(|series| series.points.len() > 1);
    let rows: Vec<Vec<String>> = several.map(|series| cells(series, style)).collect();
    if rows.is_empty() {
        return runs;
    }
    let columns = Column::all(["load", "experiment", "first to last", "over time"].map(|name| (name, false)));
    let changes = one.loads.iter().filter_map(Series::change_in_words);
    let changes: String = changes.map(|change| report::wrapped(&change, "", style)).collect();
    let gap = if changes.is_empty() { "" } else { "\n" };
    runs + "\n" + &report::table(&Table { title: String::new(), columns, rows }, style) + gap + &changes
}

/// The experiment with its suite: `baseline mark`.
pub(super) fn origin(experiment: &str, suite: Option<&str>) -> String {
    [Some(experiment), suite].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// `[kernel now 6.12]`.
fn mark(changed: &Changed) -> String {
    format!("[{} now {}]", changed.what, shortened(&changed.to, 24))
}

fn cells(series: &Series, style: Style) -> Vec<String> {
    let speeds: Vec<f64> = series.points.iter().map(|point| point.speed.value).collect();
    let ends = [speeds.first(), speeds.last()].map(|speed| rate(speed.copied().unwrap_or_default()));
    let [first, last] = &ends;
    let first = first.rsplit_once(' ').map_or(first.as_str(), |(number, _)| number);
    let from = origin(&series.experiment, series.suite.as_deref());
    vec![series.load.clone(), from, format!("{first} to {last}"), sparkline(&speeds, style.unicode)]
}

/// One character a run, at most 40 of the newest. The scale ends at the highest speed and begins at the lowest, or at 80 % of
/// the highest if that is lower, so that small differences look small.
pub(super) fn sparkline(speeds: &[f64], unicode: bool) -> String {
    const MOST: usize = 40;
    let levels = if unicode { "▁▂▃▄▅▆▇█" } else { "12345678" };
    let levels: Vec<char> = levels.chars().collect();
    let shown = &speeds[speeds.len().saturating_sub(MOST)..];
    let high = shown.iter().copied().fold(0.0, f64::max);
    let low = shown.iter().copied().fold(0.8 * high, f64::min);
    let level = |speed: &f64| {
        let share = (speed - low) / (high - low);
        levels[((share * (levels.len() - 1) as f64).round() as usize).min(levels.len() - 1)]
    };
    shown.iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        findings::{Carrier, CarrierDrive, Findings, LoadKey, Metric, Origin, Quantity},
        units::Direction,
    };

    fn found(run: &str, suite: &str, speeds: &[(&str, Direction, f64)]) -> Findings {
        let metric = |(target, direction, speed): &(&str, Direction, f64)| {
            let load =
                LoadKey { name: "SEQ1M".to_owned(), direction: Some(*direction), ..LoadKey::default() };
            Metric::new(target, Quantity::Throughput, Estimate::unbounded(*speed, "")).of(&load)
        };
        let origin = Origin {
            at: "2026-11-21T07:30:00Z".to_owned(),
            suite: Some(suite.to_owned()),
            ..Origin::default()
        };
        Findings {
            run: run.to_owned(),
            experiment: "baseline".to_owned(),
            estimates: speeds.iter().map(metric).collect(),
            origin,
            ..Findings::default()
        }
    }

    fn add(one: &mut DriveHistory, mut found: Findings, kernel: &str, filesystem: Option<&str>) {
        found.origin.kernel = Some(kernel.to_owned());
        let drive = CarrierDrive { model: Some("WDC WD10JPVX WX61".to_owned()), ..CarrierDrive::default() };
        let carrier = Carrier {
            target: "a".to_owned(),
            drives: vec![drive],
            filesystem: filesystem.map(str::to_owned),
            ..Carrier::default()
        };
        let own = DriveRun::of(&found, &carrier).expect("one drive");
        let Findings { run, experiment, origin: Origin { at, suite, .. }, .. } = found;
        one.add(&Summary { run, experiment, at, ..Summary::default() }, suite.as_deref(), own);
    }

    #[test]
    fn suites_and_directions_are_told_apart() {
        use Direction::{Read, Write};
        let mut one = DriveHistory::default();
        let both = |speed| [("a", Read, speed), ("a", Write, speed / 2.0), ("b", Read, 1.0)];
        add(&mut one, found("r1", "mark", &both(100e6)), "6.1", Some("ext4"));
        add(&mut one, found("r2", "cdm", &both(90e6)), "6.1", None);
        add(&mut one, found("r3", "mark", &both(80e6)), "6.12", Some("btrfs"));
        let all: Vec<(&str, &str, Vec<f64>)> = one
            .loads
            .iter()
            .map(|series| {
                let speeds = series.points.iter().map(|point| point.speed.value).collect();
                (series.suite.as_deref().unwrap_or_default(), series.load.as_str(), speeds)
            })
            .collect();
        assert_eq!(
            all,
            [
                ("mark", "SEQ1M read", vec![100e6, 80e6]),
                ("mark", "SEQ1M write", vec![50e6, 40e6]),
                ("cdm", "SEQ1M read", vec![90e6]),
                ("cdm", "SEQ1M write", vec![45e6]),
            ]
        );
        let changed: Vec<Vec<&str>> = one
            .runs
            .iter()
            .map(|entry| entry.changed.iter().map(|one| one.what.as_str()).collect())
            .collect();
        assert_eq!(changed, [vec![], vec![], vec!["filesystem", "kernel"]]);
    }

    #[test]
    fn a_sparkline_has_a_scale_that_keeps_small_differences_small() {
        assert_eq!(sparkline(&[100.0, 99.0, 98.0], true), "██▇");
        assert_eq!(sparkline(&[100.0, 50.0, 0.0], false), "851");
        assert_eq!(sparkline(&[0.0, 0.0], false).len(), 2);
    }

    #[test]
    fn days_count_from_the_first_run() {
        assert_eq!(days("2026-11-01T00:00:00Z", "2026-11-02T12:00:00Z"), 1.5);
        assert_eq!(days("2026-11-02T00:00:00Z", "2026-11-01T00:00:00Z"), -1.0);
        assert!(days("no time", "2026-11-01T00:00:00Z").is_infinite());
    }

    #[test]
    fn the_history_of_a_drive_in_the_terminal() {
        let mut one = DriveHistory::default();
        for (run, speed, kernel) in [("r1", 100e6, "6.1"), ("r2", 95e6, "6.1"), ("r3", 80e6, "6.12")] {
            add(&mut one, found(run, "mark", &[("a", Direction::Read, speed)]), kernel, None);
        }
        insta::assert_snapshot!(text(&one, "2026-11-29T00:00:00Z", Style::PLAIN));
    }

    #[test]
    fn a_change_of_speed_is_named() {
        let mut one = DriveHistory::default();
        for at in 0..12 {
            let speed = if at < 7 { 100e6 } else { 80e6 } * (1.0 + 0.01 * f64::from(at % 3));
            let mut run = found(&format!("r{at}"), "mark", &[("a", Direction::Read, speed)]);
            run.origin.at = format!("2026-{:02}-03T07:30:00Z", at + 1);
            let speed = &mut run.estimates[0].estimate;
            (speed.low, speed.high) = (0.95 * speed.value, 1.05 * speed.value);
            add(&mut one, run, if at < 7 { "6.1" } else { "6.12" }, None);
        }
        one.find_changes();
        let change = one.loads[0].change.as_ref().expect("a change");
        let times = [&change.after, &change.since, &change.until].map(|at| &at[..10]);
        assert_eq!(times, ["2026-07-03", "2026-08-03", "2026-08-03"]);
        insta::assert_snapshot!(text(&one, "2026-12-29T00:00:00Z", Style::PLAIN));
    }
}
