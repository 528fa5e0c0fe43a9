//! Findings of smallfiles.

use super::{
    super::common::{MeasuredFiles, named},
    cost_model::Costs,
};
use crate::{
    analyse::Estimate,
    findings::{Axis, Column, Curve, Figure, Findings, Metric, Point, Quantity, Scope, Style, Table, Unit},
    plan::{FileSet, FileWork, Plan},
    record::Run,
    units::{Direction, count, decimal_bytes, duration, percent, rate, size},
};

/// The set that is predicted by default.
const EXAMPLE: FileSet = FileSet { files: 20_000, size: 1_000_000 };
const NO_INTERVAL: &str = " (no interval)";
/// An interval whose ends differ by more than this factor is given without a value.
const NOISY: f64 = 2.0;

/// Advice where no useful prediction is possible.
const MEASURE_OWN: &str = "To know the time of your own files, name them, such as --files 500 --size 3MB.";

/// The flag for fewer files than requested or planned.
const CUT: &str =
    "Fewer files than planned were copied, because of --max-bytes, --max-time or the free space.";

pub(super) fn results(findings: &mut Findings, run: &mut Run<()>, plan: &Plan) {
    let asked = plan.files().find_map(|(_, files)| match files.work {
        FileWork::Write { predict, .. } => predict,
        _ => None,
    });
    let set = asked.unwrap_or(EXAMPLE);
    for (at, target) in plan.targets.iter().enumerate() {
        let both = [true, false].map(|write| Costs::of(plan, &run.acts, at, write));
        if both.iter().all(|c| c.sets.is_empty()) {
            continue;
        }
        let several = plan.targets.len() > 1;
        findings.tables.push(table(if several { &target.given } else { "" }, &both));
        findings.figures.push(figure(&target.given, &both));
        let say = |text| named(several, target, text);
        findings.flags.extend(is_cut(plan, at, asked, &both).then(|| say(CUT.to_owned())));
        findings.verdicts.push(say(Archive::of(&both).sentence()));
        let wide = |c: &&Costs| asked.is_none() && c.predict(set).is_none_or(|e| is_noisy(&e));
        findings.verdicts.extend(both.iter().filter_map(|c| copying(c, set)).map(say));
        findings.verdicts.extend(both.iter().any(|c| wide(&c)).then(|| say(MEASURE_OWN.to_owned())));
        findings.details.sentences.extend(both.iter().map(costs).map(say));
        findings.estimates.extend(both.iter().flat_map(|c| metrics(plan, c, set)));
    }
}

/// Whether fewer files were copied than planned, or planned than requested.
fn is_cut(plan: &Plan, at: usize, asked: Option<FileSet>, both: &[Costs; 2]) -> bool {
    let is_planned = |set: FileSet| plan.files().any(|(step, files)| step.is_on(at) && files.set == set);
    let is_whole = both.iter().flat_map(|c| &c.sets).all(MeasuredFiles::is_whole);
    !is_whole || asked.is_some_and(|set| !is_planned(set))
}

fn is_noisy(e: &Estimate) -> bool {
    !e.is_bounded() || e.high > NOISY * e.low
}

fn verb(costs: &Costs) -> &'static str {
    if costs.write { "write" } else { "read" }
}

fn table(title: &str, both: &[Costs; 2]) -> Table {
    let mut columns = Column::all([("files", true), ("size", true), ("write", false), ("speed", true)]);
    columns.extend(Column::all([("read, cold", false), ("speed", true)]));
    let mut sets: Vec<FileSet> = both.iter().flat_map(|c| c.sets.iter().map(|s| s.set)).collect();
    sets.sort_by_key(|s| (s.size, s.files));
    sets.dedup();
    let row = |set: FileSet| {
        let cells = both.iter().flat_map(|c| {
            let own = c.sets.iter().find(|s| s.set == set);
            let speed = own.and_then(|s| s.speed()).map_or("-".to_owned(), |e| e.text(rate));
            let time = own.and_then(|s| s.seconds()).map_or("-".to_owned(), |e| e.text(duration));
            [time, speed]
        });
        let measured = both.iter().filter_map(|c| Some(c.sets.iter().find(|s| s.set == set)?.measured()));
        let files = measured.max().unwrap_or(set.files).min(set.files);
        [files.to_string(), size(set.size)].into_iter().chain(cells).collect()
    };
    Table { title: title.to_owned(), columns, rows: sets.into_iter().map(row).collect() }
}

/// The time to copy a set, measured or predicted, and as one file; no more than the intervals allow.
fn copying(costs: &Costs, set: FileSet) -> Option<String> {
    let measured = costs.measured(set);
    let how = if measured.is_some() { "measured" } else { "predicted" };
    let many = measured.or_else(|| costs.predict(set))?;
    let single = FileSet { files: 1, size: set.bytes() };
    let verb = if costs.write { "Writing" } else { "Reading" };
    let (files, each) = (count(set.files, "file"), decimal_bytes(set.size));
    let mut text = format!("{verb} {files} of {each}, {how}: {}.", time(&many));
    let one = costs.predict(single).filter(|one| set.files > 1 && !is_noisy(one));
    if let Some((one, times)) = one.zip(costs.times(set, single)) {
        let (all, one) = (decimal_bytes(set.bytes()), time(&one));
        let more = Estimate::between(times.value - 1.0, [times.low - 1.0, times.high - 1.0], "");
        let longer = match times.low > 1.0 {
            true => format!("separate files take {} longer", more.with_ends(percent)),
            false => "too noisy to say whether separate files take longer".to_owned(),
        };
        text += &format!(" As one file of {all}: {one}; {longer}.");
    }
    Some(text)
}

/// A time with its interval, or the interval alone where it is too wide for a value.
fn time(e: &Estimate) -> String {
    match () {
        () if !e.high.is_finite() => "too noisy to say".to_owned(),
        () if is_noisy(e) => format!("too noisy to say ({})", e.range(duration)),
        () => e.sentence(duration, ""),
    }
}

/// The costs of a file, its bytes and a sync, as far as they could be told apart.
fn costs(costs: &Costs) -> String {
    let verb = if costs.write { "Writing" } else { "Reading" };
    let Some(file) = costs.file() else {
        return format!("{verb}: too little was measured to separate the costs of files and bytes.");
    };
    let cost = |e: &Estimate| match () {
        () if e.low > 0.0 => e.sentence(duration, NO_INTERVAL),
        () if e.high.is_finite() => format!("at most {}", duration(e.high)),
        () => "not known".to_owned(),
    };
    let bytes = match costs.rate() {
        Some(e) if e.is_bounded() => e.sentence(rate, ""),
        Some(e) => format!("at least {}", rate(e.low)),
        None => "not known".to_owned(),
    };
    let sync = costs.sync().filter(|sync| sync.value > 0.0);
    let sync = sync.map(|sync| format!(", cost per sync {}", cost(&sync))).unwrap_or_default();
    let misfit = costs
        .misfit()
        .map(|(set, share)| format!(" For {} this is off by {}.", set.describe(), percent(share)));
    format!(
        "{verb}: cost per file {}, speed of the bytes {bytes}{sync}.{}",
        cost(&file),
        misfit.unwrap_or_default()
    )
}

/// Below which size separate files are worth joining.
#[derive(Debug, PartialEq)]
enum Archive {
    /// A file of this many bytes takes twice as long as its bytes alone.
    TwiceAsLong(Estimate),
    /// One file is faster; too noisy to say up to which size.
    FasterAsOne,
    Unknown,
}

impl Archive {
    fn of(both: &[Costs; 2]) -> Self {
        if both.iter().any(|costs| costs.misfit().is_some()) {
            return Self::Unknown;
        }
        Self::from_sizes(both.iter().filter(|c| c.is_faster_as_one()).filter_map(Costs::even).collect())
    }

    /// Of writing and reading, the one that needs larger files decides.
    fn from_sizes(known: Vec<Estimate>) -> Self {
        match &known[..] {
            [] => Self::Unknown,
            [even, other] if !is_noisy(even) && !is_noisy(other) => {
                Self::TwiceAsLong(if even.high >= other.high { even } else { other }.clone())
            }
            _ => Self::FasterAsOne,
        }
    }

    fn sentence(&self) -> String {
        let bytes = |bytes: f64| size(bytes.round() as u64);
        match self {
            Self::TwiceAsLong(even) => format!(
                "Copy files below {} as one archive (tar). A file of {} takes twice as long as its bytes alone.",
                bytes(even.high * 9.0),
                even.sentence(bytes, "")
            ),
            Self::FasterAsOne => {
                "One big file is faster than many small ones; too noisy to say up to which size that matters."
                    .to_owned()
            }
            Self::Unknown => {
                "Whether one big file is faster than many small ones could not be determined.".to_owned()
            }
        }
    }
}

fn figure(given: &str, both: &[Costs; 2]) -> Figure {
    let measured = |c: &Costs| {
        let points = c.sets.iter().filter_map(|s| Some(Point::of(s.set.size as f64, &s.speed()?)));
        Curve::new(verb(c), Style::Dots, points)
    };
    let fitted = |c: &Costs| {
        let fit =
            |s: &MeasuredFiles| Some(Point::new(s.set.size as f64, s.set.bytes() as f64 / c.fitted(s.set)?));
        Curve::new(verb(c), Style::Line, c.sets.iter().filter_map(fit))
    };
    let runs = both.iter().flat_map(|c| c.sets.iter().map(|s| s.runs.len())).min().unwrap_or(0);
    Figure {
        title: format!("speed over the size of files, {given}"),
        text: both.iter().map(costs).collect::<Vec<_>>().join(" "),
        n: format!(
            "dots: n = {runs} runs per set, 95 % intervals; lines: fitted from the costs of files and bytes"
        ),
        x: Axis::of("size of a file", Unit::Bytes).log(),
        y: Axis::speed().log(),
        curves: both.iter().flat_map(|c| [measured(c), fitted(c)]).filter(|c| !c.points.is_empty()).collect(),
        ..Figure::default()
    }
}

fn metrics(plan: &Plan, costs: &Costs, set: FileSet) -> Vec<Metric> {
    let target = &plan.targets[costs.at].given;
    let direction = if costs.write { Direction::Write } else { Direction::Read };
    let metric = |quantity, e: Option<Estimate>| Some(Metric::new(target, quantity, e?));
    let time = |set: FileSet| Quantity::FilesTime { direction, files: set.files, size: set.size };
    let predicted = metric(time(set), costs.predict(set)).map(|m| m.at(Scope::Predicted));
    let each = costs.sets.iter().map(|s| s.metric(target, direction));
    let others = [
        metric(Quantity::CostPerFile(direction), costs.file()),
        metric(Quantity::FilesByteRate(direction), costs.rate()),
        metric(Quantity::SyncCost, costs.sync()),
        predicted,
    ];
    each.chain(others).flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::record::ActResult;

    /// Runs of two sets, each of so many seconds.
    fn measured(small: [f64; 3], large: [f64; 3]) -> Costs {
        let of = |set: FileSet, seconds: [f64; 3]| {
            let run =
                |seconds| ActResult { files: set.files, bytes: set.bytes(), seconds, ..ActResult::default() };
            MeasuredFiles { set, runs: seconds.map(run).into() }
        };
        let [many, one] = [FileSet { files: 512, size: 4096 }, FileSet { files: 1, size: 1 << 26 }];
        let mut costs = Costs::of(&Plan::default(), &BTreeMap::new(), 0, false);
        costs.sets = vec![of(many, small), of(one, large)];
        costs
    }

    #[test]
    fn one_file_is_called_faster_only_where_the_table_shows_it() {
        assert!(measured([0.2, 0.201, 0.202], [0.1, 0.101, 0.102]).is_faster_as_one());
        assert!(
            !measured([0.002, 0.02, 0.2], [0.1, 0.101, 0.102]).is_faster_as_one(),
            "the intervals overlap"
        );
        assert!(!measured([0.002, 0.00201, 0.00202], [0.1, 0.101, 0.102]).is_faster_as_one(), "slower");
    }

    #[test]
    fn a_set_cut_in_some_runs_is_not_called_whole() {
        let mut c = measured([0.2; 3], [0.1; 3]);
        c.sets[0].runs[1].files = 340;
        let whole = || measured([0.2; 3], [0.1; 3]);
        assert!(is_cut(&Plan::default(), 0, None, &[c, whole()]));
        assert!(!is_cut(&Plan::default(), 0, None, &[whole(), whole()]));
    }

    #[test]
    fn a_size_is_given_only_where_writing_and_reading_are_known() {
        let within = |value: f64, factor: f64| Estimate {
            low: value / factor,
            high: value * factor,
            ..Estimate::unbounded(value, "")
        };
        let of = |known: &[&Estimate]| Archive::from_sizes(known.iter().map(|e| (*e).clone()).collect());
        let (small, large) = (within(4096.0, 1.1), within(65536.0, 1.1));
        assert_eq!(of(&[&small, &large]), Archive::TwiceAsLong(large));
        assert_eq!(of(&[&small]), Archive::FasterAsOne);
        // The noisy one has the smaller value, but may need larger files.
        assert_eq!(of(&[&within(4096.0, 1.2), &within(2048.0, 1.9)]), Archive::FasterAsOne);
        assert_eq!(of(&[]), Archive::Unknown);
    }
}
