//! USB hubs and their ports: how they are named, how fast they are, whether they have a supply of their own.

use crate::sysroot::Sysroot;

/// The id of a root hub: one xHCI controller is two buses, and their ports are numbered alike.
pub(super) fn usb_id(parts: &[&str], hub: usize, speed: Option<f64>) -> String {
    let up = |n: usize| hub.checked_sub(n).and_then(|i| parts.get(i)).copied().unwrap_or_default();
    // `xhci-hcd.0` is a number in the order of finding; the address is above it.
    let controller = if up(1).starts_with("xhci-hcd.") { up(2) } else { up(1) };
    let version = if speed.is_some_and(|speed| speed >= 5000.0) { 3 } else { 2 };
    format!("{controller}-usbv{version}")
}

/// `1-1.3`: bus, then ports from the root hub down.
pub(super) fn is_usb_port(part: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    part.split_once('-').is_some_and(|(bus, ports)| digits(bus) && ports.split('.').all(digits))
}

/// What a USB device's link carries, Mb/s. QEMU's hub tells of 12 Mb/s for itself and what hangs on it, and limits neither:
/// the port that it is plugged into does.
pub(super) fn speed(root: &Sysroot, dir: &str) -> Option<f64> {
    let (above, _) = dir.rsplit_once('/')?;
    let emulated = |dir: &str| root.word(&format!("{dir}/product")).as_deref() == Some("QEMU USB Hub");
    if emulated(dir) || emulated(above) {
        return speed(root, above);
    }
    root.number(&format!("{dir}/speed")).filter(|speed: &f64| speed.is_finite() && *speed > 0.0)
}

/// Whether a USB device has a supply of its own: bit 6 of its configuration's attributes.
pub(super) fn self_powered(root: &Sysroot, dir: &str) -> Option<bool> {
    let attributes = u8::from_str_radix(&root.word(&format!("{dir}/bmAttributes"))?, 16).ok()?;
    Some(attributes & 0x40 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures::Tree;

    #[test]
    fn an_emulated_hub_is_as_fast_as_its_port() {
        let mut tree = Tree::new();
        tree.file("sys/usb1/speed", "480\n");
        for (device, product) in [("1-1", "QEMU USB Hub"), ("1-1/1-1.1", "Cruzer"), ("1-2", "USB1.1 Hub")] {
            tree.files(&format!("sys/usb1/{device}"), &[("speed", "12\n"), ("product", product)]);
        }
        let of = |device: &str| speed(&tree.sysroot(), &format!("/sys/usb1/{device}"));
        assert_eq!([of("1-1"), of("1-1/1-1.1"), of("1-2")], [Some(480.0), Some(480.0), Some(12.0)]);
    }
}
