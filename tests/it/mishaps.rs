//! What goes wrong around a run: output that can't be written, a store that goes away, requests that can't be followed.

use std::{
    fs::{self, File},
    path::Path,
    thread,
};

use crate::support::cli::{Cli, Running, names, words};
use crate::support::faultfs::FaultFs;
use crate::support::modelled;
use drivebench::{analyse::Rules, plan::Suite, record::Store};
use drivebench_modelled::sim::{Board, Model, Zone};
use rustix::fs::{FlockOperation, flock};

const GIB: u64 = 1 << 30;
const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/records");

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A run on the filesystem whose first transfers hang.
fn under_way(cli: &Cli, fs: &FaultFs) -> Running {
    fs.set(|faults| faults.hold = true);
    let running = cli.start(["run", "baseline", "--rw", "write", "--max-bytes", "1M", text(fs.path())]);
    fs.wait_until_held(1);
    running
}

#[test]
fn where_the_run_is_and_that_output_cannot_be_written_is_said() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    let into_full = |args: &[&str]| {
        let full = File::options().write(true).open("/dev/full").expect("opens");
        let done = cli.command(args).stdout(full).output().expect("drivebench starts");
        (done.status.code(), words(&String::from_utf8(done.stderr).expect("UTF-8")))
    };
    let (code, said) = into_full(&["run", "baseline", "--rw", "write", "--max-bytes", "1M", text(fs.path())]);
    assert!(said.contains(&format!("Saved as {}", cli.run_name())), "{said}");
    assert!(code == Some(1) && said.contains("error: standard output can't be written"), "{said}");
    for args in [&["--help"][..], &["run", "baseline", "--help"], &["--version"], &["results"], &["list"]] {
        let (code, said) = into_full(args);
        let wrong = "error: standard output can't be written: No space left on device";
        assert!(code == Some(1) && said.starts_with(wrong), "{args:?}: {said}");
    }
}

#[test]
fn a_store_that_is_removed_during_a_run_is_an_error_that_names_it() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    let running = under_way(&cli, &fs);
    fs::remove_dir_all(cli.store()).expect("removes");
    fs.release();
    let (code, said) = running.finish_with_errors();
    let said = words(&said);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("measure again: there is no run") && said.contains(text(&cli.store())), "{said}");
    assert_eq!(names(fs.path()), [""; 0], "no scratch file stays");
}

#[test]
fn hints_can_be_followed() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    fs.set(|faults| faults.free = Some(2 * GIB));
    let asked =
        |suite: &str| words(&cli.run(["run", "baseline", "--plan", "--suite", suite, text(fs.path())]).err);
    // It is followed exactly: --max-bytes would be refused.
    let said = asked("fio-qd64");
    assert!(
        said.contains("free some space or choose another directory") && !said.contains("--max-bytes"),
        "{said}"
    );

    let gone = Cli::directory();
    let mut command = cli.command(["run", "baseline", "--plan", "."]);
    command.current_dir(gone.path());
    let mut shell = Cli::shell(r#"rmdir "$PWD" && exec "$@""#, &command);
    let said = words(&String::from_utf8(shell.output().expect("starts").stderr).expect("UTF-8"));
    assert!(said.contains("the current directory was removed: change to another"), "{said}");
    let said = words(&cli.run(["run", "baseline", "--plan", &format!("/{}", "a".repeat(5000))]).err);
    assert!(said.contains("use a shorter path"), "{said}");

    let own = cli.config();
    let said = words(&cli.run(["show", "r999", "--store", text(&own)]).err);
    assert!(said.contains(&format!("`drivebench results --store {}`", text(&own))), "{said}");

    let suite = Suite::parse(
        "own",
        "name = 'own'\nabout = 'one'\nsource = 'none'\n[[loads]]\nrw = 'write'\nblock = '512'\ndepth = 1\n",
    )
    .expect("a suite");
    let target =
        drivebench::target::Target { direct_alignment: 4096, ..modelled::target("A", 62 * GIB, false) };
    let ask = drivebench::experiments::Request {
        suite: Some(suite),
        ..modelled::ask(vec![target], Rules::quick(), 4096)
    };
    let said = modelled::plan(&ask).expect_err("it can't be written directly").to_string();
    assert!(said.contains("not 512 B: choose another --bs or suite"), "{said}");
}

#[test]
fn of_two_who_remove_a_run_at_once_none_fails_wrongly() {
    let cli = Cli::new();
    let store = Store::at(cli.store());
    let zone = vec![Zone { from: 0, rate: 6e6 }];
    let model = Model { capacity: 62 * GIB, read: zone.clone(), write: zone, ..Model::default() };
    let plan =
        modelled::plan(&modelled::ask(vec![modelled::target("A", 62 * GIB, false)], Rules::quick(), 4096));
    let board = Board { drives: vec![model], buses: vec![], seed: 1 };
    let run = modelled::keep(&store, "2026-11-21T10:00:00Z", &plan.expect("plans"), &board, false);
    // The first holds the record; the second looks at it meanwhile.
    let held = store.removable(&run).expect("nobody writes it");
    let refused = cli.run(["results", "rm", &run]);
    assert!(
        refused.code == 1 && words(&refused.err).contains(&format!("{run} is in use")),
        "{}",
        refused.err
    );
    // A process that another test is starting may have the open files until it executes its program.
    held.iter().for_each(|file| flock(file, FlockOperation::Unlock).expect("unlocks"));
    drop(held);
    let ended = thread::scope(|scope| {
        [0, 1].map(|_| scope.spawn(|| cli.run(["results", "rm", &run]))).map(|one| one.join().expect("ends"))
    });
    assert!(ended.iter().any(|done| done.code == 0));
    for done in ended.iter().filter(|done| done.code != 0) {
        let said = words(&done.err);
        assert!(said.contains("there is no run") || said.contains(&format!("{run} is in use")), "{said}");
    }
    assert!(names(&cli.store()).iter().all(|name| !name.starts_with(&run)));
}

#[test]
fn a_file_beyond_the_limit_of_sizes_is_an_error_that_names_it() {
    let (cli, home) = (Cli::new(), Cli::directory());
    fs::create_dir_all(cli.store()).expect("creates");
    let record = Path::new(RECORDS).join("rbase1.jsonl.gz");
    fs::copy(record, cli.store().join("rbase1.jsonl.gz")).expect("copies");
    let log = home.path().join("dd.txt");
    let line = "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n".repeat(200);
    fs::write(&log, line).expect("writes");
    let out = home.path().join("out");
    let before = names(&cli.store()).len();
    for args in
        [&["report", "rbase1", "--out", text(&out)][..], &["capture", text(&out)], &["import", text(&log)]]
    {
        let done = Cli::shell("ulimit -f 8; exec \"$@\"", &cli.command(args)).output().expect("sh starts");
        let said = words(&String::from_utf8_lossy(&done.stderr));
        assert_eq!(done.status.code(), Some(1), "{args:?}: {said}");
        let named = if args[0] == "import" { cli.store() } else { out.clone() };
        assert!(said.contains(text(&named)) && said.contains("File too large"), "{args:?}: {said}");
        assert_eq!(names(home.path()), ["dd.txt"], "{args:?}");
    }
    let records =
        names(&cli.store()).into_iter().filter(|name| name.ends_with(".gz") || name.starts_with('.'));
    assert_eq!((records.count(), before), (1, 1));
}

#[test]
fn a_run_that_cannot_be_removed_is_an_error_that_says_why() {
    use std::os::unix::fs::PermissionsExt;
    let cli = Cli::new();
    fs::create_dir_all(cli.store()).expect("creates");
    let record = cli.store().join("rbase1.jsonl.gz");
    fs::copy(Path::new(RECORDS).join("rbase1.jsonl.gz"), &record).expect("copies");
    let may =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("sets rights");
    may(cli.store().parent().expect("a parent"), 0o755);
    for (store, file, expected) in [
        (0o555, 0o644, format!("{} can't be removed: Permission denied", record.display())),
        (0o555, 0o000, format!("{} can't be removed: Permission denied", record.display())),
        (0o000, 0o644, format!("the results in {} can't be read: Permission denied", cli.store().display())),
    ] {
        may(&record, file);
        may(&cli.store(), store);
        let done = cli.run_as_nobody(["results", "rm", "rbase1"]);
        assert!(done.code == 1 && words(&done.err).contains(&expected), "{store:o}: {}", done.err);
        assert!(!words(&done.err).contains("--store DIR"), "{}", done.err);
        may(&cli.store(), 0o755);
    }
    assert!(record.exists());
}

#[test]
fn nothing_is_written_beside_a_target_that_was_unmounted() {
    let (cli, first, mut second) = (Cli::new(), FaultFs::mount(), FaultFs::mount());
    first.set(|faults| faults.hold = true);
    let (a, b) = (text(first.path()), text(second.path()).to_owned());
    let running = cli.start(["run", "baseline", "--rw", "write", "--max-bytes", "1M", a, &b]);
    first.wait_until_held(1);
    second.unmount();
    first.release();
    let (code, said) = running.finish_with_errors();
    let said = words(&said);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&b) && said.contains("it was unmounted"), "{said}");
    assert_eq!((names(first.path()), names(Path::new(&b))), (vec![], vec![]));
}
