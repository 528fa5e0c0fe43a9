//! Cells for a drive, a partition, a layer and a network port: one property per cell.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    inventory::{Block, Drive, Inventory, Layer, Mount, NetworkPort, Signature},
    units::{Health, MemberState, Pool, count, decimal_bytes, percent, shortened},
};

use super::{NAME, link_speed};

/// The bay, the name and the serial of a drive, short enough for a column; the kernel does not limit them.
pub(super) fn start(drive: &Drive) -> [String; 3] {
    let mut bay = drive.bay.as_ref().unwrap_or(&drive.name).clone();
    if drive.bay.is_some() && drive.bus.as_deref() == Some("usb") {
        bay = format!("bay {bay}");
    }
    if let Some(name) = &drive.bay_name {
        bay = format!("{bay} {name}");
    }
    let name = match (&drive.vendor, &drive.model) {
        (Some(vendor), Some(model)) if !model.starts_with(vendor.as_str()) => format!("{vendor} {model}"),
        (_, Some(model)) => model.clone(),
        (vendor, None) => vendor.clone().unwrap_or_else(|| "drive".to_owned()),
    };
    let serial = drive.serial.clone().unwrap_or_else(|| "(no serial)".to_owned());
    [bay, name, serial].map(|cell| shortened(&cell, NAME))
}

/// Mounts and swap by the name of the block device, looked up once, because a capture may have thousands.
pub(super) struct Uses<'a> {
    mounted: BTreeMap<&'a str, &'a Mount>,
    swapped: BTreeSet<&'a str>,
}

impl<'a> Uses<'a> {
    pub(super) fn new(inventory: &'a Inventory) -> Self {
        let mut mounted: BTreeMap<&str, &Mount> = BTreeMap::new();
        for mount in inventory.mounts.iter().filter(|mount| mount.filesystem != "overlay") {
            for block in inventory.blocks_of(mount) {
                // The whole filesystem's mount point rather than a directory bound elsewhere.
                let shown = mounted.entry(block.name()).or_insert(mount);
                if mount.root.len() < shown.root.len() {
                    *shown = mount;
                }
            }
        }
        let swapped = inventory.swaps.iter().filter_map(|swap| inventory.block_at_path(swap));
        Self { mounted, swapped: swapped.map(|block| block.name()).collect() }
    }
}

/// The properties of a drive after its name.
pub(super) fn about(inventory: &Inventory, used: &Uses<'_>, drive: &Drive) -> Vec<String> {
    let mut cells = Vec::new();
    // An SD host is drawn as its slot.
    let slot = inventory.bus(drive.upstream.as_deref().unwrap_or_default());
    let ceiling = slot.filter(|_| drive.bus.as_deref() == Some("mmc")).and_then(|bus| bus.ceiling.as_ref());
    cells.extend(ceiling.map(|ceiling| {
        format!("{} MB/s at most ({})", ceiling.practical.unwrap_or(ceiling.theory), ceiling.source)
    }));
    cells.extend(drive.link_mbps.filter(|_| drive.link_mbps != drive.bus_mbps).map(link_speed));
    cells.push(match &drive.driver {
        Some(driver) => format!("{} by {driver}", drive.name),
        None => drive.name.clone(),
    });
    if let Some(card) = &drive.card {
        cells.extend(card.made.as_ref().map(|made| format!("made {made}")));
        cells.extend(card.classes.clone());
    }
    cells.extend(uses(inventory, used, drive));
    cells.extend(drive.health.as_ref().map(health).into_iter().flatten());
    let wrote = drive.drivebench_wrote.filter(|bytes| *bytes > 0);
    cells.extend(wrote.map(|bytes| format!("drivebench wrote {}", decimal_bytes(bytes))));
    cells.extend(drive.read_only.then(|| "read-only".to_owned()));
    cells
}

fn health(health: &Health) -> Vec<String> {
    let cells = [
        health.passed.map(|passed| if passed { "SMART passed" } else { "SMART failed" }.to_owned()),
        health.wear.map(|wear| format!("{} worn", percent(wear))),
        health.spare.map(|spare| format!("{} of spare blocks left", percent(spare))),
        health.written.map(|bytes| format!("{} written", decimal_bytes(bytes))),
        health.hours.map(|hours| format!("on for {hours} h")),
        health.temperature.map(|degrees| format!("{degrees:.0} °C")),
        health.reallocated.filter(|n| *n > 0).map(|n| format!("{} replaced", count(n, "sector"))),
        health.logged_errors.filter(|n| *n > 0).map(|n| format!("{} logged", count(n, "error"))),
    ];
    cells.into_iter().flatten().collect()
}

fn uses(inventory: &Inventory, used: &Uses<'_>, drive: &Drive) -> Vec<String> {
    let parts = drive.partitions.iter().map(|part| (Block::Partition(drive, part), &part.content));
    let whole = drive.partitions.is_empty().then_some((Block::Drive(drive), &drive.content));
    let blocks = whole.into_iter().chain(parts);
    let mut cells: Vec<_> = blocks.map(|(block, holds)| content(used, block, holds)).collect();
    let pools: Vec<&Layer> = inventory.pools_of(drive).map(|(layer, _)| layer).collect();
    cells.extend(pools.iter().map(|pool| format!("in {}", pool.shown())));
    let mut holders = drive.holders.clone();
    holders.retain(|holder| pools.iter().all(|pool| pool.name != *holder));
    holders.dedup();
    cells.extend(holders.iter().map(|holder| format!("held by {holder}")));
    cells
}

/// `ext4 "media" on /mnt/a`.
fn content(used: &Uses<'_>, block: Block<'_>, content: &Signature) -> String {
    let mut text = content.filesystem.clone().unwrap_or_else(|| "no filesystem found".to_owned());
    if let Some(label) = &content.label {
        text += &format!(" \"{label}\"");
    }
    if let Some(mount) = used.mounted.get(block.name()) {
        text += &format!(" on {}{}", mount.path, if mount.read_only() { " (read-only)" } else { "" });
    }
    if used.swapped.contains(block.name()) {
        text += ", in use";
    }
    text
}

pub(super) fn layer(inventory: &Inventory, used: &Uses<'_>, layer: &Layer) -> Vec<String> {
    let alias = layer.alias.as_ref().map(|alias| format!(" {alias}")).unwrap_or_default();
    let preposition = if layer.members.is_empty() { "" } else { " of " };
    let mut cells = match &layer.pool {
        Some(pool) => vec![layer.shown(), pool.describe()],
        None => {
            vec![
                format!("{}{alias}", layer.name),
                format!("{}{preposition}{}", layer.kind, layer.members.join(", ")),
            ]
        }
    };
    if layer.sectors > 0 {
        cells.push(decimal_bytes(layer.sectors.saturating_mul(512)));
    }
    cells.extend(layer.pool.as_ref().map(|pool| pool.state_in_words(layer.work.as_ref())));
    let is_member = inventory.layers.iter().any(|above| above.members.contains(&layer.name));
    let is_readable = layer.pool.as_ref().is_none_or(Pool::is_usable);
    if layer.content.filesystem.is_some() || !is_member && is_readable {
        cells.push(content(used, Block::Layer(layer), &layer.content));
    }
    cells
}

/// A member of a pool: its drive by bay and name, and its state where that is not the usual one.
pub(super) fn member(inventory: &Inventory, member: &str, state: Option<MemberState>) -> [String; 4] {
    if state == Some(MemberState::Absent) {
        return absent(inventory, member);
    }
    let state = state.filter(|state| *state != MemberState::InSync).map(|state| state.words().to_owned());
    let about = [member.to_owned()].into_iter().chain(state).collect::<Vec<_>>().join(", ");
    match &inventory.drives_of_block(member)[..] {
        [drive] => {
            let [bay, name, serial] = start(drive);
            [bay, name, serial, about]
        }
        _ => [about, String::new(), String::new(), String::new()],
    }
}

/// A member that the pool lacks, by its serial or last name; its drive may be plugged in.
pub(super) fn absent(inventory: &Inventory, name: &str) -> [String; 4] {
    match inventory.drives.iter().find(|drive| drive.serial.as_deref() == Some(name)) {
        Some(drive) => {
            let [bay, name, serial] = start(drive);
            [bay, name, serial, MemberState::Unused.words().to_owned()]
        }
        None => [MemberState::Absent.words().to_owned(), String::new(), name.to_owned(), String::new()],
    }
}

pub(super) fn port(port: &NetworkPort) -> Vec<String> {
    let mut cells = vec![format!("{} {}", if port.wireless { "Wi-Fi" } else { "Ethernet" }, port.name)];
    let unconnected = (port.connected == Some(false)).then(|| "not connected".to_owned());
    cells.extend(port.mbps.map(link_speed).or(unconnected));
    if let Some(ceiling) = &port.ceiling {
        let practical = ceiling.practical.unwrap_or(ceiling.theory);
        cells.push(format!("about {practical:.0} MB/s usable ({})", ceiling.source));
    }
    cells.extend(port.driver.clone());
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::{
        Output,
        smartctl::{Answer, parse},
    };

    /// What is said of every public sample of smartctl's output.
    #[test]
    fn public_samples() {
        let packed = include_bytes!("../../../tests/fixtures/smartctl/public.tar.gz");
        let mut samples = tar::Archive::new(flate2::read::GzDecoder::new(&packed[..]));
        let said = samples.entries().expect("samples").map(|sample| {
            let mut sample = sample.expect("a sample");
            let mut stdout = String::new();
            std::io::Read::read_to_string(&mut sample, &mut stdout).expect("text");
            let said = match parse("auto", &Output { code: Some(0), stdout, ..Output::default() }) {
                Answer::Health(health) => told(*health),
                other => vec![format!("{other:?}")],
            };
            format!("{}: {}", sample.path().expect("a name").display(), said.join(" · "))
        });
        let mut lines: Vec<String> = said.collect();
        lines.sort();
        insta::assert_snapshot!(lines.join("\n"));
    }

    /// The cells of a drive's health, and its findings.
    fn told(health: Health) -> Vec<String> {
        let cells = super::health(&health);
        let drive = Drive { health: Some(health), ..Drive::default() };
        let inventory = Inventory { drives: vec![drive], ..Inventory::default() };
        let found = inventory.findings().into_iter();
        let found = found.map(|f| format!("! {}", f.what.replace("drive  (no serial)", "it")));
        cells.into_iter().chain(found).collect()
    }
}
