//! Other programs as values: their command lines and their output.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    marker::PhantomData,
    path::Path,
    time::Duration,
};

pub mod ansible;
pub mod blockdev;
pub mod dmesg;
pub mod dmsetup;
pub mod filefrag;
pub mod fio;
pub mod hdparm;
pub mod ip;
pub mod iperf3;
pub mod mdadm;
pub mod mkfs;
pub mod mount;
pub mod namespace;
pub mod nfs;
pub mod openssh;
pub mod samba;
pub mod sgdisk;
pub mod smartctl;
pub mod ssh;
pub mod ssh_keygen;
pub mod swap;
mod system;
pub mod systemctl;
pub mod udevadm;
pub mod wipefs;

pub use system::{System, Talk};

use crate::units::shell_word;

/// A program that may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    pub name: &'static str,
    /// The Debian package that contains it.
    pub package: &'static str,
}

/// The shell, for several programs one after the other.
const SH: Tool = Tool { name: "sh", package: "dash" };

const MODPROBE: Tool = Tool { name: "modprobe", package: "kmod" };

/// Looks for a module of the running kernel, built in or installed. It loads nothing.
pub fn find_module(name: &str) -> Query {
    Query::new(MODPROBE, ["--dry-run", name])
}

/// Whether the answer is that there is no such module. A modprobe that can't look, such as busybox's, doesn't say so.
pub fn lacks_module(answer: &Output) -> bool {
    answer.code != Some(0) && answer.stderr.contains(" not found in directory ")
}

/// Ends a program by a signal when the standard input ends; ends with that program. A shell gives background programs another
/// input, so its own is kept as descriptor 3. Temporary directories of root are not usable by a program of another user.
const UNTIL_INPUT_ENDS: &str = r#"signal=$1; shift; unset TMPDIR TEMP TMP; exec 3<&0; "$@" </dev/null 3<&- & s=$!; { cat <&3; kill -s "$signal" $s; } >/dev/null 2>&1 & wait $s"#;

/// A command that a person wrote for the shell, which may do what that person may.
pub fn user_command(command: &str) -> Query {
    Query::new(SH, ["-c", command])
}

/// Runs a script of the shell, whose arguments are `$1` and so on.
fn script(text: &str, args: impl IntoIterator<Item = impl Into<OsString>>) -> Query {
    let shell = ["-c", text, "drivebench"].map(OsString::from).into_iter();
    Query::new(SH, shell.chain(args.into_iter().map(Into::into)))
}

/// Runs a program that serves until its standard input ends, and is ended by a signal then, such as `TERM`.
fn until_input_ends<'a>(
    signal: &'a str,
    program: &'a Path,
    args: impl IntoIterator<Item = &'a OsStr>,
) -> Query {
    script(UNTIL_INPUT_ENDS, [signal.as_ref(), program.as_os_str()].into_iter().chain(args))
}

/// A command that only reads. It can be created only in this module, so no other code can run a command line of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    tool: Tool,
    /// Its arguments, passed without a shell.
    args: Vec<OsString>,
    limit: Duration,
    /// Whether it goes on when this program ends and its output is no longer read.
    outlives: bool,
    /// Variables of its environment, beside those of this program.
    env: Vec<(&'static str, OsString)>,
}

impl Query {
    /// A command with a time limit of 10 s.
    fn new(tool: Tool, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { tool, args, limit: Duration::from_secs(10), outlives: false, env: Vec::new() }
    }

    pub fn args(&self) -> &[OsString] {
        &self.args
    }

    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }
}

/// A command that changes block devices: their [`Content`] or their [`State`]. A [`Runner`] does not accept it;
/// [`Change::run`] does, given the right to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<Altered> {
    query: Query,
    /// The paths of the devices.
    devices: Vec<String>,
    altered: PhantomData<Altered>,
}

/// The data stored on a drive. The right to change it is a `danger::Claim`.
#[derive(Debug)]
pub enum Content {}

/// The state of a drive, such as standby. The right to change it is an entry of `run`'s journal.
#[derive(Debug)]
pub enum State {}

/// The right to change the [`Content`] or [`State`] of block devices. `tests/it/doors.rs` lists the files that may grant it.
pub trait Right<Altered> {
    /// Whether the device at `path` may be changed now; if not, why.
    fn covers(&self, path: &str) -> Result<(), String>;
}

impl<Altered> Change<Altered> {
    /// The path of the device is the last argument.
    fn new(tool: Tool, args: &[&str], device: &str) -> Self {
        Self::of(Query::new(tool, args.iter().chain([&device])), [device])
    }

    /// A command that changes these devices and no others, with a time limit of two minutes: a drive may have to wake up, or
    /// write its cache first. It completes even if this program is killed, because mdadm would leave an array frozen.
    fn of<'a>(query: Query, devices: impl IntoIterator<Item = &'a str>) -> Self {
        let devices = devices.into_iter().map(str::to_owned).collect();
        let query = Query { outlives: true, ..query.within(Duration::from_secs(120)) };
        Self { query, devices, altered: PhantomData }
    }

    fn within(self, limit: Duration) -> Self {
        Self { query: self.query.within(limit), ..self }
    }

    /// The paths of the devices that it changes.
    pub fn devices(&self) -> &[String] {
        &self.devices
    }

    /// Runs it to its end, if `right` covers its devices. An exit code other than 0 is not an error here.
    pub fn run(&self, right: &impl Right<Altered>, runner: &dyn Runner) -> ToolResult {
        let refused = |why| ToolError::Refused { command: self.to_string(), why };
        self.devices.iter().try_for_each(|device| right.covers(device)).map_err(refused)?;
        runner.ask(&self.query)
    }
}

impl<Altered> fmt::Display for Change<Altered> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.query.fmt(f)
    }
}

/// The command line with shell quoting.
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tool.name)?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", shell_word(arg)))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; `None` if a signal ended it, or if it could not be ended.
    pub code: Option<i32>,
    /// Standard output; empty if its lines were streamed.
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// The last line on standard error before its usage, or how it ended.
    pub fn complaint(&self) -> String {
        let stderr = self.stderr.split("\nUsage:").next().unwrap_or_default();
        let last = stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
        match (last, self.code) {
            (Some(line), _) => line.trim_end_matches('.').to_owned(),
            (None, Some(code)) => format!("it ended with exit code {code}"),
            (None, None) => "a signal ended it".to_owned(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("{} is not installed: apt install {}", .0.name, .0.package)]
    Missing(Tool),
    #[error("the kernel has no module {0}: install the modules of this kernel, or restart after its upgrade")]
    Module(&'static str),
    #[error("'{command}' did not end within {seconds} s and was ended")]
    Slow { command: String, seconds: u64 },
    #[error("'{command}' can't be run: {source}")]
    System { command: String, source: std::io::Error },
    #[error("'{command}' was not run: {why}")]
    Refused { command: String, why: String },
    #[error("no answer was recorded for '{0}'")]
    Unrecorded(String),
}

pub type ToolResult = Result<Output, ToolError>;

pub trait Runner: Send {
    /// Runs a program to its end. An exit code other than 0 is not an error here.
    fn ask(&self, query: &Query) -> ToolResult;

    /// Runs a program and passes on its lines, without line ends, while it runs. Once `stop` is true it is ended:
    /// by SIGTERM, then SIGKILL, and abandoned after 150 ms if it hangs in the kernel.
    fn stream(&self, query: &Query, stop: &dyn Fn() -> bool, line: &mut dyn FnMut(&str)) -> ToolResult;
}

/// Returns recorded output for command lines, which must match exactly as [`Query`] writes them.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    answers: Vec<(String, Output)>,
}

impl Replay {
    /// Adds an output; `command` may be the start of a command line.
    pub fn answer(mut self, command: impl Into<String>, output: Output) -> Self {
        self.answers.push((command.into(), output));
        self
    }
}

impl Runner for Replay {
    fn ask(&self, query: &Query) -> ToolResult {
        let command = query.to_string();
        let answer = self.answers.iter().find(|(start, _)| command.starts_with(start));
        answer.map(|(_, output)| output.clone()).ok_or(ToolError::Unrecorded(command))
    }

    fn stream(&self, query: &Query, stop: &dyn Fn() -> bool, line: &mut dyn FnMut(&str)) -> ToolResult {
        let output = self.ask(query)?;
        output.stdout.lines().take_while(|_| !stop()).for_each(line);
        Ok(Output { stdout: String::new(), ..output })
    }
}

#[cfg(test)]
mod tests {
    use super::{fio::FIO, *};

    #[test]
    fn command_lines_can_be_typed() {
        let query = Query::new(FIO, ["--name=a b", "--bs=4k", "it's", ""]);
        assert_eq!(query.to_string(), r"fio '--name=a b' --bs=4k 'it'\''s' ''");
    }

    #[test]
    fn only_what_modprobe_did_not_find_is_missing() {
        let lacks = |code, stderr: &str| {
            lacks_module(&Output { code: Some(code), stderr: stderr.to_owned(), ..Output::default() })
        };
        // kmod of Debian 12; busybox.
        assert!(lacks(
            1,
            "modprobe: FATAL: Module raid1 not found in directory /lib/modules/6.1.0-18-amd64\n"
        ));
        assert!(!lacks(1, "modprobe: unrecognized option '--dry-run'\n") && !lacks(0, ""));
    }

    #[test]
    fn a_missing_tool_is_one_clear_line() {
        assert_eq!(ToolError::Missing(FIO).to_string(), "fio is not installed: apt install fio");
    }

    #[test]
    fn the_complaint_is_the_last_line_of_stderr() {
        let complaint = |stderr: &str, code| {
            Output { code, stdout: String::new(), stderr: stderr.to_owned() }.complaint()
        };
        assert_eq!(complaint("note\nfio: bad option\n\n", Some(1)), "fio: bad option");
        let usage = "Log size must be at least 64MB.\nUsage: mkfs.xfs\n\t<value> is xxx (512 byte blocks).\n";
        assert_eq!(complaint(usage, Some(1)), "Log size must be at least 64MB");
        assert_eq!(
            (complaint("", Some(3)), complaint(" \n", None)),
            ("it ended with exit code 3".into(), "a signal ended it".into())
        );
    }
}
