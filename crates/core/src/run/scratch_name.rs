//! Names of scratch files and directories.

use std::path::Path;

const PREFIX: &str = ".drivebench-";
pub(super) const FILE: &str = ".scratch";
pub(super) const DIRECTORY: &str = ".files";

/// The name for the `at`th target of a run.
pub(super) fn of(run: &str, at: usize, suffix: &str) -> String {
    format!("{PREFIX}{run}{at}{suffix}")
}

/// Whether this is such a name of this run.
pub(super) fn is_of(run: &str, path: &Path, suffix: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()?.strip_prefix(PREFIX)?.strip_suffix(suffix));
    let at = name.and_then(|name| name.strip_prefix(run));
    at.is_some_and(|at| !at.is_empty() && at.bytes().all(|b| b.is_ascii_digit()))
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
    }
}
