//! Options of share.

use super::super::{Declared, Opt, shared_options as shared};

pub const RATE: Opt<u64> =
    Opt::new("rate", "RATE", rate, "Of the link, such as 100Mb or 1Gb a second [default: no limit]");

/// A few seconds over a slow link.
pub const SIZE: Opt<u64> = Opt::new("size", "SIZE", shared::bytes, "Of the large file").default("64MiB");

pub const FILES: Opt<u64> = Opt::new("files", "N", files, "Small files, of 16 KiB each").default("1000");

pub const TIMES: Opt<u32> = shared::RUNS.default("3");

pub const OPTIONS: &[&dyn Declared] = &[&RATE, &SIZE, &FILES, &TIMES];

/// Bits per second.
fn rate(text: &str) -> Result<u64, String> {
    let wrong = || "a rate in bits per second, such as 10Mb, 100Mb or 1Gb".to_owned();
    let text = text.trim().trim_end_matches("it").trim_end_matches(['b', 'B']);
    let (number, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000.0),
        Some((at, 'm' | 'M')) => (&text[..at], 1e6),
        Some((at, 'g' | 'G')) => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    let rate = number.trim().parse::<f64>().map_err(|_| wrong())? * factor;
    if (1e5..=1e12).contains(&rate) { Ok(rate as u64) } else { Err(wrong()) }
}

fn files(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(files @ 1..=100_000) => Ok(files),
        _ => Err("a whole number from 1 to 100000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bits_per_second() {
        for (text, bits) in
            [("100Mb", 100_000_000), ("1Gb", 1_000_000_000), ("10mbit", 10_000_000), ("300000", 300_000)]
        {
            assert_eq!(rate(text), Ok(bits), "{text}");
        }
        for wrong in ["", "fast", "0", "-1Mb", "1e99", "1b", "ſMb"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
