//! Tests of machines: inventory, commands, pulls and power cuts.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use drivebench_lab::{Options, soak};

use super::{LIMIT, scenario, start};

#[test]
fn sticks_that_are_pulled_during_reads_come_back() {
    let mut machine = start(&scenario("pi-zero"));
    let summary = soak::pulls(&mut machine, 4, 1);
    assert!(summary.rounds == 4 && summary.failures.is_empty(), "{}", summary.describe("pulls"));
}

#[test]
fn commands_return_exit_codes_and_hanging_ones_end_at_the_limit() {
    let machine = start(&scenario("two-sticks"));
    let output = machine.run(&["sh", "-c", "echo out; echo err >&2; exit 7"], LIMIT).unwrap();
    assert_eq!(
        (output.code, output.stdout.as_slice(), output.stderr.as_slice()),
        (7, &b"out\n"[..], &b"err\n"[..])
    );
    let killed = machine.run(&["sh", "-c", "kill -9 $$"], LIMIT).unwrap();
    assert_eq!(killed.code, 128 + 9);
    let missing = machine.run(&["no-such-program"], LIMIT).unwrap_err().to_string();
    assert!(missing.contains("no-such-program") && missing.contains("No such file"), "{missing}");
    let late = machine.run(&["sleep", "1000"], Duration::from_secs(1)).unwrap_err().to_string();
    assert!(late.contains("two-sticks: sleep 1000: no answer within 1s"), "{late}");

    let directory = tempfile::tempdir().unwrap();
    let (there, back) = (directory.path().join("there"), directory.path().join("back"));
    let content: Vec<u8> = (0..1_000_003_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    fs::write(&there, &content).unwrap();
    machine.put(&there, "/work/a file").unwrap();
    machine.get("/work", &back).unwrap();
    assert!(fs::read(back.join("a file")).unwrap() == content);
}

#[test]
fn power_cuts_lose_no_record_and_leave_no_files() {
    let mut machine = start(&scenario("two-sticks").faster(2.0));
    let summary = soak::power_cuts(&mut machine, 2, 1);
    assert!(summary.rounds == 2 && summary.failures.is_empty(), "{}", summary.describe("power cuts"));
}

#[test]
fn reported_figures_match_the_drive_ledger() {
    let keep = tempfile::tempdir().unwrap();
    let summary = soak::random_drives(&Options::default(), 1, 1, keep.path());
    assert!(summary.failures.is_empty(), "{}", summary.describe("random drives"));
    assert_eq!(summary.figures.len(), 1);
}

#[test]
fn raspi3b_names_its_board_and_drives() {
    let machine = start(&scenario("raspi3b"));
    let list = machine.ask(&["drivebench", "list"]).unwrap();
    assert!(list.starts_with("Raspberry Pi 3 Model B"), "{list}");
    for drive in &machine.scenario().drives {
        let bay = format!("bay {} ", drive.bay);
        assert!(list.lines().any(|l| l.contains(&bay) && l.contains(&drive.serial)), "{list}");
    }
    assert_eq!(machine.ask(&["uname", "-m"]).unwrap().trim(), "aarch64");
}

#[test]
fn a_killed_lab_leaves_no_process_and_no_socket() {
    let mut lab = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(["run", "two-sticks", "--", "sh", "-c", "echo here; sleep 1000"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(lab.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "here\n");
    let state = format!("drivebench-lab-{}/{}-0", rustix::process::getuid().as_raw(), lab.id());
    let state = std::env::temp_dir().join(state);
    let sockets = || {
        let entries = fs::read_dir(&state).unwrap().map(|e| e.unwrap().path());
        entries.filter(|path| ["nbd", "qmp", "agent"].iter().any(|s| path.ends_with(s))).count()
    };
    assert!(state.is_dir() && sockets() == 0);
    let ours = |pid: &str| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(&state.display().to_string())
    };
    let running = || -> Vec<String> {
        let pids = fs::read_dir("/proc").unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        pids.filter(|pid| pid.parse::<u32>().is_ok() && ours(pid)).collect()
    };
    assert_eq!(running().len(), 2, "QEMU and nbdkit");
    lab.kill().unwrap();
    lab.wait().unwrap();
    let end = Instant::now() + LIMIT;
    while !running().is_empty() {
        assert!(Instant::now() < end, "{:?} live on", running());
        std::thread::yield_now();
    }
    drop(start(&scenario("two-sticks")));
    assert!(!state.exists(), "the next start removes it");
}
