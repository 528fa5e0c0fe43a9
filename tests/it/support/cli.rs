//! Runs drivebench as a person would, with a store of its own.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
};

/// A place to keep results, and drivebench with it.
pub struct Cli {
    home: tempfile::TempDir,
}

/// What a command left behind.
pub struct Done {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Text without line breaks, which depend on the length of paths.
pub fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A command that still runs, its events read as they come.
pub struct Running {
    child: Child,
    events: std::io::Lines<BufReader<ChildStdout>>,
}

impl Cli {
    pub fn new() -> Self {
        Self { home: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn store(&self) -> PathBuf {
        self.home.path().join("data/drivebench")
    }

    pub fn config(&self) -> PathBuf {
        self.home.path().join("config")
    }

    /// A directory on the disk that the build is on.
    pub fn directory() -> tempfile::TempDir {
        tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory on the disk")
    }

    pub fn command<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        self.program(Path::new(env!("CARGO_BIN_EXE_drivebench")), args)
    }

    #[expect(clippy::disallowed_methods, reason = "the tests are drivebench's user")]
    fn program<I: AsRef<OsStr>>(&self, program: &Path, args: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .env("HOME", self.home.path())
            .env("XDG_DATA_HOME", self.home.path().join("data"));
        command
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }

    pub fn run<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Done {
        done(self.command(args).output().expect("drivebench starts"))
    }

    /// The same command, started by a line of shell as `"$@"`.
    #[expect(clippy::disallowed_methods, reason = "the tests are drivebench's user")]
    pub fn shell(line: &str, command: &Command) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", line, "sh"]).arg(command.get_program()).args(command.get_args());
        shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(dir) = command.get_current_dir() {
            shell.current_dir(dir);
        }
        shell
    }

    /// Runs it as somebody without rights, even where the tests run as root.
    pub fn run_as_nobody<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Done {
        use std::os::unix::{fs::PermissionsExt, process::CommandExt};
        if !rustix::process::geteuid().is_root() {
            return self.run(args);
        }
        // Where the build lies, nobody else may be able to look.
        let program = self.home.path().join("drivebench");
        std::fs::copy(env!("CARGO_BIN_EXE_drivebench"), &program).expect("copies");
        for path in [self.home.path(), &program] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).expect("opens");
        }
        let mut command = self.program(&program, args);
        command.uid(65534).gid(65534);
        // A test that forks while the copy is being written holds it open for writing until it execs.
        let output = loop {
            match command.output() {
                Err(e) if e.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                output => break output,
            }
        };
        done(output.expect("drivebench starts"))
    }

    /// Starts a run that writes its events.
    pub fn start<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Running {
        // Signals as in a terminal: what runs the tests may ignore some, and drivebench would too.
        let program = env!("CARGO_BIN_EXE_drivebench");
        let reset = ["--default-signal=HUP,INT,QUIT,TERM", program].map(std::ffi::OsString::from);
        let args = reset.into_iter().chain(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        let mut command = self.program(Path::new("env"), args);
        command.arg("--events").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("drivebench starts");
        let events = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Running { child, events }
    }

    /// The events of the one run in the store.
    pub fn record(&self) -> String {
        let mut files: Vec<_> =
            std::fs::read_dir(self.store()).expect("a store").map(|e| e.expect("entry").path()).collect();
        files.retain(|p| p.extension().is_some_and(|x| x == "jsonl" || x == "gz"));
        assert_eq!(files.len(), 1, "one record: {files:?}");
        let bytes = std::fs::read(&files[0]).expect("reads");
        let mut text = String::new();
        if files[0].extension().is_some_and(|x| x == "gz") {
            flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("unpacks");
        } else {
            text = String::from_utf8(bytes).expect("UTF-8");
        }
        text
    }

    /// The name of the one run in the store.
    pub fn run_name(&self) -> String {
        let first: serde_json::Value =
            serde_json::from_str(self.record().lines().next().expect("a line")).expect("JSON");
        first["run"].as_str().expect("a name").to_owned()
    }
}

impl Running {
    /// Waits for an event of this kind, and gives it.
    pub fn wait_for(&mut self, kind: &str) -> serde_json::Value {
        for line in self.events.by_ref() {
            let event: serde_json::Value =
                serde_json::from_str(&line.expect("reads")).expect("JSON lines only");
            if event["event"] == kind {
                return event;
            }
        }
        panic!("it ended without '{kind}'");
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("signals");
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for its end: its code and what it wrote to standard error, where that was piped.
    pub fn finish_with_errors(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        for line in self.events.by_ref() {
            line.expect("reads");
        }
        if let Some(mut errors) = self.child.stderr.take() {
            errors.read_to_string(&mut said).expect("UTF-8");
        }
        (self.child.wait().expect("ends").code(), said)
    }

    /// Waits for its end; `None` where a signal ended it.
    pub fn finish(mut self) -> Option<i32> {
        for line in self.events.by_ref() {
            line.expect("reads");
        }
        self.child.wait().expect("ends").code()
    }
}

fn done(output: Output) -> Done {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Done {
        code: output.status.code().expect("not killed"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// Names in a directory.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("lists");
    entries.map(|e| e.expect("entry").file_name().into_string().expect("UTF-8")).collect()
}
