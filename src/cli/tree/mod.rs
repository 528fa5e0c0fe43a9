//! The inventory as a tree for people: how drives are connected, and the speed of each link.

mod cells;

use unicode_width::UnicodeWidthStr;

use crate::{
    inventory::{Bus, BusKind, Drive, Inventory, Layer, Machine, NetworkPort, natural_order},
    report::{Style, wrapped},
    units::{MemberState, PoolState, count, decimal_bytes, shortened, size},
};

/// The longest name of a drive, bay or serial, columns.
const NAME: usize = 40;

/// The inventory for people: no line is longer than the terminal is wide.
pub(super) fn text(inventory: &Inventory, style: Style) -> String {
    let mut page = Page { lines: Vec::new(), style };
    page.add("", "", &machine(&inventory.machine), " · ");
    let used = cells::Uses::new(inventory);
    draw(&mut page, inventory, &used, None, "");
    if inventory.drives.is_empty() {
        page.add("", "", &["No drives found.".to_owned()], " ");
    }
    // Images of packages are many and never measured.
    let is_image = |layer: &&Layer| layer.content.filesystem.as_deref() == Some("squashfs");
    let layers = inventory.layers.iter().filter(|layer| layer.kind != "partition");
    for layer in layers.filter(|layer| !is_image(layer)) {
        page.add("", "  ", &cells::layer(inventory, &used, layer), "  ");
        draw_members(&mut page, inventory, layer);
    }
    let mut text = style.text(&(page.lines.join("\n") + "\n"));
    for finding in inventory.findings() {
        text += &style.warn(&wrapped(&format!("{} {}", finding.what, finding.advice), "! ", style));
    }
    for (why, drives) in inventory.unknown_health() {
        text += &wrapped(&format!("Health of {} is unknown: {why}.", drives.join(", ")), "  ", style);
    }
    text
}

/// Wraps lines between cells, and long cells between words.
struct Page {
    lines: Vec<String>,
    style: Style,
}

impl Page {
    /// Adds cells after `first`. What doesn't fit goes on further lines, which begin with `next`.
    fn add(&mut self, first: &str, next: &str, cells: &[String], gap: &str) {
        let style = self.style;
        let mut line = first.to_owned();
        let mut empty = true;
        for cell in cells.iter().map(|cell| style.clean(cell)).filter(|cell| !cell.is_empty()) {
            if !empty && line.width() + gap.width() + cell.trim_end().width() > style.width {
                self.begin(&mut line, next);
                empty = true;
            }
            if !empty {
                line += gap;
            }
            if line.width() + cell.trim_end().width() <= style.width {
                line += &cell;
            } else {
                let room = style.width.saturating_sub(next.width());
                for (at, part) in wrapped(&cell, "", Style { width: room, ..style }).lines().enumerate() {
                    if at > 0 {
                        self.begin(&mut line, next);
                    }
                    line.extend(part.chars().take(room));
                }
            }
            empty = false;
        }
        self.begin(&mut line, "");
    }

    /// Ends a line and begins another.
    fn begin(&mut self, line: &mut String, next: &str) {
        self.lines.push(line.trim_end().to_owned());
        next.clone_into(line);
    }
}

enum Node<'a> {
    Drive(&'a Drive),
    Bus(&'a Bus),
    Port(&'a NetworkPort),
}

/// The devices on `id`: drives, then buses, then network ports. An SD host is drawn as its slot.
fn nodes<'a>(inventory: &'a Inventory, id: Option<&str>) -> Vec<Node<'a>> {
    let is_slot = |bus: &&Bus| bus.kind == BusKind::Mmc;
    let above = |drive: &'a Drive| {
        let bus = inventory.bus(drive.upstream.as_deref()?)?;
        if is_slot(&bus) { bus.parent.as_deref() } else { Some(bus.id.as_str()) }
    };
    let drives = inventory.drives.iter().filter(|drive| above(drive) == id).map(Node::Drive);
    let on =
        |upstream: &'a Option<String>| upstream.as_deref().filter(|id| inventory.bus(id).is_some()) == id;
    let mut buses: Vec<&Bus> =
        inventory.buses.iter().filter(|bus| !is_slot(bus) && on(&bus.parent)).collect();
    buses.sort_by(|a, b| natural_order(&a.id, &b.id));
    let ports = inventory.ports.iter().filter(|port| on(&port.upstream)).map(Node::Port);
    drives.chain(buses.into_iter().map(Node::Bus)).chain(ports).collect()
}

fn draw(page: &mut Page, inventory: &Inventory, used: &cells::Uses<'_>, id: Option<&str>, before: &str) {
    let nodes = nodes(inventory, id);
    let rows: Vec<[String; 3]> = nodes
        .iter()
        .filter_map(|node| if let Node::Drive(drive) = node { Some(cells::start(drive)) } else { None })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (bay_width, widths) = (width(0).min(page.style.width * 3 / 10), [width(0), width(1), width(2)]);
    let mut rows = rows.iter();
    for (i, node) in nodes.iter().enumerate() {
        let last = i + 1 == nodes.len();
        let (branch, stem) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let (first, next) = (format!("{before}{branch}"), format!("{before}{stem}"));
        match node {
            Node::Drive(drive) => {
                let row = rows.next().into_iter().flatten();
                let mut cells: Vec<String> =
                    row.zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
                cells.push(format!("{:>8}", decimal_bytes(drive.bytes())));
                cells.extend(cells::about(inventory, used, drive));
                page.add(&first, &format!("{next}{}  ", " ".repeat(bay_width)), &cells, "  ");
            }
            Node::Port(port) => page.add(&first, &format!("{next}  "), &cells::port(port), "  "),
            // Drawing starts at the processor, so a cycle among buses can't be reached.
            Node::Bus(bus) => {
                let stem = if self::nodes(inventory, Some(&bus.id)).is_empty() { "   " } else { "│  " };
                page.add(&first, &format!("{next}{stem}"), &describe(inventory, bus), ", ");
                draw(page, inventory, used, Some(&bus.id), &next);
            }
        }
    }
}

/// The members of a pool below it, and those of its drives that are known to be missing.
fn draw_members(page: &mut Page, inventory: &Inventory, layer: &Layer) {
    let Some(pool) = &layer.pool else { return };
    // An array that is not started has no use for its members yet.
    let started = pool.state != PoolState::Inactive;
    let states = layer.states.iter().copied().filter(|_| started).map(Some).chain(std::iter::repeat(None));
    // The kernel lists a member whose drive was pulled by a name that means nothing any more; its serial is among the absent.
    let is_named = |state: Option<MemberState>| state == Some(MemberState::Absent) && !pool.absent.is_empty();
    let members = layer.members.iter().zip(states).filter(|(_, state)| !is_named(*state));
    let present = members.map(|(member, state)| cells::member(inventory, member, state));
    let is_drawn = |serial: &String| {
        let drives = layer.members.iter().flat_map(|member| inventory.drives_of_block(member));
        drives.into_iter().any(|drive| drive.serial.as_ref() == Some(serial))
    };
    let absent = pool.absent.iter().filter(|serial| !is_drawn(serial));
    let absent = absent.map(|serial| cells::absent(inventory, serial));
    let rows: Vec<[String; 4]> =
        present.chain(absent).map(|row| row.map(|cell| shortened(&cell, NAME))).collect();
    let widths = [0, 1, 2, 3].map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0));
    for (i, row) in rows.iter().enumerate() {
        let (branch, stem) = if i + 1 == rows.len() { ("└─ ", "     ") } else { ("├─ ", "│    ") };
        let cells = row.iter().zip(widths).filter(|(_, width)| *width > 0);
        let cells: Vec<String> = cells.map(|(cell, width)| format!("{cell:width$}")).collect();
        page.add(branch, stem, &cells, "  ");
    }
}

fn machine(machine: &Machine) -> Vec<String> {
    let cells = [
        Some(machine.board.clone().unwrap_or_else(|| "This machine".to_owned())),
        machine.lab.as_ref().map(|scenario| format!("virtual: the lab's {scenario}")),
        machine.soc.clone(),
        machine.cpus.map(|n| count(n.into(), "processor")),
        machine.memory.map(size),
        machine.governor.as_ref().map(|governor| format!("{governor} governor")),
        machine.temperature.map(|degrees| format!("{degrees:.0} °C")),
        machine.system.clone(),
        machine.linux(),
    ];
    cells.into_iter().flatten().collect()
}

fn describe(inventory: &Inventory, bus: &Bus) -> Vec<String> {
    let mut cells = vec![bus_name(inventory, bus)];
    cells.extend(bus.link.clone());
    let nodes = nodes(inventory, Some(&bus.id));
    let parent = bus.parent.as_deref().and_then(|id| inventory.bus(id));
    let as_above = bus.kind == BusKind::UsbHub && parent.is_some_and(|parent| parent.mbps == bus.mbps);
    if let Some(mbps) = bus.mbps.filter(|_| !as_above) {
        let speed = link_speed(mbps);
        cells.push(match (bus.limits, sharers(inventory, bus)) {
            _ if nodes.is_empty() => format!("{speed}, nothing on it"),
            (Some(false), _) if bus.kind == BusKind::Pcie => {
                format!("{speed}: enough for all on it at once, nothing is shared")
            }
            (_, Some(sharers)) => format!("{speed} shared by {sharers}"),
            _ => speed,
        });
    }
    let usable = bus.ceiling.as_ref().filter(|_| !nodes.is_empty());
    cells.extend(usable.and_then(|c| Some(format!("about {} MB/s usable ({})", c.practical?, c.source))));
    cells
}

fn bus_name(inventory: &Inventory, bus: &Bus) -> String {
    let above = bus.parent.as_deref().and_then(|id| inventory.bus(id));
    match bus.kind {
        BusKind::UsbHub if bus.self_powered == Some(false) => {
            format!("{} without a supply of its own", bus.what())
        }
        BusKind::UsbHub => bus.what(),
        _ if above.is_some_and(|above| above.id == bus.address()) => bus.what(),
        _ => format!("{} at {}", bus.what(), bus.address()),
    }
}

/// Which devices share a bus, if more than one.
fn sharers(inventory: &Inventory, bus: &Bus) -> Option<String> {
    let below =
        |upstream: Option<&str>| inventory.buses_above(upstream).iter().any(|above| above.id == bus.id);
    let drives = inventory.drives.iter().filter(|drive| below(drive.upstream.as_deref())).count() as u64;
    let ethernet = inventory.ports.iter().any(|port| below(port.upstream.as_deref()));
    let usb = bus.kind == BusKind::Usb
        || inventory.buses.iter().any(|b| b.kind == BusKind::Usb && below(b.parent.as_deref()));
    match (bus.kind, usb, ethernet) {
        (_, true, true) => Some("USB and Ethernet".to_owned()),
        (BusKind::Pcie, true, false) => Some("all USB ports".to_owned()),
        (BusKind::UsbHub, _, true) => Some("its ports and Ethernet".to_owned()),
        (BusKind::Usb | BusKind::UsbHub, ..) => Some("its ports".to_owned()),
        _ => (drives > 1).then(|| count(drives, "drive")),
    }
}

/// `480 Mb/s`, `6 Gb/s`, from Mb/s.
fn link_speed(mbps: f64) -> String {
    if mbps < 1000.0 { format!("{mbps} Mb/s") } else { format!("{} Gb/s", (mbps / 100.0).round() / 10.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        inventory::{Mount, fixtures},
        units::Health,
    };

    const UTF8: Style = Style::PLAIN;
    const ASCII: Style = Style { unicode: false, ..Style::PLAIN };

    #[test]
    fn every_tree() {
        for (name, tree) in fixtures::ALL {
            insta::assert_snapshot!(name, text(&tree().inventory(), UTF8));
        }
    }

    #[test]
    fn pools_are_drawn_over_their_members() {
        use fixtures::pools::{array, btrfs, linear, mounted_array};
        let mut ours = mounted_array("degraded", "raid5", 3, "acd").inventory();
        let pool = ours.layers[0].pool.as_mut().expect("a pool");
        (pool.ours, pool.name, pool.absent) = (true, Some("data".to_owned()), vec!["4C530002".to_owned()]);
        let mut back = ours.clone();
        back.layers[0].pool.as_mut().expect("a pool").absent = vec!["4C530001".to_owned()];
        // Until somebody removes it, the kernel lists a member whose drive is gone.
        let mut listed = ours.clone();
        listed.layers[0].members.push("sdz1".to_owned());
        listed.layers[0].states.push(MemberState::Absent);
        let drawn = [
            ("linear", linear().inventory()),
            ("raid0", mounted_array("raid0gone", "raid0", 2, "ad").inventory()),
            ("raid0 that lost a drive", array("raid0gone", "raid0", 2, "a").inventory()),
            ("raid1, degraded", mounted_array("degraded", "raid1", 3, "acd").inventory()),
            ("raid5", mounted_array("idle", "raid5", 3, "abcd").inventory()),
            ("raid5, degraded, of drivebench", ours),
            ("raid5, degraded, of drivebench, as the kernel lists it", listed),
            ("raid5, degraded, of drivebench, the drive is plugged in", back),
            ("raid5, filling", mounted_array("rebuild", "raid5", 3, "acd").inventory()),
            ("inactive", array("inactive", "", 0, "ad").inventory()),
            ("btrfs, degraded", btrfs().inventory()),
        ];
        // Without the machine and its buses.
        let about = |text: String| {
            let pools = text.lines().filter(|line| !line.contains("hub") && !line.contains("USB2"));
            pools.skip(1).map(|line| format!("{line}\n")).collect::<String>()
        };
        let all = drawn.map(|(name, inventory)| format!("== {name}\n{}", about(text(&inventory, UTF8))));
        insta::assert_snapshot!(all.join("\n"));
    }

    /// Seconds of this thread's processor for a machine of so many drives and mounts.
    fn seconds(many: u32) -> f64 {
        let drive = |n: u32| Drive {
            name: format!("sd{n}"),
            device: (8, n),
            model: Some("X".to_owned()),
            sectors: 1_000_000_000 + u64::from(n),
            ..Drive::default()
        };
        let mount = |n: u32| Mount { device: (8, n), path: format!("/m/{n}"), ..Mount::default() };
        let inventory = Inventory {
            drives: (0..many).map(drive).collect(),
            mounts: (0..many).map(mount).collect(),
            ..Inventory::default()
        };
        let now = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let began = now();
        assert_eq!(text(&inventory, ASCII).matches("on /m/").count(), many as usize);
        let ended = now();
        (ended.tv_sec - began.tv_sec) as f64 + (ended.tv_nsec - began.tv_nsec) as f64 / 1e9
    }

    #[test]
    fn twice_the_drives_and_mounts_take_no_eight_times_as_long() {
        let (once, twice) = (seconds(400), seconds(800));
        assert!(twice < 6.0 * once, "{twice} s of {once} s");
    }

    #[test]
    fn health() {
        let mut inventory = fixtures::pc().inventory();
        let told = |passed: bool, wear: f64| Health {
            passed: Some(passed),
            wear: Some(wear),
            written: Some(5_600_000_000_000),
            hours: Some(19497),
            temperature: Some(33.0),
            ..Health::default()
        };
        let [nvme, sda, sdb] = [2, 0, 1];
        inventory.drives[nvme].health = Some(Health { spare: Some(1.0), ..told(true, 0.96) });
        inventory.drives[nvme].drivebench_wrote = Some(12_300_000_000);
        inventory.drives[sda].health = Some(Health {
            wear: None,
            pending: Some(8),
            reallocated: Some(24),
            cable_errors: Some(1),
            failing: vec!["Reallocated_Sector_Ct".to_owned()],
            ..told(false, 0.0)
        });
        let why = "reading it needs root: sudo drivebench list --health".to_owned();
        inventory.drives[sdb].health = Some(Health { unknown: Some(why), ..Health::default() });
        insta::assert_snapshot!(text(&inventory, UTF8));
    }

    #[test]
    fn ascii() {
        insta::assert_snapshot!(text(&fixtures::pi_zero().inventory(), ASCII));
    }

    #[test]
    fn shared_links_of_boards_are_named() {
        let said = |tree: fixtures::Tree| {
            text(&tree.inventory(), UTF8).split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(said(fixtures::pi_4()).contains("4 Gb/s shared by all USB ports"));
        for tree in [fixtures::pi_3(), fixtures::pi_3_plus()] {
            assert!(said(tree).contains("480 Mb/s shared by USB and Ethernet"));
        }
        let five = said(fixtures::pi_5());
        assert!(five.contains("16 Gb/s: enough for all on it at once, nothing is shared"), "{five}");
        assert!(!five.contains("USB and Ethernet"));
    }

    #[test]
    fn lines_fit_the_terminal_and_ascii_has_no_unicode() {
        let mut inventory = fixtures::pi_zero().inventory();
        for drive in &mut inventory.drives {
            drive.content.label = Some("ä\u{1b}\n".repeat(60));
            drive.model = Some(drive.name.repeat(40_000));
            drive.vendor = Some("x".repeat(70_000));
            drive.bay = Some("1.2.3.4.5.6".repeat(9));
        }
        let styles = [40, 50, 80, 100].map(|width| [UTF8, ASCII].map(|style| Style { width, ..style }));
        for style in styles.into_iter().flatten() {
            let text = text(&inventory, style);
            assert!(text.lines().all(|line| line.chars().count() <= style.width), "{text}");
            assert!(!text.contains('\u{1b}') && (style.unicode || text.is_ascii()), "{text}");
        }
    }
}
