//! `uring`: io_uring with registered buffers and files, one issuer, and batched submissions and completions.
#![allow(unsafe_code)]

use std::{collections::VecDeque, io, mem::ManuallyDrop, os::fd::AsRawFd};

use io_uring::{IoUring, Probe, opcode, squeue, types};

use crate::units::Load;

use super::{
    Cancel, Engine, EngineError, EngineInfo, FileTarget, Job, Outcomes, Watch,
    buffers::Buffers,
    op_sequence::Op,
    psync::nothing_moved,
    verify,
    workers::{self, Clock, Lane, Turn, Worker},
};

/// Uses io_uring with one thread and one ring per job.
#[derive(Debug)]
pub struct Uring {
    targets: Vec<FileTarget>,
}

/// Whether this kernel allows io_uring; if not, why.
pub(super) fn available() -> Result<(), String> {
    let ring = IoUring::new(2).map_err(|e| {
        format!("{e}; it needs Linux 5.6, permission by kernel.io_uring_disabled and the container, and locked memory (ulimit -l)")
    })?;
    let mut probe = Probe::new();
    let known = ring.submitter().register_probe(&mut probe).is_ok()
        && [opcode::Read::CODE, opcode::Write::CODE].into_iter().all(|code| probe.is_supported(code));
    known.then_some(()).ok_or("this kernel's io_uring is too old (Linux 5.6 or newer is needed)".to_owned())
}

impl Uring {
    pub fn new(targets: Vec<FileTarget>) -> Result<Self, EngineError> {
        available().map_err(|why| EngineError::Unavailable { engine: "uring", why })?;
        Ok(Self { targets })
    }
}

impl Engine for Uring {
    fn info(&self) -> EngineInfo {
        EngineInfo { name: "uring".to_owned(), detail: None, modelled: false }
    }

    fn run(&mut self, jobs: &[Job], cancel: &Cancel, watch: &mut Watch<'_>) -> Outcomes {
        workers::run(jobs, &self.targets, cancel, watch, |job| {
            let memory = Buffers::new(&job.load, job.load.depth as usize);
            vec![Box::new(move |lane: &Lane| work(lane, memory)) as Worker]
        })
    }
}

fn work(lane: &Lane, memory: Buffers) -> Option<Clock> {
    let refuse = |source| lane.refuse(EngineError::System { what: "setting up io_uring".to_owned(), source });
    let mut ring = Ring::new(lane, memory).map_err(refuse).ok()?;
    let clock = lane.ready()?;
    ring.work(lane, clock);
    Some(clock)
}

#[derive(Clone, Copy)]
struct Slot {
    op: Op,
    started: u64,
    /// Bytes already moved by short transfers.
    moved: u32,
    /// What [`LastWrites::begin`](verify::LastWrites::begin) returned.
    generation: u64,
    memory: *mut u8,
}

struct Ring {
    /// Its only registered file is that of the lane.
    ring: IoUring,
    /// Freed only after the kernel has finished all operations on it.
    memory: ManuallyDrop<Buffers>,
    block: u32,
    write_flags: i32,
    fixed_buffers: bool,
    slots: Vec<Slot>,
    /// Used in turn, so that the content of writes repeats late.
    free: VecDeque<u32>,
    /// Slots to be submitted, new or continued.
    pending: Vec<u32>,
    in_flight: usize,
    /// The maximum number of completions handled before new operations are submitted. Handling all would leave the drive idle
    /// meanwhile (15 % slower at depth 64); one at a time needs more system calls (30 % more CPU time). Waiting for several
    /// gains nothing on top.
    batch: usize,
    /// Completions taken from the ring: (slot, result).
    reaped: Vec<(u64, i32)>,
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.in_flight == 0 {
            // The kernel frees a closed ring asynchronously; until then it would keep the file open.
            let _ = self.ring.submitter().unregister_files();
            // SAFETY: no operation uses the memory at this point, and it is dropped only here.
            unsafe { ManuallyDrop::drop(&mut self.memory) };
        }
    }
}

/// The best ring that this kernel supports: DEFER_TASKRUN needs Linux 6.1, SINGLE_ISSUER needs 6.0.
fn ring(depth: u32) -> io::Result<IoUring> {
    let entries = depth.next_power_of_two();
    let ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(entries)
        .or_else(|_| IoUring::builder().setup_coop_taskrun().build(entries))
        .or_else(|_| IoUring::new(entries))?;
    // Saves a look-up of the ring's file in each call; needs Linux 5.18.
    let _ = ring.submitter().register_ring_fd();
    Ok(ring)
}

impl Ring {
    fn new(lane: &Lane, memory: Buffers) -> io::Result<Self> {
        let depth = lane.load.depth;
        let ring = ring(depth)?;
        ring.submitter().register_files(&[lane.file.as_raw_fd()])?;
        let whole = memory.memory();
        let iovec = libc::iovec { iov_base: whole.as_ptr().cast_mut().cast(), iov_len: whole.len() };
        // SAFETY: the memory outlives the ring's use of it, see Drop. If the memory lock limit is too low, buffers stay unregistered.
        let fixed_buffers = unsafe { ring.submitter().register_buffers(&[iovec]) }.is_ok();
        let nothing = Op { number: 0, offset: 0, read: true };
        let slot = Slot { op: nothing, started: 0, moved: 0, generation: 0, memory: std::ptr::null_mut() };
        Ok(Self {
            ring,
            memory: ManuallyDrop::new(memory),
            block: lane.load.block as u32,
            write_flags: if lane.load.sync { libc::RWF_DSYNC } else { 0 },
            fixed_buffers,
            slots: vec![slot; depth as usize],
            free: (0..depth).collect(),
            pending: Vec::with_capacity(depth as usize),
            in_flight: 0,
            batch: (depth as usize / 8).max(1),
            reaped: Vec::new(),
        })
    }

    fn work(&mut self, lane: &Lane, clock: Clock) {
        let mut turn = lane.progress();
        turn.begin(clock.now());
        loop {
            self.take(&mut turn, lane);
            drop(turn);
            if self.pending.is_empty() && self.in_flight == 0 {
                return;
            }
            self.submit(clock.now());
            let waited = self.ring.submit_and_wait(1);
            let now = clock.now();
            turn = lane.progress();
            // EBUSY and EAGAIN: completions must be taken first.
            let passing = [libc::EINTR, libc::EBUSY, libc::EAGAIN].map(Some);
            if let Some(e) = waited.err().filter(|e| !passing.contains(&e.raw_os_error())) {
                return turn.failed("io_uring", 0, &e, now);
            }
            self.reap(&mut turn, lane, now);
        }
    }

    /// Assigns the next operation to every free slot.
    fn take(&mut self, turn: &mut Turn<'_>, lane: &Lane) {
        while let Some(&index) = self.free.front() {
            let Some(op) = turn.next() else { return };
            self.free.pop_front();
            let generation = lane.writes.begin(op, &lane.load);
            let memory = self.memory.block(index as usize, op, &lane.load, generation).as_mut_ptr();
            self.slots[index as usize] = Slot { op, started: 0, moved: 0, generation, memory };
            self.pending.push(index);
        }
    }

    fn submit(&mut self, now: u64) {
        for at in 0..self.pending.len() {
            let index = self.pending[at];
            let slot = &mut self.slots[index as usize];
            if slot.moved == 0 && slot.started == 0 {
                slot.started = now;
            }
            let entry = self.entry(index);
            // SAFETY: the memory stays valid until the completion, see Drop; the queue has room for every slot.
            let queued = unsafe { self.ring.submission().push(&entry) };
            self.in_flight += usize::from(queued.is_ok());
        }
        self.pending.clear();
    }

    fn entry(&self, index: u32) -> squeue::Entry {
        let slot = &self.slots[index as usize];
        let memory = slot.memory.wrapping_add(slot.moved as usize);
        let len = self.block - slot.moved;
        let offset = slot.op.offset + u64::from(slot.moved);
        let file = types::Fixed(0);
        let entry = match (slot.op.read, self.fixed_buffers) {
            (true, true) => opcode::ReadFixed::new(file, memory, len, 0).offset(offset).build(),
            (false, true) => opcode::WriteFixed::new(file, memory, len, 0)
                .offset(offset)
                .rw_flags(self.write_flags)
                .build(),
            (true, false) => opcode::Read::new(file, memory, len).offset(offset).build(),
            (false, false) => {
                opcode::Write::new(file, memory, len).offset(offset).rw_flags(self.write_flags).build()
            }
        };
        entry.user_data(u64::from(index))
    }

    fn reap(&mut self, turn: &mut Turn<'_>, lane: &Lane, now: u64) {
        let mut reaped = std::mem::take(&mut self.reaped);
        let completions = self.ring.completion().take(self.batch);
        reaped.extend(completions.map(|entry| (entry.user_data(), entry.result())));
        for (index, result) in reaped.drain(..) {
            self.in_flight -= 1;
            let index = index as u32;
            let slot = &mut self.slots[index as usize];
            let op = slot.op;
            let error = match result {
                n if n > 0 => {
                    slot.moved += n as u32;
                    if slot.moved < self.block {
                        self.pending.push(index);
                        continue;
                    }
                    None
                }
                0 => Some(nothing_moved(op)),
                n if matches!(-n, libc::EINTR | libc::EAGAIN) && !lane.stopping() => {
                    self.pending.push(index);
                    continue;
                }
                n => Some(io::Error::from_raw_os_error(-n)),
            };
            let (started, generation) = (slot.started, slot.generation);
            self.free.push_back(index);
            match (error, self.verify(index, &lane.load)) {
                (None, Ok(())) => {
                    lane.writes.end(op, &lane.load, generation);
                    turn.done(op, now - started, now);
                }
                (None, Err(why)) => turn.failed("verify", op.offset, &io::Error::other(why), now),
                (Some(e), _) => turn.failed(if op.read { "read" } else { "write" }, op.offset, &e, now),
            }
        }
        self.reaped = reaped;
    }

    fn verify(&mut self, index: u32, load: &Load) -> Result<(), String> {
        let slot = self.slots[index as usize];
        if !load.verify || !slot.op.read || slot.moved < self.block {
            return Ok(());
        }
        verify::check(self.memory.read(index as usize), slot.op.offset, load.seed, slot.generation)
    }
}
