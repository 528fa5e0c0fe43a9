//! Marks and shaded ranges, and their labels where they cover least.

use maud::{Markup, html};

use super::{
    LINE,
    frame::Frame,
    text::{Anchor, Area, HIGH, Label, SIZE, cut, px},
};
use crate::findings::{At, Figure};

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
        places.put(
            &mark.label,
            match mark.at {
                At::X(_) => {
                    let beside = [(line.left + 8.0, Anchor::Start), (line.left - 8.0, Anchor::End)];
                    let across = rows(top + 3.0, LINE, &[last, first]);
                    rows(top + 3.0, LINE, &beside).into_iter().chain(across).collect()
                }
                At::Y(_) => {
                    let columns = [last, first, ((left + right) / 2.0, Anchor::Middle)];
                    let below = rows(line.top + 4.0, LINE, &columns);
                    let above = rows(line.top - HIGH - 4.0, -LINE, &columns);
                    above.into_iter().zip(below).flat_map(|(above, below)| [above, below]).collect()
                }
            },
        );
    }
    for band in &figure.bands {
        let (from, to) = (frame.x(band.from.min(band.to)), frame.x(band.from.max(band.to)));
        // Clear of the lowest line across.
        let above = bottom - HIGH - 16.0;
        places.put(
            &band.label,
            rows(above, -LINE, &[(from + 6.0, Anchor::Start), (to - 6.0, Anchor::End), last]),
        );
    }
    html! {
        @for l in &lines {
            "\n" path.stroke.ink.thick d=(format!("M{} {}L{} {}", px(l.left), px(l.top), px(l.right), px(l.bottom))) {}
        }
        @for label in places.texts { (label.draw()) }
    }
}

/// Where a text may stand: x, its upper edge, and what of it stands at x.
type Place = (f64, f64, Anchor);

/// All `columns` in one row after the other.
fn rows(first: f64, step: f64, columns: &[(f64, Anchor)]) -> Vec<Place> {
    let row = |n| columns.iter().map(move |(x, anchor)| (*x, first + f64::from(n) * step, *anchor));
    (0..12).flat_map(row).collect()
}

/// Where texts may stand, and what stands there.
struct Places {
    frame: Area,
    covered: Vec<Area>,
    texts: Vec<Label>,
}

impl Places {
    /// Puts a text on the best of `places`, of which earlier ones are better. It never covers another text: one that
    /// finds no place is left out.
    fn put(&mut self, text: &str, places: Vec<Place>) {
        let Area { left, top, right, bottom } = self.frame;
        let text = cut(text, SIZE, right - left - 12.0);
        let labels = places.into_iter().zip(0..).filter_map(|((x, y, anchor), n)| {
            let label = Label::new(text.clone(), anchor, x, y);
            let area = label.area();
            let inside = area.left > left && area.top >= top && area.right <= right && area.bottom <= bottom;
            let free = inside && self.texts.iter().all(|t| t.area().overlap(&area) == 0.0);
            let covers: f64 = self.covered.iter().map(|c| c.overlap(&area)).sum();
            free.then_some((covers + 20.0 * f64::from(n), label))
        });
        self.texts.extend(labels.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, label)| label));
    }
}
