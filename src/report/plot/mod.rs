//! Figures as static SVG: one drawing for every format.

mod curves;
mod frame;
mod notes;
mod scale;
mod text;

use maud::{Markup, PreEscaped, html};

use super::colours;
use crate::findings::{At, Axis, Figure, Point};
use frame::Frame;
use text::{Anchor, Label, SIZE, TITLE, lines};

/// A figure is so wide, and as high as it must be; a page shows it smaller or larger.
const WIDTH: f64 = 800.0;
/// Between the edge and what is drawn.
const EDGE: f64 = 8.0;
/// From one line of text to the next.
const LINE: f64 = SIZE * 1.25;

/// How shapes are drawn; `colours` says in which colours.
const STYLE: &str = "\
.figure text{font-family:sans-serif;fill:currentColor;stroke-width:4px;stroke-linejoin:round;paint-order:stroke}\
.figure .fill{fill:currentColor}.figure .pale{fill-opacity:.25}\
.figure .stroke{fill:none;stroke:currentColor}.figure .thick{stroke-width:2px}.figure .curve{stroke-width:3px}";

/// The style sheet of all figures of a page.
pub fn style() -> String {
    STYLE.to_owned() + &colours::figure()
}

/// A figure as a file of its own, on paper of its own: whoever shows it may not know what is dark.
pub fn file(figure: &Figure) -> String {
    let paper = html! { style { (PreEscaped(style())) } rect.fill.paper width="100%" height="100%" {} };
    document(figure, "f", paper).into_string() + "\n"
}

/// A figure as a part of a page, in which `id` is its own.
pub fn svg(figure: &Figure, id: &str) -> Markup {
    document(figure, id, Markup::default())
}

/// The drawing, with a name and a text for those who can't see it.
fn document(figure: &Figure, id: &str, before: Markup) -> Markup {
    let figure = &drawable(figure);
    let (body, height) = body(figure);
    let (title, text) = (format!("{id}-t"), format!("{id}-d"));
    html! {
        svg.figure xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(height) viewBox={ "0 0 " (WIDTH) " " (height) }
            role="img" aria-labelledby={ (title) " " (text) } {
            title id=(title) { (figure.title) }
            desc id=(text) { (figure.text) " " (figure.n) }
            (before)
            (body)
            "\n"
        }
    }
}

/// From the top down: title, legend, curves in their frame. And how high that is.
fn body(figure: &Figure) -> (Markup, f64) {
    let mut top = EDGE;
    let mut head = Vec::new();
    for (text, size, most) in [(&figure.title, TITLE, 2), (&figure.n, SIZE, 1)] {
        for line in lines(text, size, WIDTH - 2.0 * EDGE, most) {
            head.push(Label { size, ..Label::new(line, Anchor::Start, EDGE, top) });
            top += size * 1.25;
        }
    }
    let (legend, top) = curves::legend(figure, top + 3.0);
    let frame = Frame::new(figure, top + 3.0);
    let (axes, bottom) = frame.draw();
    let (curves, covered) = curves::curves(figure, &frame);
    let drawn = html! {
        @for label in head { (label.draw()) }
        (legend)
        (notes::bands(figure, &frame))
        (axes)
        (curves)
        (notes::notes(figure, &frame, &covered))
    };
    (drawn, (bottom + EDGE).ceil())
}

/// The figure without what can't be drawn: numbers that are none, and characters that no text may hold.
fn drawable(figure: &Figure) -> Figure {
    let mut figure = figure.clone();
    let clean = |text: &mut String| {
        let bad = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
        *text = text.chars().map(|c| if bad(c) { ' ' } else { c }).collect();
    };
    let axis = |axis: &mut Axis| {
        [&mut axis.label, &mut axis.unit].into_iter().chain(&mut axis.names).for_each(clean);
    };
    [&mut figure.title, &mut figure.text, &mut figure.n].into_iter().for_each(clean);
    [&mut figure.x, &mut figure.y].into_iter().for_each(axis);
    for curve in &mut figure.curves {
        clean(&mut curve.name);
        curve.points.retain(|p| p.x.is_finite() && p.y.is_finite());
        let known = |p: Point| p.interval.filter(|(low, high)| !low.is_nan() && !high.is_nan());
        curve.points.iter_mut().for_each(|p| p.interval = known(*p));
    }
    figure.marks.iter_mut().for_each(|m| clean(&mut m.label));
    figure.marks.retain(|m| matches!(m.at, At::X(at) | At::Y(at) if at.is_finite()));
    figure.bands.iter_mut().for_each(|b| clean(&mut b.label));
    figure.bands.retain(|b| b.from.is_finite() && b.to.is_finite());
    figure
}

#[cfg(test)]
mod tests;
