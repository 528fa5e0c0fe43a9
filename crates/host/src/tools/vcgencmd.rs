//! vcgencmd: asks the firmware of a Raspberry Pi.

use super::{Output, Query, Tool};

const VCGENCMD: Tool = Tool {
    name: "vcgencmd",
    package: "raspi-utils",
    without: "without it, the configuration of the boot loader is not recorded",
};

/// How the boot loader in the EEPROM is configured; a Raspberry Pi before the 4 has none.
pub fn bootloader_config() -> Query {
    Query::new(VCGENCMD, ["bootloader_config"])
}

/// The settings, such as `BOOT_ORDER=0xf41`, with the sections that they are in.
pub fn parse_config(output: &Output) -> Vec<String> {
    let is_setting = |line: &&str| {
        line.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        }) || (line.starts_with('[') && line.ends_with(']'))
    };
    let lines = output.stdout.lines().map(str::trim);
    if output.code == Some(0) { lines.filter(is_setting).map(str::to_owned).collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_kept_and_comments_are_not() {
        // As documented for a Raspberry Pi 4.
        let text = "[all]\nBOOT_UART=0\nWAKE_ON_GPIO=1\n# a comment = none\nPOWER_OFF_ON_HALT=0\nBOOT_ORDER=0xf41\n\n";
        let output = |code| Output { code: Some(code), stdout: text.to_owned(), ..Output::default() };
        let settings = ["[all]", "BOOT_UART=0", "WAKE_ON_GPIO=1", "POWER_OFF_ON_HALT=0", "BOOT_ORDER=0xf41"];
        assert_eq!(parse_config(&output(0)), settings);
        assert!(parse_config(&output(1)).is_empty());
        let unknown = Output {
            code: Some(0),
            stdout: "error=1 error_msg=\"Command not registered\"\n".to_owned(),
            ..Output::default()
        };
        assert!(parse_config(&unknown).is_empty());
        assert_eq!(bootloader_config().to_string(), "vcgencmd bootloader_config");
    }
}
