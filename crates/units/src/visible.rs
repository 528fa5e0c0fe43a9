//! Text from outside: names of drives, paths, labels, records. This is the only place that decides which characters reach a
//! terminal or a page.

use std::borrow::Cow;

/// Whether a character controls how the text around it is shown: control characters, line separators, overrides
/// of the direction of writing, and invisible ones. XML has no place for the last two.
pub fn hides(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
        || matches!(c, '\u{e0000}'..='\u{e007f}' | '\u{fffe}' | '\u{ffff}')
}

/// The text on one line, with `?` for each character that [`hides`].
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.contains(hides) { text.replace(hides, "?").into() } else { text.into() }
}

/// JSON in which such characters are escaped, so that it can be printed and reads back as it was.
pub fn clean_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if hides(c) && c != '\n' {
            let units =
                c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            out += &units;
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_to_a_terminal_become_question_marks() {
        let hostile = "a\u{1b}[2Jb\u{9b}c\u{202e}d\u{2066}e\u{200b}f\u{2028}g\u{feff}h\u{e0041}\n\t\0\u{7f}";
        assert_eq!(clean(hostile), "a?[2Jb?c?d?e?f?g?h?????");
        for name in ["", "Übergröße 2.0 — ½", "ملف", "👩\u{200d}👩", "नमस्\u{200d}ते", "日本語"]
        {
            assert_eq!(clean(name), name);
        }
    }

    #[test]
    fn json_reads_back_as_it_was() {
        let text = "a\u{1b}\u{9b}\u{202e}\u{e0041}\u{7f}\n\"\\";
        let json = clean_json(&serde_json::to_string_pretty(&vec![text]).expect("JSON"));
        assert!(!json.contains(|c| hides(c) && c != '\n'), "{json:?}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).expect("reads"), [text]);
    }
}
