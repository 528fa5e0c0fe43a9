//! Completions of the real program in a real shell.

use std::process::Command;

/// What bash offers for the last of these words.
#[expect(clippy::disallowed_methods, reason = "bash is what is tested with")]
fn offered(words: &[&str]) -> Vec<String> {
    let script = r#"
        PATH=${0%/*}:$PATH
        . <("$0" completions bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _drivebench_names drivebench "${@: -1}" "${@: -2:1}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let program = env!("CARGO_BIN_EXE_drivebench");
    let store = tempfile::tempdir().expect("a directory without runs");
    let mut bash = Command::new("bash");
    bash.args(["-c", script, program, "drivebench"]).args(words).env("XDG_DATA_HOME", store.path());
    let done = bash.output().expect("bash");
    assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).expect("UTF-8").lines().map(String::from).collect()
}

#[test]
fn bash_completes_commands_experiments_options_and_values() {
    assert_eq!(offered(&["comp"]), ["completions"]);
    assert_eq!(offered(&["run", "ba"]), ["baseline", "bays"]);
    assert_eq!(offered(&["run", "baseline", "--engi"]), ["--engine"]);
    assert_eq!(offered(&["run", "baseline", "--engine", "u"]), ["uring"]);
    assert_eq!(offered(&["results", "comp"]), ["compare"]);
    assert_eq!(offered(&["run", "baseline", "--suite", "d"]), ["db", "dd-256k", "dd-parallel"]);
    for words in [
        &["show", ""][..],
        &["report", "la"],
        &["results", "compare", "last", ""],
        &["run", "cliff", "--resume", ""],
    ] {
        assert_eq!(offered(words), ["last"], "{words:?}");
    }
}
