//! Where output goes, and what the terminal can show.

use std::{
    cell::RefCell,
    fmt::Display,
    io::{self, BufRead, IsTerminal, Write},
};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use unicode_width::UnicodeWidthStr;

use super::errors::Usage;
use crate::{
    findings::{Column, Table},
    report::{Style, table, wrapped},
};

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// In a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Standard output for results, standard error for everything else.
#[derive(Debug)]
pub struct Output {
    pub style: Style,
    /// The style of standard error.
    pub aside: Style,
    /// Standard error is a terminal, so lines can be redrawn.
    pub live: bool,
}

/// Standard output, which the process that started this one reads.
pub(super) fn to_parent() -> impl io::Write {
    io::stdout()
}

impl Output {
    pub(super) fn new(ascii: bool) -> Self {
        let unicode = !ascii && utf8();
        let style = |terminal: bool, colours: ColorChoice| Style {
            unicode,
            color: colours != ColorChoice::Never,
            width: if terminal { width(columns()) } else { 80 },
        };
        let (out, err) = (io::stdout(), io::stderr());
        let redraws = std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        Self {
            style: style(out.is_terminal(), AutoStream::choice(&out)),
            aside: style(err.is_terminal(), AutoStream::choice(&err)),
            live: err.is_terminal() && redraws,
        }
    }

    pub fn result(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let written = out.write_all(self.style.printable(text).as_bytes()).and_then(|()| out.flush());
        written.map_err(unwritable)
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
        let _ = io::stderr().lock().write_all(self.paragraph(mark, text).as_bytes());
    }

    /// Writes lines to standard error, each wrapped below its own indentation.
    pub fn lines(&self, text: &str) {
        text.lines().map(indented).for_each(|(indent, line)| self.marked(indent, line));
    }

    /// Writes a plan to standard output, each line wrapped below its own indentation.
    pub fn plan(&self, text: &str) -> io::Result<()> {
        let lines = text.lines().map(indented).map(|(indent, line)| wrapped(line, indent, self.style));
        self.result(&lines.collect::<String>())
    }

    /// Writes a command that can be copied to standard error.
    pub fn command(&self, command: &str, why: Option<&str>) {
        let why = why.map(|why| format!("  # {}", self.aside.clean(why))).unwrap_or_default();
        let line = format!("  {}{why}\n", self.aside.clean(command));
        let _ = io::stderr().lock().write_all(line.as_bytes());
    }

    /// Has a person at the terminal type a word that is the consent to something.
    pub fn ask_consent(&self, act: &str, word: &str) -> anyhow::Result<()> {
        consent(act, word, &mut io::stdin().lock(), &mut |text| self.note(text))
    }

    /// Writes a warning to standard error.
    pub fn warn(&self, text: &str) {
        let _ = io::stderr().lock().write_all(self.aside.warn(&self.paragraph("! ", text)).as_bytes());
    }

    /// A paragraph as wide as standard error is now.
    fn paragraph(&self, mark: &str, text: &str) -> String {
        let width = if self.live { width(columns_now()) } else { self.aside.width };
        wrapped(text, mark, Style { width, ..self.aside })
    }

    /// Writes what is wrong to standard error, and a hint at what to do.
    pub fn error(&self, wrong: &dyn Display, hint: Option<String>) {
        let marked = |mark: &str, text: &str| {
            let word = mark.trim();
            self.paragraph(mark, text).replacen(word, &self.aside.error(word), 1)
        };
        let hint = hint.map(|hint| marked("  hint: ", &hint)).unwrap_or_default();
        let _ = io::stderr().lock().write_all((marked("error: ", &wrong.to_string()) + &hint).as_bytes());
    }
}

/// Asks for a word that is the consent to something, before anything is changed; anything else stops.
pub(super) fn consent(
    act: &str,
    word: &str,
    input: &mut impl BufRead,
    note: &mut dyn FnMut(&str),
) -> anyhow::Result<()> {
    note(&format!("To {act}, type {word}; to stop, type nothing:"));
    let mut typed = String::new();
    input.read_line(&mut typed)?;
    match typed.trim() == word {
        true => Ok(()),
        false => Err(Usage("stopped; nothing was changed".to_owned()).into()),
    }
}

/// The indentation of a line, and the rest.
fn indented(line: &str) -> (&str, &str) {
    line.split_at(line.len() - line.trim_start().len())
}

/// The error, with the explanation that it is one of standard output.
pub(super) fn unwritable(e: io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("standard output can't be written: {e}"))
}

/// Whether the locale uses UTF-8. Without a locale, UTF-8 is assumed.
fn utf8() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    let locale = locale.map(|locale| locale.to_ascii_lowercase());
    locale.is_none_or(|locale| locale.contains("utf-8") || locale.contains("utf8"))
}

/// The width of texts in a terminal with this number of columns.
fn width(columns: usize) -> usize {
    columns.clamp(40, 100)
}

fn columns() -> usize {
    terminal_columns(io::stdout()).or_else(|| terminal_columns(io::stderr())).unwrap_or(80)
}

/// The current width of standard error, in columns: people resize terminals while a run goes on.
pub(super) fn columns_now() -> usize {
    terminal_columns(io::stderr()).unwrap_or(80)
}

/// Two lines at the end of standard error, which are drawn again and again.
pub(super) struct Redrawn {
    visible: bool,
    /// The lines that are shown; empty if none are.
    shown: RefCell<Vec<String>>,
}

impl Redrawn {
    pub fn new(visible: bool) -> Self {
        Self { visible, shown: RefCell::default() }
    }

    /// Shows these lines instead of those that are shown.
    pub fn show(&self, lines: [String; 2]) {
        if self.visible {
            let clear = clear(&self.shown.borrow());
            let _ = io::stderr().lock().write_all((clear + &lines.join("\n")).as_bytes());
            self.shown.replace(lines.into());
        }
    }

    /// Prints lines above.
    pub fn above(&self, print: impl FnOnce()) {
        let shown = self.shown.take();
        let _ = io::stderr().lock().write_all(clear(&shown).as_bytes());
        print();
        let _ = io::stderr().lock().write_all(shown.join("\n").as_bytes());
        self.shown.replace(shown);
    }

    /// Removes the lines.
    pub fn end(&self) {
        let _ = io::stderr().lock().write_all(clear(&self.shown.take()).as_bytes());
    }
}

impl Drop for Redrawn {
    fn drop(&mut self) {
        self.end();
    }
}

/// The escape sequence that removes these lines, at the end of which the cursor is. In a terminal that became narrower they are
/// wrapped, and take more rows.
fn clear(lines: &[String]) -> String {
    let width = columns_now();
    let rows: usize = lines.iter().map(|line| line.width().div_ceil(width).max(1)).sum();
    match rows {
        0 => String::new(),
        1 => "\r\x1b[J".to_owned(),
        _ => format!("\r\x1b[{}A\x1b[J", rows - 1),
    }
}

fn terminal_columns(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}
