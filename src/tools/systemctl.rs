//! systemctl: tells systemd that its configuration changed.

use std::time::Duration;

use super::{Query, Tool};

const SYSTEMCTL: Tool =
    Tool { name: "systemctl", package: "systemd", without: "without systemd, there is nothing to tell" };

/// Reads units and `/etc/fstab` again. No device is changed, and nothing is started.
pub fn daemon_reload() -> Query {
    Query::new(SYSTEMCTL, ["daemon-reload"]).within(Duration::from_secs(60))
}

#[cfg(test)]
mod tests {
    #[test]
    fn command_line() {
        assert_eq!(super::daemon_reload().to_string(), "systemctl daemon-reload");
    }
}
