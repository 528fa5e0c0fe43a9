//! Tests of the command line, on real files and on a filesystem with faults.

use std::path::{Path, PathBuf};

use crate::support::cli::{Cli, names, words};
use crate::support::faultfs::FaultFs;
use rustix::process::Signal;

/// Arguments of a very short run.
const SHORT: [&str; 7] = ["run", "baseline", "--wait", "--suite", "posts", "--max-bytes", "8M"];

fn short(target: &Path) -> Vec<PathBuf> {
    SHORT.iter().map(PathBuf::from).chain([target.to_owned()]).collect()
}

fn long(target: &Path) -> Vec<PathBuf> {
    ["run", "baseline", "--suite", "posts", "--max-bytes", "4G"]
        .iter()
        .map(PathBuf::from)
        .chain([target.to_owned()])
        .collect()
}

/// Text without the target's path and without line ends that depend on the path's length.
fn normalised(text: &str, target: &Path) -> String {
    let out = text.replace(&target.display().to_string(), "TARGET");
    words(&out).replace(" hint:", "\n  hint:")
}

#[test]
fn a_run_prints_tables_and_verdicts_and_its_record_shows_the_same() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let done = cli.run(short(place.path()));
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(names(place.path()), [""; 0], "nothing is left");
    for expected in ["READ", "WRITE", "SEQ4K", "worst wait", "SEQ4K writes: ", "SEQ4K reads: "] {
        assert!(done.out.contains(expected), "{expected} in {}", done.out);
    }
    for expected in [" written. Saved as ", "drivebench run cliff"] {
        assert!(done.err.contains(expected), "{expected} in {}", done.err);
    }
    let lines = done.out.replace(place.path().to_str().expect("UTF-8"), "DIR");
    assert!(lines.lines().all(|l| l.chars().count() <= 80 || l.starts_with("  ")), "{lines}");
    let name = cli.run_name();
    let again = cli.run(["show", &name]);
    assert_eq!((again.code, again.out.as_str()), (0, done.out.as_str()));
    let full = cli.run(["show", &name, "--full"]);
    for expected in
        ["moved", "latency of one operation", "suite posts", "To repeat:", "drivebench run baseline"]
    {
        assert!(full.out.contains(expected) && !done.out.contains(expected), "{expected} in {}", full.out);
    }

    let json: serde_json::Value =
        serde_json::from_str(&cli.run(["show", &name, "--format", "json"]).out).expect("JSON");
    let written = json["estimates"]
        .as_array()
        .expect("estimates")
        .iter()
        .find(|e| e["name"] == "SEQ4K write throughput");
    let value = written.expect("a speed of writes")["estimate"]["value"].as_f64().expect("a number");
    assert!(value > 0.0);
    let record = cli.record();
    let moved: u64 = record
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).expect("JSON lines"))
        .filter(|e| e["event"] == "window" && e["step"] == 1)
        .map(|e| e["window"]["bytes"].as_u64().expect("bytes"))
        .sum();
    assert_eq!(moved, 4 << 20, "every window is in the record");

    assert!(cli.run(["show", &name, "--format", "markdown"]).out.contains("| SEQ4K |"));
    let list = cli.run(["results"]).out;
    assert!(list.contains(&name) && list.lines().all(|l| l.chars().count() <= 80), "{list}");
    assert!(list.contains("SEQ4K ") && list.contains(" MB/s"), "{list}");
    assert_eq!(cli.run(["results"]).out, list, "the index has the same");
    let bare = cli.run([&*name]);
    assert!(
        bare.code == 2 && bare.err.contains(&format!("did you mean `drivebench show {name}`?")),
        "{}",
        bare.err
    );
    assert_eq!(cli.run(["results", "rm", &name]).code, 0);
    assert_eq!(cli.run(["show", &name]).code, 2);
}

#[test]
fn the_plan_touches_nothing() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    let done =
        cli.run(["run", "baseline", "--plan", "--max-time", "10m", fs.path().to_str().expect("UTF-8")]);
    assert_eq!(done.code, 0, "{}", done.err);
    insta::assert_snapshot!(normalised(&done.out, fs.path()));
    assert!(!cli.store().exists() && names(fs.path()).is_empty());
}

#[test]
fn bad_input_is_refused_before_anything_is_touched() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let here = place.path().to_str().expect("UTF-8");
    std::fs::write(place.path().join("empty"), "").expect("writes");
    std::fs::write(place.path().join("own.toml"), "name = 'x'\nspeed = 3\n").expect("writes");
    let (empty, own) = (format!("{here}/empty"), format!("{here}/own.toml"));
    let (missing, other) = (format!("{here}/missing/deep"), format!("{here}/other"));
    std::fs::create_dir(&other).expect("a directory");
    let cases: &[&[&str]] = &[
        &["run"],
        &["run", "cliff"],
        &["run", "basement", here],
        &["run", "together", here],
        &["run", "together", "--caching", "buffered", here, &other],
        &["run", "baseline", here, here],
        &["run", "baseline", &missing],
        &["run", "baseline", "/proc"],
        &["run", "baseline", "/dev/null"],
        &["run", "baseline", &empty],
        &["run", "baseline", "--bs", "0", here],
        &["run", "baseline", "--bs", "1T", here],
        &["run", "baseline", "--bs", "4q", here],
        &["run", "baseline", "--bs", "16M", "--iodepth", "200", here],
        &["run", "baseline", "--iodepth", "0", here],
        &["run", "baseline", "--iodepth", "99999999999", here],
        &["run", "baseline", "--max-bytes", "1", here],
        &["run", "baseline", "--max-bytes", "99999999999999999999", here],
        &["run", "baseline", "--max-time", "0", here],
        &["run", "baseline", "--max-time", "soon", here],
        &["run", "baseline", "--precision", "0", here],
        &["run", "baseline", "--rw", "shred", here],
        &["run", "baseline", "--rwmixread", "101", here],
        &["run", "baseline", "--engine", "warp", here],
        &["run", "baseline", "--suite", "pi-hero", here],
        &["run", "baseline", "--suite", &own, here],
        &["run", "baseline", "--suite", "pi-zero", "--quick", here],
        &["show", "r999"],
        &["results", "rm", "../../etc/passwd"],
        &["list", "--sysroot", &missing],
    ];
    let mut shown = String::new();
    for args in cases {
        let done = cli.run(*args);
        assert_eq!(done.code, 2, "{args:?}: {}{}", done.out, done.err);
        assert!(done.out.is_empty(), "{args:?}: {}", done.out);
        let line = args.join(" ").replace(here, "TARGET");
        let error = normalised(&done.err, place.path()).replace(&*cli.store().to_string_lossy(), "STORE");
        shown += &format!("$ drivebench {line}\n{error}\n\n");
    }
    insta::assert_snapshot!(shown);
    let small = place.path().join("README.md");
    std::fs::write(&small, [b'x'; 8192]).expect("writes");
    let small = cli.run([Path::new("run"), Path::new("baseline"), &small]);
    let error = normalised(&small.err, place.path());
    assert!(small.code == 2 && error.contains("hint: name its directory, TARGET, to measure"), "{error}");
    let unknown = cli.run(["run", "baseline", "no-such-serial"]);
    let error = normalised(&unknown.err, place.path());
    assert!(unknown.code == 2 && error.contains("is not a path, serial, label or bay"), "{error}");
    assert!(!cli.store().exists(), "nothing was touched");
}

#[test]
fn mistakes_get_one_hint_that_can_be_typed() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let here = place.path().to_str().expect("UTF-8");
    let cases: &[&[&str]] = &[
        &["baseline", here],
        &[here],
        &["run", here],
        &["run"],
        &["run", "cliff"],
        &["run", "basement", here, "--quick"],
        &["run", "nonsense", here],
        &["run", "baseline", "--bs", "4kb", here],
        &["run", "baseline", "--bs", "4q", here],
        &["run", "baseline", "--json", here],
        &["run", "baseline", "--precison", "5", here],
        &["run", "baseline", "--engine", "psnc", here],
        &["list", "--json"],
        &["export"],
        &["reslts"],
        &["results", "exprt", "r999"],
        &["results", "baseline"],
        &["show"],
        &["show", "r999"],
        &["import"],
        &["nonsense"],
        &["list", "--color", "sometimes"],
        &["run", "baseline", "--suite", "cmd", here],
        &["run", "baseline", "--suite", "CDM", here],
        &["run", "cliff", "--suite", "cdm", here],
        &["run", "cliff", "--quick", here],
        &["run", "spinup"],
        &["results", "--json"],
        &["results", "list", "--format", "csv"],
        &["version"],
    ];
    let mut shown = String::new();
    for args in cases {
        let done = cli.run(*args);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{args:?}: {}", done.err);
        assert_eq!(
            done.err.lines().filter(|l| l.starts_with("  hint: ")).count(),
            1,
            "{args:?}: {}",
            done.err
        );
        assert!(done.err.starts_with("error: "), "{args:?}: {}", done.err);
        let line = args.join(" ").replace(here, "TARGET");
        let error = normalised(&done.err, place.path()).replace(&*cli.store().to_string_lossy(), "STORE");
        shown += &format!("$ drivebench {line}\n{error}\n\n");
    }
    insta::assert_snapshot!(shown);
    // Why a directory can't be stopped depends on the machine.
    let spinup = cli.run(["run", "spinup", here]);
    assert!(spinup.code == 2 && spinup.err.contains("  hint: `drivebench list` shows"), "{}", spinup.err);
    assert!(!cli.store().exists() && names(place.path()).is_empty(), "nothing was touched");
}

#[test]
fn mistakes_are_explained_within_80_columns() {
    let cli = Cli::new();
    let long = format!("/{}", "deep/".repeat(9));
    for (args, help) in [
        (vec!["export"], "did you mean `drivebench results export`?"),
        (vec!["baseline", "."], "did you mean `drivebench run baseline .`?"),
        (vec!["run", "baseline", "--precision", "a\u{7}b", "."], "'ab'"),
        (vec!["run", "baseline", &long, "--engine", "warp-engine-of-the-future"], "possible values:"),
        (vec!["list", "--sysroot", &long], "can't be read"),
    ] {
        let done = cli.run(&args);
        assert!(done.code == 2 && done.err.contains(help), "{args:?}: {}", done.err);
        assert!(done.err.lines().all(|l| l.chars().count() <= 80), "{args:?}: {}", done.err);
        assert!(!done.err.contains('\u{7}'), "{args:?}: {}", done.err);
    }
}

#[test]
fn the_name_of_a_directory_stays_on_one_line() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let hostile = place.path().join("a\u{1b}[2J\u{7}\n  changes: nothing at all");
    std::fs::create_dir(&hostile).expect("a directory");
    let done = cli.run([Path::new("run"), Path::new("baseline"), Path::new("--plan"), &hostile]);
    assert!(done.code == 0 && done.out.contains("changes: own files"), "{}{}", done.out, done.err);
    assert!(!done.out.contains(['\u{1b}', '\u{7}']), "{}", done.out);
    let lines = |text: &str| text.lines().filter(|l| l.starts_with("  changes: ")).count();
    assert_eq!(lines(&done.out), 1, "{}", done.out);
}

/// A readable block device of this machine; the test only shows a plan for it.
fn block_device() -> String {
    let sizes = std::fs::read_dir("/sys/block").expect("sysfs").map(|e| e.expect("entry").path());
    let real = sizes.filter(|p| std::fs::read_to_string(p.join("size")).is_ok_and(|s| s.trim() != "0"));
    let mut device = real.map(|p| format!("/dev/{}", p.file_name().expect("a name").to_string_lossy()));
    device.find(|d| Path::new(d).exists()).expect("this test needs a block device in /sys/block")
}

#[test]
fn a_block_device_is_never_written() {
    let (cli, device) = (Cli::new(), block_device());
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&file, vec![7; 1 << 20]).expect("writes");
    let existing = file.path().to_str().expect("UTF-8");
    for target in [device.as_str(), existing] {
        for how in [["--rw", "write"], ["--rw", "randrw"], ["--suite", "pi-zero"]] {
            let done = cli.run(["run", "baseline", how[0], how[1], target]);
            assert_eq!(done.code, 2, "{}", done.err);
            assert!(
                done.err.split_whitespace().collect::<Vec<_>>().join(" ").contains("would erase")
                    || done.err.contains("no permission"),
                "{}",
                done.err
            );
        }
    }
    assert_eq!(std::fs::read(&file).expect("reads"), vec![7; 1 << 20]);
}

#[test]
fn an_existing_file_is_read_and_left_as_it_is() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let file = place.path().join("film.mkv");
    let content: Vec<u8> = (0..5_000_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(&file, &content).expect("writes");
    let done = cli.run(short(&file));
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(
        words(&done.out).contains("SEQ4K reads: ") && !words(&done.out).contains("writes: "),
        "{}",
        done.out
    );
    assert_eq!(std::fs::read(&file).expect("reads"), content);
}

#[test]
fn a_directory_that_cannot_be_written_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let cli = Cli::new();
    let place = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o555)).expect("closes");
    let done = cli.run_as_nobody(short(place.path()));
    assert_eq!(done.code, 1, "{}", done.out);
    insta::assert_snapshot!(normalised(&done.err, place.path()));
}

#[test]
fn a_read_only_filesystem_is_refused() {
    let (cli, fs) = (Cli::new(), FaultFs::mount_read_only());
    let done = cli.run(short(fs.path()));
    assert_eq!(done.code, 1, "{}", done.out);
    assert!(words(&done.err).contains("is mounted read-only"), "{}", done.err);
}

#[test]
fn a_full_filesystem_is_refused_before_it_is_filled() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    fs.set(|f| f.free = Some(100 << 20));
    let done = cli.run(["run", "baseline", fs.path().to_str().expect("UTF-8")]);
    assert_eq!(done.code, 1, "{}", done.out);
    insta::assert_snapshot!(normalised(&done.err, fs.path()));
    assert!(names(fs.path()).is_empty());
}

#[test]
fn a_run_ends_cleanly_when_space_runs_out() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    fs.set(|f| f.space = Some(2 << 20));
    let done = cli.run(short(fs.path()));
    assert_eq!(done.code, 1, "{}", done.out);
    assert!(done.err.contains("No space left on device"), "{}", done.err);
    assert!(
        words(&done.out).contains("2.10 MB") && words(&done.out).contains("Results before it are valid"),
        "{}",
        done.out
    );
    assert!(names(fs.path()).is_empty());
}

#[test]
fn a_target_that_starts_failing_keeps_the_result_so_far() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    fs.set(|f| f.eio_writes = Some(3 << 20..4 << 20));
    let done = cli.run(short(fs.path()));
    assert_eq!(done.code, 1, "{}", done.out);
    assert!(done.err.contains("write failed at offset 3145728"), "{}", done.err);
    assert!(
        words(&done.out).contains("3.15 MB") && words(&done.out).contains("Input/output error"),
        "{}",
        done.out
    );
    assert!(
        cli.record().lines().last().is_some_and(|l| l.contains(r#""event":"end""#) && l.contains("failed"))
    );
    assert!(names(fs.path()).is_empty());
}

#[test]
fn the_other_drive_is_measured_when_one_fails() {
    let (cli, fs, place) = (Cli::new(), FaultFs::mount(), Cli::directory());
    fs.set(|f| f.eio_writes = Some(0..1 << 40));
    let done = cli.run([short(fs.path()), vec![place.path().to_owned()]].concat());
    assert_eq!(done.code, 1, "{}", done.out);
    let (good, bad) = (place.path().display().to_string(), fs.path().display().to_string());
    let said = words(&done.out);
    assert!(said.contains(&format!("{good}: SEQ4K writes: ")), "{}", done.out);
    assert!(done.err.contains(&bad) && done.err.contains("write failed at offset 0"), "{}", done.err);
}

#[test]
fn without_direct_io_a_filesystem_is_measured_through_the_cache_with_a_note() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    fs.set(|f| f.no_direct = true);
    let done = cli.run(short(fs.path()));
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    let said = words(&done.out);
    assert!(
        said.contains("refuses direct I/O") && said.contains("including the final fsync"),
        "{}",
        done.out
    );
}

#[test]
fn what_was_written_is_verified() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let place = place.path().to_str().expect("UTF-8");
    let done = cli.run(["run", "baseline", "--wait", "--max-bytes", "8M", "--verify", place]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
}

#[test]
fn signals_stop_a_run_keep_results_and_leave_no_files() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let (cli, fs) = (Cli::new(), FaultFs::mount());
        let mut running = cli.start(long(fs.path()));
        running.wait_for("progress");
        // Two signals, as `timeout` sends them: to the process and to its group.
        running.signal(signal);
        running.signal(signal);
        assert_eq!(running.finish(), Some(code));
        assert_eq!(names(fs.path()), [""; 0]);
        let record = cli.record();
        assert!(record.lines().last().is_some_and(|l| l.contains("interrupted")), "{record}");
        let shown = cli.run(["show", &cli.run_name()]).out;
        assert!(shown.contains("without an interval") || shown.contains("No interval of ±"), "{shown}");
    }
}

#[test]
fn a_drive_that_hangs_does_not_hold_up_ctrl_c() {
    let (cli, fs) = (Cli::new(), FaultFs::mount());
    let mut running = cli.start(long(fs.path()));
    running.wait_for("progress");
    fs.set(|f| f.hold = true);
    fs.wait_until_held(1);
    running.signal(Signal::INT);
    // It prints its last line while the operation still hangs; the kernel ends the process when the drive responds.
    running.wait_for("findings");
    assert!(fs.held() > 0);
    fs.release();
    assert_eq!(running.finish(), Some(130));
}

#[test]
fn ten_kills_leave_ten_readable_records_and_nothing_else() {
    let fs = FaultFs::mount();
    let mut state = 20_261_121u64;
    for _ in 0..10 {
        let cli = Cli::new();
        let mut running = cli.start(long(fs.path()));
        // At a random moment: before the first load, or after some bytes of it.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        running.wait_for("act");
        if state >> 62 > 0 {
            running.wait_for("progress");
        }
        running.signal(Signal::KILL);
        assert_eq!(running.finish(), None);
        let left = names(fs.path());
        assert_eq!(left.len(), 1, "kill -9 leaves the file: {left:?}");
        let shown = cli.run(["show", &cli.run_name()]);
        assert_eq!((shown.code, shown.err.as_str()), (0, ""), "{}", shown.out);
        assert!(shown.out.contains("The record was cut off"), "{}", shown.out);
        assert_eq!(names(fs.path()), left, "a command that looks leaves it");
        let swept = cli.run(["cleanup"]);
        assert_eq!(swept.code, 0, "{}", swept.err);
        assert!(
            swept.out.contains(&left[0])
                && normalised(&swept.out, fs.path()).contains("left by a run that was killed"),
            "{}",
            swept.out
        );
        assert_eq!(names(fs.path()), [""; 0], "cleanup removes it");
    }
}

#[test]
fn an_unwritable_store_is_an_error_with_its_path() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let mut args = short(place.path());
    args.extend(["--store".into(), "/proc/drivebench".into()]);
    let done = cli.run(args);
    assert_eq!(done.code, 1, "{}", done.out);
    assert!(done.err.contains("/proc/drivebench") && done.err.contains("--store DIR"), "{}", done.err);
    assert!(names(place.path()).is_empty());
}

/// What is refused before any drive is looked at closely; the rest is tried in the lab.
#[test]
fn pools_that_can_t_be_planned_are_refused() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let dir = place.path().to_str().expect("UTF-8");
    let none = cli.run(["pool", "status"]);
    assert_eq!((none.code, none.out.as_str()), (0, "No pools were built by drivebench.\n"));
    for (args, why) in [
        (&["pool", "status", "data"][..], "there is no pool data"),
        (&["pool", "destroy", "data"], "there is no pool data"),
        (&["pool", "scrub", "data"], "there is no pool data"),
        (&["pool", "destroy", "../data"], "there is no pool"),
        (&["pool", "create", "--layout", "raid7", "a", "b"], "raid7"),
        (&["pool", "create", "--layout", "raid1", "/nowhere", "/nowhere"], "/nowhere"),
        (&["pool", "create", "--layout", "raid1", "--keep", dir], "--mount"),
        (&["pool", "replace", "/nowhere", "/nowhere"], "/nowhere"),
    ] {
        let done = cli.run(args);
        assert_eq!(done.code, 2, "{args:?}: {}", done.err);
        assert!(words(&done.err).contains(why), "{args:?}: {}", done.err);
    }
}

/// Whether a process handles this signal.
fn catches(pid: u32, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("runs");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a mask");
    u64::from_str_radix(mask.trim(), 16).expect("hexadecimal") & (1 << (signal.as_raw() - 1)) != 0
}

#[test]
fn the_second_run_on_a_drive_is_refused_or_waits() {
    let (cli, other, fs) = (Cli::new(), Cli::new(), FaultFs::mount());
    // However steady and fast the drive is, it takes an hour.
    let hour = ["run", "baseline", "--rounds", "1000", "--max-time", "1h", "--max-bytes", "64G"];
    let hour = hour.iter().map(PathBuf::from).chain([fs.path().to_owned()]).collect::<Vec<_>>();
    let mut first = cli.start(hour);
    first.wait_for("progress");
    let second = other.run(long(fs.path()));
    assert_eq!(second.code, 1, "{}", second.out);
    let expected = "is being measured by another drivebench";
    assert!(normalised(&second.err, fs.path()).contains(expected), "{}", second.err);
    assert!(!other.store().exists());

    // The first Ctrl-C ends a wait; before its handler is there, any signal would.
    let impatient = other.start(short(fs.path()));
    while !catches(impatient.pid(), Signal::INT) {
        std::thread::yield_now();
    }
    impatient.signal(Signal::INT);
    assert_eq!(impatient.finish(), Some(130));

    let waiting = other.start(short(fs.path()));
    first.signal(Signal::INT);
    assert_eq!(first.finish(), Some(130));
    assert_eq!(waiting.finish(), Some(0));
}

#[test]
fn protocols_are_followed_exactly() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let own = place.path().join("own.toml");
    let load = |label: &str, rw: &str, caching: &str| {
        format!(
            "[[loads]]\nlabel = '{label}'\nrw = '{rw}'\nsize = '2MiB'\nblock = '128KiB'\ndepth = 2\ncaching = '{caching}'\n"
        )
    };
    let text = format!(
        "name = 'own'\nabout = 'a'\nsource = 's'\nruns = 3\n{}{}cold = true\n",
        load("out", "write", "buffered+fsync"),
        load("in", "read", "buffered")
    );
    std::fs::write(&own, text).expect("writes");
    let done = cli.run([
        "run",
        "baseline",
        "--wait",
        "--explain",
        "--suite",
        own.to_str().expect("UTF-8"),
        place.path().to_str().expect("UTF-8"),
    ]);
    assert_eq!(done.code, 0, "{}", done.err);
    let outcomes: Vec<(u64, u64)> = cli
        .record()
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).expect("JSON lines"))
        .filter(|e| e["event"] == "outcome")
        .map(|e| {
            (
                e["outcome"]["bytes_written"].as_u64().expect("bytes"),
                e["outcome"]["bytes_read"].as_u64().expect("bytes"),
            )
        })
        .collect();
    assert_eq!(
        outcomes,
        [(2 << 20, 0), (2 << 20, 0), (2 << 20, 0), (0, 2 << 20), (0, 2 << 20), (0, 2 << 20)]
    );
    assert!(words(&done.out).contains("out write 3"), "{}", done.out);
}

#[test]
fn two_targets_are_ranked() {
    let (cli, a, b) = (Cli::new(), Cli::directory(), FaultFs::mount());
    let done = cli.run([short(a.path()), vec![b.path().to_owned()]].concat());
    assert_eq!(done.code, 0, "{}", done.err);
    let said = words(&done.out);
    assert!(said.contains("no difference found") || said.contains("times the slowest"), "{said}");
}

#[test]
fn targets_are_measured_together_and_the_plan_says_which() {
    let (cli, a, b) = (Cli::new(), Cli::directory(), Cli::directory());
    let paths = [a.path().to_str().expect("UTF-8"), b.path().to_str().expect("UTF-8")];
    let common = ["--rw", "write", "--runs", "2", "--max-time", "4s", "--max-bytes", "128M"];
    let args = |more: &'static str| [&["run", "together", more][..], &common, &paths].concat();
    let plan = cli.run(args("--plan"));
    assert_eq!(plan.code, 0, "{}", plan.err);
    let steps: Vec<&str> = plan.out.lines().filter(|l| l.starts_with("  ")).map(str::trim).collect();
    insta::assert_snapshot!(steps.join("\n"));

    let done = cli.run(args("--wait"));
    assert_eq!(done.code, 0, "{}", done.err);
    for expected in ["at once", "share", "sum", "Writes: "] {
        assert!(done.out.replace('\n', " ").contains(expected), "{expected} in {}", done.out);
    }
    assert!(names(a.path()).is_empty() && names(b.path()).is_empty(), "nothing is left");
    let record = cli.record();
    let events = record.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).expect("JSON lines"));
    let did: Vec<serde_json::Value> = events.filter(|e| e["event"] == "processors").collect();
    assert_eq!(did.len(), 13, "each step of loads says what the processors did");
    for did in did.iter().map(|e| &e["did"]) {
        assert!(did["seconds"].as_f64() > Some(0.0) && did["worked"].as_f64().is_some(), "{did}");
        assert!(!did["cores"].as_array().expect("cores").is_empty(), "{did}");
    }
}

#[test]
fn output_without_unicode_is_ascii_and_a_closed_pipe_is_no_error() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let mut args = short(place.path());
    args.push("--ascii".into());
    let done = cli.run(args);
    assert!(done.code == 0 && done.out.is_ascii() && done.err.is_ascii(), "{}{}", done.out, done.err);
    let mut listing = cli.command(["list"]);
    let (reader, writer) = std::os::unix::net::UnixStream::pair().expect("two connected sockets");
    drop(reader);
    let listed = listing.stdout(std::os::fd::OwnedFd::from(writer)).output().expect("drivebench starts");
    assert_eq!(
        (listed.status.code(), String::from_utf8_lossy(&listed.stderr).into_owned()),
        (Some(0), String::new())
    );
}

#[test]
fn help_says_what_there_is() {
    let cli = Cli::new();
    let text = |args: &[&str]| cli.run(args).out;
    insta::assert_snapshot!(
        [
            text(&["--help"]),
            text(&["run", "--help"]),
            text(&["run", "baseline", "--help"]),
            text(&["run", "together", "--help"]),
            text(&["results", "--help"]),
        ]
        .join("\n----\n")
    );
}

#[test]
fn a_report_is_a_new_directory_or_nothing() {
    let (cli, dir) = (Cli::new(), Cli::directory());
    let place = dir.path().to_str().expect("UTF-8");
    let run = cli.run(["run", "baseline", "--wait", "--max-bytes", "4MiB", "--bs", "64k", place]);
    assert_eq!(run.code, 0, "{}", run.err);
    let name = cli.run(["results"]).out.lines().last().and_then(|l| l.split(' ').next().map(str::to_owned));
    let name = name.expect("a run");
    let out = dir.path().join("report");
    let report = |runs: &[&str]| {
        cli.run(["report", "--out", out.to_str().expect("UTF-8")].iter().chain(runs).copied())
    };
    for refused in [report(&[&name, &name]), report(&["nosuch"]), report(&[&name, "last"])] {
        assert_eq!((refused.code, out.exists()), (2, false), "{}", refused.err);
    }
    assert_eq!(report(&[]).code, 0);
    let files: Vec<_> =
        out.read_dir().expect("a directory").map(|f| f.expect("a file").file_name().into_string()).collect();
    let svg = |i: usize| format!("{name}-{i}.svg");
    let whole = [svg(1), svg(2), svg(3), "report.html".to_owned(), "report.md".to_owned()].map(Ok);
    assert!(files.len() == 5 && whole.iter().all(|name| files.contains(name)), "{files:?}");
    let page = std::fs::read_to_string(out.join("report.html")).expect("a page");
    // Each figure once for wide pages and once for narrow ones.
    let figures = page.matches("<svg").count() - page.matches("<svg class=\"bar\"").count();
    assert!(figures == 6 && !page.contains("<script") && !page.contains("src="), "{page}");
    let refused = report(&[&name]);
    assert!(refused.code == 2 && refused.err.contains("exists"), "{}", refused.err);
    let nowhere = cli.run(["report", "--out", "/nonexistent/report", &name]);
    assert!(nowhere.code == 1 && nowhere.err.contains("No such file"), "{}", nowhere.err);
    assert_eq!(dir.path().read_dir().expect("a directory").count(), 1, "nothing half written is left");
}

#[test]
fn list_and_its_json() {
    let cli = Cli::new();
    assert_eq!(cli.run(["list"]).code, 0);
    let json: serde_json::Value =
        serde_json::from_str(&cli.run(["list", "--format", "json"]).out).expect("JSON");
    assert!(json["machine"]["kernel"].is_string() && json["drives"].is_array());
}
