//! `drivebench run share` in a machine of the lab, whose drives are modelled: the part that limits is named, and nothing is left of it.

use drivebench::findings::Findings;
use drivebench_lab::Machine;

use super::{beside, findings, out, scenario, start};

/// A few seconds for each way, with the clients' first transfers of any size.
const SMALL: &str = "--size 2MiB --files 10 --clients 1 --runs 3";

fn verdict<'a>(found: &'a Findings, errand: &str) -> &'a str {
    found.verdicts.iter().find(|v| v.starts_with(errand)).unwrap_or_else(|| panic!("{found:#?}"))
}

fn nothing_is_left(machine: &Machine) {
    let left = out(
        machine,
        "ls -A /mnt/a | grep drivebench; pidof smbd smbclient; ip -o link | grep -v ' lo:' | grep veth; true",
    );
    assert_eq!(left, "", "a directory, a process or a device");
}

#[test]
fn the_slower_of_drive_and_link_limits_a_client() {
    let _turn = beside();
    // Writes 2.1 MB/s.
    let machine = start(&scenario("two-sticks").faster(0.4));
    // The guest's kernel does not find modules by itself.
    out(&machine, "for m in veth sch_tbf; do busybox modprobe $m; done");
    let free = findings(&machine, &format!("share {SMALL} /mnt/a"));
    assert!(verdict(&free, "put 2.10 MB").contains("The drive limits"), "{:#?}", free.verdicts);
    let slow = findings(&machine, &format!("share --rate 4Mb {SMALL} /mnt/a"));
    for errand in ["put 2.10 MB", "get 2.10 MB"] {
        assert!(verdict(&slow, errand).contains("The link limits"), "{:#?}", slow.verdicts);
    }
    eprintln!("{:#?}\n{:#?}", free.verdicts, slow.verdicts);
    nothing_is_left(&machine);
}
