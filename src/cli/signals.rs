//! Ctrl-C and its kin: stop, keep what was measured, leave nothing behind. A second one ends at once.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use crate::engine::Cancel;

/// What signals have asked.
#[derive(Debug)]
pub struct Signals {
    cancel: Arc<AtomicBool>,
    which: Arc<AtomicUsize>,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> io::Result<Self> {
        let (cancel, which) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first signal sets the flag that makes the second one end the process.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&cancel))?;
            flag::register_usize(signal, Arc::clone(&which), signal.unsigned_abs() as usize)?;
            flag::register(signal, Arc::clone(&cancel))?;
        }
        Ok(Self { cancel, which })
    }

    /// What running loads look at.
    pub fn cancel(&self) -> Cancel {
        Cancel::from_flag(Arc::clone(&self.cancel))
    }

    /// The exit code that tells of the signal that came, if one did.
    pub fn code(&self) -> Option<u8> {
        match self.which.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(128 + u8::try_from(signal).unwrap_or(0)),
        }
    }
}
