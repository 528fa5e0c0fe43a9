//! The limit of `uring`: a loop that only submits and reaps, with the registered file and buffers, without clocks, windows,
//! histograms and checks.
#![allow(unsafe_code, clippy::disallowed_methods)]

use std::{
    fs::OpenOptions,
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::Path,
    time::{Duration, Instant},
};

use io_uring::{IoUring, opcode, squeue, types};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const BLOCK: usize = 4096;

/// A block at the alignment that direct I/O wants.
#[derive(Clone)]
#[repr(align(4096))]
struct Block([u8; BLOCK]);

/// How a ring is driven: completions waited for, and handled before the next submission.
#[derive(Clone, Copy)]
pub struct Batch {
    pub wait: usize,
    pub most: usize,
}

/// Reads 4 KiB at random places for `seconds`; returns the operations and how long they took, s.
pub fn reads(
    path: &Path,
    size: u64,
    depth: usize,
    batch: Batch,
    seconds: f64,
) -> std::io::Result<(u64, f64)> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)?;
    // Never freed: an error leaves reads in flight, and the kernel still writes here. It is little.
    let memory = vec![Block([0; BLOCK]); depth].leak();
    let pieces: Vec<*mut u8> = memory.iter_mut().map(|block| block.0.as_mut_ptr()).collect();
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(depth.next_power_of_two() as u32)?;
    ring.submitter().register_ring_fd()?;
    ring.submitter().register_files(&[file.as_raw_fd()])?;
    let whole = libc::iovec { iov_base: memory.as_mut_ptr().cast(), iov_len: depth * BLOCK };
    // SAFETY: the memory is never freed.
    unsafe { ring.submitter().register_buffers(&[whole])? };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let (mut free, mut ops): (Vec<u64>, u64) = ((0..depth as u64).collect(), 0);
    let (start, most) = (Instant::now(), Duration::from_secs_f64(seconds));
    let mut going = true;
    while going || free.len() < depth {
        while let Some(slot) = if going { free.pop() } else { None } {
            let offset = random.random_range(0..size / BLOCK as u64) * BLOCK as u64;
            let entry = opcode::ReadFixed::new(types::Fd(0), pieces[slot as usize], BLOCK as u32, 0)
                .offset(offset)
                .build()
                .flags(squeue::Flags::FIXED_FILE)
                .user_data(slot);
            // SAFETY: the memory of a piece is never freed, and only free pieces are read into.
            unsafe { ring.submission().push(&entry) }.map_err(std::io::Error::other)?;
        }
        ring.submit_and_wait(batch.wait.min(depth - free.len()))?;
        for done in ring.completion().take(batch.most) {
            if done.result() != BLOCK as i32 {
                return Err(std::io::Error::from_raw_os_error(-done.result()));
            }
            free.push(done.user_data());
            ops += 1;
        }
        going &= start.elapsed() < most;
    }
    Ok((ops, start.elapsed().as_secs_f64()))
}
