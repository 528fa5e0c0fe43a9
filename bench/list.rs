//! How long `list` takes: reads a tree of 24 disks and finds problems, and the same for this machine.
//!
//! The tree is on disk and /sys is in kernel memory: both are read by system calls, one file after the other.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::{fs, os::unix::fs::symlink, path::Path, time::Instant};

use drivebench::{inventory::Inventory, sysroot::Sysroot};

const DRIVES: usize = 24;
const CALLS: usize = 50;

fn main() -> std::io::Result<()> {
    let dir = std::env::temp_dir().join(format!("drivebench-list-{}", std::process::id()));
    let written = (0..DRIVES).try_for_each(|n| disk(&dir, n));
    let tree = written.map(|()| measure(|| Sysroot::at(&dir)));
    fs::remove_dir_all(&dir)?;
    let (drives, tree) = tree?;
    let (own, live) = measure(Sysroot::live);
    println!("what              drives  median     longest");
    println!("a tree on disk    {drives:>6}  {:>7.2} ms  {:>6.2} ms", tree.0, tree.1);
    println!("this machine      {own:>6}  {:>7.2} ms  {:>6.2} ms", live.0, live.1);
    println!("list: {:.2} ms for {drives} drives", tree.0);
    Ok(())
}

/// How many drives there are, and the median and longest time of a call, ms.
fn measure(root: impl Fn() -> Sysroot) -> (usize, (f64, f64)) {
    let mut drives = 0;
    let mut times: Vec<f64> = (0..CALLS)
        .map(|_| {
            let started = Instant::now();
            let inventory = Inventory::read(&root());
            let findings = inventory.findings();
            let took = started.elapsed().as_secs_f64() * 1e3;
            drives = inventory.drives.len();
            std::hint::black_box(findings);
            took
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (drives, (times[CALLS / 2], times[CALLS - 1]))
}

/// A SATA disk with one partition, and udev's records of both.
fn disk(root: &Path, n: usize) -> std::io::Result<()> {
    let name = format!("sd{}", char::from(b'a' + n as u8));
    let controller = format!("sys/devices/pci0000:00/0000:00:{:02x}.0", 0x10 + n / 6);
    let scsi = format!("{controller}/ata{n}/host{n}/target{n}:0:0/{n}:0:0:0");
    let block = format!("{scsi}/block/{name}");
    let write = |path: String, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, text)
    };
    for (file, text) in [
        ("size", "7814037168\n"),
        ("removable", "0\n"),
        ("ro", "0\n"),
        ("queue/logical_block_size", "512\n"),
        ("queue/physical_block_size", "4096\n"),
        ("queue/rotational", "1\n"),
        ("queue/scheduler", "none [mq-deadline]\n"),
        ("queue/write_cache", "write back\n"),
        ("queue/max_sectors_kb", "1280\n"),
    ] {
        write(format!("{block}/{file}"), text)?;
    }
    write(format!("{block}/dev"), &format!("8:{}\n", n * 16))?;
    let part = format!("{block}/{name}1");
    write(format!("{part}/dev"), &format!("8:{}\n", n * 16 + 1))?;
    write(format!("{part}/start"), "2048\n")?;
    write(format!("{part}/size"), "7814035120\n")?;
    write(format!("{scsi}/model"), "ST4000VN008-2DR1\n")?;
    write(format!("{scsi}/wwid"), &format!("naa.5000c500a1b2c{n:03}\n"))?;
    write(format!("{scsi}/vpd_pg80"), &format!("\0\u{0080}\0\u{0014}ZDH0A{n:03}"))?;
    write(format!("run/udev/data/b8:{}", n * 16), &format!("E:ID_SERIAL_SHORT=ZDH0A{n:03}\n"))?;
    write(format!("run/udev/data/b8:{}", n * 16 + 1), "E:ID_FS_TYPE=ext4\nE:ID_FS_LABEL=data\n")?;
    fs::create_dir_all(root.join("sys/block"))?;
    symlink(format!("../../{block}"), root.join("sys/block").join(&name))?;
    symlink(format!("../../../{n}:0:0:0"), root.join(&block).join("device"))
}
