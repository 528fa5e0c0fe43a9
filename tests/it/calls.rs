//! Makes the first call of each kind on each file fail, in each main command: errors say what failed, and no record is lost.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Command, Output},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::support::cli::{Cli, names, words};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
const RUNS: [&str; 2] = ["rbase1", "rbase2"];
/// The calls that name a file or use one, and those for random bytes.
const CALLS: &str = "trace=%file,%desc,getrandom";
/// Of these, those whose failure is the loader's, or of no effect.
const SPARED: [&str; 6] = ["close", "execve", "mmap", "poll", "ppoll", "epoll_wait"];
/// As the kernel says it of the injected fault.
const REASON: &str = "Input/output error";

/// The main commands; `DIR` is a directory to measure, and `OUT` one to write to.
const COMMANDS: [&[&str]; 10] = [
    &["list"],
    &["run", "baseline", "--wait", "--rw", "write", "--max-bytes", "1M", "DIR"],
    &["results"],
    &["show", "rbase1"],
    &["results", "compare", "rbase1", "rbase2"],
    &["results", "export"],
    &["report", "rbase1", "--out", "OUT/page"],
    &["advise"],
    &["import", "IMPORTED"],
    &["cleanup"],
];

/// A store with two runs, a directory to measure, and a command to try there.
struct Place {
    cli: Cli,
    drive: tempfile::TempDir,
    args: Vec<String>,
}

impl Place {
    fn new(args: &[&str]) -> Self {
        let (cli, drive) = (Cli::new(), Cli::directory());
        fs::create_dir_all(cli.store()).expect("creates");
        for run in RUNS {
            let name = format!("{run}.jsonl.gz");
            fs::copy(Path::new(FIXTURES).join("records").join(&name), cli.store().join(&name))
                .expect("copies");
        }
        let dir = drive.path().to_str().expect("UTF-8");
        let place = |arg: &&str| {
            let arg = arg.replace("IMPORTED", &format!("{FIXTURES}/cases/dd-progress-gnu.txt"));
            arg.replace("DIR", dir).replace("OUT", dir)
        };
        let args = args.iter().map(place).collect();
        Self { cli, drive, args }
    }

    /// Runs the command under strace with these options; gives what it said, and strace's log.
    #[expect(clippy::disallowed_methods, reason = "strace is what makes calls fail")]
    fn traced(&self, options: &[&str]) -> (Output, String) {
        let log = self.cli.store().with_file_name("strace.log");
        let plain = self.cli.command(&self.args);
        let mut command = Command::new("strace");
        command.args(["-f", "--seccomp-bpf", "-y", "-qq", "-o"]).arg(&log).args(options);
        command.arg(plain.get_program()).args(plain.get_args()).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.output().expect("strace is needed for this test: apt install strace");
        (output, fs::read_to_string(&log).expect("strace writes its log"))
    }

    fn count(&self) -> usize {
        let stored = names(&self.cli.store());
        stored.iter().filter(|name| name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")).count()
    }
}

/// The first call of each kind on each file: the call's name, and its number in its thread.
fn faults(log: &str, place: &Place) -> Vec<(String, usize)> {
    let mut made: HashMap<(&str, &str), usize> = HashMap::new();
    let mut kinds: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in log.lines() {
        // `4711 openat(AT_FDCWD, "/x", O_RDONLY) = 3`
        let Some((thread, call)) = line.split_once(char::is_whitespace) else { continue };
        let Some((name, arguments)) = call.trim().split_once('(') else { continue };
        if name.starts_with(['<', '+', '-']) || SPARED.contains(&name) {
            continue;
        }
        let number = made.entry((thread, name)).or_default();
        *number += 1;
        let of = arguments.split(['"', '<', '>']).nth(1).unwrap_or_default();
        // The errors of the loader and of Rust's hash maps are not ours.
        let is_foreign = ["/lib", "/usr/lib", "/etc/ld.so"].iter().any(|dir| of.starts_with(dir));
        if is_foreign || arguments.contains("GRND_INSECURE") {
            continue;
        }
        let of = of.replace(place.drive.path().to_str().expect("UTF-8"), "DIR");
        // What the kernel says of the machine is read in one place.
        let of = ["/sys/", "/proc/"].into_iter().find(|dir| of.starts_with(dir)).unwrap_or(&of);
        let of: String = of.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        kinds.entry((name.to_owned(), of)).or_insert(*number);
    }
    let faults: BTreeSet<_> = kinds.into_iter().map(|((name, _), number)| (name, number)).collect();
    faults.into_iter().collect()
}

/// What is wrong with the end of a command one of whose calls failed.
fn wrong(args: &[&str], (call, number): &(String, usize)) -> Option<String> {
    let place = Place::new(args);
    let inject = format!("inject={call}:error=EIO:when={number}");
    let (output, log) = place.traced(&["-e", &format!("trace={call}"), "-e", &inject]);
    let said = words(&String::from_utf8_lossy(&output.stderr));
    let injected: Vec<&str> = log.lines().filter(|line| line.ends_with("(INJECTED)")).collect();
    let fault = || format!("{} with {}: {said}", args[0], injected.join("; "));
    if said.contains("error while loading shared libraries") {
        return None;
    }
    if !matches!(output.status.code(), Some(0..=2)) || said.contains("panicked") {
        return Some(format!(
            "ends with {:?}/{:?}: {}",
            output.status.code(),
            output.status.signal(),
            fault()
        ));
    }
    let is_bare = |before: &str| {
        let marks = ["error: ", "warning: ", "! ", ". "].iter();
        let sentence = marks.filter_map(|mark| Some(before.rfind(mark)? + mark.len())).max().unwrap_or(0);
        before[sentence..].split_whitespace().count() < 2
    };
    if said.match_indices(REASON).any(|(at, _)| is_bare(&said[..at])) {
        return Some(format!("doesn't say what failed: {}", fault()));
    }
    if output.status.code() != Some(0) && said.is_empty() {
        return Some(format!("says nothing: {}", fault()));
    }
    let adds = matches!(args[0], "run" | "import") && output.status.success();
    let results = place.cli.run(["results", "list"]);
    let listed = RUNS.iter().filter(|run| results.out.contains(**run)).count();
    if results.code != 0 || listed < RUNS.len() || place.count() < RUNS.len() + usize::from(adds) {
        return Some(format!("loses a record: {}: {}{}", fault(), results.err, results.out));
    }
    None
}

#[test]
fn errors_of_the_system_say_what_failed_and_lose_no_record() {
    let todo: Vec<(&[&str], (String, usize))> = COMMANDS
        .iter()
        .flat_map(|args| {
            let place = Place::new(args);
            let (output, log) = place.traced(&["-e", CALLS]);
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
            faults(&log, &place).into_iter().map(move |fault| (*args, fault))
        })
        .collect();
    for args in COMMANDS {
        let n = todo.iter().filter(|(of, _)| *of == args).count();
        println!("{args:?}: {n} faults");
        assert!(n > 5, "strace saw nothing of {args:?}");
    }
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((args, fault)) = todo.get(next.fetch_add(1, Ordering::Relaxed)) {
                    found.lock().expect("no panic").extend(wrong(args, fault));
                }
            });
        }
    });
    let found = found.into_inner().expect("no panic");
    assert!(found.is_empty(), "{} of {} faults:\n{}", found.len(), todo.len(), found.join("\n"));
}
