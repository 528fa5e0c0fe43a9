//! `./drivebench` and the toolchain finder, with stand-ins for cargo, rustc, cc, apt and the user.
#![allow(clippy::disallowed_methods)] // The launcher is a program; running it is the test.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

/// Real programs that the launcher may use; everything else on PATH is a stand-in.
const REAL: &[&str] = &[
    "awk", "cat", "chmod", "df", "dirname", "env", "find", "flock", "mkdir", "mv", "readlink", "sed", "sh",
    "sleep", "sort", "tail", "touch", "tr",
];

/// A cargo stand-in. The program that it "builds" prints its arguments and input, and exits with 7.
const CARGO: &str = r#"
[ "$1" = --version ] && { echo "cargo $VERSION (stand-in)"; exit; }
echo "$RUSTFLAGS: $*" >>"$LOG"
echo "progress" && echo "progress" >&2
[ -z "$BREAK" ] || exit 101
out=target/stand-in/shipped
mkdir -p "$out"
{ echo '#!/bin/sh'; echo 'for a; do echo "<$a>"; done; cat; exit 7'; } >"$out/drivebench"
chmod +x "$out/drivebench""#;
const RUSTC: &str = r#"
[ "$1" = -vV ] && { echo "host: stand-in"; exit; }
echo "rustc $VERSION (stand-in)""#;

/// A checkout without builds, on a machine with a C compiler but no Rust.
struct Machine {
    dir: PathBuf,
}

impl Machine {
    fn new(name: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("launcher").join(name);
        let _ = fs::remove_dir_all(&dir);
        let machine = Self { dir };
        for below in ["bin", "home", "a checkout/scripts", "a checkout/src"] {
            fs::create_dir_all(machine.dir.join(below)).expect("the test's directory can be made");
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR"));
        for file in ["drivebench", "scripts/toolchain.sh", "Cargo.toml", "Cargo.lock"] {
            fs::copy(source.join(file), machine.checkout().join(file)).expect("the checkout can be copied");
        }
        for tool in REAL {
            let real = ["/usr/bin", "/bin"].map(|d| Path::new(d).join(tool));
            let real = real.iter().find(|p| p.exists()).unwrap_or_else(|| panic!("no {tool} here"));
            symlink(real, machine.dir.join("bin").join(tool)).expect("a link can be made");
        }
        machine.program("bin/cc", "echo /dev/null");
        machine.program("bin/id", "echo 0");
        machine
    }

    fn checkout(&self) -> PathBuf {
        self.dir.join("a checkout")
    }

    fn program(&self, path: &str, text: &str) {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().expect("it has a parent")).expect("a directory can be made");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("a stand-in can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be made executable");
    }

    fn rust(self, bin: &str, suffix: &str, version: &str) -> Self {
        self.program(&format!("{bin}/cargo{suffix}"), &format!("VERSION={version}\n{CARGO}"));
        self.program(&format!("{bin}/rustc{suffix}"), &format!("VERSION={version}\n{RUSTC}"));
        self
    }

    /// An apt stand-in with rustc 1.63, and with `web` as the policy of rustc-web; installing it gives Rust 1.96.
    fn apt(self, web: &str) -> Self {
        self.program(
            "bin/apt-cache",
            &format!(
                "case $* in 'policy rustc') echo '  Candidate: 1.63.0+x';; 'policy rustc-web') echo '{web}';; esac"
            ),
        );
        let new = self.dir.join("new");
        self.program(
            "bin/apt-get",
            &format!(
                "echo \"apt-get $*\" >>\"$LOG\"\ncase $* in -s*) echo 'Remv rustc [1.63]';; *install*) cp={}; \
                 for f in cargo rustc; do cat \"$cp/$f\" >\"$BIN/$f\"; chmod +x \"$BIN/$f\"; done;; esac",
                new.display()
            ),
        );
        self.rust("new", "", "1.96.0")
    }

    fn command(&self, launcher: &Path) -> Command {
        let bin = self.dir.join("bin");
        let mut command = Command::new(launcher);
        command.env_clear().env("PATH", &bin).env("BIN", &bin).env("HOME", self.dir.join("home"));
        command.env("LOG", self.dir.join("log")).env("BREAK", "").current_dir(&self.dir);
        command
    }

    fn run(&self) -> Output {
        self.command(&self.checkout().join("drivebench")).output().expect("the launcher starts")
    }

    /// Calls of cargo and apt-get, one per line.
    fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }
}

/// One test at a time: a program that was just written can't be started while another thread's child still has it open.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn builds_once_static_and_is_quiet_afterwards() {
    let _turn = turn();
    let machine = Machine::new("once").rust("bin", "", "1.85.0");
    let first = machine.run();
    assert_eq!(first.status.code(), Some(7), "{}", stderr(&first));
    assert_eq!(first.stdout, b"", "progress belongs on standard error");
    assert!(stderr(&first).contains("progress"));
    let log = machine.log();
    assert!(
        log.contains("target-feature=+crt-static") && log.contains(": build --profile shipped --locked"),
        "{log}"
    );
    assert!(log.contains("--target stand-in"), "{log}");

    let second = machine.run();
    assert_eq!((second.status.code(), stderr(&second).as_str()), (Some(7), ""));
    assert_eq!(machine.log(), log, "there was nothing to build");

    // A time in the future, because the filesystem's clock may be coarser than the time of this build.
    let source = fs::File::create(machine.checkout().join("src/new.rs")).expect("a source can be added");
    source.set_modified(SystemTime::now() + Duration::from_secs(60)).expect("a file can be dated");
    assert_eq!(machine.run().status.code(), Some(7));
    assert_eq!(machine.log().lines().count(), 2, "a new source is built");
}

#[test]
fn flags_of_the_caller_are_kept() {
    let _turn = turn();
    let machine = Machine::new("flags").rust("bin", "", "1.85.0");
    let launcher = machine.checkout().join("drivebench");
    let output = machine.command(&launcher).env("RUSTFLAGS", "-C debuginfo=1").output().expect("it starts");
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    assert!(machine.log().starts_with("-C debuginfo=1 -C target-feature=+crt-static"), "{}", machine.log());
}

#[test]
fn arguments_and_input_pass_through_a_link_from_another_directory() {
    let _turn = turn();
    let machine = Machine::new("link").rust("bin", "", "1.85.0");
    symlink(machine.checkout().join("drivebench"), machine.dir.join("home/db")).expect("a link can be made");
    let mut command = machine.command(Path::new("./db"));
    command.args(["a b", "", "*", "-x"]).current_dir(machine.dir.join("home"));
    command.stdin(fs::File::open(machine.checkout().join("Cargo.toml")).expect("Cargo.toml is there"));
    let output = command.output().expect("the launcher starts");
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let manifest = fs::read_to_string(machine.checkout().join("Cargo.toml")).expect("Cargo.toml is there");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("<a b>\n<>\n<*>\n<-x>\n{manifest}"));
}

#[test]
fn two_first_calls_build_once() {
    let _turn = turn();
    let machine = Machine::new("two").rust("bin", "", "1.85.0");
    let launcher = machine.checkout().join("drivebench");
    let calls: Vec<_> = (0..2).map(|_| machine.command(&launcher).spawn().expect("it starts")).collect();
    for mut call in calls {
        assert_eq!(call.wait().expect("it ends").code(), Some(7));
    }
    assert_eq!(machine.log().lines().count(), 1, "{}", machine.log());
}

#[test]
fn toolchains_off_the_path_and_with_versions_in_their_names_are_found() {
    let _turn = turn();
    let machine = Machine::new("rustup").rust("bin", "", "1.63.0").rust("home/.cargo/bin", "", "1.90.0");
    assert_eq!(machine.run().status.code(), Some(7));
    let machine = Machine::new("named").rust("bin", "", "1.75.0").rust("bin", "-1.85", "1.85.1");
    assert_eq!(machine.run().status.code(), Some(7));
}

#[test]
fn an_old_toolchain_is_reported_and_apt_installs_a_new_one() {
    let _turn = turn();
    let machine = Machine::new("apt").rust("bin", "", "1.63.0").apt("  Candidate: 1.96.0+x");
    let output = machine.run();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(7), "{error}");
    assert_eq!(output.stdout, b"");
    assert!(error.contains("Rust 1.85 or newer (found: cargo 1.63.0 (stand-in) in "), "{error}");
    assert!(error.contains("Installing with apt: cargo-web rustc-web"), "{error}");
    assert!(error.contains("apt removes: rustc"), "{error}");
    let log = machine.log();
    assert!(log.contains("install -y --no-install-recommends cargo-web rustc-web"), "{log}");
    assert!(log.contains("build --profile shipped"), "{log}");
}

#[test]
fn without_root_and_sudo_the_apt_command_is_printed() {
    let _turn = turn();
    let machine = Machine::new("user").apt("  Candidate: 1.96.0+x");
    machine.program("bin/id", "echo 1000");
    let output = machine.run();
    assert_eq!(output.status.code(), Some(1));
    let command = "apt-get update && apt-get install --no-install-recommends cargo-web rustc-web";
    assert!(stderr(&output).contains(command), "{}", stderr(&output));
    assert_eq!(machine.log(), "", "nothing was installed");
}

#[test]
fn if_apt_has_no_recent_rust_another_installation_is_suggested() {
    let _turn = turn();
    let machine = Machine::new("none").apt("");
    let output = machine.run();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("apt has no such package. Install it from https://rustup.rs"),
        "{}",
        stderr(&output)
    );
    assert!(!machine.log().contains("install"), "{}", machine.log());
}

#[test]
fn a_failed_build_ends_with_cargos_code_and_is_tried_again() {
    let _turn = turn();
    let machine = Machine::new("broken").rust("bin", "", "1.85.0");
    let launcher = machine.checkout().join("drivebench");
    let output = machine.command(&launcher).env("BREAK", "yes").output().expect("the launcher starts");
    assert_eq!(output.status.code(), Some(101));
    assert_eq!(output.stdout, b"");
    assert!(stderr(&output).contains("the build failed (cargo's exit code 101"), "{}", stderr(&output));
    assert_eq!(machine.run().status.code(), Some(7));
}

#[test]
fn a_target_that_cannot_be_made_is_named() {
    let _turn = turn();
    let machine = Machine::new("unwritable").rust("bin", "", "1.85.0");
    // A file blocks the directory. A file mode would not stop root.
    fs::write(machine.checkout().join("target"), "").expect("a file can be written");
    let output = machine.run();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is not writable"), "{}", stderr(&output));
    assert_eq!(machine.log(), "");
}
