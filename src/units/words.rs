//! Parts of sentences.

/// `a`, `a and b`, `a, b and c`.
pub fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(T::as_ref).collect();
    match &names[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// An argument for a shell: quoted if it has special characters.
pub fn shell_word(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
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
}
