//! systemctl: tells systemd that its configuration changed, and asks it how it started the system.

use std::{collections::BTreeMap, time::Duration};

use super::{Output, Query, Tool};

const SYSTEMCTL: Tool = Tool { name: "systemctl", package: "systemd" };

/// Properties of systemd itself; the times at which it began and finished to start the system are in µs.
const OF_MANAGER: &str = "--property=Version,SystemState,FirmwareTimestampMonotonic,LoaderTimestampMonotonic,InitRDTimestampMonotonic,\
     UserspaceTimestampMonotonic,SecurityStartTimestampMonotonic,FinishTimestampMonotonic,SoftRebootsCount";

/// Reads units and `/etc/fstab` again. No device is changed, and nothing is started.
pub fn daemon_reload() -> Query {
    Query::new(SYSTEMCTL, ["daemon-reload"]).within(Duration::from_secs(60))
}

/// Starts a unit at each start of the machine.
pub fn enable(unit: &str) -> Query {
    Query::new(SYSTEMCTL, ["enable", unit]).within(Duration::from_secs(60))
}

/// No longer starts a unit at each start of the machine.
pub fn disable(unit: &str) -> Query {
    Query::new(SYSTEMCTL, ["disable", unit]).within(Duration::from_secs(60))
}

pub fn start(unit: &str) -> Query {
    Query::new(SYSTEMCTL, ["start", unit]).within(Duration::from_secs(60))
}

pub fn stop(unit: &str) -> Query {
    Query::new(SYSTEMCTL, ["stop", unit]).within(Duration::from_secs(120))
}

/// Returns once the system has started all.
pub fn wait_for_start() -> Query {
    Query::new(SYSTEMCTL, ["is-system-running", "--wait"]).within(Duration::from_secs(600))
}

/// Ends all programs, and restarts the machine.
pub fn restart() -> Query {
    Query::new(SYSTEMCTL, ["reboot"]).within(Duration::from_secs(60))
}

/// Prints when systemd started the system.
pub fn manager() -> Query {
    Query::new(SYSTEMCTL, ["show", OF_MANAGER])
}

/// When systemd started the system. Times are seconds since the kernel started; those of firmware and loader are seconds before that.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Manager {
    pub version: String,
    /// `running` or `degraded` once all is started.
    pub state: String,
    /// The start of the firmware, where it reports that.
    pub firmware: Option<f64>,
    /// The start of the boot loader, where it reports that.
    pub loader: Option<f64>,
    /// The start of a systemd in the initrd.
    pub initrd: Option<f64>,
    /// The start of systemd.
    pub userspace: Option<f64>,
    /// When it had nothing left to start; `None` before that.
    pub finish: Option<f64>,
    /// Whether it started the machine; false in a container.
    pub of_machine: bool,
    /// How often the system was restarted without the kernel.
    pub soft_reboots: u64,
}

/// Parses the output of [`manager`]; `None` if the system was not started by systemd.
pub fn parse_manager(output: &Output) -> Option<Manager> {
    let properties: BTreeMap<&str, &str> =
        output.stdout.lines().filter_map(|line| line.split_once('=')).collect();
    if output.code != Some(0) || !properties.contains_key("SystemState") {
        return None;
    }
    let text = |name: &str| properties.get(name).copied().unwrap_or_default().to_owned();
    Some(Manager {
        version: text("Version"),
        state: text("SystemState"),
        firmware: seconds(&properties, "FirmwareTimestampMonotonic"),
        loader: seconds(&properties, "LoaderTimestampMonotonic"),
        initrd: seconds(&properties, "InitRDTimestampMonotonic"),
        userspace: seconds(&properties, "UserspaceTimestampMonotonic"),
        finish: seconds(&properties, "FinishTimestampMonotonic"),
        of_machine: seconds(&properties, "SecurityStartTimestampMonotonic").is_some(),
        soft_reboots: properties.get("SoftRebootsCount").and_then(|text| text.parse().ok()).unwrap_or(0),
    })
}

/// A property in µs, as seconds; 0 stands for what didn't happen.
fn seconds(properties: &BTreeMap<&str, &str>, name: &str) -> Option<f64> {
    let micros: u64 = properties.get(name)?.parse().ok()?;
    (micros > 0).then(|| micros as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(stdout: &str) -> Output {
        Output { code: Some(0), stdout: stdout.to_owned(), ..Output::default() }
    }

    #[test]
    fn command_lines() {
        insta::assert_snapshot!(
            [
                daemon_reload(),
                enable("a.service"),
                disable("a.service"),
                wait_for_start(),
                restart(),
                manager()
            ]
            .map(|query| query.to_string())
            .join("\n")
        );
    }

    #[test]
    fn times_of_a_manager_are_read() {
        // That of a user, systemd 252 of Debian 12.
        let user =
            parse_manager(&output(include_str!("../../../../tests/fixtures/systemctl/manager-252.txt")));
        let expected = Manager {
            version: "252.38-1~deb12u1".to_owned(),
            state: "running".to_owned(),
            userspace: Some(2351.911826),
            finish: Some(2352.714142),
            ..Manager::default()
        };
        assert_eq!(user, Some(expected));
        // An older one doesn't have the last property, and leaves it out; one that has not ended its start has no end.
        let text = "SystemState=starting\nFirmwareTimestampMonotonic=17770382\nLoaderTimestampMonotonic=7539019\n\
            SecurityStartTimestampMonotonic=5429873\nFinishTimestampMonotonic=0\nSoftRebootsCount=2\n";
        let machine = parse_manager(&output(text)).expect("a manager");
        assert_eq!(
            (machine.firmware, machine.loader, machine.finish),
            (Some(17.770382), Some(7.539019), None)
        );
        assert!(machine.of_machine && machine.soft_reboots == 2);
    }

    #[test]
    fn without_systemd_there_is_no_manager() {
        let stderr = include_str!("../../../../tests/fixtures/systemctl/no-systemd-252.err").to_owned();
        assert_eq!(parse_manager(&Output { code: Some(1), stderr, ..Output::default() }), None);
        for odd in ["", "=\n\n=", "SystemState", "Version=252\n"] {
            assert_eq!(parse_manager(&output(odd)), None, "{odd}");
        }
    }
}
