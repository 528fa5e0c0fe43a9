//! Wraps lines between cells.

use crate::report::Style;

/// No line is longer.
pub(super) const WIDTH: usize = 80;

pub(super) struct Page {
    pub(super) lines: Vec<String>,
    pub(super) style: Style,
}

impl Page {
    /// Adds cells after `first`. Cells that don't fit go on further lines, which begin with `next`.
    pub(super) fn add(&mut self, first: &str, next: &str, cells: &[String], gap: &str) {
        let mut line = first.to_owned();
        let mut empty = true;
        for cell in cells.iter().map(|cell| self.style.clean(cell)).filter(|cell| !cell.is_empty()) {
            let width = |text: &str| text.chars().count();
            if !empty && width(&line) + width(gap) + width(cell.trim_end()) > WIDTH {
                self.lines.push(line.trim_end().to_owned());
                line = next.to_owned();
                empty = true;
            }
            if !empty {
                line += gap;
            }
            line.extend(cell.chars().take(WIDTH.saturating_sub(width(&line))));
            empty = false;
        }
        self.lines.push(line.trim_end().to_owned());
    }
}
