//! Code without the right to change a drive does not compile, with the expected error.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A program without changes of drives, with a place for the code to test.
const AROUND: [&str; 2] = [
    "#![allow(unused)]
use drivebench::{danger::{Claim, Claims}, tools::{Change, Content, Output, Query, Right, Runner, State, fio, hdparm}};
pub fn attempt(runner: &dyn Runner, claims: Claims, standby: Change<State>, erase: Change<Content>) {
    let _ = runner.ask(&hdparm::power(\"/dev/sda\"));
    let _ = erase.run(&claims, runner);
",
    "\n}\n",
];

/// drivebench's library that this test was linked with: the newest one built.
fn library(directory: &Path) -> PathBuf {
    let entries = fs::read_dir(directory).expect("lists").map(|entry| entry.expect("an entry").path());
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let libraries =
        entries.filter(|path| name(path).starts_with("libdrivebench-") && name(path).ends_with(".rlib"));
    let built = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).expect("has a date");
    libraries.max_by_key(built).expect("the library was built for this test")
}

/// The codes of the errors with which `attempt` does not compile.
#[expect(clippy::disallowed_methods, reason = "the compiler is what is tested with")]
fn errors(attempt: &str) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a directory");
    let source = dir.path().join("attempt.rs");
    fs::write(&source, AROUND.join(attempt)).expect("writes");
    let test = std::env::current_exe().expect("this test");
    let dependencies = test.parent().expect("a directory");
    let beside = || Path::new(env!("CARGO")).with_file_name("rustc").into_os_string();
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(beside))
        .args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "--error-format=short"])
        .arg(format!("-Ldependency={}", dependencies.display()))
        .arg(format!("--extern=drivebench={}", library(dependencies).display()))
        .arg("--out-dir")
        .args([dir.path(), &source])
        .output()
        .expect("rustc is $RUSTC, or stands beside cargo");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    let codes =
        stderr.lines().filter_map(|line| Some(line.split_once("error[")?.1.split_once(']')?.0.to_owned()));
    let codes: Vec<String> = codes.collect();
    assert_eq!(output.status.success(), codes.is_empty(), "{stderr}");
    codes
}

#[test]
fn a_query_needs_no_right_and_a_claim_is_a_right() {
    assert_eq!(errors(""), [""; 0]);
}

#[test]
fn a_change_without_its_right_does_not_compile() {
    for (attempt, code) in [
        // A change is not a query, and contains none that could be taken out.
        ("runner.ask(&standby);", "E0308"),
        ("runner.ask(&standby.query);", "E0616"),
        // fio may write, so it is not a query.
        ("runner.ask(&fio::FioRun::new([\"--rw=write\"]));", "E0308"),
        // It runs only with its right: not without one, and not with the right to another kind of change.
        ("standby.run();", "E0061"),
        ("standby.run(&(), runner);", "E0277"),
        ("standby.run(&claims, runner);", "E0277"),
        // A right can't be constructed or copied.
        (
            "let forged = Claim { drive: claims.0[0].drive().clone(), sequence: None, locked: todo!() };",
            "E0451",
        ),
        ("let twice = claims.clone();", "E0599"),
        // Only `tools` creates command lines.
        ("let own = Change::<Content>::new(hdparm::HDPARM, &[\"--security-erase\"], \"/dev/sda\");", "E0624"),
        ("let own = Query::new(hdparm::HDPARM, [\"-y\"]);", "E0624"),
    ] {
        let errors = errors(attempt);
        assert!(!errors.is_empty() && errors.iter().all(|error| error == code), "{attempt} {errors:?}");
    }
}
