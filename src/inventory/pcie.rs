//! PCIe links: generation, width and what they carry.

use crate::sysroot::Sysroot;

/// A PCIe link's name and what it carries: transfers times width, less the line code.
pub(super) fn pcie(root: &Sysroot, dir: &str) -> Option<(String, f64)> {
    pcie_link(root, dir, "current")
}

/// What a PCIe device's link could be at most.
pub(super) fn pcie_max(root: &Sysroot, dir: &str) -> Option<(String, f64)> {
    pcie_link(root, dir, "max")
}

fn pcie_link(root: &Sysroot, dir: &str, which: &str) -> Option<(String, f64)> {
    let speed = root.word(&format!("{dir}/{which}_link_speed"))?;
    let transfers: f64 = speed.split(' ').next()?.parse().ok()?;
    let width: u32 = root.number(&format!("{dir}/{which}_link_width"))?;
    if !(1..=32).contains(&width) || !(1.0..=256.0).contains(&transfers) {
        return None;
    }
    // 8 bits in 10 up to 5 GT/s, 128 in 130 above.
    let code = if transfers > 5.0 { 128.0 / 130.0 } else { 0.8 };
    let generation = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0].iter().position(|&known| known == transfers);
    let name = generation.map_or_else(|| "PCIe".to_owned(), |n| format!("PCIe {}.0", n + 1));
    Some((format!("{name} x{width}"), (transfers * 1000.0 * code * f64::from(width)).round()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::fixtures::Tree;

    #[test]
    fn names_pcie_links() {
        let mut tree = Tree::new();
        let mut link = |speed: &str, width: &str| {
            tree.files("sys/x", &[("current_link_speed", speed), ("current_link_width", width)]);
            pcie(&tree.sysroot(), "/sys/x")
        };
        assert_eq!(link("5.0 GT/s PCIe", "1"), Some(("PCIe 2.0 x1".to_owned(), 4000.0)));
        assert_eq!(link("8.0 GT/s PCIe", "4"), Some(("PCIe 3.0 x4".to_owned(), 31508.0)));
        assert_eq!(link("Unknown", "0"), None);
        assert_eq!(link("5.0 GT/s", "255"), None);
    }
}
