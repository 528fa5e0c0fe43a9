//! Findings of pull: what each layout lost, and how it came back.

use super::{
    super::common::Series, BuiltPool, Pull, PullBy, PullResult, PulledPool, RejoinResult, TakenBack,
};
use crate::{
    analyse::Estimate,
    findings::{
        Column, Findings, Measures, Metric, Quantity, Scope, Table,
        fitness::{KeptData, Use},
        short,
    },
    plan::{Plan, Step},
    record::Run,
    target::Target,
    test_files::{FilesFound, LedgerFound, Operations, losses},
    units::{Layout, capital, count, decimal_bytes, distinct, duration, listed},
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let all = cases(run, plan);
    let layouts: Vec<&[Case<'_>]> = all.chunk_by(|a, b| a.layout == b.layout).collect();
    let mut verdicts: Vec<_> = layouts.iter().filter_map(|cases| verdict(cases)).collect();
    // A broken promise is the headline.
    verdicts.sort_by_key(|(rank, _)| *rank);
    findings.verdicts = verdicts.into_iter().map(|(_, text)| text).collect();
    findings.tables.extend(summary(&layouts));
    for cases in layouts {
        findings.tables.push(away(cases));
        findings.tables.push(rejoined(cases));
    }
    for case in &all {
        // How long operations waited; one pull has no interval.
        let longest = Estimate::unbounded(case.pulled.away.longest, "one pull");
        findings.estimates.push(Metric::new(case.pool, Quantity::LongestOperation, longest).at(Scope::Whole));
        if let Some(kept) = kept(case) {
            let measures = Measures { kept: Some(kept), ..Measures::default() };
            findings.judge(case.pool, measures, &[Use::Safekeeping]);
        }
        if case.pulled.read.is_some() {
            // What md copies back is in no count of bytes.
            findings.spent = None;
            findings.context.push("reading only: no file was written".to_owned());
        }
    }
    let how = all.iter().map(|case| format!("one drive at a time was away: {}", case.by.words()));
    findings.context.extend(distinct(how));
}

/// The worst that a layout did which promises to survive the loss of one drive.
fn kept(case: &Case<'_>) -> Option<KeptData> {
    let promised = case.layout.is_redundant() && !case.pulled.is_other_lost();
    let stages = case.pulled.found().filter(|_| promised).map(|(_, used, files, ledger)| KeptData {
        lost_bytes: ledger.lost_bytes.saturating_add(files.lost_bytes),
        wrong_reads: used.wrong_reads.saturating_add(files.wrong),
    });
    stages.reduce(KeptData::worst)
}

/// One pull.
pub(super) struct Case<'a> {
    pub layout: Layout,
    /// Number of drives of the pool.
    pub drives: usize,
    /// The pool that lost a drive, as the plan names it.
    pub pool: &'a str,
    /// The drive that was pulled: its bay, or its name.
    pub drive: String,
    pub by: PullBy,
    /// What was planned for a pool that the run built; none for one in use.
    pub built: Option<&'a BuiltPool>,
    pub pulled: &'a PullResult,
}

impl Case<'_> {
    /// The pool: by its layout, and if it is in use by its drives, too.
    pub fn name(&self) -> String {
        match self.built {
            Some(_) => self.layout.to_string(),
            None => format!("{} of {} drives in use", self.layout, self.drives),
        }
    }
}

fn name(target: &Target, number: u32) -> Option<String> {
    let drive = target.drives.get(number as usize)?;
    Some(drive.bay.as_ref().map_or_else(|| drive.name.clone(), |bay| format!("bay {bay}")))
}

pub(super) fn cases<'a>(run: &'a Run<Series>, plan: &'a Plan) -> Vec<Case<'a>> {
    let case = |step: &'a Step| {
        let act: &Pull = step.act.get()?;
        let at = step.targets().next()?;
        let (pulled, target) = (run.acts.get(&(step.id, at))?.get::<PullResult>()?, &plan.targets[at]);
        let (layout, drives, drive, built) = match &act.pool {
            PulledPool::Built(built) => {
                let build = plan.build(at)?;
                (build.layout, build.drives.len(), name(target, built.member)?, Some(built))
            }
            PulledPool::InUse(used) => {
                let pool = target.pool.as_ref()?;
                let drives = usize::try_from(pool.members).ok()?;
                (Layout::of_name(&pool.kind)?, drives, used.label.clone(), None)
            }
        };
        Some(Case { layout, drives, pool: &target.given, drive, by: act.by, built, pulled })
    };
    plan.steps.iter().filter_map(case).collect()
}

/// A table of pulls of one pool, or of pools of one layout, with a row for each. Columns that are empty in all rows are left out.
fn table(
    title: &str,
    names: &[&str],
    cases: &[Case<'_>],
    cells: impl Fn(&Case<'_>) -> Vec<Option<String>>,
) -> Table {
    let rows: Vec<Vec<Option<String>>> = cases.iter().map(cells).collect();
    let is_used = |at: &usize| rows.iter().any(|row| row[*at].is_some());
    let used: Vec<usize> = (0..names.len()).filter(is_used).collect();
    let text = |cell: &Option<String>| cell.clone().unwrap_or("-".to_owned());
    let name = cases.first().map(Case::name).unwrap_or_default();
    Table {
        title: format!("{name}, {title}"),
        columns: used.iter().map(|at| Column::new(names[*at], *at > 0)).collect(),
        rows: rows.iter().map(|row| used.iter().map(|at| text(&row[*at])).collect()).collect(),
    }
}

/// Files, unless the run was ended before they were read.
fn read(files: &FilesFound) -> Option<&FilesFound> {
    Some(files).filter(|files| files.is_read())
}

fn whole(files: &FilesFound) -> String {
    format!("{} of {}", files.whole, files.all())
}

/// Bytes of acknowledged writes that are there.
fn kept_writes(ledger: &LedgerFound) -> String {
    match ledger.lost_bytes {
        0 => "all".to_owned(),
        lost => format!("{} lost", decimal_bytes(lost)),
    }
}

/// The longest of these operations, or that some hung.
fn longest_wait<'a>(all: impl Iterator<Item = &'a Operations> + Clone) -> Option<String> {
    let longest = all.clone().map(|ops| ops.longest).fold(0.0, f64::max);
    let hung = if all.clone().any(|ops| ops.hanging > 0) { "hung for " } else { "" };
    (longest > 0.0).then(|| format!("{hung}{}", duration(longest)))
}

/// While the drive is away.
fn away(cases: &[Case<'_>]) -> Table {
    let names = ["pulled", "intact", "wrong", "synced writes", "changed", "longest wait", "failed"];
    table("one drive away", &names, cases, |case| {
        let (files, is_built) = (read(&case.pulled.files), case.built.is_some());
        let Operations { reads, writes, failed_reads, failed_writes, wrong_reads, .. } = case.pulled.away;
        let failed = failed_reads + failed_writes;
        vec![
            Some(short(&case.drive)),
            files.map(whole),
            files.map(|files| files.wrong.to_string()),
            is_built.then(|| kept_writes(&case.pulled.ledger)),
            files.filter(|_| !is_built).map(|files| files.changed.to_string()),
            longest_wait([&case.pulled.away].into_iter()),
            Some(format!("{failed} of {}", failed + reads + writes + wrong_reads)),
        ]
    })
}

/// After the drive came back.
fn rejoined(cases: &[Case<'_>]) -> Table {
    let names = [
        "pulled",
        "taken back",
        "complete in",
        "intact",
        "wrong",
        "changed",
        "synced writes",
        "sectors differ",
    ];
    table("with the drive back", &names, cases, |case| {
        let (back, is_built) = (case.pulled.back.as_ref(), case.built.is_some());
        let files = back.and_then(|back| read(&back.files));
        let in_use = files.filter(|_| !is_built);
        vec![
            Some(short(&case.drive)),
            back.map(|back| taken_back(back).to_owned()),
            back.and_then(|back| back.healed).map(duration),
            files.map(whole),
            in_use.map(|files| files.wrong.to_string()),
            in_use.map(|files| files.changed.to_string()),
            back.filter(|_| is_built).map(|back| kept_writes(&back.ledger)),
            back.and_then(|back| back.mismatches).map(|differ| differ.to_string()),
        ]
    })
}

fn taken_back(back: &RejoinResult) -> &'static str {
    match back.taken_back {
        TakenBack::No => "no",
        TakenBack::ByItself => "by itself",
        TakenBack::Restarted => "pool restarted",
        TakenBack::ReAdded => "re-added",
        TakenBack::Added => "added",
    }
}

/// Each layout that the run built in a row, with the worst of its pulls.
fn summary(layouts: &[&[Case<'_>]]) -> Option<Table> {
    let row = |cases: &&[Case<'_>]| {
        let Case { layout, drives, built: Some(_), .. } = *cases.first()? else { return None };
        let lost = cases.iter().map(|case| case.pulled.ledger.lost_bytes).max()?;
        let least = cases.iter().map(|case| &case.pulled.files).min_by_key(|files| files.whole)?;
        let healed: Option<Vec<f64>> = cases.iter().map(|case| case.pulled.back.as_ref()?.healed).collect();
        let longest = healed.and_then(|all| all.into_iter().reduce(f64::max));
        let empty = || "-".to_owned();
        Some(vec![
            layout.to_string(),
            count(layout.survives(drives) as u64, "drive"),
            whole(least),
            if lost == 0 { "none".to_owned() } else { decimal_bytes(lost) },
            longest_wait(cases.iter().map(|case| &case.pulled.away)).unwrap_or_else(empty),
            longest.map_or_else(empty, duration),
        ])
    };
    let rows: Vec<Vec<String>> = layouts.iter().filter_map(row).collect();
    let columns = Column::all([
        ("layout", false),
        ("survives", false),
        ("intact", true),
        ("lost writes", true),
        ("longest wait", true),
        ("complete in", true),
    ]);
    let title = "With one drive away, and back again".to_owned();
    (!rows.is_empty()).then_some(Table { title, columns, rows })
}

/// The order of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    BrokenPromise,
    WrongData,
    AsPromised,
}

/// The verdict on a layout, and its rank.
fn verdict(cases: &[Case<'_>]) -> Option<(Rank, String)> {
    let first = cases.first()?;
    Some(if first.layout.is_redundant() { redundant(first, cases) } else { without_copies(first, cases) })
}

/// Violations of what a layout with copies or parity promises: no loss, and reads and writes continue.
fn broken(case: &Case<'_>) -> Vec<String> {
    let PullResult { before, back, .. } = case.pulled;
    let some = |n: u64, noun: &str, what: &str| (n > 0).then(|| format!("{} {what}", count(n, noun)));
    let stages = case
        .pulled
        .found()
        .flat_map(|(when, _, files, ledger)| losses(files, ledger).map(move |what| format!("{what} {when}")));
    // Until the drive is rebuilt.
    let used = case.pulled.found().map(|(_, used, ..)| used).chain([before]);
    let sum = |number: fn(&Operations) -> u64| used.clone().map(number).sum();
    let differ = back.as_ref().and_then(|back| back.mismatches).unwrap_or(0);
    let counts = [
        some(sum(|used| used.wrong_reads), "read", "returned wrong data"),
        some(sum(|used| used.failed_writes + used.failed_reads), "operation", "failed"),
        some(sum(|used| used.hanging), "operation", "did not end within two minutes"),
        some(differ, "sector", "differ afterwards, at most"),
    ];
    stages.chain(counts.into_iter().flatten()).collect()
}

/// Why a pull shows nothing of what a layout promises.
fn unknown(case: &Case<'_>) -> Option<&'static str> {
    let PullResult { away, files, missing, back, .. } = case.pulled;
    let after = back.as_ref().map(|back| &back.files).filter(|files| files.is_read());
    let reasons = [
        (case.pulled.is_other_lost(), "another drive was lost meanwhile"),
        (!files.is_read(), "the run was ended before files were read again"),
        (*missing == 0, "the array did not notice that the drive was away"),
        (away.reads + away.writes == 0, "nothing was read or written meanwhile"),
        (
            files.whole == 0 || after.is_some_and(|after| after.whole == 0),
            "other programs changed all files that were read",
        ),
    ];
    reasons.into_iter().find_map(|(is, why)| is.then_some(why))
}

fn redundant(first: &Case<'_>, cases: &[Case<'_>]) -> (Rank, String) {
    let (name, pulls) = (first.name(), count(cases.len() as u64, "pull"));
    let bad = cases.iter().filter_map(|case| {
        let is_wrong = case.pulled.found().any(|(_, used, files, _)| files.wrong + used.wrong_reads > 0);
        let broken = broken(case);
        let is_broken = !broken.is_empty() && (is_wrong || !case.pulled.is_other_lost());
        is_broken.then(|| format!("{}: {}", case.drive, listed(&broken)))
    });
    let bad: Vec<String> = bad.collect();
    if !bad.is_empty() {
        let text = format!(
            "{name} broke its promise in {} of {pulls}. {}. {}",
            bad.len(),
            bad.join("; "),
            healed(cases)
        );
        return (Rank::BrokenPromise, text);
    }
    // A pull that the array did not notice shows nothing.
    let unknowns: Vec<&str> = cases.iter().filter_map(unknown).collect();
    let unknown_pulls = match unknowns.first() {
        None => String::new(),
        Some(why) => format!("{name}: no result for {} of {pulls}, because {why}. ", unknowns.len()),
    };
    let known: Vec<&Case<'_>> = cases.iter().filter(|case| unknown(case).is_none()).collect();
    let Some(one) = known.first() else {
        return (Rank::BrokenPromise, unknown_pulls + &healed(cases));
    };
    let files = count(one.pulled.files.whole, "file");
    let whole = match &one.pulled.read {
        None => {
            let kept = known.iter().map(|case| case.pulled.ledger.kept_bytes).sum();
            format!("all {files} and all synced writes, {}, were whole", decimal_bytes(kept))
        }
        Some(read) => format!(
            "{files} were whole, as far as they were read ({} of {} below {})",
            decimal_bytes(read.bytes),
            count(read.files, "file"),
            one.pool
        ),
    };
    let survived = count(known.len() as u64, "pull");
    let text = format!("{name} survived {survived} of one drive: {whole}. {}{unknown_pulls}", healed(cases));
    (Rank::AsPromised, text)
}

/// How the drives came back.
fn healed(cases: &[Case<'_>]) -> String {
    let backs: Vec<&RejoinResult> = cases.iter().filter_map(|case| case.pulled.back.as_ref()).collect();
    let times: Vec<f64> = backs.iter().filter_map(|back| back.healed).collect();
    if times.len() < cases.len() {
        let why = |case: &Case<'_>| {
            let back = case.pulled.back.as_ref().filter(|back| back.healed.is_none())?;
            Some(format!(" {}: {}.", capital(&case.drive), back.refused.last()?))
        };
        let why: String = cases.iter().filter_map(why).collect();
        return format!("{} of {} rejoined the pool.{why}", times.len(), count(cases.len() as u64, "drive"));
    }
    let time = duration(times.into_iter().fold(0.0, f64::max));
    let given = backs.iter().find(|back| back.taken_back != TakenBack::ByItself);
    match given.and_then(|back| back.commands.last()) {
        None => format!("A returned drive rejoins by itself, within {time}."),
        Some(command) => format!(
            "A returned drive does not rejoin by itself: after `{command}` it was complete within {time}."
        ),
    }
}

/// Without copies nothing is promised, but what can be read must be what was written.
fn without_copies(first: &Case<'_>, cases: &[Case<'_>]) -> (Rank, String) {
    let found = cases.iter().flat_map(|case| case.pulled.found());
    let wrong = found.map(|(_, _, files, _)| files.wrong).max().unwrap_or(0);
    let (layout, all, n) = (first.layout, first.pulled.files.all(), cases.len());
    let loud = match wrong {
        0 => String::new(),
        wrong => format!("{layout} returned wrong data: {} silently wrong. ", count(wrong, "file")),
    };
    let most = cases.iter().map(|case| case.pulled.files.all() - case.pulled.files.whole).max().unwrap_or(0);
    let backs = cases.iter().filter_map(|case| case.pulled.back.as_ref());
    let started: Vec<&RejoinResult> = backs.filter(|back| back.healed.is_some()).collect();
    let files: u64 = started.iter().map(|back| back.files.all() - back.files.whole).sum();
    let bytes: u64 = started.iter().map(|back| back.ledger.lost_bytes).sum();
    let lost = match files + bytes {
        _ if started.is_empty() => "what is lost is not known".to_owned(),
        0 => "no file and no synced writes were lost".to_owned(),
        _ => format!("{} and {} of synced writes were lost", count(files, "file"), decimal_bytes(bytes)),
    };
    let text = format!(
        "{loud}{layout} has no copies: with one drive away, up to {most} of {all} files were not whole. \
         After a restart with all drives ({} of {n}), {lost}.",
        started.len()
    );
    (if wrong == 0 { Rank::AsPromised } else { Rank::WrongData }, text)
}
