//! A part of drives that exist only as models: their speeds, and where they fail.

use super::{
    act::{CoverPart, Pass, WholeDrive},
    cover::{Covered, Damage, PIECES, Piece, part},
};
use crate::{
    engine::{Flow, Job},
    run::{Execution, RunError},
    stamped::BLOCK,
    units::{Caching, Direction, Ended, Extent, Load, MIB, Pattern},
};

pub(super) fn cover(
    act: &CoverPart,
    run: &mut Execution<'_, '_>,
    drives: &[(usize, &WholeDrive)],
) -> Result<Vec<Covered>, RunError> {
    let direction = if act.pass == Pass::Write { Direction::Write } else { Direction::Read };
    let load = Load::new(direction, Pattern::Sequential, MIB, Caching::Direct, act.seed);
    let targets: Vec<usize> = drives.iter().map(|(target, _)| *target).collect();
    let mut covered = vec![Covered::default(); drives.len()];
    for nth in 0..PIECES {
        let job = |(target, (_, drive)): (usize, &(usize, &WholeDrive))| {
            let piece = part(&act.range(drive), nth, PIECES);
            let [offset, end] = [piece.start, piece.end].map(|at| at * BLOCK as u64 / MIB * MIB);
            let bytes = end - offset;
            Job {
                target,
                load: load.clone(),
                extent: Extent { offset, length: bytes },
                begin: 0,
                bytes,
                window: bytes,
            }
        };
        let jobs: Vec<Job> = drives.iter().enumerate().map(job).collect();
        let mut engine = run.ctx.world.engine(None, &load, &targets)?;
        let outcomes = engine.run(&jobs, &run.cancel, &mut |_, _| Flow::Continue)?;
        for (covered, outcome) in covered.iter_mut().zip(outcomes) {
            let bytes = outcome.bytes_read + outcome.bytes_written;
            covered.pieces.push(Piece { bytes, seconds: outcome.seconds });
            if let Ended::Failed { offset, .. } = outcome.ended {
                let damage = if act.pass == Pass::Write { Damage::Unwritable } else { Damage::Unreadable };
                covered.add(offset / BLOCK as u64, damage);
            }
        }
    }
    Ok(covered)
}
