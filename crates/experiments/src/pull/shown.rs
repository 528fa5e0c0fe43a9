//! Cells, figures and messages of pulls.

use super::{PullEvent, PullResult, cases::Case};
use crate::{
    findings::{At, Axis, Curve, Figure, Mark, Point, Style, Unit},
    test_files::{FilesFound, LedgerFound, Operation, Operations},
    units::{decimal_bytes, duration, listed},
};

/// Lines of the kernel that a report shows.
const KERNEL_LINES: usize = 12;
/// A last write before this share of the time is said: a picture without writes looks as if they hung.
const ENDED: f64 = 0.8;
/// Marks of a figure that are less than this share of its time apart would be one line.
const NEAR: f64 = 0.1;

/// How long the longest operation of all of these took, which says little where errors followed.
pub(super) fn waits<'a>(all: impl IntoIterator<Item = &'a Operations>) -> String {
    let all: Vec<&Operations> = all.into_iter().collect();
    let longest = all.iter().map(|of| of.longest).fold(0.0, f64::max);
    match longest > 0.0 {
        _ if all.iter().any(|of| of.failed_reads.max(of.failed_writes) > 0) => "errors".to_owned(),
        _ if all.iter().any(|of| of.hanging > 0) => format!("hung for {}", duration(longest)),
        true => duration(longest),
        false => "-".to_owned(),
    }
}

pub(super) fn whole(files: &FilesFound) -> String {
    format!("{} of {}", files.whole, files.all())
}

/// Bytes of acknowledged writes that are there.
pub(super) fn kept(ledger: &LedgerFound) -> String {
    match ledger.lost_bytes {
        0 => "all".to_owned(),
        lost => format!("{} lost", decimal_bytes(lost)),
    }
}

/// Each operation as a dot, with what was noticed when.
pub(super) fn figure(case: &Case<'_>) -> Figure {
    let PullResult { sample, moments, .. } = case.pulled;
    let noticed: Vec<String> = moments
        .iter()
        .map(|moment| format!("{} after {}", moment.what.words(), duration(moment.at)))
        .collect();
    let mut marks = vec![Mark { label: "drive pulled".to_owned(), at: At::X(0.0) }];
    // What is too near for words is in the table.
    let far = sample.iter().map(|op| op.at.abs()).fold(0.0, f64::max) * NEAR;
    let again = moments.iter().find(|moment| moment.what == PullEvent::WriteWorks && moment.at > far);
    marks.extend(again.map(|m| Mark { label: "writes go on".to_owned(), at: At::X(m.at) }));
    Figure {
        title: format!("{}: {} pulled", case.layout, case.drive),
        text: format!("How long each operation took. After the pull: {}.", listed(&noticed)),
        x: Axis::of("time since the pull", Unit::Seconds),
        marks,
        ..operations(sample)
    }
}

/// The same from when the pool has the drive again until it is filled.
pub(super) fn figure_back(case: &Case<'_>) -> Option<Figure> {
    let back = case.pulled.back.as_ref().filter(|back| !back.sample.is_empty())?;
    let until = match (&back.second, back.healed) {
        (Some(_), _) => "another drive is pulled",
        (None, Some(_)) => "the drive is filled",
        (None, None) => "filling ends",
    };
    let longest = waits([&back.during]);
    let end = Mark { label: until.to_owned(), at: At::X(back.during.seconds) };
    let last = back.sample.iter().filter(|op| op.write).map(|op| op.at + op.seconds).reduce(f64::max);
    let writes = match last.filter(|last| *last < back.during.seconds * ENDED) {
        Some(last) => {
            format!(" The last write ended after {}: the plan limits how much is written.", duration(last))
        }
        None => String::new(),
    };
    Some(Figure {
        title: format!("{}: {} filled again", case.layout, case.drive),
        text: format!(
            "How long each operation took while the drive was filled, {}. Longest wait: {longest}.{writes}",
            duration(back.during.seconds)
        ),
        x: Axis::of("time since the pool has the drive again", Unit::Seconds),
        marks: vec![end],
        ..operations(&back.sample)
    })
}

/// Operations as dots.
fn operations(sample: &[Operation]) -> Figure {
    let points = |write: bool| {
        let of = sample.iter().filter(move |op| op.write == write && !op.failed);
        of.map(|op| Point::new(op.at, op.seconds)).collect::<Vec<_>>()
    };
    let failed: Vec<Point> =
        sample.iter().filter(|op| op.failed).map(|op| Point::new(op.at, op.seconds)).collect();
    let curves = [("reads", points(false)), ("synced writes", points(true)), ("failed", failed)];
    Figure {
        n: format!("{} of all operations, the longest ones included", sample.len()),
        y: Axis::of("time of an operation", Unit::Seconds).log(),
        curves: curves
            .into_iter()
            .filter(|(_, points)| !points.is_empty())
            .map(|(name, points)| Curve::new(name, Style::Dots, points))
            .collect(),
        ..Figure::default()
    }
}

pub(super) fn kernel(case: &Case<'_>) -> Option<String> {
    let lines = case.pulled.kernel.iter().take(KERNEL_LINES).map(|(at, text)| format!("{at:+.2} s {text}"));
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| {
        format!(
            "The kernel on {}, {} ({}) pulled: {}",
            case.layout,
            case.drive,
            case.pulled.name,
            lines.join(" · ")
        )
    })
}
