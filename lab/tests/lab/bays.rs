//! `drivebench run bays` in a machine of the lab: drives are moved by QMP as it requests.

use drivebench::{analyse::Estimate, findings::Findings};
use drivebench_lab::{Machine, ledger};
use drivebench_lab_agent::Kind;
use serde_json::Value;

use super::{LIMIT, out, scenario, start};

/// The block size: large enough that emulation time is negligible.
const BLOCK: u64 = 64 << 10;

/// Makes the requested moves that are not done yet: a request may be outdated when it is read.
fn obey(machine: &mut Machine, wanted: &Value, slow: Option<(&str, u64)>) {
    let drives = machine.scenario().drives.clone();
    let moves = wanted["moves"].as_array().expect("moves").iter().map(|m| {
        let identity = m["identity"].as_str().expect("an identity");
        let i = drives.iter().position(|d| identity.starts_with(&d.serial)).expect("a drive of the scenario");
        (i, m["to"].as_str().expect("a bay").to_owned())
    });
    let moves: Vec<(usize, String)> = moves.filter(|(i, to)| machine.bay(*i) != Some(to)).collect();
    for (i, _) in moves.iter().filter(|(i, _)| machine.bay(*i).is_some()).cloned().collect::<Vec<_>>() {
        machine.pull(i).unwrap_or_else(|e| panic!("{e}"));
    }
    for (i, to) in &moves {
        machine.plug(*i, to).unwrap_or_else(|e| panic!("{e}"));
        limit(machine, *i, slow);
    }
}

/// Limits the drive in the slow bay.
fn limit(machine: &mut Machine, i: usize, slow: Option<(&str, u64)>) {
    if let Some((bay, rate)) = slow {
        let rate = (machine.bay(i) == Some(bay)).then_some(rate);
        machine.limit(i, rate).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Runs the experiment and moves drives as requested; returns its findings and exit code. `until` is the arrangement before
/// which it gets SIGINT.
fn bays(
    machine: &mut Machine,
    what: &[&str],
    slow: Option<(&str, u64)>,
    until: Option<u64>,
) -> (Findings, i32) {
    let argv = [&["drivebench", "run", "bays", "--events"], what].concat();
    let running = machine.begin(&argv).unwrap_or_else(|e| panic!("{e}"));
    let (mut text, mut errors, mut findings) = (Vec::new(), Vec::new(), None);
    let code = running.follow(LIMIT, |kind, bytes| {
        let into = if kind == Kind::Stdout { &mut text } else { &mut errors };
        into.extend_from_slice(bytes);
        while let Some(end) = text.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).expect("JSON lines only");
            match event["event"].as_str() {
                Some("wanted") if event["number"].as_u64() == until => running.signal(2).expect("signals"),
                Some("wanted") => obey(machine, &event, slow),
                Some("findings") => findings = Some(event["findings"].clone()),
                _ => {}
            }
        }
    });
    let code = code.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&errors)));
    let findings =
        findings.unwrap_or_else(|| panic!("exit code {code}: {}", String::from_utf8_lossy(&errors)));
    (serde_json::from_value(findings).expect("findings"), code)
}

fn verdict(findings: &Findings) -> &str {
    findings.verdicts.first().expect("a verdict")
}

/// A finding of a target.
fn estimate<'a>(findings: &'a Findings, target: &str, name: &str) -> &'a Estimate {
    let found = findings.estimates.iter().find(|n| n.target == target && n.label() == name);
    &found.unwrap_or_else(|| panic!("no '{name}' of {target} in {findings:#?}")).estimate
}

/// The read speed of the drive since then, from its ledger.
fn truth(machine: &Machine, i: usize, since: u64) -> f64 {
    let entries = machine.ledger(i).unwrap_or_else(|e| panic!("{e}"));
    let mine =
        entries.iter().filter(|e| e.asked_ns >= since && e.length == BLOCK && e.kind == ledger::Kind::Read);
    let (bytes, ns) = mine.fold((0, 0), |(bytes, ns), e| (bytes + e.length, ns + e.end_ns - e.start_ns));
    assert!(bytes > 0, "nothing was read of drive {i}");
    bytes as f64 / (ns as f64 / 1e9)
}

/// Measures as `first` says, and again as `what` says where the host cut a measurement short, which is left out then, or was
/// too busy for a difference to be seen.
fn decided(machine: &mut Machine, first: &[&str], what: &[&str], slow: Option<(&str, u64)>) -> Findings {
    let mut with = first;
    for _ in 0..4 {
        let (findings, code) = bays(machine, with, slow, None);
        let cut = verdict(&findings).contains("arrangements measured");
        assert!(!cut || findings.flags.iter().any(|flag| flag.contains("left out")), "{findings:#?}");
        if !cut && !verdict(&findings).contains("no difference found") {
            assert_eq!(code, 0, "{findings:#?}");
            return findings;
        }
        with = what;
    }
    panic!("no difference was found in four runs");
}

#[test]
fn moves_are_followed_and_drives_are_distinguished_from_bays() {
    // Slower than the sticks are, so that what a busy host adds is small beside their differences.
    let mut machine = start(&scenario("pi-zero").faster(0.4));
    // Mounted drives must not be pulled.
    out(&machine, "umount /mnt/a /mnt/b /mnt/c /mnt/d");
    let serials: Vec<String> = machine.scenario().drives.iter().map(|d| d.serial.clone()).collect();
    let block = BLOCK.to_string();
    let mut what: Vec<&str> = serials.iter().map(String::as_str).collect();
    what.extend(["--bs", &block, "--max-bytes", "64MiB"]);
    let since = ledger::now_ns();
    let (stopped, code) = bays(&mut machine, &what, None, Some(3));
    assert_eq!(code, 130, "{stopped:#?}");
    assert!(verdict(&stopped).contains("2 of 4 arrangements measured"), "{}", verdict(&stopped));

    let run = stopped.run.clone();
    let findings = decided(&mut machine, &["--resume", &run], &what, None);
    println!("{}", verdict(&findings));
    // Equal bays pass a test at 5 % in 19 of 20 runs only; their share of the differences is small in all.
    let share = |of: &str| estimate(&findings, of, "read: share of the variance").value;
    assert!(share("drives") > 0.9 && share("bays") < 0.05, "{}", verdict(&findings));
    assert!(!verdict(&findings).contains("bay 1."), "no bay differs: {}", verdict(&findings));
    assert!(findings.modelled);
    for (i, serial) in serials.iter().enumerate() {
        let measured = estimate(&findings, serial, "read throughput").value;
        let truth = truth(&machine, i, since);
        println!("{serial}: {measured:.0} B/s, by its ledger {truth:.0}");
        assert!((measured / truth - 1.0).abs() < 0.1, "{serial}: {measured} is not {truth}");
    }

    // Now one bay is slower than all drives.
    let slow = Some(("1.3", 2_000_000));
    (0..serials.len()).for_each(|i| limit(&mut machine, i, slow));
    what.extend(["--seed", "2"]);
    let findings = decided(&mut machine, &what, &what, slow);
    println!("{}", verdict(&findings));
    let bay = &estimate(&findings, "bay 1.3", "read, as a multiple of the median");
    assert!(bay.high < 0.8, "{bay:?}");
    assert!(verdict(&findings).contains("bay 1.3 -"), "{}", verdict(&findings));
}
