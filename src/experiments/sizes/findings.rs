//! How sizes reads its record.

use super::{
    super::common::{self, Series, named},
    curve::{Curve, Point, curves},
};
use crate::{
    findings::{
        At, Axis, Column, Curve as Drawn, Figure, Findings, LoadKey, Mark, Metric, Point as Dot, Quantity,
        Scope, Style, Table, Unit,
    },
    plan::Plan,
    record::Run,
    units::{Caching, Direction, MIB, capital, duration, percent, rate, size},
};

/// The sum of cost and bytes is not all there is to a size that is off by more than this share.
const OFF: f64 = 0.25;

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
            Some(p) => [p.speed.text(rate), percent(c.share(p))],
            None => ["-".to_owned(), String::new()],
        });
        [size(block)].into_iter().chain(cells).collect()
    };
    Table { title: title.to_owned(), columns, rows: sizes.into_iter().map(row).collect() }
}

fn sentences(plan: &Plan, at: usize, curves: &[&Curve]) -> Vec<String> {
    let mut sentences: Vec<String> = curves.iter().filter_map(|c| one(c)).collect();
    if let Some(direct) =
        curves.iter().find(|c| (c.direction, c.caching) == (Direction::Write, Caching::Direct))
    {
        sentences.extend((!plan.targets[at].rotates()).then(|| allocation(direct)));
    }
    let each: Option<Vec<u64>> = curves.iter().map(|c| Some(c.enough()?.block)).collect();
    let enough = each.and_then(|each| each.into_iter().max());
    let advice = |block| {
        format!("Move {} or more at a time: every mode is then within a tenth of its best.", size(block))
    };
    sentences.extend(enough.filter(|_| curves.len() > 1).map(advice));
    sentences
}

fn one(curve: &Curve) -> Option<String> {
    let best = curve.best()?;
    let name = match (curve.direction, curve.caching) {
        (Direction::Read, Caching::Direct) => "Direct reads",
        (Direction::Read, _) => "Cold reads through the page cache",
        (_, Caching::Direct) => "Direct writes",
        _ => "Writes with fsync",
    };
    let speed = best.speed.sentence(rate, "");
    let fastest = size(best.block);
    let mut sentences = if let Some(enough) = curve.enough().filter(|enough| enough.block != best.block) {
        let (enough, share) = (size(enough.block), percent(curve.share(enough)));
        format!("{name}: {enough} reaches {share} of the best speed, {speed} at {fastest}.")
    } else if curve.enough().is_none() {
        format!("{name}: {fastest} is the fastest, {speed}; larger sizes are slower, or too noisy to say.")
    } else {
        let last = curve.points.last().is_some_and(|p| p.block == best.block && p.block < 16 * MIB);
        let more = if last { "; try larger ones with --largest" } else { "" };
        format!(
            "{name}: {fastest} is the fastest, {speed}; the next smaller size is more than a tenth slower{more}."
        )
    };
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
    if let Some((point, off)) = curve.furthest().filter(|(_, off)| *off > OFF) {
        let (off, at) = (percent(off), size(point.block));
        sentences += &format!(" The sum of both is off by {off} at {at}: another cost applies there.");
    }
    if best.speed.high.is_infinite() {
        sentences += " Fewer than 6 repetitions: no interval.";
    }
    Some(sentences)
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
        let (enough, best) = (size(c.enough()?.block), rate(c.best()?.speed.value));
        Some(format!("{}: within a tenth of its best, {best}, from {enough} on.", capital(way(c))))
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
