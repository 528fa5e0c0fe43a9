//! `drivebench run accept` on four sticks of one model, interrupted twice: the bad, the slow and the swapped are named.

use drivebench::{
    findings::{Findings, Quantity},
    units::RunStatus,
};
use drivebench_lab::Machine;

use super::{LIMIT, out, scenario, start};

const STORE: &str = "/mnt/store/drivebench";
const ERASE: &str = "--erase ACCE0001 --erase ACCE0002 --erase ACCE0003 --erase ACCE0004";
const BAYS: &str = "bay:1 bay:2 bay:3 bay:4";
const BLOCK: u64 = 4096;

/// Starts or resumes a run, and interrupts it once its record has so many results of acts; returns the name of the run.
fn interrupted(machine: &Machine, what: &str, results: usize) -> String {
    let run = format!("exec drivebench --store {STORE} run accept {what} {ERASE} >/work/said 2>&1");
    let running = machine.begin(&["sh", "-c", &run]).expect("starts");
    out(
        machine,
        &format!(
            "while [ \"$(cat {STORE}/*.jsonl 2>/dev/null | grep -c '\"event\":\"act\"')\" -lt {results} ]; do \
             pidof drivebench >/dev/null || {{ cat /work/said; exit 1; }}; usleep 250000; done"
        ),
    );
    running.signal(2).expect("is there");
    let code = running.wait(LIMIT).expect("ends").code;
    assert_eq!(code, 130, "{}", out(machine, "cat /work/said"));
    out(machine, &format!("basename {STORE}/*.jsonl .jsonl")).trim().to_owned()
}

fn verdict<'a>(found: &'a Findings, bay: &str) -> &'a str {
    let begin = format!("bay:{bay}: ");
    found.verdicts.iter().find_map(|verdict| verdict.strip_prefix(&begin)).expect("a verdict")
}

/// Exchanges two blocks of a drive.
fn swap(machine: &Machine, serial: &str, a: u64, b: u64) {
    let dd = |from: &str, to: &str| format!("dd {from} {to} bs={BLOCK} count=1 conv=fsync 2>/dev/null");
    let [read_a, read_b] =
        [(a, "a"), (b, "b")].map(|(at, file)| dd(&format!("if=$d skip={at}"), &format!("of=/tmp/{file}")));
    let [write_a, write_b] =
        [(a, "b"), (b, "a")].map(|(at, file)| dd(&format!("if=/tmp/{file}"), &format!("of=$d seek={at}")));
    out(
        machine,
        &format!(
            "d=$(lab-device {serial}); {read_a}; {read_b}; {write_a}; {write_b}; sync; echo 3 >/proc/sys/vm/drop_caches"
        ),
    );
}

#[test]
fn a_lot_of_four_is_interrupted_twice_and_each_bad_stick_is_named() {
    let machine = start(&scenario("accept"));
    let parts = 1_000_000 * 512 / (64 << 20);
    let plan = out(&machine, &format!("drivebench --store {STORE} run accept {BAYS} --plan"));
    println!("{plan}");
    // After a few parts that are written.
    let since = std::time::Instant::now();
    let name = interrupted(&machine, BAYS, 4 * 5);
    println!("interrupted after {:.0} s", since.elapsed().as_secs_f64());
    // After all are written, and one is verified.
    let again = interrupted(&machine, &format!("--resume {name}"), 4 * parts + 4 + 4);
    assert_eq!(again, name);
    println!("interrupted after {:.0} s", since.elapsed().as_secs_f64());
    let last = 1_000_000 * 512 / BLOCK;
    swap(&machine, "ACCE0004", last - 20_000, last - 7);
    let resumed = format!("drivebench --store {STORE} run accept --resume {name} {ERASE} --format json");
    let text = out(&machine, &resumed);
    let found: Findings = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    println!("ended after {:.0} s\n{}", since.elapsed().as_secs_f64(), found.verdicts.join("\n"));
    println!("{}", out(&machine, &format!("drivebench --store {STORE} show {name}")));
    assert_eq!(found.origin.ended, RunStatus::Finished);
    assert!(verdict(&found, "1").starts_with("ACCEPT"));
    assert!(verdict(&found, "2").starts_with("REJECT: 40 blocks with errors"));
    // Whether writes, reads or both show it depends on what the host leaves of the others' speed.
    assert!(verdict(&found, "3").starts_with("REJECT: unlike 3 others of its model, it"));
    let moved = format!(": block {} holds what was written to block {}", last - 20_000, last - 7);
    assert!(verdict(&found, "4").starts_with("REJECT: 2 blocks with other content"));
    assert!(verdict(&found, "4").contains(&moved), "{}", verdict(&found, "4"));
    let unfit: Vec<&str> = found.fitness.iter().map(|f| f.target.as_str()).collect();
    assert_eq!(unfit, ["bay:2", "bay:4"]);
    let sizes = found.estimates.iter().filter(|m| m.quantity == Quantity::RealSize);
    let bad: Vec<f64> = sizes.map(|m| last as f64 - m.estimate.value / BLOCK as f64).collect();
    assert_eq!(bad, [0.0, 40.0, 0.0, 2.0]);
}

#[test]
fn a_stick_that_is_pulled_does_not_end_the_test_of_the_others() {
    let mut machine = start(&scenario("accept"));
    let run = format!(
        "exec drivebench --store {STORE} run accept {BAYS} {ERASE} --format json >/work/found 2>/work/said"
    );
    let running = machine.begin(&["sh", "-c", &run]).expect("starts");
    out(
        &machine,
        &format!(
            "until [ \"$(cat {STORE}/*.jsonl 2>/dev/null | grep -c '\"event\":\"act\"')\" -ge 16 ]; do usleep 250000; done"
        ),
    );
    super::ok(machine.pull(3));
    assert_eq!(running.wait(LIMIT).expect("ends").code, 0, "{}", out(&machine, "cat /work/said"));
    let text = out(&machine, "cat /work/found");
    let found: Findings = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    println!("{}\n{}", out(&machine, "cat /work/said"), found.verdicts.join("\n"));
    assert!(verdict(&found, "1").starts_with("ACCEPT"));
    assert!(verdict(&found, "2").starts_with("REJECT: 40 blocks with errors"));
    assert!(
        verdict(&found, "3").starts_with("REJECT: unlike 3 others"),
        "the third was there as far as it counts"
    );
    assert!(verdict(&found, "4").starts_with("UNDECIDED: the drive disappeared in part"));
}
