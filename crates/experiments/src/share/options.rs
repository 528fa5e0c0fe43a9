//! Options of share.

use super::super::{
    Declared, Opt,
    options::{choice, within},
    shared_options as shared,
};
use crate::{
    share::{LEAST_BYTES, Protection, Protocol},
    units::RemoteDir,
};

pub const RATE: Opt<u64> = Opt::new("rate", "RATE", rate, "Link rate, such as 100Mb [default: no limit]");

const PROTOCOLS: [(&str, Protocol); 3] =
    [("smb", Protocol::Smb), ("nfs", Protocol::Nfs), ("sftp", Protocol::Sftp)];
const PROTECTIONS: [(&str, Option<Protection>); 3] =
    [("off", None), ("sign", Some(Protection::Signing)), ("encrypt", Some(Protection::Encryption))];

pub const PROTOCOL: Opt<Protocol> =
    Opt::new("protocol", "WHAT", |text| choice(text, &PROTOCOLS), "smb, nfs or sftp")
        .choices(&["smb", "nfs", "sftp"])
        .default("smb");

/// With a target its server's client; without one, clients of a share that is there.
pub const CLIENT: Opt<Vec<RemoteDir>> =
    Opt::new("client", "URL", clients, "ssh://[USER@]HOST[:PORT]/DIR; may be repeated")
        .many()
        .conflicts(&["rate"]);

/// Takes a few seconds over a slow link.
pub const SIZE: Opt<u64> = Opt::new("size", "SIZE", size, "Size of the large file").default("64MiB");

pub const FILES: Opt<u64> =
    Opt::new("files", "N", |text| within(text, 1..=100_000), "Small files, of 16 KiB each").default("1000");

pub const CLIENTS: Opt<u32> =
    Opt::new("clients", "N", |text| within(text, 1..=64), "Clients at once, after one alone").default("4");

pub const PROTECTION: Opt<Option<Protection>> =
    Opt::new("protection", "WHAT", |text| choice(text, &PROTECTIONS), "off, sign (as Windows 11) or encrypt")
        .choices(&["off", "sign", "encrypt"])
        .default("off");

pub const TIMES: Opt<u32> = shared::RUNS.default("6");

/// A link of any speed may be measured.
pub const MAX_TIME: Opt<f64> = shared::MAX_TIME.without_default("Time limit per target");

pub const OPTIONS: &[&dyn Declared] =
    &[&PROTOCOL, &RATE, &CLIENT, &SIZE, &FILES, &CLIENTS, &PROTECTION, &TIMES, &MAX_TIME];

/// Bits per second. Bytes (`MB`) are refused: that would be eight times as much.
fn rate(text: &str) -> Result<u64, String> {
    let wrong = || "a rate in bits per second, such as 10Mb, 100Mb or 1Gb".to_owned();
    let text = text.trim();
    let text = text.strip_suffix("/s").unwrap_or(text);
    let text = text.strip_suffix("bit").or_else(|| text.strip_suffix('b')).unwrap_or(text);
    let (number, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000.0),
        Some((at, 'm' | 'M')) => (&text[..at], 1e6),
        Some((at, 'g' | 'G')) => (&text[..at], 1e9),
        _ => (text, 1.0),
    };
    let rate = number.trim().parse::<f64>().map_err(|_| wrong())? * factor;
    if (1e5..=1e12).contains(&rate) { Ok(rate as u64) } else { Err(wrong()) }
}

fn clients(text: &str) -> Result<Vec<RemoteDir>, String> {
    text.split(',').map(str::parse).collect()
}

fn size(text: &str) -> Result<u64, String> {
    let bytes = shared::bytes(text)?;
    if bytes < LEAST_BYTES { Err("1 MiB or more".to_owned()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bits_per_second() {
        for (text, bits) in
            [("100Mb", 100_000_000), ("1Gb/s", 1_000_000_000), ("10mbit/s", 10_000_000), ("300000", 300_000)]
        {
            assert_eq!(rate(text), Ok(bits), "{text}");
        }
        for wrong in ["", "fast", "0", "-1Mb", "1e99", "1b", "ſMb", "100MB", "1Mbitit"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
