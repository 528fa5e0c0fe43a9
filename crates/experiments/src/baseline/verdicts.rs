//! Verdicts of baseline, in sentences.

use super::{
    super::common::{FileSets, Group, MeasuredFiles, Summary, labels, named, range},
    fitness,
};
use crate::{
    analyse::{
        Cliff, Estimate, LatencyPercentile, Reason, SpanRules, StallSummary, Throughput, Unseen,
        compare::{self, Difference},
    },
    plan::{Measure, Plan, Rule},
    target::{Kind, Target},
    units::{
        Caching, Direction, Ended, aim, capital, count, decimal_bytes, duration, listed, percent, rate, size,
    },
};

/// The verdicts, and what a reader finds behind them.
pub(super) fn verdicts(plan: &Plan, groups: &[Group<'_>], files: &[FileSets]) -> (Vec<String>, Vec<String>) {
    let several = plan.targets.len() > 1;
    let mut all = Vec::new();
    if several {
        let again = |at: usize| plan.targets[..at].iter().find(|t| t.is_on_same_drives(&plan.targets[at]));
        all.extend((0..plan.targets.len()).filter_map(|at| Some(unranked(again(at)?, &plan.targets[at]))));
        let ranked: Vec<&Group<'_>> = groups.iter().filter(|group| again(group.at).is_none()).collect();
        let labels = labels(groups).into_iter();
        let (rankings, ties): (Vec<String>, Vec<Ties>) =
            labels.filter_map(|label| ranking(label, &ranked)).unzip();
        all.extend(rankings);
        all.extend(ties.into_iter().max().and_then(Ties::legend));
    }
    let is_span = |group: &Group<'_>| matches!(group.measure.rule, Rule::Span { .. });
    for (at, target) in plan.targets.iter().enumerate() {
        let of: Vec<&Group<'_>> = groups.iter().filter(|g| g.at == at).collect();
        let spans = of.iter().filter(|g| is_span(g));
        let slower = spans.flat_map(|g| g.runs.iter().flat_map(|run| cliffs(g, &run.throughput)));
        let synced = of.iter().filter_map(|g| synced(g)).chain(unsettled_loads(&of, &files[at]));
        let text: Vec<String> = fitness::sentences(&of).into_iter().chain(synced).chain(slower).collect();
        let text = text.join(" ");
        all.extend((!text.is_empty()).then(|| named(several, target, text)));
    }
    let mut behind = Vec::new();
    for group in groups {
        let text = |sentences: Vec<String>| {
            (!sentences.is_empty()).then(|| named(several, group.target, sentences.join(" ")))
        };
        match (one(group), reservations(group)) {
            (found, more) if is_span(group) => behind.extend(text([found, more].concat())),
            (found, more) => {
                all.extend(text(found));
                behind.extend(text(more));
            }
        }
    }
    (all, behind)
}

/// How many spans and sets of files varied too much for the interval that was aimed at, which is without what runs differ by,
/// how many a limit ended before, and how many have no interval.
fn unsettled_loads(groups: &[&Group<'_>], files: &FileSets) -> Option<String> {
    let spans = groups.iter().filter_map(|g| match &g.measure.rule {
        Rule::Span { rules, .. } => Some((*g, rules)),
        _ => None,
    });
    let any =
        |g: &Group<'_>, is: fn(Option<Reason>) -> bool| g.runs.iter().any(|run| is(run.throughput.reason));
    let varied = |r| matches!(r, Some(Reason::Noisy | Reason::IrregularStalls | Reason::Drifting));
    let ended = |r| r == Some(Reason::Budget);
    let precision = spans.clone().next()?.1.precision;
    let loads = spans.map(|(g, _)| Row {
        varied: any(g, varied),
        ended: any(g, ended),
        open: !g.estimate.is_bounded(),
        wide: g.estimate.is_bounded() && g.estimate.half_width() > precision,
    });
    let files = files.iter().flatten().filter_map(MeasuredFiles::speed);
    let sets = files.map(|e| Row {
        varied: scatters(&e, precision),
        ended: false,
        open: !e.is_bounded(),
        wide: scatters(&e, precision),
    });
    let rows: Vec<Row> = loads.chain(sets).collect();
    (!rows.iter().all(Row::is_settled)).then(|| counted(&rows, &aim(precision)))
}

/// What a row of the table has instead of the interval that was aimed at.
struct Row {
    varied: bool,
    /// Early, at a limit.
    ended: bool,
    /// Without an interval.
    open: bool,
    /// Its interval in the table is wider, which holds what runs differ by, too.
    wide: bool,
}

impl Row {
    fn is_settled(&self) -> bool {
        !(self.varied || self.ended || self.open)
    }
}

/// Each row is counted; one without an interval at least as that.
fn counted(rows: &[Row], aim: &str) -> String {
    let which = |is: fn(&Row) -> bool| which(&rows.iter().map(is).collect::<Vec<_>>());
    let varied = which(|row| row.varied).map(|which| {
        let others = rows.iter().any(|row| row.wide && !row.varied && !row.ended);
        let others = if others { "; other intervals are wider because runs differ, too" } else { "" };
        format!("{which} varied too much for ±{aim} within the run{others}. Repeat when nothing else runs.")
    });
    let ended =
        which(|row| row.ended).map(|which| format!("{which} ended early at a limit of time or bytes."));
    let open = which(|row| row.open && !row.varied && !row.ended)
        .map(|which| format!("{which} gave no interval: too short, or measured once."));
    varied.into_iter().chain(ended).chain(open).collect::<Vec<_>>().join(" ")
}

/// Whether repetitions differ by more than was aimed at: their interval is without what runs differ by, too. A single one
/// that a limit or a person left shows nothing of that.
fn scatters(repetitions: &Estimate, precision: f64) -> bool {
    repetitions.is_bounded() && repetitions.half_width() > precision
}

/// Of the loads, those for which it is true, in words.
fn which(is: &[bool]) -> Option<String> {
    match (is.iter().filter(|is| **is).count(), is.len()) {
        (0, _) => None,
        (1, 1) => Some("The load".to_owned()),
        (some, all) if some == all => Some("All loads".to_owned()),
        (some, all) => Some(format!("{some} of {all} loads")),
    }
}

/// How long a write takes until it is safe, which is what a database waits for.
fn synced(group: &Group<'_>) -> Option<String> {
    let [run] = &group.runs[..] else { return None };
    let load = &group.measure.load;
    let of = |share| Some(duration(run.tail.percentile(share)?.estimate.value));
    let (half, most) = (of(0.5)?, of(0.99)?);
    let block = size(load.block);
    let text =
        format!("A synced write of {block} typically takes {half}, the slowest in a hundred {most} or more.");
    (load.sync && load.depth == 1).then_some(text)
}

fn unranked(first: &Target, again: &Target) -> String {
    let names: Vec<&str> = again.drives.iter().map(|drive| drive.name.as_str()).collect();
    let on = if let [one] = names[..] {
        format!("one drive ({one})")
    } else {
        format!("the same drives ({})", listed(&names))
    };
    format!("{} and {} are on {on}, so they are not ranked.", first.given, again.given)
}

fn one(group: &Group<'_>) -> Vec<String> {
    let verb = &verb(group);
    let mut sentences = Vec::new();
    if group.runs.len() > 1 {
        let n = group.runs.len() as u64;
        let (low, high) = range(group.runs.iter().map(|r| r.estimate.value));
        sentences.push(format!("{verb}: {} over {}.", group.estimate.text(rate), count(n, "run")));
        sentences.push(format!("Single runs: {} to {}.", rate(low), rate(high)));
    }
    if let [run] = &group.runs[..] {
        sentences.push(speed(verb, group, run));
        sentences.extend(zones(run));
        sentences.extend(cliffs(group, &run.throughput));
        sentences.extend(stalls(verb, &run.throughput.stalls));
        sentences.extend(unsettled(group, run));
    }
    if let Some(Summary { ended: Some(Ended::Failed { what, offset, message, .. }), .. }) = group.runs.last()
    {
        let at = size(*offset);
        sentences.push(format!("A {what} at offset {at} failed: {message}. Results before it are valid."));
    }
    sentences
}

/// What the runs could not see.
fn reservations(group: &Group<'_>) -> Vec<String> {
    let [run] = &group.runs[..] else { return Vec::new() };
    let sentences: Vec<String> =
        unseen(group, run).into_iter().chain(elsewhere(group)).chain(tail(run)).collect();
    match group.measure.rule {
        Rule::Span { .. } => sentences,
        _ if sentences.is_empty() => sentences,
        _ => vec![format!("{}: {}", verb(group), sentences.join(" "))],
    }
}

fn speed(verb: &str, group: &Group<'_>, run: &Summary) -> String {
    let e = &group.estimate;
    let through = match group.measure.load.caching {
        Caching::Direct => "",
        Caching::Buffered => " through the page cache, partly the speed of memory",
        Caching::BufferedFsync => " through the page cache, including the final fsync",
    };
    let (speed, bytes) = (rate(e.value), decimal_bytes(run.bytes));
    let fixed = matches!(group.measure.rule, Rule::Fixed { .. });
    let holds = match group.measure.rule {
        Rule::Adaptive { .. } if run.throughput.sustained => ", sustained".to_owned(),
        Rule::Adaptive { .. } => format!(" over {} ({bytes})", duration(run.seconds)),
        _ => String::new(),
    };
    if e.high.is_finite() {
        format!("{verb}: {}{through}{holds}.", e.text(rate))
    } else if fixed && run.ended != Some(Ended::Finished) {
        format!("{verb}: ended early, after {bytes} at {speed}; the result of a full load is not known.")
    } else if fixed {
        format!("{verb}: {speed}{through}; one run, so no interval.")
    } else {
        format!("{verb}: {speed}{through}; {bytes} is too short for an interval.")
    }
}

fn zones(run: &Summary) -> Option<String> {
    let positions = &run.zoned.as_ref()?.positions;
    let (first, last) = (positions.first()?.speed.value, positions.last()?.speed.value);
    let between = match run.estimate.value {
        whole if whole > first.max(last) => ", and faster in between",
        whole if whole < first.min(last) => ", and slower in between",
        _ => "",
    };
    let (first, last) = (rate(first), rate(last));
    Some(format!(
        "From {first} at the beginning of the disk to {last} at its end{between}; the speed given is for reading the \
         whole disk."
    ))
}

/// The loads of a suite by their names, others by their direction.
fn verb(group: &Group<'_>) -> String {
    let Measure { load, row, .. } = &group.measure;
    let verb = match load.direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
        Direction::Mixed { .. } => "mixed reads and writes",
    };
    match &group.load.suite {
        Some(_) => format!("{} {verb}", row.clone().unwrap_or_else(|| load.short_name())),
        None => capital(verb),
    }
}

fn cliffs(group: &Group<'_>, t: &Throughput) -> Vec<String> {
    let verb = verb(group);
    let moved = match group.measure.load.direction {
        Direction::Read => "read",
        Direction::Write => "written",
        Direction::Mixed { .. } => "moved",
    };
    let given = if t.sustained { "the one after" } else { "that of the whole load" };
    let without = if t.stalls.each.is_empty() { "" } else { ", stalls left out" };
    let slows = |c: &Cliff| {
        let (before, after, at) = (rate(c.before), rate(c.after), decimal_bytes(c.at_bytes));
        format!(
            "{verb} slow down from {before} to {after} after {at} were {moved}{without}; the speed given is {given}."
        )
    };
    t.cliffs.iter().map(slows).collect()
}

/// A stall that lasts longer than the longest operation in it is several slow ones.
pub(super) fn over(seconds: f64, longest: f64) -> &'static str {
    if longest > 0.0 && seconds > longest { ", over several slow operations" } else { "" }
}

fn stalls(verb: &str, stalls: &StallSummary) -> Option<String> {
    let longest = stalls.each.iter().map(|s| s.longest).fold(0.0, f64::max);
    match (stalls.each.len() as u64, stalls.spacing) {
        (0, _) => None,
        (1, _) => {
            let at = decimal_bytes(stalls.each[0].at_bytes);
            let (took, over) = (duration(stalls.each[0].seconds), over(stalls.each[0].seconds, longest));
            Some(format!("{verb} stalled once, after {at}, for {took}{over}."))
        }
        (n, spacing) => {
            let every = spacing.filter(|_| n > 2).map(|s| format!(", about every {}", size(s as u64)));
            let every = every.unwrap_or_default();
            let share = percent(stalls.time_share);
            let over = over(stalls.mean_seconds, longest);
            let (mean, longest) = (duration(stalls.mean_seconds), duration(longest));
            Some(format!(
                "{verb} stalled {n} times for about {mean}{over}{every}: {share} of the time; the longest operation within a stall took {longest}."
            ))
        }
    }
}

fn unsettled(group: &Group<'_>, run: &Summary) -> Option<String> {
    let (rules, most) = match &group.measure.rule {
        Rule::Adaptive { rules, bytes, .. } => (rules, *bytes),
        Rule::Span { rules, .. } => return wide(rules, run),
        _ => return None,
    };
    let t = &run.throughput;
    let aim = aim(rules.precision);
    let why = match t.reason? {
        Reason::TooShort => return None,
        Reason::Interrupted => "it was stopped early".to_owned(),
        Reason::Failed => "a failure ended it early".to_owned(),
        Reason::Drifting if run.rule.is_cut_by_limit() => {
            format!(
                "a limit of time or bytes ended it after {}, and its speed drifted",
                duration(run.seconds)
            )
        }
        Reason::Drifting => "the speed drifts".to_owned(),
        Reason::IrregularStalls => format!("stalls are too rare or too irregular for ±{aim}"),
        Reason::Noisy => format!("it is too noisy for ±{aim}"),
        Reason::Budget => format!(
            "a speed must hold for {}, and after a slow-down for three times the bytes before it",
            duration(Throughput::SUSTAINED_SECONDS)
        ),
    };
    let needed = t.bytes_needed.filter(|bytes| *bytes > t.bytes).map(|bytes| match bytes > most {
        true => decimal_bytes(bytes),
        // There are bytes enough, but no time.
        false => duration(t.seconds * bytes as f64 / t.bytes as f64),
    });
    let needed = needed.map(|what| format!(" It would take {what} or more.")).unwrap_or_default();
    Some(format!("What it sustains is not known: {why}.{needed}"))
}

/// Why the interval of a span is wider than asked for.
fn wide(rules: &SpanRules, run: &Summary) -> Option<String> {
    let aim = aim(rules.precision);
    match run.throughput.reason? {
        Reason::TooShort => None,
        // That it has no interval is said with the speed.
        Reason::IrregularStalls | Reason::Drifting | Reason::Noisy if run.estimate.high.is_infinite() => None,
        Reason::Interrupted => Some("Stopped early.".to_owned()),
        Reason::Failed => Some("A failure ended it early.".to_owned()),
        Reason::IrregularStalls => {
            Some(format!("Wider than ±{aim} within the run: few or irregular stalls."))
        }
        Reason::Budget => Some(format!("A limit ended it after {}.", duration(run.seconds))),
        Reason::Drifting | Reason::Noisy => Some(format!(
            "Wider than ±{aim} within the run: the speed varied, so its mean is not known better."
        )),
    }
}

/// What a run this short can't exclude.
fn unseen(group: &Group<'_>, run: &Summary) -> Option<String> {
    let u = run.throughput.unseen.as_ref().filter(|_| run.zoned.is_none())?;
    if matches!(group.measure.rule, Rule::Span { .. } | Rule::Adaptive { .. }) && !run.throughput.sustained {
        let (time, bytes) = (duration(run.seconds), decimal_bytes(run.bytes));
        return Some(format!(
            "This is the speed over {time} ({bytes}), not what the drive keeps up for hours."
        ));
    }
    let steady = run.throughput.cliffs.is_empty() && run.throughput.reason != Some(Reason::Drifting);
    let no_step =
        || format!("No step of {} or more up to {}. ", percent(Cliff::STEP), decimal_bytes(u.clean_bytes));
    let no_step = if steady { no_step() } else { String::new() };
    let (rare, each, cost) = (size(u.rarer_than), duration(Unseen::STALL_SECONDS), percent(u.cost_share));
    Some(format!(
        "{no_step}Stalls rarer than one in {rare} can't be excluded; at {each} each they would cost up to {cost}."
    ))
}

/// Which part of the target the speed is of.
fn elsewhere(group: &Group<'_>) -> Option<String> {
    let (used, whole) = group.part().filter(|(used, whole)| used < whole)?;
    let of = match group.target.kind {
        Kind::Directory => "the filesystem",
        Kind::File => "the file",
        Kind::BlockDevice => "the device",
    };
    let (share, used, whole) =
        (percent(used as f64 / whole as f64), decimal_bytes(used), decimal_bytes(whole));
    Some(format!("It used {used} of the {whole} of {of} ({share}); other parts may be faster or slower."))
}

fn tail(run: &Summary) -> Option<String> {
    let LatencyPercentile { operations, effective, needed, estimate, .. } = run.tail.percentile(0.9999)?;
    let clustered = if effective < operations { ", because slow ones come in clusters" } else { "" };
    (!estimate.high.is_finite()).then(|| {
        format!("The 99.99th percentile is not resolvable with {operations} operations: it needs {needed}{clustered}.")
    })
}

/// Targets in order of speed under one load; equal where the difference may be chance.
fn ranking(label: &str, groups: &[&Group<'_>]) -> Option<(String, Ties)> {
    let same: Vec<&Group<'_>> = groups.iter().copied().filter(|g| g.measure.label == label).collect();
    if same.len() < 2 {
        return None;
    }
    // What one run shows may be otherwise in the next.
    let estimate = |g: &&Group<'_>| match g.runs.len() {
        1 => compare::across_runs(&g.estimate, None),
        _ => g.estimate.clone(),
    };
    let speeds: Vec<(&str, Estimate)> = same.iter().map(|g| (g.target.given.as_str(), estimate(g))).collect();
    ranked(label, &speeds, |a, b| by_chance(same[a], same[b]).unwrap_or_default())
}

/// Names and speeds in order; `repeated` says more of the first and the last.
fn ranked(
    label: &str,
    speeds: &[(&str, Estimate)],
    repeated: impl Fn(usize, usize) -> String,
) -> Option<(String, Ties)> {
    let estimates: Vec<Estimate> = speeds.iter().map(|(_, e)| e.clone()).collect();
    let name = |&i: &usize| format!("{} ({})", speeds[i].0, rate(speeds[i].1.value));
    let places = compare::rank(&estimates);
    let tied = |place: &Vec<usize>| place.iter().map(name).collect::<Vec<_>>().join(" = ");
    let (best, worst) = (*places.first()?.first()?, *places.last()?.last()?);
    let ratio = compare::ratio(&estimates[best], &estimates[worst])?.estimate;
    let times = format!("{:.2} times", ratio.value);
    if let [all] = &places[..] {
        let names = all.iter().map(name).collect::<Vec<_>>().join(" and ");
        let text = match Difference::of(&ratio) {
            Difference::Unknown => {
                format!("{label}: {names} can't be ranked without intervals; the first is {times} the last.")
            }
            Difference::TooWide => format!(
                "{label}: too noisy to rank {names}; the first is {times} the last ({}).",
                ratio.range(|x| format!("{x:.2}"))
            ),
            Difference::Found | Difference::NotFound => {
                format!("{label}: no difference found between {names}.")
            }
        };
        return Some((text, Ties::None));
    }
    let order = places.iter().map(tied).collect::<Vec<_>>().join(" > ");
    let interval =
        if ratio.is_bounded() { format!(" ({})", ratio.range(|x| format!("{x:.2}"))) } else { String::new() };
    let ties = match places.iter().any(|p| p.len() > 1) {
        true if estimates.iter().all(Estimate::is_bounded) => Ties::Alike,
        true => Ties::Open,
        false => Ties::None,
    };
    let repeated = repeated(best, worst);
    Some((format!("{label}: {order}; the first is {times} the last{interval}.{repeated}"), ties))
}

/// What `=` stands for in a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ties {
    None,
    /// The intervals overlap.
    Alike,
    /// A speed has no interval.
    Open,
}

impl Ties {
    fn legend(self) -> Option<String> {
        let means = match self {
            Self::None => return None,
            Self::Alike => "no difference found",
            Self::Open => "that no order is known",
        };
        Some(format!("'=' means {means}."))
    }
}

/// The exact permutation test of the runs; it needs four runs each for the 5 % level.
fn by_chance(a: &Group<'_>, b: &Group<'_>) -> Option<String> {
    let speeds = |g: &Group<'_>| g.runs.iter().map(|r| r.estimate.value).collect::<Vec<_>>();
    let (a, b) = (speeds(a), speeds(b));
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (n, m) = (a.len(), b.len());
    let least = compare::smallest_p(n, m);
    if least > 0.05 {
        return Some(format!(
            " Judged by the intervals: {n} runs against {m} are too few for the exact test (p is {least:.2} at best)."
        ));
    }
    let p = compare::permutation_p(&a, &b)?;
    Some(format!(" Exact test of the runs: p = {p:.3}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::repeat;

    fn ranking(speeds: &[(f64, f64, f64)]) -> (String, Ties) {
        let of = |&(value, low, high): &(f64, f64, f64)| {
            ("a", Estimate { low, high, ..Estimate::unbounded(value, "") })
        };
        ranked("read", &speeds.iter().map(of).collect::<Vec<_>>(), |_, _| String::new()).expect("two")
    }

    #[test]
    fn drives_are_called_equal_only_where_their_intervals_say_so() {
        let (equal, _) = ranking(&[(1e6, 0.9e6, 1.1e6), (1.05e6, 0.95e6, 1.15e6)]);
        assert!(equal.contains("no difference found"), "{equal}");
        let open = (0.0, f64::INFINITY);
        let (unknown, _) = ranking(&[(149e6, open.0, open.1), (1e6, open.0, open.1)]);
        assert!(unknown.contains("can't be ranked") && unknown.contains("149.00 times"), "{unknown}");
        let (wide, _) = ranking(&[(3e6, 1e6, 9e6), (1e6, 0.3e6, 3e6)]);
        assert!(wide.contains("too noisy to rank") && wide.contains("3.00 times"), "{wide}");
        // Without an interval, the second is no worse than the first.
        let (tied, ties) = ranking(&[(9e6, 8.9e6, 9.1e6), (8e6, open.0, open.1), (1e6, 0.9e6, 1.1e6)]);
        assert!(tied.contains('=') && ties == Ties::Open, "{tied}");
    }

    #[test]
    fn one_repetition_of_a_set_of_files_does_not_vary() {
        let of = |speeds: &[f64]| scatters(&repeat::typical(speeds).expect("positive"), 0.05);
        assert_eq!([of(&[1e6]), of(&[1e6, 1.01e6, 1e6]), of(&[1e6, 2e6, 1.5e6])], [false, false, true]);
    }

    #[test]
    fn a_row_without_an_interval_is_counted() {
        let row = |varied, ended, open| Row { varied, ended, open, wide: varied };
        let rows = [row(true, false, true), row(false, true, false), row(false, false, true)];
        let said = counted(&rows, "5 %");
        assert!(said.contains("1 of 3 loads varied") && said.contains("1 of 3 loads ended early"), "{said}");
        assert!(said.ends_with("1 of 3 loads gave no interval: too short, or measured once."), "{said}");
        assert!(row(false, false, false).is_settled() && !rows[2].is_settled());
        assert!(!said.contains("runs differ"), "{said}");
        let wider = Row { wide: true, ..row(false, false, false) };
        let said = counted(&[row(true, false, false), wider], "5 %");
        assert!(
            said.contains("1 of 2 loads varied too much for ±5 % within the run; other intervals"),
            "{said}"
        );
    }

    #[test]
    fn all_rows_of_the_table_are_counted() {
        let said = |wide: &[bool]| which(wide).unwrap_or_default();
        assert_eq!(said(&[true, false, true]), "2 of 3 loads");
        assert_eq!(said(&[true, true]) + &said(&[true]), "All loadsThe load");
        assert_eq!(said(&[false]) + &said(&[]), "");
    }
}
