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
