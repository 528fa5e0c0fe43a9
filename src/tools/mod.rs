//! Other programs as values: what is asked of them, and what they print.

use std::{ffi::OsString, fmt, marker::PhantomData, time::Duration};

pub mod hdparm;
pub mod lsblk;
mod replay;
pub mod smartctl;
mod system;

pub use replay::Replay;
pub use system::System;

use crate::units::shell_word;

/// A program that we may need and may not find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tool {
    /// What it is called in `PATH`.
    pub name: &'static str,
    /// The Debian package that brings it.
    pub package: &'static str,
    /// What still works without it.
    pub without: &'static str,
}

/// The field's reference for moving bytes.
pub const FIO: Tool =
    Tool { name: "fio", package: "fio", without: "without it the psync and uring engines still work" };

/// A command that reads. Only the files of this room make one, so no other room can make up a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    tool: Tool,
    /// Its arguments, as they are: no shell reads them.
    args: Vec<OsString>,
    /// When it is ended if it hasn't by itself.
    limit: Duration,
}

impl Query {
    /// A command that must end within 10 s.
    fn new(tool: Tool, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { tool, args: args.into_iter().map(Into::into).collect(), limit: Duration::from_secs(10) }
    }

    /// The program that it runs.
    pub fn tool(&self) -> Tool {
        self.tool
    }

    /// Its arguments.
    pub fn args(&self) -> &[OsString] {
        &self.args
    }

    /// The same with another time limit.
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }
}

/// fio with these arguments. It reads and writes the files that its arguments name, which the engine was handed.
pub fn fio(args: impl IntoIterator<Item = impl Into<OsString>>) -> Query {
    Query::new(FIO, args)
}

/// A command that alters a drive: its [`Content`] or its [`State`]. A [`Runner`] does not take it; [`Change::run`] does,
/// where the right to it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<Altered> {
    query: Query,
    altered: PhantomData<Altered>,
}

/// What is stored on a drive. The right to alter it is a `danger::Claim`.
#[derive(Debug)]
pub enum Content {}

/// How a drive runs, such as its standby. The right to alter it is an entry of `run`'s journal.
#[derive(Debug)]
pub enum State {}

/// The right to alter a drive's [`Content`] or [`State`]. `tests/rooms.rs` lists the files that may grant it.
pub trait Right<Altered> {}

impl<Altered> Change<Altered> {
    /// A command that must end within 10 s.
    fn new(tool: Tool, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { query: Query::new(tool, args), altered: PhantomData }
    }

    /// Runs it to its end. A program that ends with an error is an answer too.
    pub fn run(&self, _: &impl Right<Altered>, runner: &dyn Runner) -> ToolResult {
        runner.ask(&self.query)
    }
}

impl<Altered> fmt::Display for Change<Altered> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.query.fmt(f)
    }
}

/// The command line as a person would type it.
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tool.name)?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", shell_word(&arg.to_string_lossy())))
    }
}

/// How a program ended and what it printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; `None` if a signal ended it, or nothing could.
    pub code: Option<i32>,
    /// Standard output; empty where its lines were handed over while it ran.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// The last line that it printed to standard error, or how it ended.
    pub fn complaint(&self) -> String {
        let said = self.stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
        match (said, self.code) {
            (Some(line), _) => line.to_owned(),
            (None, Some(code)) => format!("it ended with exit code {code}"),
            (None, None) => "a signal ended it".to_owned(),
        }
    }
}

/// Why a program could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// It isn't installed.
    #[error("{} is not installed: apt install {}; {}", .0.name, .0.package, .0.without)]
    Missing(Tool),
    /// It did not answer in time and was ended.
    #[error("'{command}' did not end within {seconds} s and was ended")]
    Slow {
        /// The command line.
        command: String,
        /// The time limit, s.
        seconds: u64,
    },
    /// The system did not run it.
    #[error("running '{command}': {source}")]
    System {
        /// The command line.
        command: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A stand-in has no answer to it.
    #[error("no answer was recorded for '{0}'")]
    Unrecorded(String),
}

/// What came of running a program.
pub type ToolResult = Result<Output, ToolError>;

/// Asks other programs.
pub trait Runner: Send {
    /// Runs a program to its end. A program that ends with an error is an answer too.
    fn ask(&self, query: &Query) -> ToolResult;

    /// Runs a program and hands over its lines, without their ends, while it runs. Once `stop` is true it is ended:
    /// it is asked to end by itself, then made to, and left behind after 150 ms if the drive holds it.
    fn stream(&self, query: &Query, stop: &dyn Fn() -> bool, line: &mut dyn FnMut(&str)) -> ToolResult;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_can_be_typed() {
        let query = Query::new(FIO, ["--name=a b", "--bs=4k", "it's", ""]);
        assert_eq!(query.to_string(), r"fio '--name=a b' --bs=4k 'it'\''s' ''");
    }

    #[test]
    fn a_missing_tool_is_one_clear_line() {
        assert_eq!(
            ToolError::Missing(FIO).to_string(),
            "fio is not installed: apt install fio; without it the psync and uring engines still work"
        );
    }

    #[test]
    fn complaints_are_the_last_thing_said() {
        let said = |stderr: &str, code| {
            Output { code, stdout: String::new(), stderr: stderr.to_owned() }.complaint()
        };
        assert_eq!(said("note\nfio: bad option\n\n", Some(1)), "fio: bad option");
        assert_eq!(
            (said("", Some(3)), said(" \n", None)),
            ("it ended with exit code 3".into(), "a signal ended it".into())
        );
    }
}
