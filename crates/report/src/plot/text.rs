//! Text in a figure, and its size. Fonts are unknown, so widths are conservative estimates.

use std::iter;

use maud::{Markup, html};
use unicode_width::UnicodeWidthStr;

use crate::units::clean;

/// Sizes of text. A page on a phone shows figures at half their size.
pub const TITLE: f64 = 24.0;
pub const SIZE: f64 = 21.0;
/// The height of a text of this size, with what hangs below its line.
pub const HIGH: f64 = SIZE * 1.05;
/// How wide a letter is, as a share of its height.
const LETTER: f64 = 0.57;

#[derive(Debug, Clone, Copy)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

/// A line of text; `top` is the upper edge of its letters.
#[derive(Debug, Clone)]
pub struct Label {
    pub text: String,
    pub size: f64,
    pub x: f64,
    pub top: f64,
    pub anchor: Anchor,
}

/// Which part of a text stands at its `x`.
#[derive(Debug, Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Area {
    /// The size of what both cover.
    pub fn overlap(&self, other: &Self) -> f64 {
        let wide = self.right.min(other.right) - self.left.max(other.left);
        let high = self.bottom.min(other.bottom) - self.top.max(other.top);
        wide.max(0.0) * high.max(0.0)
    }
}

impl Label {
    pub fn new(text: impl Into<String>, anchor: Anchor, x: f64, top: f64) -> Self {
        Self { text: text.into(), size: SIZE, x, top, anchor }
    }

    pub fn area(&self) -> Area {
        let wide = width(&self.text, self.size);
        let left = self.x - wide * [0.0, 0.5, 1.0][self.anchor as usize];
        Area { left, top: self.top, right: left + wide, bottom: self.top + self.size * 1.05 }
    }

    pub fn draw(&self) -> Markup {
        let anchor = ["start", "middle", "end"][self.anchor as usize];
        let (x, y) = (px(self.x), px(self.top + self.size * 0.8));
        html! { "\n" text.ink x=(x) y=(y) font-size=(self.size) text-anchor=(anchor) { (clean(&self.text)) } }
    }
}

/// A tenth of a pixel is enough, and the same on every machine.
pub fn px(value: f64) -> f64 {
    // Adding zero turns -0 into 0.
    (value * 10.0).round() / 10.0 + 0.0
}

pub fn width(text: &str, size: f64) -> f64 {
    clean(text).width() as f64 * size * LETTER
}

/// The text in lines of at most this width; what goes beyond `most` lines is cut off.
pub fn lines(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let text = &clean(text);
    let mut lines = textwrap::wrap(text, (room / size / LETTER) as usize);
    let more = lines.len() > most;
    lines.truncate(if text.is_empty() { 0 } else { most });
    let mut lines: Vec<String> = lines.into_iter().map(|line| line.into_owned()).collect();
    if let Some(last) = lines.last_mut().filter(|_| more) {
        *last = cut(&format!("{last}…"), size, room);
    }
    lines
}

/// The text, or its beginning and `…` where it is wider than `room`.
pub fn cut(text: &str, size: f64, room: f64) -> String {
    let chars: Vec<char> = text.chars().collect();
    let shorter = (0..chars.len()).rev().map(|n| chars[..n].iter().chain(&['…']).collect());
    iter::once(text.to_owned()).chain(shorter).find(|t| width(t, size) <= room).unwrap_or_default()
}

/// The text, or `…` and its end: names of drives and paths differ there.
pub fn cut_front(text: &str, size: f64, room: f64) -> String {
    let turned: String = text.chars().rev().collect();
    cut(&turned, size, room).chars().rev().collect()
}
