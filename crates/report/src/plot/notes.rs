//! Marks and shaded ranges, with labels placed where they cover least.

use maud::{Markup, html};

use super::{
    LINE,
    frame::Frame,
    text::{Anchor, Area, HIGH, Label, SIZE, cut, px},
};
use crate::findings::{At, Figure};

/// What a label costs for each square that it covers of a curve.
const COVERING: f64 = 3.0;
/// Lines this near to each other look like one: their labels stand together beside both.
const TOGETHER: f64 = 10.0;
/// A label this near to another upright line seems to belong to it.
const APART: f64 = 24.0;
/// What that costs.
const UNCLEAR: f64 = 2e4;

/// Shaded ranges, which lie below everything else.
pub fn bands(figure: &Figure, frame: &Frame) -> Markup {
    let Area { top, bottom, .. } = frame.area;
    html! {
        @for (from, to) in figure.bands.iter().map(|b| (frame.x(b.from.min(b.to)), frame.x(b.from.max(b.to)))) {
            "\n" rect.fill.shade x=(px(from)) y=(px(top)) width=(px(to - from)) height=(px(bottom - top)) {}
        }
    }
}

/// Lines across the curves, then the labels of lines and bands; `covered` is what the curves cover.
pub fn notes(figure: &Figure, frame: &Frame, covered: &[Area]) -> Markup {
    let Area { left, top, right, bottom } = frame.area;
    let line = |at| match at {
        At::X(x) => Area { left: frame.x(x), right: frame.x(x), top, bottom },
        At::Y(y) => Area { left, right, top: frame.y(y), bottom: frame.y(y) },
    };
    let lines: Vec<Area> = figure.marks.iter().map(|m| line(m.at)).collect();
    let thick = |l: &Area| Area {
        left: l.left - 2.0,
        top: l.top - 2.0,
        right: l.right + 2.0,
        bottom: l.bottom + 2.0,
    };
    let mut places = Places { frame: frame.area, covered: covered.to_vec(), texts: Vec::new() };
    places.covered.extend(lines.iter().map(thick));
    let (first, last) = ((left + 6.0, Anchor::Start), (right - 6.0, Anchor::End));
    for (mark, line) in figure.marks.iter().zip(&lines) {
        let beside = [(line.left + 8.0, Anchor::Start), (line.left - 8.0, Anchor::End), last, first];
        let inner = [4.0, 2.0, 6.0, 3.0, 5.0].map(|n| (left + (right - left) * n / 8.0, Anchor::Middle));
        let along = [&[last, first][..], &inner].concat();
        let rows = match mark.at {
            At::X(_) => rows(top + 3.0, LINE, 60.0, &beside),
            At::Y(_) => [(line.top - HIGH - 4.0, -LINE), (line.top + 4.0, LINE)]
                .map(|(nearest, step)| rows(nearest, step, 150.0, &along))
                .concat(),
        };
        // There it would seem to belong to another line: near an upright one, or beyond a level one.
        let others = figure.marks.iter().zip(&lines).filter_map(|(other, at)| match (mark.at, other.at) {
            (At::X(_), _) if (at.left - line.left).abs() > TOGETHER => {
                Some(Area { left: at.left - APART, right: at.left + APART, ..*at })
            }
            (At::Y(_), At::Y(_)) if at.top < line.top - 0.5 => Some(Area { top, ..*at }),
            (At::Y(_), At::Y(_)) if at.top > line.top + 0.5 => Some(Area { bottom, ..*at }),
            _ => None,
        });
        places.put(&mark.label, rows, &others.collect::<Vec<_>>());
    }
    for band in &figure.bands {
        let (from, to) = (frame.x(band.from.min(band.to)), frame.x(band.from.max(band.to)));
        let columns = [(from + 6.0, Anchor::Start), (to - 6.0, Anchor::End), last];
        // Clear of the lowest line across.
        places.put(&band.label, rows(bottom - HIGH - 16.0, -LINE, 60.0, &columns), &[]);
    }
    html! {
        @for l in &lines {
            "\n" path.stroke.ink.thick d=(format!("M{} {}L{} {}", px(l.left), px(l.top), px(l.right), px(l.bottom))) {}
        }
        @for label in places.texts { (label.draw()) }
    }
}

/// A possible position of a text: x, its anchor, its upper edge, and its cost.
type Place = (f64, Anchor, f64, f64);

/// All `columns`, row by row; earlier columns cost less, and each row costs `worse` more.
fn rows(first: f64, step: f64, worse: f64, columns: &[(f64, Anchor)]) -> Vec<Place> {
    let place = |row: i32| {
        let (top, cost) = (first + f64::from(row) * step, f64::from(row) * worse);
        columns.iter().zip(0..).map(move |((x, anchor), n)| (*x, *anchor, top, cost + 100.0 * f64::from(n)))
    };
    (0..12).flat_map(place).collect()
}

/// The free and covered areas of a figure, and the texts placed so far.
struct Places {
    frame: Area,
    covered: Vec<Area>,
    texts: Vec<Label>,
}

impl Places {
    /// Puts a text on the cheapest of `places`, if possible outside `avoid`. It never covers another text: without a free place it is left out.
    fn put(&mut self, text: &str, places: Vec<Place>, avoid: &[Area]) {
        let Area { left, top, right, bottom } = self.frame;
        let text = cut(text, SIZE, right - left - 12.0);
        let labels = places.into_iter().filter_map(|(x, anchor, y, cost)| {
            let label = Label::new(text.clone(), anchor, x, y);
            let area = label.area();
            let inside = area.left > left && area.top >= top && area.right <= right && area.bottom <= bottom;
            let free = inside && self.texts.iter().all(|t| t.area().overlap(&area) == 0.0);
            let covers: f64 = self.covered.iter().map(|c| c.overlap(&area)).sum();
            let unclear = if avoid.iter().any(|a| a.overlap(&area) > 0.0) { UNCLEAR } else { 0.0 };
            free.then_some((COVERING * covers + cost + unclear, label))
        });
        self.texts.extend(labels.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, label)| label));
    }
}
