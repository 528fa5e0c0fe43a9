//! Small trees of /sys, /proc and udev's database, written by tests.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::{Inventory, Sysroot};

mod pcs;
mod pis;

type Build = fn() -> Tree;

/// All of them, by name.
pub(crate) const ALL: [(&str, Build); 10] = [
    ("virtual_machine", virtual_machine),
    ("pi_zero", pi_zero),
    ("pi_3", pi_3),
    ("pi_3_plus", pi_3_plus),
    ("pi_4", pi_4),
    ("pi_5", pi_5),
    ("pc", pc),
    ("mini_pc", mini_pc),
    ("server", server),
    ("twins", twins),
];

pub(crate) use pcs::{mini_pc, pc, server, twins, virtual_machine};
pub(crate) use pis::{pi_3, pi_3_plus, pi_4, pi_5, pi_zero};

/// A tree in a temporary directory, in which it is not the only thing.
pub(crate) struct Tree {
    dir: tempfile::TempDir,
    root: PathBuf,
}

impl Tree {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().join("root");
        fs::create_dir(&root).expect("a directory");
        Self { dir, root }
    }

    pub(crate) fn sysroot(&self) -> Sysroot {
        Sysroot::at(&self.root)
    }

    pub(crate) fn inventory(&self) -> Inventory {
        Inventory::read(&self.sysroot())
    }

    /// Where the tree stands.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The directory that holds the tree: outside of it.
    pub(crate) fn outside(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn bytes(&mut self, path: &str, bytes: &[u8]) -> &mut Self {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, bytes).expect("a file");
        self
    }

    pub(crate) fn file(&mut self, path: &str, text: &str) -> &mut Self {
        self.bytes(path, text.as_bytes())
    }

    /// Several files below a directory.
    pub(crate) fn files(&mut self, below: &str, files: &[(&str, &str)]) -> &mut Self {
        for (path, text) in files {
            self.file(&format!("{below}/{path}"), text);
        }
        self
    }

    pub(crate) fn link(&mut self, path: &str, target: &str) -> &mut Self {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        let _ = fs::remove_file(&path);
        symlink(target, path).expect("a link");
        self
    }

    /// A whole block device at `/sys/devices/{parent}/block/{name}`, whose `device` is `parent`.
    pub(crate) fn disk(&mut self, parent: &str, name: &str, dev: &str, sectors: u64) -> &mut Self {
        let dir = format!("sys/devices/{parent}/block/{name}");
        self.link(&format!("sys/block/{name}"), &format!("../devices/{parent}/block/{name}"));
        self.link(
            &format!("{dir}/device"),
            &format!("../../../{}", parent.rsplit('/').next().unwrap_or(parent)),
        );
        self.block(&dir, dev, sectors)
    }

    /// What every whole block device says of itself.
    pub(crate) fn block(&mut self, dir: &str, dev: &str, sectors: u64) -> &mut Self {
        let size = format!("{sectors}\n");
        self.files(
            dir,
            &[
                ("dev", &format!("{dev}\n")),
                ("size", &size),
                ("removable", "0\n"),
                ("ro", "0\n"),
                ("queue/logical_block_size", "512\n"),
                ("queue/physical_block_size", "512\n"),
                ("queue/rotational", "0\n"),
            ],
        )
    }

    /// A partition of a disk that stands in `/sys/block`.
    pub(crate) fn partition(
        &mut self,
        disk: &str,
        name: &str,
        dev: &str,
        start: u64,
        sectors: u64,
    ) -> &mut Self {
        self.files(
            &format!("sys/block/{disk}/{name}"),
            &[
                ("partition", "1\n"),
                ("dev", &format!("{dev}\n")),
                ("start", &format!("{start}\n")),
                ("size", &format!("{sectors}\n")),
            ],
        )
    }

    /// A record of udev's database.
    pub(crate) fn udev(&mut self, dev: &str, properties: &[(&str, &str)]) -> &mut Self {
        let text: String = properties.iter().map(|(key, value)| format!("E:{key}={value}\n")).collect();
        self.file(&format!("run/udev/data/b{dev}"), &format!("S:disk/by-path/x\nI:4711\n{text}G:systemd\n"))
    }
}

/// A USB mass storage drive; `port` is such as `1-1.3`, `hub` the path of its root hub below /sys/devices.
#[derive(Debug, Clone, Copy)]
struct Stick<'a> {
    hub: &'a str,
    port: &'a str,
    driver: &'a str,
    speed: &'a str,
    vendor: &'a str,
    model: &'a str,
    serial: &'a str,
    /// `0781:5567`, USB version, stated draw.
    usb: (&'a str, &'a str, &'a str),
}

impl Default for Stick<'_> {
    fn default() -> Self {
        Self {
            hub: "",
            port: "1-1",
            driver: "usb-storage",
            speed: "480",
            vendor: "SanDisk",
            model: "Cruzer Blade",
            serial: "",
            usb: ("0781:5567", "2.00", "200mA"),
        }
    }
}

/// Descriptors of a mass storage device; the second of its settings is UAS.
const WITH_UAS: [u8; 27] =
    [9, 2, 27, 0, 1, 1, 0, 0x80, 250, 9, 4, 0, 0, 2, 8, 6, 0x50, 0, 9, 4, 0, 1, 4, 8, 6, 0x62, 0];

impl Tree {
    /// Where a USB port lies: `1-1.3` is below the hub `1-1`.
    fn usb_port(hub: &str, port: &str) -> String {
        let above = port.match_indices('.').map(|(end, _)| format!("/{}", &port[..end]));
        format!("{hub}{}/{port}", above.collect::<String>())
    }

    /// A root hub: `{controller}/usb1`.
    fn root_hub(&mut self, hub: &str, speed: &str) -> &mut Self {
        let name = hub.rsplit('/').next().unwrap_or(hub);
        self.link(&format!("sys/bus/usb/devices/{name}"), &format!("../../../devices/{hub}"));
        self.file(&format!("sys/devices/{hub}/speed"), &format!("{speed}\n"))
    }

    /// A hub on a port.
    fn hub(&mut self, hub: &str, port: &str, speed: &str, attributes: &str) -> &mut Self {
        let dir = format!("sys/devices/{}", Self::usb_port(hub, port));
        self.files(&dir, &[("speed", speed), ("bmAttributes", attributes), ("bDeviceClass", "09\n")])
    }

    fn stick(&mut self, stick: &Stick<'_>, name: &str, dev: &str, sectors: u64) -> &mut Self {
        let usb = Self::usb_port(stick.hub, stick.port);
        let interface = format!("{usb}/{}:1.0", stick.port);
        let scsi = format!("{interface}/host0/target0:0:0/0:0:0:0");
        self.disk(&scsi, name, dev, sectors).file(&format!("sys/block/{name}/removable"), "1\n");
        self.file(&format!("sys/block/{name}/queue/rotational"), "1\n");
        self.link(&format!("sys/devices/{scsi}/driver"), "/sys/bus/scsi/drivers/sd");
        self.link(
            &format!("sys/devices/{interface}/driver"),
            &format!("/sys/bus/usb/drivers/{}", stick.driver),
        );
        let (id, version, power) = stick.usb;
        let (vendor, product) = id.split_once(':').expect("an id");
        self.files(
            &format!("sys/devices/{usb}"),
            &[
                ("speed", &format!("{}\n", stick.speed)),
                ("manufacturer", "USB\n"),
                ("product", "SanDisk 3.2Gen1\n"),
                ("idVendor", vendor),
                ("idProduct", product),
                ("version", &format!(" {version}\n")),
                ("bMaxPower", &format!("{power}\n")),
                ("bmAttributes", "80\n"),
                ("power/control", "on\n"),
            ],
        );
        if !stick.serial.is_empty() {
            self.file(&format!("sys/devices/{usb}/serial"), &format!("{}\n", stick.serial));
        }
        self.files(
            &format!("sys/devices/{scsi}"),
            &[("vendor", &format!("{:8}\n", stick.vendor)), ("model", &format!("{:16}\n", stick.model))],
        )
    }

    /// An SSD or disk behind a bridge that can do UAS.
    fn bridged(&mut self, stick: &Stick<'_>, name: &str, dev: &str, sectors: u64) -> &mut Self {
        self.stick(stick, name, dev, sectors);
        let usb = Self::usb_port(stick.hub, stick.port);
        self.file(&format!("sys/block/{name}/removable"), "0\n");
        self.bytes(&format!("sys/devices/{usb}/descriptors"), &WITH_UAS);
        self.files(
            &format!("sys/block/{name}/queue"),
            &[("physical_block_size", "4096\n"), ("write_cache", "write back\n"), ("nr_requests", "60\n")],
        )
    }

    fn sd_card(&mut self, host: &str, sectors: u64) -> &mut Self {
        let card = format!("{host}/mmc_host/mmc0/mmc0:aaaa");
        self.disk(&card, "mmcblk0", "179:0", sectors);
        self.link(&format!("sys/devices/{card}/driver"), "/sys/bus/mmc/drivers/mmcblk");
        let mut ssr = [0u8; 64];
        (ssr[8], ssr[14], ssr[15], ssr[21]) = (4, 0x10, 10, 1);
        let ssr: String = ssr.iter().map(|byte| format!("{byte:02x}")).collect();
        self.files(
            &format!("sys/devices/{card}"),
            &[
                ("type", "SD\n"),
                ("name", "SC32G\n"),
                ("serial", "0x1f3a5b22\n"),
                ("cid", "0353445343333247801f3a5b22013a7f\n"),
                ("ssr", &ssr),
                ("preferred_erase_size", "4194304\n"),
            ],
        );
        self.partition("mmcblk0", "mmcblk0p1", "179:1", 8192, 1_048_576);
        self.partition("mmcblk0", "mmcblk0p2", "179:2", 1_056_768, sectors - 1_056_768);
        self.udev(
            "179:1",
            &[("ID_FS_TYPE", "vfat"), ("ID_FS_LABEL", "bootfs"), ("ID_FS_LABEL_ENC", "bootfs")],
        );
        self.udev(
            "179:2",
            &[
                ("ID_FS_TYPE", "ext4"),
                ("ID_FS_LABEL", "rootfs"),
                ("ID_FS_LABEL_ENC", "rootfs"),
                ("ID_FS_UUID", "56f80fa2-e005-4cca-86e6-19da1069914d"),
                ("ID_FS_BLOCKSIZE", "4096"),
            ],
        )
    }

    /// A PCI device's link to what is above it.
    fn pci(&mut self, path: &str, vendor: &str, device: &str, speed: &str, width: &str) -> &mut Self {
        let dir = format!("sys/devices/{path}");
        self.files(&dir, &[("vendor", vendor), ("device", device)]);
        let links = ["current_link_speed", "max_link_speed"].map(|file| (file, speed));
        let widths = ["current_link_width", "max_link_width"].map(|file| (file, width));
        self.files(&dir, &links).files(&dir, &widths)
    }

    /// A network port of the device at `path`; no speed where nothing is connected.
    fn port(&mut self, path: &str, name: &str, speed: Option<&str>, driver: &str) -> &mut Self {
        let dir = format!("sys/devices/{path}/net/{name}");
        self.link(&format!("sys/class/net/{name}"), &format!("../../devices/{path}/net/{name}"));
        self.link(&format!("{dir}/device"), &format!("/sys/devices/{path}"));
        self.link(&format!("sys/devices/{path}/driver"), &format!("/sys/bus/x/drivers/{driver}"));
        let carrier = if speed.is_some() { "1\n" } else { "0\n" };
        let speed = format!("{}\n", speed.unwrap_or("-1"));
        self.files(
            &dir,
            &[("type", "1\n"), ("carrier", carrier), ("speed", &speed), ("address", "dc:a6:32:01:02:03\n")],
        )
    }

    /// What all Raspberry Pis have.
    fn board(&mut self, name: &str, model: &str, soc: &str, memory: &str) -> &mut Self {
        self.file("proc/device-tree/model", &format!("{name}\0"));
        self.file("proc/device-tree/compatible", &format!("raspberrypi,{model}\0brcm,{soc}\0"));
        self.file("proc/meminfo", &format!("MemTotal:  {memory} kB\nMemAvailable:  301120 kB\n"));
        self.file("proc/sys/kernel/osrelease", "6.6.31+rpt-rpi-v8\n")
            .file("proc/sys/kernel/arch", "aarch64\n");
        self.file("usr/lib/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
        self.link("etc/os-release", "../usr/lib/os-release");
        self.file("sys/devices/system/cpu/online", "0-3\n");
        self.file("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "ondemand\n");
        self.file("sys/class/thermal/thermal_zone0/temp", "48312\n");
        self.file("sys/devices/platform/soc/soc:firmware/get_throttled", "0\n");
        self.file("proc/loadavg", "0.31 0.20 0.11 1/140 901\n");
        self.file(
            "proc/self/mountinfo",
            "24 1 179:2 / / rw,noatime shared:1 - ext4 /dev/mmcblk0p2 rw\n\
             33 24 179:1 / /boot/firmware rw,relatime shared:47 - vfat /dev/mmcblk0p1 rw\n",
        )
    }
}
