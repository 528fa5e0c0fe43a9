//! fio: reads and writes the files that its arguments name.

use std::{ffi::OsString, fmt, time::Duration};

use super::{Query, Runner, Tool, ToolResult};

pub const FIO: Tool = Tool { name: "fio", package: "fio" };

/// The time limit of a run of fio. No load takes longer.
const LIMIT: Duration = Duration::from_secs(365 * 24 * 3600);

pub fn version() -> Query {
    Query::new(FIO, ["--version"])
}

/// A run of fio. It may write, so it is not a [`Query`]; the files belong to the engine, which alone may create it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioRun(Query);

impl FioRun {
    pub fn new(args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self(Query::new(FIO, args).within(LIMIT))
    }

    /// Passes on its lines as [`Runner::stream`].
    pub fn run(
        &self,
        runner: &dyn Runner,
        stop: &dyn Fn() -> bool,
        line: &mut dyn FnMut(&str),
    ) -> ToolResult {
        runner.stream(&self.0, stop, line)
    }
}

impl fmt::Display for FioRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
