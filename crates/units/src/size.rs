//! Formats of sizes, rates and durations for people, and a parser of sizes.

pub const KIB: u64 = 1024;
pub const MIB: u64 = 1024 * KIB;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a size; write for example 4k, 128KiB, 1G or 500MB (k, M, G, T are powers of 1024; kB, MB, GB, TB of 1000)"
)]
pub struct SizeError(String);

/// Reads a size in bytes: `4096`, `4k`, `4KiB`, `1.5G`, `500MB`. As in fio, `k`, `M`, `G`, `T` are powers of 1024,
/// and so are `KiB` to `TiB`; `kB`, `MB`, `GB`, `TB` are powers of 1000.
pub fn parse_size(text: &str) -> Result<u64, SizeError> {
    let refuse = || SizeError(text.to_owned());
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => KIB,
        "m" | "mib" => MIB,
        "g" | "gib" => 1024 * MIB,
        "t" | "tib" => 1024 * 1024 * MIB,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return Err(refuse()),
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(refuse);
    }
    let bytes = number.parse::<f64>().map_err(|_| refuse())? * factor as f64;
    if bytes.is_finite() && bytes < 2f64.powi(63) { Ok(bytes.round() as u64) } else { Err(refuse()) }
}

/// A number with about three significant digits.
fn three_digits(x: f64) -> String {
    let decimals = match x.abs() {
        x if x >= 99.95 => 0,
        x if x >= 9.995 => 1,
        _ => 2,
    };
    format!("{x:.decimals$}")
}

/// Like [`three_digits`], without trailing zeros after the point.
fn short(x: f64) -> String {
    let text = three_digits(x);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A binary size, for blocks, files and buffers: `64 B`, `4 KiB`, `612 MiB`, `1.5 GiB`.
pub fn size(bytes: u64) -> String {
    for (unit, factor) in [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", MIB), ("KiB", KIB)] {
        if bytes >= factor {
            return format!("{} {unit}", short(bytes as f64 / factor as f64));
        }
    }
    format!("{bytes} B")
}

/// A decimal size, for drives and bytes moved: `62.0 GB`, `1.07 GB`, `700 kB`.
pub fn decimal_bytes(bytes: u64) -> String {
    for (unit, factor) in [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] {
        if bytes as f64 >= factor * 0.9995 {
            return format!("{} {unit}", three_digits(bytes as f64 / factor));
        }
    }
    format!("{bytes} B")
}

/// A throughput: `1.93 MB/s`, from bytes per second. Always MB/s, so that columns compare.
pub fn rate(bytes_per_second: f64) -> String {
    let mb = bytes_per_second / 1e6;
    if mb != 0.0 && mb.abs() < 0.1 { format!("{mb:.4} MB/s") } else { format!("{} MB/s", three_digits(mb)) }
}

/// A length of time from seconds: `350 ns`, `1.93 ms`, `2.6 s`, `9:15`, `1:02:03`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if !s.is_finite() => "unknown".to_owned(),
        0.0 => "0 s".to_owned(),
        s if s < 0.9995e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 0.9995e-3 => format!("{} µs", short(s * 1e6)),
        s if s < 0.9995 => format!("{} ms", short(s * 1e3)),
        s if s < 59.95 => format!("{} s", short(s)),
        s => {
            let s = s.round() as u64;
            let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
            if h > 0 { format!("{h}:{m:02}:{s:02}") } else { format!("{m}:{s:02}") }
        }
    }
}

/// A difference of times from seconds, which may be negative: `−2.6 s`.
pub fn signed_duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.0 => format!("−{}", duration(-s)),
        s => duration(s),
    }
}

/// A ratio: `0.85`, `12.3` or `266`.
pub fn multiple(ratio: f64) -> String {
    match ratio.abs() {
        ..9.995 => format!("{ratio:.2}"),
        ..99.95 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}

/// A share as a percentage: `1.8 %`, from 0.018.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "unknown".to_owned();
    }
    let p = share * 100.0;
    if p.abs() >= 9.95 { format!("{p:.0} %") } else { format!("{p:.1} %") }
}

/// A relative difference as a percentage, with its sign: `+1.8 %`.
pub fn signed_percent(share: f64) -> String {
    let sign = if share < 0.0 { "-" } else { "+" };
    format!("{sign}{}", percent(share.abs()))
}

/// A precision as a percentage, without trailing zeros: `5 %`, `1.5 %`.
pub fn aim(share: f64) -> String {
    format!("{} %", (share * 1000.0).round() / 10.0)
}

/// A number of operations with separated thousands: `1,510`; numbers below ten have one decimal.
pub fn thousands(n: f64) -> String {
    if n < 9.95 { format!("{n:.1}") } else { whole(n.round() as u64) }
}

/// A whole number with separated thousands: `1,510`.
pub fn whole(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups.iter().map(|group| String::from_utf8_lossy(group)).collect::<Vec<_>>().join(",")
}

/// A count with its noun: `1 stall`, `1,510 stalls`.
pub fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{} {noun}s", whole(n)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        let all = [0.31, 9.96, 999.4, 1510.0, 123_456_789.0].map(thousands);
        assert_eq!(all, ["0.3", "10", "999", "1,510", "123,456,789"]);
    }

    #[test]
    fn reads_sizes() {
        for (text, bytes) in [
            ("4096", 4096),
            ("64 B", 64),
            ("4k", 4096),
            ("4K", 4096),
            ("128KiB", 131_072),
            ("1G", 1 << 30),
            ("1.5g", 3 << 29),
            ("500MB", 500_000_000),
            ("2 TB", 2_000_000_000_000),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            "k",
            "-1",
            "1x",
            "1.2.3",
            "NaN",
            "inf",
            "99999999999T",
            "1e3",
            "0x10",
            "4 k k",
            "20000000.5T",
        ] {
            assert!(parse_size(text).is_err(), "{text} was read");
        }
    }

    #[test]
    fn writes_for_people() {
        assert_eq!(
            [size(64), size(4096), size(1 << 30), size(612 << 20), size(3 << 29)],
            ["64 B", "4 KiB", "1 GiB", "612 MiB", "1.5 GiB"]
        );
        assert_eq!(
            [decimal_bytes(61_991_813_120), decimal_bytes(1 << 30), decimal_bytes(999)],
            ["62.0 GB", "1.07 GB", "999 B"]
        );
        assert_eq!(
            [rate(1.93e6), rate(141e6), rate(27.92e6), rate(0.0), rate(4_200.0)],
            ["1.93 MB/s", "141 MB/s", "27.9 MB/s", "0.00 MB/s", "0.0042 MB/s"]
        );
        assert_eq!(
            [
                duration(3.5e-7),
                duration(1.93e-3),
                duration(0.442),
                duration(2.6),
                duration(555.0),
                duration(3723.0),
                duration(999.96e-6)
            ],
            ["350 ns", "1.93 ms", "442 ms", "2.6 s", "9:15", "1:02:03", "1 ms"]
        );
        assert_eq!([percent(0.018), percent(0.97), percent(f64::INFINITY)], ["1.8 %", "97 %", "unknown"]);
        assert_eq!([aim(0.05), aim(0.015)], ["5 %", "1.5 %"]);
        assert_eq!(
            [count(1, "stall"), count(17, "stall"), count(0, "stall")],
            ["1 stall", "17 stalls", "0 stalls"]
        );
    }
}
