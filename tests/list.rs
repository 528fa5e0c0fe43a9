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

#[test]
fn this_machine_is_captured_and_read_back() {
    let cli = Cli::new();
    let place = tempfile::tempdir().expect("a directory");
    let (plain, other) = (place.path().join("a.tar.gz"), place.path().join("b.tar.gz"));
    let [plain, other] = [&plain, &other].map(|path| path.to_str().expect("UTF-8"));
    let done = cli.run(["capture", plain]);
    assert_eq!(done.code, 0, "{}", done.err);
    let said = done.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("--anonymise replaces them"), "{said}");
    let json = |args: &[&str]| -> serde_json::Value {
        let done = cli.run([&["list", "--format", "json"][..], args].concat());
        assert_eq!(done.code, 0, "{}", done.err);
        serde_json::from_str(&done.out).expect("JSON")
    };
    let (here, read) = (json(&[]), json(&["--sysroot", plain]));
    for part in ["schema", "buses", "ports", "layers", "swaps"] {
        assert_eq!(here[part], read[part], "{part}");
    }
    let count = |json: &serde_json::Value| json["drives"].as_array().expect("drives").len();
    assert_eq!(count(&here), count(&read));

    assert_eq!(cli.run(["capture", other, "--anonymise"]).code, 0);
    assert_eq!(count(&json(&["--sysroot", other])), count(&here));
    let again = cli.run(["capture", plain]);
    assert!(again.code == 2 && again.err.contains("exists"), "{}", again.err);
    let nowhere = cli.run(["capture", "/proc/x.tar.gz"]);
    assert!(nowhere.code == 1 && nowhere.err.contains("can't be written"), "{}", nowhere.err);
}

#[test]
fn what_is_no_archive_is_refused() {
    let (cli, place) = (Cli::new(), tempfile::tempdir().expect("a directory"));
    let path = place.path().join("x");
    std::fs::write(&path, "no archive at all").expect("writes");
    for path in [path.to_str().expect("UTF-8"), "/dev/null", "/missing"] {
        let done = cli.run(["list", "--sysroot", path]);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{path}: {}", done.err);
    }
}
