//! QEMU's monitor: commands and events as JSON lines over a socket.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use thiserror::Error;

/// How long QEMU may take to answer.
const LIMIT: Duration = Duration::from_secs(30);

/// Why a command failed.
#[derive(Debug, Error)]
pub enum QmpError {
    /// QEMU has ended or does not respond.
    #[error("QEMU does not respond: {0}")]
    Io(#[from] io::Error),
    /// It refused.
    #[error("QEMU refused {command}: {why}")]
    Refused {
        /// The command.
        command: String,
        /// QEMU's message.
        why: String,
    },
}

/// A connection to the monitor.
#[derive(Debug)]
pub struct Qmp {
    from: BufReader<UnixStream>,
    events: VecDeque<Value>,
}

impl Qmp {
    /// Negotiates capabilities with QEMU.
    pub fn new(stream: UnixStream) -> Result<Self, QmpError> {
        stream.set_read_timeout(Some(LIMIT))?;
        let mut qmp = Self { from: BufReader::new(stream), events: VecDeque::new() };
        qmp.next()?;
        qmp.execute("qmp_capabilities", json!({}))?;
        Ok(qmp)
    }

    /// Executes a command; returns its result.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, QmpError> {
        let line = json!({ "execute": command, "arguments": arguments });
        self.from.get_mut().write_all(format!("{line}\n").as_bytes())?;
        loop {
            let answer = self.next()?;
            if let Some(value) = answer.get("return") {
                return Ok(value.clone());
            } else if let Some(error) = answer.get("error") {
                let why = error["desc"].as_str().unwrap_or("no reason given").to_owned();
                return Err(QmpError::Refused { command: format!("{command} {}", line["arguments"]), why });
            }
            self.events.push_back(answer);
        }
    }

    /// Waits for the event `name` of the device `device`; events before it are dropped.
    pub fn await_event(&mut self, name: &str, device: &str) -> Result<(), QmpError> {
        let start = Instant::now();
        loop {
            let event = match self.events.pop_front() {
                Some(event) => event,
                None => self.next()?,
            };
            if event["event"] == name && event["data"]["device"] == device {
                return Ok(());
            }
            if start.elapsed() > LIMIT {
                let late = io::Error::new(io::ErrorKind::TimedOut, format!("no {name} of {device}"));
                return Err(late.into());
            }
        }
    }

    fn next(&mut self) -> Result<Value, QmpError> {
        let mut line = String::new();
        if self.from.read_line(&mut line)? == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(serde_json::from_str(&line).map_err(io::Error::from)?)
    }
}
