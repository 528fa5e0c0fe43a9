//! Findings of pagecache.

use super::{
    super::common::{self, Group, ONE_RUN, Series, named},
    plan::{NAIVE_READ, NAIVE_WRITE, TRUE_READ, TRUE_WRITE, WAYS, Way},
};
use crate::{
    analyse::{
        Estimate,
        compare::{self, Difference},
        repeat,
    },
    findings::{Column, Findings, Metric, Quantity, Reference, Table},
    plan::{Plan, Rule},
    record::Run,
    target::Target,
    units::{Caching, Direction, rate, size},
};

/// The run without flags of memory, which is the ceiling on purpose.
pub(super) fn unflagged(mut run: Run<Series>) -> Run<Series> {
    if let Some(plan) = run.plan.as_ref().filter(|plan| plan.targets.iter().any(|t| !t.is_memory())) {
        let memory = |at| plan.targets.get(at).is_some_and(Target::is_memory);
        run.flags.retain(|flag| !flag.conditions_of.is_some_and(memory));
    }
    run
}

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    let mut groups = common::group(run, plan);
    for group in &mut groups {
        // Runs through the page cache may differ by factors, so the mean is taken on a log scale.
        group.estimate = repeat::typical(&group.speeds()).unwrap_or_else(|| group.estimate.clone());
    }
    let ceiling: Vec<&Group<'_>> = groups.iter().filter(|g| g.target.is_memory()).collect();
    let drives = plan.targets.iter().filter(|t| !t.is_memory()).count();
    for (at, target) in plan.targets.iter().enumerate().filter(|(_, t)| !t.is_memory()) {
        let own: Vec<&Group<'_>> = groups.iter().filter(|g| g.at == at).collect();
        if own.is_empty() {
            continue;
        }
        findings.tables.push(table(if drives > 1 { &target.given } else { "" }, &own, &ceiling));
        findings.verdicts.extend(sentences(&own).into_iter().map(|text| named(drives > 1, target, text)));
    }
    findings.verdicts.extend(memory(&groups));
    findings.verdicts.extend(advice(&groups));
    findings.estimates = groups.iter().flat_map(|g| metrics(g, &groups)).collect();
}

fn way(group: &Group<'_>) -> Option<&'static Way> {
    // A direct load that fell back to the page cache is left out.
    let same = |w: &&Way| w.label == group.measure.label && w.caching == group.measure.load.caching;
    WAYS.iter().find(same)
}

fn of<'a>(groups: &[&'a Group<'a>], label: &str) -> Option<&'a Group<'a>> {
    groups.iter().copied().find(|g| g.measure.label == label && way(g).is_some())
}

/// The drive's own speed in this direction.
fn truth<'a>(own: &[&'a Group<'a>], direction: Direction) -> Option<&'a Group<'a>> {
    let label = if direction == Direction::Write { TRUE_WRITE } else { TRUE_READ };
    of(own, label).filter(|group| group.load.missed.is_none())
}

fn table(title: &str, own: &[&Group<'_>], ceiling: &[&Group<'_>]) -> Table {
    let columns = Column::all([("", false), ("speed", false), ("vs drive", true), ("runs", true)]);
    let row = |name: String, group: &Group<'_>| {
        let true_speed = truth(own, group.measure.load.direction).map(|g| &g.estimate);
        let times = true_speed.and_then(|t| compare::ratio(&group.estimate, t));
        let times = times.map_or(String::new(), |r| match Difference::in_multiples(&r.estimate) {
            Difference::TooWide => "too noisy".to_owned(),
            _ => times_of(r.estimate.value),
        });
        vec![name, group.estimate.text(rate), times, group.runs.len().to_string()]
    };
    let ways = own.iter().filter_map(|g| Some(row(way(g)?.label.to_owned(), g)));
    let memory = ceiling.iter().map(|g| row(format!("{}, memory", g.measure.label), g));
    let amount = own.iter().find_map(|g| match g.measure.rule {
        Rule::Fixed { bytes, .. } => Some(format!("{} each, repeated", size(bytes))),
        _ => None,
    });
    let title = [Some(title.to_owned()).filter(|t| !t.is_empty()), amount].into_iter().flatten();
    let title = title.collect::<Vec<_>>().join(", ");
    Table { title, columns, rows: ways.chain(memory).collect() }
}

/// A multiple, such as `9.1 times`.
fn times_of(ratio: f64) -> String {
    if ratio < 9.95 { format!("{ratio:.1} times") } else { format!("{ratio:.0} times") }
}

fn sentences(own: &[&Group<'_>]) -> Vec<String> {
    let pairs = [
        ("Writes", "a plain dd would report", NAIVE_WRITE, Direction::Write, "with fsync"),
        ("Reads", "a second dd would report", NAIVE_READ, Direction::Read, "cold"),
    ];
    let sentence = |(verb, naively, naive, direction, how): (&str, &str, &str, Direction, &str)| {
        let (real, naive) = (truth(own, direction)?, of(own, naive)?);
        let [real_speed, claim] = [real, naive].map(|g| g.estimate.sentence(rate, ONE_RUN));
        let wrong = wrong_by(&naive.estimate, &real.estimate);
        Some(format!("{verb}: {naively} {claim}; the drive does {real_speed} {how}: {wrong}."))
    };
    // The page cache answers the naive ways on purpose.
    let is_naive = |group: &Group<'_>| [NAIVE_WRITE, NAIVE_READ].contains(&group.measure.label.as_str());
    let real: Vec<&Group<'_>> = own.iter().copied().filter(|group| !is_naive(group)).collect();
    common::not_of_the_drive(&real).into_iter().chain(pairs.into_iter().filter_map(sentence)).collect()
}

fn wrong_by(claim: &Estimate, real: &Estimate) -> String {
    let Some(ratio) = compare::ratio(claim, real) else { return "no comparison".to_owned() };
    let e = &ratio.estimate;
    match Difference::in_multiples(e) {
        Difference::TooWide | Difference::Unknown => "too few or too noisy runs to compare".to_owned(),
        Difference::Found if e.value > 1.0 => {
            format!("{} too high ({})", times_of(e.value), e.range(|x| format!("{x:.1}")))
        }
        Difference::Found => format!("{:.2} times that ({})", e.value, e.range(|x| format!("{x:.2}"))),
        Difference::NotFound => format!("no difference found ({} times)", e.range(|x| format!("{x:.1}"))),
    }
}

/// How fast memory is, and what that says of the drives.
fn memory(groups: &[Group<'_>]) -> Option<String> {
    let ceiling: Vec<&Group<'_>> = groups.iter().filter(|g| g.target.is_memory()).collect();
    let speed = |label| of(&ceiling, label).map(|g| g.estimate.sentence(rate, ONE_RUN));
    let (write, read) = speed(NAIVE_WRITE).zip(speed(NAIVE_READ))?;
    Some(format!("Memory writes {write} and reads {read}: a similar figure may be that of memory."))
}

fn advice(groups: &[Group<'_>]) -> Option<String> {
    let wrote = groups.iter().any(|g| g.measure.load.caching == Caching::BufferedFsync);
    let read = "read with iflag=direct, or after `echo 3 > /proc/sys/vm/drop_caches`";
    let write = if wrote { "write with conv=fsync or oflag=direct, " } else { "" };
    (!groups.is_empty()).then(|| format!("To measure the drive with dd: {write}{read}."))
}

fn metrics(group: &Group<'_>, all: &[Group<'_>]) -> Vec<Metric> {
    let metric = |quantity, estimate| Metric::new(&group.target.given, quantity, estimate).of(&group.load);
    let label = &group.measure.label;
    let mut metrics = vec![metric(Quantity::Throughput, group.estimate.clone())];
    let own: Vec<&Group<'_>> = all.iter().filter(|g| g.at == group.at).collect();
    let real = truth(&own, group.measure.load.direction);
    if [NAIVE_WRITE, NAIVE_READ].contains(&label.as_str()) {
        let ratio = real.and_then(|real| compare::ratio(&group.estimate, &real.estimate));
        metrics.extend(ratio.map(|r| metric(Quantity::RelativeSpeed(Reference::Drive), r.estimate)));
    }
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiple_with_a_wide_interval_is_too_noisy_to_say() {
        let of = |value, low, high| {
            let real = Estimate { low: 1.0, high: 1.0, ..Estimate::unbounded(1.0, "") };
            wrong_by(&Estimate { low, high, ..Estimate::unbounded(value, "") }, &real)
        };
        assert!(of(9.0, 8.0, 10.0).starts_with("9.0 times too high"), "{}", of(9.0, 8.0, 10.0));
        assert!(of(1.1, 0.9, 1.3).starts_with("no difference found (0."), "{}", of(1.1, 0.9, 1.3));
        for (value, low, high) in [(14.0, 1.3, 152.3), (3.9, 0.5, 30.0)] {
            let said = of(value, low, high);
            assert!(said.starts_with("too few or too noisy runs") && !said.contains("times"), "{said}");
        }
    }
}
