//! `kills [NAME] [--times N]`: SIGKILL at moments spread over the life of every command, and what must hold afterwards.
//!
//! Each kill begins with a copy of the same store: finished runs, one of them not compressed, an import, and a run that was interrupted.
//! Afterwards every finished run has the same bytes, `results` lists all, the killed run is shown and resumed, and nothing is
//! left in the store, the target, the output directory and the directory for temporary files; no process of it lives.
//! drivebench is this program itself, started again with a variable set.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

#[path = "../tests/it/support/faultfs.rs"]
mod faultfs;
#[path = "kills_files.rs"]
mod files;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read as _,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Output, Stdio},
    time::{Duration, Instant},
};

use drivebench::cli;
use faultfs::FaultFs;
use files::{copy, empty, names, tree};
use rand::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

type Error = Box<dyn std::error::Error>;

/// Says that this process is to be drivebench, and of which kill it is.
const CHILD: &str = "KILLS_CHILD";
/// How long a killed process and those that it started may take to disappear.
const GONE: Duration = Duration::from_secs(10);

/// Further resumes of a run whose time is up too early on a busy machine: each has as much time again.
const RESUMES: u32 = 3;

/// The commands. `W` and `X` are finished runs, `R` one to resume, `I` an import; `@fuse` and `@disk` are targets, `@out/` the
/// output directory. What `+` precedes, a run killed before has left files.
const COMMANDS: [&str; 41] = [
    "run baseline --rw write --max-bytes 1M @fuse",
    "run baseline --rw write,randread --bs 64k --max-bytes 2M --engine psync @fuse",
    "run baseline --rw write,read --bs 64k --iodepth 4 --max-bytes 8M --engine uring @disk",
    "run baseline --rw write --bs 64k --max-bytes 4M --engine fio --max-time 2s @disk",
    "run baseline --suite db --max-bytes 2M --max-time 2s @disk",
    "run sizes --runs 1 --largest 64k --max-bytes 4M @disk",
    "run sizes --runs 1 --largest 16k --max-bytes 2M @fuse",
    "run smallfiles --files 30 --size 20k --runs 1 @disk",
    "run cliff --max-bytes 8M --pause 1s @disk",
    "run pagecache --runs 1 --max-bytes 4M @disk",
    "run together --runs 1 --max-bytes 4M --max-time 3s @disk @fuse",
    "run baseline --plan @disk",
    "run baseline --resume R",
    "run baseline --resume R --events",
    "+run baseline --rw write --max-bytes 1M @fuse",
    "+cleanup",
    "cleanup",
    "list",
    "list --format json",
    "list --sysroot @machine",
    "advise",
    "advise --format json",
    "capture @out/machine.tar.gz",
    "capture --anonymise @out/machine.tar.gz",
    "import @import/fio-2.2.10.json",
    "import @import",
    "results",
    "show W X --format json",
    "show W --full",
    "show I --format markdown",
    "results compare W X",
    "results compare W X --format json",
    "results export",
    "results pack W --identities --out @out/w.pack",
    "results rm W",
    "results rm W X I",
    "results rm R",
    "bay",
    "bay forget upper",
    "completions bash",
    "man drivebench",
];

fn main() -> Result<ExitCode, Error> {
    if std::env::var_os(CHILD).is_some() {
        return Ok(cli::main());
    }
    let (mut wanted, mut times) = (None, 300);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--times" => times = args.next().ok_or("--times needs a number")?.parse()?,
            _ => wanted = Some(arg),
        }
    }
    let mut commands = COMMANDS.to_vec();
    commands.retain(|line| wanted.as_ref().is_none_or(|part| line.contains(part)));
    if commands.is_empty() {
        return Err("no such command".into());
    }
    let mut bench = Bench::new()?;
    let mut lives = BTreeMap::new();
    for line in &commands {
        let life = bench.life(line)?;
        println!("{:>7.0} ms  {line}", life.as_secs_f64() * 1e3);
        lives.insert(*line, life);
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut kills, mut late, mut resumed, mut cut, mut failures) = (0, 0, 0, 0, 0);
    while kills < times {
        let line = commands[kills % commands.len()];
        let part = random.random_range(0.0..1.0);
        match bench.kill(line, lives[line].mul_f64(part)) {
            // It doesn't count.
            Ok(None) => late += 1,
            Ok(Some(then)) => {
                kills += 1;
                resumed += u32::from(then == Then::Resumed);
                cut += u32::from(then == Then::SaidToBeCut);
            }
            Err(why) => {
                kills += 1;
                failures += 1;
                println!("kill {kills}, after {:.0} % of `{line}`: {why}", part * 100.0);
            }
        }
    }
    println!("{resumed} runs were resumed, {cut} were cut before their plan; {late} commands ended before");
    println!("kills: {failures} failures in {kills} kills of {} commands", commands.len());
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What became of the run that was killed.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    None,
    Resumed,
    SaidToBeCut,
}

/// The directories, and what the store holds before each kill.
struct Bench {
    fuse: FaultFs,
    home: tempfile::TempDir,
    disk: tempfile::TempDir,
    /// The letters of the commands, and the runs for which they stand.
    runs: BTreeMap<&'static str, String>,
    /// The record of each run.
    records: BTreeMap<String, Vec<u8>>,
    /// What an undisturbed command leaves in the output directory.
    outputs: BTreeMap<String, BTreeMap<PathBuf, Vec<u8>>>,
}

impl Bench {
    fn new() -> Result<Self, Error> {
        // Beside the program, which is not in memory.
        let disk = tempfile::tempdir_in(std::env::current_exe()?.with_file_name(""))?;
        let mut bench = Self {
            fuse: FaultFs::mount(),
            home: tempfile::tempdir()?,
            disk,
            runs: BTreeMap::new(),
            records: BTreeMap::new(),
            outputs: BTreeMap::new(),
        };
        for dir in ["target", "template", "template/out", "template/tmp", "template/config/drivebench"] {
            fs::create_dir_all(bench.at(dir))?;
        }
        fs::create_dir(bench.disk.path().join("target"))?;
        fs::write(bench.at("template/config/drivebench/bays.toml"), "[bays]\n\"a-1.1\" = \"upper\"\n")?;
        bench.reset()?;
        bench.must("capture @out/machine.tar.gz")?;
        fs::rename(bench.at("live/out/machine.tar.gz"), bench.at("machine.tar.gz"))?;
        for (letter, line) in [
            ("W", "run baseline --rw write --max-bytes 1M @fuse"),
            ("X", "run baseline --rw write --max-bytes 1M @fuse"),
            ("I", "import @import/fio-3.33-repeated.json"),
        ] {
            bench.must(line)?;
            let new = bench.stored()?.into_keys().find(|run| !bench.runs.values().any(|known| known == run));
            bench.runs.insert(letter, new.ok_or("a run")?);
        }
        bench.interrupted()?;
        let new = bench.stored()?.into_keys().find(|run| !bench.runs.values().any(|known| known == run));
        bench.runs.insert("R", new.ok_or("a run")?);
        // As after a kill before it was compressed.
        let plain = bench.stored()?.remove(&bench.runs["X"]).ok_or("a run")?;
        let store = bench.at("live/data/drivebench");
        fs::write(store.join(format!("{}.jsonl", bench.runs["X"])), plain)?;
        fs::remove_file(store.join(format!("{}.jsonl.gz", bench.runs["X"])))?;
        bench.records = bench.stored()?;
        fs::remove_dir_all(bench.at("template"))?;
        fs::rename(bench.at("live"), bench.at("template"))?;
        Ok(bench)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn targets(&self) -> [PathBuf; 2] {
        [self.fuse.path().to_owned(), self.disk.path().join("target")]
    }

    /// The store and all else as before each kill.
    fn reset(&self) -> Result<(), Error> {
        let live = self.at("live");
        if live.exists() {
            fs::remove_dir_all(&live)?;
        }
        copy(&self.at("template"), &live)
    }

    #[expect(clippy::disallowed_methods, reason = "the benchmark is drivebench's user")]
    fn command(&self, line: &str) -> Result<Command, Error> {
        let [fuse, disk] = self.targets();
        let word = |word: &str| match word {
            "@fuse" => fuse.clone().into(),
            "@disk" => disk.clone().into(),
            "@machine" => self.at("machine.tar.gz").into(),
            _ if word.starts_with("@out") => self.at("live/out").join(&word[5..]).into(),
            _ if word.starts_with("@import") => {
                Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(&word[1..]).into()
            }
            _ => std::ffi::OsString::from(self.runs.get(word).map_or(word, String::as_str)),
        };
        let mut command = Command::new(std::env::current_exe()?);
        command.args(line.trim_start_matches('+').split(' ').map(word)).env_clear();
        if line.contains("@disk") {
            command.arg("--wait");
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env("PATH", path).env(CHILD, self.home.path()).env("LC_ALL", "C.UTF-8");
        for (name, dir) in
            [("HOME", ""), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config"), ("TMPDIR", "tmp")]
        {
            command.env(name, self.at("live").join(dir));
        }
        command.stdin(Stdio::null());
        Ok(command)
    }

    fn must(&self, line: &str) -> Result<Output, Error> {
        let done = self.command(line)?.output()?;
        let error = String::from_utf8_lossy(&done.stderr);
        if done.status.success() { Ok(done) } else { Err(format!("`{line}` fails: {error}").into()) }
    }

    /// A run that Ctrl-C stops in its first load.
    fn interrupted(&self) -> Result<(), Error> {
        let mut child = self.under_way("run baseline --rw write,read --bs 64k --max-bytes 3M @fuse")?;
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&child),
            rustix::process::Signal::INT,
        )?;
        self.fuse.release();
        child.wait()?;
        Ok(())
    }

    /// What a killed run leaves: a file and its journal. Its record goes, so that it isn't the one to look at.
    fn leave_files(&self) -> Result<(), Error> {
        let mut child = self.under_way("run baseline --rw write --max-bytes 3M @fuse")?;
        child.kill()?;
        self.fuse.release();
        child.wait()?;
        let known = |path: &Path| self.records.keys().any(|run| path.ends_with(format!("{run}.jsonl")));
        for entry in fs::read_dir(self.at("live/data/drivebench"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "jsonl") && !known(&path) {
                fs::remove_file(path)?;
            }
        }
        if names(self.fuse.path())?.is_empty() {
            return Err("the killed run left nothing to clean up".into());
        }
        Ok(())
    }

    /// A run whose first transfers hang.
    fn under_way(&self, line: &str) -> Result<Child, Error> {
        self.fuse.set(|faults| faults.hold = true);
        let mut child = self.command(line)?.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        while self.fuse.held() == 0 {
            if child.try_wait()?.is_some() {
                return Err(format!("`{line}` ended early").into());
            }
            std::thread::yield_now();
        }
        Ok(child)
    }

    /// How long a command takes that nobody kills; the shorter of two times.
    fn life(&mut self, line: &str) -> Result<Duration, Error> {
        let mut life = || {
            self.reset()?;
            if line.starts_with('+') {
                self.leave_files()?;
            }
            let since = Instant::now();
            self.must(line)?;
            let life = since.elapsed();
            self.outputs.insert(line.to_owned(), tree(&self.at("live/out"))?);
            self.clean().map(|()| life)
        };
        Ok(life()?.min(life()?))
    }

    /// Kills it after a time; none if it had ended before.
    fn kill(&self, line: &str, after: Duration) -> Result<Option<Then>, Error> {
        self.reset()?;
        // Of the failure before this.
        self.targets().iter().try_for_each(|dir| empty(dir))?;
        if line.starts_with('+') {
            self.leave_files()?;
        }
        let mut child = self.command(line)?.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        std::thread::sleep(after);
        child.kill()?;
        let alive = child.wait()?.signal().is_some();
        self.gone()?;
        self.kept(line)?;
        let then = self.go_on(line)?;
        if then != Then::Resumed {
            self.must("cleanup")?;
        }
        if line.contains("run ") && then == Then::None {
            // No lock stays.
            self.must("run baseline --rw write --max-bytes 1M @fuse")?;
        }
        self.kept(line)?;
        self.clean()?;
        self.written(line)?;
        Ok(alive.then_some(then))
    }

    /// No process that drivebench started lives on.
    fn gone(&self) -> Result<(), Error> {
        let mark = format!("{CHILD}={}", self.home.path().display()).into_bytes();
        let is_ours = |path: &Path| {
            let holds = |bytes: Vec<u8>| bytes.split(|byte| *byte == 0).any(|one| one == mark);
            fs::read(path.join("environ")).is_ok_and(holds)
        };
        let since = Instant::now();
        loop {
            let alive: Vec<_> = fs::read_dir("/proc")?.flatten().map(|entry| entry.path()).collect();
            let Some(one) = alive.iter().find(|path| is_ours(path)) else { return Ok(()) };
            if since.elapsed() > GONE {
                let what = fs::read_to_string(one.join("cmdline")).unwrap_or_default().replace('\0', " ");
                return Err(format!("{} lives on: {what}", one.display()).into());
            }
            std::thread::yield_now();
        }
    }

    /// All records of the store as they were written; of a run that has two files, of the first that is whole.
    fn stored(&self) -> Result<BTreeMap<String, Vec<u8>>, Error> {
        let mut records = BTreeMap::new();
        let store = self.at("live/data/drivebench");
        for name in names(&store)? {
            let mut bytes = fs::read(store.join(&name)).unwrap_or_default();
            let run = if let Some(run) = name.strip_suffix(".jsonl.gz") {
                let packed = std::mem::take(&mut bytes);
                flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes)?;
                run
            } else if let Some(run) = name.strip_suffix(".jsonl") {
                run
            } else {
                continue;
            };
            if records.insert(run.to_owned(), bytes.clone()).is_some_and(|other| other != bytes) {
                return Err(format!("{run} has two records, and they differ").into());
            }
        }
        Ok(records)
    }

    /// No run is lost: the records before have the same bytes, the list names all of them, and each is shown.
    fn kept(&self, line: &str) -> Result<(), Error> {
        let now = self.stored()?;
        let named: BTreeSet<&str> = line.split(' ').collect();
        let named =
            |run: &str| self.runs.iter().any(|(letter, known)| known == run && named.contains(letter));
        for (run, before) in &self.records {
            match now.get(run) {
                None if line.contains("results rm") && named(run) => {}
                None => return Err(format!("{run} is lost").into()),
                Some(now) if now == before => {}
                Some(now) if line.contains("--resume") && named(run) && now.starts_with(before) => {}
                Some(_) => return Err(format!("{run} has changed").into()),
            }
        }
        let listed = self.must("results")?;
        if !listed.stderr.is_empty() {
            return Err(format!("`results` says {}", String::from_utf8_lossy(&listed.stderr)).into());
        }
        let listed = String::from_utf8(listed.stdout)?;
        let listed: BTreeSet<&str> =
            listed.lines().skip(1).filter_map(|line| line.split(' ').next()).collect();
        if listed != now.keys().map(String::as_str).collect() {
            return Err(format!("`results` lists {listed:?}, the store has {:?}", now.keys()).into());
        }
        self.must(&format!("show {}", now.into_keys().collect::<Vec<_>>().join(" ")))?;
        Ok(())
    }

    /// Resumes the run that was killed.
    fn go_on(&self, line: &str) -> Result<Then, Error> {
        let goes_on = |run: &str| line.contains("--resume") && run == self.runs["R"];
        let killed = |(run, _): &(String, Vec<u8>)| goes_on(run) || !self.records.contains_key(run);
        let mut then = Then::None;
        for (run, record) in self.stored()?.into_iter().filter(killed) {
            let lines: Vec<serde_json::Value> =
                String::from_utf8(record)?.lines().map(serde_json::from_str).map_while(Result::ok).collect();
            if line.contains("import") {
                let whole = lines.last().is_some_and(|last| last["event"] == "end");
                whole.then_some(()).ok_or_else(|| format!("{run} is half an import"))?;
                continue;
            }
            let experiment =
                lines.first().and_then(|first| first["experiment"].as_str()).ok_or("no start")?;
            let resume = format!("run {experiment} --resume {run}");
            let mut more = 0..RESUMES;
            let (done, error) = loop {
                let done = self.command(&resume)?.output()?;
                let error =
                    String::from_utf8_lossy(&done.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
                let is_late = error.contains("the time was up before there was one");
                if !is_late || more.next().is_none() {
                    break (done, error);
                }
            };
            then = match done.status.success() {
                true => Then::Resumed,
                false if error.contains("is complete") => then,
                false if error.contains("ended before its plan was saved: start a new run") => {
                    Then::SaidToBeCut
                }
                false => return Err(format!("`{resume}` fails: {error}").into()),
            };
        }
        Ok(then)
    }

    /// Nothing is left in targets, store, configuration and the directory for temporary files.
    fn clean(&self) -> Result<(), Error> {
        let mut left = Vec::new();
        for dir in
            self.targets().into_iter().chain([self.at("live/tmp"), self.at("live/data/drivebench/journals")])
        {
            left.extend(names(&dir)?.into_iter().map(|name| dir.join(name)));
        }
        let known = |name: &str| {
            let run = name.strip_suffix(".jsonl.gz").or(name.strip_suffix(".jsonl"));
            ["index", "journals", "pseudonyms.key"].contains(&name)
                || run.is_some_and(|run| run.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        };
        let (store, config) = (self.at("live/data/drivebench"), self.at("live/config/drivebench"));
        let mut twice = BTreeSet::new();
        for name in names(&store)? {
            let run = name.split('.').next().unwrap_or_default().to_owned();
            if !known(&name) || !twice.insert(run) {
                left.push(store.join(name));
            }
        }
        left.extend(
            names(&config)?.into_iter().filter(|name| name != "bays.toml").map(|name| config.join(name)),
        );
        if left.is_empty() { Ok(()) } else { Err(format!("left: {left:?}").into()) }
    }

    /// The output directory holds what was there, or all that the undisturbed command writes; a temporary name goes when
    /// the command is repeated.
    fn written(&self, line: &str) -> Result<(), Error> {
        if names(&self.at("live/out"))?.iter().any(|name| name.starts_with('.')) {
            self.must(line)?;
        }
        let (before, now) = (tree(&self.at("template/out"))?, tree(&self.at("live/out"))?);
        let names = |tree: &BTreeMap<PathBuf, Vec<u8>>| tree.keys().cloned().collect::<Vec<_>>();
        let whole = &self.outputs[line];
        if names(&now) != names(&before) && names(&now) != names(whole) {
            return Err(format!("the output directory has {:?}", names(&now)).into());
        }
        let capture = |path: &Path| path.ends_with("machine.tar.gz");
        for (path, bytes) in &now {
            if before.get(path) != Some(bytes) && whole.get(path) != Some(bytes) && !capture(path) {
                return Err(format!("{} is neither old nor new", path.display()).into());
            }
        }
        if now.keys().any(|path| capture(path)) {
            self.must("list --sysroot @out/machine.tar.gz")?;
        }
        Ok(())
    }
}
