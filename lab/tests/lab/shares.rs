//! `drivebench run share` in a machine of the lab, whose drives are modelled: the part that limits is named, and nothing is left of it.

use std::time::{Duration, Instant};

use drivebench::findings::{Findings, Scope};
use drivebench_lab::Machine;

use super::{LIMIT, beside, findings, out, scenario, start};

const SMALL: &str = "--size 2MiB --files 10";

/// Two sticks that write 2.1 MB/s.
fn machine() -> Machine {
    let machine = start(&scenario("two-sticks").faster(0.4));
    // The guest's kernel does not find modules by itself.
    out(&machine, "for m in veth sch_tbf; do busybox modprobe $m; done");
    machine
}

fn verdict<'a>(found: &'a Findings, errand: &str) -> &'a str {
    found.verdicts.iter().find(|v| v.starts_with(errand)).unwrap_or_else(|| panic!("{found:#?}"))
}

fn speed(found: &Findings, errand: &str, scope: Scope) -> f64 {
    let is = |m: &&drivebench::findings::Metric| {
        m.scope == scope && m.load.as_ref().is_some_and(|l| l.name.starts_with(errand))
    };
    let metric = found.estimates.iter().find(is);
    metric.unwrap_or_else(|| panic!("no {errand:?}, {scope:?} in {found:#?}")).estimate.value
}

/// Directories, processes and devices of a share.
fn left(machine: &Machine) -> String {
    out(
        machine,
        "find /mnt -name '.drivebench*'; pidof smbd smbclient; ip -o link | grep veth; grep drivebench /proc/mounts; true",
    )
}

#[test]
fn the_slower_of_drive_and_link_limits_a_client() {
    let _turn = beside();
    let machine = machine();
    let free = findings(&machine, &format!("share {SMALL} --clients 1 --runs 3 /mnt/a"));
    let slow = findings(&machine, &format!("share --rate 4Mb {SMALL} --clients 1 --runs 4 /mnt/a"));
    eprintln!("{:#?}\n{:#?}", free.verdicts, slow.verdicts);
    assert!(verdict(&free, "put 2.10 MB").contains("The drive limits"));
    for errand in ["put 2.10 MB", "get 2.10 MB"] {
        assert!(verdict(&slow, errand).contains("The link limits"));
        let client = speed(&slow, errand, Scope::Client);
        assert!((0.3e6..0.5e6).contains(&client), "4 Mb/s are 0.5 MB/s: {client}");
    }
    assert_eq!(left(&machine), "");
}

/// A name that would be a command, or a setting, if it got into one.
const ODD: &str = "/mnt/a/a b;c%S \"[drive]";

#[test]
fn clients_get_what_they_insist_on_and_nothing_is_left_of_a_run_that_ends_early() {
    let _turn = beside();
    let machine = machine();
    out(&machine, &format!("mkdir '{ODD}' /mnt/b/client"));
    let found = findings(
        &machine,
        &format!(
            "share {SMALL} --runs 1 --rate 40Mb --protection encrypt --client-dir /mnt/b/client '{ODD}'"
        ),
    );
    let context = found.context.join(" ");
    assert!(
        context.contains("SMB3") && context.contains("encryption AES") && context.contains("full"),
        "{context}"
    );
    for scope in [Scope::Client, Scope::WithoutProtection, Scope::WithoutClientDrive, Scope::WithoutAll] {
        for errand in ["put 2.10", "get 2.10", "put 524 kB by each", "get 524 kB by each", "get 10 files"] {
            assert!(speed(&found, errand, scope) > 0.0);
        }
    }
    // One run has no interval.
    assert!(found.verdicts.iter().all(|v| v.contains("can't be told")), "{:#?}", found.verdicts);
    assert_eq!(left(&machine), "");

    for signal in [2, 9] {
        let run = format!("exec drivebench run share --rate 2Mb {SMALL} --runs 3 /mnt/a 2>/work/said");
        let run = machine.begin(&["sh", "-c", &run]).expect("starts");
        let since = Instant::now();
        while out(&machine, "find /mnt/a/.drivebench* -name 0 -size +0 2>/dev/null; true").is_empty() {
            assert!(since.elapsed() < LIMIT, "nothing was put: {}", out(&machine, "cat /work/said"));
            std::thread::sleep(Duration::from_millis(200));
        }
        run.signal(signal).expect("is there");
        let ended = run.wait(LIMIT).expect("ends");
        assert_ne!(ended.code, 0);
        if signal == 9 {
            assert!(left(&machine).contains(".drivebench"), "the kill came too late");
            out(&machine, "drivebench cleanup");
        }
        assert_eq!(left(&machine), "", "after signal {signal}");
    }
}
