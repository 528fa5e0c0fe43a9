//! QEMU's arguments, as values.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{
    disk,
    scenario::{Attach, Drive, Guest, Machine, Scenario},
};

/// The files that a kind of machine boots, and the directory of its sockets.
pub(crate) struct Files<'a> {
    /// The directory of boot files.
    pub guest: &'a Path,
    /// The machine's own directory.
    pub state: &'a Path,
    /// The console is the terminal, not a file.
    pub terminal: bool,
    pub link: Option<&'a Link>,
}

/// The socket of a network card on a modelled bus, in the machine's own directory.
pub(crate) const CARD: &str = "card";

/// A network of two machines. The one that listens starts first, and waits for the other again when that restarts.
#[derive(Debug, Clone)]
pub struct Link {
    /// A socket of the host.
    pub socket: PathBuf,
    /// It makes the socket; the other one connects.
    pub listens: bool,
}

/// The program that emulates a machine.
pub(crate) fn program(machine: Machine) -> &'static str {
    match machine {
        Machine::Q35 => "qemu-system-x86_64",
        Machine::Raspi3b => "qemu-system-aarch64",
    }
}

/// Its arguments. The machine waits for `cont`; USB drives are plugged in by its monitor.
pub(crate) fn arguments(scenario: &Scenario, files: &Files<'_>) -> Vec<String> {
    let guest = |name: &str| files.guest.join(name).display().to_string();
    let own = |name: &str| files.state.join(name).display().to_string();
    let socket = |name: &str| format!("path={},server=on,wait=off", files.state.join(name).display());
    let mut line: Vec<String> = Vec::new();
    let mut add = |text: &str| line.extend(text.split_whitespace().map(str::to_owned));
    add("-no-user-config -nodefaults -display none -S");
    // The emulated HPET, which Linux uses if it does not trust the TSC, costs more than a USB transfer; so do the
    // mitigations, which an emulated processor doesn't need.
    let mut kernel = format!(
        "quiet mitigations=off tsc=reliable usb_storage.delay_use=0 lab.scenario={}",
        name_of(scenario)
    );
    if files.terminal {
        kernel += " lab.shell";
    }
    match scenario.machine {
        Machine::Q35 => {
            add("-machine q35,accel=tcg -cpu max");
            add(&format!("-smp {} -m {}", scenario.processors, scenario.memory_mib));
            if let Some(shift) = scenario.icount {
                // While the processor waits, its time goes on as that of the drives does.
                add(&format!("-icount shift={shift},sleep=on"));
            }
            add(&format!("-device qemu-xhci,id=usb,p2=8,p3={}", if scenario.usb == 3 { 8 } else { 0 }));
            let shared = |file: &str, node: &str| {
                format!("-blockdev driver=file,filename={file},node-name={node},read-only=on,locking=off")
            };
            match scenario.guest {
                Guest::Lab => {
                    add(&shared(&guest("root.ext4"), "root"));
                    add("-device virtio-blk-pci,drive=root");
                    // A boot with the modules of all kinds of drives takes 4 s more.
                    let modules = scenario.drives.iter().flat_map(|drive| drive.attach.modules());
                    kernel.extend(modules.map(|module| format!(" lab.module={module}")));
                }
                Guest::Systemd => {
                    // A second boot in one QEMU is far slower than in a new one.
                    add("-no-reboot");
                    if scenario.root.is_none() {
                        add(&format!(
                            "-blockdev driver=file,filename={},node-name=root,cache.no-flush=on",
                            own(disk::ROOT)
                        ));
                        add("-device virtio-blk-pci,drive=root");
                    }
                    add(&shared(&guest("programs.ext4"), "programs"));
                    add("-device virtio-blk-pci,drive=programs");
                    kernel += " root=LABEL=lab-root ro";
                }
            }
            add("-device virtio-serial-pci");
            add("-device virtserialport,chardev=agent,name=lab");
            // On a slow host the kernel takes the emulated timer for a broken one, and panics.
            kernel += " no_timer_check console=ttyS0 lab.port=/dev/virtio-ports/lab";
        }
        Machine::Raspi3b => {
            add(&format!("-machine raspi3b -m 1024 -dtb {}", guest("board.dtb")));
            let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
            // This board has no clock.
            kernel += &format!(" console=ttyAMA0 panic=-1 lab.now={now}");
        }
    }
    let initrd = match scenario.guest {
        Guest::Lab => guest("initrd"),
        Guest::Systemd => own(disk::INITRD),
    };
    add(&format!("-kernel {} -initrd {initrd}", guest("kernel")));
    add(&format!("-chardev socket,id=qmp,{} -mon chardev=qmp,mode=control", socket("qmp")));
    add(&format!("-chardev socket,id=agent,{}", socket("agent")));
    add(&match files.terminal {
        true => "-chardev stdio,id=console,signal=off -serial chardev:console".to_owned(),
        false => format!("-serial file:{}", files.state.join("console").display()),
    });
    if scenario.machine == Machine::Raspi3b {
        add("-serial chardev:agent");
    }
    line.extend(["-append".to_owned(), kernel]);
    let mut network = None;
    if let Some(Link { socket, listens }) = files.link {
        let (server, last) = if *listens { ("on", 1) } else { ("off", 2) };
        // Nothing boots from it, so it needs no ROM.
        let (socket, card) = match &scenario.network {
            Some(_) => (own(CARD), "usb-net".to_owned()),
            None => (socket.display().to_string(), "virtio-net-pci,romfile=".to_owned()),
        };
        let port =
            scenario.network.iter().map(|port| format!(",bus={},port={port}", usb_bus(scenario.machine)));
        let port: String = port.collect();
        line.extend([
            "-netdev".to_owned(),
            format!("stream,id=link,server={server},addr.type=unix,addr.path={socket}"),
        ]);
        network = Some(format!("{card},netdev=link,mac=52:54:00:00:00:0{last}{port}"));
    }
    for hub in hubs(scenario) {
        let port = format!("usb-hub,bus={},port={hub},id=hub{hub}", usb_bus(scenario.machine));
        line.extend(["-device".to_owned(), port]);
    }
    // Its hub is there before.
    line.extend(network.into_iter().flat_map(|device| ["-device".to_owned(), device]));
    let nbd = files.state.join("nbd");
    for (i, drive) in scenario.drives.iter().enumerate() {
        let node = json!({
            "driver": "nbd", "node-name": format!("d{i}"), "export": drive.bay,
            "server": { "type": "unix", "path": nbd },
        });
        line.extend(["-blockdev".to_owned(), node.to_string()]);
        for device in fixed(i, drive, sata_before(scenario, i)) {
            line.extend(["-device".to_owned(), device.to_string()]);
        }
    }
    line
}

/// The name of the scenario as one word.
fn name_of(scenario: &Scenario) -> String {
    let mut name = scenario.name.clone();
    if scenario.speed != 1.0 {
        name += &format!(",{}-times-as-fast", scenario.speed);
    }
    name
}

pub(crate) fn usb_bus(machine: Machine) -> &'static str {
    match machine {
        Machine::Q35 => "usb.0",
        Machine::Raspi3b => "usb-bus.0",
    }
}

/// Ports that hubs are in, outer ones first.
fn hubs(scenario: &Scenario) -> Vec<&str> {
    let ports = scenario.usb_ports();
    let mut hubs: Vec<&str> =
        ports.flat_map(|bay| bay.match_indices('.').map(|(at, _)| &bay[..at])).collect();
    hubs.sort_unstable();
    hubs.dedup();
    hubs
}

fn sata_before(scenario: &Scenario, i: usize) -> usize {
    scenario.drives[..i].iter().filter(|d| d.attach == Attach::Sata).count()
}

/// The devices of a drive that is not in a USB bay.
fn fixed(i: usize, drive: &Drive, port: usize) -> Vec<Value> {
    let node = format!("d{i}");
    let serial = &drive.serial;
    let errors = |mut device: Value| {
        // Report errors to the guest. By default QEMU would stop the machine if there is no space.
        device["werror"] = "report".into();
        device["rerror"] = "report".into();
        device
    };
    match drive.attach {
        Attach::UsbStorage | Attach::Uas => Vec::new(),
        Attach::Sata => {
            let model = format!("{} {}", drive.vendor, drive.product);
            vec![errors(json!({
                "driver": "ide-hd", "bus": format!("ide.{port}"), "drive": node, "serial": serial,
                "model": model.trim(), "rotation_rate": if drive.rotates { 5400 } else { 1 },
            }))]
        }
        Attach::Nvme => vec![json!({ "driver": "nvme", "drive": node, "serial": serial })],
        Attach::Sd => vec![
            json!({ "driver": "sdhci-pci" }),
            // The bus of the slot just created.
            json!({ "driver": "sd-card", "bus": "sd-bus", "drive": node }),
        ],
    }
}

/// The devices of a drive in a USB bay, as the monitor plugs them in: the transport, then the disk behind it.
pub(crate) fn usb_devices(machine: Machine, i: usize, drive: &Drive, bay: &str) -> [Value; 2] {
    let transport = if drive.attach == Attach::Uas { "usb-uas" } else { "usb-bot" };
    [
        json!({
            "driver": transport, "id": format!("u{i}"), "bus": usb_bus(machine), "port": bay,
            "serial": drive.serial, "attached": false,
        }),
        json!({
            "driver": "scsi-hd", "id": format!("s{i}"), "bus": format!("u{i}.0"), "scsi-id": 0, "lun": 0,
            "drive": format!("d{i}"), "vendor": drive.vendor, "product": drive.product, "serial": drive.serial,
            "werror": "report", "rerror": "report", "removable": true,
            "rotation_rate": if drive.rotates { 5400 } else { 1 },
        }),
    ]
}
