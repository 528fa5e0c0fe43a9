//! What `list` says of captured machines: what was captured once must be read for ever.

#[path = "support/cli.rs"]
mod cli;

use cli::Cli;

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
