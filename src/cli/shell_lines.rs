//! Commands for people to copy.

/// The words of a command where a shell splits them, quotes included.
pub(super) fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        quoted ^= c == '\'';
        if c == ' ' && !quoted {
            words.push(std::mem::take(&mut word));
            continue;
        }
        word.push(c);
        if c == '\\' && !quoted {
            word.extend(chars.next());
        }
    }
    words.push(word);
    words
}

/// A command over several lines, as a shell accepts it; quoted words are not broken.
pub(super) fn broken(command: &str, width: usize) -> String {
    let mut out = String::new();
    let mut line = " ".to_owned();
    for word in words(command) {
        // Room for the mark at the end of the line.
        if line.chars().count() + 1 + word.chars().count() + 2 > width && !line.trim().is_empty() {
            out += &format!("{line} \\\n");
            line = "   ".to_owned();
        }
        line += &format!(" {word}");
    }
    out + &line + "\n"
}

/// A command with a comment: behind it, or on a line before it where both don't fit on one.
pub(super) fn explained(command: &str, why: Option<&str>, width: usize) -> String {
    let why = why.map(|why| format!("# {why}"));
    let line =
        [Some(format!("  {command}")), why.clone()].into_iter().flatten().collect::<Vec<_>>().join("  ");
    match why {
        _ if line.chars().count() <= width => line + "\n",
        Some(why) => format!("  {why}\n{}", broken(command, width)),
        None => broken(command, width),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::shell_word;

    #[test]
    fn a_broken_command_is_one_command_for_a_shell() {
        let command = "drivebench run cliff '/mnt/a b' --store /somewhere/far/away";
        let lines = broken(command, 40);
        assert!(lines.lines().count() > 1 && lines.lines().all(|line| line.chars().count() <= 40), "{lines}");
        assert_eq!(
            words(&lines.replace("\\\n", " ")).join(" ").split_whitespace().collect::<Vec<_>>().join(" "),
            command
        );
    }

    #[test]
    fn a_command_is_never_broken_within_a_path() {
        let of = |length: usize| (0..4usize.pow(length as u32)).map(move |number| (number, length));
        for (number, length) in (1..=6).flat_map(of) {
            let letter = |at: usize| [' ', '\'', '\\', 'a'][number / 4usize.pow(at as u32) % 4];
            let path: String = (0..length).map(letter).collect();
            let word = shell_word(&path);
            let command = format!("drivebench run {word} --store {word}");
            assert_eq!(words(&command), ["drivebench", "run", &word, "--store", &word]);
            let lines = broken(&command, 1);
            let lines: Vec<&str> = lines.trim_end_matches('\n').split(" \\\n").map(str::trim_start).collect();
            assert_eq!(lines, ["drivebench", "run", &word, "--store", &word]);
        }
    }

    #[test]
    fn no_line_ends_within_a_comment() {
        let command = "drivebench run cliff /mnt/a --store st";
        let why = Some("does it slow down later?");
        assert_eq!(explained(command, why, 80), format!("  {command}  # does it slow down later?\n"));
        assert_eq!(explained(command, why, 50), format!("  # does it slow down later?\n  {command}\n"));
        assert_eq!(explained(command, None, 50), format!("  {command}\n"));
    }
}
