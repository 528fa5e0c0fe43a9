//! udevadm: waits for udev.

use std::time::Duration;

use super::{Query, Tool};

const UDEVADM: Tool = Tool { name: "udevadm", package: "udev" };

/// Waits until udev has handled all events so far.
pub fn settle() -> Query {
    Query::new(UDEVADM, ["settle", "--timeout=60"]).within(Duration::from_secs(70))
}

#[cfg(test)]
mod tests {
    #[test]
    fn command_line() {
        assert_eq!(super::settle().to_string(), "udevadm settle --timeout=60");
    }
}
