//! Brings what was written through the page cache to the drive, in pieces. The kernel holds a process until an `fsync` that
//! one of its threads waits in has ended, however slow the drive is; between two pieces it can be ended.
#![allow(unsafe_code)]

use std::{collections::VecDeque, fs::File, io, os::fd::AsRawFd, time::Instant};

/// The least and the most bytes of a piece.
const PIECE: [u64; 2] = [128 << 10, 16 << 20];
/// How long a piece shall take, s. Two are under way at a time, so that the drive always has work, as with one `fsync`.
const PIECE_SECONDS: f64 = 0.05;
/// After one that took longer, s, only one is under way: the kernel writes whole folios, which may be of megabytes.
const SLOW_SECONDS: f64 = 0.5;
/// What takes less had nothing to write, s.
const CLEAN_SECONDS: f64 = 20e-6;

/// What [`sync`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synced {
    Whole,
    /// It was stopped.
    Part,
}

/// As `fsync`, until it is `stopped`, which it asks between pieces.
pub fn sync(file: &File, stopped: impl Fn() -> bool) -> io::Result<Synced> {
    let (mut piece, mut depth) = (PIECE[0], 1);
    let mut started = 0;
    let mut under_way = VecDeque::new();
    // A device has the length 0 here: its pages are written by the `fsync`.
    let length = file.metadata()?.len();
    while !stopped() {
        let since = Instant::now();
        while under_way.len() < depth && started < length {
            let bytes = piece.min(length - started);
            if !range(file, started, bytes, libc::SYNC_FILE_RANGE_WRITE)? {
                return file.sync_all().map(|()| Synced::Whole);
            }
            under_way.push_back((started, bytes));
            started += bytes;
        }
        let Some((offset, bytes)) = under_way.pop_front() else {
            // The metadata, and what was written meanwhile.
            return file.sync_all().map(|()| Synced::Whole);
        };
        range(file, offset, bytes, libc::SYNC_FILE_RANGE_WAIT_BEFORE)?;
        let seconds = since.elapsed().as_secs_f64();
        piece = next_piece(piece, seconds);
        depth = if seconds > SLOW_SECONDS { 1 } else { 2 };
    }
    Ok(Synced::Part)
}

/// The bytes of the next piece, after one that took `seconds`.
fn next_piece(piece: u64, seconds: f64) -> u64 {
    if seconds < CLEAN_SECONDS {
        return piece;
    }
    let fitting = (piece as f64 * PIECE_SECONDS / seconds) as u64;
    fitting.min(2 * piece).clamp(PIECE[0], PIECE[1]) & !(4096 - 1)
}

/// Starts writing a range, or waits for it. False where the filesystem has no such call.
fn range(file: &File, offset: u64, bytes: u64, flags: libc::c_uint) -> io::Result<bool> {
    loop {
        // SAFETY: it takes numbers only, and the file is open.
        if unsafe { libc::sync_file_range(file.as_raw_fd(), offset as i64, bytes as i64, flags) } == 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ENOSYS | libc::EINVAL | libc::ESPIPE) => return Ok(false),
            _ => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, io::Write};

    use super::*;

    fn dirty(bytes: usize) -> File {
        let mut file = tempfile::tempfile_in("/var/tmp").expect("a file");
        file.write_all(&vec![1; bytes]).expect("writes");
        file
    }

    #[test]
    fn pieces_take_equal_times() {
        // (rate of the drive, bytes per piece at the end)
        for (rate, fits) in [(100e3, 128 << 10), (10e6, 500_000), (100e6, 5_000_000), (3e9, 16 << 20)] {
            let piece = (0..20).fold(PIECE[0], |piece, _| next_piece(piece, piece as f64 / rate));
            assert!(piece.abs_diff(fits) <= 4096, "{rate}: {piece}");
            // A part with nothing to write does not make the next one large, and a stall does not stop it.
            assert_eq!(next_piece(piece, 3e-6), piece);
            assert_eq!(next_piece(piece, 1000.0), PIECE[0]);
        }
        assert_eq!(next_piece(PIECE[0], 30e-6), 2 * PIECE[0]);
    }

    #[test]
    fn all_of_a_file_is_written_unless_it_is_stopped() {
        let file = dirty(5_000_001);
        assert_eq!(sync(&file, || false).expect("syncs"), Synced::Whole);
        let asked = Cell::new(0);
        let stopped = || asked.replace(asked.get() + 1) == 3;
        assert_eq!(sync(&file, stopped).expect("syncs"), Synced::Part);
        assert_eq!(asked.get(), 4, "it is asked before each piece");
        assert_eq!(sync(&dirty(0), || false).expect("syncs"), Synced::Whole);
        assert_eq!(sync(&dirty(0), || true).expect("syncs"), Synced::Part);
    }

    #[test]
    fn files_without_the_call_are_synced_as_a_whole() {
        let device = File::options().read(true).write(true).open("/dev/null").expect("opens");
        assert_eq!(range(&device, 0, 1, libc::SYNC_FILE_RANGE_WRITE).ok(), Some(false));
    }
}
