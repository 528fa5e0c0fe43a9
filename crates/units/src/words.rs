//! Parts of sentences.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use super::visible::hides;

/// `a`, `a and b`, `a, b and c`.
pub fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(T::as_ref).collect();
    match &names[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// An argument for a shell: quoted if it has special characters. What can't be shown, such as line ends and bytes that are
/// not UTF-8, is escaped: bash, zsh, ksh and busybox read `$'...'`, dash doesn't.
pub fn shell_word<S: AsRef<OsStr> + ?Sized>(argument: &S) -> String {
    let argument = argument.as_ref();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match argument.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(plain) => text.to_owned(),
        Some(text) if !text.contains(hides) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => escaped(argument.as_bytes()),
    }
}

fn escaped(bytes: &[u8]) -> String {
    let octal = |bytes: &[u8]| bytes.iter().map(|byte| format!("\\{byte:03o}")).collect::<String>();
    let mut out = "$'".to_owned();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match hides(c) || c == '\'' || c == '\\' {
                true => out += &octal(c.encode_utf8(&mut [0; 4]).as_bytes()),
                false => out.push(c),
            }
        }
        out += &octal(chunk.invalid());
    }
    out + "'"
}

/// Each value once, in order.
pub fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    all.into_iter().fold(Vec::new(), |mut seen, one| {
        if !seen.contains(&one) {
            seen.push(one);
        }
        seen
    })
}

/// The text with its first letter in upper case.
pub fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A name cut to a number of columns. The end of a long name is kept, because it identifies it better.
pub fn shortened(name: &str, columns: usize) -> String {
    let length = name.chars().count();
    if length <= columns {
        name.to_owned()
    } else {
        format!("…{}", name.chars().skip(length + 1 - columns).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_and_sentences_begin_with_a_capital() {
        assert_eq!([listed::<&str>(&[]), listed(&["a"])], ["", "a"]);
        assert_eq!([listed(&["a", "b"]), listed(&["a", "b", "c"])], ["a and b", "a, b and c"]);
        assert_eq!([shortened("/mnt/a", 6), shortened("/mnt/ab", 6)], ["/mnt/a", "…nt/ab"]);
        assert_eq!(["", "the bus", "éa", "ß"].map(capital), ["", "The bus", "Éa", "SS"]);
    }

    #[test]
    fn quotes_arguments_with_special_characters() {
        let words = ["/mnt/a", "/mnt/my files", "it's", "", "$HOME", "--rw=write,read"];
        assert_eq!(
            words.map(shell_word),
            ["/mnt/a", "'/mnt/my files'", "'it'\\''s'", "''", "'$HOME'", "--rw=write,read"]
        );
    }

    #[test]
    fn what_cannot_be_shown_is_escaped_and_a_shell_reads_it_back() {
        let hostile = "a b\n\u{202e}é'\\$x".as_bytes();
        let bytes: Vec<u8> = [hostile, b"\xff\xc3", b"1"].concat();
        let word = shell_word(OsStr::from_bytes(&bytes));
        assert_eq!(word, "$'a b\\012\\342\\200\\256é\\047\\134$x\\377\\3031'");
    }
}
