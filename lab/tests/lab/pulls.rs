//! `drivebench run pull --pull` on an array that other programs built and use.

use drivebench_lab::{
    Machine,
    pools::{self, serial},
};

use super::{LIMIT, out, scenario, start};

/// The exit code of `drivebench run pull`, and all that it printed.
fn pull(machine: &Machine, args: &str) -> (i32, String) {
    let command = format!("drivebench run pull {args} 2>&1");
    let output = machine.run(&["sh", "-c", &command], LIMIT).unwrap_or_else(|e| panic!("{e}"));
    let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    (output.code, text)
}

/// The verdict, and the cells of the first row of a table.
fn pulled(machine: &Machine, i: usize) -> (String, Vec<Vec<String>>) {
    let run = format!(
        "drivebench run pull --pull {} --size 96MiB --runtime 4s /mnt/pool --format json 2>/work/said || {{ cat /work/said >&2; false; }}",
        serial(machine, i)
    );
    let findings: serde_json::Value = serde_json::from_str(&out(machine, &run)).expect("findings");
    let row = |table: &serde_json::Value| {
        let cells = table["rows"][0].as_array().into_iter().flatten().filter_map(|cell| cell.as_str());
        cells.map(str::to_owned).collect::<Vec<_>>()
    };
    let tables = findings["tables"].as_array().expect("tables").iter().map(row).collect();
    (findings["verdicts"][0].as_str().expect("a verdict").to_owned(), tables)
}

#[test]
fn a_drive_of_an_array_in_use_is_pulled_and_no_file_is_changed() {
    let machine = start(&scenario("pools"));
    pools::prepare(&machine).unwrap_or_else(|e| panic!("{e}"));
    let drives = out(
        &machine,
        &format!(
            "lab-device {}",
            (0..3).map(|i| serial(&machine, i)).collect::<Vec<_>>().join("; lab-device ")
        ),
    );
    let drives = drives.split_whitespace().collect::<Vec<_>>().join(" ");
    // Another program writes a line each second.
    out(
        &machine,
        &format!(
            "mdadm --create /dev/md/nas --run --level=5 --raid-devices=3 --size=65536 --bitmap=internal {drives} && mdadm --wait /dev/md/nas; \
             mkfs.ext4 -q /dev/md/nas && mount /dev/md/nas /mnt/pool && mkdir /mnt/pool/files && \
             for i in $(seq 30); do head -c 1000000 /dev/urandom >/mnt/pool/files/$i; done; \
             cd /mnt/pool/files && sha256sum * >/work/sums && sync && cd / && \
             (while sleep 1; do date >>/mnt/pool/log; sync; done >/dev/null 2>&1 & echo $! >/work/writer) && sleep 5"
        ),
    );
    let list = || out(&machine, "cd /mnt/pool && find . -type f | sort");
    let same = || {
        drop(out(
            &machine,
            "echo 3 >/proc/sys/vm/drop_caches; cd /mnt/pool/files && sha256sum -cs /work/sums",
        ))
    };
    let before = list();
    let (code, text) = pull(&machine, "--pull NOPE /mnt/pool");
    assert!(
        code == 2 && text.contains("has the serial NOPE; its drives: 4C530001010222107401"),
        "{code}: {text}"
    );
    let (code, text) = pull(&machine, "/mnt/pool");
    assert!(code == 2 && text.contains("drivebench run pull --pull SERIAL /mnt/pool"), "{code}: {text}");
    let (code, text) =
        pull(&machine, &format!("--pull {} /mnt/pool --store /mnt/pool/store", serial(&machine, 1)));
    assert!(code == 2 && text.contains("name another one with --store DIR"), "{code}: {text}");
    out(&machine, "[ ! -e /mnt/pool/store ]");
    let (code, text) = pull(&machine, &format!("--plan --pull {} /mnt/pool", serial(&machine, 1)));
    assert!(
        code == 0 && text.contains("of a pool in use") && text.contains("It has a bitmap"),
        "{code}: {text}"
    );

    let (verdict, tables) = pulled(&machine, 1);
    assert!(verdict.starts_with("raid5 of 3 drives in use survived 1 pull of one drive"), "{verdict}");
    assert!(verdict.contains("--re-add") && verdict.contains("30 files"), "{verdict}");
    assert_eq!(
        (&tables[0][1][..], &tables[1][1][..], &tables[1][3][..]),
        ("30 of 30", "re-added", "30 of 30"),
        "{tables:?}"
    );
    assert_eq!(list(), before);
    same();
    let detail = out(&machine, "mdadm --detail /dev/md/nas");
    assert!(detail.contains("Active Devices : 3") && detail.contains("Failed Devices : 0"), "{detail}");

    // A run of another user, who has other locks, finds all drives there, but takes none away. Killed while the drive is away: the next
    // cleanup brings it back.
    let killed = format!(
        "rm /run/drivebench-md*.lock; d=$(lab-device {0}); \
         drivebench run pull --pull {0} --size 96MiB --runtime 30s /mnt/pool >/work/said 2>&1 & \
         while [ ! -e /run/drivebench-md*.lock ]; do sleep 0.2; done; \
         SUDO_UID=1000 drivebench run pull --pull {1} --store /work/other /mnt/pool 2>&1 && echo was taken; \
         while [ -e $d ]; do sleep 0.2; done; kill -9 $!; wait $!; true",
        serial(&machine, 2),
        serial(&machine, 1)
    );
    let other = out(&machine, &killed).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        other.contains("is taken away: another drivebench has locked") && !other.contains("was taken"),
        "{other}"
    );
    let cleaned = out(&machine, "drivebench cleanup");
    assert!(
        cleaned.contains("Brought back the drive at /sys/") && cleaned.contains("drivebench list"),
        "{cleaned}"
    );
    let (code, text) = pull(&machine, &format!("--pull {} /mnt/pool", serial(&machine, 1)));
    assert!(code == 2 && text.contains("degraded: 1 of 3 drives missing"), "{code}: {text}");
    out(
        &machine,
        &format!(
            "udevadm settle; mdadm /dev/md/nas --re-add $(lab-device {}); mdadm --wait /dev/md/nas; true",
            serial(&machine, 2)
        ),
    );
    same();

    // Without a bitmap, all of it is filled.
    out(&machine, "mdadm --grow /dev/md/nas --bitmap=none");
    let (verdict, tables) = pulled(&machine, 0);
    assert!(verdict.starts_with("raid5 of 3 drives in use survived 1 pull of one drive"), "{verdict}");
    assert_eq!(tables[1][1], "added", "{verdict}: {tables:?}");
    assert_eq!(list(), before);
    same();

    // Another drive leaves while one is away: nothing is given to the array, and mdadm puts it together.
    let lost = format!(
        "kill $(cat /work/writer); d=$(lab-device {0}); o=$(lab-device {1}); \
         u=$(readlink -f /sys/block/${{o##*/}}/device/../../../..)/authorized; \
         drivebench run pull --pull {0} --size 96MiB --runtime 4s /mnt/pool >/work/said 2>&1 & \
         while [ -e $d ]; do sleep 0.1; done; echo 0 >$u; wait $! && echo all is well; echo 1 >$u; lab-device {1} >/dev/null; cat /work/said",
        serial(&machine, 2),
        serial(&machine, 1)
    );
    let lost = out(&machine, &lost).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(lost.contains("meanwhile nas (md127) lost ") && !lost.contains("all is well"), "{lost}");
    // It has the superblock that it had, and is in no array.
    let untouched = format!(
        "d=$(lab-device {}); mdadm --examine $d | grep 'Array State : AAA' && ! grep \"${{d##*/}}\\[\" /proc/mdstat",
        serial(&machine, 2)
    );
    out(&machine, &untouched);
    assert!(
        lost.contains("`drivebench list` says whether nas (md127) is complete") && !lost.contains(" --add "),
        "{lost}"
    );
    let commands = "mdadm --stop /dev/md127; mdadm --assemble --force --run --readonly /dev/md127";
    let put_together = format!(
        "o=$(for d in {}; do echo $(mdadm --examine $d | awk '/Events/ {{ print $3 }}') $d; done | sort -rn | head -n 2 | cut -d ' ' -f 2); \
         umount /mnt/pool; for i in $(seq 40); do {{ {commands} $o; }} && break; sleep 0.5; done; mount -o ro,noload /dev/md127 /mnt/pool",
        (0..3).map(|i| format!("$(lab-device {})", serial(&machine, i))).collect::<Vec<_>>().join(" ")
    );
    out(&machine, &put_together);
    same();
    out(&machine, "umount /mnt/pool; mdadm --readwrite /dev/md127; mount /dev/md127 /mnt/pool");
    same();
    let give = |how: &str, i: usize| {
        format!(
            "mdadm /dev/md127 {how} $(lab-device {}) && {{ mdadm --wait /dev/md127; true; }}",
            serial(&machine, i)
        )
    };
    // What was left out is filled as a new one.
    out(&machine, &format!("mdadm --zero-superblock $(lab-device {})", serial(&machine, 2)));
    out(&machine, &give("--add", 2));
    assert!(out(&machine, "cat /proc/mdstat").contains("[UUU]"));

    // Another drive leaves once the one that was away has its data again: the array goes on, and the current members stay in it.
    // Reading these files takes long enough for that.
    let more = "for i in $(seq 300); do head -c 150000 /dev/zero >/mnt/pool/more-$i; done; sync; sleep 5";
    out(&machine, &format!("mdadm --grow /dev/md127 --bitmap=internal; {more}"));
    let lost = format!(
        "d=$(lab-device {0}); o=$(lab-device {1}); u=$(readlink -f /sys/block/${{o##*/}}/device/../../../..)/authorized; \
         drivebench run pull --pull {0} --size 96MiB --runtime 12s /mnt/pool >/work/said 2>&1 & \
         while [ -e $d ]; do sleep 0.1; done; while grep -q '[[]UUU[]]' /proc/mdstat; do sleep 0.1; done; \
         while ! grep -q '[[]UUU[]]' /proc/mdstat; do sleep 0.1; done; echo 0 >$u; date >/mnt/pool/files/late; sync; \
         wait $! && echo all is well; (cd /mnt/pool/files && sha256sum late >>/work/sums); echo 1 >$u; lab-device {1} >/dev/null; cat /work/said",
        serial(&machine, 2),
        serial(&machine, 1)
    );
    let lost = out(&machine, &lost).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(lost.contains("meanwhile nas (md127) lost ") && !lost.contains("all is well"), "{lost}");
    let commands = "mdadm /dev/md127 --fail detached --remove failed";
    out(&machine, &format!("{commands}; {}", give("--re-add", 1)));
    assert!(out(&machine, "cat /proc/mdstat").contains("[UUU]"));
    same();
}
