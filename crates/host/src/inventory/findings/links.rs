//! Links below their maximum speed, shared links, and USB bridges without UAS.

use super::{Code, Finding};
use crate::{
    inventory::{Bus, BusKind, Drive, Inventory, NetworkPort, bus::link_ceiling},
    units::{count, listed},
};

pub(super) fn slow(inventory: &Inventory, drive: &Drive) -> Option<Finding> {
    let link = drive.link_mbps?;
    let label = drive.label();
    if let Some(usb) = &drive.usb {
        let has_usb3 = inventory.buses.iter().any(|bus| bus.kind == BusKind::Usb && bus.mbps >= Some(5000.0));
        // USB 3 drives report USB 2.1 on a USB 2 link.
        let supports_usb3 = usb.superspeed.unwrap_or(usb.version > Some(2.0));
        if link > 480.0 || !has_usb3 || !supports_usb3 {
            return None;
        }
        let what = format!("{label} supports USB 3, but its link runs at {link} Mb/s.");
        let advice =
            "Use a USB 3 port (blue) and a USB 3 cable. If that is so already, plug it in again, quickly.";
        return Some(Finding::of(Code::Usb3OnUsb2, [drive], what, advice));
    }
    let most = drive.link_max_mbps.filter(|most| *most > link * 1.01)?;
    let gigabits = |mbps: f64| format!("{} Gb/s", (mbps / 100.0).round() / 10.0);
    let what = format!("{label} runs at {}, but supports {}.", gigabits(link), gigabits(most));
    let pi5 = inventory.machine.soc.as_deref() == Some("bcm2712");
    let advice = match drive.bus.as_deref() {
        Some("nvme") if pi5 => {
            "The board has one lane. dtparam=pciex1_gen=3 doubles its speed, but is not certified."
        }
        _ => "Check its cable and its seat, or try another port or slot.",
    };
    Some(Finding::of(Code::SlowLink, [drive], what, advice))
}

struct Sharers<'a> {
    drives: Vec<&'a Drive>,
    ports: Vec<String>,
    /// Sum of their link speeds, MB/s.
    link_speeds: f64,
}

/// Links that are slower than the devices on them together. Of several nested links with the same devices the slowest is
/// reported, and of equals the outermost; a link below a bus that is no faster adds nothing.
pub(super) fn shared(inventory: &Inventory) -> Vec<Finding> {
    let limiting = inventory.buses.iter().filter(|bus| bus.limits == Some(true));
    let shared = limiting.filter_map(|bus| {
        let ceiling = bus.ceiling.as_ref()?;
        let most = ceiling.practical.unwrap_or(ceiling.theory);
        let sharers = sharers(inventory, bus);
        let several = !sharers.drives.is_empty() && sharers.drives.len() + sharers.ports.len() > 1;
        (several && sharers.link_speeds > most).then_some((bus, sharers, most))
    });
    // Buses are listed after those above them.
    let shared: Vec<(&Bus, Sharers<'_>, f64)> = shared.collect();
    let is_hidden = |at: usize| {
        let (bus, sharers, most) = &shared[at];
        let above = inventory.buses_above(bus.parent.as_deref());
        shared.iter().enumerate().any(|(other, (outer, by, carries))| {
            let same = by.drives == sharers.drives && by.ports == sharers.ports;
            let is_above = above.iter().any(|up| up.id == outer.id);
            is_above && carries <= most || same && (carries < most || carries == most && other < at)
        })
    };
    let shown = shared.iter().enumerate().filter(|(at, _)| !is_hidden(*at));
    shown.map(|(_, (bus, sharers, most))| describe(bus, sharers, *most)).collect()
}

fn sharers<'a>(inventory: &'a Inventory, bus: &Bus) -> Sharers<'a> {
    let below = |upstream: &Option<String>| {
        inventory.buses_above(upstream.as_deref()).iter().any(|above| above.id == bus.id)
    };
    let drives = inventory.hardware(inventory.drives.iter().filter(|drive| below(&drive.upstream)));
    let wired = |port: &&NetworkPort| !port.wireless && port.connected == Some(true);
    let ports: Vec<_> = inventory.ports.iter().filter(|port| below(&port.upstream)).filter(wired).collect();
    let link_speeds = drives.iter().filter_map(|drive| drive.link_mbps).map(link_ceiling).sum::<f64>()
        + ports.iter().filter_map(|port| port.mbps).map(|mbps| mbps / 8.0).sum::<f64>();
    let ports = ports.iter().map(|port| format!("Ethernet {}", port.name)).collect();
    Sharers { drives, ports, link_speeds }
}

fn describe(bus: &Bus, sharers: &Sharers<'_>, most: f64) -> Finding {
    let mut names = vec![count(sharers.drives.len() as u64, "drive")];
    names.extend(sharers.ports.iter().cloned());
    let (names, bus) = (listed(&names), &bus.id);
    let what = format!("{names} share {bus}: together they reach at most about {most:.0} MB/s.");
    let advice = if sharers.ports.is_empty() {
        "Connect drives that are used at the same time to different buses."
    } else {
        "Data of network clients crosses it twice. Connect Ethernet or the drives to another bus."
    };
    Finding::of(Code::SharedBus, sharers.drives.iter().copied(), what, advice)
}

/// Bridges for which the kernel disables UAS, or for some of them: those of ASMedia share their numbers with others. By vendor and
/// product number.
const WITHOUT_UAS: [&str; 6] = ["0984:0301", "174c:5106", "174c:55aa", "2537:1068", "357d:7788", "4971:1012"];

pub(super) fn uas(inventory: &Inventory, drive: &Drive) -> Option<Finding> {
    let usb = drive.usb.as_ref().filter(|usb| usb.offers_uas == Some(true))?;
    let (label, id) = (drive.label(), &usb.id);
    if drive.driver.as_deref() != Some("usb-storage")
        || inventory.machine.usb_without_uas()
        || WITHOUT_UAS.contains(&id.as_str())
    {
        return None;
    }
    let what = format!("{label} supports UAS but uses usb-storage, which handles one request at a time.");
    let advice = format!(
        "`dmesg | grep -i uas` tells why. If it is a quirk for {id} without a known reason, remove that from the kernel's command line."
    );
    Some(Finding::of(Code::UasUnused, [drive], what, advice))
}
