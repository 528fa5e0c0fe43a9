//! What a terminal can show.

use anstyle::{AnsiColor, Reset, Style as Ansi};

use crate::units::{clean, hides};

const STRONG: Ansi = Ansi::new().bold();
const WARN: Ansi = AnsiColor::Yellow.on_default();
const ERROR: Ansi = AnsiColor::Red.on_default();

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Characters beyond ASCII.
    pub unicode: bool,
    /// Bold and colours.
    pub color: bool,
    /// Columns.
    pub width: usize,
}

impl Style {
    pub const PLAIN: Self = Self { unicode: true, color: false, width: 80 };

    /// The text with this style's characters.
    pub fn text(self, text: &str) -> String {
        if self.unicode { text.to_owned() } else { ascii(text) }
    }

    /// Text from outside as one line, with characters this style can show.
    pub fn clean(self, text: &str) -> String {
        self.text(&clean(text))
    }

    /// The text without orders to a terminal, which names of drives and files may hold, except line ends and colours.
    pub fn printable(self, text: &str) -> String {
        let codes = [STRONG, WARN, ERROR].map(|ansi| ansi.render().to_string());
        let reset = Reset.render().to_string();
        let colour =
            |at: usize| self.color && codes.iter().chain([&reset]).any(|code| text[at..].starts_with(code));
        let raw = |at, c: char| hides(c) && c != '\n' && !colour(at);
        text.char_indices().map(|(at, c)| if raw(at, c) { '?' } else { c }).collect()
    }

    pub fn strong(self, text: &str) -> String {
        self.paint(STRONG, text)
    }

    pub fn warn(self, text: &str) -> String {
        self.paint(WARN, text)
    }

    pub fn error(self, text: &str) -> String {
        self.paint(ERROR, text)
    }

    fn paint(self, ansi: Ansi, text: &str) -> String {
        if self.color { format!("{ansi}{text}{ansi:#}") } else { text.to_owned() }
    }
}

/// The text in ASCII: characters that drivebench writes have a spelling, others become `?`.
pub fn ascii(text: &str) -> String {
    let spell = |c: char| match c {
        '±' => "+/-",
        'µ' => "u",
        '·' | '•' | '–' | '—' | '─' => "-",
        '≥' => ">=",
        '≤' => "<=",
        '×' => "x",
        '°' => "",
        '…' => "...",
        '├' | '│' | '▏' | '▕' => "|",
        '└' => "`",
        '→' => "->",
        '█' => "#",
        '“' | '”' => "\"",
        '’' => "'",
        _ => "?",
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() { out.push(c) } else { out.push_str(spell(c)) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Format,
        analyse::Estimate,
        findings::{Findings, Metric, Quantity, Table},
        render,
    };

    #[test]
    fn names_bring_no_colours_of_their_own() {
        let style = Style { color: true, ..Style::PLAIN };
        let escapes = |name: &str, format| {
            let name = name.to_owned();
            let findings = Findings {
                context: vec![name.clone()],
                tables: vec![Table { title: name.clone(), columns: vec![], rows: vec![] }],
                verdicts: vec![name.clone()],
                flags: vec![name.clone()],
                reproduce: vec![name.clone()],
                estimates: vec![Metric::new(&name, Quantity::Throughput, Estimate::unbounded(1.0, &name))],
                ..Findings::default()
            };
            style.printable(&render(&findings, format, style, true)).matches('\u{1b}').count()
        };
        for format in [Format::Text, Format::Markdown, Format::Json] {
            let hostile = escapes("a\u{1b}[1mb\u{1b}[33mc\u{1b}[31md\u{1b}[0m", format);
            assert_eq!(hostile, escapes("abcd", format), "{format:?}");
        }
    }
}
