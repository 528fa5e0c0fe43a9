//! Reboots of a guest with systemd: pools are kept, and boots recorded. `lab/vm soak reboots` tries all layouts, `soak boots` all ways that a series ends.

use drivebench::units::Layout;
use drivebench_lab::{
    Options,
    soak::{Meanwhile, Pool, boot_series, reboot},
};

use super::scenario;

/// One reboot shows most: a redundant array lacks a drive, and the linear pool, which only its unit knows, comes back.
#[test]
fn kept_pools_come_back_after_a_reboot() {
    let mut scenario = scenario("pools");
    for drive in &mut scenario.drives {
        // Filled sooner.
        drive.sectors -= 200_000;
        drive.model.capacity = drive.sectors * 512;
    }
    let pools = [
        Pool { name: "copies", layout: Layout::Raid1, filesystem: "ext4", drives: &[0, 1] },
        Pool { name: "line", layout: Layout::Linear, filesystem: "ext4", drives: &[2, 3] },
    ];
    let mut lines = Vec::new();
    let done = reboot(&Options::default(), &scenario, &pools, &[&[1]], &mut lines);
    done.unwrap_or_else(|e| panic!("{e}\n{}", lines.join("\n")));
}

#[test]
fn a_series_of_boots_ends_when_a_person_says_so() {
    let mut lines = Vec::new();
    let done = boot_series(&Options::default(), &scenario("pools"), Meanwhile::Stop, &mut lines);
    done.unwrap_or_else(|e| panic!("{e}\n{}", lines.join("\n")));
}
