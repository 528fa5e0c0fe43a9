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
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/smartctl/", $name))
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
        "smartctl --json=c -d sat,12 -i -H -A -l devstat -l error -l selftest -n standby /dev/sda"
    );
    assert!(!ask("/dev/sda", "sat", true).to_string().contains("standby"));
    assert_eq!(kinds(Some("usb"), Some("152d:0578"), false), ["auto", "sat", "sat,12", "usbjmicron"]);
    assert_eq!(kinds(Some("usb"), Some("1058:25a3"), false), ["auto", "sat", "sat,12"]);
    assert_eq!(kinds(Some("usb"), Some("0781:5567"), true), [""; 0], "a stick");
    assert_eq!((kinds(Some("nvme"), None, false), kinds(Some("mmc"), None, false)), (vec!["auto"], vec![]));
}

/// The health of an SSD with this entry in smartmontools' database and these attributes: name, value, raw.
fn ssd(entry: &str, attributes: &[(&str, u64, &str)]) -> Health {
    let each = attributes.iter().map(|(name, value, raw)| {
        serde_json::json!({"name": name, "value": value, "when_failed": "", "raw": {"string": raw}})
    });
    let mut drive = serde_json::json!({
        "smart_status": {"passed": true},
        "logical_block_size": 512,
        "rotation_rate": 0,
        "ata_smart_attributes": {"table": each.collect::<Vec<_>>()},
    });
    if !entry.is_empty() {
        drive["model_family"] = entry.into();
    }
    parsed(&drive.to_string())
}

/// Entries, names and meanings as in smartmontools' drivedb.h.
#[test]
fn wear_goes_by_the_vendor() {
    let known = [
        ("Intel 730 and DC S35x0/3610/3700 Series SSDs", "Media_Wearout_Indicator", 15, "0", 0.85),
        ("Lenovo OEM Intel D3-S4510 Series SSDs", "Media_Wearout_Indicator", 99, "0", 0.01),
        ("Samsung based SSDs", "Wear_Leveling_Count", 91, "1661", 0.09),
        ("Micron 5100 / 52x0 / 5300 / 5400 SSDs", "Percent_Lifetime_Remain", 97, "3", 0.03),
        ("Crucial/Micron Client SSDs", "Percent_Lifetime_Remain", 0, "104", 1.0),
        ("SandForce Driven SSDs", "SSD_Life_Left", 95, "4294967296", 0.05),
        ("Phison Driven SSDs", "SSD_Life_Left", 98, "98", 0.02),
        ("Silicon Motion based SSDs", "Remaining_Lifetime_Perc", 100, "96", 0.04),
        ("Silicon Motion based SSDs", "Remaining_Lifetime_Perc", 100, "0", 1.0),
        ("Indilinx Barefoot 3 based SSDs", "Remaining_Lifetime_Perc", 88, "88", 0.12),
        ("Dell Certified Intel S3520 Series SSDs", "Percent_Life_Remaining", 100, "100", 0.0),
        ("Crucial/Micron RealSSD C300/P300", "Percent_Lifetime_Used", 78, "22", 0.22),
        ("Crucial/Micron RealSSD m4/C400/P400", "Perc_Rated_Life_Used", 1, "104", 1.04),
    ];
    for (entry, name, value, raw, wear) in known {
        let health = ssd(entry, &[(name, value, raw)]);
        let near = health.wear.is_some_and(|found| (found - wear).abs() < 1e-9);
        assert!(near, "{entry} {name}: {:?}", health.wear);
    }
    let unknown = [
        // It counts up there.
        ("WD Blue / Red / Green SSDs", "Media_Wearout_Indicator", 1, "0x002600140026"),
        ("Silicon Motion based SSDs", "Wear_Leveling_Count", 1, "401"),
        ("SK hynix SATA SSDs", "SSD_Life_Left", 1, "100"),
        ("XITC SSDs", "Percent_Life_Used", 100, "98"),
        ("", "Wear_Leveling_Count", 1, "129"),
        ("", "Media_Wearout_Indicator", 2, "0"),
    ];
    for (entry, name, value, raw) in unknown {
        assert_eq!(ssd(entry, &[(name, value, raw)]).wear, None, "{entry}");
    }
}

#[test]
fn written_bytes_have_the_unit_of_their_name() {
    let of = |entry: &str, attributes: &[(&str, u64, &str)]| ssd(entry, attributes).written;
    let dell = [("Host_Writes_32MiB", 100, "129493"), ("Total_LBAs_Written", 100, "129493")];
    assert_eq!(of("Dell Certified Intel S3520 Series SSDs", &dell), Some(129_493 << 25));
    assert_eq!(of("Dell Certified Intel S3520 Series SSDs", &dell[1..]), None);
    assert_eq!(of("Phison Driven SSDs", &[("Lifetime_Writes_GiB", 100, "398")]), Some(398 << 30));
    assert_eq!(of("Indilinx Barefoot 3 based SSDs", &[("Host_Writes_GiB", 100, "7")]), Some(7 << 30));
    assert_eq!(of("Samsung based SSDs", &[("Total_LBAs_Written", 99, "1000")]), Some(512_000));
    assert_eq!(of("", &[("Total_LBAs_Written", 99, "1000")]), None);
}

#[test]
fn errors_are_found_by_name_and_not_by_number() {
    let entry = "Intel S3520 Series SSDs";
    let health = ssd(entry, &[("Uncorrectable_Error_Cnt", 100, "3"), ("Pending_Sector_Count", 100, "2")]);
    assert_eq!((health.uncorrectable, health.pending), (Some(3), Some(2)));
    assert_eq!(ssd("Micron M500DC SSDs", &[("Reported_Uncorrect", 100, "7")]).uncorrectable, Some(7));
    // 198 and 199 of an OCZ Vector, 197 of a Crucial MX500.
    let health =
        ssd("Indilinx Barefoot 3 based SSDs", &[("Host_Reads_GiB", 100, "9"), ("Host_Writes_GiB", 100, "8")]);
    assert_eq!((health.uncorrectable, health.cable_errors), (None, None));
    assert_eq!(ssd("Crucial/Micron Client SSDs", &[("Current_Pending_ECC_Cnt", 100, "1")]).pending, None);
    let names =
        ["Current_Pending_Sector", "Offline_Uncorrectable", "UDMA_CRC_Error_Count", "Reported_Uncorrect"];
    let unknown = ssd("", &names.map(|name| (name, 100, "5")));
    let counts = [unknown.pending, unknown.uncorrectable, unknown.cable_errors, unknown.reallocated];
    assert_eq!(counts, [None; 4]);
}

#[test]
fn attributes_fail_only_if_they_predict_a_failure() {
    let failing = |prefailure: bool| {
        let attribute = serde_json::json!({
            "name": "Airflow_Temperature_Cel", "value": 40, "when_failed": "now",
            "flags": {"prefailure": prefailure}, "raw": {"string": "60"}
        });
        let drive = serde_json::json!({
            "smart_status": {"passed": true}, "ata_smart_attributes": {"table": [attribute]}
        });
        parsed(&drive.to_string()).failing
    };
    assert_eq!(failing(true), ["Airflow_Temperature_Cel"]);
    assert_eq!(failing(false), [""; 0]);
}

#[test]
fn scsi_errors_of_reading_writing_and_checking_are_added() {
    let text =
        fixture!("sas-disk.json").replace("\"total_uncorrected_errors\":0", "\"total_uncorrected_errors\":5");
    assert_eq!(parsed(&text).uncorrectable, Some(10));
}

#[test]
fn nvme_warnings_have_reasons() {
    let of = |bits: u64| {
        let text = fixture!("nvme-7.1.json");
        let text = text.replace("\"critical_warning\":0", &format!("\"critical_warning\":{bits}"));
        parsed(&text.replace("\"passed\":true", &format!("\"passed\":{}", bits == 0)))
    };
    use Warning::*;
    assert_eq!(of(0).warnings, []);
    assert_eq!(of(0x3f).warnings, [Spare, Temperature, Reliability, ReadOnly, Backup, PersistentMemory]);
    assert_eq!(of(0xc1).warnings, [Spare, Other]);
    let only_hot = of(2);
    assert!(only_hot.is_only_hot() && !only_hot.is_failing() && !only_hot.endangers_data());
    assert!(of(0x10).is_failing() && !of(0x10).is_only_hot());
    assert!(of(0x12).is_failing());
}

#[test]
fn failed_self_tests_count_until_an_extended_one_passes() {
    let read_failure = "Completed: read failure";
    // ATA: short and extended are 1 and 2; the upper half of the status is its result.
    let ata = |tests: &[(u64, u64)]| {
        let entry = |(kind, result): &(u64, u64)| {
            let mut status = serde_json::json!({"value": result << 4, "string": read_failure});
            if !matches!(result, 1..=3) {
                status["passed"] = serde_json::json!(matches!(result, 0 | 15));
            }
            serde_json::json!({"type": {"value": kind}, "status": status})
        };
        let table: Vec<_> = tests.iter().map(entry).collect();
        let drive = serde_json::json!({
            "smart_status": {"passed": true}, "ata_smart_self_test_log": {"standard": {"table": table}}
        });
        parsed(&drive.to_string()).self_test
    };
    let failed = Some(read_failure.to_owned());
    assert_eq!(ata(&[(1, 7)]), failed);
    assert_eq!(ata(&[(1, 0), (2, 7)]), failed, "a short test does not read everything");
    assert_eq!(ata(&[(2, 0), (2, 7)]), None);
    assert_eq!(ata(&[(2, 15), (2, 7)]), failed, "the newest is running");
    assert_eq!((ata(&[(1, 1), (1, 2)]), ata(&[])), (None, None), "aborted");
    let of = |drive: serde_json::Value| parsed(&drive.to_string()).self_test;
    let nvme = |result: u64| {
        of(serde_json::json!({"smart_status": {"passed": true}, "nvme_self_test_log": {"table": [
            {"self_test_code": {"value": 1}, "self_test_result": {"value": result, "string": "Completed: failed segments"}}
        ]}}))
    };
    assert_eq!((nvme(7).as_deref(), nvme(0), nvme(1)), (Some("Completed: failed segments"), None, None));
}

#[test]
fn error_logs_are_counted() {
    let log = |text: &str| parsed(text).logged_errors;
    assert_eq!(
        log(r#"{"smart_status":{"passed":true},"ata_smart_error_log":{"summary":{"count":12}}}"#),
        Some(12)
    );
    let nvme = fixture!("nvme-7.1.json")
        .replace("\"media_errors\":0", "\"media_errors\":0,\"num_err_log_entries\":62");
    assert_eq!(log(&nvme), Some(62));
}
