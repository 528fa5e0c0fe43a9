//! Read-only commands change nothing: checks their system calls with strace.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::cli::{Cli, names};

const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/records");
const RUNS: [&str; 2] = ["rbase1", "rbase2"];

/// System calls that change files, drives or the system, and those that open files or talk to devices.
const WATCHED: &str = "open,openat,openat2,creat,unlink,unlinkat,rmdir,rename,renameat,renameat2,mkdir,mkdirat,mknod,\
    mknodat,link,linkat,symlink,symlinkat,truncate,ftruncate,fallocate,chmod,fchmod,fchmodat,fchmodat2,chown,fchown,\
    lchown,fchownat,setxattr,lsetxattr,fsetxattr,utimensat,ioctl,mount,umount2,swapon,swapoff,reboot,sync,syncfs";

/// Flags of an open that can write.
const WRITES: [&str; 6] = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "O_TMPFILE"];
/// Requests to a terminal.
const TERMINAL: [&str; 4] = ["TCGETS", "TCGETS2", "TIOCGWINSZ", "FIONREAD"];
/// Paths in /dev that are not drives.
const NO_DRIVES: [&str; 4] = ["/dev/null", "/dev/urandom", "/dev/tty", "/dev/pts/"];

/// Runs drivebench under strace; returns its output and its watched system calls.
#[expect(clippy::disallowed_methods, reason = "strace is what is tested with")]
fn traced(cli: &Cli, args: &[&str]) -> (String, Vec<String>) {
    let log = cli.store().with_file_name("strace.log");
    let plain = cli.command(args);
    let mut command = Command::new("strace");
    // Not every architecture has all of these calls.
    let watched = WATCHED.replace(',', ",?");
    command.args(["-f", "-y", "-qq", "-s", "4096", "-e", &format!("trace=?{watched}"), "-o"]).arg(&log);
    command.arg(plain.get_program()).args(plain.get_args()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().expect("strace is needed for this test: apt install strace");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    let calls = fs::read_to_string(&log).expect("strace writes its log");
    // `4711 openat(AT_FDCWD, "/x", O_RDONLY) = 3`
    let calls = calls.lines().filter_map(|line| line.split_once(char::is_whitespace));
    let calls = calls.map(|(_, call)| call.trim().to_owned()).filter(|call| !call.starts_with("<..."));
    (String::from_utf8_lossy(&output.stdout).into_owned(), calls.collect())
}

/// The forbidden calls of a command that may write only paths that `may` allows.
fn wrong(calls: &[String], may: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let is_wrong = |call: &&String| {
        let (name, arguments) = call.split_once('(').unwrap_or((call, ""));
        // `renameat(3</store>, ".index.1.0", 3</store>, "index")`
        let pieces: Vec<&str> = arguments.split('"').collect();
        let named = pieces.chunks_exact(2).map(|pair| {
            let directory = pair[0].rsplit_once('<').and_then(|(_, path)| path.split_once('>'));
            Path::new(directory.map_or("", |(path, _)| path)).join(pair[1])
        });
        // A file that is held open gets a name, or one without a name is made.
        let paths: Vec<PathBuf> = named.filter(|path| !path.starts_with("/proc/self/fd")).collect();
        if arguments.contains("O_TMPFILE") {
            return false;
        }
        match name {
            "ioctl" => !TERMINAL.iter().any(|request| arguments.contains(request)),
            "open" | "openat" | "openat2" if !WRITES.iter().any(|flag| arguments.contains(flag)) => {
                paths.iter().any(|path| {
                    let path = path.to_string_lossy();
                    path.starts_with("/dev/") && !NO_DRIVES.iter().any(|harmless| path.starts_with(harmless))
                })
            }
            _ => paths.is_empty() || !paths.iter().all(|path| may(path)),
        }
    };
    calls.iter().filter(is_wrong).cloned().collect()
}

/// A store with two runs, and the leftovers of a killed run: a scratch file on a drive, and its journal.
struct Place {
    cli: Cli,
    drive: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let (cli, drive) = (Cli::new(), Cli::directory());
        fs::create_dir_all(cli.store()).expect("creates");
        for run in RUNS {
            let name = format!("{run}.jsonl.gz");
            fs::copy(Path::new(RECORDS).join(&name), cli.store().join(&name)).expect("copies");
        }
        let left = drive.path().canonicalize().expect("is there").join(".drivebench-rabc0.scratch");
        fs::write(&left, "left").expect("writes");
        let journals = cli.store().join("journals");
        fs::create_dir_all(&journals).expect("creates");
        let uid = rustix::process::geteuid().as_raw();
        let lines = [
            r#"{"line":"begun","host":{}}"#.to_owned(),
            serde_json::json!({"line": "will", "id": 0, "undo": {"file": {"path": left}}}).to_string(),
            serde_json::json!({"line": "made", "id": 0, "file": {"uid": uid, "inode": null}}).to_string(),
        ];
        fs::write(journals.join("rabc.0"), lines.join("\n") + "\n").expect("writes");
        Self { cli, drive }
    }

    fn left(&self) -> (Vec<String>, Vec<String>) {
        (names(self.drive.path()), names(&self.cli.store().join("journals")))
    }
}

/// The store's index, or its temporary file before that is renamed.
fn is_index(store: &Path, path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    path.parent() == Some(store) && (name == "index" || name.starts_with(".index."))
}

#[test]
fn read_only_commands_write_only_the_index_and_delete_nothing() {
    let place = Place::new();
    let store = place.cli.store().canonicalize().expect("a store");
    let index = |path: &Path| is_index(&store, path);
    let [first, second] = RUNS;
    let commands: [&[&str]; 11] = [
        &["list"],
        &["list", "--format", "json"],
        &["results"],
        &["results", "list", "--since", "2000-01-01"],
        &["show", first, second],
        &["show", "--format", "json", first],
        &["results", "compare", first, second],
        &["results", "export"],
        &["advise"],
        &["advise", "--format", "json"],
        &["bay"],
    ];
    let before = place.left();
    assert_eq!(before, (vec![".drivebench-rabc0.scratch".to_owned()], vec!["rabc.0".to_owned()]));
    for args in commands {
        // Without the index, so that it is written.
        let _ = fs::remove_file(store.join("index"));
        let (out, calls) = traced(&place.cli, args);
        assert!(calls.iter().any(|call| call.starts_with("openat(")), "strace saw nothing of {args:?}");
        assert!(args == ["bay"] || !out.is_empty(), "{args:?} printed nothing");
        assert_eq!(wrong(&calls, &index), [""; 0], "{args:?}");
        assert_eq!(place.left(), before, "{args:?}");
    }
}

#[test]
fn a_report_writes_only_its_own_directory() {
    let place = Place::new();
    let store = place.cli.store().canonicalize().expect("a store");
    let home = Cli::directory();
    let out = home.path().canonicalize().expect("a directory").join("page");
    let may = |path: &Path| path.starts_with(home.path()) || is_index(&store, path);
    let before = place.left();
    let (_, calls) = traced(&place.cli, &["report", "--out", out.to_str().expect("UTF-8"), RUNS[0]]);
    assert_eq!(wrong(&calls, &may), [""; 0]);
    assert_eq!((place.left(), names(home.path())), (before, vec!["page".to_owned()]));
}

#[test]
fn an_output_that_fails_leaves_nothing() {
    let place = Place::new();
    assert_eq!(place.cli.run(["cleanup"]).code, 0);
    let home = Cli::directory();
    fs::write(home.path().join("file"), "no directory").expect("writes");
    // A directory that isn't there, one that is a file, and one that takes no files.
    let no_dir = [home.path().join("no/x.csv"), home.path().join("file/x.csv"), "/proc/x.csv".into()];
    for path in no_dir.iter().map(|path| path.to_str().expect("UTF-8")) {
        for args in [&["capture", path][..], &["report", RUNS[0], "--out", path]] {
            let failed = place.cli.run(args);
            assert!(failed.code == 1 && failed.err.contains("can't be written"), "{args:?}: {}", failed.err);
            assert_eq!(names(&place.cli.store().join("journals")), [""; 0], "{args:?}");
            let next = place.cli.run(["cleanup"]);
            assert_eq!((next.code, next.out.as_str()), (0, "Nothing to clean up.\n"), "{args:?}");
        }
    }
}

#[test]
fn a_capture_makes_no_store() {
    let (cli, home) = (Cli::new(), Cli::directory());
    let path = home.path().join("x.tar");
    let done = cli.run(["capture", path.to_str().expect("UTF-8")]);
    assert!(done.code == 0 && path.exists(), "{}", done.err);
    assert!(!cli.store().exists(), "{:?}", names(&cli.store()));
}

#[test]
fn cleanup_removes_leftovers_that_other_commands_keep() {
    let place = Place::new();
    let left = place.drive.path().canonicalize().expect("is there").join(".drivebench-rabc0.scratch");
    let done = place.cli.run(["cleanup"]);
    assert_eq!((done.code, place.left()), (0, (vec![], vec![])), "{}{}", done.out, done.err);
    let output = done.out.replace(&left.display().to_string(), "FILE");
    assert_eq!(output, "Removed FILE, left by a run that a reboot or power cut ended.\n");
    let again = place.cli.run(["cleanup"]);
    assert_eq!((again.code, again.out.as_str()), (0, "Nothing to clean up.\n"));
}

#[test]
fn cleanup_reports_what_it_could_not_remove_with_a_command() {
    let place = Place::new();
    let left = place.drive.path().canonicalize().expect("is there").join(".drivebench-rabc0.scratch");
    fs::remove_file(&left).and_then(|()| fs::create_dir(&left)).expect("something else is there");
    let done = place.cli.run(["cleanup"]);
    assert_eq!((done.code, place.left().1), (1, vec!["rabc.0".to_owned()]), "{}", done.out);
    let output = done.out.replace(&left.display().to_string(), "FILE");
    assert_eq!(
        output,
        "FILE, left by a run that a reboot or power cut ended, can't be removed (it is not a regular file: check it first): rm FILE\n"
    );
}

#[test]
fn a_run_removes_leftovers_before_it_plans_and_only_by_journal() {
    let place = Place::new();
    let drive = place.drive.path();
    let theirs = drive.join(".drivebench-rphotos.files");
    fs::create_dir(&theirs).and_then(|()| fs::write(theirs.join("2024"), "mine")).expect("writes");
    let (before, target) = (place.left(), drive.to_str().expect("UTF-8"));
    place.cli.run(["run", "baseline", "--plan", target]);
    assert_eq!(place.left(), before);
    let missing = format!("{target}/missing");
    let refused = place.cli.run(["run", "baseline", &missing]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert_eq!(place.left(), (vec![".drivebench-rphotos.files".to_owned()], vec![]));
    let done = place.cli.run(["run", "baseline", "--wait", "--suite", "posts", "--max-bytes", "8M", target]);
    assert_eq!((done.code, names(&theirs)), (0, vec!["2024".to_owned()]), "{}", done.err);
}

#[test]
fn cleanup_names_a_journal_that_it_may_not_read() {
    let place = Place::new();
    let journals = place.cli.store().join("journals");
    fs::set_permissions(journals.join("rabc.0"), PermissionsExt::from_mode(0o000)).expect("sets rights");
    let done = place.cli.run_as_nobody(["cleanup"]);
    let said = format!(
        "{}/rabc.0, left by a run of another user, can't be removed (it can't be read: ",
        journals.display()
    );
    assert!(done.code == 1 && done.out.starts_with(&said), "{}{}", done.out, done.err);
    assert!(done.out.contains(": sudo drivebench cleanup --store "), "{}", done.out);
}

#[test]
fn changes_are_detected_in_system_calls() {
    let may = |path: &Path| path.starts_with("/store");
    let calls = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let harmless = calls(&[
        r#"openat(AT_FDCWD, "/proc/swaps", O_RDONLY|O_CLOEXEC) = 3"#,
        r#"openat(AT_FDCWD, "/store/index.1", O_WRONLY|O_CREAT|O_EXCL, 0666) = 3"#,
        r#"rename("/store/index.1", "/store/index") = 0"#,
        "ioctl(1, TCGETS, 0x7ffd) = -1 ENOTTY (Inappropriate ioctl for device)",
        r#"openat(AT_FDCWD, "/dev/null", O_RDONLY) = 3"#,
    ]);
    assert_eq!(wrong(&harmless, &may), [""; 0]);
    let harm = calls(&[
        r#"openat(AT_FDCWD, "/dev/sda", O_RDONLY|O_CLOEXEC) = 3"#,
        r#"openat(AT_FDCWD, "/mnt/a/x", O_RDWR|O_CREAT <unfinished ...>"#,
        r#"unlink("/mnt/a/.drivebench-rabc0.scratch") = 0"#,
        r#"rename("/store/index", "/mnt/index") = 0"#,
        r#"mkdir("/mnt/a", 0777) = -1 EEXIST (File exists)"#,
        "ioctl(3, BLKDISCARD, [0, 4096]) = 0",
        "ftruncate(3, 0) = 0",
        "sync() = 0",
    ]);
    assert_eq!(wrong(&harm, &may), harm);
}
