//! Small trees of /sys, /proc and udev's database, written by tests.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::{Inventory, Sysroot};

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

/// A virtual machine whose one drive is formatted as a whole, without udev; texts from Linux 6.18.
pub(crate) fn virtual_machine() -> Tree {
    let mut tree = Tree::new();
    tree.disk("pci0000:00/0000:00:02.0/virtio1", "vda", "254:0", 536_870_912);
    tree.file("sys/block/vda/queue/rotational", "1\n").file("sys/block/vda/serial", "");
    tree.file("sys/devices/pci0000:00/0000:00:02.0/virtio1/vendor", "0x0000\n");
    tree.link(
        "sys/devices/pci0000:00/0000:00:02.0/virtio1/driver",
        "../../../../bus/virtio/drivers/virtio_blk",
    );
    for name in ["loop0", "loop1", "zram0"] {
        tree.link(&format!("sys/block/{name}"), &format!("../devices/virtual/block/{name}"));
        tree.block(&format!("sys/devices/virtual/block/{name}"), "7:0", 0);
    }
    tree.file("proc/sys/kernel/osrelease", "6.18.44\n").file("proc/sys/kernel/arch", "x86_64\n");
    tree.file(
        "etc/os-release",
        "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\n",
    );
    tree.file("sys/devices/system/cpu/online", "0-1\n").file("proc/loadavg", "0.08 0.03 0.01 1/123 4567\n");
    tree.file("proc/meminfo", "MemTotal:       24682416 kB\nMemFree: 1 kB\nMemAvailable:   23410020 kB\n");
    tree.file("proc/self/mountinfo", "\
22 27 0:21 / /proc rw,relatime - proc proc rw
23 27 0:22 / /sys rw,relatime - sysfs sysfs rw
24 27 0:6 / /dev rw,relatime - devtmpfs devtmpfs rw,size=12331664k,nr_inodes=3082916,mode=755
25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24682416k
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 0:44 / /var/lib/docker/overlay2/m/merged rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/var/lib/u
");
    tree.file("proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
    tree
}

/// A USB mass storage drive; `port` is such as `1-1.3`, `hub` the path of its root hub below /sys/devices.
struct Stick<'a> {
    hub: &'a str,
    port: &'a str,
    driver: &'a str,
    speed: &'a str,
    vendor: &'a str,
    model: &'a str,
    serial: &'a str,
}

impl Tree {
    fn stick(&mut self, stick: &Stick<'_>, name: &str, dev: &str, sectors: u64) -> &mut Self {
        // `1-1.3` is below the hub `1-1`.
        let mut usb = stick.hub.to_owned();
        for (end, _) in stick.port.match_indices('.') {
            usb += &format!("/{}", &stick.port[..end]);
        }
        let usb = format!("{usb}/{}", stick.port);
        let interface = format!("{usb}/{}:1.0", stick.port);
        let scsi = format!("{interface}/host0/target0:0:0/0:0:0:0");
        self.disk(&scsi, name, dev, sectors).file(&format!("sys/block/{name}/removable"), "1\n");
        self.link(&format!("sys/devices/{scsi}/driver"), "/sys/bus/scsi/drivers/sd");
        self.link(
            &format!("sys/devices/{interface}/driver"),
            &format!("/sys/bus/usb/drivers/{}", stick.driver),
        );
        self.files(
            &format!("sys/devices/{usb}"),
            &[("speed", stick.speed), ("manufacturer", "USB\n"), ("product", "SanDisk 3.2Gen1\n")],
        );
        if !stick.serial.is_empty() {
            self.file(&format!("sys/devices/{usb}/serial"), &format!("{}\n", stick.serial));
        }
        self.files(
            &format!("sys/devices/{scsi}"),
            &[("vendor", &format!("{:8}\n", stick.vendor)), ("model", &format!("{:16}\n", stick.model))],
        )
    }

    fn sd_card(&mut self, host: &str, sectors: u64) -> &mut Self {
        let card = format!("{host}/mmc_host/mmc0/mmc0:aaaa");
        self.disk(&card, "mmcblk0", "179:0", sectors);
        self.link(&format!("sys/devices/{card}/driver"), "/sys/bus/mmc/drivers/mmcblk");
        self.files(
            &format!("sys/devices/{card}"),
            &[
                ("type", "SD\n"),
                ("name", "SC32G\n"),
                ("serial", "0x1f3a5b22\n"),
                ("cid", "0353445343333247801f3a5b22013a7f\n"),
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
            &[("ID_FS_TYPE", "ext4"), ("ID_FS_LABEL", "rootfs"), ("ID_FS_LABEL_ENC", "rootfs")],
        )
    }
}

/// A Raspberry Pi Zero 2 W with four sticks on a hub; sizes as lsblk and parted told them.
pub(crate) fn pi_zero() -> Tree {
    let mut tree = Tree::new();
    let hub = "platform/soc/3f980000.usb/usb1";
    tree.file(&format!("sys/devices/{hub}/speed"), "480\n");
    for (port, name, dev, sectors, model, serial) in [
        ("1-1.1", "sda", "8:0", 121_077_760, "Cruzer Blade", "4C530001"),
        ("1-1.2", "sdc", "8:32", 121_077_760, "Cruzer Blade", "4C530002"),
        ("1-1.3", "sdd", "8:48", 121_077_761, "Cruzer Blade", "4C530003"),
        ("1-1.4", "sdb", "8:16", 483_321_640, "DataTraveler 3.0", "E0D55EA573DCF450E97B104D"),
    ] {
        let vendor = if model.starts_with('C') { "SanDisk" } else { "Kingston" };
        let stick = Stick { hub, port, driver: "usb-storage", speed: "480\n", vendor, model, serial };
        tree.stick(&stick, name, dev, sectors);
    }
    tree.partition("sda", "sda1", "8:1", 2048, 121_075_712);
    tree.udev(
        "8:1",
        &[("ID_FS_TYPE", "ext4"), ("ID_FS_LABEL", "media_1"), ("ID_FS_LABEL_ENC", "media\\x201")],
    );
    tree.partition("sdb", "sdb1", "8:17", 64, 409_600).partition("sdb", "sdb2", "8:18", 411_648, 482_907_992);
    tree.udev("8:17", &[("ID_FS_TYPE", "vfat"), ("ID_FS_LABEL", "EFI"), ("ID_FS_UUID", "67E3-17ED")]);
    tree.sd_card("platform/soc/3f202000.mmc", 60_424_192);
    tree.bytes("proc/device-tree/model", b"Raspberry Pi Zero 2 W Rev 1.0\0");
    tree.file("proc/sys/kernel/osrelease", "6.6.31+rpt-rpi-v8\n").file("proc/sys/kernel/arch", "aarch64\n");
    tree.file("usr/lib/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
    tree.link("etc/os-release", "../usr/lib/os-release");
    tree.file("sys/devices/system/cpu/online", "0-3\n");
    tree.file("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "ondemand\n");
    tree.file("sys/class/thermal/thermal_zone0/temp", "48312\n");
    tree.file("sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n");
    tree.file("proc/meminfo", "MemTotal:         436960 kB\nMemAvailable:     301120 kB\n");
    tree.file("proc/loadavg", "0.31 0.20 0.11 1/140 901\n");
    tree.file(
        "proc/self/mountinfo",
        "\
24 1 179:2 / / rw,noatime shared:1 - ext4 /dev/mmcblk0p2 rw
33 24 179:1 / /boot/firmware rw,relatime shared:47 - vfat /dev/mmcblk0p1 rw,fmask=0022,errors=remount-ro
47 24 8:1 / /mnt/a rw,relatime shared:60 - ext4 /dev/sda1 rw
48 24 8:1 /photos /srv/photos rw,relatime shared:60 - ext4 /dev/sda1 rw
",
    );
    tree.file(
        "proc/swaps",
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/var/swap file\t\t524284\t\t0\t\t-2\n",
    );
    tree
}

/// A Raspberry Pi 4 with an SSD behind a USB 3 bridge and an SD card.
pub(crate) fn pi_4() -> Tree {
    let mut tree = Tree::new();
    let controller = "platform/scb/fd500000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0";
    let (hub2, hub3) = (format!("{controller}/usb1"), format!("{controller}/usb2"));
    tree.file(&format!("sys/devices/{hub2}/speed"), "480\n")
        .file(&format!("sys/devices/{hub3}/speed"), "5000\n");
    let ssd = Stick {
        hub: &hub3,
        port: "2-1",
        driver: "uas",
        speed: "5000\n",
        vendor: "Samsung",
        model: "SSD 870 EVO 1TB",
        serial: "S6PUNX0R123456A",
    };
    tree.stick(&ssd, "sda", "8:0", 1_953_525_168).file("sys/block/sda/removable", "0\n");
    tree.file("sys/block/sda/queue/physical_block_size", "4096\n");
    tree.partition("sda", "sda1", "8:1", 2048, 1_953_521_664);
    tree.udev("8:1", &[("ID_FS_TYPE", "btrfs"), ("ID_FS_LABEL", "data"), ("ID_FS_LABEL_ENC", "data")]);
    tree.sd_card("platform/emmc2bus/fe340000.mmc", 62_333_952);
    tree.bytes("proc/device-tree/model", b"Raspberry Pi 4 Model B Rev 1.4\0");
    tree.file("proc/sys/kernel/osrelease", "6.6.31+rpt-rpi-v8\n").file("proc/sys/kernel/arch", "aarch64\n");
    tree.file("etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
    tree.file("sys/devices/system/cpu/online", "0-3\n");
    tree.file("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n");
    tree.file("sys/class/thermal/thermal_zone0/temp", "81303\n");
    tree.file("sys/bus/platform/drivers/raspberrypi-firmware/soc:firmware/get_throttled", "0\n");
    tree.file("proc/meminfo", "MemTotal:        3884360 kB\nMemAvailable:    3301120 kB\n");
    tree.file("proc/self/mountinfo", "\
24 1 179:2 / / rw,noatime shared:1 - ext4 /dev/mmcblk0p2 rw
33 24 179:1 / /boot/firmware ro,relatime shared:47 - vfat /dev/mmcblk0p1 rw,fmask=0022
47 24 0:49 /@ /srv/data rw,relatime shared:60 - btrfs /dev/sda1 rw,compress=zstd:3,ssd,space_cache=v2,subvol=/@
48 24 0:50 / /mnt/nas rw,relatime - nfs4 192.168.1.2:/export rw,vers=4.2
");
    tree
}

/// A PC with an encrypted NVMe drive under LVM, and two SATA disks in a RAID1.
pub(crate) fn pc() -> Tree {
    let mut tree = Tree::new();
    let nvme = "pci0000:00/0000:00:1d.0/0000:03:00.0";
    let dir = format!("sys/devices/{nvme}/nvme/nvme0/nvme0n1");
    tree.link("sys/block/nvme0n1", &format!("../devices/{nvme}/nvme/nvme0/nvme0n1"));
    tree.block(&dir, "259:0", 1_000_215_216).link(&format!("{dir}/device"), "../../nvme0");
    tree.file(&format!("{dir}/wwid"), "eui.0025385a91b0c7e1\n");
    tree.files(
        &format!("sys/devices/{nvme}/nvme/nvme0"),
        &[("model", "Samsung SSD 970 EVO Plus 500GB          \n"), ("serial", "S4EVNF0M512345B     \n")],
    );
    tree.link(&format!("sys/devices/{nvme}/driver"), "../../../../bus/pci/drivers/nvme");
    tree.files(
        &format!("sys/devices/{nvme}"),
        &[("current_link_speed", "8.0 GT/s PCIe\n"), ("current_link_width", "4\n")],
    );
    tree.partition("nvme0n1", "nvme0n1p1", "259:1", 2048, 1_048_576);
    tree.partition("nvme0n1", "nvme0n1p2", "259:2", 1_050_624, 999_162_880);
    tree.udev("259:1", &[("ID_FS_TYPE", "vfat")]).udev("259:2", &[("ID_FS_TYPE", "crypto_LUKS")]);
    tree.file("sys/block/nvme0n1/nvme0n1p2/holders/dm-0/dev", "253:0\n");
    for (n, name, dev, serial) in
        [(1, "sda", "8:0", "WD-WCC7K1234567"), (2, "sdb", "8:16", "WD-WCC7K7654321")]
    {
        let ata = format!("pci0000:00/0000:00:17.0/ata{n}");
        let scsi = format!("{ata}/host{n}/target{n}:0:0/{n}:0:0:0");
        tree.disk(&scsi, name, dev, 7_814_037_168)
            .link(&format!("sys/devices/{scsi}/driver"), "/bus/scsi/drivers/sd");
        tree.files(
            &format!("sys/block/{name}/queue"),
            &[("rotational", "1\n"), ("physical_block_size", "4096\n")],
        );
        tree.files(
            &format!("sys/devices/{scsi}"),
            &[
                ("vendor", "ATA     \n"),
                ("model", "WDC WD40EFRX-68N\n"),
                ("wwid", &format!("naa.50014ee2b{n}0a1b2c\n")),
            ],
        );
        let mut page = vec![0, 0x80, 0, 20];
        page.extend(format!("{serial:>20}").bytes());
        tree.bytes(&format!("sys/devices/{scsi}/vpd_pg80"), &page);
        tree.file(&format!("sys/devices/{ata}/ata_port/ata{n}/port_no"), &format!("{n}\n"));
        tree.file(&format!("sys/devices/{ata}/link{n}/ata_link/link{n}/sata_spd"), "6.0 Gbps\n");
        let (part, minor) = (format!("{name}1"), format!("8:{}", (n - 1) * 16 + 1));
        tree.partition(name, &part, &minor, 2048, 7_814_035_087);
        tree.udev(&minor, &[("ID_FS_TYPE", "linux_raid_member"), ("ID_FS_LABEL", "nas:0")]);
        tree.file(&format!("sys/block/{name}/{part}/holders/md0/dev"), "9:0\n");
    }
    tree.link("sys/devices/pci0000:00/0000:00:17.0/driver", "../../../bus/pci/drivers/ahci");
    for (name, dev, sectors, members, dm) in [
        ("dm-0", "253:0", 999_130_112, &["nvme0n1p2"][..], Some(("cryptroot", "CRYPT-LUKS2-3a1f-cryptroot"))),
        ("dm-1", "253:1", 196_608_000, &["dm-0"], Some(("pc--vg-root", "LVM-a8Jw0"))),
        ("dm-2", "253:2", 16_777_216, &["dm-0"], Some(("pc--vg-swap_1", "LVM-a8Jw1"))),
        ("md0", "9:0", 7_813_770_240, &["sda1", "sdb1"], None),
    ] {
        let dir = format!("sys/devices/virtual/block/{name}");
        tree.link(&format!("sys/block/{name}"), &format!("../devices/virtual/block/{name}"))
            .block(&dir, dev, sectors);
        for member in members {
            tree.file(&format!("{dir}/slaves/{member}/size"), "1\n");
        }
        match dm {
            Some((alias, uuid)) => tree.files(&dir, &[("dm/name", alias), ("dm/uuid", uuid)]),
            None => tree.file(&format!("{dir}/md/level"), "raid1\n"),
        };
    }
    tree.udev("9:0", &[("ID_FS_TYPE", "ext4"), ("ID_FS_LABEL", "archive")])
        .udev("253:2", &[("ID_FS_TYPE", "swap")]);
    tree.files("sys/class/dmi/id", &[("sys_vendor", "ASUS\n"), ("product_name", "PRIME B450M-A\n")]);
    tree.file("proc/sys/kernel/osrelease", "6.1.0-37-amd64\n").file("proc/sys/kernel/arch", "x86_64\n");
    tree.file("etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
    tree.file("sys/devices/system/cpu/online", "0-11\n");
    tree.file("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "schedutil\n");
    tree.file("proc/meminfo", "MemTotal:       32793560 kB\nMemAvailable:   30101120 kB\n");
    tree.file(
        "proc/self/mountinfo",
        "\
24 1 253:1 / / rw,relatime shared:1 - ext4 /dev/mapper/pc--vg-root rw,errors=remount-ro
33 24 259:1 / /boot/efi rw,relatime shared:47 - vfat /dev/nvme0n1p1 rw,fmask=0077
47 24 9:0 / /srv rw,relatime shared:60 - ext4 /dev/md0 rw,stripe=4
",
    );
    tree.file("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n/dev/dm-2 partition\t8388604\t0\t-2\n");
    tree.file(
        "proc/mdstat",
        "\
Personalities : [raid1]
md0 : active raid1 sdb1[1] sda1[0]
      3906885120 blocks super 1.2 [2/2] [UU]
      [=>...................]  resync =  8.5% (332112896/3906885120) finish=312.4min speed=190713K/sec
      bitmap: 30/30 pages [120KB], 65536KB chunk

unused devices: <none>
",
    );
    tree
}

/// Two sticks that share a serial and one that has none, on a PC whose USB 2 and USB 3 ports are numbered alike.
pub(crate) fn twins() -> Tree {
    let mut tree = Tree::new();
    let (hub2, hub3) = ("pci0000:00/0000:00:14.0/usb1", "pci0000:00/0000:00:14.0/usb2");
    tree.file(&format!("sys/devices/{hub2}/speed"), "480\n")
        .file(&format!("sys/devices/{hub3}/speed"), "10000\n");
    let stick = Stick {
        hub: hub2,
        port: "1-3",
        driver: "usb-storage",
        speed: "480\n",
        vendor: "General",
        model: "UDisk",
        serial: "0123456789ABCDEF",
    };
    tree.stick(&stick, "sda", "8:0", 15_728_640)
        .udev("8:0", &[("ID_FS_TYPE", "vfat"), ("ID_FS_LABEL", "DATA")]);
    tree.stick(&Stick { port: "1-10", ..stick }, "sdb", "8:16", 15_728_639).file("sys/block/sdb/ro", "1\n");
    tree.udev("8:16", &[("ID_FS_TYPE", "vfat"), ("ID_FS_LABEL", "DATA")]);
    let nameless =
        Stick { hub: hub3, port: "2-3", speed: "5000\n", serial: "", model: "Flash Disk", ..stick };
    tree.stick(&nameless, "sdc", "8:32", 31_457_280);
    tree.file("proc/sys/kernel/osrelease", "6.12.43\n").file("sys/devices/system/cpu/online", "0-7\n");
    tree
}
