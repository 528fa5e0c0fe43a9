//! Registers of SD cards and eMMC.

use serde::{Deserialize, Serialize};

use crate::sysroot::Sysroot;
use crate::units::Health;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// Manufacturer, from its number in the CID; counterfeit cards may have any.
    pub maker: Option<String>,
    /// Month of manufacture: `2019-10`.
    pub made: Option<String>,
}

/// Manufacturer numbers of SD cards, collected from cards; the SD Association publishes no list.
const SD_MAKERS: [(u8, &str); 17] = [
    (0x01, "Panasonic"),
    (0x02, "Toshiba"),
    (0x03, "SanDisk"),
    (0x09, "ATP"),
    (0x13, "KingMax"),
    (0x1b, "Samsung"),
    (0x1d, "ADATA"),
    (0x27, "Phison"),
    (0x28, "Lexar"),
    (0x31, "Silicon Power"),
    (0x41, "Kingston"),
    (0x5d, "Swissbit"),
    (0x74, "Transcend"),
    (0x76, "Patriot"),
    (0x82, "Sony"),
    (0x9f, "Kingston"),
    (0xad, "Longsys"),
];

pub(super) fn read(root: &Sysroot, device: &str) -> Card {
    let word = |file: &str| root.word(&format!("{device}/{file}"));
    let number = word("manfid").and_then(|text| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok());
    let number = number.map(|number| number as u8);
    let is_sd = word("type").as_deref() != Some("MMC");
    let named = |number: u8| {
        SD_MAKERS.iter().filter(|_| is_sd).find(|(id, _)| *id == number).map(|(_, name)| (*name).to_owned())
    };
    Card { maker: number.and_then(named), made: word("date").and_then(|date| month(&date)) }
}

/// Wear of an eMMC; SD cards report none. The register has steps of 10 %: this is the upper end.
pub(super) fn health(root: &Sysroot, device: &str) -> Option<Health> {
    let word = |file: &str| root.word(&format!("{device}/{file}"));
    let wear = word("life_time").and_then(|text| life_used(&text));
    let (passed, spare) = word("pre_eol_info").map(|text| reserve(&text)).unwrap_or_default();
    let reported = wear.is_some() || passed.is_some();
    reported.then(|| Health { source: Some("sysfs".to_owned()), passed, wear, spare, ..Health::default() })
}

/// `10/2019` as the kernel writes it.
fn month(date: &str) -> Option<String> {
    let (month, year) = date.split_once('/')?;
    let (month, year): (u32, u32) = (month.parse().ok()?, year.parse().ok()?);
    ((1..=12).contains(&month) && (1990..2100).contains(&year)).then(|| format!("{year}-{month:02}"))
}

/// `0x02 0x01`: the worse of the two cell types, in steps of 10 %.
fn life_used(text: &str) -> Option<f64> {
    let step = |word: &str| u8::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    text.split(' ').filter_map(step).filter(|step| (1..=11).contains(step)).max().map(|n| f64::from(n) / 10.0)
}

/// Pre-EOL state (1 normal, 2 warning, 3 urgent) and the share of reserve blocks left at most: 20 %, 10 %.
fn reserve(text: &str) -> (Option<bool>, Option<f64>) {
    match u8::from_str_radix(text.trim_start_matches("0x"), 16) {
        Ok(1) => (Some(true), None),
        Ok(2) => (Some(true), Some(0.2)),
        Ok(3) => (Some(false), Some(0.1)),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_month() {
        assert_eq!(month("10/2019").as_deref(), Some("2019-10"));
        assert_eq!((month("13/2019"), month("1/"), month("x/y")), (None, None, None));
    }

    #[test]
    fn reads_the_wear() {
        assert_eq!(life_used("0x02 0x01"), Some(0.2));
        assert_eq!(life_used("0x00 0x0b"), Some(1.1));
        assert_eq!((life_used("0x00 0x00"), life_used("zz")), (None, None));
        assert_eq!((reserve("0x01"), reserve("0x03")), ((Some(true), None), (Some(false), Some(0.1))));
        assert_eq!(reserve("0x00"), (None, None));
    }
}
