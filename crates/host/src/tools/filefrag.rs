//! filefrag: where on a device the parts of files are.

use std::time::Duration;

use super::{Query, Tool};

const FILEFRAG: Tool = Tool { name: "filefrag", package: "e2fsprogs" };

/// Prints the extents of these files.
pub fn parts(files: &[String]) -> Query {
    let args = ["-v".to_owned(), "--".to_owned()].into_iter().chain(files.iter().cloned());
    Query::new(FILEFRAG, args).within(Duration::from_secs(120))
}

/// The extents of each file: start on the device and length, bytes.
pub fn read(output: &str) -> Vec<(String, Vec<(u64, u64)>)> {
    let mut files: Vec<(String, Vec<(u64, u64)>)> = Vec::new();
    let mut block = 0;
    for line in output.lines() {
        if let Some(rest) = line.strip_prefix("File size of ") {
            let Some((name, rest)) = rest.rsplit_once(" is ") else { continue };
            let size =
                rest.rsplit_once(" of ").and_then(|(_, blocks)| blocks.split(' ').next()?.parse().ok());
            block = size.unwrap_or(0);
            files.push((name.to_owned(), Vec::new()));
            continue;
        }
        // ` 0:  0..  2:  3048929..  3048931:  3: ...`
        let fields: Vec<&str> = line.split(':').map(str::trim).collect();
        let (Some((_, parts)), [number, _, from, length, ..]) = (files.last_mut(), &fields[..]) else {
            continue;
        };
        let from = from.split("..").next().and_then(|from| from.trim().parse::<u64>().ok());
        let (Ok(_), Some(from), Ok(length)) = (number.parse::<u64>(), from, length.parse::<u64>()) else {
            continue;
        };
        parts.push((from.saturating_mul(block), length.saturating_mul(block)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captured_output_gives_the_parts_of_each_file() {
        // e2fsprogs 1.47.0: a whole file, one in two parts, an empty one, and a name that looks like the words around it.
        let files = read(include_str!("fixtures/filefrag.txt"));
        insta::assert_debug_snapshot!(files);
    }

    #[test]
    fn command_line() {
        let line = parts(&["/mnt/a b".to_owned(), "-x".to_owned()]).to_string();
        assert_eq!(line, "filefrag -v -- '/mnt/a b' -x");
    }
}
