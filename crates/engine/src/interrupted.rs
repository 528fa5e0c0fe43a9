//! Calls that a signal may interrupt are made again.

use std::io;

/// Until it succeeds (0), or fails for another reason, which is in `errno`.
pub(super) fn again_if_interrupted(call: impl Fn() -> i32) -> io::Result<()> {
    loop {
        if call() == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
