//! Published measurements, for what was not measured here.

/// Seconds that a Raspberry Pi 4 took to boot by systemd-analyze, five boots each, 2024.
pub(super) const BOOT: &str = "Published for a Raspberry Pi 4: SD cards boot in 17.5 to 18.0 s, an SSD on USB in 18.9 s, sticks in 19.9 to 22.2 s, a disk in 92.3 s.";

/// Four USB 2 sticks on a Zero 2 W, 4 KiB at depth 1, read and write.
pub(super) const SMALL_LOADS: &str = "Loads of 4 KiB at depth 1 gain nothing from raid0 (published: four sticks 6.1 MB/s, one of them 6.4 MB/s).";
