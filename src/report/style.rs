//! What a terminal can show.

const STRONG: &str = "\x1b[1m";
const WARN: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Characters beyond ASCII.
    pub unicode: bool,
    /// Bold, dim and colours.
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

    /// Names of drives as one line without control characters, with characters this style can show.
    pub fn clean(self, text: &str) -> String {
        let plain = text.chars().map(|c| if c.is_control() { '?' } else { c });
        self.text(&plain.collect::<String>())
    }

    /// The text without control characters, which names of drives and files may hold, except line ends and colours.
    pub fn printable(self, text: &str) -> String {
        let colour = |at: usize| {
            self.color && [STRONG, WARN, PLAIN].iter().any(|colour| text[at..].starts_with(*colour))
        };
        let raw = |at, c: char| c.is_control() && c != '\n' && !colour(at);
        text.char_indices().map(|(at, c)| if raw(at, c) { '?' } else { c }).collect()
    }

    pub fn strong(self, text: &str) -> String {
        if self.color { [STRONG, text, PLAIN].concat() } else { text.to_owned() }
    }

    pub fn warn(self, text: &str) -> String {
        if self.color { [WARN, text, PLAIN].concat() } else { text.to_owned() }
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
