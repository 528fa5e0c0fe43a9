//! wipefs: removes the signatures of filesystems, arrays and partition tables.

use super::{Change, Content, Tool};

const WIPEFS: Tool = Tool { name: "wipefs", package: "util-linux" };

/// Removes all signatures of the device at `path`.
pub fn wipe(path: &str) -> Change<Content> {
    Change::new(WIPEFS, &["--all"], path)
}

#[cfg(test)]
mod tests {
    #[test]
    fn command_line() {
        assert_eq!(super::wipe("/dev/sda1").to_string(), "wipefs --all /dev/sda1");
    }
}
