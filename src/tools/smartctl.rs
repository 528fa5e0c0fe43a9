//! smartctl: health and wear of drives, also through USB bridges.

use serde_json::Value;

use super::{Output, Query, Tool};
use crate::units::Health;

pub const SMARTCTL: Tool = Tool {
    name: "smartctl",
    package: "smartmontools",
    without: "without it, the health and wear of most drives are unknown",
};

#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Health(Box<Health>),
    /// It is in standby and was not woken.
    Asleep,
    Denied,
    /// This device type didn't reach it; another one may.
    Unreached(String),
}

/// Reads the drive at `path` with the device type `kind`. A disk in standby is not woken unless `wake`.
pub fn ask(path: &str, kind: &str, wake: bool) -> Query {
    let mut args = vec!["--json=c", "-d", kind, "-i", "-H", "-A", "-l", "devstat"];
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
    let number = |path: &str| json.pointer(path).and_then(Value::as_u64);
    let share = |path: &str| number(path).map(|percent| percent as f64 / 100.0);
    let ata = Ata { json };
    let nvme = |field: &str| number(&format!("/nvme_smart_health_information_log/{field}"));
    // With `-d auto`, the output names the detected type.
    let kind = json.pointer("/device/type").and_then(Value::as_str).unwrap_or(kind);
    let health = Health {
        source: Some(format!("smartctl -d {kind}")),
        unknown: None,
        passed: json.pointer("/smart_status/passed").and_then(Value::as_bool),
        wear: share("/endurance_used/current_percent")
            .or_else(|| share("/nvme_smart_health_information_log/percentage_used"))
            .or_else(|| share("/scsi_percentage_used_endurance_indicator"))
            .or_else(|| ata.wear()),
        spare: share("/nvme_smart_health_information_log/available_spare"),
        // NVMe counts units of 512,000 bytes.
        written: nvme("data_units_written")
            .map(|units| units.saturating_mul(512_000))
            .or_else(|| ata.written())
            .or_else(|| scsi_written(json)),
        hours: number("/power_on_time/hours"),
        temperature: json.pointer("/temperature/current").and_then(Value::as_f64).filter(|t| *t > 0.0),
        reallocated: ata.raw(5).or_else(|| number("/scsi_grown_defect_list")),
        pending: ata.raw(197),
        uncorrectable: ata
            .raw(198)
            .or_else(|| nvme("media_errors"))
            .or_else(|| number("/scsi_error_counter_log/read/total_uncorrected_errors")),
        cable_errors: ata.raw(199),
        failing: ata.failing(),
    };
    let other =
        [health.hours, health.written, health.reallocated, health.uncorrectable].iter().any(Option::is_some);
    (health.passed.is_some() || other).then_some(health)
}

fn scsi_written(json: &Value) -> Option<u64> {
    let gigabytes = json.pointer("/scsi_error_counter_log/write/gigabytes_processed")?.as_str()?;
    gigabytes.parse::<f64>().ok().filter(|gb| *gb >= 0.0).map(|gb| (gb * 1e9) as u64)
}

/// The attributes and statistics of an ATA drive.
struct Ata<'a> {
    json: &'a Value,
}

impl<'a> Ata<'a> {
    fn table(&self) -> impl Iterator<Item = &'a Value> {
        self.json.pointer("/ata_smart_attributes/table").and_then(Value::as_array).into_iter().flatten()
    }

    /// Raw values have 48 bits, and some makers use the upper ones for other values; smartctl writes the
    /// count first: `2725 (151 234 0)`.
    fn raw(&self, id: u64) -> Option<u64> {
        raw(self.table().find(|attribute| attribute["id"] == id)?)
    }

    fn named(&self, name: &str) -> Option<&'a Value> {
        self.table().find(|attribute| attribute["name"] == name)
    }

    fn statistic(&self, name: &str) -> Option<u64> {
        let pages = self.json.pointer("/ata_device_statistics/pages").and_then(Value::as_array)?;
        let mut entries = pages.iter().filter_map(|page| page["table"].as_array()).flatten();
        entries.find(|entry| entry["name"] == name && entry["flags"]["valid"] != false)?["value"].as_u64()
    }

    /// The standard's value, or a vendor's normalised value that falls from 100.
    fn wear(&self) -> Option<f64> {
        if let Some(percent) = self.statistic("Percentage Used Endurance Indicator") {
            return Some(percent as f64 / 100.0);
        }
        let names =
            ["Percent_Lifetime_Remain", "SSD_Life_Left", "Media_Wearout_Indicator", "Wear_Leveling_Count"];
        let left = names.into_iter().find_map(|name| self.named(name))?;
        left["value"].as_u64().filter(|left| *left <= 100).map(|left| (100 - left) as f64 / 100.0)
    }

    fn written(&self) -> Option<u64> {
        let block = self.json.pointer("/logical_block_size").and_then(Value::as_u64).unwrap_or(512);
        if let Some(sectors) = self.statistic("Logical Sectors Written") {
            return Some(sectors.saturating_mul(block));
        }
        [
            ("Total_LBAs_Written", block),
            ("Host_Writes_32MiB", 32 << 20),
            ("Host_Writes_GiB", 1 << 30),
            ("Total_Writes_GiB", 1 << 30),
        ]
        .into_iter()
        .find_map(|(name, unit)| Some(raw(self.named(name)?)?.saturating_mul(unit)))
    }

    fn failing(&self) -> Vec<String> {
        let now = self.table().filter(|attribute| attribute["when_failed"] == "now");
        now.filter_map(|attribute| attribute["name"].as_str().map(str::to_owned)).collect()
    }
}

fn raw(attribute: &Value) -> Option<u64> {
    attribute["raw"]["string"].as_str()?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
