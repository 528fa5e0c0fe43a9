//! What a terminal can show.

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

    pub fn strong(self, text: &str) -> String {
        if self.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub fn warn(self, text: &str) -> String {
        if self.color { format!("\x1b[33m{text}\x1b[0m") } else { text.to_owned() }
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
