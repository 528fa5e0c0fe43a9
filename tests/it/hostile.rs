//! Names, records, stores and places that somebody prepared: what is printed, what is written, and what is waited for.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::support::cli::{Cli, Done, names, words};
use crate::support::modelled;
use crate::support::modelled::{ask, only, plan, target};
use drivebench::{analyse::Rules, experiments::LoadName, record::Store, units::hides};
use drivebench_modelled::sim::{Board, Model, Zone};
use flate2::read::GzDecoder;
use serde_json::Value;

/// Clears the screen, sets a title, overrides the direction of writing, hides, ends a line, a fence and a cell.
const HOSTILE: &str =
    "a\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{202e}b\u{2066}\u{200b}\u{e0041}\r\n```\n# c</script>|";

/// A stored run of a modelled drive.
fn stored(cli: &Cli, serial: &str) -> String {
    let plan =
        plan(&only(LoadName::Read, ask(vec![target(serial, 62_000_000_000, false)], Rules::quick(), 4096)));
    let zone = vec![Zone { from: 0, rate: 6e6 }];
    let model = Model { capacity: 62_000_000_000, read: zone.clone(), write: zone, ..Model::default() };
    let board = Board { drives: vec![model], buses: vec![], seed: 1 };
    modelled::keep(&Store::at(cli.store()), "2026-11-21T10:00:00Z", &plan.expect("plans"), &board, false)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Runs it with colours, and checks what it prints.
fn printed(cli: &Cli, args: &[&str]) -> Done {
    let args = [&["--color", "always"], args].concat();
    let done = cli.run(&args);
    let colours = ["\u{1b}[1m", "\u{1b}[0m", "\u{1b}[31m", "\u{1b}[33m", "\u{1b}[32m", "\u{1b}[1m\u{1b}[32m"];
    for shown in [&done.out, &done.err] {
        let plain = colours.iter().fold(shown.clone(), |text, colour| text.replace(colour, ""));
        assert!(!plain.contains(|c| hides(c) && c != '\n'), "{args:?} prints {plain:?}");
    }
    done
}

#[test]
fn no_command_prints_what_a_path_orders() {
    let (cli, home) = (Cli::new(), Cli::directory());
    let dir = home.path().join(HOSTILE.replace('/', "_"));
    fs::create_dir(&dir).expect("creates");
    let file = dir.join("log.txt");
    let line = "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n";
    fs::write(&file, line).expect("writes");
    fs::write(dir.join("log2.txt"), line.replace("0.5", "0.6").replace("2.1", "1.7")).expect("writes");
    let store = text(&dir);
    let run = |args: &[&str]| printed(&cli, args);
    assert_eq!(run(&["import", text(&dir), "--rw", "write", "--drive", "x"]).code, 0);
    let (a, b) = {
        let out = run(&["results"]).out;
        let mut runs =
            out.lines().skip(1).filter_map(|line| Some(line.split_whitespace().next()?.to_owned()));
        (runs.next().expect("a run"), runs.next().expect("another"))
    };
    for format in ["text", "markdown", "json"] {
        assert_eq!(run(&["show", &a, "--full", "--format", format]).code, 0);
        assert_eq!(run(&["results", "compare", &a, &b, "--full", "--format", format]).code, 0);
    }
    for format in ["csv", "json", "openmetrics"] {
        assert_eq!(run(&["results", "export", "--format", format]).code, 0);
    }
    for args in [
        &["run", "baseline", "--plan", store][..],
        &["run", "smallfiles", "--wait", "--max-bytes", "2M", store],
        &["run", "smallfiles", "--wait", "--max-bytes", "2M", "--events", store],
        &["run", "baseline", "--plan", "--format", "json", store],
        &["run", "baseline", &format!("{store}/none")],
        &["run", "cliff", HOSTILE],
        &["run", "baseline", "--suite", HOSTILE, store],
        &["--store", store, "results"],
        &["--store", store, "show", HOSTILE],
        &["--store", text(&file), "results"],
        &["list", "--sysroot", store],
        &["list", "--sysroot", text(&file)],
        &["results", "export", "--dataset", store],
        &["report", &a, "--out", store],
        &["capture", text(&file)],
        &["bay", "name", HOSTILE, HOSTILE],
        &["results", "rm", HOSTILE],
        &["results", "--since", HOSTILE],
        &[HOSTILE],
        &["run", HOSTILE],
        &["show", &format!("--{HOSTILE}")],
    ] {
        run(args);
    }
    let written = run(&["report", &a, &b, "--out", &format!("{store}/report")]);
    assert_eq!(written.code, 0, "{}", written.err);
    for name in names(&dir.join("report")) {
        let page = fs::read_to_string(dir.join("report").join(&name)).expect("reads");
        assert!(!page.contains(|c| hides(c) && c != '\n'), "{name}: {page}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a shell reads what is to be copied")]
fn commands_to_copy_work_for_any_name() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt, process::Command};
    let (cli, home) = (Cli::new(), Cli::directory());
    let dir = home.path().join("a 'b'\n\u{202e}c");
    let not_text = home.path().join(OsStr::from_bytes(b"st\xff"));
    fs::create_dir(&dir).and_then(|()| fs::create_dir(&not_text)).expect("creates");
    let log = home.path().join("dd.txt");
    fs::write(&log, "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n").expect("writes");
    for store in [&dir, &not_text] {
        let done = cli.run(["--store".as_ref(), store.as_os_str(), "import".as_ref(), log.as_os_str()]);
        // The command stands on lines of its own.
        let at = done.err.find("  drivebench show").expect("a command");
        let lines: Vec<&str> = done.err[at..].lines().take_while(|line| !line.contains("report")).collect();
        let command = lines.join("\n").replacen("drivebench", env!("CARGO_BIN_EXE_drivebench"), 1);
        let shown = Command::new("bash").args(["-c", &command]).output().expect("bash starts");
        assert!(shown.status.success(), "{command}: {}", String::from_utf8_lossy(&shown.stderr));
    }
    let missing = cli.run(["--store".as_ref(), dir.as_os_str(), "show".as_ref(), "nosuch".as_ref()]);
    assert!(words(&missing.err).contains("`drivebench results --store $'"), "{}", missing.err);
    let inside = cli.command(["run", "baseline", "."]).current_dir(&not_text).output().expect("starts");
    let said = words(&String::from_utf8_lossy(&inside.stderr));
    assert!(
        said.contains("not UTF-8") && said.contains("hint: rename") && said.contains("st\\377"),
        "{said}"
    );
    let named = cli.run(["run".as_ref(), "baseline".as_ref(), not_text.as_os_str()]);
    let said = words(&named.err);
    assert!(named.code == 2 && said.contains("is not UTF-8") && said.contains("hint: rename"), "{said}");
}

/// Appends to each text in turn, by its path, the same for all members of a list.
fn changed(value: &mut Value, at: &str, want: &str, seen: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            if !seen.iter().any(|path| path == at) {
                seen.push(at.to_owned());
            }
            if at == want {
                text.push_str(HOSTILE);
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|one| changed(one, &format!("{at}[]"), want, seen)),
        Value::Object(all) => {
            all.iter_mut().for_each(|(key, one)| changed(one, &format!("{at}.{key}"), want, seen));
        }
        _ => {}
    }
}

#[test]
fn no_text_of_a_record_gives_orders_and_no_fence_ends_early() {
    let cli = Cli::new();
    let whole = stored(&cli, "4C530001");
    let lines = fs::read_to_string(cli.store().join(format!("{whole}.jsonl"))).expect("reads");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let with = |want: &str, seen: &mut Vec<String>| {
        let one = |line: &Value| {
            let mut line = line.clone();
            let event = line["event"].as_str().unwrap_or_default().to_owned();
            changed(&mut line, &event, want, seen);
            line.to_string() + "\n"
        };
        lines.iter().map(one).collect::<String>()
    };
    let mut paths = Vec::new();
    with("", &mut paths);
    let file = cli.store().join("rhostile.jsonl");
    let mut shown = 0;
    for path in &paths {
        fs::write(&file, with(path, &mut Vec::new())).expect("writes");
        printed(&cli, &["results"]);
        let full = printed(&cli, &["show", "rhostile", "--full"]);
        let page = printed(&cli, &["show", "rhostile", "--format", "markdown"]);
        shown += usize::from(full.out.contains("a?[2J"));
        let fences = page.out.lines().filter(|line| line.starts_with("```")).count();
        assert!(fences == 0 || fences == 2, "{path}: {}", page.out);
        assert!(!page.out.lines().any(|line| line.starts_with("# c")), "{path}: {}", page.out);
    }
    assert!(shown > 5, "the texts of {shown} of {} places are shown", paths.len());
}

#[test]
fn planted_links_are_neither_followed_nor_replaced() {
    let (cli, home) = (Cli::new(), Cli::directory());
    let run = stored(&cli, "4C530001");
    let at = |name: &str| home.path().join(name);
    fs::write(at("victim"), "mine").expect("writes");
    for (name, to) in [("a.pack", "victim"), ("b.pack", "nothing"), ("d.tar.gz", "nothing")] {
        symlink(to, at(name)).expect("links");
        let out = at(name);
        let args = match name {
            "d.tar.gz" => vec!["capture", text(&out)],
            _ => vec!["results", "pack", &run, "--out", text(&out)],
        };
        let refused = cli.run(&args);
        assert_eq!(refused.code, 2, "{name}: {}", refused.err);
        assert!(words(&refused.err).contains("already exists"), "{name}: {}", refused.err);
        assert!(out.is_symlink());
        assert_eq!(fs::read_to_string(at("victim")).expect("stays"), "mine", "{name}");
        assert!(!at("nothing").exists(), "{name}");
    }
    symlink("elsewhere", at("report")).expect("links");
    assert_eq!(cli.run(["report", &run, "--out", text(&at("report"))]).code, 2);
    assert!(!at("elsewhere").exists());
}

#[test]
fn results_can_be_read_by_their_owner_only() {
    let (cli, home) = (Cli::new(), Cli::directory());
    let log = home.path().join("log.txt");
    fs::write(&log, "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n").expect("writes");
    let mode = |path: &Path| path.symlink_metadata().expect("there").permissions().mode() & 0o777;
    assert_eq!(cli.run(["import", "--rw", "write", text(&log)]).code, 0);
    assert_eq!(cli.run(["results"]).code, 0);
    assert_eq!(mode(&cli.store()), 0o700);
    let files = names(&cli.store());
    assert_eq!(files.len(), 2, "a record and the index: {files:?}");
    for file in files {
        assert_eq!(mode(&cli.store().join(&file)), 0o600, "{file}");
    }
    let capture = home.path().join("here.tar.gz");
    assert_eq!(cli.run(["capture", text(&capture)]).code, 0);
    assert_eq!(mode(&capture), 0o600);
}

#[test]
fn with_sudo_results_belong_to_the_user_who_called() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (cli, home) = (Cli::new(), Cli::directory());
    let (uid, gid) = (54_321, 54_322);
    chown(home.path(), Some(uid), Some(gid)).expect("gives it away");
    let sudo = |args: &[&str], uid: u32| {
        let mut command = cli.command(args);
        command.env("SUDO_UID", uid.to_string()).env("SUDO_GID", gid.to_string()).env_remove("XDG_DATA_HOME");
        command.output().expect("starts")
    };
    let log = home.path().join("log.txt");
    fs::write(&log, "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n").expect("writes");
    let (store, capture) = (home.path().join("data/store"), home.path().join("here.tar.gz"));
    assert!(sudo(&["--store", text(&store), "import", "--rw", "write", text(&log)], uid).status.success());
    assert!(sudo(&["--store", text(&store), "results"], uid).status.success());
    assert!(
        sudo(
            &["--store", text(&store), "run", "smallfiles", "--max-bytes", "1M", "--wait", text(home.path())],
            uid
        )
        .status
        .success()
    );
    assert!(sudo(&["capture", text(&capture)], uid).status.success());
    let inside = names(&store).into_iter().map(|name| store.join(name));
    for path in inside.chain([capture, store.clone(), home.path().join("data")]) {
        let about = path.symlink_metadata().expect("there");
        assert_eq!((about.uid(), about.gid()), (uid, gid), "{}", path.display());
    }
    // What root creates in a directory of somebody else stays root's.
    let other = home.path().join("data/other");
    assert!(
        sudo(&["--store", text(&other), "import", "--rw", "write", text(&log)], uid + 1).status.success()
    );
    assert_eq!(other.symlink_metadata().expect("there").uid(), 0);
    // Their home is that of the list of users.
    let users = fs::read_to_string("/etc/passwd").expect("reads");
    let user = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .filter(|user| user.len() > 6)
        .find(|user| user[2] != "0" && user[5] != "/");
    let Some(user) = user else { return };
    let listed = sudo(&["results"], user[2].parse().expect("a number"));
    let said = String::from_utf8(listed.stderr).expect("UTF-8");
    assert!(
        said.split_whitespace().collect::<String>().contains(&format!("{}/.local/share/drivebench", user[5])),
        "{said}"
    );
}

#[test]
fn special_files_in_the_store_and_configuration_are_not_waited_for() {
    let cli = Cli::new();
    let run = stored(&cli, "4C530001");
    let fifo = |path: PathBuf| {
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .expect("a FIFO");
    };
    let store = cli.store();
    fs::create_dir_all(store.join("journals")).expect("creates");
    fs::create_dir_all(cli.config().join("drivebench")).expect("creates");
    for name in ["rfifo.jsonl", "rboth.jsonl", "rboth.jsonl.gz", "index", ".index.1.0", "journals/rfifo.0"] {
        fifo(store.join(name));
    }
    fifo(cli.config().join("drivebench/bays.toml"));
    for (name, to) in [
        ("rzero.jsonl", "/dev/zero"),
        ("rfull.jsonl.gz", "/dev/full"),
        ("journals/rzero.0", "/dev/zero"),
        ("rloop.jsonl", "rloop.jsonl"),
    ] {
        symlink(to, store.join(name)).expect("links");
    }
    let place = Cli::directory();
    let out = place.path().join("out");
    let log = place.path().join("log.txt");
    fs::write(&log, "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n").expect("writes");
    for (args, code) in [
        (&["results"][..], 0),
        (&["results", "export"], 1),
        (&["show", "rfifo"], 1),
        (&["show", "rboth"], 1),
        (&["show", "rzero"], 1),
        (&["show", &run], 0),
        (&["report", &run, "--out", text(&out)], 0),
        (&["list"], 0),
        (&["list", "--sysroot", text(&store.join("rfifo.jsonl"))], 2),
        (&["advise"], 0),
        (&["cleanup"], 0),
        (&["import", "--rw", "read", text(&store.join("rfifo.jsonl"))], 2),
        (&["import", "--rw", "read", text(&log)], 0),
        (&["run", "smallfiles", "--wait", "--max-bytes", "1M", text(place.path())], 0),
        (&["results", "rm", "rfifo", "rzero"], 0),
    ] {
        let mut child = cli
            .command(args)
            .env("XDG_CONFIG_HOME", cli.config())
            .stdout(Stdio::null())
            .spawn()
            .expect("starts");
        assert_eq!(child.wait().expect("ends").code(), Some(code), "{args:?}");
    }
}

#[test]
fn events_that_cannot_be_written_are_an_error_and_the_results_are_kept() {
    let (cli, place) = (Cli::new(), Cli::directory());
    let mut command =
        cli.command(["run", "smallfiles", "--wait", "--max-bytes", "1M", "--events", text(place.path())]);
    let full = File::options().write(true).open("/dev/full").expect("opens");
    let output = command.stdout(full).output().expect("starts");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the events can't be written"), "{said}");
    assert_eq!(cli.run(["show", &cli.run_name()]).code, 0);
    // Whoever reads them may stop.
    let mut command =
        cli.command(["run", "smallfiles", "--wait", "--max-bytes", "1M", "--events", text(place.path())]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("starts");
    let mut first = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut first).expect("reads");
    assert_eq!(child.wait().expect("ends").code(), Some(0));
}

#[test]
fn a_line_over_the_limit_is_damage_and_not_a_run_that_was_killed() {
    let cli = Cli::new();
    let run = stored(&cli, "4C530001");
    let path = cli.store().join(format!("{run}.jsonl"));
    let whole = fs::read_to_string(&path).expect("reads");
    let lines = whole.lines().count();
    let long = "x".repeat(17 << 20);
    let note = |text: &str| format!("{{\"event\":\"note\",\"target\":null,\"text\":\"{text}\"}}");
    for (content, at) in [
        (format!("{whole}{}\n", note(&long)), lines + 1),
        (format!("{whole}{}", note(&long)), lines + 1),
        (format!("{whole}{}\n{}\n", note(&long), note("after")), lines + 1),
    ] {
        fs::write(&path, content).expect("writes");
        let shown = cli.run(["show", &run]);
        let said = words(&(shown.out + &shown.err));
        assert!(said.contains(&format!("damaged at line {at}: longer than 16 MiB")), "{said}");
        assert!(!said.contains("cut off"), "{said}");
    }
    fs::write(&path, format!("{{\"event\":\"start\",\"x\":\"{long}\"}}\n")).expect("writes");
    let shown = cli.run(["show", &run]);
    assert!(words(&shown.err).contains("longer than 16 MiB"), "{}", shown.err);
}

#[test]
fn a_small_file_that_unpacks_to_gigabytes_is_not_read_to_its_end() {
    let cli = Cli::new();
    let run = stored(&cli, "4C53");
    let plain = fs::read(cli.store().join(format!("{run}.jsonl"))).expect("a record");
    let path = cli.store().join(format!("{run}.jsonl.gz"));
    // Notes that are all valid, 64 MiB of them: 2 GiB would take as many times longer.
    let note = format!("{{\"event\":\"note\",\"text\":\"{}\"}}\n", "a".repeat(1 << 20));
    let pack = |notes: usize| {
        let mut out =
            flate2::write::GzEncoder::new(File::create(&path).expect("creates"), flate2::Compression::best());
        out.write_all(&plain).expect("writes");
        (0..notes).for_each(|_| out.write_all(note.as_bytes()).expect("writes"));
        out.finish().expect("writes");
        fs::metadata(&path).expect("is there").len()
    };
    fs::remove_file(cli.store().join(format!("{run}.jsonl"))).expect("removes");
    assert!(pack(64) * 200 < 64 << 20, "it is a bomb");
    let shown = cli.run(["results", "export"]);
    assert_eq!(shown.code, 1, "{}", shown.err);
    assert!(words(&shown.err).contains("unpacks to more than 200 times its size"), "{}", shown.err);
}

#[test]
fn what_holds_no_machine_is_not_called_one_without_drives() {
    let (cli, home) = (Cli::new(), Cli::directory());
    let at = |name: &str| home.path().join(name);
    fs::write(at("empty"), "").expect("writes");
    fs::write(at("zeros"), vec![0; 10_240]).expect("writes");
    let mut gzip = flate2::write::GzEncoder::new(
        File::create(at("empty.gz")).expect("creates"),
        flate2::Compression::fast(),
    );
    gzip.write_all(b"").expect("writes");
    gzip.finish().expect("ends");
    fs::create_dir(at("dir")).expect("creates");
    let mut tar = tar::Builder::new(File::create(at("photos.tar")).expect("creates"));
    let mut header = tar::Header::new_gnu();
    header.set_size(1);
    tar.append_data(&mut header, "photos/1.jpg", &b"x"[..]).expect("packs");
    tar.into_inner().expect("ends");
    for name in ["empty", "zeros", "empty.gz", "dir", "photos.tar"] {
        for command in ["list", "advise"] {
            let done = cli.run([command, "--sysroot", text(&at(name))]);
            assert_eq!((done.code, done.out.as_str()), (2, ""), "{command} {name}: {}", done.err);
            assert!(words(&done.err).contains("holds no captured machine"), "{command} {name}: {}", done.err);
        }
    }
}

#[test]
fn what_a_killed_process_left_in_the_store_is_swept() {
    let cli = Cli::new();
    let run = stored(&cli, "4C530001");
    let store = cli.store();
    let shown = cli.run(["show", &run]).out;
    // Killed while it was compressed, and after.
    for name in [".index.7.0", &format!(".{run}.jsonl.gz.7.0")] {
        fs::write(store.join(name), "half").expect("writes");
    }
    fs::write(store.join(".notes.7.0"), "mine").expect("writes");
    fs::write(store.join(".index.txt"), "mine").expect("writes");
    assert_eq!(cli.run(["cleanup"]).code, 0);
    let sorted = || {
        let mut names = names(&store);
        names.sort();
        names
    };
    assert_eq!(sorted(), [".index.txt".to_owned(), ".notes.7.0".to_owned(), format!("{run}.jsonl")]);
    let plain = fs::read(store.join(format!("{run}.jsonl"))).expect("reads");
    Store::at(store.clone()).pack(&run).expect("packs");
    let mut again = Vec::new();
    let packed = File::open(store.join(format!("{run}.jsonl.gz"))).expect("opens");
    std::io::Read::read_to_end(&mut GzDecoder::new(packed), &mut again).expect("unpacks");
    assert_eq!(again, plain);
    fs::write(store.join(format!("{run}.jsonl")), &plain).expect("writes");
    assert_eq!(cli.run(["cleanup"]).code, 0);
    assert_eq!(sorted(), [".index.txt".to_owned(), ".notes.7.0".to_owned(), format!("{run}.jsonl.gz")]);
    assert_eq!(cli.run(["show", &run]).out, shown);
}
