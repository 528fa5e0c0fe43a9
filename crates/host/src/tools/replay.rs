//! A runner that replays captured output.

use super::{Output, Query, Runner, ToolError, ToolResult};

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
