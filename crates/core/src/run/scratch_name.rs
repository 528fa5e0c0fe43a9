//! Names of scratch files and directories.

use std::path::Path;

const PREFIX: &str = ".drivebench-";
pub(super) const FILE: &str = ".scratch";
pub(super) const DIRECTORY: &str = ".files";

/// The name for the `at`th target of a run.
pub(super) fn of(run: &str, at: usize, suffix: &str) -> String {
    format!("{PREFIX}{run}{at}{suffix}")
}

/// Whether this is the name of a scratch file or directory.
pub(super) fn is_scratch(path: &Path, suffix: &str) -> bool {
    let is_run =
        |run: &str| run.starts_with('r') && run.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    middle(path, suffix).is_some_and(is_run)
}

/// Whether this is such a name of this run.
pub(super) fn is_of(run: &str, path: &Path, suffix: &str) -> bool {
    let at = middle(path, suffix).and_then(|name| name.strip_prefix(run));
    is_scratch(path, suffix) && at.is_some_and(|at| !at.is_empty() && at.bytes().all(|b| b.is_ascii_digit()))
}

fn middle<'a>(path: &'a Path, suffix: &str) -> Option<&'a str> {
    path.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_suffix(suffix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_scratch_names_match() {
        assert_eq!(of("rk6q", 1, FILE), ".drivebench-rk6q1.scratch");
        let path = |name: &str| Path::new("/mnt/a").join(name);
        assert!(is_of("rk6q", &path(".drivebench-rk6q1.scratch"), FILE));
        for name in [
            "thesis.txt",
            ".drivebench-rk6q1.files",
            ".drivebench-rk6q.scratch",
            ".drivebench-rk6qx.scratch",
            ".drivebench-rother0.scratch",
            "a/.drivebench-rk6q1.scratch/b",
        ] {
            assert!(!is_of("rk6q", &path(name), FILE), "{name}");
        }
        for (name, ours) in [(".drivebench-rk6q.scratch", true), (".drivebench-notes.scratch", false)] {
            assert_eq!(is_scratch(&path(name), FILE), ours, "{name}");
        }
    }
}
