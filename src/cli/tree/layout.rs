//! Wraps lines between cells, and long cells between words.

use unicode_width::UnicodeWidthStr;

use crate::report::{Style, wrapped};

pub(super) struct Page {
    pub(super) lines: Vec<String>,
    pub(super) style: Style,
}

impl Page {
    /// Adds cells after `first`. What doesn't fit goes on further lines, which begin with `next`.
    pub(super) fn add(&mut self, first: &str, next: &str, cells: &[String], gap: &str) {
        let style = self.style;
        let mut line = first.to_owned();
        let mut empty = true;
        for cell in cells.iter().map(|cell| style.clean(cell)).filter(|cell| !cell.is_empty()) {
            if !empty && line.width() + gap.width() + cell.trim_end().width() > style.width {
                self.begin(&mut line, next);
                empty = true;
            }
            if !empty {
                line += gap;
            }
            if line.width() + cell.trim_end().width() <= style.width {
                line += &cell;
            } else {
                let room = style.width.saturating_sub(next.width());
                for (at, part) in wrapped(&cell, "", Style { width: room, ..style }).lines().enumerate() {
                    if at > 0 {
                        self.begin(&mut line, next);
                    }
                    line.extend(part.chars().take(room));
                }
            }
            empty = false;
        }
        self.begin(&mut line, "");
    }

    /// Ends a line and begins another.
    fn begin(&mut self, line: &mut String, next: &str) {
        self.lines.push(line.trim_end().to_owned());
        next.clone_into(line);
    }
}
