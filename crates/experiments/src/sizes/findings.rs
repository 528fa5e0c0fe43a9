//! How sizes reads its record.

use super::{
    super::common::{self, Series, named},
    curve::{AS_GOOD, Curve, Point, curves},
    plan::limits,
};
use crate::{
    analyse::Estimate,
    findings::{
        At, Axis, Column, Curve as Drawn, Figure, Findings, LoadKey, Mark, Metric, Point as Dot, Quantity,
        Scope, Style, Table, Unit,
    },
    plan::Plan,
    record::Run,
    units::{Caching, Direction, MIB, capital, duration, percent, rate, size},
};

pub(super) fn results(findings: &mut Findings, run: &mut Run<Series>, plan: &Plan) {
    // One fio command is enough as an example; there would be one per size.
    findings.reproduce.truncate(1);
    let groups = common::group(run, plan);
    let curves = curves(&groups);
    for at in 0..plan.targets.len() {
        for direction in [Direction::Write, Direction::Read] {
            let both: Vec<&Curve> =
                curves.iter().filter(|c| c.at == at && c.direction == direction).collect();
            if !both.is_empty() {
                let title = title(plan, at, direction);
                findings.tables.push(table(&title, &both));
                findings.figures.push(figure(&title, &both));
            }
        }
        let own: Vec<&Curve> = curves.iter().filter(|c| c.at == at).collect();
        let sentences = sentences(plan, at, &own).into_iter();
        findings
            .verdicts
            .extend(sentences.map(|text| named(plan.targets.len() > 1, &plan.targets[at], text)));
    }
    findings.flags.extend(limits(plan));
    findings.estimates = curves.iter().flat_map(|c| metrics(&plan.targets[c.at].given, c)).collect();
}

fn title(plan: &Plan, at: usize, direction: Direction) -> String {
    let what = if direction == Direction::Write { "writes" } else { "reads" };
    match plan.targets.len() {
        1 => what.to_owned(),
        _ => format!("{what}, {}", plan.targets[at].given),
    }
}

fn way(curve: &Curve) -> &'static str {
    match curve.caching {
        Caching::Direct => "direct",
        Caching::BufferedFsync => "buffered + fsync",
        Caching::Buffered => "buffered, cold",
    }
}

fn table(title: &str, curves: &[&Curve]) -> Table {
    let mut columns = vec![Column::new("size", true)];
    columns.extend(curves.iter().flat_map(|c| [Column::new(way(c), false), Column::new("of best", true)]));
    let mut sizes: Vec<u64> = curves.iter().flat_map(|c| c.points.iter().map(|p| p.block)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for (column, c) in columns.iter_mut().skip(1).step_by(2).zip(curves) {
        let row = |p: &Point| sizes.iter().position(|size| *size == p.block);
        column.mark(&c.points.iter().filter_map(|p| Some((row(p)?, &p.speed))).collect::<Vec<_>>());
    }
    let row = |block: u64| {
        let cells = curves.iter().flat_map(|c| match c.points.iter().find(|p| p.block == block) {
            Some(p) => [cell(&p.speed), percent(c.share(p))],
            None => ["-".to_owned(), String::new()],
        });
        [size(block)].into_iter().chain(cells).collect()
    };
    Table { title: title.to_owned(), columns, rows: sizes.into_iter().map(row).collect() }
}

/// A stall widens one side of an interval, which `±` would hide; verdicts need the lower end.
fn cell(speed: &Estimate) -> String {
    let reaches_far = speed.is_bounded() && speed.low < AS_GOOD * speed.value;
    if reaches_far { speed.with_ends(rate) } else { speed.text(rate) }
}

fn sentences(plan: &Plan, at: usize, curves: &[&Curve]) -> Vec<String> {
    let mut sentences: Vec<String> = advice(curves).into_iter().collect();
    sentences.extend(curves.iter().filter_map(|c| one(c)));
    if let Some(direct) =
        curves.iter().find(|c| (c.direction, c.caching) == (Direction::Write, Caching::Direct))
    {
        sentences.extend((!plan.targets[at].rotates()).then(|| allocation(direct)));
    }
    sentences
}

/// The size to use in all modes, if every larger one is good in each of them.
fn advice(curves: &[&Curve]) -> Option<String> {
    const MORE: &str = "Repeat with more --runs.";
    if curves.len() < 2 {
        return None;
    }
    let largest = curves.iter().filter_map(|c| c.points.last()).map(|p| p.block).max()?;
    if let Some(c) = curves.iter().find(|c| c.points.last().is_none_or(|p| p.block < largest)) {
        let (name, largest) = (name(c), size(largest));
        return Some(format!("No size is recommended: {name} were not measured up to {largest}."));
    }
    let all = |of: fn(&Curve) -> Option<&Point>| -> Option<u64> {
        let each: Option<Vec<u64>> = curves.iter().map(|c| Some(of(c)?.block)).collect();
        each?.into_iter().max()
    };
    Some(if let Some(block) = all(Curve::enough) {
        let amount = match block == largest {
            true => format!("{}, the largest that was measured,", size(block)),
            false => format!("{} or more (measured up to {})", size(block), size(largest)),
        };
        format!("Move {amount} at a time: every measured mode is then within a tenth of its best.")
    } else if let Some(block) = all(Curve::seems_enough) {
        let larger = |c: &&Curve| {
            let best = c.best().map_or(f64::NAN, |best| best.speed.value);
            let low = c.points.iter().filter(|p| p.block >= block).map(move |p| p.speed.low / best);
            low.fold(f64::INFINITY, f64::min)
        };
        let from = if block == largest { "At" } else { "From" };
        let on = if block == largest { ", the largest that was measured," } else { " on" };
        let least = percent(curves.iter().map(larger).fold(f64::INFINITY, f64::min));
        let block = size(block);
        format!(
            "Too noisy to recommend a size. {from} {block}{on} the measured modes seem within a tenth of their best, but the intervals reach down to {least} of it. {MORE}"
        )
    } else if let Some((c, slow)) =
        curves.iter().find_map(|c| Some((c, c.points.last().filter(|p| c.is_slow(p))?)))
    {
        let (name, slow, best) = (name(c), size(slow.block), size(c.best()?.block));
        format!("No size from which on all modes are fast: {name} are slower at {slow} than at {best}.")
    } else {
        format!("Too noisy to recommend a size for all modes. {MORE}")
    })
}

fn name(curve: &Curve) -> &'static str {
    match (curve.direction, curve.caching) {
        (Direction::Read, Caching::Direct) => "direct reads",
        (Direction::Read, _) => "cold reads through the page cache",
        (_, Caching::Direct) => "direct writes",
        _ => "writes with fsync",
    }
}

/// How fast the best size is, and which smaller one is enough.
fn fastest(curve: &Curve, best: &Point) -> String {
    let (speed, fastest) = (best.speed.sentence(rate, ""), size(best.block));
    let share = |p: &Point| percent(curve.share(p));
    let smaller = curve.points.iter().rev().find(|p| p.block < best.block);
    let last = curve.points.last().is_some_and(|p| p.block == best.block && p.block < 16 * MIB);
    let more = if last { "; try larger ones with --largest" } else { "" };
    match (curve.enough(), curve.seems_enough()) {
        (Some(enough), _) if enough.block != best.block => {
            let (enough, share) = (size(enough.block), share(enough));
            format!("{enough} reaches {share} of the best speed, {speed} at {fastest}")
        }
        (Some(_), _) if smaller.is_some_and(|p| curve.is_slow(p)) => {
            let slower = format!("the next smaller size is more than {} slower", percent(1.0 - AS_GOOD));
            format!("the highest speed is {speed}, at {fastest}; {slower}{more}")
        }
        (Some(_), _) => {
            format!(
                "the highest speed is {speed}, at {fastest}; a smaller size may be as fast, the runs differ too much to say"
            )
        }
        (None, Some(seems)) if seems.block == best.block => {
            format!(
                "the highest speed is {speed}, at {fastest}; the runs differ too much to say which sizes are slower"
            )
        }
        (None, Some(seems)) => {
            let alone = curve.points.last().is_some_and(|p| p.block == seems.block);
            let seem = if alone { "seems" } else { "and more seem" };
            let seems = size(seems.block);
            format!(
                "the highest speed is {speed}, at {fastest}; {seems} {seem} within a tenth of it, but the runs differ too much to be sure"
            )
        }
        (None, None) => {
            format!(
                "the highest speed is {speed}, at {fastest}; larger sizes are slower, or the runs differ too much to say"
            )
        }
    }
}

fn one(curve: &Curve) -> Option<String> {
    let best = curve.best()?;
    let (first, rest) = name(curve).split_at(1);
    let mut sentences = format!("{}{rest}: {}.", first.to_uppercase(), fastest(curve, best));
    if let Some((point, off)) = curve.misfit() {
        let (off, at) = (percent(off), size(point.block));
        sentences += &format!(
            " No fixed cost is given: a fixed time and a time for each byte do not fit, {at} is {off} off."
        );
        return Some(sentences + unknown(best));
    }
    sentences += &match (curve.cost(), curve.rate(), curve.knee()) {
        (Some(cost), Some(bytes), Some(knee)) => {
            let (cost, speed) = (cost.sentence(duration, ""), bytes.sentence(rate, ""));
            let knee = knee.sentence(|bytes| size(bytes.round() as u64), "");
            format!(
                " Each transfer has a fixed cost of {cost}, its bytes move at {speed}: up to {knee} most of the time is the fixed cost."
            )
        }
        (Some(_), _, _) => " The fixed cost of a transfer could not be determined.".to_owned(),
        (None, ..) => " Too few sizes were measured to determine the fixed cost of a transfer.".to_owned(),
    };
    Some(sentences + unknown(best))
}

fn unknown(best: &Point) -> &'static str {
    if best.speed.high.is_infinite() { " Fewer than 6 repetitions: no interval." } else { "" }
}

/// The unit in which a flash drive writes, from direct writes.
fn allocation(curve: &Curve) -> String {
    match curve.unit() {
        Some(unit) => {
            let (bytes, half) = (size(unit.bytes as u64), size(unit.bytes as u64 / 2));
            let (confidence, excess) = (percent(unit.confidence), percent(unit.excess));
            let small = unit.bytes <= 4096.0;
            let like = if small { "; a filesystem block or a disk sector looks the same" } else { "" };
            format!(
                "The drive writes in units of {bytes} ({confidence} confidence{like}): a direct write of {half} takes {excess} longer than it would without them."
            )
        }
        None => "Direct writes show no step: the drive's allocation unit is not visible.".to_owned(),
    }
}

fn figure(title: &str, curves: &[&Curve]) -> Figure {
    let dot = |p: &Point| Dot::of(p.block as f64, &p.speed);
    let drawn = |c: &&Curve| Drawn::new(way(c), Style::Line, c.points.iter().map(dot));
    let mark = |c: &&Curve| {
        let knee = c.knee()?.value;
        Some(Mark { label: format!("knee, {}: {}", way(c), size(knee.round() as u64)), at: At::X(knee) })
    };
    let enough = curves.iter().filter_map(|c| {
        let (enough, best) = (c.enough()?.block, rate(c.best()?.speed.value));
        let last = c.points.last().is_some_and(|p| p.block == enough);
        let sizes = if last { format!("at {}", size(enough)) } else { format!("from {} on", size(enough)) };
        Some(format!("{}: within a tenth of its best, {best}, {sizes}.", capital(way(c))))
    });
    let knees = "Up to the knee, most of the time is the fixed cost of a transfer.".to_owned();
    let knees = Some(knees).filter(|_| curves.iter().any(|c| c.knee().is_some()));
    let runs = curves.iter().flat_map(|c| c.points.iter().map(|p| p.runs));
    Figure {
        title: format!("speed over transfer size, {title}"),
        text: enough.chain(knees).collect::<Vec<_>>().join(" "),
        load: curves
            .first()
            .map_or(String::new(), |c| LoadKey { caching: None, ..c.load.clone() }.describe()),
        n: format!("n = {} repetitions per point; band: 95 % interval", runs.min().unwrap_or(0)),
        x: Axis::of("transfer size", Unit::Bytes).log(),
        y: Axis::speed().log(),
        curves: curves.iter().map(drawn).collect(),
        marks: curves.iter().filter_map(mark).collect(),
        ..Figure::default()
    }
}

fn metrics(target: &str, curve: &Curve) -> Vec<Metric> {
    let of_size = |p: &Point| {
        let load = LoadKey { block: Some(p.block), ..curve.load.clone() };
        Metric::new(target, Quantity::Throughput, p.speed.clone()).of(&load).at(Scope::Block(p.block))
    };
    let of_all = [
        (Quantity::CostPerTransfer, curve.cost()),
        (Quantity::ByteRate, curve.rate()),
        (Quantity::Knee, curve.knee()),
    ];
    let of_all = of_all
        .into_iter()
        .filter_map(|(quantity, e)| Some(Metric::new(target, quantity, e?).of(&curve.load)));
    curve.points.iter().map(of_size).chain(of_all).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::curve::tests::curve, *};

    /// What is advised for a quiet mode and another one, of 4 KiB to 32 KiB.
    fn advised(other: &[[f64; 3]]) -> String {
        let quiet = [[50.0, 49.0, 51.0], [96.0, 95.0, 97.0], [99.0, 98.0, 100.0], [100.0, 99.0, 101.0]];
        let quiet = curve(Direction::Read, Caching::Direct, &quiet);
        advice(&[&quiet, &curve(Direction::Write, Caching::Direct, other)]).expect("two modes")
    }

    #[test]
    fn a_size_is_advised_only_where_all_larger_ones_are_good_in_every_mode() {
        let good = [[10.0, 9.9, 10.1], [19.0, 18.5, 19.5], [19.5, 19.0, 20.0], [20.0, 19.5, 20.5]];
        assert!(advised(&good).starts_with("Move 8 KiB or more"), "{}", advised(&good));
        let mut noisy = good;
        noisy[1][1] = 8.0;
        assert!(advised(&noisy).starts_with("Move 16 KiB or more"), "8 KiB may be slow: {}", advised(&noisy));
        noisy[3] = [19.8, 7.0, 20.5];
        let said = advised(&noisy);
        assert!(said.starts_with("Too noisy") && said.contains("35 %") && !said.contains("Move"), "{said}");
        let mut falls = good;
        falls[3] = [12.0, 11.0, 13.0];
        let said = advised(&falls);
        assert!(said.contains("direct writes are slower at 32 KiB than at 16 KiB"), "{said}");
        falls[3] = [12.0, 9.0, 21.0];
        let said = advised(&falls);
        assert!(said.starts_with("Too noisy") && !said.contains("KiB"), "{said}");
        let steep = advised(&[[10.0, 9.9, 10.1], [19.0, 18.5, 19.5], [30.0, 29.0, 31.0], [40.0, 39.5, 40.5]]);
        assert!(steep.starts_with("Move 32 KiB, the largest that was measured, at a time"), "{steep}");
        let said = advised(&good[..3]);
        assert!(said.contains("direct writes were not measured up to 32 KiB"), "{said}");
    }

    #[test]
    fn a_mode_says_no_more_than_its_row() {
        let said =
            |speeds: &[[f64; 3]]| one(&curve(Direction::Write, Caching::Direct, speeds)).expect("points");
        let wide = said(&[[15.0, 9.0, 21.0], [20.0, 19.0, 21.0]]);
        assert!(wide.contains("a smaller size may be as fast"), "{wide}");
        let clear = said(&[[15.0, 14.0, 16.0], [20.0, 19.0, 21.0]]);
        assert!(clear.contains("the next smaller size is more than 10 % slower"), "{clear}");
        let stalls = said(&[[19.9, 19.0, 21.0], [20.0, 9.0, 21.0]]);
        assert!(stalls.contains("seem within a tenth of it, but the runs differ too much"), "{stalls}");
        let alone = said(&[[10.0, 9.9, 10.1], [20.0, 9.0, 21.0]]);
        assert!(alone.contains("the runs differ too much to say which sizes are slower"), "{alone}");
        assert!(
            !(wide + &clear + &stalls).contains("fastest"),
            "the highest median is not known to be the fastest"
        );
    }
}
