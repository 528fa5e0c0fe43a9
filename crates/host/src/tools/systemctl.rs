//! systemctl: tells systemd that its configuration changed, and asks it how it started the system.

use std::{collections::BTreeMap, time::Duration};

use super::{Output, Query, Tool};

const SYSTEMCTL: Tool = Tool { name: "systemctl", package: "systemd" };

/// Properties of systemd itself; the times at which it began and finished to start the system are in µs.
const OF_MANAGER: &str = "--property=Version,SystemState,FirmwareTimestampMonotonic,LoaderTimestampMonotonic,InitRDTimestampMonotonic,\
     UserspaceTimestampMonotonic,SecurityStartTimestampMonotonic,FinishTimestampMonotonic,SoftRebootsCount";
/// Properties of each unit; times are in µs.
const OF_UNITS: &str = "--property=Id,Names,InactiveExitTimestampMonotonic,ActiveEnterTimestampMonotonic,InactiveEnterTimestampMonotonic";

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

/// Prints when it started each loaded unit, including those that have ended. There are hundreds, and small boards are slow.
pub fn units() -> Query {
    Query::new(SYSTEMCTL, ["show", "--all", OF_UNITS, "*"]).within(Duration::from_secs(30))
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

/// When a unit was started last. Times are seconds since the kernel started; `None` if it didn't happen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Unit {
    pub id: String,
    /// All of its names, such as `default.target`.
    pub names: Vec<String>,
    /// When it began to start.
    pub begun: Option<f64>,
    /// When it was started.
    pub active: Option<f64>,
    /// When it ended, as units do that do one thing and stop.
    pub ended: Option<f64>,
}

impl Unit {
    /// When it was started, or had done what it does: seconds since the kernel started.
    pub fn done(&self) -> Option<f64> {
        let begun = self.begun?;
        [self.active, self.ended].into_iter().flatten().find(|at| *at >= begun)
    }
}

/// Parses the output of [`manager`]; `None` if the system was not started by systemd.
pub fn parse_manager(output: &Output) -> Option<Manager> {
    let blocks = blocks(&output.stdout);
    let is_answer =
        |block: &&BTreeMap<&str, &str>| output.code == Some(0) && block.contains_key("SystemState");
    let properties = blocks.first().filter(is_answer)?;
    let text = |name: &str| properties.get(name).copied().unwrap_or_default().to_owned();
    Some(Manager {
        version: text("Version"),
        state: text("SystemState"),
        firmware: seconds(properties, "FirmwareTimestampMonotonic"),
        loader: seconds(properties, "LoaderTimestampMonotonic"),
        initrd: seconds(properties, "InitRDTimestampMonotonic"),
        userspace: seconds(properties, "UserspaceTimestampMonotonic"),
        finish: seconds(properties, "FinishTimestampMonotonic"),
        of_machine: seconds(properties, "SecurityStartTimestampMonotonic").is_some(),
        soft_reboots: properties.get("SoftRebootsCount").and_then(|text| text.parse().ok()).unwrap_or(0),
    })
}

/// Parses the output of [`units`].
pub fn parse_units(output: &Output) -> Vec<Unit> {
    let unit = |properties: BTreeMap<&str, &str>| {
        Some(Unit {
            id: (*properties.get("Id")?).to_owned(),
            names: properties
                .get("Names")
                .into_iter()
                .flat_map(|names| names.split(' '))
                .map(str::to_owned)
                .collect(),
            begun: seconds(&properties, "InactiveExitTimestampMonotonic"),
            active: seconds(&properties, "ActiveEnterTimestampMonotonic"),
            ended: seconds(&properties, "InactiveEnterTimestampMonotonic"),
        })
    };
    blocks(&output.stdout).into_iter().filter_map(unit).collect()
}

/// Lines of `NAME=value`, those of each unit after an empty line.
fn blocks(text: &str) -> Vec<BTreeMap<&str, &str>> {
    text.split("\n\n").map(|block| block.lines().filter_map(|line| line.split_once('=')).collect()).collect()
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
                manager(),
                units()
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

    #[test]
    fn times_of_units_are_read() {
        let all = parse_units(&output(include_str!("../../../../tests/fixtures/systemctl/units-252.txt")));
        let of = |id: &str| all.iter().find(|unit| unit.id == id).expect("a unit");
        let socket = of("dbus.socket");
        assert_eq!((socket.begun, socket.active, socket.ended), (Some(2352.304455), Some(2352.342157), None));
        assert_eq!(socket.done(), socket.active);
        assert_eq!(of("graphical.target").names, ["graphical.target", "default.target"]);
        assert_eq!((of("once.service").done(), of("shutdown.target").done()), (Some(2352.711469), None));
        assert_eq!(all.len(), 14);
        // A time before the last start is of an earlier one.
        let again = Unit { begun: Some(2.0), active: Some(1.0), ended: Some(1.5), ..Unit::default() };
        assert_eq!(again.done(), None);
        for odd in [
            "",
            "Id\n",
            "=x\n\n",
            "Id=a\nActiveEnterTimestampMonotonic=-1\nInactiveExitTimestampMonotonic=x\n",
        ] {
            assert!(parse_units(&output(odd)).iter().all(|unit| unit.done().is_none()), "{odd}");
        }
    }
}
