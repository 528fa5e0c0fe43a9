//! Figures as static SVG: one drawing for every format.

mod curves;
mod frame;
mod notes;
mod scale;
mod text;

use maud::{Markup, PreEscaped, html};

use super::colours;
use crate::{
    findings::{At, Figure, Point},
    units::clean,
};
use frame::Frame;
use text::{Anchor, Label, SIZE, TITLE, lines};

/// The width of a figure, whose height follows from its content; a page scales it.
const WIDE: f64 = 800.0;
/// The width on narrow pages, where text would be too small otherwise.
const NARROW: f64 = 500.0;
/// Between the edge and what is drawn.
const EDGE: f64 = 8.0;
/// From one line of text to the next.
const LINE: f64 = SIZE * 1.25;

/// How shapes are drawn; `colours` says in which colours.
const STYLE: &str = "\
.figure text{font-family:sans-serif;fill:currentColor;stroke-width:4px;stroke-linejoin:round;paint-order:stroke}\
.figure .fill{fill:currentColor}.figure .pale{fill-opacity:.25}.figure .half{fill-opacity:.5}\
.figure .stroke{fill:none;stroke:currentColor}.figure .thick{stroke-width:2px}.figure .curve{stroke-width:3px}\
.figure .dots{stroke-width:5px;stroke-linecap:round;stroke-opacity:.35}";

/// Which drawing a page shows.
const CHOICE: &str =
    "svg.narrow{display:none}@media(max-width:32rem){svg.broad{display:none}svg.narrow{display:block}}";

/// For a page with figures.
pub fn style() -> String {
    shapes() + CHOICE
}

fn shapes() -> String {
    STYLE.to_owned() + &colours::figure()
}

/// A figure as a file of its own, with its own background: a viewer may not support dark mode.
pub fn file(figure: &Figure) -> String {
    let paper = html! { style { (PreEscaped(shapes())) } rect.fill.paper width="100%" height="100%" {} };
    document(figure, WIDE, "figure", "f", paper).into_string() + "\n"
}

/// A figure as a part of a page, in which `id` is its own: drawn for wide and for narrow pages.
pub fn svg(figure: &Figure, id: &str) -> Markup {
    html! {
        (document(figure, WIDE, "figure broad", id, Markup::default()))
        (document(figure, NARROW, "figure narrow", &format!("{id}-n"), Markup::default()))
    }
}

/// The drawing, with a name and a text for those who can't see it.
fn document(figure: &Figure, width: f64, class: &str, id: &str, before: Markup) -> Markup {
    let figure = &drawable(figure);
    let (body, height) = body(figure, width);
    let (title, text) = (format!("{id}-t"), format!("{id}-d"));
    html! {
        svg class=(class) xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
            viewBox={ "0 0 " (width) " " (height) } role="img" aria-labelledby={ (title) " " (text) } {
            title id=(title) { (clean(&figure.title)) }
            desc id=(text) { (clean(&figure.text)) " " (clean(&figure.load)) " " (clean(&figure.n)) }
            (before)
            (body)
            "\n"
        }
    }
}

/// Title, legend and curves in their frame, from the top down, and the height of all.
fn body(figure: &Figure, width: f64) -> (Markup, f64) {
    let mut top = EDGE;
    let mut head = Vec::new();
    for (text, size) in [(&figure.title, TITLE), (&figure.load, SIZE), (&figure.n, SIZE)] {
        for line in lines(text, size, width - 2.0 * EDGE, 3) {
            head.push(Label { size, ..Label::new(line, Anchor::Start, EDGE, top) });
            top += size * 1.25;
        }
    }
    let (legend, top) = curves::legend(figure, top + 3.0, width);
    let frame = Frame::new(figure, top + 3.0, width);
    let (axes, bottom) = frame.draw();
    let drawn = html! {
        @for label in head { (label.draw()) }
        (legend)
        (notes::bands(figure, &frame))
        (axes)
        (curves::curves(figure, &frame))
        (notes::notes(figure, &frame))
    };
    (drawn, (bottom + EDGE).ceil())
}

/// The figure without infinite numbers and NaN.
fn drawable(figure: &Figure) -> Figure {
    let mut figure = figure.clone();
    for curve in &mut figure.curves {
        curve.points.retain(|p| p.x.is_finite() && p.y.is_finite());
        let known = |p: &Point| p.interval.filter(|(low, high)| !low.is_nan() && !high.is_nan());
        curve.points.iter_mut().for_each(|p| p.interval = known(p));
    }
    figure.marks.retain(|m| matches!(m.at, At::X(at) | At::Y(at) if at.is_finite()));
    figure.bands.retain(|b| b.from.is_finite() && b.to.is_finite());
    figure
}

#[cfg(test)]
mod tests;
