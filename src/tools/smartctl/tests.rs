//! Output of real smartctl for real drives; each fixture names its source.

use super::*;

fn output(code: i32, stdout: &str) -> Output {
    Output { code: Some(code), stdout: stdout.to_owned(), stderr: String::new() }
}

fn parsed(text: &str) -> Health {
    match parse("auto", &output(0, text)) {
        Answer::Health(health) => *health,
        other => panic!("{other:?}"),
    }
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/smartctl/", $name))
    };
}

#[test]
fn a_sata_ssd() {
    let health = parsed(fixture!("sata-ssd-7.0.json"));
    assert_eq!((health.passed, health.hours, health.temperature), (Some(true), Some(19497), Some(33.0)));
    assert_eq!(health.wear, Some(0.02), "its wear levelling count fell to 98");
    assert_eq!(health.written, Some(10_935_822_505 * 512));
    assert_eq!((health.reallocated, health.pending, health.cable_errors), (Some(0), None, Some(108)));
    assert_eq!(health.source.as_deref(), Some("smartctl -d sat"));
}

#[test]
fn an_nvme_drive() {
    let health = parsed(fixture!("nvme-7.1.json"));
    assert_eq!((health.passed, health.wear, health.spare), (Some(true), Some(0.0), Some(1.0)));
    assert_eq!((health.written, health.hours), (Some(7_773_431 * 512_000), Some(2401)));
    assert_eq!((health.uncorrectable, health.temperature), (Some(0), Some(36.0)));
}

#[test]
fn a_disk_whose_raw_values_hold_more_than_a_count() {
    let health = parsed(fixture!("sata-disk-7.0.json"));
    assert_eq!((health.passed, health.hours), (None, None), "only attributes were queried");
    assert_eq!((health.reallocated, health.pending, health.uncorrectable), (Some(0), Some(0), Some(0)));
    assert_eq!((health.temperature, health.wear, health.written), (Some(29.0), None, None));
}

#[test]
fn a_sas_disk() {
    let health = parsed(fixture!("sas-disk.json"));
    assert_eq!((health.passed, health.hours, health.reallocated), (Some(true), Some(43549), Some(56)));
    assert_eq!((health.written, health.uncorrectable), (Some(86_472_611_000_000), Some(0)));
}

/// From smartctl 7.3 on a virtual machine: an unsupported device, and a user without rights.
#[test]
fn a_drive_without_smart_and_a_user_without_rights() {
    let answer = |message: &str, code: i32| {
        let text = format!(
            r#"{{"json_format_version":[1,0],"smartctl":{{"version":[7,3],"svn_revision":"5338","messages":[{{"string":"{message}","severity":"error"}}],"exit_status":{code}}},"local_time":{{"time_t":1795268820,"asctime":"Sat Nov 21 13:47:00 2026 UTC"}}}}"#
        );
        parse("auto", &output(code, &text))
    };
    assert_eq!(answer("Smartctl open device: /dev/vda [SAT] failed: Permission denied", 2), Answer::Denied);
    let what = "/dev/vda: Unable to detect device type";
    assert_eq!(answer(what, 1), Answer::Unreached(what.to_owned()));
}

/// Messages as in smartctl 7.3's sources: ataprint.cpp, scsiata.cpp, smartctl.cpp.
#[test]
fn refusals_are_distinguished() {
    let answer = |text: &str, code| {
        let json = serde_json::json!({"smartctl": {"exit_status": code, "messages": [{"string": text, "severity": "error"}]}});
        parse("auto", &output(code, &json.to_string()))
    };
    assert_eq!(answer("Device is in STANDBY mode, exit(2)", 2), Answer::Asleep);
    assert_eq!(answer("Smartctl open device: /dev/sda failed: Permission denied", 2), Answer::Denied);
    let bridge = "/dev/sda: Unknown USB bridge [0x152d:0x0578 (0x100)]";
    assert_eq!(answer(bridge, 1), Answer::Unreached(bridge.to_owned()));
    assert_eq!(parse("auto", &output(127, "")), Answer::Unreached("it ended with exit code 127".to_owned()));
    for text in ["[]", "{\"ata_smart_attributes\":{\"table\":[1,{}]}}", "{\"smart_status\":{\"passed\":3}}"] {
        assert!(matches!(parse("auto", &output(0, text)), Answer::Unreached(_)), "{text}");
    }
}

#[test]
fn a_failing_attribute_is_named() {
    let text = fixture!("sata-disk-7.0.json").replacen("\"when_failed\":\"\"", "\"when_failed\":\"now\"", 1);
    assert_eq!(parsed(&text).failing, ["Reallocated_Sector_Ct"]);
}

#[test]
fn standby_is_kept_and_vendor_types_stay_with_their_bridges() {
    assert_eq!(
        ask("/dev/sda", "sat,12", false).to_string(),
        "smartctl --json=c -d sat,12 -i -H -A -l devstat -n standby /dev/sda"
    );
    assert!(!ask("/dev/sda", "sat", true).to_string().contains("standby"));
    assert_eq!(kinds(Some("usb"), Some("152d:0578"), false), ["auto", "sat", "sat,12", "usbjmicron"]);
    assert_eq!(kinds(Some("usb"), Some("1058:25a3"), false), ["auto", "sat", "sat,12"]);
    assert_eq!(kinds(Some("usb"), Some("0781:5567"), true), [""; 0], "a stick");
    assert_eq!((kinds(Some("nvme"), None, false), kinds(Some("mmc"), None, false)), (vec!["auto"], vec![]));
}
