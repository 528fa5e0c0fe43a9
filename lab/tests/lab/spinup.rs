//! `drivebench run spinup` in a machine of the lab, compared with the disk's ledger.

use drivebench_modelled::sim::Cause;

use super::{LIMIT, estimate, findings, scenario, start};

#[test]
fn the_spin_up_time_matches_the_ledger() {
    let mut scenario = scenario("sleepy-disk");
    let model = &mut scenario.drives[0].model;
    // QEMU's disk accepts hdparm -y but stays awake; the model's own timer puts it into standby.
    model.standby.as_mut().expect("it sleeps").after_seconds = 4.0;
    let machine = start(&scenario);
    let found = findings(&machine, "spinup /dev/sda --runs 3 --pause 2s --max-bytes 16MiB");
    let entries = machine.ledger(0).expect("a ledger");
    let wakes = entries.iter().filter(|e| e.cause == Cause::Wake);
    let mut wakes: Vec<f64> = wakes.map(|e| (e.end_ns - e.start_ns) as f64 / 1e9).collect();
    assert!(wakes.len() >= 3, "{} wakings", wakes.len());
    wakes.sort_by(f64::total_cmp);
    let direct = estimate(&found, "spin-up time").value;
    println!("{direct:.3} s by the first read; the disk took {wakes:?}");
    assert!((direct - wakes[wakes.len() / 2]).abs() < 0.2, "{direct} s, not {wakes:?}");
    assert!((direct - 3.5).abs() < 0.2, "{direct} s, not 3.5");

    // Reads of a mounted filesystem may come from memory.
    let mounted = machine.run(&["drivebench", "run", "spinup", "/mnt/a"], LIMIT).expect("runs");
    let error = String::from_utf8_lossy(&mounted.stderr).replace('\n', " ");
    assert!(mounted.code != 0 && error.contains("may be read from memory"), "{error}");
}
