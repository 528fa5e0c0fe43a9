//! Raspberry Pis.

use super::{Stick, Tree};

/// A Raspberry Pi Zero 2 W with four sticks on a hub; sizes as lsblk and parted told them.
pub(crate) fn pi_zero() -> Tree {
    let mut tree = Tree::new();
    let hub = "platform/soc/3f980000.usb/usb1";
    tree.root_hub(hub, "480").hub(hub, "1-1", "480\n", "e0\n");
    for (port, name, dev, sectors, model, serial) in [
        ("1-1.1", "sda", "8:0", 121_077_760, "Cruzer Blade", "4C530001"),
        ("1-1.2", "sdc", "8:32", 121_077_760, "Cruzer Blade", "4C530002"),
        ("1-1.3", "sdd", "8:48", 121_077_761, "Cruzer Blade", "4C530003"),
        ("1-1.4", "sdb", "8:16", 483_321_640, "DataTraveler 3.0", "E0D55EA573DCF450E97B104D"),
    ] {
        let vendor = if model.starts_with('C') { "SanDisk" } else { "Kingston" };
        let usb = if model.starts_with('C') { Stick::default().usb } else { ("0951:1666", "2.10", "300mA") };
        tree.stick(&Stick { hub, port, vendor, model, serial, usb, ..Stick::default() }, name, dev, sectors);
    }
    tree.partition("sda", "sda1", "8:1", 2048, 121_075_712);
    tree.udev(
        "8:1",
        &[("ID_FS_TYPE", "ext4"), ("ID_FS_LABEL", "media_1"), ("ID_FS_LABEL_ENC", "media\\x201")],
    );
    tree.partition("sdb", "sdb1", "8:17", 64, 409_600).partition("sdb", "sdb2", "8:18", 411_648, 482_907_992);
    tree.udev("8:17", &[("ID_FS_TYPE", "vfat"), ("ID_FS_LABEL", "EFI"), ("ID_FS_UUID", "67E3-17ED")]);
    tree.sd_card("platform/soc/3f202000.mmc", 60_424_192);
    tree.board("Raspberry Pi Zero 2 W Rev 1.0", "model-zero-2-w", "bcm2837", "436960");
    tree.file("sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n");
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

/// A Raspberry Pi 3 B: the hub on the board carries Ethernet and all four USB ports.
pub(crate) fn pi_3() -> Tree {
    let mut tree = Tree::new();
    let hub = "platform/soc/3f980000.usb/usb1";
    tree.root_hub(hub, "480").hub(hub, "1-1", "480\n", "e0\n");
    tree.port(&format!("{hub}/1-1/1-1.1/1-1.1:1.0"), "eth0", Some("100"), "smsc95xx");
    tree.stick(
        &Stick { hub, port: "1-1.2", serial: "4C530001", ..Stick::default() },
        "sda",
        "8:0",
        121_077_760,
    );
    tree.partition("sda", "sda1", "8:1", 63, 121_077_697).udev("8:1", &[("ID_FS_TYPE", "ext4")]);
    let ssd = Stick {
        hub,
        port: "1-1.3",
        vendor: "KINGSTON",
        model: "SA400S37240G",
        serial: "000000000033",
        usb: ("152d:0578", "2.10", "500mA"),
        ..Stick::default()
    };
    tree.bridged(&ssd, "sdb", "8:16", 468_862_128);
    tree.file(&format!("sys/devices/{}/power/control", Tree::usb_port(hub, "1-1.3")), "auto\n");
    tree.sd_card("platform/soc/3f202000.mmc", 60_424_192);
    tree.port("platform/soc/3f300000.mmcnr/mmc_host/mmc1/mmc1:0001/mmc1:0001:1", "wlan0", None, "brcmfmac");
    tree.file("sys/class/net/wlan0/phy80211/name", "phy0\n");
    tree.board("Raspberry Pi 3 Model B Rev 1.2", "3-model-b", "bcm2837", "921904");
    tree
}

/// A Raspberry Pi 3 B+: as the 3 B, with two hubs in a row and gigabit Ethernet behind them.
pub(crate) fn pi_3_plus() -> Tree {
    let mut tree = Tree::new();
    let hub = "platform/soc/3f980000.usb/usb1";
    tree.root_hub(hub, "480").hub(hub, "1-1", "480\n", "e0\n").hub(hub, "1-1.1", "480\n", "e0\n");
    tree.port(&format!("{hub}/1-1/1-1.1/1-1.1.1/1-1.1.1:1.0"), "eth0", Some("1000"), "lan78xx");
    tree.stick(
        &Stick { hub, port: "1-1.1.2", serial: "4C530001", ..Stick::default() },
        "sda",
        "8:0",
        121_077_760,
    );
    tree.sd_card("platform/soc/3f202000.mmc", 60_424_192);
    tree.board("Raspberry Pi 3 Model B Plus Rev 1.3", "3-model-b-plus", "bcm2837", "921904");
    tree
}

/// A Raspberry Pi 4 with an SSD behind a USB 3 bridge, a second one that fell back to USB 2, and an SD card.
pub(crate) fn pi_4() -> Tree {
    let mut tree = Tree::new();
    let controller = "platform/scb/fd500000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0";
    let (hub2, hub3) = (format!("{controller}/usb1"), format!("{controller}/usb2"));
    tree.pci(controller, "0x1106\n", "0x3483\n", "5.0 GT/s PCIe\n", "1\n");
    tree.root_hub(&hub2, "480").root_hub(&hub3, "5000").hub(&hub2, "1-1", "480\n", "e0\n");
    let ssd = Stick {
        hub: &hub3,
        port: "2-1",
        driver: "uas",
        speed: "5000",
        vendor: "Samsung",
        model: "SSD 870 EVO 1TB",
        serial: "S6PUNX0R123456A",
        usb: ("174c:1153", "3.00", "896mA"),
    };
    tree.bridged(&ssd, "sda", "8:0", 1_953_525_168);
    let slow = Stick { hub: &hub2, port: "1-1.3", speed: "480", serial: "S6PUNX0R654321B", ..ssd };
    tree.bridged(&Stick { usb: ("174c:1153", "2.10", "500mA"), ..slow }, "sdb", "8:16", 1_953_525_168);
    tree.partition("sda", "sda1", "8:1", 2048, 1_953_521_664);
    tree.udev("8:1", &[("ID_FS_TYPE", "btrfs"), ("ID_FS_LABEL", "data"), ("ID_FS_LABEL_ENC", "data")]);
    tree.sd_card("platform/emmc2bus/fe340000.mmc", 62_333_952);
    tree.port("platform/scb/fd580000.ethernet", "eth0", Some("1000"), "bcmgenet");
    tree.board("Raspberry Pi 4 Model B Rev 1.4", "4-model-b", "bcm2711", "3884360");
    tree.file("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n");
    tree.file("sys/class/thermal/thermal_zone0/temp", "81303\n");
    tree.file("sys/bus/platform/drivers/raspberrypi-firmware/soc:firmware/get_throttled", "0\n");
    tree.file("proc/self/mountinfo", "\
24 1 179:2 / / rw,noatime shared:1 - ext4 /dev/mmcblk0p2 rw
33 24 179:1 / /boot/firmware ro,relatime shared:47 - vfat /dev/mmcblk0p1 rw,fmask=0022
47 24 0:49 /@ /srv/data rw,relatime shared:60 - btrfs /dev/sda1 rw,compress=zstd:3,ssd,space_cache=v2,subvol=/@
48 24 0:50 / /mnt/nas rw,relatime - nfs4 192.168.1.2:/export rw,vers=4.2
");
    tree
}

/// A Raspberry Pi 5 with a stick on either USB controller, NVMe and an SD card. RP1's parts stand beside its PCI device.
pub(crate) fn pi_5() -> Tree {
    let mut tree = Tree::new();
    let rp1 = "platform/axi/1000120000.pcie";
    tree.pci(
        &format!("{rp1}/pci0002:00/0002:00:00.0/0002:01:00.0"),
        "0x1de4\n",
        "0x0001\n",
        "5.0 GT/s PCIe\n",
        "4\n",
    );
    let hub = |usb: &str, n: u32, bus: u32| format!("{rp1}/{usb}.usb/xhci-hcd.{n}/usb{bus}");
    let hubs =
        [hub("1f00200000", 0, 1), hub("1f00200000", 0, 2), hub("1f00300000", 1, 3), hub("1f00300000", 1, 4)];
    for (hub, speed) in hubs.iter().zip(["480", "5000", "480", "5000"]) {
        tree.root_hub(hub, speed);
    }
    let fast = Stick {
        driver: "uas",
        speed: "5000",
        vendor: "SanDisk",
        model: "Extreme Pro SSD",
        usb: ("0781:55af", "3.20", "896mA"),
        ..Stick::default()
    };
    let (a, b) = (
        Stick { hub: &hubs[1], port: "2-1", serial: "323334383031", ..fast },
        Stick { hub: &hubs[3], port: "4-1", serial: "323334383032", ..fast },
    );
    tree.bridged(&a, "sda", "8:0", 1_953_459_633).bridged(&b, "sdb", "8:16", 1_953_459_633);
    for (dev, uuid) in
        [("8:0", "1a2b3c4d-0000-4000-8000-000000000001"), ("8:16", "1a2b3c4d-0000-4000-8000-000000000002")]
    {
        tree.udev(dev, &[("ID_FS_TYPE", "ext4"), ("ID_FS_UUID", uuid)]);
    }
    let nvme = "platform/axi/1000110000.pcie/pci0001:00/0001:00:00.0/0001:01:00.0";
    tree.pci(nvme, "0x144d\n", "0xa80a\n", "5.0 GT/s PCIe\n", "1\n");
    tree.files(
        &format!("sys/devices/{nvme}"),
        &[("max_link_speed", "16.0 GT/s PCIe\n"), ("max_link_width", "4\n")],
    );
    tree.nvme(nvme, 0, "Samsung SSD 980 PRO 500GB", "S5GYNX0R123456", 976_773_168);
    tree.sd_card("platform/axi/1000fff000.mmc", 62_333_952);
    tree.port(&format!("{rp1}/1f00100000.ethernet"), "eth0", Some("1000"), "macb");
    tree.board("Raspberry Pi 5 Model B Rev 1.0", "5-model-b", "bcm2712", "8245696");
    tree.bytes("proc/device-tree/chosen/power/usb_max_current_enable", &[0, 0, 0, 0]);
    tree
}
