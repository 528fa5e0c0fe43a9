//! Runs other programs. The only file that spawns processes.

use std::{
    collections::HashMap,
    env,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{Change, Output, Query, Runner, Tool, ToolError, ToolResult};

/// How often a running program is polled.
const POLL: Duration = Duration::from_millis(10);
/// How long a program may take to end after SIGTERM.
const TERM: Duration = Duration::from_millis(100);
/// How long it may take to end after SIGKILL.
const KILL: Duration = Duration::from_millis(50);
/// Runs a program that goes on without a reader; SIGPIPE would end it at its first line.
const UNREAD: &str = r#"trap "" PIPE; exec "$@""#;
/// The maximum size of a program's output, bytes.
const LONGEST: u64 = 64 << 20;
/// How much of its standard error is kept, bytes: errors quote it, and records keep errors.
const STDERR_LIMIT: u64 = 64 << 10;

/// This program.
pub(super) const OWN: Tool = Tool { name: "drivebench", package: "drivebench" };

/// Runs programs of this machine: by absolute path, in the C locale, without a shell; only a [`Talk`] has a standard input.
#[derive(Debug, Default)]
pub struct System {
    found: Mutex<HashMap<&'static str, PathBuf>>,
}

impl System {
    /// The path of a program: in `PATH`, or in the directories of administration programs.
    pub fn find(&self, tool: Tool) -> Result<PathBuf, ToolError> {
        if tool == OWN {
            return Ok("/proc/self/exe".into());
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = found.get(tool.name) {
            return Ok(path.clone());
        }
        let mut directories = env::var_os("PATH").unwrap_or_default();
        directories.push(":/usr/sbin:/sbin:/usr/bin:/bin");
        let path = env::split_paths(&directories)
            .map(|directory| directory.join(tool.name))
            .find(|path| path.is_absolute() && is_program(path))
            .ok_or(ToolError::Missing(tool))?;
        found.insert(tool.name, path.clone());
        Ok(path)
    }

    /// Whether the program of a command is installed.
    pub fn has<Altered>(&self, change: &Change<Altered>) -> Result<(), ToolError> {
        self.find(change.query.tool).map(drop)
    }

    #[allow(clippy::disallowed_methods, reason = "this is the one place")]
    fn spawn(&self, query: &Query, stdin: Stdio) -> Result<Child, ToolError> {
        let path = self.find(query.tool)?;
        let mut command = Command::new(if query.outlives { Path::new("/bin/sh") } else { &path });
        if query.outlives {
            command.args(["-c", UNREAD, "drivebench"]).arg(&path);
        }
        command
            .args(&query.args)
            .env("LC_ALL", "C")
            .env_remove("LANGUAGE")
            .envs(query.env.iter().map(|(name, value)| (name, value)))
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A process group of its own: Ctrl-C at the terminal must not reach it directly.
            .process_group(0)
            .spawn()
            .map_err(|source| ToolError::System { command: query.to_string(), source })
    }

    /// Starts a program that is given lines and answers them. It has no time limit; each answer has.
    pub fn talk(&self, query: &Query) -> Result<Talk, ToolError> {
        let mut child = self.spawn(query, Stdio::piped())?;
        let (lines, complaints) = read_both(&mut child, query)?;
        let stdin = child.stdin.take();
        Ok(Talk { child, stdin, lines, complaints })
    }
}

/// A running program that is given lines and answers them.
#[derive(Debug)]
pub struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    complaints: Receiver<String>,
}

impl Talk {
    /// Id of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes text to its standard input. An error means that it has ended.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(text.as_bytes())
    }

    /// Returns its next line; `Disconnected` if it has ended.
    pub fn hear(&mut self, limit: Duration) -> Result<String, RecvTimeoutError> {
        self.lines.recv_timeout(limit)
    }

    pub fn close_stdin(&mut self) {
        drop(self.stdin.take());
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns its next line; `None` if it has ended or `stop` is true.
    pub fn next_line(&mut self, stop: &dyn Fn() -> bool) -> Option<String> {
        loop {
            match self.lines.recv_timeout(POLL) {
                Err(RecvTimeoutError::Timeout) if !stop() => {}
                line => return line.ok(),
            }
        }
    }

    /// Closes its standard input and waits for its end; kills it after the time limit.
    pub fn end(&mut self, limit: Duration) -> Output {
        self.close_stdin();
        let until = Instant::now() + limit;
        let code = loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => thread::sleep(POLL),
                Ok(Some(status)) => break status.code(),
                _ => {
                    let _ = self.child.kill().and_then(|()| self.child.wait());
                    break None;
                }
            }
        };
        let stderr = self.complaints.recv_timeout(TERM).unwrap_or_default();
        Output { code, stdout: String::new(), stderr }
    }
}

/// Reads the output of a program: its lines as they come, and all that it complains of.
fn read_both(child: &mut Child, query: &Query) -> Result<(Receiver<String>, Receiver<String>), ToolError> {
    let (sender, lines) = mpsc::sync_channel(1024);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut failed = |source| {
        let _ = child.kill();
        ToolError::System { command: query.to_string(), source }
    };
    let reading = thread::Builder::new();
    reading.spawn(move || read_lines(stdout).try_for_each(|line| sender.send(line))).map_err(&mut failed)?;
    let (complained, complaints) = mpsc::sync_channel(1);
    let reading = thread::Builder::new();
    reading.spawn(move || complained.send(read_stderr(stderr))).map_err(&mut failed)?;
    Ok((lines, complaints))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

impl Runner for System {
    fn ask(&self, query: &Query) -> ToolResult {
        let mut stdout = String::new();
        let output = self.stream(query, &|| false, &mut |line| stdout.extend([line, "\n"]))?;
        Ok(Output { stdout, ..output })
    }

    fn stream(&self, query: &Query, stop: &dyn Fn() -> bool, line: &mut dyn FnMut(&str)) -> ToolResult {
        let mut child = self.spawn(query, Stdio::null())?;
        let (lines, complaints) = read_both(&mut child, query)?;
        let limit = Instant::now() + query.limit;
        let mut ending =
            Ending { child, status: None, limit, term_sent: None, killed: None, slow: false, is_read: false };
        loop {
            match lines.recv_timeout(POLL) {
                Ok(text) => line(&text),
                Err(RecvTimeoutError::Disconnected) if ending.ended() => break,
                Err(RecvTimeoutError::Disconnected) => thread::sleep(POLL / 10),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if ending.hopeless(stop()) {
                break;
            }
        }
        let status = ending.status;
        if ending.slow {
            return Err(ToolError::Slow { command: query.to_string(), seconds: query.limit.as_secs() });
        }
        if status.is_none() {
            // A program that has not ended is left to a thread that waits for it.
            let _ = thread::Builder::new().spawn(move || ending.child.wait());
        }
        // An abandoned program keeps its pipe open.
        let timeout = if status.is_some() { TERM } else { Duration::ZERO };
        let stderr = complaints.recv_timeout(timeout).unwrap_or_default();
        Ok(Output { code: status.and_then(|status| status.code()), stdout: String::new(), stderr })
    }
}

/// Lines as UTF-8, with invalid bytes replaced.
fn read_lines(pipe: Option<impl Read>) -> impl Iterator<Item = String> {
    let lines = pipe.map(|pipe| BufReader::new(pipe.take(LONGEST)).split(b'\n'));
    lines.into_iter().flatten().map_while(Result::ok).map(|line| String::from_utf8_lossy(&line).into_owned())
}

/// The beginning of what a program writes to standard error. The rest is read, too: a full pipe would stop the program.
fn read_stderr(pipe: Option<impl Read>) -> String {
    let Some(mut pipe) = pipe else { return String::new() };
    let mut start = Vec::new();
    let rest = pipe
        .by_ref()
        .take(STDERR_LIMIT)
        .read_to_end(&mut start)
        .and_then(|_| io::copy(&mut pipe, &mut io::sink()));
    let text = String::from_utf8_lossy(&start);
    match rest {
        Ok(left_out @ 1..) => format!("{text}\n[{left_out} more bytes]"),
        _ => text.trim_end_matches('\n').to_owned(),
    }
}

/// A running program, and the state of ending it.
struct Ending {
    child: Child,
    status: Option<ExitStatus>,
    limit: Instant,
    term_sent: Option<Instant>,
    killed: Option<Instant>,
    slow: bool,
    /// Whether the program had ended at its limit, so that its output is read a while longer: drivebench may have been suspended.
    is_read: bool,
}

impl Ending {
    fn ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status.is_some()
    }

    /// Sends the next signal if one is due. Returns true if no signal ends the program.
    fn hopeless(&mut self, stop: bool) -> bool {
        let now = Instant::now();
        if now >= self.limit && self.term_sent.is_none() {
            if self.ended() && !self.is_read {
                (self.limit, self.is_read) = (now + TERM, true);
            } else {
                self.slow = true;
            }
        }
        match (self.term_sent, self.killed) {
            (None, _) if stop || self.slow => {
                self.signal(Signal::TERM);
                self.term_sent = Some(now);
            }
            (Some(sent), None) if now >= sent + TERM => {
                self.signal(Signal::KILL);
                self.killed = Some(now);
            }
            (_, Some(killed)) if now >= killed + KILL => return !self.ended() || self.slow,
            _ => {}
        }
        false
    }

    fn signal(&mut self, signal: Signal) {
        if !self.ended() {
            if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
                let _ = kill_process_group(pid, signal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SH: Tool = Tool { name: "sh", package: "dash" };

    fn sh(script: &str) -> Query {
        Query::new(SH, ["-c", script])
    }

    #[test]
    fn returns_exit_code_and_output() {
        let output = System::default().ask(&sh("echo $LC_ALL; echo oops >&2; cat; exit 3")).expect("runs");
        assert_eq!(output, Output { code: Some(3), stdout: "C\n".into(), stderr: "oops".into() });
    }

    #[test]
    fn a_change_does_not_end_when_nobody_reads_what_it_says() {
        let says = |outlives| {
            let query = Query { outlives, ..sh("kill -PIPE $$; echo \"$1\"; exit 3") };
            let args = [query.args.clone(), vec!["sh".into(), "a b".into()]].concat();
            System::default().ask(&Query { args, ..query }).expect("runs")
        };
        assert_eq!((says(true).code, says(true).stdout), (Some(3), "a b\n".to_owned()));
        assert_eq!(says(false).code, None, "the signal ends it");
    }

    #[test]
    fn of_long_complaints_the_beginning_is_kept() {
        let query = sh("echo why >&2; head -c 1000000 /dev/zero | tr '\\0' x >&2; echo done");
        let output = System::default().ask(&query).expect("runs");
        assert_eq!((output.code, output.stdout.as_str()), (Some(0), "done\n"));
        assert!(output.stderr.starts_with("why\nxx") && output.stderr.ends_with("[934468 more bytes]"));
        assert!(output.stderr.len() as u64 <= STDERR_LIMIT + 32);
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let tool = Tool { name: "no-such-program", package: "nowhere" };
        let error = System::default().ask(&Query::new(tool, ["x"])).expect_err("missing");
        assert_eq!(error.to_string(), "no-such-program is not installed: apt install nowhere");
    }

    #[test]
    fn a_program_over_its_time_limit_is_ended() {
        let query = sh("trap '' TERM; while :; do sleep 1; done").within(Duration::from_millis(50));
        assert!(matches!(System::default().ask(&query), Err(ToolError::Slow { .. })));
    }

    #[test]
    fn lines_are_streamed_and_stop_ends_the_program() {
        let mut lines = Vec::new();
        let stop = std::cell::Cell::new(false);
        let query = sh("trap 'echo last; exit 0' TERM; echo one; echo two; while :; do sleep 0.01; done");
        let output = System::default()
            .stream(&query, &|| stop.get(), &mut |line| {
                lines.push(line.to_owned());
                stop.set(lines.len() >= 2);
            })
            .expect("runs");
        assert_eq!((lines, output.code), (vec!["one".to_owned(), "two".into(), "last".into()], Some(0)));
    }

    #[test]
    fn a_program_answers_lines_until_its_input_ends() {
        let start = |script| System::default().talk(&sh(script)).expect("starts");
        let second = Duration::from_secs(5);
        let mut talk = start("while read -r l; do echo \"<$l>\"; done; echo bye >&2; exit 3");
        for text in ["a\n", "b\n"] {
            talk.say(text).expect("is read");
            assert_eq!(talk.hear(second), Ok(format!("<{}>", text.trim())));
        }
        assert_eq!(talk.hear(POLL), Err(RecvTimeoutError::Timeout));
        assert_eq!(talk.end(second), Output { code: Some(3), stdout: String::new(), stderr: "bye".into() });
        assert_eq!(talk.hear(POLL), Err(RecvTimeoutError::Disconnected));
        talk.say("c\n").expect_err("it has ended");
        let mut hangs = start("exec sleep 60");
        assert_eq!(hangs.end(POLL).code, None);
    }

    #[test]
    fn arguments_are_not_read_by_a_shell() {
        let echo = Tool { name: "echo", package: "coreutils" };
        let output = System::default().ask(&Query::new(echo, ["$HOME; *"])).expect("runs");
        assert_eq!(output.stdout, "$HOME; *\n");
    }
}
