//! Where output goes, and what the terminal can show.

use std::io::{self, IsTerminal, Write};

use crate::{
    findings::{Column, Table},
    report::{Style, table, wrapped},
};

/// Standard output for results, standard error for everything else.
#[derive(Debug)]
pub struct Output {
    pub style: Style,
    /// The style of standard error.
    pub aside: Style,
    /// Standard error is a terminal, so a line can be redrawn.
    pub live: bool,
}

impl Output {
    pub(super) fn new(ascii: bool) -> Self {
        let unicode = !ascii && utf8();
        let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        let style = |terminal: bool| Style {
            unicode,
            color: terminal && !set("NO_COLOR") && !dumb,
            width: if terminal { columns().clamp(40, 100) } else { 80 },
        };
        let (out, err) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        Self { style: style(out), aside: style(err), live: err && !dumb }
    }

    pub fn result(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(self.style.printable(text).as_bytes())?;
        out.flush()
    }

    /// A table without a title.
    pub fn table(&self, columns: Vec<Column>, rows: Vec<Vec<String>>) -> io::Result<()> {
        self.result(&table(&Table { title: String::new(), columns, rows }, self.style))
    }

    /// Writes a paragraph to standard error. Errors are ignored: standard error may be closed.
    pub fn note(&self, text: &str) {
        self.marked("", text);
    }

    /// Writes a paragraph behind a mark to standard error.
    pub fn marked(&self, mark: &str, text: &str) {
        let _ = io::stderr().lock().write_all(wrapped(text, mark, self.aside).as_bytes());
    }

    /// Replaces the last line; `None` clears it.
    pub fn redraw(&self, line: Option<&str>) {
        let text = format!("\r\x1b[K{}", self.aside.clean(line.unwrap_or_default()));
        let mut err = io::stderr().lock();
        let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
    }

    pub fn error(&self, error: &anyhow::Error, hint: Option<String>) {
        let line = wrapped(&format!("{error}"), "error: ", self.aside);
        let hint = hint.map(|h| wrapped(&h, "  hint: ", self.aside)).unwrap_or_default();
        let _ = io::stderr().lock().write_all((line + &hint).as_bytes());
    }
}

/// Whether the locale uses UTF-8. Without a locale, UTF-8 is assumed.
fn utf8() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    let locale = locale.map(|locale| locale.to_ascii_lowercase());
    locale.is_none_or(|locale| locale.contains("utf-8") || locale.contains("utf8"))
}

fn columns() -> usize {
    rustix::termios::tcgetwinsize(io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(io::stderr()))
        .map_or(80, |size| if size.ws_col == 0 { 80 } else { usize::from(size.ws_col) })
}
