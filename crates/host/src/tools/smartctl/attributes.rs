//! SMART attributes of ATA drives. Each vendor numbers and counts them in its own way, so they are found by the names that
//! smartmontools gives them, and used only where its drive database has the drive.

use serde_json::Value;

const REALLOCATED: [&str; 1] = ["Reallocated_Sector_Ct"];
/// Without Crucial's Current_Pending_ECC_Cnt, which changes between 0 and 1 on healthy drives.
const PENDING: [&str; 2] = ["Current_Pending_Sector", "Pending_Sector_Count"];
const UNCORRECTABLE: [&str; 8] = [
    "Offline_Uncorrectable",
    "Reported_Uncorrect",
    "Reported_Uncorr_Errors",
    "Reported_UE_Counts",
    "Uncorrectable_ECC_Ct",
    "Uncorrectable_Error_Cnt",
    "Uncorrectable_Sector_Ct",
    "Uncorrectable_Sectors",
];
const CABLE: [&str; 6] = [
    "UDMA_CRC_Error_Count",
    "CRC_Error_Count",
    "CRC_Errors",
    "SATA_CRC_Error",
    "SATA_CRC_Error_Count",
    "SATA_FIS_CRC_Errors",
];

/// Names with their unit come first: Dell's S3520 counts 32 MiB in Total_LBAs_Written, too.
const WRITTEN: [(&str, u64); 5] = [
    ("Host_Writes_32MiB", 32 << 20),
    ("Host_Writes_GiB", 1 << 30),
    ("Total_Writes_GiB", 1 << 30),
    ("Lifetime_Writes_GiB", 1 << 30),
    ("Total_Writes_GB", 1_000_000_000),
];
const SECTORS_WRITTEN: [&str; 2] = ["Total_LBAs_Written", "Total_Host_LBA_Written"];
/// Drives that count something else under the names above: a part of the attribute's name, and of the drive's entry or model.
const OTHER_UNITS: [(&str, &str); 2] = [("LBA", "Intel"), ("Lifetime_Writes_GiB", "KIOXIA-EXCERIA")];

/// The number of an attribute that is the remaining share of the rated life, in percent.
#[derive(Clone, Copy)]
enum Left {
    Value,
    Raw,
}

/// Wear attributes of single vendors: name, start of the drive's entry, number.
const KNOWN_WEAR: [(&str, &str, Left); 7] = [
    ("Percent_Lifetime_Remain", "Crucial/Micron", Left::Value),
    ("Percent_Lifetime_Remain", "Micron", Left::Value),
    ("Media_Wearout_Indicator", "Intel", Left::Value),
    ("Media_Wearout_Indicator", "Lenovo OEM Intel", Left::Value),
    ("Wear_Leveling_Count", "Samsung based", Left::Value),
    ("SSD_Life_Left", "SandForce", Left::Value),
    ("Remaining_Lifetime_Perc", "Silicon Motion", Left::Raw),
];
/// Whether a name stands for the remaining percent. Vendors differ in which of the two numbers is meant, so both must agree.
fn is_left(name: &str) -> bool {
    name.contains("Life") && (name.contains("Remain") || name.contains("Left"))
}

/// Whether a name stands for the used percent: the raw value counts up, and the normalised one down from 100.
fn is_used(name: &str) -> bool {
    name.contains("Life") && name.contains("Used")
}

/// The attributes and statistics of an ATA drive.
pub(super) struct Ata<'a> {
    json: &'a Value,
    /// The drive's entry in smartmontools' database.
    entry: Option<&'a str>,
    model: &'a str,
}

impl<'a> Ata<'a> {
    pub fn new(json: &'a Value) -> Self {
        let entry = json["model_family"].as_str().filter(|entry| !entry.is_empty());
        Self { json, entry, model: json["model_name"].as_str().unwrap_or_default() }
    }

    fn table(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.json.pointer("/ata_smart_attributes/table").and_then(Value::as_array).into_iter().flatten()
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &'a Value> {
        self.table().filter(move |attribute| attribute["name"] == name)
    }

    /// The default names of errors hold for all rotating disks, and for SSDs with an entry.
    fn errors_are_known(&self) -> bool {
        self.entry.is_some() || self.json["rotation_rate"].as_u64().is_some_and(|rate| rate > 0)
    }

    /// The largest count of these attributes: several may count the same errors.
    fn count(&self, names: &[&str]) -> Option<u64> {
        let own = names.iter().filter(|_| self.errors_are_known()).flat_map(|name| self.named(name));
        own.filter_map(raw).max()
    }

    pub fn reallocated(&self) -> Option<u64> {
        self.count(&REALLOCATED)
    }

    pub fn pending(&self) -> Option<u64> {
        self.count(&PENDING)
    }

    pub fn uncorrectable(&self) -> Option<u64> {
        self.count(&UNCORRECTABLE)
    }

    pub fn cable_errors(&self) -> Option<u64> {
        self.count(&CABLE)
    }

    fn statistic(&self, name: &str) -> Option<u64> {
        let pages = self.json.pointer("/ata_device_statistics/pages").and_then(Value::as_array)?;
        let mut entries = pages.iter().filter_map(|page| page["table"].as_array()).flatten();
        entries.find(|entry| entry["name"] == name && entry["flags"]["valid"] != false)?["value"].as_u64()
    }

    /// The used share of the rated life: the standard's value, or else the vendor's.
    pub fn wear(&self) -> Option<f64> {
        let standard = self.statistic("Percentage Used Endurance Indicator").map(|used| used as f64 / 100.0);
        standard.or_else(|| self.table().find_map(|attribute| self.worn(attribute)))
    }

    /// The used share of the rated life according to an attribute; `None` if its meaning is unknown.
    fn worn(&self, attribute: &Value) -> Option<f64> {
        let (entry, name) = (self.entry?, attribute["name"].as_str()?);
        let value = attribute["value"].as_u64();
        let known = KNOWN_WEAR.iter().find(|(own, vendor, _)| *own == name && entry.starts_with(vendor));
        let left = match known {
            Some((.., Left::Value)) => value?,
            Some((.., Left::Raw)) => raw(attribute)?,
            None if is_left(name) => raw(attribute).filter(|left| value == Some(*left))?,
            None if is_used(name) => {
                let used = raw(attribute)?;
                // Some drives never report less than 1.
                let agree = value?.max(1) == 100u64.saturating_sub(used).max(1);
                return agree.then_some(used as f64 / 100.0);
            }
            None => return None,
        };
        (left <= 100).then(|| (100 - left) as f64 / 100.0)
    }

    pub fn written(&self) -> Option<u64> {
        let block = self.json.pointer("/logical_block_size").and_then(Value::as_u64).unwrap_or(512);
        if let Some(sectors) = self.statistic("Logical Sectors Written") {
            return Some(sectors.saturating_mul(block));
        }
        let entry = self.entry?;
        let other = |name: &str| {
            let counts_else = |(part, maker): &(&str, &str)| {
                name.contains(part) && (entry.contains(maker) || self.model.starts_with(maker))
            };
            OTHER_UNITS.iter().any(counts_else)
        };
        let units = WRITTEN.into_iter().chain(SECTORS_WRITTEN.map(|name| (name, block)));
        let mut counts = units.filter(|(name, _)| !other(name));
        counts.find_map(|(name, unit)| Some(self.named(name).find_map(raw)?.saturating_mul(unit)))
    }

    /// Names of attributes below their threshold with which the vendor predicts a failure; others are below it by age or heat.
    pub fn failing(&self) -> Vec<String> {
        let predicts = |attribute: &&Value| {
            attribute["when_failed"] == "now" && attribute["flags"]["prefailure"] != false
        };
        self.table().filter(predicts).filter_map(|a| a["name"].as_str().map(str::to_owned)).collect()
    }
}

/// Raw values have 48 bits, and some makers use the upper ones for other values; smartctl writes the count first:
/// `2725 (151 234 0)`.
fn raw(attribute: &Value) -> Option<u64> {
    attribute["raw"]["string"].as_str()?.split_whitespace().next()?.parse().ok()
}
