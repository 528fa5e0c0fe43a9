//! The smoke set: what `./test --lab` runs. One test for each promise that would cost a user most.

use drivebench_lab::{
    Machine,
    pools::{self, clean, named},
    soak,
};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;

use super::{ok, out, pools as pool_tests, scenario, shares, start};

#[test]
fn four_sticks_are_listed_exactly_and_mounted_ones_are_refused() {
    let machine = start(&scenario("pi-zero"));
    let list = ok(machine.ask(&["drivebench", "list"]));
    assert!(list.contains("virtual: the lab's pi-zero"), "{list}");
    for drive in &machine.scenario().drives {
        let line = list.lines().find(|line| line.contains(&drive.serial));
        let line = line.unwrap_or_else(|| panic!("{} is missing:\n{list}", drive.serial));
        assert!(line.contains(&format!("bay {} ", drive.bay)), "{line}");
        let device = ok(machine.ask(&["lab-device", &drive.serial]));
        let size = format!("/sys/block/{}/size", device.trim().trim_start_matches("/dev/"));
        assert_eq!(ok(machine.ask(&["cat", &size])).trim(), drive.sectors.to_string());
    }
    let (bays, erase) = named(&machine, &[0, 1]);
    pool_tests::refused(
        &machine,
        &format!("create --layout raid1 {bays} {erase}"),
        "it is mounted: umount /mnt/a",
    );

    let advice = ok(machine.ask(&["drivebench", "advise"]));
    assert!(advice.contains("lab pi-zero") && advice.contains("zram first"), "{advice}");
}

#[test]
fn a_pool_is_created_used_destroyed_and_a_drive_of_it_pulled() {
    let machine = pool_tests::machine();
    ok(pools::round_trip(&machine, "raid1", &[0, 1]));
    a_drive_is_pulled_while_files_are_used(&machine);
}

/// raid1 keeps all, linear loses files until all its drives are there again.
fn a_drive_is_pulled_while_files_are_used(machine: &Machine) {
    let (bays, erase) = named(machine, &[0, 1]);
    let run = format!(
        "drivebench run pull --layouts raid1,linear --members 1 --size 96MiB --runtime 2s {bays} {erase} --format json 2>/dev/null"
    );
    let findings: Value = serde_json::from_str(&out(machine, &run)).expect("findings");
    let verdicts: Vec<&str> =
        findings["verdicts"].as_array().expect("verdicts").iter().filter_map(|v| v.as_str()).collect();
    let [raid1, linear] = verdicts[..] else { panic!("{findings}") };
    assert!(raid1.starts_with("raid1 survived 1 pull of one drive"), "{raid1}");
    assert!(linear.contains("files were not whole"), "{linear}");
    assert!(linear.contains("(1 of 1), no file and no synced writes"), "{linear}");
    let tables = findings["tables"].as_array().expect("tables");
    let cell = |at: usize, column: &str| {
        let columns = tables[at]["columns"].as_array().expect("columns");
        let column = columns.iter().position(|c| c["name"] == column).expect("a column");
        tables[at]["rows"][0][column].as_str().expect("a cell").to_owned()
    };
    // Both layouts; raid1: away, back; then linear.
    assert_eq!((cell(0, "layout"), cell(0, "lost writes")), ("raid1".to_owned(), "none".to_owned()));
    assert_eq!((cell(1, "wrong"), cell(1, "synced writes")), ("0".to_owned(), "all".to_owned()));
    assert!(cell(1, "failed").starts_with("0 of "), "{tables:?}");
    assert_eq!((cell(2, "taken back"), cell(2, "sectors differ")), ("re-added".to_owned(), "0".to_owned()));
    ok(clean(machine, &[0, 1], "pull"));
}

#[test]
fn a_kill_during_a_share_and_a_power_cut_during_a_write_lose_nothing() {
    let mut machine = shares::machine();
    shares::killed_while_it_serves(&machine, "share --rate 2Mb --size 2MiB --files 4 --runs 3 /mnt/a");
    assert!(shares::left(&machine).contains(".drivebench"), "the kill came too late");
    out(&machine, "drivebench cleanup");
    assert_eq!(shares::left(&machine), "");

    // What was acknowledged before a power cut is there after it.
    let store = "--store /mnt/b/store";
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    ok(soak::cut_once(&mut machine, "/mnt/a", store, |_| Ok(()), &mut random));
}
