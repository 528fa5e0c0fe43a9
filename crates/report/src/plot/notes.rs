//! Marks and shaded ranges with their labels. A halo keeps a label legible over a curve.

use maud::{Markup, html};

use super::{
    LINE,
    frame::Frame,
    text::{Anchor, Area, HIGH, Label, SIZE, cut, px},
};
use crate::findings::{At, Figure};

/// Rows in which a label may stand.
const ROWS: i32 = 12;

/// Shaded ranges, which lie below everything else.
pub fn bands(figure: &Figure, frame: &Frame) -> Markup {
    let Area { top, bottom, .. } = frame.area;
    html! {
        @for (from, to) in figure.bands.iter().map(|b| (frame.x(b.from.min(b.to)), frame.x(b.from.max(b.to)))) {
            "\n" rect.fill.shade x=(px(from)) y=(px(top)) width=(px(to - from)) height=(px(bottom - top)) {}
        }
    }
}

/// Lines across the curves, then the labels of lines and bands.
pub fn notes(figure: &Figure, frame: &Frame) -> Markup {
    let Area { left, top, right, bottom } = frame.area;
    let mut labels = Labels { frame: frame.area, placed: Vec::new() };
    let (first, last) = ((left + 6.0, Anchor::Start), (right - 6.0, Anchor::End));
    for mark in &figure.marks {
        match mark.at {
            At::X(x) => {
                let (before, after) = (frame.x(x) - 8.0, frame.x(x) + 8.0);
                let tops = (0..ROWS).map(|row| top + 3.0 + f64::from(row) * LINE);
                labels.put(&mark.label, tops, &[(after, Anchor::Start), (before, Anchor::End), last, first]);
            }
            At::Y(y) => {
                let (above, below) = (frame.y(y) - HIGH - 4.0, frame.y(y) + 4.0);
                let tops =
                    (0..ROWS).flat_map(|row| [above - f64::from(row) * LINE, below + f64::from(row) * LINE]);
                labels.put(&mark.label, tops, &[last, first]);
            }
        }
    }
    for band in &figure.bands {
        let (from, to) = (frame.x(band.from.min(band.to)), frame.x(band.from.max(band.to)));
        // Clear of the lowest line across.
        let tops = (0..ROWS).map(|row| bottom - HIGH - 16.0 - f64::from(row) * LINE);
        labels.put(&band.label, tops, &[(from + 6.0, Anchor::Start), (to - 6.0, Anchor::End)]);
    }
    let line = |at| match at {
        At::X(x) => format!("M{} {}V{}", px(frame.x(x)), px(top), px(bottom)),
        At::Y(y) => format!("M{} {}H{}", px(left), px(frame.y(y)), px(right)),
    };
    html! {
        @for mark in &figure.marks { "\n" path.stroke.ink.thick d=(line(mark.at)) {} }
        @for label in labels.placed { (label.draw()) }
    }
}

/// The labels that were placed in a frame.
struct Labels {
    frame: Area,
    placed: Vec<Label>,
}

impl Labels {
    /// Puts a text in the first of these places that is inside the frame and free of other labels. Without one it is left out.
    fn put(&mut self, text: &str, tops: impl Iterator<Item = f64>, columns: &[(f64, Anchor)]) {
        let Area { left, top, right, bottom } = self.frame;
        let text = cut(text, SIZE, right - left - 12.0);
        let place = |y: f64| {
            columns.iter().map(|(x, anchor)| Label::new(text.clone(), *anchor, *x, y)).collect::<Vec<_>>()
        };
        let mut places = tops.flat_map(place);
        let is_free = |label: &Label| {
            let area = label.area();
            let inside = area.left > left && area.top >= top && area.right <= right && area.bottom <= bottom;
            inside && self.placed.iter().all(|other| other.area().overlap(&area) == 0.0)
        };
        let label = places.find(is_free);
        self.placed.extend(label);
    }
}
