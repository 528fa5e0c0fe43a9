//! udevadm: waits for udev, and lets it look at arrays again.

use std::time::Duration;

use super::{Query, Tool};

const UDEVADM: Tool =
    Tool { name: "udevadm", package: "udev", without: "without udev, there is nothing to wait for" };

/// Waits until udev has handled all events so far.
pub fn settle() -> Query {
    Query::new(UDEVADM, ["settle", "--timeout=60"]).within(Duration::from_secs(70))
}

/// Lets udev look at all arrays again, as after a change of them.
pub fn look_again() -> Query {
    Query::new(UDEVADM, ["trigger", "--action=change", "--subsystem-match=block", "--sysname-match=md*"])
}

#[cfg(test)]
mod tests {
    #[test]
    fn command_lines() {
        assert_eq!(super::settle().to_string(), "udevadm settle --timeout=60");
        let again = "udevadm trigger --action=change --subsystem-match=block '--sysname-match=md*'";
        assert_eq!(super::look_again().to_string(), again);
    }
}
