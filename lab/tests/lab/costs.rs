//! Costs of transfers and files on modelled sticks, compared with the model and with real copies.

use drivebench_lab::{ledger::Kind, machine::Machine};

use super::{estimate, findings, out, scenario, start, start_unhurried};

#[test]
fn sizes_finds_the_knee_of_the_model() {
    // So slow that the modelled cost of an operation is far larger than the emulation time, also on a busy host.
    let machine = start(&scenario("pi-zero").faster(0.01));
    let model = &machine.scenario().drives[1].model;
    let (cost, write, read) = (model.operation_seconds, model.write[0].rate, model.read[0].rate);
    let found = findings(&machine, "sizes --largest 64k --max-bytes 6M /mnt/b");
    for (way, rate) in [("write direct", write), ("read direct", read)] {
        let knee = estimate(&found, &format!("{way} knee")).value;
        let ratio = knee / (cost * rate);
        println!("{way}: knee {knee:.0} B, the model's {:.0} B", cost * rate);
        assert!((0.5..2.0).contains(&ratio), "{way}: {knee} B, not {} B", cost * rate);
    }
    a_time_limit_holds_for_the_process(&machine);
}

/// The kernel keeps a process until an fsync that one of its threads waits in has ended.
fn a_time_limit_holds_for_the_process(machine: &Machine) {
    const LIMIT: f64 = 4.0;
    let rate = machine.scenario().drives[0].model.write[0].rate;
    let before = machine.ledger(0).expect("a ledger").len();
    out(machine, &format!("drivebench run pagecache --max-time {LIMIT}s /mnt/a"));
    let entries = machine.ledger(0).expect("a ledger").split_off(before);
    let written: u64 = entries.iter().filter(|e| e.kind == Kind::Write).map(|e| e.length).sum();
    let seconds = written as f64 / rate;
    // All that was written through the page cache would take more than a minute.
    assert!(seconds > 0.0 && seconds < 2.5 * LIMIT, "{seconds} s of writing with --max-time {LIMIT} s");
}

#[test]
fn smallfiles_predicts_the_time_of_a_copy() {
    let machine = start_unhurried(&scenario("two-sticks"));
    let found = findings(&machine, "smallfiles --max-bytes 8M --files 100 --size 100k /mnt/a");
    let predicted = estimate(&found, "write 100 files of 100 KiB, predicted").value;
    assert_eq!(out(&machine, "ls -A /mnt/a"), "lost+found\n");
    let mix = "mkdir /work/mix && cd /work/mix && for i in $(seq 100); do dd if=/dev/urandom of=$i bs=100k count=1 2>/dev/null; done";
    out(&machine, mix);
    let copy = "rm -rf /mnt/a/mix; sync; s=$(cut -d' ' -f1 /proc/uptime); cp -r /work/mix /mnt/a/ && sync; \
                e=$(cut -d' ' -f1 /proc/uptime); echo \"$s $e\"";
    let mut seconds: Vec<f64> = (0..4)
        .map(|_| {
            let text = out(&machine, copy);
            let times: Vec<f64> = text.split_whitespace().map(|t| t.parse().expect("seconds")).collect();
            times[1] - times[0]
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    println!("predicted {predicted:.2} s, copied in {seconds:?} s");
    // A busy host only adds to copies: the second fastest has least of that.
    assert!((predicted / seconds[1] - 1.0).abs() < 0.1, "predicted {predicted} s, copied in {seconds:?} s");
}

#[test]
fn pagecache_separates_memory_from_the_drive() {
    let machine = start(&scenario("two-sticks").faster(0.3));
    let found = findings(&machine, "pagecache --runs 2 --max-bytes 8M /mnt/a");
    let entries = machine.ledger(0).expect("a ledger");
    for (kind, ways) in
        [(Kind::Write, ["write fsync", "write direct"]), (Kind::Read, ["read cold", "read direct"])]
    {
        let data = entries.iter().filter(|e| e.kind == kind && e.length >= 65_536);
        let (bytes, ns) = data.fold((0, 0), |(bytes, ns), e| (bytes + e.length, ns + e.end_ns - e.start_ns));
        let truth = bytes as f64 / (ns as f64 / 1e9);
        for way in ways {
            let measured = estimate(&found, &format!("{way} throughput")).value;
            println!("{way}: {measured:.0} B/s, by the ledger {truth:.0}");
            assert!((measured / truth - 1.0).abs() < 0.15, "{way}: {measured} is not {truth}");
        }
    }
    for naive in ["write cached", "read warm"] {
        let times = estimate(&found, &format!("{naive} as a multiple of the drive's")).value;
        println!("{naive}: {times:.1} times the drive's");
        assert!(times > 3.0, "{naive}: {times}");
    }
}
