//! `fleet run` on this side of Ansible, for which a script stands in; `ansible/test` runs it on hosts.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::cli::{Cli, Done, words};

/// Keeps what it is given, tells of three hosts, and fetches the record of one.
const STAND_IN: &str = r#"#!/bin/sh
cd "$ANSIBLE_HOME" && stat -c %a . >"$KEPT/mode" && pwd >"$KEPT/dir" && cp hosts.json "$KEPT" || exit 9
ls programs/*/drivebench ansible_collections/drivebench/drivebench/playbooks/measure.yml >"$KEPT/files"
cp "$RECORD" "$STORE"
echo '{"run": "rbase1", "experiment": "baseline"}' >"$STORE/fleet/first/me_pi1.json"
cat <<'END'
a line of Ansible
{"state": "program copied", "host": "me_pi1"}
{"state": "measuring", "host": "pi9"}
{"state": "measuring", "host": "me_pi1"}
{"state": "record fetched", "host": "me_pi1"}
{"state": "failed", "host": "me_pi1", "unreachable": false, "reason": "it can't be removed"}
{"state": "failed", "host": "pi2", "unreachable": true, "reason": "Connection\u001b[31m\nrefused"}
END
echo "pi3 is not told of" >&2
exit 4
"#;

struct Fleet {
    cli: Cli,
    bin: tempfile::TempDir,
    kept: tempfile::TempDir,
}

impl Fleet {
    fn new() -> Self {
        let (cli, bin, kept) = (Cli::new(), Cli::directory(), Cli::directory());
        for name in ["ansible-playbook", "ssh"] {
            fs::write(bin.path().join(name), STAND_IN).expect("writes");
            fs::set_permissions(bin.path().join(name), fs::Permissions::from_mode(0o755)).expect("a program");
        }
        Self { cli, bin, kept }
    }

    fn run(&self, args: &[&str]) -> Done {
        let mut command: Command = self.cli.command(["fleet", "run"].iter().chain(args));
        let path = std::env::var("PATH").expect("a path");
        let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/records/rbase1.jsonl.gz");
        let settings: [(&str, PathBuf); 3] =
            [("KEPT", self.kept.path().into()), ("RECORD", record), ("STORE", self.cli.store())];
        command.env("PATH", format!("{}:{path}", self.bin.path().display())).envs(settings);
        let output = command.output().expect("drivebench starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Done { code: output.status.code().expect("ends"), out: text(output.stdout), err: text(output.stderr) }
    }

    fn kept(&self, name: &str) -> String {
        fs::read_to_string(self.kept.path().join(name)).expect("is kept").trim().to_owned()
    }
}

const TYPED: [&str; 5] = ["--hosts", "me@pi1,pi[2-3]", "baseline", "--quick", "/media/stick"];

#[test]
fn a_fleet_is_planned_measured_ranked_and_continued() {
    let fleet = Fleet::new();
    let run = |more: &[&str]| fleet.run(&[more, &TYPED].concat());
    let plan = run(&["--label", "first", "--plan"]);
    assert_eq!((plan.code, fleet.cli.store().exists()), (0, false), "{}", plan.err);
    let plan = plan.out.replace(fleet.cli.store().to_str().expect("UTF-8"), "STORE");
    let plan = plan.replace(env!("CARGO_BIN_EXE_drivebench"), "PROGRAM");
    insta::assert_snapshot!(words(&plan.replace(std::env::consts::ARCH, "ARCH")));

    let done = run(&["--label", "first", "--mode", "at_once", "--clean"]);
    assert_eq!(done.code, 1, "{}", done.err);
    insta::assert_snapshot!(format!("{}----\n{}", done.out, done.err));
    let inventory: serde_json::Value = serde_json::from_str(&fleet.kept("hosts.json")).expect("JSON");
    let all = &inventory["all"];
    assert_eq!(all["hosts"]["me_pi1"], serde_json::json!({"ansible_host": "me@pi1"}));
    assert_eq!(all["hosts"].as_object().expect("hosts").len(), 3);
    let expected =
        serde_json::json!({"label": "first", "mode": "at_once", "clean": true, "experiment": "baseline"});
    for (name, value) in expected.as_object().expect("variables") {
        assert_eq!(&all["vars"][format!("drivebench_{name}")], value, "{name}");
    }
    assert!(
        all["vars"]["ansible_ssh_common_args"]
            .as_str()
            .expect("a text")
            .contains("StrictHostKeyChecking=yes")
    );
    assert_eq!((fleet.kept("mode").as_str(), fleet.kept("files").lines().count()), ("700", 2));
    assert!(!Path::new(&fleet.kept("dir")).exists(), "it is removed");

    let again = run(&["--resume", "last", "--plan"]).out;
    assert!(again.contains("hosts: pi2 pi3\n") && again.contains("already: me@pi1\n"), "{again}");
    assert_eq!(run(&["--label", "first"]).code, 2, "a label is used once");
    let cleaned =
        fleet.run(&["--hosts", "me@pi1", "--resume", "first", "--clean", "baseline", "/media/stick"]);
    assert_eq!(cleaned.code, 0, "a host that was not cleaned has a result: {}", cleaned.err);
    // The label is the newest, and of another experiment.
    for label in ["first", "last"] {
        let other = fleet.run(&["--hosts", "me@pi1", "--resume", label, "sizes", "/media/stick"]);
        assert_eq!(other.code, 2, "{}", other.err);
    }
}

#[test]
fn what_is_refused_touches_nothing() {
    let fleet = Fleet::new();
    for experiment in ["accept", "bays", "boot", "capacity", "layouts", "power", "pull", "swap"] {
        let done = fleet.run(&["--hosts", "pi1", experiment, "/media/stick"]);
        assert_eq!(
            (done.code, done.err.contains("is not run on many hosts")),
            (2, true),
            "{experiment}: {}",
            done.err
        );
    }
    let wrong: [&[&str]; 12] = [
        &["check", "--hosts", "pi1"],
        &["baseline", "/media/stick"],
        &["baseline", "--hosts", "-oProxyCommand=x"],
        &["baseline", "--hosts", "./missing"],
        &["baseline", "--hosts", "pi1", "--bs", "fast"],
        &["baseline", "--hosts", "pi1", "--label", "../x"],
        &["baseline", "--hosts", "pi1", "--label", "last"],
        &["--hosts", "pi1", "baseline", "--wait", "/media/stick"],
        &["--hosts", "pi1", "baseline", "--quick", "--store", "x", "/media/stick"],
        &["baseline", "--hosts", "pi1", "--resume", "last"],
        &["baseline", "--hosts", "pi1", "{{ lookup('pipe', 'id') }}"],
        &["--hosts", "pi1"],
    ];
    for args in wrong {
        let done = fleet.run(args);
        assert!(done.code == 2 && done.err.starts_with("error: "), "{args:?}: {}", done.err);
    }
    assert!(!fleet.cli.store().exists() && !fleet.kept.path().join("dir").exists());
}
