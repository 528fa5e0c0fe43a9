//! hdparm: sends a disk to standby, and reads its power state without waking it.

use super::{Change, Output, Query, State, Tool};
use crate::units::Power;

pub const HDPARM: Tool = Tool { name: "hdparm", package: "hdparm" };

/// Sends the disk at `path` to standby: it stops rotating until the next access.
pub fn standby(path: &str) -> Change<State> {
    Change::new(HDPARM, &["-y"], path)
}

/// Reads the power state of the disk at `path`. By the ATA standard this does not wake it.
pub fn power(path: &str) -> Query {
    Query::new(HDPARM, ["-C", path])
}

/// Whether the disk accepted the command. A bridge that refuses it reports bad sense data, or the command fails.
pub fn accepted(output: &Output) -> bool {
    output.code == Some(0) && !complains(output, ["bad/missing sense data", "failed:"])
}

/// The power state that a disk reported. A bridge that replies without the disk's registers always reads as `standby`, so it
/// counts as unknown.
pub fn parse_power(output: &Output) -> Power {
    let state = output.stdout.lines().find_map(|line| line.trim().strip_prefix("drive state is:"));
    match state.map(str::trim) {
        _ if !accepted(output) => Power::Unknown,
        Some("standby" | "sleeping") => Power::Standby,
        Some(state) if state.starts_with("active") || state.starts_with("idle") => Power::Awake,
        _ => Power::Unknown,
    }
}

/// Whether the command failed because it needs root.
pub fn denied(output: &Output) -> bool {
    complains(output, ["Permission denied", "Operation not permitted"])
}

fn complains(output: &Output, texts: [&str; 2]) -> bool {
    texts.iter().any(|text| output.stderr.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(code: i32, stdout: &str, stderr: &str) -> Output {
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
    fn power_states_are_parsed() {
        let of = |name: &str| match name {
            "sata" => output(0, include_str!("../../../../tests/fixtures/hdparm/power-sata-9.65.txt"), ""),
            _ => output(
                0,
                include_str!("../../../../tests/fixtures/hdparm/power-usb-9.65.txt"),
                include_str!("../../../../tests/fixtures/hdparm/power-usb-9.65.err"),
            ),
        };
        assert_eq!([of("sata"), of("usb")].map(|o| parse_power(&o)), [Power::Awake, Power::Unknown]);
        let asleep = of("sata").stdout.replace("active/idle", "standby");
        assert_eq!(parse_power(&output(0, &asleep, "")), Power::Standby);
        assert_eq!(parse_power(&output(13, &asleep, "")), Power::Unknown);
        assert_eq!(parse_power(&output(0, "", "")), Power::Unknown);
    }

    #[test]
    fn refusals_are_detected() {
        let accepted_output =
            output(0, include_str!("../../../../tests/fixtures/hdparm/standby-sata-9.65.txt"), "");
        let bridge = output(
            0,
            include_str!("../../../../tests/fixtures/hdparm/standby-usb-9.65.txt"),
            include_str!("../../../../tests/fixtures/hdparm/standby-usb-9.65.err"),
        );
        assert!(accepted(&accepted_output) && !accepted(&bridge));
        let denied_output = output(13, "", include_str!("../../../../tests/fixtures/hdparm/denied-9.65.err"));
        assert!(denied(&denied_output) && !accepted(&denied_output) && !denied(&bridge));
    }
}
