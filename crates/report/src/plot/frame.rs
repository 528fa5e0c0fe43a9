//! The frame of a figure: where values stand in it, its axes and what is written beside them.

use maud::{Markup, html};

use super::{
    EDGE, LINE,
    scale::Scale,
    text::{Anchor, Area, Label, SIZE, cut, cut_front, px, width},
};
use crate::findings::{At, Axis, Figure, Style, Unit};

/// The height of the part where curves are drawn.
const HEIGHT: f64 = 300.0;
/// Between the axes and what stands at the ends of a scale, so that markers are whole.
const INSET: f64 = 10.0;
/// Dots of which the lowest is below this share of the highest are shown from zero on.
const FROM_ZERO: f64 = 0.5;
/// Others from this share of the highest on, at least.
const NEAR: f64 = 0.8;
/// Speeds of which the highest is more than so many times the lowest are shown as ratios.
const APART: f64 = 10.0;
/// Between texts side by side.
const GAP: f64 = 12.0;
/// The width of histograms, as a share of that of the drawing.
const HISTOGRAM: f64 = 0.12;
/// The most rows of names below an axis.
const ROWS: usize = 3;

pub struct Frame {
    pub area: Area,
    x: Scale,
    y: Scale,
    /// The width of the space for histograms.
    pub beside: f64,
    /// The width of the whole drawing.
    whole: f64,
}

impl Frame {
    /// A frame below `top` that shows everything in the figure, in a drawing that is `whole` wide.
    pub fn new(figure: &Figure, top: f64, whole: f64) -> Self {
        let points = || figure.curves.iter().flat_map(|c| &c.points);
        let marks = |at: fn(At) -> Option<f64>| figure.marks.iter().filter_map(move |m| at(m.at));
        let xs = points().map(|p| p.x).chain(figure.bands.iter().flat_map(|b| [b.from, b.to]));
        let ys = points().flat_map(|p| p.interval.map_or([p.y; 3], |(low, high)| [low, p.y, high]));
        let upright = |at| if let At::X(x) = at { Some(x) } else { None };
        let level = |at| if let At::Y(y) = at { Some(y) } else { None };
        let xs: Vec<f64> = xs.chain(marks(upright)).collect();
        let x =
            Scale::new(&figure.x, xs.iter().copied(), false).up_to(xs.iter().copied().fold(0.0, f64::max));
        let ys: Vec<f64> = ys.chain(marks(level)).filter(|y| y.is_finite()).collect();
        // Dots can be compared without zero, if their differences are not blown up.
        let dots = !figure.curves.is_empty() && figure.curves.iter().all(|c| c.style == Style::Dots);
        let (low, high) =
            ys.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), y| (l.min(*y), h.max(*y)));
        let near = dots && low > FROM_ZERO * high;
        let (slow, fast) =
            points().fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), p| (l.min(p.y), h.max(p.y)));
        let apart = dots && figure.y.unit == Unit::BytesPerSecond && slow > 0.0 && fast > APART * slow;
        let axis = Axis { log: figure.y.log || apart, ..figure.y.clone() };
        let least = if near && !axis.log { Some(low.min(NEAR * high)) } else { None };
        let y = Scale::new(&axis, ys.into_iter().chain(least), !near);
        let widest = y.ticks.iter().map(|t| width(&y.write(*t), SIZE)).fold(0.0, f64::max);
        let (left, top) = (EDGE + widest + GAP, top + LINE + 2.0);
        let pieces = figure.curves.iter().any(|c| c.style == Style::Pieces);
        let beside = if pieces { HISTOGRAM * whole } else { 0.0 };
        let area = Area { left, top, right: whole - 2.0 * EDGE - beside, bottom: top + HEIGHT };
        Self { area, x, y, beside, whole }
    }

    pub fn x(&self, value: f64) -> f64 {
        let left = self.area.left + INSET;
        left + self.x.share(value) * (self.area.right - INSET - left)
    }

    pub fn y(&self, value: f64) -> f64 {
        let floor = self.area.bottom - INSET;
        floor - self.y.share(value) * (floor - INSET - self.area.top)
    }

    /// The top of the uppermost of `n` equal parts of the y axis, and the height of each.
    pub fn bins(&self, n: usize) -> (f64, f64) {
        let top = self.area.top + INSET;
        (top, (self.area.bottom - INSET - top) / n as f64)
    }

    /// Pixels between a place with a name and the next.
    pub fn place(&self) -> f64 {
        self.x(0.5) - self.x(-0.5)
    }

    /// Axes, lines across, and what is written beside them; and where that ends.
    pub fn draw(&self) -> (Markup, f64) {
        let Area { left, top, right, bottom } = self.area;
        let level = self.y.ticks.iter().map(|t| (px(self.y(*t)), self.y.write(*t)));
        let y_label = Label::new(
            cut(&self.y.label(), SIZE, self.whole - 2.0 * EDGE),
            Anchor::Start,
            EDGE,
            top - LINE - 2.0,
        );
        let (below, mut end) = self.below();
        let x_label = cut(&self.x.label(), SIZE, self.whole - 2.0 * EDGE);
        let middle = (left + right) / 2.0;
        let drawn = html! {
            @for (y, text) in level {
                "\n" path.stroke.line d=(format!("M{} {y}H{}", px(left), px(right))) {}
                (Label::new(text, Anchor::End, left - 9.0, y - SIZE / 2.0).draw())
            }
            @for t in &self.x.ticks {
                "\n" path.stroke.ink d=(format!("M{} {}v7", px(self.x(*t)), px(bottom))) {}
            }
            "\n" path.stroke.ink.thick d=(format!("M{} {}V{}H{}", px(left), px(top), px(bottom), px(right))) {}
            (y_label.draw())
            @for label in below { (label.draw()) }
            @if !x_label.is_empty() { (self.inside(Label::new(x_label, Anchor::Middle, middle, end)).draw()) }
        };
        if !self.x.label().is_empty() {
            end += LINE;
        }
        (drawn, end)
    }

    /// Labels below the axis, none over another, and where they end.
    fn below(&self) -> (Vec<Label>, f64) {
        let top = self.area.bottom + 12.0;
        let label = |t: &f64| Label::new(self.x.write(*t), Anchor::Middle, self.x(*t), top);
        let labels: Vec<Label> = self.x.ticks.iter().map(|t| self.inside(label(t))).collect();
        // So many labels may share a place in turn, if these are next to each other.
        let fits = |every: &usize| {
            let areas: Vec<Area> = labels.iter().map(Label::area).collect();
            areas.iter().all(|a| a.right <= self.whole)
                && areas.iter().zip(areas.iter().skip(*every)).all(|(a, b)| a.right + GAP <= b.left)
        };
        if !self.x.named() {
            // Every second or third of them, where all don't fit.
            let every = (1..labels.len()).find(fits).unwrap_or(labels.len().max(1));
            return (labels.into_iter().step_by(every).collect(), top + LINE);
        }
        let most = ROWS.min(labels.len());
        let rows = (1..=most).find(fits);
        let in_row = |(i, label): (usize, Label)| {
            let top = label.top + (i % rows.unwrap_or(most)) as f64 * LINE;
            Label { top, ..label }
        };
        let end = top + rows.unwrap_or(most) as f64 * LINE;
        if rows.is_some() {
            return (labels.into_iter().enumerate().map(in_row).collect(), end);
        }
        // Centred below its place, as wide as the next in the row and the edge allow.
        let room = |x: f64| {
            (most as f64 * self.place() - GAP).min(2.0 * (x - EDGE)).min(2.0 * (self.whole - EDGE - x))
        };
        let short = |label: Label| Label { text: cut_front(&label.text, SIZE, room(label.x)), ..label };
        (self.x.ticks.iter().map(|t| short(label(t))).enumerate().map(in_row).collect(), end)
    }

    /// A text that would leave the drawing, moved into it.
    fn inside(&self, label: Label) -> Label {
        let half = width(&label.text, label.size) / 2.0;
        Label { x: label.x.min(self.whole - 2.0 - half).max(2.0 + half), ..label }
    }
}
