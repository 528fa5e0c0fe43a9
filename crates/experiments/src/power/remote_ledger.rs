//! A ledger on another machine, through ssh.

use std::{
    io,
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use crate::{
    engine::Cancel,
    record::caller,
    test_files::POLL,
    tools::{LONGEST, Output, Query, Runner, System, Talk, ToolError, ssh},
    units::RemoteDir,
};

/// How long the other machine may take to sync a line: a disk that sleeps wakes meanwhile.
const LIMIT: Duration = Duration::from_secs(60);
/// Time limit for ssh to send its input.
const END: Duration = Duration::from_secs(5);

/// The file of a run on another machine.
#[derive(Debug)]
pub struct RemoteLedger {
    tools: System,
    at: RemoteDir,
    name: String,
}

/// A connection over which lines are appended.
#[derive(Debug)]
pub struct Session {
    talk: Talk,
    at: RemoteDir,
}

impl RemoteLedger {
    pub fn new(at: &RemoteDir, run: &str) -> Self {
        Self { tools: System::default(), at: at.clone(), name: format!("{run}.jsonl") }
    }

    pub fn remove_by_hand(&self) -> String {
        ssh::remove_by_hand(&self.at, &self.name)
    }

    /// Creates it. An existing one is an error. If it is interrupted, nobody knows whether it is there.
    pub fn create(&self, boot_id: &str, cancel: &Cancel) -> io::Result<Session> {
        let talk = self.tools.talk(&ssh::create(&self.at, &self.name, boot_id)).map_err(io::Error::other)?;
        let mut session = Session { talk, at: self.at.clone() };
        session.answer(Some(cancel))?;
        Ok(session)
    }

    /// The content of the ledger, if it exists.
    pub fn read(&self, cancel: &Cancel) -> io::Result<Option<String>> {
        let (mut text, mut size, mut ready) = (String::new(), 0, false);
        let query = ssh::read(&self.at, &self.name);
        let output = self.tools.stream(&query, &|| cancel.is_set(), &mut |line| {
            size += line.len() as u64 + 1;
            if ready {
                text.extend([line, "\n"]);
            }
            ready |= line == ssh::READY;
        });
        if cancel.is_set() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match self.done(output) {
            Ok(Some(_)) if size >= LONGEST => Err(io::Error::other("it is larger than 64 MiB")),
            // A login that runs something else ends well, too.
            Ok(Some(_)) if !ready => {
                Err(io::Error::other("the other machine did not run the command it was given"))
            }
            Ok(output) => Ok(output.map(|_| text)),
            Err(e) => Err(e),
        }
    }

    pub fn append(&self, line: &str) -> io::Result<()> {
        self.ask(&ssh::append(&self.at, &self.name, line))
    }

    pub fn remove(&self) -> io::Result<()> {
        self.ask(&ssh::remove(&self.at, &self.name))
    }

    fn ask(&self, query: &Query) -> io::Result<()> {
        self.done(self.tools.ask(query)).map(drop)
    }

    /// The output of a command; `None` if there is no such file.
    fn done(&self, output: Result<Output, ToolError>) -> io::Result<Option<Output>> {
        let output = output.map_err(|e| match e {
            ToolError::Slow { seconds, .. } => slow(seconds),
            e => io::Error::other(e),
        });
        match output? {
            output if output.code == Some(0) => Ok(Some(output)),
            output if output.code == Some(ssh::NO_FILE) => Ok(None),
            output => Err(failure(&self.at, &output)),
        }
    }
}

impl Session {
    /// Passes on lines. They may be lost until they are synced.
    pub fn append(&mut self, lines: &str) -> io::Result<()> {
        self.talk.say(lines).map_err(|_| self.failure())
    }

    /// Returns once the other machine has synced what it was given.
    pub fn sync(&mut self) -> io::Result<()> {
        self.append("\n")?;
        self.answer(None)
    }

    /// Ends the connection. What it was given is there then, or never.
    pub fn end(&mut self) {
        self.talk.end(END);
    }

    fn answer(&mut self, cancel: Option<&Cancel>) -> io::Result<()> {
        let until = Instant::now() + LIMIT;
        // What the login there prints comes first.
        loop {
            match self.talk.hear(POLL) {
                Ok(line) if line == ssh::READY => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => return Err(self.failure()),
                _ if cancel.is_some_and(Cancel::is_set) => {
                    self.talk.end(Duration::ZERO);
                    return Err(io::ErrorKind::Interrupted.into());
                }
                _ if Instant::now() > until => {
                    self.end();
                    return Err(slow(LIMIT.as_secs()));
                }
                _ => {}
            }
        }
    }

    fn failure(&mut self) -> io::Error {
        let output = self.talk.end(END);
        failure(&self.at, &output)
    }
}

fn failure(at: &RemoteDir, output: &Output) -> io::Error {
    io::Error::other(ssh::failure(at, output, caller().is_some()))
}

fn slow(seconds: u64) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("the other machine did not answer within {seconds} s"))
}
