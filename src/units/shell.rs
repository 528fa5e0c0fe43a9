//! Shell quoting.

/// An argument for a shell: quoted if it has special characters.
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
    fn quotes_arguments_with_special_characters() {
        let words = ["/mnt/a", "/mnt/my files", "it's", "", "$HOME", "--rw=write,read"];
        assert_eq!(
            words.map(shell_word),
            ["/mnt/a", "'/mnt/my files'", "'it'\\''s'", "''", "'$HOME'", "--rw=write,read"]
        );
    }
}
