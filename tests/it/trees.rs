//! `list` and `advise` on captured machines. Old captures must stay readable.

use crate::support::cli::Cli;

#[test]
fn lists_captured_machines() {
    for name in ["cloud-machine", "lab-pi-zero", "lab-hub-limited", "lab-raspi3b"] {
        let archive = format!("{}/tests/trees/{name}.tar.gz", env!("CARGO_MANIFEST_DIR"));
        let list = Cli::new().run(["list", "--sysroot", &archive]);
        assert_eq!((list.code, list.err.as_str()), (0, ""), "{name}");
        assert!(list.out.lines().all(|line| line.chars().count() <= 80), "{name}: {}", list.out);
        insta::assert_snapshot!(name, list.out);
    }
}

#[test]
fn advises_on_captured_machines_and_refuses_other_arguments() {
    let cli = Cli::new();
    let archive = format!("{}/tests/trees/lab-pi-zero.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let advice = cli.run(["advise", "--sysroot", &archive]);
    assert_eq!((advice.code, advice.err.as_str()), (0, ""));
    assert!(advice.out.lines().all(|line| line.chars().count() <= 80), "{}", advice.out);
    insta::assert_snapshot!("advice", advice.out);
    for args in [&["advise", "--sysroot", "/nope"][..], &["advise", "--wake"], &["advise", "extra"]] {
        assert_eq!(cli.run(args).code, 2, "{args:?}");
    }
    std::fs::create_dir_all(cli.store()).expect("a store");
    std::fs::write(cli.store().join("rbad.jsonl"), "no record\n").expect("writes");
    let advice = cli.run(["advise", "--sysroot", &archive]);
    assert_eq!(advice.code, 0);
    assert!(advice.err.starts_with("Left out: ") && advice.err.contains("rbad.jsonl"), "{}", advice.err);
}

/// What `list --format json` says of a captured machine.
fn listed(name: &str) -> (Vec<serde_json::Value>, Vec<serde_json::Value>) {
    let archive = format!("{}/tests/trees/{name}.tar.gz", env!("CARGO_MANIFEST_DIR"));
    let list = Cli::new().run(["list", "--format", "json", "--sysroot", &archive]);
    assert_eq!((list.code, list.err.as_str()), (0, ""), "{name}");
    let list: serde_json::Value = serde_json::from_str(&list.out).expect("JSON");
    let [layers, findings] = ["layers", "findings"].map(|key| list[key].as_array().expect(key).clone());
    (layers, findings)
}

#[test]
fn states_of_pools_are_those_that_mdadm_and_zpool_tell() {
    for (name, pools, codes) in [
        ("imsm", &["raid1 active 0"][..], &[][..]),
        ("imsm-degraded", &["raid1 active 1", "raid1 active 1"], &["degraded", "degraded"]),
        ("zfs", &["zfs active 1"], &["degraded"]),
        ("zfs-root", &["zfs active 0"], &[]),
        ("zfs-suspended", &["zfs suspended 0", "zfs active 0", "zfs active 0"], &["broken"]),
        ("raid5-journal-failed", &["raid5 takes_no_writes 0"], &["broken"]),
        ("bios-boot", &[], &[]),
        ("raid6-journal", &["raid6 active 0"], &[]),
        ("reshape-with-spares", &["raid6 active 2"], &["degraded"]),
        ("failed-member", &["raid1 active 0"], &["failed-member"]),
        (
            "nas-system-mirrors",
            &["raid1 active 10", "raid1 active 10", "raid1 active 0"],
            &["degraded", "degraded"],
        ),
    ] {
        let (layers, findings) = listed(name);
        let of_several =
            layers.iter().filter(|layer| layer["pool"]["kind"].as_str().is_some_and(|kind| kind != "lvm"));
        let found: Vec<String> = of_several
            .map(|layer| {
                let pool = &layer["pool"];
                let word = |key: &str| pool[key].as_str().unwrap_or_default().to_owned();
                format!("{} {} {}", word("kind"), word("state"), pool["degraded"])
            })
            .collect();
        assert_eq!(found, pools, "{name}");
        let found: Vec<&str> = findings.iter().filter_map(|finding| finding["code"].as_str()).collect();
        assert_eq!(found, codes, "{name}");
        // Only a container takes a drive here.
        let adds = findings
            .iter()
            .filter_map(|finding| finding["advice"].as_str())
            .any(|advice| advice.contains("--add "));
        assert_eq!(adds, name == "imsm-degraded", "{name}");
    }
    let (layers, _) = listed("imsm-degraded");
    assert!(layers.iter().all(|layer| layer["pool"]["container"] == "md127"), "{layers:#?}");
    let (layers, _) = listed("raid6-journal");
    assert_eq!(layers[0]["states"][0], "journal");
}

#[test]
fn drives_of_the_system_and_of_pools_are_not_offered() {
    let offered = |name: &str| {
        let archive = format!("{}/tests/trees/{name}.tar.gz", env!("CARGO_MANIFEST_DIR"));
        let advice = Cli::new().run(["advise", "--format", "json", "--sysroot", &archive]).out;
        let advice: serde_json::Value = serde_json::from_str(&advice).expect("JSON");
        let answers = advice["answers"].as_array().expect("answers").iter();
        let layout: Vec<String> = answers
            .filter(|answer| answer["topic"] == "layout")
            .map(|answer| answer["because"].to_string())
            .collect();
        assert!(!layout.is_empty(), "{name}: {advice}");
        layout.iter().any(|because| because.contains("drivebench pool create"))
    };
    assert!(offered("lab-pi-zero"));
    for name in ["imsm", "zfs", "zfs-root", "bios-boot", "raid6-journal", "nas-system-mirrors"] {
        assert!(!offered(name), "{name}");
    }
}
