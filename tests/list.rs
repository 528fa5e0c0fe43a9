//! `list`, `capture` and `bay` as a person uses them.

#[path = "support/cli.rs"]
mod cli;

use cli::Cli;

#[test]
fn bays_are_named_by_bus_and_forgotten() {
    let cli = Cli::new();
    let bay = |args: &[&str]| {
        let mut command = cli.command([&["bay"][..], args].concat());
        let output = command.env("XDG_CONFIG_HOME", cli.config()).output().expect("starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout) + &text(output.stderr))
    };
    assert!(bay(&[]).1.contains("No bay has a name yet"));
    assert_eq!(bay(&["name", "9.9.9", "attic"]).0, Some(2), "no drive is there");
    assert!(bay(&["forget", "attic"]).1.contains("no bay is named 'attic'"));
    std::fs::create_dir_all(cli.config().join("drivebench")).expect("a directory");
    std::fs::write(cli.config().join("drivebench/bays.toml"), "[bays]\n\"x-usbv2-1.3\" = \"attic\"\n")
        .expect("writes");
    assert!(bay(&["list"]).1.contains("attic  x-usbv2-1.3"));
    assert_eq!(bay(&["forget", "attic"]).0, Some(0));
    assert!(bay(&[]).1.contains("No bay has a name yet"));
    std::fs::write(cli.config().join("drivebench/bays.toml"), "not TOML").expect("writes");
    let said = bay(&[]).1;
    assert!(said.contains("bays.toml can't be read"), "{said}");
}
