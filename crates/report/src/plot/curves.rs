//! Curves: their lines, dots and bars, and the legend.

use maud::{Markup, html};

use super::{
    EDGE, LINE,
    frame::Frame,
    text::{Anchor, Area, Label, SIZE, cut, px, width},
};
use crate::{
    colours::CURVES,
    findings::{Curve, Figure, Point, Style},
    units::distinct,
};

/// Dash patterns, so that lines can be distinguished without colour.
const DASHES: [Option<&str>; 6] =
    [None, Some("14 6"), Some("4 5"), Some("14 5 4 5"), Some("20 8"), Some("8 8")];

/// The sample in front of a name in the legend.
const SAMPLE: f64 = 40.0;

/// Bars of a histogram, at most.
const BINS: usize = 30;

/// Which colour, dashes and marker each curve has: curves of one name belong together and look alike.
pub fn curve_looks(curves: &[Curve]) -> Vec<usize> {
    let names = distinct(curves.iter().map(|curve| &curve.name));
    curves.iter().filter_map(|curve| names.iter().position(|name| **name == curve.name)).collect()
}

fn colour(look: usize) -> &'static str {
    CURVES[look % CURVES.len()].0
}

/// Samples and names of the curves, where there are several, and where what follows begins.
pub fn legend(figure: &Figure, top: f64, room: f64) -> (Markup, f64) {
    let looks = curve_looks(&figure.curves);
    let all: Vec<(usize, &Curve)> =
        looks.into_iter().zip(&figure.curves).filter(|(_, c)| !c.name.is_empty()).collect();
    let (mut x, mut top) = (EDGE, top);
    let mut entries = Vec::new();
    for (n, (look, curve)) in all.iter().enumerate() {
        if all[..n].iter().any(|(other, _)| other == look) {
            continue;
        }
        let name = cut(&curve.name, SIZE, room - 2.0 * EDGE - SAMPLE - 8.0);
        let wide = SAMPLE + 8.0 + width(&name, SIZE);
        if x > EDGE && x + wide > room - EDGE {
            (x, top) = (EDGE, top + LINE);
        }
        let middle = top + SIZE / 2.0;
        entries.push(html! {
            @for style in all.iter().filter(|(other, _)| other == look).map(|(_, c)| c.style) {
                @match style {
                    Style::Line => (line(&[(x, middle), (x + SAMPLE, middle)], *look)),
                    Style::Dots => (marker(x + SAMPLE / 2.0, middle, *look)),
                    Style::Pieces => (pieces(&[0.2, 0.5, 0.8].map(|at| (x + at * SAMPLE, middle - 5.0)), *look)),
                }
            }
            (Label::new(name, Anchor::Start, x + SAMPLE + 8.0, top).draw())
        });
        x += wide + 20.0;
    }
    let end = if entries.is_empty() { top } else { top + LINE };
    (html! { @for entry in entries { (entry) } }, end)
}

fn line(points: &[(f64, f64)], look: usize) -> Markup {
    let dashes = DASHES[(look + look / DASHES.len()) % DASHES.len()];
    html! { "\n" polyline class={ "stroke curve " (colour(look)) } stroke-dasharray=[dashes] points=(path(points)) {} }
}

fn path(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect::<Vec<_>>().join(" ")
}

/// A shape of its own for each curve, so that colour isn't needed.
fn marker(x: f64, y: f64, look: usize) -> Markup {
    let at =
        |corners: &[(f64, f64)]| path(&corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>());
    let corners = match look % 4 {
        0 => return html! { "\n" circle class={ "fill " (colour(look)) } cx=(px(x)) cy=(px(y)) r="7" {} },
        1 => at(&[(-6.0, -6.0), (6.0, -6.0), (6.0, 6.0), (-6.0, 6.0)]),
        2 => at(&[(0.0, -8.0), (8.0, 6.0), (-8.0, 6.0)]),
        _ => at(&[(0.0, -8.0), (8.0, 0.0), (0.0, 8.0), (-8.0, 0.0)]),
    };
    html! { "\n" polygon class={ "fill " (colour(look)) } points=(corners) {} }
}

/// Small dots as lines without length, which have round ends: they are many.
fn pieces(points: &[(f64, f64)], look: usize) -> Markup {
    let dots = points.iter().map(|(x, y)| format!("M{} {}v0", px(*x), px(*y)));
    html! { "\n" path class={ "stroke dots " (colour(look)) } d=(dots.collect::<String>()) {} }
}

/// How often values came, as bars to the right of the frame: the longest fills the space there.
fn histogram(points: &[(f64, f64)], frame: &Frame, look: usize) -> Markup {
    let (top, high) = frame.bins(BINS);
    let mut counts = [0_u32; BINS];
    points.iter().for_each(|(_, y)| counts[(((y - top) / high).max(0.0) as usize).min(BINS - 1)] += 1);
    let most = f64::from(counts.into_iter().max().unwrap_or(0));
    let left = frame.area.right + EDGE;
    let bars = (0..)
        .zip(counts)
        .filter(|(_, count)| *count > 0)
        .map(|(n, count)| (top + high * f64::from(n), frame.beside * f64::from(count) / most));
    let high = px(high - 1.0);
    html! {
        @for (top, wide) in bars {
            "\n" rect class={ "fill half " (colour(look)) } x=(px(left)) y=(px(top)) width=(px(wide)) height=(high) {}
        }
    }
}

pub fn curves(figure: &Figure, frame: &Frame) -> Markup {
    // At places with names, dots of several curves stand side by side.
    let beside = |c: &Curve| c.style == Style::Dots && !figure.x.names.is_empty();
    let all = figure.curves.iter().filter(|c| beside(c)).count();
    let (mut nth, mut drawn) = (0, Vec::new());
    for (curve, look) in figure.curves.iter().zip(curve_looks(&figure.curves)) {
        let mut shift = 0.0;
        if beside(curve) {
            shift = (nth as f64 - (all - 1) as f64 / 2.0) * 0.8 / all as f64;
            nth += 1;
        }
        let at = |p: &Point| (frame.x(p.x + shift), frame.y(p.y));
        let interval = |p: &Point| {
            let (a, b) = p.interval.map(|(low, high)| (frame.y(low), frame.y(high)))?;
            let open = p.interval.is_some_and(|(_, high)| high.is_infinite());
            Some((Area { top: a.min(b), bottom: a.max(b), ..around(at(p), 4.0) }, open))
        };
        let intervals: Vec<(Area, bool)> = curve.points.iter().filter_map(interval).collect();
        drawn.push(match curve.style {
            Style::Line => {
                let points: Vec<(f64, f64)> = curve.points.iter().map(at).collect();
                let is_bounded = |p: &Point| p.interval.is_some_and(|(_, high)| high.is_finite());
                let bands = curve.points.chunk_by(|a, b| is_bounded(a) == is_bounded(b));
                html! { @for band in bands { (pale(band, frame, look)) } (line(&points, look)) }
            }
            Style::Dots => html! {
                (uprights(&intervals, colour(look)))
                @for p in &curve.points { (marker(at(p).0, at(p).1, look)) }
            },
            Style::Pieces => {
                let points: Vec<(f64, f64)> = curve.points.iter().map(at).collect();
                html! { (pieces(&points, look)) (histogram(&points, frame, look)) }
            }
        });
    }
    html! { @for one in drawn { (one) } }
}

/// Intervals as upright lines with a bar at each end, or an arrow where they have no upper end.
fn uprights(intervals: &[(Area, bool)], class: &str) -> Markup {
    html! {
        @for (a, open) in intervals {
            @let [x, left, right] = [(a.left + a.right) / 2.0, a.left - 3.0, a.right + 3.0].map(px);
            @let [top, bottom] = [a.top, a.bottom].map(px);
            @let end = if *open {
                format!("M{left} {}L{x} {top}L{right} {}", top + 10.0, top + 10.0)
            } else {
                format!("M{left} {top}H{right}")
            };
            "\n" path class={ "stroke curve " (class) }
                d=(format!("{end}M{x} {top}V{bottom}M{left} {bottom}H{right}")) {}
        }
    }
}

/// Intervals as a band around a line.
fn pale(points: &[Point], frame: &Frame, look: usize) -> Markup {
    let intervals = points.iter().filter_map(|p| Some((frame.x(p.x), p.interval?)));
    let bounded: Vec<_> = intervals.filter(|(_, (_, high))| high.is_finite()).collect();
    let upper = bounded.iter().map(|(x, (_, high))| (*x, frame.y(*high)));
    let lower = bounded.iter().rev().map(|(x, (low, _))| (*x, frame.y(*low)));
    let all: Vec<(f64, f64)> = upper.chain(lower).collect();
    html! {
        @if all.len() > 3 { "\n" polygon class={ "fill pale " (colour(look)) } points=(path(&all)) {} }
    }
}

fn around((x, y): (f64, f64), half: f64) -> Area {
    Area { left: x - half, top: y - half, right: x + half, bottom: y + half }
}
