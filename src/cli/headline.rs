//! The most important numbers of a run, for lists.

use crate::{
    analyse::{Estimate, compare::Difference},
    findings::{
        BootPart, Findings, LoadKey, Metric, Quantity, Reference, Scope, Unit,
        fitness::{Use, Verdict},
    },
    units::{Caching, Direction, distinct, duration, percent, rate, short_load_name, size},
};

/// The most important numbers of a run, each with its unit: the answer of its experiment, or else the speeds of its loads.
pub(super) fn headline(findings: &Findings) -> Vec<String> {
    let all = &findings.estimates;
    if let Some(kept) = kept(findings) {
        return kept;
    }
    let asked = answers(all).map(|answers| answers.into_iter().map(written).collect());
    asked.or_else(|| client(all)).unwrap_or_else(|| speeds(all))
}

/// The same numbers with their intervals; of loads and clients all.
pub(super) fn important(all: &[Metric]) -> Vec<&Metric> {
    let speeds = |scope| all.iter().filter(|m| is_speed(m, scope)).collect::<Vec<_>>();
    let client = || Some(speeds(Scope::Client)).filter(|speeds| !speeds.is_empty());
    answers(all).or_else(client).unwrap_or_else(|| speeds(Scope::Whole))
}

fn answers(all: &[Metric]) -> Option<Vec<&Metric>> {
    let kinds = [is_answer, is_sum, is_share].into_iter();
    let mut each = kinds.map(|is| all.iter().filter(|metric| is(metric)).collect::<Vec<_>>());
    each.find(|answers| !answers.is_empty())
}

fn is_speed(metric: &Metric, scope: Scope) -> bool {
    metric.quantity == Quantity::Throughput && metric.scope == scope && metric.repetition.is_none()
}

/// Whether acknowledged data was kept; of `pull` also the layout.
fn kept(findings: &Findings) -> Option<Vec<String>> {
    let own = findings.fitness.iter().filter(|f| f.purpose == Use::Safekeeping);
    let several = distinct(own.clone().map(|f| &f.target)).len() > 1;
    let each = own.map(|f| {
        let text = match f.verdict {
            Verdict::Unfit(need, value) => format!("NOT KEPT: {}", f.purpose.shortfall(need, value)),
            Verdict::Fit | Verdict::Undecided(..) => "nothing lost".to_owned(),
        };
        if several { format!("{} {text}", f.target) } else { text }
    });
    Some(each.collect::<Vec<_>>()).filter(|each| !each.is_empty())
}

/// The speeds at which one client of a share got and put the largest file.
fn client(all: &[Metric]) -> Option<Vec<String>> {
    let fastest = |direction: Direction| {
        let own = all.iter().filter(|m| m.quantity == Quantity::Throughput && m.scope == Scope::Client);
        let own = own.filter_map(|m| Some((m.load.as_ref()?, m.estimate.value)));
        let own = own.filter(|(load, _)| load.jobs == Some(1) && load.direction == Some(direction));
        own.max_by_key(|(load, _)| load.block).map(|(load, speed)| (&load.engine, rate(speed)))
    };
    let ((_, got), (protocol, put)) = (fastest(Direction::Read)?, fastest(Direction::Write)?);
    Some(vec![format!("client {} / {put} ({protocol})", without_unit(&got))])
}

fn is_answer(metric: &Metric) -> bool {
    let whole = matches!(metric.scope, Scope::Whole | Scope::BeforeCliff(None | Some(1)));
    let answer = matches!(
        metric.quantity,
        Quantity::WakeTime
            | Quantity::BootTime(BootPart::Whole)
            | Quantity::Ceiling(_)
            | Quantity::CacheSize
            | Quantity::Knee
            | Quantity::CostPerFile(_)
            | Quantity::VarianceShare
            | Quantity::MemoryUsed
            | Quantity::RealSize
    );
    let slowed_down =
        metric.quantity == Quantity::Throughput && matches!(metric.scope, Scope::AfterCliff(None));
    (whole && answer || slowed_down) && metric.repetition.is_none()
}

fn is_sum(metric: &Metric) -> bool {
    metric.scope == Scope::Sum && metric.quantity == Quantity::Throughput
}

fn is_share(metric: &Metric) -> bool {
    metric.quantity == Quantity::RelativeSpeed(Reference::Drive)
}

fn written(metric: &Metric) -> String {
    let Estimate { value, low, .. } = metric.estimate;
    let text = match metric.quantity {
        Quantity::CostPerFile(direction) => {
            let verb = if direction == Direction::Write { "write" } else { "read" };
            return match low > 0.0 {
                true => format!("{verb} {} a file", duration(value)),
                false => format!("{verb} cost of a file not known"),
            };
        }
        Quantity::Knee => size(value as u64),
        Quantity::MemoryUsed => {
            let least = if metric.estimate.high.is_finite() { "" } else { "≥ " };
            return format!("{} {least}{value:.2} × memory", metric.target);
        }
        Quantity::VarianceShare => return format!("{} {}", metric.target, percent(value)),
        Quantity::RelativeSpeed(_) => {
            let name = metric.load.as_ref().map(|load| load.name.as_str()).unwrap_or_default();
            return match Difference::in_multiples(&metric.estimate) {
                Difference::Found => format!("{value:.1} × the drive ({name})"),
                _ => format!("no difference found ({name})"),
            };
        }
        _ if metric.quantity.unit() == Unit::None => percent(value),
        _ => metric.quantity.unit().write(value),
    };
    format!("{text} {}", metric.label())
}

/// The speeds of each load, reads before writes: `SEQ1M 28.1 / 8.90 MB/s`; of several targets `best SEQ1M 28.1 / 8.90 MB/s`.
fn speeds(all: &[Metric]) -> Vec<String> {
    let whole = |m: &&Metric| is_speed(m, Scope::Whole);
    let several = distinct(all.iter().filter(whole).map(|m| &m.target)).len() > 1;
    let speeds: Vec<_> = all
        .iter()
        .filter(whole)
        .filter_map(|m| m.load.as_ref().map(|load| (load_name(load), load.direction, m.estimate.value)))
        .collect();
    let names = distinct(speeds.iter().map(|(name, ..)| name.clone()));
    let pair = |name: String| {
        let own = || speeds.iter().filter(|(other, ..)| *other == name);
        let best = |direction: Direction| {
            let same = own().filter(|(_, other, _)| *other == Some(direction));
            same.map(|(.., speed)| *speed).reduce(f64::max).map(rate)
        };
        let text = if several { format!("best {name}") } else { name.clone() };
        match (best(Direction::Read), best(Direction::Write)) {
            (Some(read), Some(write)) => format!("{text} {} / {write}", without_unit(&read)),
            (Some(read), None) => format!("{text} read {read}"),
            (None, Some(write)) => format!("{text} write {write}"),
            (None, None) => {
                let best = own().map(|(.., speed)| *speed).reduce(f64::max).map(rate);
                format!("{text} {}", best.unwrap_or_default())
            }
        }
    };
    names.into_iter().map(pair).collect()
}

fn without_unit(text: &str) -> &str {
    text.rsplit_once(' ').map_or(text, |(number, _)| number)
}

/// The name of a load without its direction, such as `SEQ1M` or `RND4K Q32`. The name in an imported file is used where pattern or
/// block are unknown.
pub(super) fn load_name(load: &LoadKey) -> String {
    let (Some(pattern), Some(block)) = (load.pattern, load.block) else { return load.name.clone() };
    let (depth, streams) = (load.depth.unwrap_or(1) * load.jobs.unwrap_or(1), load.streams.unwrap_or(1));
    let mut name = short_load_name(pattern, block, depth, streams, load.sync.unwrap_or(false));
    if let Some(Direction::Mixed { read_percent }) = load.direction {
        name += &format!(" mixed {read_percent} %");
    }
    if load.caching.is_some_and(|caching| caching != Caching::Direct) {
        name += " cached";
    }
    if load.missed.is_some() {
        name += " (not the drive's)";
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        findings::{Limiter, Measures, fitness::KeptData},
        units::{KIB, MIB, Pattern},
    };

    fn metric(target: &str, quantity: Quantity, value: f64, load: Option<LoadKey>) -> Metric {
        Metric { load, ..Metric::new(target, quantity, Estimate::unbounded(value, "")) }
    }

    fn load(direction: Direction, pattern: Pattern, block: u64, depth: u32) -> Option<LoadKey> {
        let (direction, pattern, block, depth) = (Some(direction), Some(pattern), Some(block), Some(depth));
        Some(LoadKey { name: "write".to_owned(), direction, pattern, block, depth, ..LoadKey::default() })
    }

    fn of(estimates: Vec<Metric>) -> Vec<String> {
        headline(&Findings { estimates, ..Findings::default() })
    }

    #[test]
    fn speeds_are_named_by_their_loads() {
        use Direction::{Read, Write};
        use Pattern::{Random, Sequential};
        let speed = |target: &str, value, direction, pattern, block, depth| {
            metric(target, Quantity::Throughput, value, load(direction, pattern, block, depth))
        };
        let suite = vec![
            speed("a", 0.13e6, Write, Random, 4 * KIB, 1),
            speed("a", 6.2e6, Read, Random, 4 * KIB, 1),
            speed("a", 6.6e6, Read, Random, 4 * KIB, 32),
            speed("a", 8.9e6, Write, Sequential, MIB, 1),
            speed("a", 28.1e6, Read, Sequential, MIB, 1),
        ];
        let synced = load(Write, Random, 4 * KIB, 1).map(|load| LoadKey { sync: Some(true), ..load });
        let synced = metric("a", Quantity::Throughput, 0.1e6, synced);
        assert_eq!(
            of(vec![suite[0].clone(), synced]),
            ["RND4K Q1 write 0.13 MB/s", "RND4K Q1 sync write 0.10 MB/s"]
        );
        let repeated = Metric { repetition: Some(1), ..speed("a", 1e9, Write, Sequential, MIB, 1) };
        assert_eq!(
            of([suite, vec![repeated]].concat()),
            ["RND4K Q1 6.20 / 0.13 MB/s", "RND4K Q32 read 6.60 MB/s", "SEQ1M 28.1 / 8.90 MB/s"]
        );
        let ranked = [("a", 8.9e6), ("b", 8.7e6), ("c", 8.8e6)];
        let ranked = ranked.map(|(target, value)| speed(target, value, Write, Sequential, 4 * KIB, 1));
        assert_eq!(of(ranked.to_vec()), ["best SEQ4K write 8.90 MB/s"]);
        let key = || load(Direction::Mixed { read_percent: 70 }, Random, 4 * KIB, 1);
        let cached = key().map(|load| LoadKey { caching: Some(Caching::Buffered), ..load });
        let mixed = [key(), cached].map(|load| metric("a", Quantity::Throughput, 8.9e6, load));
        assert_eq!(
            of(mixed.to_vec()),
            ["RND4K Q1 mixed 70 % 8.90 MB/s", "RND4K Q1 mixed 70 % cached 8.90 MB/s"]
        );
        let missed = key().map(|load| LoadKey { missed: Some(63), ..load });
        let missed = metric("a", Quantity::Throughput, 8.9e9, missed);
        assert_eq!(of(vec![missed]), ["RND4K Q1 mixed 70 % (not the drive's) 8900 MB/s"]);
        let unknown = LoadKey { name: "dd".to_owned(), ..LoadKey::default() };
        assert_eq!(of(vec![metric("a", Quantity::Throughput, 8.9e6, Some(unknown))]), ["dd 8.90 MB/s"]);
        assert!(of(vec![]).is_empty());
    }

    #[test]
    fn of_a_share_it_is_what_one_client_got_of_the_largest_file() {
        let speed = |value, direction, block, jobs, scope| {
            let (direction, block, jobs) = (Some(direction), Some(block), Some(jobs));
            let engine = "smbclient over 100 Mb/s".to_owned();
            let load = LoadKey { direction, block, jobs, engine, ..LoadKey::default() };
            Metric { scope, ..metric("a", Quantity::Throughput, value, Some(load)) }
        };
        let all = vec![
            speed(1e6, Direction::Write, MIB, 1, Scope::Client),
            speed(2e6, Direction::Read, MIB, 1, Scope::Client),
            speed(3e6, Direction::Read, MIB, 1, Scope::WithoutDrive),
            speed(4e6, Direction::Read, 16 * KIB, 1, Scope::Client),
            speed(5e6, Direction::Read, 4 * MIB, 4, Scope::Client),
        ];
        assert_eq!(of(all), ["client 2.00 / 1.00 MB/s (smbclient over 100 Mb/s)"]);
    }

    #[test]
    fn power_and_swap_have_an_answer() {
        let kept = |lost_bytes| {
            let estimates = vec![metric("a", Quantity::LostBytes, lost_bytes as f64, None)];
            let mut found = Findings { estimates, ..Findings::default() };
            let kept = Some(KeptData { lost_bytes, wrong_reads: 0 });
            found.judge("a", Measures { kept, ..Measures::default() }, &[Use::Safekeeping]);
            headline(&found)
        };
        assert_eq!(kept(0), ["nothing lost"]);
        assert_eq!(kept(4096), ["NOT KEPT: it lost 4.10 kB that it had acknowledged as stored"]);
        let used = |high| {
            let used = metric("/mnt/a", Quantity::MemoryUsed, 1.5, None);
            let estimate = Estimate { high, ..used.estimate.clone() };
            of(vec![metric("/mnt/a", Quantity::LongestOperation, 0.2, None), Metric { estimate, ..used }])
        };
        assert_eq!(used(1.6), ["/mnt/a 1.50 × memory"]);
        assert_eq!(used(f64::INFINITY), ["/mnt/a ≥ 1.50 × memory"]);
    }

    #[test]
    fn other_experiments_say_what_was_asked() {
        let key = || load(Direction::Write, Pattern::Sequential, 4 * KIB, 1);
        let speed = |value, scope| metric("a", Quantity::Throughput, value, key()).at(scope);
        let alone = |quantity, value| of(vec![speed(1e9, Scope::Whole), metric("a", quantity, value, None)]);
        assert_eq!(alone(Quantity::WakeTime, 5.1), ["5.1 s spin-up time"]);
        assert_eq!(alone(Quantity::BootTime(BootPart::Whole), 17.6), ["17.6 s boot"]);
        assert_eq!(alone(Quantity::Ceiling(Limiter::Bus), 34.6e6), ["34.6 MB/s limit"]);
        assert_eq!(alone(Quantity::Knee, 65536.0), ["64 KiB knee"]);
        assert_eq!(alone(Quantity::VarianceShare, 0.92), ["a 92 %"]);
        let fell = metric("a", Quantity::CacheSize, 1.2e9, key()).at(Scope::BeforeCliff(None));
        assert_eq!(
            of(vec![speed(28e6, Scope::BeforeCliff(None)), fell, speed(8.9e6, Scope::AfterCliff(None))]),
            ["1.20 GB write fast region", "8.90 MB/s write throughput after"]
        );
        assert_eq!(of(vec![speed(20e6, Scope::Alone), speed(34.6e6, Scope::Sum)]), ["34.6 MB/s write sum"]);
        let within = |quantity, value, [low, high]: [f64; 2]| {
            let plain = metric("a", quantity, value, key());
            of(vec![
                speed(1e9, Scope::Whole),
                Metric { estimate: Estimate { low, high, ..plain.estimate }, ..plain },
            ])
        };
        let cached = || Quantity::RelativeSpeed(Reference::Drive);
        assert_eq!(within(cached(), 12.0, [9.0, 15.0]), ["12.0 × the drive (write)"]);
        assert_eq!(within(cached(), 1.2, [0.8, 1.7]), ["no difference found (write)"]);
        let cost = || Quantity::CostPerFile(Direction::Write);
        assert_eq!(within(cost(), 3.1e-3, [3e-3, 3.2e-3]), ["write 3.1 ms a file"]);
        assert_eq!(within(cost(), 126e-6, [0.0, f64::INFINITY]), ["write cost of a file not known"]);
    }
}
