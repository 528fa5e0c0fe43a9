//! `psync`: pread and pwrite, one operation at a time per thread; works on every board.

use std::{
    fs::File,
    io::{self, ErrorKind, IoSlice},
    os::unix::fs::FileExt,
};

use rustix::io::{ReadWriteFlags, pwritev2};

use crate::units::Load;

use super::{
    Cancel, Engine, EngineInfo, FileTarget, Job, Outcomes, Watch,
    buffers::Buffers,
    op_sequence::Op,
    verify,
    workers::{self, Clock, Lane, Worker},
};

/// A depth above 1 uses as many threads.
#[derive(Debug)]
pub struct Psync {
    targets: Vec<FileTarget>,
}

impl Psync {
    pub fn new(targets: Vec<FileTarget>) -> Self {
        Self { targets }
    }
}

impl Engine for Psync {
    fn info(&self) -> EngineInfo {
        EngineInfo { name: "psync".to_owned(), detail: None, modelled: false }
    }

    fn run(&mut self, jobs: &[Job], cancel: &Cancel, watch: &mut Watch<'_>) -> Outcomes {
        workers::run(jobs, &self.targets, cancel, watch, |job| {
            let worker = |_| {
                let buffers = Buffers::new(&job.load, 1);
                Box::new(move |lane: &Lane| work(lane, buffers)) as Worker
            };
            (0..job.load.depth).map(worker).collect()
        })
    }
}

fn work(lane: &Lane, mut buffers: Buffers) -> Option<Clock> {
    let clock = lane.ready()?;
    // With one thread, the end of one operation is the start of the next. Several threads wait for each other in between.
    let alone = lane.load.depth == 1;
    let mut before = clock.now();
    lane.progress().begin(before);
    let mut next = lane.progress().next();
    while let Some(op) = next {
        let generation = lane.writes.begin(op, &lane.load);
        let block = buffers.block(0, op, &lane.load, generation);
        if lane.load.verify && !op.read {
            before = clock.now();
        }
        let moved = transfer(&lane.file, block, op, &lane.load);
        let now = clock.now();
        let checked = match moved {
            Ok(()) if lane.load.verify && op.read => {
                verify::check(block, op.offset, lane.load.seed, generation)
                    .map_err(|why| ("verify", io::Error::other(why)))
            }
            Ok(()) => {
                lane.writes.end(op, &lane.load, generation);
                Ok(())
            }
            Err(e) => Err((if op.read { "read" } else { "write" }, e)),
        };
        let mut turn = lane.progress();
        let delayed = match checked {
            Ok(()) => turn.done(op, now - before, now),
            Err((what, e)) => {
                turn.failed(what, op.offset, &e, now);
                break;
            }
        };
        next = turn.next();
        drop(turn);
        before = if alone && !delayed && !lane.load.verify { now } else { clock.now() };
    }
    Some(clock)
}

/// Transfers the whole block, continuing short transfers.
fn transfer(file: &File, block: &mut [u8], op: Op, load: &Load) -> io::Result<()> {
    let mut done = 0;
    while done < block.len() {
        let at = op.offset + done as u64;
        let moved = match op.read {
            true => file.read_at(&mut block[done..], at),
            false => write(file, &block[done..], at, load),
        };
        match moved {
            Ok(0) => return Err(nothing_moved(op)),
            Ok(n) => done += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn write(file: &File, from: &[u8], at: u64, load: &Load) -> io::Result<usize> {
    match load.sync {
        false => file.write_at(from, at),
        true => Ok(pwritev2(file, &[IoSlice::new(from)], at, ReadWriteFlags::DSYNC)?),
    }
}

pub(super) fn nothing_moved(op: Op) -> io::Error {
    match op.read {
        true => io::Error::new(ErrorKind::UnexpectedEof, "the target ended early"),
        false => io::Error::new(ErrorKind::WriteZero, "the target accepted no bytes"),
    }
}
