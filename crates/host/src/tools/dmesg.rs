//! dmesg: messages of the kernel, such as how fast it computes parity.

use std::time::Duration;

use super::{MODPROBE, Query, Tool};
use crate::units::Parity;

const DMESG: Tool = Tool { name: "dmesg", package: "util-linux" };

/// Loads md's module for parity, as mdadm would. The kernel then measures its methods and logs the results.
pub fn load_parity() -> Query {
    Query::new(MODPROBE, ["raid456"]).within(Duration::from_secs(60))
}

/// All messages that the kernel still has.
pub fn messages() -> Query {
    Query::new(DMESG, [] as [&str; 0])
}

/// Rates at which the kernel computes parity, by its last measurements. It measures nothing where only one method is possible
/// or one is known to be the best.
pub fn parity(messages: &str) -> Parity {
    let last = |before: &str, after: &str, unit: f64| {
        let number = |line: &str| {
            let rest = &line[line.find(before)? + before.len()..];
            let end = rest.find(after)?;
            let number = rest[..end].rsplit([' ', '(']).next()?;
            number.parse::<f64>().ok().filter(|number| *number > 0.0).map(|number| number * unit)
        };
        messages.lines().filter_map(number).next_back()
    };
    Parity {
        xor: last("xor: using function: ", " MB/sec", 1e6),
        // For raid6, the kernel divides by 2^20.
        raid6: last("raid6: using algorithm ", " MB/s", 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_measured_is_read() {
        // Linux 6.1 in the lab, x86-64; 6.18 of a virtual machine.
        let captured = "[   10.527407] raid6: avx2x1   gen()  1693 MB/s\n\
                        [   10.527518] raid6: using algorithm avx2x4 gen() 1806 MB/s\n\
                        [   10.594848] raid6: .... xor() 1133 MB/s, rmw enabled\n\
                        [   10.627401] xor: automatically using best checksumming function   avx       \n";
        assert_eq!(parity(captured), Parity { xor: None, raid6: Some(1806.0 * 1_048_576.0) });
        let skipped = "[    0.159356] raid6: skipped pq benchmark and selected avx2x4\n";
        assert_eq!(parity(skipped), Parity::default());
        // As people with arm64 published them; the second is from before Linux 5.11.
        let arm = "[    2.087022] raid6: int64x1  gen()  3841 MB/s\n\
                   [    2.088590] raid6: using algorithm neonx4 gen() 11924 MB/s\n\
                   [    2.155017] raid6: .... xor() 4926 MB/s, rmw enabled\n\
                   [    2.161104] xor: measuring software checksum speed\n\
                   [    2.163918]    arm64_neon      : 19529 MB/sec\n\
                   [    2.164606] xor: using function: arm64_neon (19529 MB/sec)\n";
        assert_eq!(parity(arm), Parity { xor: Some(19529e6), raid6: Some(11924.0 * 1_048_576.0) });
        let old = "[    0.025363] xor: measuring software checksum speed\n\
                   [    0.035351]    8regs     :  3952.000 MB/sec\n\
                   [    0.055423] xor: using function: arm64_neon (5900.000 MB/sec)\n";
        assert_eq!(parity(old), Parity { xor: Some(5900e6), raid6: None });
        let hostile = "raid6: using algorithm gen() -5 MB/s\nraid6: using algorithm  MB/s\nxor: using function: (x MB/sec)";
        assert_eq!(parity(hostile), Parity::default());
    }

    #[test]
    fn command_lines() {
        assert_eq!(load_parity().to_string(), "modprobe raid456");
        assert_eq!(messages().to_string(), "dmesg");
    }
}
