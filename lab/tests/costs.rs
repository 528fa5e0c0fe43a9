//! What transfers and files cost on modelled sticks, against the model and against really copying.
#![allow(clippy::disallowed_methods)]

use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use drivebench_lab::{Machine, Options, Scenario};

const LIMIT: Duration = Duration::from_secs(600);

/// One machine at a time: two cores carry no more.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(name: &str, speed: f64) -> Machine {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("scenarios/{name}.toml"));
    let scenario = Scenario::read(&path).expect("a scenario").faster(speed);
    Machine::start(&scenario, &Options::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// What a command prints, which takes its time.
fn out(machine: &Machine, command: &str) -> String {
    let output = machine.run(&["sh", "-c", command], LIMIT).unwrap_or_else(|e| panic!("{e}"));
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(output.code, 0, "{command}: {}{}", said(&output.stdout), said(&output.stderr));
    said(&output.stdout)
}

/// An estimate of a run's findings, by its name.
fn value(findings: &serde_json::Value, name: &str) -> f64 {
    let all = findings["estimates"].as_array().expect("estimates");
    let named = all.iter().find(|e| e["name"] == name).unwrap_or_else(|| panic!("no '{name}' in {all:#?}"));
    named["estimate"]["value"].as_f64().expect("a number")
}

#[test]
fn sizes_finds_the_knee_of_the_model() {
    let _turn = turn();
    // A quarter of the speed: what the model says an operation costs is then more than what the emulation takes.
    let machine = start("pi-zero", 0.25);
    let model = &machine.scenario().drives[1].model;
    let (cost, write, read) = (model.operation_seconds, model.write[0].rate, model.read[0].rate);
    let json = out(&machine, "drivebench run sizes --largest 64k --max-bytes 192k --format json /mnt/b");
    let findings = serde_json::from_str(&json).expect("JSON");
    for (way, rate) in [("write direct", write), ("read direct", read)] {
        let knee = value(&findings, &format!("{way} knee"));
        let ratio = knee / (cost * rate);
        println!("{way}: knee {knee:.0} B, the model's {:.0} B", cost * rate);
        assert!((0.5..2.0).contains(&ratio), "{way}: {knee} B, not {} B", cost * rate);
    }
}

#[test]
fn smallfiles_predicts_what_copying_takes() {
    let _turn = turn();
    let machine = start("two-sticks", 1.0);
    let run = "drivebench run smallfiles --max-bytes 16M --files 200 --size 100k --format json /mnt/a";
    let findings = serde_json::from_str(&out(&machine, run)).expect("JSON");
    let predicted = value(&findings, "write 200 files of 100 KiB, predicted");
    assert_eq!(out(&machine, "ls -A /mnt/a"), "lost+found\n");
    let mix = "mkdir /work/mix && cd /work/mix && for i in $(seq 200); do dd if=/dev/urandom of=$i bs=100k count=1 2>/dev/null; done";
    out(&machine, mix);
    let copy = "rm -rf /mnt/a/mix; sync; s=$(cut -d' ' -f1 /proc/uptime); cp -r /work/mix /mnt/a/ && sync; \
                e=$(cut -d' ' -f1 /proc/uptime); echo \"$s $e\"";
    let mut seconds: Vec<f64> = (0..5)
        .map(|_| {
            let text = out(&machine, copy);
            let times: Vec<f64> = text.split_whitespace().map(|t| t.parse().expect("seconds")).collect();
            times[1] - times[0]
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    println!("predicted {predicted:.2} s, copied in {seconds:?} s");
    assert!((predicted / seconds[2] - 1.0).abs() < 0.1, "predicted {predicted} s, copied in {seconds:?} s");
}
