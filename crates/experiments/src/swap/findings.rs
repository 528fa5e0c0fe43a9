//! Findings of swap: how far memory can be overcommitted with each medium, and at what cost.

use super::{
    super::common::Series,
    act::{MakeSwapArea, SwapLoadResult, UseSwap},
    footprint::{LONGER, footprint},
};
use crate::{
    analyse::{Estimate, repeat},
    findings::{
        Column, Findings, Measures, Metric, Quantity, Table,
        fitness::{Need, SwapTest, Use, Verdict},
        short,
    },
    plan::{Plan, Step},
    record::Run,
    units::{Histogram, decimal_bytes, duration, listed},
};

/// The load whose writes and waits are shown: half more than there is.
const TYPICAL: u32 = 150;

/// One medium.
struct Case<'a> {
    given: &'a str,
    area: &'a MakeSwapArea,
    loads: Vec<Load<'a>>,
    /// Usable memory as a multiple of the limit, of which only the lower end may be known.
    footprint: Option<Estimate>,
}

/// A load on a medium.
pub(super) struct Load<'a> {
    pub act: &'a UseSwap,
    pub result: &'a SwapLoadResult,
}

pub(super) fn results<'p>(findings: &mut Findings, run: &mut Run<Series>, plan: &'p Plan) {
    let most = plan.acts::<UseSwap>().map(|(_, act)| act.percent).max().unwrap_or(0);
    let cases: Vec<Case<'_>> = plan
        .acts::<MakeSwapArea>()
        .filter_map(|(step, area)| {
            let at = step.targets().next()?;
            run.acts.get(&(step.id, at))?;
            let on_it = plan.acts::<UseSwap>().filter(|(step, _)| step.is_on(at));
            let load = |(step, act): (&Step, &'p UseSwap)| {
                Some(Load { act, result: run.acts.get(&(step.id, at))?.get()? })
            };
            let loads: Vec<Load<'_>> = on_it.filter_map(load).collect();
            let footprint = footprint(&loads, most);
            Some(Case { given: &plan.targets[at].given, area, loads, footprint })
        })
        .collect();
    let Some((_, first)) = plan.acts::<UseSwap>().next().filter(|_| !cases.is_empty()) else { return };
    findings.verdicts.extend(verdicts(&cases));
    findings.tables.push(summary(&cases));
    for case in &cases {
        findings.estimates.extend(case.metrics());
        findings.judge(case.given, case.measures(), &[Use::Swap]);
    }
    findings.context.push(format!(
        "a program with {} of memory, {} % of each page incompressible",
        decimal_bytes(first.memory),
        first.random
    ));
}

impl Case<'_> {
    /// The repetitions of the typical load that ended by themselves.
    fn typical(&self) -> impl Iterator<Item = &Load<'_>> {
        let is_typical = |load: &&Load<'_>| load.act.percent == TYPICAL && load.result.ended.is_none();
        self.loads.iter().filter(is_typical)
    }

    /// The longest request of all loads that use more than there is, s.
    fn longest(&self) -> Option<f64> {
        let all = self.loads.iter().filter(|load| load.act.percent > 100);
        all.filter_map(|load| load.result.latency.max()).max().map(|ns| ns as f64 / 1e9)
    }

    /// None of so few requests that it would be the longest one.
    fn quantile(&self, q: f64) -> Option<f64> {
        let mut all = Histogram::default();
        self.typical().for_each(|load| all.merge(&load.result.latency));
        let enough = all.count() as f64 * (1.0 - q) >= 1.0;
        all.quantile(q).filter(|_| enough).map(|ns| ns as f64 / 1e9)
    }

    fn measures(&self) -> Measures {
        let test = SwapTest { longest_wait: self.longest(), was_stopped: self.was_stopped() };
        let is_known = test.longest_wait.is_some() || test.was_stopped;
        Measures { swap: is_known.then_some(test), ..Measures::default() }
    }

    fn verdict(&self) -> Verdict {
        self.measures().verdict(Use::Swap)
    }

    /// It was ended, and nobody asked for that.
    fn was_stopped(&self) -> bool {
        self.loads.iter().any(|load| load.result.ended.is_some() && !load.result.is_enough)
    }

    fn is_zram(&self) -> bool {
        self.area.medium.is_zram()
    }

    /// Bytes in an hour of requests with half more than there is, the median over runs.
    fn written_in_an_hour(&self) -> Option<Estimate> {
        let in_an_hour = |load: &Load<'_>| {
            load.result.written.map(|written| written as f64 / load.result.seconds * 3600.0)
        };
        let each: Vec<f64> = self.typical().filter_map(in_an_hour).collect();
        repeat::middle(&each).filter(|_| !self.is_zram())
    }

    fn metrics(&self) -> Vec<Metric> {
        let new = |quantity, estimate| Metric::new(self.given, quantity, estimate);
        let longest = self.longest().map(|longest| Estimate::unbounded(longest, "the longest of all"));
        let all = [
            (Quantity::MemoryUsed, self.footprint.clone()),
            (Quantity::LongestOperation, longest),
            (Quantity::SwappedInAnHour, self.written_in_an_hour()),
        ];
        all.into_iter().filter_map(|(quantity, estimate)| Some(new(quantity, estimate?))).collect()
    }

    fn times(&self) -> String {
        match &self.footprint {
            Some(times) if times.low > 0.0 && times.high.is_infinite() => {
                format!("at least {:.2}", times.low)
            }
            Some(times) => times.text(|value| format!("{value:.2}")),
            None => "-".to_owned(),
        }
    }
}

fn summary(cases: &[Case<'_>]) -> Table {
    let row = |case: &Case<'_>| {
        let seconds = |q: f64| case.quantile(q).map_or("-".to_owned(), duration);
        vec![
            short(case.given),
            case.times(),
            case.longest().map_or("-".to_owned(), duration),
            seconds(0.5),
            seconds(0.99),
            match case.written_in_an_hour() {
                Some(written) => decimal_bytes(written.value as u64),
                None if case.is_zram() => "nothing".to_owned(),
                None => "-".to_owned(),
            },
        ]
    };
    let columns = Column::all([
        ("swap on", false),
        ("times memory", true),
        ("longest wait", true),
        ("request at 1.5×", true),
        ("99 %", true),
        ("written/h", true),
    ]);
    Table { title: String::new(), columns, rows: cases.iter().map(row).collect() }
}

/// The media with which a program can use most memory, then what hangs or was ended early.
fn verdicts(cases: &[Case<'_>]) -> Vec<String> {
    // A medium with long waits, or whose test had to be ended, is not named first, however much memory it allows.
    let hangs = |case: &Case<'_>| case.was_stopped() || matches!(case.verdict(), Verdict::Unfit(..));
    let known: Vec<&Case<'_>> = cases.iter().filter(|case| case.footprint.is_some()).collect();
    let all_hang = known.iter().all(|case| hangs(case));
    let calm: Vec<&Case<'_>> = known.into_iter().filter(|case| all_hang || !hangs(case)).collect();
    // Nothing that is as good in other ways is clearly better than these.
    let is_first = |case: &&Case<'_>| !calm.iter().any(|other| is_better(other, case));
    let first: Vec<&Case<'_>> = calm.iter().copied().filter(is_first).collect();
    let until = format!("before its requests take {LONGER:.0} times as long");
    let mut said = Vec::new();
    match &first[..] {
        [] => {}
        [best] => {
            let longest = best.longest().map_or("not known".to_owned(), duration);
            let (given, times) = (best.given, best.times());
            let head = if cases.len() == 1 || all_hang { "With swap on" } else { "Put swap first on" };
            said.push(format!(
                "{head} {given}: a program can use {times} times its memory limit {until}; the longest wait was {longest}."
            ));
        }
        several => {
            let each: Vec<String> =
                several.iter().map(|case| format!("{} {} times", case.given, case.times())).collect();
            said.push(format!(
                "No difference found in the memory that a program can use {until}: {} its limit.",
                listed(&each)
            ));
        }
    }
    for case in cases {
        if let Some(why) = case.loads.iter().find_map(|load| load.result.ended.as_deref()) {
            let not = if case.was_stopped() { "Not on" } else { "Less is known of" };
            said.push(format!("{not} {}: its test was ended early, because {why}.", case.given));
        }
        if let Verdict::Unfit(Need::SwapWaits, longest) = case.verdict() {
            let (given, longest) = (case.given, duration(longest));
            said.push(format!("Not on {given} for programs that must respond: one wait lasted {longest}."));
        }
    }
    said
}

/// Whether the intervals show it.
fn is_better(best: &Case<'_>, next: &Case<'_>) -> bool {
    best.footprint.as_ref().zip(next.footprint.as_ref()).is_some_and(|(best, next)| best.low > next.high)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{act::SwapMedium, footprint::at_least},
        *,
    };

    /// A medium with which a program can use so many times its memory at least, and whose longest wait lasted so long, s.
    fn said(media: &[(&'static str, f64, f64)]) -> Vec<String> {
        said_of(media, None)
    }

    /// The first of them was ended early, for this reason.
    fn said_of(media: &[(&'static str, f64, f64)], ended: Option<&str>) -> Vec<String> {
        let area = MakeSwapArea { medium: SwapMedium::File, area: 1 << 27, memory: 1 << 26, most: 1 << 32 };
        let act = UseSwap { percent: 150, run: 1, memory: 1 << 26, random: 50, seconds: 1.0, seed: 1 };
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
            loads: [&all[at], &stopped]
                .map(|result| Load { act: &act, result })
                .into_iter()
                .take(if at == 0 { 2 } else { 1 })
                .collect(),
            footprint: Some(at_least(*least)),
        };
        verdicts(&media.iter().enumerate().map(case).collect::<Vec<_>>())
    }

    #[test]
    fn what_makes_something_wait_is_not_named_first() {
        let verdicts = said(&[("stick", 2.0, 2.64), ("card", 1.5, 0.2)]);
        assert!(verdicts[0].starts_with("Put swap first on card: a program"), "{verdicts:#?}");
        assert!(verdicts[1].starts_with("Not on stick"), "{verdicts:#?}");
        // What had to be ended is not named first, whatever it could do until then.
        let verdicts = said_of(&[("stick", 2.0, 0.1), ("card", 1.5, 0.2)], Some("it took too long"));
        assert!(verdicts[0].starts_with("Put swap first on card: a program"), "{verdicts:#?}");
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
                "No difference found in the memory that a program can use before its requests take 10 times as long: stick at least 2.00 times, zram at \
              least 1.10 times and card at least 1.30 times its limit."
            ]
        );
        let verdicts = said(&[("stick", 2.0, 2.0), ("card", 1.1, 1.5)]);
        assert!(verdicts[0].starts_with("No difference found"), "{verdicts:#?}");
        assert!(verdicts[2].starts_with("Not on card for programs that must respond"), "{verdicts:#?}");
        let alone = said(&[("stick", 2.0, 0.1)]);
        assert_eq!(
            alone,
            [
                "With swap on stick: a program can use at least 2.00 times its memory limit before its requests take 10 times as long; the longest wait was 100 ms."
            ]
        );
    }
}
