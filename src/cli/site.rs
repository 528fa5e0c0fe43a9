//! `drivebench report --site DIR`: pages of the whole store.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{self, Read},
    path::Path,
    process::ExitCode,
};

use sha2::{Digest, Sha256};

use super::{
    check,
    errors::Usage,
    history::{self, DriveHistory, Entry, HEADS, Series, days, origin, sparkline},
    output::Output,
    results::{day, short_date},
    stored,
};
use crate::{
    analyse::Estimate,
    findings::{At, Axis, Curve, Figure, Mark, Point, Style, Unit},
    record::{AtomicFile, Store, is_name, keep_new_dir, open_regular},
    report::{
        MARK,
        site::{self, SIDE_BY_SIDE, SITE},
    },
    run,
    units::{Direction, Pattern, count, decimal_bytes, shortened, signed_percent},
};

/// The first page; an existing directory without it is not ours.
pub(super) const INDEX: &str = "index.html";
const PAGE: &str = ".html";
const DRIVE: &str = "drive-";
/// Curves that a figure shows at most.
const CURVES: usize = 6;

pub(super) fn site(dir: &Path, store: &Store, output: &Output) -> anyhow::Result<ExitCode> {
    refuse_foreign(dir)?;
    let pages = pages(store)?;
    if let Some(name) = pages.keys().find(|name| dir.join(name).exists() && !has(dir, name, MARK)) {
        return Err(
            Usage(format!("{} is not a page of drivebench: move it away", dir.join(name).display())).into()
        );
    }
    write(dir, &pages).map_err(|e| anyhow::anyhow!("{} can't be written: {e}", dir.display()))?;
    let bytes: usize = pages.values().map(String::len).sum();
    let drives = pages.keys().filter(|name| name.starts_with(DRIVE)).count();
    output.note(&format!(
        "Wrote {}: {} in {}, {}. It contains serials, paths and names of machines.",
        dir.join(INDEX).display(),
        count(drives as u64, "drive"),
        count(pages.len() as u64, "page"),
        decimal_bytes(bytes as u64)
    ));
    Ok(ExitCode::SUCCESS)
}

/// The pages of a store by their file names.
pub(super) fn pages(store: &Store) -> anyhow::Result<BTreeMap<String, String>> {
    let (drives, mut unreadable) = history::read(store)?;
    let mut drives: Vec<DriveHistory> = drives.into_values().collect();
    drives.sort_by(|a, b| a.drive.cmp(&b.drive));
    let alarms = check::alarms(store)?;
    let now = run::now();
    let mut pages = BTreeMap::new();
    let mut rows = Vec::new();
    let mut shown: BTreeSet<&str> = drives.iter().flat_map(|one| with_pages(&one.runs)).collect();
    shown.retain(|run| match stored::findings(store, run) {
        Ok(findings) => {
            pages.insert(page(run), site::run(&findings));
            true
        }
        Err(why) => {
            unreadable.push(format!("{run}: {why}"));
            false
        }
    });
    for one in &drives {
        let row = row(one, alarms.get(&one.identity).cloned().unwrap_or_default(), &now);
        let changes = one.loads.iter().filter_map(Series::change_in_words);
        let changes: Vec<String> = changes.filter(|change| !row.alarms.contains(change)).collect();
        let runs: Vec<site::Run> = one.runs.iter().rev().map(|entry| line(entry, &shown, &now)).collect();
        pages.insert(row.page.clone(), site::drive(&row, &changes, &figures(one), &HEADS, &runs));
        rows.push(row);
    }
    let runs: BTreeSet<&str> =
        drives.iter().flat_map(|one| &one.runs).map(|entry| entry.run.as_str()).collect();
    let index = site::index(&rows, &unreadable, !alarms.is_empty(), runs.len(), &short_date(&now, ""));
    pages.insert(INDEX.to_owned(), index);
    pages.insert(SIDE_BY_SIDE.to_owned(), site::side_by_side(&rows, &rankings(&drives)));
    Ok(pages)
}

/// A ranking for each load that at least two drives have in one experiment and suite, by their newest runs.
fn rankings(drives: &[DriveHistory]) -> Vec<site::Ranking> {
    let mut rankings: BTreeMap<String, Vec<(usize, Estimate)>> = BTreeMap::new();
    for (drive, one) in drives.iter().enumerate() {
        for series in &one.loads {
            let title = format!("{} ({})", series.load, origin(&series.experiment, series.suite.as_deref()));
            let newest = series.points.last().filter(|point| point.speed.value.is_normal());
            let row = newest.map(|point| (drive, point.speed.clone()));
            rankings.entry(title).or_default().extend(row);
        }
    }
    rankings.retain(|_, rows| rows.len() > 1);
    let ranking = |(title, mut rows): (String, Vec<(usize, Estimate)>)| {
        rows.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
        site::Ranking { title, rows }
    };
    rankings.into_iter().map(ranking).collect()
}

/// Refuses a directory that holds something else than such pages.
fn refuse_foreign(dir: &Path) -> anyhow::Result<()> {
    let is_empty = match fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => true,
        entries => entries.map_err(|e| Usage(format!("{}: {e}", dir.display())))?.next().is_none(),
    };
    if is_empty || has(dir, INDEX, SITE) {
        return Ok(());
    }
    Err(Usage(format!("{} holds other files: name a directory of its own", dir.display())).into())
}

/// Whether a page has this mark.
fn has(dir: &Path, name: &str, mark: &str) -> bool {
    let mut page = Vec::new();
    let read = open_regular(&dir.join(name)).and_then(|file| file.take(1 << 16).read_to_end(&mut page));
    read.is_ok() && String::from_utf8_lossy(&page).contains(mark)
}

/// Writes the pages, and removes those of runs and drives that are gone.
fn write(dir: &Path, pages: &BTreeMap<String, String>) -> io::Result<()> {
    // A directory is recognised by its first page.
    let first = pages.iter().filter(|(name, _)| *name == INDEX);
    if !dir.exists() {
        let first: Vec<_> = first.clone().map(|(name, text)| (name.clone(), text.clone())).collect();
        keep_new_dir(dir, &first)?;
    }
    for (name, text) in first.chain(pages) {
        AtomicFile::write(&dir.join(name), 0o644, text.as_bytes())?;
    }
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let own = name.strip_suffix(PAGE).map(|own| own.strip_prefix(DRIVE).unwrap_or(own));
        if own.is_some_and(is_name) && !pages.contains_key(&name) && has(dir, &name, MARK) {
            fs::remove_file(dir.join(name))?;
        }
    }
    Ok(())
}

/// The name of the page of a drive, which no other drive can be made to have.
fn drive_page(identity: &str) -> String {
    let digest = Sha256::digest(identity.as_bytes());
    digest[..8].iter().fold(DRIVE.to_owned(), |name, byte| format!("{name}{byte:02x}"))
}

/// The page of a run or a drive.
fn page(name: &str) -> String {
    format!("{name}{PAGE}")
}

/// The runs that get a page: the newest of each experiment with its suite.
fn with_pages(runs: &[Entry]) -> impl Iterator<Item = &str> {
    let newest: BTreeMap<_, _> =
        runs.iter().map(|entry| ((&entry.experiment, &entry.suite), entry.run.as_str())).collect();
    newest.into_values()
}

fn row(one: &DriveHistory, mut alarms: Vec<String>, now: &str) -> site::Drive {
    alarms.extend(one.lost.clone());
    let is_slower = |series: &&Series| series.change.as_ref().is_some_and(|change| change.ratio.value < 1.0);
    let slower = one.loads.iter().filter(|series| is_sequential(series)).find(is_slower);
    alarms.extend(slower.and_then(Series::change_in_words));
    let newest = |direction| {
        let own = one.loads.iter().filter(|series| series.direction == Some(direction));
        let last = own.filter_map(|series| Some((series, series.points.last()?)));
        let best = last.max_by_key(|(series, point)| (is_sequential(series), &point.at));
        best.map(|(_, point)| point.speed.value)
    };
    let several = one.loads.iter().filter(|series| series.points.len() > 1);
    let longest = several.max_by_key(|series| (is_sequential(series), series.points.len()));
    let trend = longest.map(|series| {
        let speeds: Vec<f64> = series.points.iter().map(|point| point.speed.value).collect();
        (series.load.clone(), sparkline(&speeds, true))
    });
    site::Drive {
        page: page(&drive_page(&one.identity)),
        name: one.name().to_owned(),
        machine: one.machine.clone(),
        alarms,
        read: newest(Direction::Read),
        write: newest(Direction::Write),
        trend,
        newest: one.runs.last().map(|entry| short_date(&entry.at, now)).unwrap_or_default(),
    }
}

fn is_sequential(series: &Series) -> bool {
    series.pattern == Some(Pattern::Sequential)
}

fn line(entry: &Entry, shown: &BTreeSet<&str>, now: &str) -> site::Run {
    let page = shown.contains(entry.run.as_str()).then(|| page(&entry.run));
    site::Run { name: entry.run.clone(), page, cells: entry.cells(now) }
}

/// A figure for each experiment with its suite that ran more than once.
fn figures(one: &DriveHistory) -> Vec<Figure> {
    let mut groups: BTreeMap<String, Vec<&Series>> = BTreeMap::new();
    for series in one.loads.iter().filter(|series| series.points.len() > 1) {
        groups.entry(origin(&series.experiment, series.suite.as_deref())).or_default().push(series);
    }
    groups.into_iter().map(|(name, all)| figure(one, &name, &all[..all.len().min(CURVES)])).collect()
}

fn figure(one: &DriveHistory, name: &str, all: &[&Series]) -> Figure {
    let first = all.iter().filter_map(|series| series.points.first()).map(|point| point.at.as_str()).min();
    let first = first.unwrap_or_default();
    let point = |point: &history::Point| Point::of(days(first, &point.at), &point.speed);
    let curve = |series: &&Series| Curve::new(&series.load, Style::Line, series.points.iter().map(point));
    let marks = one.runs.iter().flat_map(|entry| {
        let at = days(first, &entry.at);
        let label = move |one: &history::Changed| format!("{} {}", one.what, shortened(&one.to, 24));
        entry.changed.iter().map(move |one| Mark { label: label(one), at: At::X(at) })
    });
    let changes = all.iter().filter_map(|series| {
        let change = series.change.as_ref()?;
        let label = format!("{} {}", series.load, signed_percent(change.ratio.value - 1.0));
        Some(Mark { label, at: At::X(days(first, &change.since)) })
    });
    Figure {
        title: format!("speeds over time, {name}"),
        text: "Each point is a run; the band is its 95 % interval.".to_owned(),
        n: count(all.iter().map(|series| series.points.len()).max().unwrap_or(0) as u64, "run"),
        x: Axis::of(&format!("days since {}", day(first)), Unit::None),
        y: Axis::speed().log(),
        curves: all.iter().map(curve).collect(),
        marks: changes.chain(marks).filter(|mark| matches!(mark.at, At::X(x) if x >= 0.0)).collect(),
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::history::SpeedChange;

    fn pages(names: &[&str]) -> BTreeMap<String, String> {
        names.iter().map(|name| ((*name).to_owned(), format!("{MARK}{SITE}{name}"))).collect()
    }

    #[test]
    fn pages_of_what_is_gone_are_removed_and_other_files_stay() {
        let above = tempfile::tempdir().expect("a directory");
        let dir = above.path().join("site");
        write(&dir, &pages(&[INDEX, "r1.html", "drive-0a.html"])).expect("new");
        fs::write(dir.join("notes.html"), "").expect("written");
        assert!(refuse_foreign(&dir).is_ok());
        write(&dir, &pages(&[INDEX, "r2.html"])).expect("anew");
        let mut names: Vec<String> = fs::read_dir(&dir)
            .expect("a directory")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, [INDEX, "notes.html", "r2.html"]);
    }

    #[test]
    fn a_drive_that_became_slower_is_to_be_looked_at_first() {
        let alarms = |ratio| {
            let change = SpeedChange {
                since: "2026-08-19T10:00:00Z".to_owned(),
                after: "2026-08-12T10:00:00Z".to_owned(),
                until: "2026-08-19T10:00:00Z".to_owned(),
                ratio: Estimate::unbounded(ratio, ""),
            };
            let series = [("SEQ1M read", Direction::Read), ("SEQ1M write", Direction::Write)];
            let series = series.map(|(load, direction)| Series {
                direction: Some(direction),
                pattern: Some(Pattern::Sequential),
                experiment: "baseline".to_owned(),
                suite: None,
                load: load.to_owned(),
                points: Vec::new(),
                change: Some(change.clone()),
            });
            let one = DriveHistory { loads: series.into(), ..DriveHistory::default() };
            (row(&one, Vec::new(), "").alarms, one.loads[0].change_in_words())
        };
        let (slower, words) = alarms(0.8);
        assert_eq!(slower, words.into_iter().collect::<Vec<_>>());
        assert_eq!(alarms(1.2).0, Vec::<String>::new());
    }

    #[test]
    fn directories_of_others_are_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        assert!(refuse_foreign(dir.path()).is_ok() && refuse_foreign(&dir.path().join("new")).is_ok());
        // The page of a run, too.
        fs::write(dir.path().join(INDEX), MARK).expect("written");
        assert!(refuse_foreign(dir.path()).is_err());
    }
}
