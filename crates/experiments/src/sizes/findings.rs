//! How sizes reads its record.

use super::{
    super::common::{self, Group, Series, named},
    curve::{AS_GOOD, Curve, Point, curves},
};
use crate::{
    analyse::Estimate,
    findings::{
        At, Axis, Column, Curve as Drawn, Figure, Findings, LoadKey, Mark, Metric, Point as Dot, Quantity,
        Scope, Style, Table, Unit,
    },
    plan::Plan,
    record::Run,
    units::{Caching, Direction, duration, percent, rate, size},
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
        let of_target: Vec<&Group<'_>> = groups.iter().filter(|g| g.at == at).collect();
        let (mut short, full) = sentences(&own);
        if let Some(why) = common::not_of_the_drive(&of_target) {
            short = vec![why];
        }
        let say = |text| named(plan.targets.len() > 1, &plan.targets[at], text);
        findings.verdicts.extend(short.into_iter().map(say));
        findings.details.sentences.extend(full.into_iter().map(say));
    }
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

/// The size to use in all modes.
#[derive(Debug, PartialEq)]
enum Advice {
    /// From this size on every mode is within a tenth of its best, whole intervals included.
    From(u64),
    /// The same by the values alone.
    SeemsFrom(u64),
    /// No size is fast in all modes, or the intervals are too wide.
    Unknown,
}

impl Advice {
    fn of(curves: &[&Curve], largest: u64) -> Option<Self> {
        if curves.len() < 2 {
            return None;
        }
        if curves.iter().any(|c| c.points.last().is_none_or(|p| p.block < largest)) {
            return Some(Self::Unknown);
        }
        let all = |size: fn(&Curve) -> Option<&Point>| -> Option<u64> {
            let each: Option<Vec<u64>> = curves.iter().map(|c| Some(size(c)?.block)).collect();
            each?.into_iter().max()
        };
        if let Some(block) = all(Curve::enough) {
            return Some(Self::From(block));
        }
        if let Some(block) = all(Curve::seems_enough) {
            return Some(Self::SeemsFrom(block));
        }
        Some(Self::Unknown)
    }

    fn sentence(&self, largest: u64) -> String {
        let amount = |block: u64| match block == largest {
            true => format!("{} (the largest measured)", size(block)),
            false => format!("{} or more (measured up to {})", size(block), size(largest)),
        };
        match self {
            Self::From(block) => {
                format!(
                    "Use transfers of {}: every measured mode is then within a tenth of its best.",
                    amount(*block)
                )
            }
            Self::SeemsFrom(block) => format!(
                "Too noisy to be sure: with {} the modes seem within a tenth of their best. Repeat with more --runs.",
                amount(*block)
            ),
            Self::Unknown => {
                "Too noisy to recommend a size, or none is fast in all modes: see the table.".to_owned()
            }
        }
    }
}

/// The verdicts on one target, and the costs of a transfer behind them.
fn sentences(curves: &[&Curve]) -> (Vec<String>, Vec<String>) {
    let largest = curves.iter().filter_map(|c| c.points.last()).map(|p| p.block).max().unwrap_or(0);
    let mut short: Vec<String> =
        Advice::of(curves, largest).map(|advice| advice.sentence(largest)).into_iter().collect();
    if curves.iter().filter_map(|c| c.best()).any(|best| best.speed.high.is_infinite()) {
        short.push("Fewer than 6 repetitions: no interval.".to_owned());
    }
    (short, curves.iter().map(|c| costs(c)).collect())
}

fn mode(curve: &Curve) -> String {
    let what = if curve.direction == Direction::Write { "Writes" } else { "Reads" };
    format!("{what}, {}", way(curve))
}

/// The fixed cost of a transfer, where a fixed time and a time for each byte explain what was measured.
fn costs(curve: &Curve) -> String {
    let costs = match (curve.misfit(), curve.cost(), curve.rate(), curve.knee()) {
        (Some((point, off)), ..) => {
            let (off, at) = (percent(off), size(point.block));
            format!("a fixed cost per transfer and a cost per byte do not fit: {at} is off by {off}")
        }
        (_, Some(cost), Some(bytes), Some(knee)) => {
            let (cost, speed) = (cost.sentence(duration, ""), bytes.sentence(rate, ""));
            let knee = knee.sentence(|bytes| size(bytes.round() as u64), "");
            format!(
                "each transfer costs {cost}, its bytes move at {speed}; the fixed cost dominates up to {knee}"
            )
        }
        _ => "the fixed cost of a transfer could not be determined".to_owned(),
    };
    format!("{}: {costs}.", mode(curve))
}

fn figure(title: &str, curves: &[&Curve]) -> Figure {
    let dot = |p: &Point| Dot::of(p.block as f64, &p.speed);
    let drawn = |c: &&Curve| Drawn::new(way(c), Style::Line, c.points.iter().map(dot));
    let mark = |c: &&Curve| {
        let knee = c.knee()?.value;
        Some(Mark { label: format!("knee, {}: {}", way(c), size(knee.round() as u64)), at: At::X(knee) })
    };
    let runs = curves.iter().flat_map(|c| c.points.iter().map(|p| p.runs));
    Figure {
        title: format!("speed over transfer size, {title}"),
        text: curves.iter().map(|c| costs(c)).collect::<Vec<_>>().join(" "),
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

    const KIB4: u64 = 4096;

    /// What is advised for a quiet mode and another one, of 4 KiB to 32 KiB.
    fn advised(other: &[[f64; 3]]) -> Advice {
        let quiet = [[50.0, 49.0, 51.0], [96.0, 95.0, 97.0], [99.0, 98.0, 100.0], [100.0, 99.0, 101.0]];
        let quiet = curve(Direction::Read, Caching::Direct, &quiet);
        let other = curve(Direction::Write, Caching::Direct, other);
        Advice::of(&[&quiet, &other], 8 * KIB4).expect("two modes")
    }

    #[test]
    fn a_size_is_advised_only_where_all_larger_ones_are_good_in_every_mode() {
        let good = [[10.0, 9.9, 10.1], [19.0, 18.5, 19.5], [19.5, 19.0, 20.0], [20.0, 19.5, 20.5]];
        assert_eq!(advised(&good), Advice::From(2 * KIB4));
        let mut noisy = good;
        noisy[1][1] = 8.0;
        assert_eq!(advised(&noisy), Advice::From(4 * KIB4), "8 KiB may be slow");
        noisy[3] = [19.8, 7.0, 20.5];
        assert_eq!(advised(&noisy), Advice::SeemsFrom(2 * KIB4));
        let mut falls = good;
        falls[3] = [12.0, 11.0, 13.0];
        assert_eq!(advised(&falls), Advice::Unknown);
        falls[3] = [12.0, 9.0, 21.0];
        assert_eq!(advised(&falls), Advice::Unknown);
        let steep = [[10.0, 9.9, 10.1], [19.0, 18.5, 19.5], [30.0, 29.0, 31.0], [40.0, 39.5, 40.5]];
        assert_eq!(advised(&steep), Advice::From(8 * KIB4));
        assert_eq!(advised(&good[..3]), Advice::Unknown);
    }
}
