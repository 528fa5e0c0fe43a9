//! mkswap, swapon and swapoff; and this program as the one that uses memory.

use std::time::Duration;

use super::{Change, Content, MODPROBE, Query, State, Tool};
use crate::units::KIB;

/// Time limit for reading a full swap area back from a slow stick.
const LIMIT: Duration = Duration::from_secs(1800);

/// Label of the swap areas that drivebench makes.
pub const LABEL: &str = "drivebench";

const MKSWAP: Tool = Tool { name: "mkswap", package: "util-linux" };
const SWAPON: Tool = Tool { name: "swapon", package: "mount" };
const SWAPOFF: Tool = Tool { name: "swapoff", package: "mount" };

/// Makes a swap area in the file at `path`.
pub fn make(path: &str) -> Change<State> {
    Change::new(MKSWAP, &["--label", LABEL], path)
}

/// Makes a swap area at the start of a device, whose content is lost.
pub fn make_on(device: &str, bytes: u64) -> Change<Content> {
    let kib = (bytes / KIB).to_string();
    Change::of(Query::new(MKSWAP, ["--label", LABEL, device, &kib]), [device])
}

/// Activates a swap area. The kernel fills the area with the highest priority first.
pub fn on(path: &str, priority: u16) -> Change<State> {
    Change::new(SWAPON, &["-p", &priority.to_string()], path)
}

/// Deactivates a swap area.
pub fn off(path: &str) -> Change<State> {
    Change::new(SWAPOFF, &[], path).within(LIMIT)
}

/// The path of a zram device, without its number.
pub const ZRAM: &str = "/dev/zram";

/// Loads zram without devices.
pub fn load_zram() -> Query {
    Query::new(MODPROBE, ["zram", "num_devices=0"])
}

/// Runs this program as the one that uses memory; it reads orders from standard input.
pub fn worker() -> Query {
    Query::new(super::system::OWN, ["swap-worker"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines() {
        assert_eq!(make("/dev/zram1").to_string(), "mkswap --label drivebench /dev/zram1");
        assert_eq!(make_on("/dev/sda1", 1 << 20).to_string(), "mkswap --label drivebench /dev/sda1 1024");
        assert_eq!(on("/dev/zram1", 32767).to_string(), "swapon -p 32767 /dev/zram1");
        assert_eq!(off("/dev/zram1").to_string(), "swapoff /dev/zram1");
        assert_eq!(load_zram().to_string(), "modprobe zram num_devices=0");
    }
}
