//! Registers of SD cards and eMMC.

use serde::{Deserialize, Serialize};

use crate::sysroot::Sysroot;
use crate::units::Health;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Card {
    /// Manufacturer of an SD card, from its number in the CID; counterfeit cards may have any.
    pub maker: Option<String>,
    /// Month of manufacture: `2019-10`.
    pub made: Option<String>,
    /// Speed classes from the SD status register: `C10 U3 V30 A2`.
    pub classes: Option<String>,
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
    let is_sd = word("type").as_deref() != Some("MMC");
    let number = word("manfid").and_then(|text| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok());
    let number = number.map(|number| number as u8);
    let makers = if is_sd { &SD_MAKERS[..] } else { &[] };
    let named = |number: u8| makers.iter().find(|(id, _)| *id == number).map(|(_, name)| (*name).to_owned());
    Card {
        maker: number.and_then(named),
        made: word("date").and_then(|date| month(&date)),
        classes: word("ssr").and_then(|text| classes(&text)),
    }
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

/// The classes in the SD status register, see the SD physical layer specification, 4.10.2.
fn classes(ssr: &str) -> Option<String> {
    let byte = |at: usize| u8::from_str_radix(ssr.get(2 * at..2 * at + 2)?, 16).ok();
    let class = match byte(8)? {
        n @ 1..=3 => Some(format!("C{}", n * 2)),
        4 => Some("C10".to_owned()),
        _ => None,
    };
    let some = |letter: char, n: u8| (n > 0).then(|| format!("{letter}{n}"));
    let grade = some('U', byte(14)? >> 4);
    let video = some('V', byte(15)?);
    let apps = some('A', byte(21)? & 0x0f);
    let all: Vec<String> = [class, grade, video, apps].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(" "))
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
    fn reads_the_classes() {
        let text = |ssr: &[u8]| ssr.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let mut ssr = [0; 64];
        assert_eq!(classes(&text(&ssr)), None);
        (ssr[8], ssr[14], ssr[15], ssr[21]) = (4, 0x39, 30, 0x02);
        assert_eq!(classes(&text(&ssr)).as_deref(), Some("C10 U3 V30 A2"));
        assert_eq!((classes(&text(&ssr[..20])), classes("0g")), (None, None));
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
