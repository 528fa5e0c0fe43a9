//! Findings of swap: how far memory can be overcommitted with each medium, and what that costs.

use super::{
    super::common::Series,
    act::{MakeSwapArea, SwapWhat, SwapWork, UseSwap},
    footprint::{Footprint, LONGER, footprint, time},
    result::{SwapAreaResult, SwapLoadResult},
};
use crate::{
    analyse::{Estimate, repeat},
    findings::{Axis, Column, Curve, Figure, Findings, Metric, Point, Quantity, Style, Table, Unit, short},
    plan::{Plan, Step},
    record::Run,
    units::{Histogram, MIB, count, decimal_bytes, duration, listed, percent, rate},
};

/// A wait from which people say that the machine hangs, s.
const HANGS: f64 = 1.0;
/// The load whose writes and waits are shown: half more than there is.
const TYPICAL: u32 = 150;

/// What the columns say.
const LEGEND: &str = "'memory, times': how many times the memory that it may have a program can use before its requests take 10 times as long as with 0.5 times, when all \
    fits. A request touches 16 pages anywhere and works a little. 'longest wait': the longest request or touch of all loads beyond what fits. 'request': of the load that uses 1.5 times its \
    memory, half of them took less, and 99 % took less than '99 %'. 'written/h': in an hour to the medium, if that load went on; zram writes to no drive. 'waiting': the part of the time in which \
    the program waited for memory (PSI full).";

/// One medium.
struct Case<'a> {
    given: &'a str,
    area: &'a MakeSwapArea,
    /// Names and values of the kernel's settings for swap.
    settings: &'a [(String, String)],
    loads: Vec<Load<'a>>,
    footprint: Option<Footprint>,
}

/// A load on a medium.
pub(super) struct Load<'a> {
    pub act: &'a UseSwap,
    pub result: &'a SwapLoadResult,
}

pub(super) fn results<'p>(findings: &mut Findings, run: &mut Run<Series>, plan: &'p Plan) {
    let cases: Vec<Case<'_>> = plan
        .acts::<MakeSwapArea>()
        .filter_map(|(step, area)| {
            let at = step.targets().next()?;
            let settings = &run.acts.get(&(step.id, at))?.get::<SwapAreaResult>()?.settings;
            let on_it = plan.acts::<UseSwap>().filter(|(step, _)| step.is_on(at));
            let load = |(step, act): (&Step, &'p UseSwap)| {
                Some(Load { act, result: run.acts.get(&(step.id, at))?.get()? })
            };
            let loads: Vec<Load<'_>> = on_it.filter_map(load).collect();
            let footprint = footprint(&loads, most_used(plan));
            Some(Case { given: &plan.targets[at].given, area, settings, loads, footprint })
        })
        .collect();
    let Some((_, first)) = plan.acts::<UseSwap>().next().filter(|_| !cases.is_empty()) else { return };
    findings.verdicts.extend(verdicts(&cases));
    findings.tables.extend([summary(&cases), speeds(plan, &cases)]);
    findings.figures.extend(figure(plan, &cases));
    for case in &cases {
        findings.estimates.extend(case.metrics());
        let mut settings: Vec<String> =
            case.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let others = case.loads.iter().map(|load| load.result.others).max().filter(|bytes| *bytes > 0);
        settings.extend(
            others.map(|bytes| format!("of other programs in the area, at most {}", decimal_bytes(bytes))),
        );
        let settings = (!settings.is_empty()).then(|| format!("{}: {}.", case.given, settings.join(", ")));
        findings.details.sentences.extend(settings);
        if case.loads.iter().any(|load| load.result.is_unwatched) {
            findings.flags.push(format!(
                "{}: whether other programs had to wait was not watched: this kernel does not count that (PSI); psi=1 on its command line may help.",
                case.given
            ));
        }
    }
    findings.details.sentences.push(LEGEND.to_owned());
    findings.context.push(format!(
        "a program with {} of memory, {} % of each page incompressible",
        decimal_bytes(first.memory),
        first.random
    ));
}

impl Case<'_> {
    /// The repetitions of a load that ended by themselves.
    fn repetitions(&self, what: SwapWhat, percent: u32) -> impl Iterator<Item = &Load<'_>> {
        let is_it = move |load: &&Load<'_>| load.act.work == (SwapWork { what, percent });
        self.loads.iter().filter(is_it).filter(|load| load.result.ended.is_none())
    }

    /// Why the medium was not measured to the end.
    fn ended(&self) -> Option<&str> {
        self.loads.iter().find_map(|load| load.result.ended.as_deref())
    }

    /// The longest operation of all loads that use more than there is, s.
    fn longest(&self) -> Option<f64> {
        let is_beyond =
            |load: &&Load<'_>| load.act.work.percent > 100 && load.act.work.what != SwapWhat::Sweep;
        let all = self.loads.iter().filter(is_beyond);
        all.filter_map(|load| load.result.latency.max()).max().map(|ns| ns as f64 / 1e9)
    }

    /// The median over runs of a number of each load.
    fn middle(
        &self,
        what: SwapWhat,
        percent: u32,
        number: impl Fn(&Load<'_>) -> Option<f64>,
    ) -> Option<Estimate> {
        repeat::middle(&self.repetitions(what, percent).filter_map(number).collect::<Vec<f64>>())
    }

    /// None of so few requests that it would be the longest one.
    fn quantile(&self, q: f64) -> Option<f64> {
        let mut all = Histogram::default();
        self.repetitions(SwapWhat::Requests, TYPICAL).for_each(|load| all.merge(&load.result.latency));
        let enough = all.count() as f64 * (1.0 - q) >= 1.0;
        all.quantile(q).filter(|_| enough).map(|ns| ns as f64 / 1e9)
    }

    /// It was ended, and nobody asked for that.
    fn was_stopped(&self) -> bool {
        self.loads.iter().any(|load| load.result.ended.is_some() && !load.result.is_enough)
    }

    fn is_zram(&self) -> bool {
        self.area.medium.is_zram()
    }

    /// Bytes in an hour of requests with half more than there is.
    fn written_in_an_hour(&self) -> Option<Estimate> {
        let in_an_hour = |load: &Load<'_>| {
            load.result.written.map(|written| written as f64 / load.result.seconds * 3600.0)
        };
        self.middle(SwapWhat::Requests, TYPICAL, in_an_hour).filter(|_| !self.is_zram())
    }

    fn metrics(&self) -> Vec<Metric> {
        let new = |quantity, estimate| Metric::new(self.given, quantity, estimate);
        let used = self.footprint.as_ref().map(|footprint| match footprint {
            Footprint::Of(estimate) => estimate.clone(),
            Footprint::AtLeast(least) => {
                Estimate::between(*least, [*least, f64::INFINITY], "not reached in all runs")
            }
        });
        let longest = self.longest().map(|longest| Estimate::unbounded(longest, "the longest of all"));
        let all = [
            (Quantity::MemoryUsed, used),
            (Quantity::LongestOperation, longest),
            (Quantity::SwappedInAnHour, self.written_in_an_hour()),
        ];
        all.into_iter().filter_map(|(quantity, estimate)| Some(new(quantity, estimate?))).collect()
    }

    fn times(&self) -> String {
        match &self.footprint {
            Some(Footprint::Of(estimate)) => estimate.text(|value| format!("{value:.2}")),
            Some(Footprint::AtLeast(least)) => format!("at least {least:.2}"),
            None => "-".to_owned(),
        }
    }
}

fn summary(cases: &[Case<'_>]) -> Table {
    let row = |case: &Case<'_>| {
        let seconds = |q: f64| case.quantile(q).map_or("-".to_owned(), duration);
        let waiting =
            case.middle(SwapWhat::Requests, TYPICAL, |load| Some(load.result.stalled? / load.result.seconds));
        vec![
            short(case.given),
            case.times(),
            case.longest().map_or("-".to_owned(), duration),
            seconds(0.5),
            seconds(0.99),
            waiting.map_or("-".to_owned(), |share| percent(share.value)),
            match case.written_in_an_hour() {
                Some(written) => decimal_bytes(written.value as u64),
                None if case.is_zram() => "nothing".to_owned(),
                None => "-".to_owned(),
            },
        ]
    };
    let mut columns = Column::all([
        ("swap on", false),
        ("memory, times", true),
        ("longest wait", true),
        ("request", true),
        ("99 %", true),
        ("waiting", true),
        ("written/h", true),
    ]);
    columns[5].optional = true;
    Table { title: String::new(), columns, rows: cases.iter().map(row).collect() }
}

/// The loads of a repetition.
fn works(plan: &Plan) -> Vec<SwapWork> {
    let first = plan.acts::<UseSwap>().map(|(_, act)| act).take_while(|act| act.run == 1);
    first.map(|act| act.work).collect()
}

/// The most that requests use, in percent of what the program may have.
fn most_used(plan: &Plan) -> u32 {
    let requests = works(plan).into_iter().filter(|work| work.what == SwapWhat::Requests);
    requests.map(|work| work.percent).max().unwrap_or(0)
}

/// What each load moved.
fn speeds(plan: &Plan, cases: &[Case<'_>]) -> Table {
    let works = works(plan);
    let name = |what: SwapWhat, percent: u32| format!("{} {:.2}×", what.words(), f64::from(percent) / 100.0);
    let mut columns = Column::all([("swap on", false)]);
    columns.extend(works.iter().map(|work| Column::new(&name(work.what, work.percent), true)));
    let row = |case: &Case<'_>| {
        let cell = |what: SwapWhat, percent: u32| {
            let each = |load: &Load<'_>| Some(load.result.operations as f64 / load.result.seconds);
            let speed = case.middle(what, percent, each)?.value;
            // A piece of a sweep has 1 MiB.
            Some(if what == SwapWhat::Sweep { rate(speed * MIB as f64) } else { format!("{speed:.0}/s") })
        };
        let cells = works.iter().map(|work| cell(work.what, work.percent).unwrap_or("-".to_owned()));
        std::iter::once(short(case.given)).chain(cells).collect::<Vec<_>>()
    };
    Table {
        title: "Requests, pages touched and bytes swept, by how many times its memory the program uses"
            .to_owned(),
        columns,
        rows: cases.iter().map(row).collect(),
    }
}

/// Times of requests over the memory that is used.
fn figure(plan: &Plan, cases: &[Case<'_>]) -> Option<Figure> {
    let works = works(plan);
    let curve = |case: &Case<'_>| {
        let all = || works.iter().filter(|work| work.what == SwapWhat::Requests);
        let middle = |percent| case.middle(SwapWhat::Requests, percent, time).map(|e| e.value);
        let fits = middle(all().next()?.percent)?;
        let point = |percent: u32| Some(Point::new(f64::from(percent) / 100.0, middle(percent)? / fits));
        let points: Vec<Point> = all().filter_map(|work| point(work.percent)).collect();
        Some(Curve::new(case.given, Style::Line, points))
    };
    let curves: Vec<Curve> = cases.iter().filter_map(curve).collect();
    let runs = plan.acts::<UseSwap>().map(|(_, act)| act.run).max()?;
    (!curves.is_empty()).then(|| Figure {
        title: "How much longer requests take".to_owned(),
        text: format!(
            "Where a line crosses {LONGER:.0}, requests take {LONGER:.0} times as long as when all fits into memory."
        ),
        n: format!("medians of {}", count(u64::from(runs), "run")),
        x: Axis::of("memory used, as a multiple of what is allowed", Unit::None),
        y: Axis::of("time of a request, as a multiple of that in memory", Unit::None).log(),
        curves,
        ..Figure::default()
    })
}

/// The best one first, or that there is none; then what hangs.
fn verdicts(cases: &[Case<'_>]) -> Vec<String> {
    let mut known: Vec<&Case<'_>> = cases.iter().filter(|case| case.footprint.is_some()).collect();
    let value = |case: &Case<'_>| match &case.footprint {
        Some(Footprint::Of(estimate)) => estimate.value,
        Some(Footprint::AtLeast(least)) => *least,
        None => 0.0,
    };
    let wait = |case: &Case<'_>| case.longest().unwrap_or(f64::INFINITY);
    // What makes something wait that long is not named first, however much memory a program can use with it; nor is what had to be ended.
    let hangs =
        |case: &Case<'_>| case.was_stopped() || case.longest().is_some_and(|longest| longest >= HANGS);
    let by_memory =
        |a: &&Case<'_>, b: &&Case<'_>| value(b).total_cmp(&value(a)).then(wait(a).total_cmp(&wait(b)));
    known.sort_by(|a, b| hangs(a).cmp(&hangs(b)).then(by_memory(a, b)));
    // Nothing that is as good in other ways is clearly better than these.
    let calm = known.iter().filter(|case| hangs(case) == hangs(known[0]));
    let first: Vec<&Case<'_>> =
        calm.clone().filter(|case| !calm.clone().any(|other| is_better(other, case))).copied().collect();
    let all_hang = known.first().is_some_and(|case| hangs(case)) && known.len() > 1;
    let mut said = Vec::new();
    if all_hang {
        let stopped = known.iter().any(|case| case.was_stopped());
        let ended = if stopped { ", or the test had to be ended" } else { "" };
        said.push(format!("On each of these something waited for {} or more{ended}.", duration(HANGS)));
    }
    let until = format!("before its requests take {LONGER:.0} times as long");
    match &first[..] {
        [] => {}
        [best] => {
            let longest = best.longest().map_or("not known".to_owned(), duration);
            let head = match (known.len(), all_hang) {
                (1, _) => format!("With swap on {}", best.given),
                (_, true) => format!("Most memory can be used with {}: there", best.given),
                (_, false) => format!("Swap goes first on {}: there", best.given),
            };
            said.push(format!(
                "{head} a program can use {} times its memory {until}; the longest wait was {longest}.",
                best.times()
            ));
        }
        several => {
            let each: Vec<String> = several.iter().map(|case| in_words(case)).collect();
            said.push(format!(
                "No difference was found in how much memory a program can use {until}: {} of what it may have.",
                listed(&each)
            ));
            let zram = several.iter().filter(|case| case.is_zram() && !all_hang);
            let zram: Vec<String> = zram.map(|case| case.given.to_owned()).collect();
            let write = if zram.len() == 1 { "writes" } else { "write" };
            said.extend(
                (!zram.is_empty()).then(|| format!("Of these, {} {write} to no drive.", listed(&zram))),
            );
        }
    }
    let others = known.iter().filter(|case| !first.iter().any(|best| best.given == case.given));
    let others: Vec<String> = others.map(|case| in_words(case)).collect();
    said.extend((!others.is_empty()).then(|| format!("Others: {}.", others.join(", "))));
    let ended = cases.iter().filter_map(|case| {
        let why = case.ended()?;
        let not = if case.was_stopped() { "Not on" } else { "Less is known of" };
        Some(format!("{not} {}: its test was ended early, because {why}.", case.given))
    });
    said.extend(ended);
    let hanging = cases.iter().filter_map(|case| Some((case.given, case.longest()?)));
    said.extend(hanging.filter(|(_, longest)| *longest >= HANGS).map(|(given, longest)| {
        format!("Not on {given} where something must answer: one wait lasted {}.", duration(longest))
    }));
    said
}

fn in_words(case: &Case<'_>) -> String {
    format!("{} {} times", case.given, case.times())
}

/// Whether the intervals show it.
fn is_better(best: &Case<'_>, next: &Case<'_>) -> bool {
    match (&best.footprint, &next.footprint) {
        (Some(Footprint::Of(a)), Some(Footprint::Of(b))) => a.low > b.high,
        // Of one that was ended early, some loads are missing.
        (Some(Footprint::AtLeast(least)), Some(Footprint::Of(b))) => {
            best.ended().is_none() && *least > b.high
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::act::SwapMedium, *};

    /// A medium with which a program can use so many times its memory at least, and whose longest wait lasted so long, s.
    fn said(media: &[(&'static str, f64, f64)]) -> Vec<String> {
        said_of(media, None)
    }

    /// The first of them was ended early, for this reason.
    fn said_of(media: &[(&'static str, f64, f64)], ended: Option<&str>) -> Vec<String> {
        let area = MakeSwapArea { medium: SwapMedium::File, area: 1 << 27, memory: 1 << 26, most: 1 << 32 };
        let work = SwapWork { what: SwapWhat::Requests, percent: 150 };
        let act = UseSwap { work, run: 1, memory: 1 << 26, random: 50, seconds: 1.0, seed: 1 };
        let result = |longest: f64| {
            let mut latency = Histogram::default();
            latency.add((longest * 1e9) as u64, 1);
            SwapLoadResult { seconds: 1.0, operations: 1, latency, ..SwapLoadResult::default() }
        };
        let all: Vec<SwapLoadResult> = media.iter().map(|(.., longest)| result(*longest)).collect();
        let stopped = SwapLoadResult { ended: ended.map(str::to_owned), ..SwapLoadResult::default() };
        let case = |(at, (given, least, _)): (usize, &(&'static str, f64, f64))| Case {
            given,
            area: &area,
            settings: &[],
            loads: [&all[at], &stopped]
                .map(|result| Load { act: &act, result })
                .into_iter()
                .take(if at == 0 { 2 } else { 1 })
                .collect(),
            footprint: Some(Footprint::AtLeast(*least)),
        };
        verdicts(&media.iter().enumerate().map(case).collect::<Vec<_>>())
    }

    #[test]
    fn what_makes_something_wait_is_not_named_first() {
        let verdicts = said(&[("stick", 2.0, 2.64), ("card", 1.5, 0.2)]);
        assert!(verdicts[0].starts_with("Swap goes first on card: there"), "{verdicts:#?}");
        assert_eq!(verdicts[1], "Others: stick at least 2.00 times.");
        assert!(verdicts[2].starts_with("Not on stick"), "{verdicts:#?}");
        let verdicts = said(&[("stick", 2.0, 2.64), ("card", 1.5, 1.2)]);
        assert_eq!(verdicts[0], "On each of these something waited for 1 s or more.");
        // What had to be ended is not named first, whatever it could do until then.
        let verdicts = said_of(&[("stick", 2.0, 0.1), ("card", 1.5, 0.2)], Some("it took too long"));
        assert!(verdicts[0].starts_with("Swap goes first on card: there"), "{verdicts:#?}");
        assert!(
            verdicts
                .contains(&"Not on stick: its test was ended early, because it took too long.".to_owned()),
            "{verdicts:#?}"
        );
    }

    #[test]
    fn at_least_is_no_order() {
        let verdicts = said(&[("stick", 2.0, 0.1), ("zram", 1.1, 0.05), ("card", 1.3, 0.2)]);
        assert_eq!(
            verdicts,
            [
                "No difference was found in how much memory a program can use before its requests take 10 times as long: stick at least 2.00 times, card at \
              least 1.30 times and zram at least 1.10 times of what it may have."
            ]
        );
        let verdicts = said(&[("stick", 2.0, 2.0), ("card", 1.1, 1.5)]);
        assert!(verdicts[1].starts_with("No difference was found"), "{verdicts:#?}");
        let alone = said(&[("stick", 2.0, 0.1)]);
        assert_eq!(
            alone,
            [
                "With swap on stick a program can use at least 2.00 times its memory before its requests take 10 times as long; the longest wait was 100 ms."
            ]
        );
    }
}
