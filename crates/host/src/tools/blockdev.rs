//! blockdev: drops cached data of a device.

use super::{Change, Content, Tool};

const BLOCKDEV: Tool = Tool { name: "blockdev", package: "util-linux" };

/// Writes out and drops the cache of the device at `path`. Data written through a mapping is not in that cache, so
/// programs would read stale data.
pub fn flush(path: &str) -> Change<Content> {
    Change::new(BLOCKDEV, &["--flushbufs"], path)
}

#[cfg(test)]
mod tests {
    #[test]
    fn command_line() {
        assert_eq!(super::flush("/dev/sda").to_string(), "blockdev --flushbufs /dev/sda");
    }
}
