//! `drivebench list`: the machine, its buses, bays and drives, and what stands on them.

use std::{path::Path, process::ExitCode};

use super::{
    Output, Usage,
    args::{List, ListFormat},
};
use crate::{
    inventory::{Block, Content, Drive, Inventory, Layer, Machine, Sysroot},
    report::Style,
    units::{count, decimal_bytes, size},
};

const WIDTH: usize = 80;

/// Shows what is here.
pub(super) fn list(args: &List, output: &Output) -> anyhow::Result<ExitCode> {
    let root = if args.sysroot == Path::new("/") { Sysroot::live() } else { Sysroot::at(&args.sysroot) };
    if !args.sysroot.is_dir() {
        return Err(Usage(format!("{} is not a directory", args.sysroot.display())).into());
    }
    let inventory = Inventory::read(&root);
    output.result(&match args.format {
        ListFormat::Text => text(&inventory, output.style),
        ListFormat::Json => serde_json::to_string_pretty(&inventory)? + "\n",
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The inventory for people: no line is longer than 80 columns.
fn text(inventory: &Inventory, style: Style) -> String {
    let mut page = Page { lines: Vec::new(), style };
    page.add("", "", &machine(&inventory.machine), " · ");
    let mut drives = inventory.drives.as_slice();
    while let Some(first) = drives.first() {
        let same = |drive: &&Drive| drive.bus == first.bus && drive.controller == first.controller;
        let (bus, rest) = drives.split_at(drives.iter().take_while(same).count());
        drives = rest;
        page.add(branch(rest.is_empty()), stem(rest.is_empty()), &[bus_name(first)], " ");
        page.add_bus(inventory, bus, stem(rest.is_empty()));
    }
    if inventory.drives.is_empty() {
        page.add("", "", &["No drive is visible here.".to_owned()], " ");
    }
    for layer in inventory.layers.iter().filter(|layer| layer.kind != "partition") {
        page.add("", "  ", &describe_layer(inventory, layer), "  ");
    }
    style.text(&(page.lines.join("\n") + "\n"))
}

fn branch(last: bool) -> &'static str {
    if last { "└─ " } else { "├─ " }
}

fn stem(last: bool) -> &'static str {
    if last { "   " } else { "│  " }
}

/// Lines that break between cells.
struct Page {
    lines: Vec<String>,
    style: Style,
}

impl Page {
    /// Adds cells after `first`; those that don't fit follow on lines that begin with `next`.
    fn add(&mut self, first: &str, next: &str, cells: &[String], gap: &str) {
        let mut line = first.to_owned();
        let mut empty = true;
        for cell in cells.iter().map(|cell| self.style.clean(cell)).filter(|cell| !cell.is_empty()) {
            let width = |text: &str| text.chars().count();
            if !empty && width(&line) + width(gap) + width(cell.trim_end()) > WIDTH {
                self.lines.push(line.trim_end().to_owned());
                line = next.to_owned();
                empty = true;
            }
            if !empty {
                line += gap;
            }
            line.extend(cell.chars().take(WIDTH.saturating_sub(width(&line))));
            empty = false;
        }
        self.lines.push(line.trim_end().to_owned());
    }

    fn add_bus(&mut self, inventory: &Inventory, drives: &[Drive], before: &str) {
        let bay = |drive: &Drive| match &drive.bay {
            Some(bay) if drive.bus.as_deref() == Some("usb") => format!("bay {bay}"),
            Some(bay) => bay.clone(),
            None => drive.name.clone(),
        };
        let rows: Vec<[String; 4]> = drives
            .iter()
            .map(|drive| [bay(drive), name(drive), serial(drive), decimal_bytes(drive.bytes())])
            .collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (bay_width, widths) = (width(0).min(24), [width(0), width(1), width(2)]);
        for (i, (drive, row)) in drives.iter().zip(&rows).enumerate() {
            let last = i + 1 == drives.len();
            let first = format!("{before}{}", branch(last));
            let next = format!("{before}{}{}  ", stem(last), " ".repeat(bay_width));
            let mut cells: Vec<String> =
                row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            cells.push(format!("{:>8}", row[3]));
            cells.extend(link(drive));
            cells.extend(uses(inventory, drive));
            cells.extend(notes(drive, &inventory.drives));
            self.add(&first, &next, &cells, "  ");
        }
    }
}

fn machine(machine: &Machine) -> Vec<String> {
    let mut cells = vec![machine.board.clone().unwrap_or_else(|| "This machine".to_owned())];
    cells.extend((machine.cpus > 0).then(|| count(machine.cpus.into(), "processor")));
    cells.extend((machine.memory > 0).then(|| size(machine.memory)));
    cells.extend(machine.governor.as_ref().map(|governor| format!("{governor} governor")));
    cells.extend(machine.temperature.map(|degrees| format!("{degrees:.0} °C")));
    cells.extend(machine.throttled.map(|bits| {
        match (bits & 1, bits & 0b1110, bits >> 16 & 1) {
            (1, ..) => "undervoltage",
            (0, 1.., _) => "throttled",
            (_, _, 1) => "undervoltage seen since start",
            _ => "no undervoltage",
        }
        .to_owned()
    }));
    cells.extend(machine.system.clone());
    cells.push(format!("Linux {} {}", machine.kernel, machine.arch));
    cells
}

fn bus_name(drive: &Drive) -> String {
    let kind = drive.bus.as_deref().unwrap_or("other");
    let kind = match (kind, drive.bus_mbps) {
        ("usb", Some(speed)) if speed >= 5000.0 => "USB3 bus",
        ("usb", _) => "USB2 bus",
        ("mmc", _) => "SD/MMC",
        ("nvme", _) => "NVMe",
        ("ata", _) => "SATA",
        (other, _) => other,
    };
    let controller =
        drive.controller.as_deref().map(|controller| format!(" at {controller}")).unwrap_or_default();
    let shared = drive.bus_mbps.map(|speed| format!(", {} shared", link_speed(speed))).unwrap_or_default();
    format!("{kind}{controller}{shared}")
}

/// `480 Mb/s`, `6 Gb/s`, from Mb/s.
fn link_speed(mbps: f64) -> String {
    if mbps < 1000.0 { format!("{mbps} Mb/s") } else { format!("{} Gb/s", (mbps / 100.0).round() / 10.0) }
}

fn name(drive: &Drive) -> String {
    match (&drive.vendor, &drive.model) {
        (Some(vendor), Some(model)) if !model.starts_with(vendor.as_str()) => format!("{vendor} {model}"),
        (_, Some(model)) => model.clone(),
        (vendor, None) => vendor.clone().unwrap_or_else(|| "drive".to_owned()),
    }
}

fn serial(drive: &Drive) -> String {
    drive.serial.clone().unwrap_or_else(|| "(no serial)".to_owned())
}

fn link(drive: &Drive) -> Vec<String> {
    let slower = drive.link_mbps.filter(|_| drive.link_mbps != drive.bus_mbps);
    let driver = drive.driver.as_ref().map(|driver| format!("{} by {driver}", drive.name));
    slower.map(link_speed).into_iter().chain(driver.or_else(|| Some(drive.name.clone()))).collect()
}

/// What stands on a drive, one cell a partition.
fn uses(inventory: &Inventory, drive: &Drive) -> Vec<String> {
    let mut cells = Vec::new();
    if drive.partitions.is_empty() {
        cells.push(content(inventory, Block::Drive(drive), &drive.content));
    }
    for part in &drive.partitions {
        cells.push(content(inventory, Block::Partition(drive, part), &part.content));
    }
    let mut holders = drive.holders.clone();
    holders.dedup();
    cells.extend(holders.iter().map(|holder| format!("held by {holder}")));
    cells
}

/// `ext4 "media" on /mnt/a`; the whole filesystem's mount point rather than a directory bound elsewhere.
fn content(inventory: &Inventory, block: Block<'_>, content: &Content) -> String {
    let mut text = content.filesystem.clone().unwrap_or_else(|| "no filesystem seen".to_owned());
    if let Some(label) = &content.label {
        text += &format!(" \"{label}\"");
    }
    let mounts = inventory.mounts.iter().filter(|mount| mount.filesystem != "overlay");
    let here = mounts.filter(|mount| inventory.blocks_of(mount).contains(&block));
    if let Some(mount) = here.min_by_key(|mount| mount.root.len()) {
        text += &format!(" on {}{}", mount.path, if mount.read_only() { " (read-only)" } else { "" });
    }
    if inventory.swaps.iter().any(|swap| inventory.block_at_path(swap) == Some(block)) {
        text += ", in use";
    }
    text
}

fn notes(drive: &Drive, all: &[Drive]) -> Vec<String> {
    let mut notes = Vec::new();
    if drive.read_only {
        notes.push("read-only".to_owned());
    }
    if drive.shared_serial {
        let twins: Vec<String> = all
            .iter()
            .filter(|twin| twin.serial == drive.serial && twin.full_bay() != drive.full_bay())
            .map(|twin| twin.bay.clone().unwrap_or_else(|| twin.name.clone()))
            .collect();
        notes.push(format!("same serial as the drive in bay {}", twins.join(", ")));
    }
    notes.extend(odd_size(drive, all));
    notes
}

/// Drives of one model often differ by a sector, which matters to whoever mirrors them.
fn odd_size(drive: &Drive, all: &[Drive]) -> Option<String> {
    let near = |twin: &&Drive| twin.sectors.abs_diff(drive.sectors) <= drive.sectors / 100;
    let same =
        |twin: &&Drive| drive.model.is_some() && twin.model == drive.model && twin.vendor == drive.vendor;
    let sizes: Vec<u64> = all.iter().filter(same).filter(near).map(|twin| twin.sectors).collect();
    // The size most of them have; of two equally common the smaller.
    let often = |size: &u64| sizes.iter().filter(|other| *other == size).count();
    let usual = *sizes.iter().max_by_key(|size| (often(size), std::cmp::Reverse(**size)))?;
    let than = if sizes.len() > 2 { "its twins" } else { "its twin" };
    let difference = drive.sectors.abs_diff(usual);
    let sectors = if difference == 1 { "one sector".to_owned() } else { count(difference, "sector") };
    match drive.sectors.cmp(&usual) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(format!("{sectors} larger than {than}")),
        std::cmp::Ordering::Less => Some(format!("{sectors} smaller than {than}")),
    }
}

fn describe_layer(inventory: &Inventory, layer: &Layer) -> Vec<String> {
    let alias = layer.alias.as_ref().map(|alias| format!(" {alias}")).unwrap_or_default();
    let mut cells =
        vec![format!("{}{alias}", layer.name), format!("{} of {}", layer.kind, layer.members.join(", "))];
    if layer.sectors > 0 {
        cells.push(decimal_bytes(layer.sectors.saturating_mul(512)));
    }
    let used = inventory.layers.iter().any(|above| above.members.contains(&layer.name));
    if layer.content.filesystem.is_some() || !used {
        cells.push(content(inventory, Block::Layer(layer), &layer.content));
    }
    cells
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::inventory::trees;

    const UTF8: Style = Style::PLAIN;
    const ASCII: Style = Style { unicode: false, ..Style::PLAIN };

    #[test]
    fn virtual_machine() {
        assert_snapshot!(text(&trees::virtual_machine().inventory(), UTF8));
    }

    #[test]
    fn pi_zero() {
        assert_snapshot!(text(&trees::pi_zero().inventory(), UTF8));
    }

    #[test]
    fn pi_zero_ascii() {
        assert_snapshot!(text(&trees::pi_zero().inventory(), ASCII));
    }

    #[test]
    fn pi_4() {
        assert_snapshot!(text(&trees::pi_4().inventory(), UTF8));
    }

    #[test]
    fn pc() {
        assert_snapshot!(text(&trees::pc().inventory(), UTF8));
    }

    #[test]
    fn twins() {
        assert_snapshot!(text(&trees::twins().inventory(), UTF8));
    }

    #[test]
    fn no_line_is_too_long_and_ascii_is_ascii() {
        let mut inventory = trees::pi_zero().inventory();
        for drive in &mut inventory.drives {
            drive.content.label = Some("ä\u{1b}\n".repeat(60));
            drive.model = Some(drive.name.repeat(40));
            drive.bay = Some("1.2.3.4.5.6".repeat(9));
        }
        for style in [UTF8, ASCII] {
            let text = text(&inventory, style);
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            assert!(!text.contains('\u{1b}') && (style.unicode || text.is_ascii()), "{text}");
        }
    }

    #[test]
    fn sizes_are_compared_with_the_usual_one() {
        let drive = |sectors| Drive { model: Some("X".to_owned()), sectors, ..Drive::default() };
        let all = [drive(10_000), drive(10_001), drive(10_000), drive(20_000)];
        let odd: Vec<_> = all.iter().map(|drive| odd_size(drive, &all)).collect();
        assert_eq!(odd, [None, Some("one sector larger than its twins".to_owned()), None, None]);
        let two = [drive(10_000), drive(9_990)];
        assert_eq!(odd_size(&two[0], &two).as_deref(), Some("10 sectors larger than its twin"));
        assert_eq!(odd_size(&two[1], &two), None);
    }
}
