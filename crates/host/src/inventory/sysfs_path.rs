//! Components of paths in `/sys/devices`.

/// `1-1.3`: bus, then ports from the root hub down.
pub(super) fn is_usb_port(part: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    part.split_once('-').is_some_and(|(bus, ports)| digits(bus) && ports.split('.').all(digits))
}

/// `0000:01:00.0`; the domain may be longer.
pub(super) fn is_pci(part: &str) -> bool {
    let fields: Vec<&str> = part.split([':', '.']).collect();
    fields.len() == 4
        && fields[0].len() >= 4
        && part.matches('.').count() == 1
        && fields.iter().all(|field| u32::from_str_radix(field, 16).is_ok())
}

/// `ata3` for `ata`.
pub(super) fn numbered(part: &str, kind: &str) -> bool {
    part.strip_prefix(kind)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The id of a root hub. An xHCI controller has two root hubs with the same port numbers.
pub(super) fn usb_id(parts: &[&str], hub: usize, speed: Option<f64>) -> String {
    let up = |n: usize| hub.checked_sub(n).and_then(|i| parts.get(i)).copied().unwrap_or_default();
    // `xhci-hcd.0` is numbered in probe order; the address is the directory above.
    let controller = if up(1).starts_with("xhci-hcd.") { up(2) } else { up(1) };
    let version = if speed.is_some_and(|speed| speed >= 5000.0) { 3 } else { 2 };
    format!("{controller}-usbv{version}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_path_components() {
        assert!(["1-1", "2-1.4.3", "10-2"].iter().all(|part| is_usb_port(part)));
        assert!(
            !["1-1.", "1-1:1.0", "usb1", "1", "-1", "fd500000.pcie"].iter().any(|part| is_usb_port(part))
        );
        assert!(["0000:01:00.0", "10000:e1:00.0"].iter().all(|part| is_pci(part)));
        assert!(!["pci0000:00", "1-1.3:1.0", "0:0:0:0", "0000:00:1d"].iter().any(|part| is_pci(part)));
        assert!(numbered("ata12", "ata") && !numbered("ata", "ata") && !numbered("ata1x", "ata"));
    }
}
