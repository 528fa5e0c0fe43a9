//! Brings what was written through the page cache to the drive, in pieces. The kernel holds a process until an `fsync` that
//! one of its threads waits in has ended, however slow the drive is; between two pieces it can be ended.
#![allow(unsafe_code)]

use std::{collections::VecDeque, fs::File, io, os::fd::AsRawFd, time::Instant};

use super::again_if_interrupted;

/// The least and the most bytes of a piece.
const PIECE: [u64; 2] = [128 << 10, 16 << 20];
/// How far pieces that had nothing to write make those after them grow: what follows may be slow.
const PIECE_CLEAN: u64 = 1 << 20;
/// How long a piece shall take, s. Two are under way at a time, so that the drive always has work, as with one `fsync`.
const PIECE_SECONDS: f64 = 0.05;
/// After one that took longer, s, only one is under way: the kernel writes whole folios, which may be of megabytes.
const SLOW_SECONDS: f64 = 0.5;
/// What takes less had nothing to write, s.
const CLEAN_SECONDS: f64 = 20e-6;

/// As `fsync`, until it is `stopped`, which it asks between pieces; returns whether all was brought to the drive. Where the filesystem
/// has no such call, or ignores it, the `fsync` at the end does it all.
pub fn sync(file: &File, stopped: impl FnMut() -> bool) -> io::Result<bool> {
    // A device has the length 0 here: its pages are written by the `fsync`.
    let length = file.metadata()?.len();
    let is_whole = in_pieces(length, |offset, bytes, act| range(file, offset, bytes, act), stopped)?;
    if is_whole {
        // The metadata, and what was written meanwhile.
        file.sync_all()?;
    }
    Ok(is_whole)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Do {
    Start,
    Wait,
}

/// Starts writing each piece, and waits for it; returns whether it came to the end.
fn in_pieces(
    length: u64,
    mut range: impl FnMut(u64, u64, Do) -> io::Result<()>,
    mut stopped: impl FnMut() -> bool,
) -> io::Result<bool> {
    let (mut piece, mut depth) = (PIECE[0], 1);
    let mut started = 0;
    let mut under_way = VecDeque::new();
    while !stopped() {
        let since = Instant::now();
        while under_way.len() < depth && started < length {
            let bytes = piece.min(length - started);
            match range(started, bytes, Do::Start) {
                Err(e) if started == 0 && is_missing(&e) => return Ok(true),
                other => other?,
            }
            under_way.push_back((started, bytes));
            started += bytes;
        }
        let Some((offset, bytes)) = under_way.pop_front() else { return Ok(true) };
        range(offset, bytes, Do::Wait)?;
        let seconds = since.elapsed().as_secs_f64();
        piece = next_piece(bytes, piece, seconds);
        depth = if seconds > SLOW_SECONDS { 1 } else { 2 };
    }
    Ok(false)
}

/// The bytes of the next piece, after one of `bytes` that took `seconds`; the newest is of `piece` bytes.
fn next_piece(bytes: u64, piece: u64, seconds: f64) -> u64 {
    if seconds < CLEAN_SECONDS {
        return piece.max((2 * bytes).min(PIECE_CLEAN));
    }
    let fitting = (bytes as f64 * PIECE_SECONDS / seconds) as u64;
    fitting.min(2 * bytes).clamp(PIECE[0], PIECE[1]) & !(4096 - 1)
}

/// A filesystem or a kernel without the call. Later, such numbers are errors of a write, which are said only once.
fn is_missing(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL | libc::ESPIPE | libc::EPERM))
}

fn range(file: &File, offset: u64, bytes: u64, act: Do) -> io::Result<()> {
    let flags = match act {
        Do::Start => libc::SYNC_FILE_RANGE_WRITE,
        Do::Wait => libc::SYNC_FILE_RANGE_WAIT_BEFORE,
    };
    // SAFETY: it takes numbers only, and the file is open.
    again_if_interrupted(|| unsafe {
        libc::sync_file_range(file.as_raw_fd(), offset as i64, bytes as i64, flags)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn pieces_take_equal_times() {
        // (rate of the drive, bytes per piece at the end)
        for (rate, fits) in [(100e3, 128 << 10), (10e6, 500_000), (100e6, 5_000_000), (3e9, 16 << 20)] {
            let piece = (0..20).fold(PIECE[0], |piece, _| next_piece(piece, piece, piece as f64 / rate));
            assert!(piece.abs_diff(fits) <= 4096, "{rate}: {piece}");
            // A part with nothing to write does not make the next one large, and a stall makes it small.
            assert_eq!(next_piece(piece, piece, 3e-6), piece.max((2 * piece).min(PIECE_CLEAN)));
            assert_eq!(next_piece(piece, piece, 1000.0), PIECE[0]);
        }
        assert_eq!(next_piece(PIECE[0], PIECE[0], 30e-6), 2 * PIECE[0]);
    }

    /// What was started and waited for, until it is stopped after so many pieces.
    fn carried_out(
        length: u64,
        pieces: usize,
        fails: Option<(usize, Do, i32)>,
    ) -> (Vec<(u64, u64, Do)>, io::Result<bool>) {
        let (mut did, mut asked) = (Vec::new(), 0);
        let range = |offset, bytes, act| {
            did.push((offset, bytes, act));
            let so_far = did.iter().filter(|(.., a)| *a == act).count();
            match fails {
                Some((at, on, number)) if on == act && at == so_far => {
                    Err(io::Error::from_raw_os_error(number))
                }
                _ => Ok(()),
            }
        };
        let stopped = || {
            asked += 1;
            asked > pieces
        };
        let end = in_pieces(length, range, stopped);
        (did, end)
    }

    #[test]
    fn pieces_cover_the_file_in_order_and_each_is_waited_for() {
        let length = 5_000_001;
        let (did, end) = carried_out(length, 1000, None);
        assert!(end.expect("syncs"));
        let of = |wanted: Do| did.iter().filter(move |(.., act)| *act == wanted).map(|(at, n, _)| (*at, *n));
        assert!(of(Do::Start).eq(of(Do::Wait)));
        assert_eq!(
            of(Do::Start)
                .fold(0, |at, (offset, bytes)| (offset == at).then_some(at + bytes).expect("no gap")),
            length
        );
        let (did, end) = carried_out(length, 3, None);
        assert!(!end.expect("syncs"));
        assert_eq!(did.iter().filter(|(.., act)| *act == Do::Wait).count(), 3);
    }

    #[test]
    fn only_the_first_call_may_be_missing() {
        let ended = |fails| carried_out(1 << 20, 1000, Some(fails)).1.map_err(|e| e.raw_os_error());
        assert_eq!(ended((1, Do::Start, libc::ENOSYS)), Ok(true));
        assert_eq!(ended((2, Do::Start, libc::EINVAL)), Err(Some(libc::EINVAL)));
        assert_eq!(ended((1, Do::Wait, libc::EINVAL)), Err(Some(libc::EINVAL)));
        assert_eq!(ended((1, Do::Start, libc::EIO)), Err(Some(libc::EIO)));
    }

    #[test]
    fn files_are_synced_and_what_has_no_such_call_gets_an_fsync() {
        let mut file = tempfile::tempfile_in("/var/tmp").expect("a file");
        file.write_all(&vec![1; 1_000_001]).expect("writes");
        assert!(sync(&file, || false).expect("syncs"));
        assert!(!sync(&file, || true).expect("ends"));
        let device = File::options().write(true).open("/dev/null").expect("opens");
        let refused = range(&device, 0, 1, Do::Start).expect_err("no such call");
        assert!(is_missing(&refused), "{refused}");
    }
}
