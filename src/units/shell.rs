//! Words as a shell takes them.

/// An argument as it can be typed: quoted where a shell would read more into it than it says.
pub fn shell_word(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_what_a_shell_would_read_differently() {
        let words = ["/mnt/a", "/mnt/my files", "it's", "", "$HOME", "--rw=write,read"];
        assert_eq!(
            words.map(shell_word),
            ["/mnt/a", "'/mnt/my files'", "'it'\\''s'", "''", "'$HOME'", "--rw=write,read"]
        );
    }
}
