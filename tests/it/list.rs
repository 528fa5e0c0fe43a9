//! `list`, `capture` and `bay` from the command line.

use crate::support::cli::{Cli, words};

#[test]
fn bays_are_named_by_bus_and_forgotten() {
    let cli = Cli::new();
    let bay = |args: &[&str]| {
        let mut command = cli.command([&["bay"][..], args].concat());
        let output = command.env("XDG_CONFIG_HOME", cli.config()).output().expect("starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout) + &text(output.stderr))
    };
    assert!(bay(&[]).1.contains("No bays are named"));
    assert_eq!(bay(&["name", "9.9.9", "attic"]).0, Some(2), "no drive is there");
    assert!(bay(&["forget", "attic"]).1.contains("no bay is named 'attic'"));
    std::fs::create_dir_all(cli.config().join("drivebench")).expect("a directory");
    std::fs::write(cli.config().join("drivebench/bays.toml"), "[bays]\n\"x-usbv2-1.3\" = \"attic\"\n")
        .expect("writes");
    assert!(bay(&["list"]).1.contains("attic  x-usbv2-1.3"));
    assert_eq!(bay(&["forget", "attic"]).0, Some(0));
    assert!(bay(&[]).1.contains("No bays are named"));
    std::fs::write(cli.config().join("drivebench/bays.toml"), "not TOML").expect("writes");
    let message = bay(&[]).1;
    assert!(message.contains("bays.toml can't be read"), "{message}");
}

#[test]
fn this_machine_is_captured_and_read_back() {
    let cli = Cli::new();
    let directory = tempfile::tempdir().expect("a directory");
    let (plain, other) = (directory.path().join("a.tar.gz"), directory.path().join("b.tar.gz"));
    let [plain, other] = [&plain, &other].map(|path| path.to_str().expect("UTF-8"));
    let done = cli.run(["capture", plain]);
    assert_eq!(done.code, 0, "{}", done.err);
    let message = words(&done.err);
    assert!(message.contains("--anonymise replaces them"), "{message}");
    let json = |args: &[&str]| -> serde_json::Value {
        let done = cli.run([&["list", "--format", "json"][..], args].concat());
        assert_eq!(done.code, 0, "{}", done.err);
        serde_json::from_str(&done.out).expect("JSON")
    };
    let (live, captured) = (json(&[]), json(&["--sysroot", plain]));
    for part in ["schema", "buses", "ports", "layers", "swaps"] {
        assert_eq!(live[part], captured[part], "{part}");
    }
    let count = |json: &serde_json::Value| json["drives"].as_array().expect("drives").len();
    assert_eq!(count(&live), count(&captured));

    assert_eq!(cli.run(["capture", other, "--anonymise"]).code, 0);
    assert_eq!(count(&json(&["--sysroot", other])), count(&live));
    let second = cli.run(["capture", plain]);
    assert!(second.code == 2 && second.err.contains("exists"), "{}", second.err);
    let unwritable = cli.run(["capture", "/proc/x.tar.gz"]);
    assert!(unwritable.code == 1 && unwritable.err.contains("can't be written"), "{}", unwritable.err);
}

#[test]
fn files_that_are_no_archives_are_refused() {
    let (cli, directory) = (Cli::new(), tempfile::tempdir().expect("a directory"));
    let path = directory.path().join("x");
    std::fs::write(&path, "no archive at all").expect("writes");
    for path in [path.to_str().expect("UTF-8"), "/dev/null", "/missing"] {
        let done = cli.run(["list", "--sysroot", path]);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{path}: {}", done.err);
    }
}
