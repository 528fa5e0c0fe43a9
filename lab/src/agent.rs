//! Running commands in a guest, through its agent.

use std::{
    collections::HashMap,
    io::{self, Read},
    os::unix::net::UnixStream,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use drivebench_lab_agent::{Decoder, Exec, Frame, Kind, MOST};
use thiserror::Error;

/// Why a command in the guest has no result.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The machine has ended.
    #[error("the machine has ended")]
    Gone,
    /// It took too long.
    #[error("no answer within {0:?}")]
    Late(Duration),
    /// It ended before printing the expected output.
    #[error("it ended early")]
    Ended,
    /// It could not be started.
    #[error("in the machine: {0}")]
    NotStarted(String),
    /// The socket failed.
    #[error("the connection to the machine failed: {0}")]
    Io(#[from] io::Error),
}

/// The output and exit code of a command in the guest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Its exit code, or 128 and the number of the signal that ended it.
    pub code: i32,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// Its standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// The host's side of the agent's connection.
#[derive(Debug, Clone)]
pub struct Agent {
    shared: Arc<Mutex<Shared>>,
    guest: Arc<Mutex<UnixStream>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Receivers of the output of commands.
    commands: HashMap<u32, Sender<Frame>>,
    last: u32,
    /// The receiver of the next hello. Everything before the hello is skipped.
    greeted: Option<Sender<()>>,
}

/// A command that runs in the guest.
#[derive(Debug)]
pub struct Running {
    agent: Agent,
    id: u32,
    frames: Receiver<Frame>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Agent {
    /// Connects to a guest that is about to start.
    pub fn new(stream: UnixStream) -> Result<(Self, Greeting), AgentError> {
        let from = stream.try_clone()?;
        let agent =
            Self { shared: Arc::new(Mutex::new(Shared::default())), guest: Arc::new(Mutex::new(stream)) };
        let greeting = agent.expect_hello();
        let shared = agent.shared.clone();
        thread::spawn(move || {
            listen(from, &shared);
            // Dropping the senders ends all waits.
            *lock(&shared) = Shared::default();
        });
        Ok((agent, greeting))
    }

    /// Ignores all input until a newly started guest sends its hello. Commands of the guest before it are lost.
    pub fn expect_hello(&self) -> Greeting {
        let (sender, receiver) = channel();
        let mut shared = lock(&self.shared);
        shared.commands.clear();
        shared.greeted = Some(sender);
        Greeting(receiver)
    }

    /// Starts a command; an empty `directory` is the agent's own.
    pub fn start(&self, argv: &[&str], directory: &str) -> Result<Running, AgentError> {
        let exec = Exec {
            argv: argv.iter().map(|&arg| arg.to_owned()).collect(),
            env: Vec::new(),
            directory: (!directory.is_empty()).then(|| directory.to_owned()),
        };
        let (sender, frames) = channel();
        let id = {
            let mut shared = lock(&self.shared);
            shared.last += 1;
            let id = shared.last;
            shared.commands.insert(id, sender);
            id
        };
        let running = Running { agent: self.clone(), id, frames };
        running.send(Kind::Exec, &serde_json::to_vec(&exec).map_err(io::Error::from)?)?;
        Ok(running)
    }
}

fn listen(mut from: UnixStream, shared: &Mutex<Shared>) {
    let (mut decoder, mut buffer) = (Decoder::default(), vec![0; MOST]);
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        decoder.feed(&buffer[..n]);
        loop {
            let mut shared = lock(shared);
            if shared.greeted.is_some() {
                if !decoder.skip_to_hello() {
                    break;
                }
                // The receiver may have been dropped.
                let _ = shared.greeted.take().map(|sender| sender.send(()));
            }
            match decoder.frame() {
                Ok(Some(frame)) => {
                    let id = frame.id;
                    let over = matches!(frame.kind, Kind::Exit | Kind::Failed);
                    let _ = shared.commands.get(&id).map(|sender| sender.send(frame));
                    if over {
                        shared.commands.remove(&id);
                    }
                }
                Ok(None) => break,
                // An unexpected restart of the guest, or invalid data.
                Err(_) => return,
            }
        }
    }
}

/// A pending hello.
#[derive(Debug)]
pub struct Greeting(Receiver<()>);

impl Greeting {
    /// Waits for it.
    pub fn wait(self, limit: Duration) -> Result<(), AgentError> {
        self.0.recv_timeout(limit).map_err(|e| missing(e, limit))
    }
}

fn missing(error: RecvTimeoutError, limit: Duration) -> AgentError {
    match error {
        RecvTimeoutError::Timeout => AgentError::Late(limit),
        RecvTimeoutError::Disconnected => AgentError::Gone,
    }
}

impl Running {
    fn send(&self, kind: Kind, bytes: &[u8]) -> Result<(), AgentError> {
        Ok(Frame::write(kind, self.id, bytes, &mut *lock(&self.agent.guest))?)
    }

    /// Sends all of its standard input.
    pub fn feed(&self, mut from: impl Read) -> Result<(), AgentError> {
        let mut buffer = vec![0; MOST];
        loop {
            let n = from.read(&mut buffer)?;
            self.send(Kind::Stdin, &buffer[..n])?;
            if n == 0 {
                return Ok(());
            }
        }
    }

    /// Sends it a signal.
    pub fn signal(&self, number: u8) -> Result<(), AgentError> {
        self.send(Kind::Signal, &[number])
    }

    /// Waits until it prints to standard output.
    pub fn await_words(&self, limit: Duration) -> Result<(), AgentError> {
        let start = Instant::now();
        loop {
            let left = limit.saturating_sub(start.elapsed());
            match self.frames.recv_timeout(left).map_err(|e| missing(e, limit))?.kind {
                Kind::Stdout => return Ok(()),
                Kind::Exit | Kind::Failed => return Err(AgentError::Ended),
                _ => {}
            }
        }
    }

    /// Waits for its end and passes on its output; returns the exit code. It is killed at the time limit.
    pub fn follow(&self, limit: Duration, mut say: impl FnMut(Kind, &[u8])) -> Result<i32, AgentError> {
        let start = Instant::now();
        loop {
            let frame = match self.frames.recv_timeout(limit.saturating_sub(start.elapsed())) {
                Ok(frame) => frame,
                Err(error) => {
                    let _ = self.signal(9);
                    return Err(missing(error, limit));
                }
            };
            match (frame.kind, frame.bytes.as_slice()) {
                (Kind::Exit, &[a, b, c, d]) => return Ok(i32::from_le_bytes([a, b, c, d])),
                (Kind::Failed, why) => {
                    return Err(AgentError::NotStarted(String::from_utf8_lossy(why).into_owned()));
                }
                (kind, bytes) => say(kind, bytes),
            }
        }
    }

    /// Waits for its end; returns its output.
    pub fn wait(&self, limit: Duration) -> Result<Output, AgentError> {
        let mut output = Output::default();
        output.code = self.follow(limit, |kind, bytes| match kind {
            Kind::Stdout => output.stdout.extend(bytes),
            _ => output.stderr.extend(bytes),
        })?;
        Ok(output)
    }
}
