//! hdparm: sends a disk to standby, and asks whether it sleeps without waking it.

use super::{Change, Output, Query, State, Tool};
use crate::units::Power;

/// Talks ATA to disks, through the bridges that let it.
pub const HDPARM: Tool = Tool {
    name: "hdparm",
    package: "hdparm",
    without: "without it, disks can't be sent to standby and their power state is unknown",
};

/// Sends the disk at `path` to standby: it stops turning until something is asked of it.
pub fn standby(path: &str) -> Change<State> {
    Change::new(HDPARM, ["-y", path])
}

/// Asks the disk at `path` whether it sleeps; this wakes none that keeps to ATA's rules.
pub fn power(path: &str) -> Query {
    Query::new(HDPARM, ["-C", path])
}

/// Whether a disk took the command.
pub fn accepted(output: &Output) -> bool {
    output.code == Some(0) && !refused(output)
}

/// What a disk said of its power. A bridge that answers without the disk's registers reads as `standby` always, so it
/// is not believed.
pub fn parse_power(output: &Output) -> Power {
    let state = output.stdout.lines().find_map(|line| line.trim().strip_prefix("drive state is:"));
    match state.map(str::trim) {
        _ if !accepted(output) => Power::Unknown,
        Some("standby" | "sleeping") => Power::Standby,
        Some(state) if state.starts_with("active") || state.starts_with("idle") => Power::Awake,
        _ => Power::Unknown,
    }
}

/// Whether the system wants root for it.
pub fn denied(output: &Output) -> bool {
    ["Permission denied", "Operation not permitted"].iter().any(|text| output.stderr.contains(text))
}

/// A bridge that doesn't pass ATA on says so in the sense data, or fails the command.
fn refused(output: &Output) -> bool {
    ["bad/missing sense data", "failed:"].iter().any(|text| output.stderr.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: i32, stdout: &str, stderr: &str) -> Output {
        Output { code: Some(code), stdout: stdout.to_owned(), stderr: stderr.to_owned() }
    }

    #[test]
    fn command_lines() {
        let lines = [standby("/dev/sda").to_string(), power("/dev/sda").to_string()];
        insta::assert_snapshot!(lines.join("\n"), @r"
        hdparm -y /dev/sda
        hdparm -C /dev/sda
        ");
    }

    #[test]
    fn what_disks_say() {
        let of = |name: &str| match name {
            "sata" => said(0, include_str!("../../tests/fixtures/hdparm/power-sata-9.65.txt"), ""),
            _ => said(
                0,
                include_str!("../../tests/fixtures/hdparm/power-usb-9.65.txt"),
                include_str!("../../tests/fixtures/hdparm/power-usb-9.65.err"),
            ),
        };
        assert_eq!([of("sata"), of("usb")].map(|o| parse_power(&o)), [Power::Awake, Power::Unknown]);
        let asleep = of("sata").stdout.replace("active/idle", "standby");
        assert_eq!(parse_power(&said(0, &asleep, "")), Power::Standby);
        assert_eq!(parse_power(&said(13, &asleep, "")), Power::Unknown);
        assert_eq!(parse_power(&said(0, "", "")), Power::Unknown);
    }

    #[test]
    fn what_is_refused() {
        let told = said(0, include_str!("../../tests/fixtures/hdparm/standby-sata-9.65.txt"), "");
        let bridge = said(
            0,
            include_str!("../../tests/fixtures/hdparm/standby-usb-9.65.txt"),
            include_str!("../../tests/fixtures/hdparm/standby-usb-9.65.err"),
        );
        assert!(accepted(&told) && !accepted(&bridge));
        let nobody = said(13, "", include_str!("../../tests/fixtures/hdparm/denied-9.65.err"));
        assert!(denied(&nobody) && !accepted(&nobody) && !denied(&bridge));
    }
}
