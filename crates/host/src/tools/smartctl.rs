//! smartctl: health and wear of drives, also through USB bridges.

mod attributes;

use serde_json::Value;

use super::{Output, Query, Runner, Tool, ToolError};
use crate::{
    inventory::Drive,
    units::{Health, Warning},
};
use attributes::Ata;

/// Counters from here on are nonsense, which a record would refuse.
const MOST: u64 = 1 << 56;

pub const SMARTCTL: Tool = Tool { name: "smartctl", package: "smartmontools" };

#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Health(Box<Health>),
    /// The drive is in standby and was not woken.
    Asleep,
    Denied,
    /// This device type didn't reach it; another one may.
    Unreached(String),
}

/// Reads the drive at `path` with the device type `kind`. A disk in standby is not woken unless `wake`.
pub fn ask(path: &str, kind: &str, wake: bool) -> Query {
    let mut args =
        vec!["--json=c", "-d", kind, "-i", "-H", "-A", "-l", "devstat", "-l", "error", "-l", "selftest"];
    if !wake {
        args.extend(["-n", "standby"]);
    }
    args.push(path);
    Query::new(SMARTCTL, args)
}

/// Device types in the order to try them. Vendor-specific commands are sent only to bridges of that vendor, because others
/// may misinterpret them. Sticks and cards report no health, and some of them hang on the query.
pub fn kinds(bus: Option<&str>, usb_id: Option<&str>, removable: bool) -> Vec<&'static str> {
    match (bus, usb_id) {
        (Some("mmc" | "virtio" | "xen") | None, _) => vec![],
        (Some("usb"), _) if removable => vec![],
        (Some("usb"), id) => {
            let own = match id.and_then(|id| id.split(':').next()) {
                Some("152d") => Some("usbjmicron"),
                Some("04b4") => Some("usbcypress"),
                Some("067b") => Some("usbprolific"),
                Some("04fc") => Some("usbsunplus"),
                _ => None,
            };
            ["auto", "sat", "sat,12"].into_iter().chain(own).collect()
        }
        _ => vec!["auto"],
    }
}

/// The health of a drive, and the output of smartctl.
pub fn read(drive: &Drive, runner: &dyn Runner, wake: bool) -> (Option<String>, Health) {
    let usb = drive.usb.as_ref().map(|usb| usb.id.as_str());
    let mut why = None;
    for kind in kinds(drive.bus.as_deref(), usb, drive.removable) {
        let output = match runner.ask(&ask(&drive.node(), kind, wake)) {
            Ok(output) => output,
            Err(e @ ToolError::Missing(_)) => return unknown(&e.to_string()),
            Err(e) => {
                why.get_or_insert(e.to_string());
                continue;
            }
        };
        match parse(kind, &output) {
            Answer::Health(health) => return (Some(output.stdout), *health),
            Answer::Asleep => return unknown("asleep; --wake wakes it"),
            Answer::Denied => return unknown("reading it needs root: sudo drivebench list --health"),
            Answer::Unreached(complaint) => drop(why.get_or_insert(complaint)),
        }
    }
    unknown(why.as_deref().unwrap_or(match drive.bus.as_deref() {
        Some("mmc") => "SD cards do not report it",
        Some("usb") => "USB sticks do not report it",
        _ => "drives of this kind do not report it",
    }))
}

fn unknown(why: &str) -> (Option<String>, Health) {
    (None, Health { unknown: Some(why.to_owned()), ..Health::default() })
}

pub fn parse(kind: &str, output: &Output) -> Answer {
    let Ok(json) = serde_json::from_str::<Value>(&output.stdout) else {
        return Answer::Unreached(output.complaint());
    };
    let messages = json.pointer("/smartctl/messages").and_then(Value::as_array);
    let texts: Vec<&str> = messages.into_iter().flatten().filter_map(|m| m["string"].as_str()).collect();
    let says = |what: &str| texts.iter().any(|text| text.contains(what));
    if says("STANDBY mode") || says("SLEEP mode") {
        return Answer::Asleep;
    }
    if says("Permission denied") {
        return Answer::Denied;
    }
    let why = || texts.first().map_or_else(|| output.complaint(), |text| (*text).to_owned());
    health(kind, &json).map_or_else(|| Answer::Unreached(why()), |health| Answer::Health(Box::new(health)))
}

fn health(kind: &str, json: &Value) -> Option<Health> {
    let number = |path: &str| json.pointer(path).and_then(Value::as_u64).filter(|n| *n < MOST);
    let share = |path: &str| number(path).map(|percent| percent as f64 / 100.0);
    let ata = Ata::new(json);
    let nvme = |field: &str| number(&format!("/nvme_smart_health_information_log/{field}"));
    let scsi_errors =
        |page: &str| number(&format!("/scsi_error_counter_log/{page}/total_uncorrected_errors"));
    let scsi_errors = ["read", "write", "verify"].into_iter().filter_map(scsi_errors);
    let ata_log = |kind: &str| number(&format!("/ata_smart_error_log/{kind}/count"));
    // With `-d auto`, the output names the detected type.
    let kind = json.pointer("/device/type").and_then(Value::as_str).unwrap_or(kind);
    let health = Health {
        source: Some(format!("smartctl -d {kind}")),
        unknown: None,
        passed: json.pointer("/smart_status/passed").and_then(Value::as_bool),
        // smartctl's own `endurance_used` is a guess from attributes.
        wear: share("/nvme_smart_health_information_log/percentage_used")
            .or_else(|| share("/scsi_percentage_used_endurance_indicator"))
            .or_else(|| ata.wear()),
        spare: share("/nvme_smart_health_information_log/available_spare"),
        // NVMe counts units of 512,000 bytes.
        written: nvme("data_units_written")
            .map(|units| units.saturating_mul(512_000))
            .or_else(|| ata.written())
            .or_else(|| scsi_written(json))
            .filter(|bytes| *bytes < MOST),
        hours: number("/power_on_time/hours"),
        temperature: json.pointer("/temperature/current").and_then(Value::as_f64).filter(|t| *t > 0.0),
        reallocated: ata.reallocated().or_else(|| number("/scsi_grown_defect_list")),
        pending: ata.pending(),
        uncorrectable: ata
            .uncorrectable()
            .or_else(|| nvme("media_errors"))
            .or_else(|| scsi_errors.reduce(u64::saturating_add)),
        cable_errors: ata.cable_errors(),
        logged_errors: ata_log("extended")
            .or_else(|| ata_log("summary"))
            .or_else(|| nvme("num_err_log_entries")),
        self_test: failed_self_test(json),
        warnings: nvme("critical_warning").map(Warning::from_bits).unwrap_or_default(),
        failing: ata.failing(),
    };
    let other =
        [health.hours, health.written, health.reallocated, health.uncorrectable].iter().any(Option::is_some);
    (health.passed.is_some() || other).then_some(health)
}

/// How the newest failed self-test ended. As in smartctl's summary, an extended test that passed settles older failures.
fn failed_self_test(json: &Value) -> Option<String> {
    let table = |path: &str| json.pointer(path).and_then(Value::as_array).into_iter().flatten();
    let word = |entry: &Value, field: &str| entry[field]["string"].as_str().unwrap_or("failed").to_owned();
    let ata = |entry: &Value| {
        let running = entry["status"]["value"].as_u64().is_some_and(|status| status >> 4 == 0xf);
        let passed = entry["status"]["passed"].as_bool().filter(|_| !running)?;
        let extended = entry["type"]["value"].as_u64().is_some_and(|kind| kind & 0x7f == 2);
        Some((extended, passed, word(entry, "status")))
    };
    // NVMe numbers the results: 0 has passed, others were aborted or are running.
    let nvme = |entry: &Value| {
        let passed = match entry["self_test_result"]["value"].as_u64()? {
            0 => true,
            5..=7 => false,
            _ => return None,
        };
        let extended = entry["self_test_code"]["value"] == 2;
        Some((extended, passed, word(entry, "self_test_result")))
    };
    let tests = (table("/ata_smart_self_test_log/extended/table").filter_map(ata))
        .chain(table("/ata_smart_self_test_log/standard/table").filter_map(ata))
        .chain(table("/nvme_self_test_log/table").filter_map(nvme));
    let since = tests.take_while(|(extended, passed, _)| !(*extended && *passed));
    since.filter(|(_, passed, _)| !passed).map(|(.., how)| how).next()
}

fn scsi_written(json: &Value) -> Option<u64> {
    let gigabytes = json.pointer("/scsi_error_counter_log/write/gigabytes_processed")?.as_str()?;
    gigabytes.parse::<f64>().ok().filter(|gb| *gb >= 0.0).map(|gb| (gb * 1e9) as u64)
}

#[cfg(test)]
mod tests;
