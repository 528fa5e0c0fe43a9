//! `drivebench check` on a stick that becomes slower between two checks, by hand and by its timer, and on a disk that sleeps.

use drivebench_lab::{Guest, Machine, Scenario};
use serde_json::Value;

use super::{ok, out, scenario, start};

const STICK: &str = "07B20C03C80830A9";

/// Hands what changed to a file.
const TELLS: &str = "--on-change 'cat >>/work/told'";

/// The first decision of a check.
fn check(machine: &Machine, what: &str) -> Value {
    let text = out(machine, &format!("drivebench check {what} --format json || [ $? = 1 ]"));
    println!("{text}");
    let document: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    document["drives"][0]["decisions"][0].clone()
}

#[test]
fn a_stick_that_becomes_slower_is_told_once() {
    let mut machine = start(&Scenario { guest: Guest::Systemd, ..scenario("two-sticks") });
    let stick = format!("$(lab-device {STICK}) {TELLS}");
    let decision = |machine: &Machine| check(machine, &stick)["decision"].as_str().expect("one").to_owned();
    assert_eq!([0; 3].map(|_| decision(&machine)), ["first", "fine", "fine"]);
    // 20 % less than the stick reads.
    ok(machine.limit(0, Some(12_000_000)));
    assert_eq!([0; 2].map(|_| decision(&machine)), ["unknown", "unknown"]);

    // The timer checks once a day; here without its random delay, which begins anew whenever the clock is set.
    const AT_ONCE: &str = "/etc/systemd/system/drivebench-check.timer.d";
    out(
        &machine,
        &format!("mkdir {AT_ONCE}; printf '[Timer]\\nRandomizedDelaySec=0\\n' >{AT_ONCE}/test.conf"),
    );
    out(&machine, &format!("drivebench check --install daily --yes-install {TELLS}"));
    let day = || {
        let next = "ended() { systemctl show -P ExecMainExitTimestampMonotonic drivebench-check.service; }; before=$(ended); \
            date -s \"@$(($(date +%s) / 86400 * 86400 + 86400 + 18000))\"; until [ \"$(ended)\" != \"$before\" ]; do sleep 1; done; \
            systemctl show -P Result drivebench-check.service";
        assert!(out(&machine, next).ends_with("success\n"));
    };
    // Usually the first check tells; a busy host needs more.
    let told = || out(&machine, "if [ -e /work/told ]; then cat /work/told; fi");
    let is_told = (0..10).any(|_| {
        day();
        !told().is_empty()
    });
    assert!(is_told, "nothing was told in ten days");
    day();
    let told = told();
    let told = serde_json::Deserializer::from_str(&told).into_iter::<Value>();
    let drives = told.flat_map(|one| one.expect("JSON")["drives"].as_array().expect("drives").clone());
    let of_stick: Vec<Value> = drives
        .filter(|drive| drive["changed"] == true && drive["identity"].to_string().contains(STICK))
        .collect();
    let decisions: Vec<&Value> = of_stick.iter().map(|drive| &drive["decisions"][0]["decision"]).collect();
    assert_eq!(decisions, ["slower"], "{of_stick:#?}");

    let slower = check(&machine, &format!("$(lab-device {STICK})"));
    assert_eq!(slower["decision"], "slower");
    let ratio = slower["change"]["ratio"]["value"].as_f64().expect("a ratio");
    assert!((0.75..0.87).contains(&ratio), "{slower}");

    out(&machine, &format!("drivebench check --remove; rm -r {AT_ONCE}"));
    assert_eq!(out(&machine, "ls /etc/systemd/system | grep drivebench; true"), "");
}

/// QEMU's disk always reports that it is awake, so a script that reports a sleeping disk stands in for hdparm.
#[test]
fn a_sleeping_disk_is_not_woken() {
    let machine = start(&scenario("sleepy-disk"));
    let operations = || ok(machine.ledger(0)).len();
    out(
        &machine,
        "umount /mnt/a && printf '#!/bin/sh\\necho\\necho /dev/sda:\\necho \" drive state is:  standby\"\\n' >/work/hdparm && \
         chmod +x /work/hdparm && mount --bind /work/hdparm $(command -v hdparm)",
    );
    let before = operations();
    assert_eq!(check(&machine, "/dev/sda")["why"]["reason"], "asleep");
    assert_eq!(operations(), before, "it was read");

    out(&machine, "umount $(command -v hdparm)");
    assert_eq!(check(&machine, "/dev/sda")["decision"], "first");
    assert!(operations() > before);
}
