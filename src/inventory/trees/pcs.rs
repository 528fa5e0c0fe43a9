//! PCs, a server and a virtual machine.

use super::{Stick, Tree};

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

/// A PC with an encrypted NVMe drive under LVM, and two SATA disks in a RAID1.
pub(crate) fn pc() -> Tree {
    let mut tree = Tree::new();
    let nvme = "pci0000:00/0000:00:1d.0/0000:03:00.0";
    tree.nvme(nvme, 0, "Samsung SSD 970 EVO Plus 500GB", "S4EVNF0M512345B", 1_000_215_216);
    tree.file("sys/block/nvme0n1/wwid", "eui.0025385a91b0c7e1\n");
    tree.pci(nvme, "0x144d\n", "0xa808\n", "8.0 GT/s PCIe\n", "4\n");
    tree.partition("nvme0n1", "nvme0n1p1", "259:1", 2048, 1_048_576);
    tree.partition("nvme0n1", "nvme0n1p2", "259:2", 1_050_624, 999_162_880);
    tree.udev("259:1", &[("ID_FS_TYPE", "vfat")]).udev("259:2", &[("ID_FS_TYPE", "crypto_LUKS")]);
    tree.file("sys/block/nvme0n1/nvme0n1p2/holders/dm-0/dev", "253:0\n");
    for (n, name, dev, serial) in
        [(1, "sda", "8:0", "WD-WCC7K1234567"), (2, "sdb", "8:16", "WD-WCC7K7654321")]
    {
        tree.sata("pci0000:00/0000:00:17.0", n, name, dev, ("WDC WD40EFRX-68N", serial, 7_814_037_168));
        let (part, minor) = (format!("{name}1"), format!("8:{}", (n - 1) * 16 + 1));
        tree.partition(name, &part, &minor, 2048, 7_814_035_087);
        tree.udev(&minor, &[("ID_FS_TYPE", "linux_raid_member"), ("ID_FS_LABEL", "nas:0")]);
        tree.file(&format!("sys/block/{name}/{part}/holders/md0/dev"), "9:0\n");
    }
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
    tree.root_hub(hub2, "480").root_hub(hub3, "10000");
    let stick = Stick {
        hub: hub2,
        port: "1-3",
        vendor: "General",
        model: "UDisk",
        serial: "0123456789ABCDEF",
        ..Stick::default()
    };
    tree.stick(&stick, "sda", "8:0", 15_728_640)
        .udev("8:0", &[("ID_FS_TYPE", "vfat"), ("ID_FS_LABEL", "DATA")]);
    tree.stick(&Stick { port: "1-10", ..stick }, "sdb", "8:16", 15_728_639).file("sys/block/sdb/ro", "1\n");
    tree.udev("8:16", &[("ID_FS_TYPE", "vfat"), ("ID_FS_LABEL", "DATA")]);
    let nameless = Stick { hub: hub3, port: "2-3", speed: "5000", serial: "", model: "Flash Disk", ..stick };
    tree.stick(&nameless, "sdc", "8:32", 31_457_280);
    tree.file("proc/sys/kernel/osrelease", "6.12.43\n").file("sys/devices/system/cpu/online", "0-7\n");
    tree
}

/// A mini PC with one SATA SSD, USB ports of both speeds and Wi-Fi.
pub(crate) fn mini_pc() -> Tree {
    let mut tree = Tree::new();
    let xhci = "pci0000:00/0000:00:15.0";
    let (hub2, hub3) = (format!("{xhci}/usb1"), format!("{xhci}/usb2"));
    tree.root_hub(&hub2, "480").root_hub(&hub3, "5000").hub(&hub3, "2-2", "5000\n", "c0\n");
    tree.sata("pci0000:00/0000:00:12.0", 1, "sda", "8:0", ("CT500MX500SSD1", "2119E5A1B2C3", 976_773_168));
    tree.file("sys/block/sda/queue/rotational", "0\n");
    tree.partition("sda", "sda1", "8:1", 2048, 976_769_024).udev("8:1", &[("ID_FS_TYPE", "ext4")]);
    let disk = Stick {
        hub: &hub3,
        speed: "5000",
        vendor: "WD",
        model: "Elements 25A3",
        usb: ("1058:25a3", "3.10", "896mA"),
        ..Stick::default()
    };
    for (port, name, dev, serial) in
        [("2-2.1", "sdb", "8:16", "575846314141"), ("2-2.2", "sdc", "8:32", "575846314142")]
    {
        tree.bridged(&Stick { port, serial, ..disk }, name, dev, 15_628_052_480);
        tree.partition(name, &format!("{name}1"), &format!("{dev}1"), 63, 15_628_052_417);
        tree.udev(&format!("{dev}1"), &[("ID_FS_TYPE", "ext4"), ("ID_FS_BLOCKSIZE", "4096")]);
        tree.udev(dev, &[("ID_ATA_ROTATION_RATE_RPM", "5400")]);
    }
    tree.port("pci0000:00/0000:00:13.0/0000:01:00.0", "enp1s0", Some("1000"), "r8169");
    tree.port("pci0000:00/0000:00:13.1/0000:02:00.0", "wlp2s0", None, "iwlwifi");
    tree.file("sys/class/net/wlp2s0/wireless/status", "0\n");
    tree.files("sys/class/dmi/id", &[("sys_vendor", "Intel Corporation\n"), ("product_name", "NUC6CAYS\n")]);
    tree.file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Intel(R) Celeron(R) CPU J3455 @ 1.50GHz\n");
    tree.file("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "17\n");
    tree.file("sys/devices/system/cpu/online", "0-3\n").file("proc/sys/kernel/osrelease", "6.12.43\n");
    tree.file("proc/meminfo", "MemTotal:        8030104 kB\n");
    tree.file("proc/self/mountinfo", "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n");
    tree
}

/// A server: two NVMe drives behind a PCIe switch, four SATA disks on an add-on controller, two SAS disks.
pub(crate) fn server() -> Tree {
    let mut tree = Tree::new();
    let switch = "pci0000:00/0000:00:03.0/0000:02:00.0";
    tree.pci(switch, "0x10b5\n", "0x8747\n", "8.0 GT/s PCIe\n", "4\n");
    for n in 0..2 {
        let drive = format!("{switch}/0000:03:0{n}.0/0000:0{}:00.0", n + 4);
        tree.pci(&drive, "0x144d\n", "0xa802\n", "8.0 GT/s PCIe\n", "4\n");
        let serial = format!("S3HCNX0K70012{n}");
        tree.nvme(&drive, n, "SAMSUNG MZVLW1T0HMLH-000L7", &serial, 2_000_409_264);
    }
    let sata = "pci0000:00/0000:00:1c.0/0000:07:00.0";
    tree.pci(sata, "0x1b21\n", "0x1064\n", "8.0 GT/s PCIe\n", "1\n");
    for n in 1..=4 {
        let (name, dev) = (format!("sd{}", char::from(b'`' + n)), format!("8:{}", (n - 1) * 16));
        let serial = format!("ZA1234{n}K");
        tree.sata(sata, n, &name, &dev, ("ST8000VN004-2M21", &serial, 15_628_053_168));
    }
    let sas = "pci0000:00/0000:00:02.0/0000:06:00.0";
    tree.pci(sas, "0x1000\n", "0x0097\n", "8.0 GT/s PCIe\n", "8\n");
    for n in 0..2 {
        let end = format!("{sas}/host9/port-9:{n}/end_device-9:{n}/target9:0:{n}/9:0:{n}:0");
        let (name, dev) = (if n == 0 { "sde" } else { "sdf" }, format!("8:{}", 64 + 16 * n));
        tree.disk(&end, name, &dev, 7_814_037_168).file(&format!("sys/block/{name}/queue/rotational"), "1\n");
        tree.link(&format!("sys/devices/{end}/driver"), "/sys/bus/scsi/drivers/sd");
        tree.files(
            &format!("sys/devices/{end}"),
            &[("vendor", "SEAGATE \n"), ("model", "ST4000NM0043    \n")],
        );
        let mut page = vec![0, 0x80, 0, 8];
        page.extend(format!("Z1Z5DWJ{n}").bytes());
        tree.bytes(&format!("sys/devices/{end}/vpd_pg80"), &page);
    }
    tree.link(&format!("sys/devices/{sas}/driver"), "/sys/bus/pci/drivers/mpt3sas");
    tree.port("pci0000:00/0000:00:1d.0/0000:08:00.0", "eno1", Some("10000"), "ixgbe");
    tree.files("sys/class/dmi/id", &[("sys_vendor", "Supermicro\n"), ("product_name", "SYS-5019S-M\n")]);
    tree.file("sys/devices/system/cpu/online", "0-7\n").file("proc/sys/kernel/osrelease", "6.1.0-37-amd64\n");
    tree.file("proc/meminfo", "MemTotal:       65741520 kB\n");
    tree
}

impl Tree {
    /// An NVMe drive whose PCI device stands at `path`.
    pub(super) fn nvme(&mut self, path: &str, n: u32, model: &str, serial: &str, sectors: u64) -> &mut Self {
        let dir = format!("sys/devices/{path}/nvme/nvme{n}/nvme{n}n1");
        self.link(&format!("sys/block/nvme{n}n1"), &format!("../devices/{path}/nvme/nvme{n}/nvme{n}n1"));
        self.block(&dir, &format!("259:{}", n * 8), sectors)
            .link(&format!("{dir}/device"), &format!("../../nvme{n}"));
        self.files(
            &format!("sys/devices/{path}/nvme/nvme{n}"),
            &[("model", &format!("{model:40}\n")), ("serial", &format!("{serial:20}\n"))],
        );
        self.link(&format!("sys/devices/{path}/driver"), "../../../../bus/pci/drivers/nvme")
    }

    /// A disk on the `n`th port of a SATA controller: model, serial, sectors.
    fn sata(&mut self, controller: &str, n: u8, name: &str, dev: &str, disk: (&str, &str, u64)) -> &mut Self {
        let (model, serial, sectors) = disk;
        let ata = format!("{controller}/ata{n}");
        let scsi = format!("{ata}/host{n}/target{n}:0:0/{n}:0:0:0");
        self.disk(&scsi, name, dev, sectors)
            .link(&format!("sys/devices/{scsi}/driver"), "/bus/scsi/drivers/sd");
        self.files(
            &format!("sys/block/{name}/queue"),
            &[
                ("rotational", "1\n"),
                ("physical_block_size", "4096\n"),
                ("scheduler", "none [mq-deadline]\n"),
                ("write_cache", "write back\n"),
                ("max_sectors_kb", "1280\n"),
            ],
        );
        self.files(
            &format!("sys/devices/{scsi}"),
            &[
                ("vendor", "ATA     \n"),
                ("model", &format!("{model}\n")),
                ("wwid", &format!("naa.50014ee2b{n}0a1b2c\n")),
                ("queue_depth", "32\n"),
            ],
        );
        let mut page = vec![0, 0x80, 0, 20];
        page.extend(format!("{serial:>20}").bytes());
        self.bytes(&format!("sys/devices/{scsi}/vpd_pg80"), &page);
        self.file(&format!("sys/devices/{ata}/ata_port/ata{n}/port_no"), &format!("{n}\n"));
        let link = format!("sys/devices/{ata}/link{n}/ata_link/link{n}");
        self.files(&link, &[("sata_spd", "6.0 Gbps\n")]);
        self.link(&format!("sys/devices/{controller}/driver"), "../../../bus/pci/drivers/ahci")
    }
}
