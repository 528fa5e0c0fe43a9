//! Ctrl-C, SIGTERM, SIGHUP and SIGQUIT: the first stops the run cleanly, a later one exits at once.

use std::{
    io::{self, Read},
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ},
    flag,
    low_level::pipe,
};

use crate::engine::Cancel;

/// Signals closer together than this count as one: `timeout` signals both a process and its group.
const ONE_SIGNAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Signals {
    cancel: Arc<AtomicBool>,
    /// Number of the last signal; 0 for none.
    received: Arc<AtomicUsize>,
}

/// Whether this process ignores hangups, as under nohup; not where that can't be read.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

/// Makes a write beyond the limit of `ulimit -f` fail with an error, instead of killing the process.
pub(super) fn survive_file_limit() {
    // Registration can't fail for this signal.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        Self::begin().map_err(|e| io::Error::other(format!("can't listen for Ctrl-C: {e}")))
    }

    fn begin() -> io::Result<Self> {
        let (cancel, received) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (mut first, sent) = UnixStream::pair()?;
        let impatient = Arc::new(AtomicBool::new(false));
        // Under nohup a hangup stays ignored. Shells ignore INT for background jobs too, but who sends it means the run.
        let nohup = ignores_hangups();
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().filter(|s| *s != SIGHUP || !nohup) {
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&impatient))?;
            pipe::register(signal, sent.try_clone()?)?;
            flag::register_usize(signal, Arc::clone(&received), signal.unsigned_abs() as usize)?;
            flag::register(signal, Arc::clone(&cancel))?;
        }
        thread::Builder::new().spawn(move || {
            if first.read_exact(&mut [0]).is_ok() {
                thread::sleep(ONE_SIGNAL);
                impatient.store(true, Ordering::Relaxed);
            }
        })?;
        Ok(Self { cancel, received })
    }

    pub fn cancel(&self) -> Cancel {
        Cancel::from_flag(Arc::clone(&self.cancel))
    }

    /// The exit code for the signal that was received, if any.
    pub fn code(&self) -> Option<u8> {
        let signal = u8::try_from(self.received.load(Ordering::Relaxed)).unwrap_or(0);
        (signal > 0).then_some(128 + signal)
    }
}
