//! Runs commands in a virtual machine for the host: `lab-agent PORT`, where PORT is the byte stream to it.
#![allow(clippy::print_stderr, clippy::disallowed_methods)]

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use drivebench_lab_agent::{Decoder, Exec, Frame, HELLO, Kind, MOST};
use rustix::{
    process::{Pid, Signal, kill_process_group},
    termios::{OptionalActions, isatty, tcgetattr, tcsetattr},
};

/// The stream to the host, shared by all threads.
#[derive(Clone)]
struct Port(Arc<Mutex<File>>);

impl Port {
    fn say(&self, kind: Kind, id: u32, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Frame::write(kind, id, bytes, &mut *file)
    }
}

/// A running command.
struct Running {
    pid: Pid,
    stdin: Option<ChildStdin>,
}

fn main() {
    let result = match std::env::args_os().nth(1) {
        Some(path) => serve(&path),
        None => Err(io::Error::new(io::ErrorKind::InvalidInput, "usage: lab-agent PORT")),
    };
    if let Err(e) = result {
        eprintln!("lab-agent: {e}");
        std::process::exit(1);
    }
}

fn serve(path: &std::ffi::OsStr) -> io::Result<()> {
    let mut from = OpenOptions::new().read(true).write(true).open(path)?;
    if isatty(&from) {
        let mut raw = tcgetattr(&from)?;
        raw.make_raw();
        tcsetattr(&from, OptionalActions::Now, &raw)?;
    }
    let port = Port(Arc::new(Mutex::new(from.try_clone()?)));
    from.write_all(HELLO)?;
    let mut running = HashMap::new();
    let (mut decoder, mut buffer) = (Decoder::default(), vec![0; MOST]);
    loop {
        let n = from.read(&mut buffer)?;
        if n == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the host has closed the connection"));
        }
        decoder.feed(&buffer[..n]);
        while let Some(frame) = decoder.frame()? {
            obey(&port, &mut running, frame)?;
        }
    }
}

fn obey(port: &Port, running: &mut HashMap<u32, Running>, frame: Frame) -> io::Result<()> {
    let Frame { kind, id, bytes } = frame;
    match kind {
        Kind::Exec => match start(port, id, &bytes) {
            Ok(command) => drop(running.insert(id, command)),
            Err(e) => port.say(Kind::Failed, id, e.to_string().as_bytes())?,
        },
        Kind::Stdin => {
            if let Some(command) = running.get_mut(&id) {
                // A command may close its standard input.
                let taken = command.stdin.as_mut().is_some_and(|stdin| stdin.write_all(&bytes).is_ok());
                if bytes.is_empty() || !taken {
                    command.stdin = None;
                }
            }
        }
        Kind::Signal => {
            let signal = bytes.first().and_then(|&n| Signal::from_named_raw(n.into()));
            if let (Some(command), Some(signal)) = (running.get(&id), signal) {
                // It may have ended in the meantime.
                let _ = kill_process_group(command.pid, signal);
            }
        }
        Kind::Stdout | Kind::Stderr | Kind::Exit | Kind::Failed => {}
    }
    Ok(())
}

fn start(port: &Port, id: u32, exec: &[u8]) -> io::Result<Running> {
    let exec: Exec = serde_json::from_slice(exec)?;
    let (program, args) =
        exec.argv.split_first().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program"))?;
    let mut command = Command::new(program);
    command.args(args).envs(exec.env).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(directory) = exec.directory {
        command.current_dir(directory);
    }
    let mut child = command.spawn().map_err(|e| io::Error::new(e.kind(), format!("{program}: {e}")))?;
    let stdin = child.stdin.take();
    let pid = Pid::from_child(&child);
    let port = port.clone();
    thread::spawn(move || follow(&port, id, child));
    Ok(Running { pid, stdin })
}

/// Sends the output and the exit code of a command.
fn follow(port: &Port, id: u32, mut child: Child) {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(|| stdout.map(|from| pass(port, Kind::Stdout, id, from)));
        scope.spawn(|| stderr.map(|from| pass(port, Kind::Stderr, id, from)));
    });
    let code = child.wait().map_or(255, |s| s.code().or(s.signal().map(|n| 128 + n)).unwrap_or(255));
    // Without the host, errors can't be reported.
    let _ = port.say(Kind::Exit, id, &code.to_le_bytes());
}

fn pass(port: &Port, kind: Kind, id: u32, mut from: impl Read) {
    let mut buffer = vec![0; MOST];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) if port.say(kind, id, &buffer[..n]).is_err() => break,
            Err(e) if e.kind() != io::ErrorKind::Interrupted => break,
            _ => {}
        }
    }
}
